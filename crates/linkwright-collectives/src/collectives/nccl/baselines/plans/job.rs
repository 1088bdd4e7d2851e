//! Lays a job's rings through all of its servers, and the trees, stars and paths beside them.

use std::borrow::Cow;

use crate::collectives::nccl::baselines::choice::all_alike;
use crate::collectives::nccl::baselines::double_tree::double_binary_tree;
use crate::collectives::nccl::baselines::fabric::{Fabric, by_server};
use crate::collectives::nccl::baselines::interfaces::{Deal, Dealing, Messages};
use crate::collectives::nccl::baselines::rings::{RingPath, Rings, host_ring};
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::planners::lowering::{RankPath, Ring, RootedTree};
use crate::collectives::planners::plan::{Links, PlanError};
use crate::collectives::schedule::{Channel, ChannelTransport, Crossing, Relay};
use crate::system::{Server, Wiring};

/// The most channels that a schedule holds (NCCL's `MAXCHANNELS` of the executors' format).
const MOST_CHANNELS: usize = 32;

/// Says whose rings a job takes, and how many.
pub(super) struct Recipe<'a> {
    /// Names the algorithm, as people know it.
    pub(super) name: &'static str,
    pub(super) links: Links,
    /// Finds the rings of the GPUs of one server.
    pub(super) rings: &'a dyn Fn(&[usize]) -> Rings,
    /// Whether pairs without NVLink may relay.
    pub(super) relays: bool,
    /// How many channels there are; as many as rings were found where there is none.
    pub(super) channels: Option<u32>,
    /// Whether GPUs reach each other's memory, as far as they can.
    pub(super) p2p: bool,
    /// How channels are dealt to interfaces.
    pub(super) dealing: Dealing,
    /// They have been dealt already.
    pub(super) deal: Option<&'a Deal>,
}

/// Holds a job's rings and the links that they use.
pub(super) struct Job<'a> {
    wiring: &'a Wiring,
    gpus: &'a [usize],
    /// Lists the ranks of each server.
    servers: Vec<Vec<usize>>,
    /// Gives for each channel and server the ranks in the ring's order.
    orders: Vec<Vec<Vec<usize>>>,
    /// Holds the rings through all servers, as ranks.
    pub(super) rings: Vec<Ring>,
    pub(super) class: LinkClass,
    pub(super) notes: Vec<String>,
    /// Whether pairs without NVLink may relay.
    relays: bool,
    /// How many orders differ, where a number of channels was wanted.
    found: Option<usize>,
    dealing: Dealing,
    /// How channels between servers are dealt, where there are several.
    deal: Option<Deal>,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        wiring: &'a Wiring,
        gpus: &'a [usize],
        recipe: &Recipe<'_>,
    ) -> Result<Self, PlanError> {
        let Recipe { name, links, .. } = *recipe;
        let servers = by_server(wiring, gpus);
        let ids = |ranks: &Vec<usize>| ranks.iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
        let found = |ranks: &Vec<usize>| match links {
            Links::Host => host_ring(wiring, &ids(ranks), false),
            Links::Auto | Links::Fabric | Links::Every => (recipe.rings)(&ids(ranks)),
        };
        let mut found = of_each_server(wiring, gpus, &servers, found);
        let falls_back = found.iter().any(|rings| rings.path == RingPath::Host);
        if falls_back && links == Links::Fabric {
            return Err(PlanError::NoRing { algorithm: name });
        }
        let mut notes = Vec::new();
        if falls_back && matches!(links, Links::Auto | Links::Every) {
            notes.push(format!("{name} finds no ring over NVLink; planned over PCIe"));
            let own: Vec<Vec<usize>> = servers.iter().map(ids).collect();
            found = all_alike(wiring, &own, found, recipe.relays);
        }
        if found.iter().any(|rings| !rings.exact) {
            notes.push("the search for rings was cut short; there may be more of them".to_owned());
        }
        let class = match (servers.len() > 1, falls_back || links == Links::Host) {
            (true, _) => LinkClass::Network,
            (false, true) => LinkClass::Host,
            (false, false) => LinkClass::Fabric,
        };
        let deal = (servers.len() > 1).then(|| {
            let new = || Deal::new(wiring, gpus, &servers, &found, &recipe.dealing);
            recipe.deal.cloned().unwrap_or_else(new)
        });
        let mut orders = orders(&servers, &found, deal.as_ref(), recipe.channels.is_none());
        let differ = recipe.channels.map(|channels| {
            // All that were found, then the same again, until there are enough.
            let differ = orders.len();
            orders = (0..channels as usize).map(|at| orders[at % differ].clone()).collect();
            differ
        });
        let relays: Vec<Relay> = servers
            .iter()
            .zip(&found)
            .enumerate()
            .filter(|(_, (_, rings))| rings.path == RingPath::Relayed)
            .flat_map(|(at, (ranks, _))| {
                let fabric = Fabric::new(wiring, &ids(ranks));
                let own = orders.iter().map(|order| &order[at]);
                relays_of(gpus, ranks, &fabric, own, servers.len() == 1)
            })
            .collect();
        if !relays.is_empty() {
            notes.push(relay_note(gpus, &relays));
        }
        let host = falls_back || links == Links::Host;
        let transport = match links {
            _ if !recipe.p2p => ChannelTransport::Memory,
            Links::Host => ChannelTransport::Host,
            // Where rings are mixed, neighbours that NVLink joins have it.
            _ if falls_back && !recipe.relays => ChannelTransport::Host,
            Links::Auto | Links::Fabric | Links::Every => ChannelTransport::Best,
        };
        let crossings = deal.as_ref().map_or_else(Vec::new, |deal| {
            let of_channel = |at| deal.of_rings(gpus, &servers, at);
            (0..orders.len().min(deal.channels())).map(of_channel).collect()
        });
        let ring = |(at, order): (usize, &Vec<Vec<usize>>)| {
            let order: Vec<usize> = order.concat();
            let next = |at: usize| order[(at + 1) % order.len()];
            let hops: Vec<_> = (0..order.len()).map(|at| (order[at], next(at))).collect();
            let used = relays.iter().filter(|relay| hops.contains(&(relay.from, relay.to)));
            let mut relays: Vec<Relay> = used.copied().collect();
            relays.sort_unstable();
            relays.dedup();
            let known: Option<&Vec<Crossing>> = crossings.get(at % crossings.len().max(1));
            let crossings = known.cloned().unwrap_or_default();
            let channel = Channel { relays, crossings, ..Channel::over(transport) };
            Ring { order, chunks: 1, channel }
        };
        let rings = orders.iter().enumerate().map(ring).collect();
        let relays = recipe.relays && !host;
        let (found, dealing) = (differ, recipe.dealing);
        Ok(Self {
            wiring,
            gpus,
            servers,
            orders,
            rings,
            class,
            notes,
            relays,
            found,
            dealing,
            deal,
        })
    }

    /// The rank of the job through which two ranks of one server relay, where NCCL does so.
    fn relay(&self, fabrics: &[Fabric], from: usize, to: usize) -> Option<usize> {
        let place = |rank: usize| {
            let find = |ranks: &Vec<usize>| ranks.iter().position(|own| *own == rank);
            let mut places = self.servers.iter().map(find).enumerate();
            places.find_map(|(server, at)| at.map(|at| (server, at)))
        };
        let ((server, from), (other, to)) = (place(from)?, place(to)?);
        let through =
            (self.relays && server == other).then(|| fabrics[server].relay(from, to)).flatten()?;
        Some(self.servers[server][through])
    }

    /// Tells how messages cross to other servers; None on one server.
    pub(super) fn messages(&self) -> Option<Messages<'_>> {
        let transport = self.rings[0].channel.transport;
        let is_on_host = matches!(transport, ChannelTransport::Host | ChannelTransport::Memory);
        let new = || Messages::new(self.wiring, self.gpus, &self.servers, self.dealing, is_on_host);
        (self.servers.len() > 1).then(new)
    }

    fn fabrics(&self) -> Vec<Fabric> {
        let ids =
            |ranks: &Vec<usize>| ranks.iter().map(|rank| self.gpus[*rank]).collect::<Vec<_>>();
        self.servers.iter().map(|ranks| Fabric::new(self.wiring, &ids(ranks))).collect()
    }

    /// The ranks that each message passes, by sender and then by receiver.
    pub(super) fn ways(&self) -> impl Iterator<Item = Vec<usize>> {
        let fabrics = self.fabrics();
        let ranks = self.gpus.len();
        let pairs = (0..ranks).flat_map(move |from| (0..ranks).map(move |to| (from, to)));
        pairs.filter(|(from, to)| from != to).map(move |(from, to)| {
            let through = self.relay(&fabrics, from, to);
            [Some(from), through, Some(to)].into_iter().flatten().collect()
        })
    }

    /// Returns, for each ordered pair, as many paths as channels carry its message.
    pub(super) fn paths(&self, channels: u32) -> Vec<RankPath> {
        let paths = |ranks: Vec<usize>| {
            (0..channels as usize).map(move |channel| RankPath {
                ranks: ranks.clone(),
                chunks: 1,
                channel,
            })
        };
        self.ways().flat_map(paths).collect()
    }

    /// Every rank beside the root, relayed where NCCL does so.
    pub(super) fn star(&self, root: usize) -> RootedTree {
        let fabrics = self.fabrics();
        let ends = (0..self.gpus.len()).flat_map(|rank| [(root, rank), (rank, root)]);
        let relay = |(from, to): (usize, usize)| {
            let through = self.relay(&fabrics, from, to)?;
            Some(Relay { from, to, through: self.gpus[through] })
        };
        let relays = ends.clone().filter_map(relay).collect();
        let messages = self.messages();
        let crossings = messages.map_or_else(Vec::new, |messages| {
            let mut crossings: Vec<Crossing> =
                ends.filter_map(|pair| messages.crossing(0, pair)).collect();
            crossings.sort_unstable();
            crossings
        });
        let transport = self.rings[0].channel.transport;
        RootedTree {
            parent: (0..self.gpus.len()).map(|rank| (rank != root).then_some(root)).collect(),
            chunks: 1,
            channel: Channel { relays, crossings, ..Channel::over(transport) },
        }
    }

    /// Returns for each channel a chain in every server. The double binary trees join the heads of
    /// the chains. Both trees run on every channel. Where the number of channels is given, the
    /// first runs on those that were found and the second on the same again.
    pub(super) fn trees(&self) -> Vec<RootedTree> {
        let between = double_binary_tree(self.servers.len());
        let kinds = if self.servers.len() > 1 { 2 } else { 1 };
        let mut trees = Vec::new();
        for (at, (order, ring)) in self.orders.iter().zip(&self.rings).enumerate() {
            let own = self.found.map(|found| at / found % kinds);
            for tree in own.map_or(&between[..kinds], |kind| &between[kind..=kind]) {
                let mut parent = vec![None; self.gpus.len()];
                let order: Cow<'_, [Vec<usize>]> = match &self.deal {
                    Some(deal) => Cow::Owned(self.of_tree(deal, at % deal.channels())),
                    None => Cow::Borrowed(order),
                };
                for (server, ranks) in order.iter().enumerate() {
                    parent[ranks[0]] = tree[server].map(|above| order[above][0]);
                    ranks.windows(2).for_each(|pair| parent[pair[1]] = Some(pair[0]));
                }
                let mut channel = ring.channel.clone();
                if let Some(deal) = &self.deal {
                    let joined = (at % deal.channels(), &tree[..]);
                    channel.crossings = deal.of_trees(self.gpus, &self.servers, joined);
                }
                let back = |relay: &Relay| Relay { from: relay.to, to: relay.from, ..*relay };
                let back: Vec<Relay> = channel.relays.iter().map(back).collect();
                channel.relays.extend(back);
                channel.relays.sort_unstable();
                channel.relays.dedup();
                trees.push(RootedTree { parent, chunks: 1, channel });
            }
        }
        trees
    }
}

impl Job<'_> {
    /// Lists the ranks of each server in the order of a tree's channel.
    fn of_tree(&self, deal: &Deal, channel: usize) -> Vec<Vec<usize>> {
        let of_server = |(server, ranks): (usize, &Vec<usize>)| {
            deal.of_tree(channel, server).order.iter().map(|at| ranks[*at]).collect()
        };
        self.servers.iter().enumerate().map(of_server).collect()
    }
}

/// The rings of each server. Servers of one template with GPUs in the same places have the same ones, but for the
/// GPUs that relay, whose ids are their own.
fn of_each_server(
    wiring: &Wiring,
    gpus: &[usize],
    servers: &[Vec<usize>],
    find: impl Fn(&Vec<usize>) -> Rings,
) -> Vec<Rings> {
    let mut known: Vec<(&Server, Vec<usize>, Rings)> = Vec::new();
    let of_server = |ranks: &Vec<usize>| {
        let template = wiring.in_template(gpus[ranks[0]]).0;
        let places: Vec<usize> =
            ranks.iter().map(|rank| wiring.in_template(gpus[*rank]).1).collect();
        let mut same = known.iter().filter(|(of, _, _)| std::ptr::eq(*of, template));
        if let Some((.., rings)) = same.find(|(_, at, _)| *at == places) {
            return rings.clone();
        }
        let rings = find(ranks);
        if rings.rings.iter().all(|ring| ring.relays.is_empty()) {
            known.push((template, places, rings.clone()));
        }
        rings
    };
    servers.iter().map(of_server).collect()
}

/// Gives for each channel and server the ranks in their order.
fn orders(
    servers: &[Vec<usize>],
    found: &[Rings],
    deal: Option<&Deal>,
    bounded: bool,
) -> Vec<Vec<Vec<usize>>> {
    let most = if bounded { MOST_CHANNELS } else { usize::MAX };
    let renamed = |ranks: &[usize], order: &[usize]| -> Vec<usize> {
        order.iter().map(|at| ranks[*at]).collect()
    };
    let Some(deal) = deal else {
        let taken = found[0].rings.iter().take(most);
        return taken.map(|ring| vec![renamed(&servers[0], &ring.order)]).collect();
    };
    let order = |channel: usize| {
        let of_server = |(server, ranks): (usize, &Vec<usize>)| {
            renamed(ranks, &deal.of_ring(channel, server).order)
        };
        servers.iter().enumerate().map(of_server).collect()
    };
    (0..deal.channels().min(most)).map(order).collect()
}

/// Finds the hops of these orders on one server that a third GPU relays; of rings the last hop, too.
fn relays_of<'a>(
    gpus: &[usize],
    ranks: &[usize],
    fabric: &Fabric,
    orders: impl Iterator<Item = &'a Vec<usize>>,
    is_ring: bool,
) -> Vec<Relay> {
    let place = |rank: usize| ranks.iter().position(|own| *own == rank);
    let hops = orders.flat_map(|order| {
        let closing = is_ring.then(|| (order[order.len() - 1], order[0]));
        order.windows(2).map(|pair| (pair[0], pair[1])).chain(closing)
    });
    let relay = |(from, to): (usize, usize)| {
        let through = fabric.relay(place(from)?, place(to)?)?;
        Some(Relay { from, to, through: gpus[ranks[through]] })
    };
    hops.filter_map(relay).collect()
}

fn relay_note(gpus: &[usize], relays: &[Relay]) -> String {
    let mut hops: Vec<String> = relays
        .iter()
        .map(|relay| {
            format!("{} to {} through {}", gpus[relay.from], gpus[relay.to], relay.through)
        })
        .collect();
    hops.sort_unstable();
    hops.dedup();
    format!("no NVLink joins some neighbours; these GPUs relay: {}", hops.join(", "))
}
