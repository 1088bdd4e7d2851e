//! NCCL's algorithms as schedules.

use super::double_tree::double_binary_tree;
use super::fabric::{Fabric, by_server};
use super::rings::{Era, FoundRing, RingPath, Rings, on_host, rings_of};
use crate::collectives::collective::Collective;
use crate::collectives::link_graph::LinkClass;
use crate::collectives::lowering::{
    Ring, RootedTree, Way, schedule_of_rings, schedule_of_trees, schedule_of_ways,
};
use crate::collectives::plan::{Links, PlanError};
use crate::collectives::schedule::{Channel, Relay, Schedule, Transport};
use crate::topology::{DeviceKind, Machine};

/// The most channels that a schedule holds (NCCL's `MAXCHANNELS` of the executors' format).
const MOST_CHANNELS: usize = 32;

/// Which NCCL, and which of its algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Baseline {
    /// NCCL 2.3 and 2.4: rings.
    Classic,
    /// Recent NCCL: rings, and pairs of sends and receives.
    Ring,
    /// Recent NCCL: chains within a server, double binary trees between servers.
    Tree,
}

impl Baseline {
    /// Its name among the algorithms.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "nccl-classic",
            Self::Ring => "nccl-ring",
            Self::Tree => "nccl-tree",
        }
    }

    const fn era(self) -> Era {
        match self {
            Self::Classic => Era::Classic,
            Self::Ring | Self::Tree => Era::Recent,
        }
    }
}

/// A baseline's schedule and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselinePlan {
    /// What to do.
    pub schedule: Schedule,
    /// The links that carry it.
    pub links: LinkClass,
    /// The chains or trees behind it; empty for rings and ways.
    pub trees: Vec<RootedTree>,
    /// What a person should know: a fall-back, the GPUs that relay, an incomplete search.
    pub notes: Vec<String>,
}

/// The schedule that NCCL would run on these GPUs, which have been checked.
///
/// # Errors
/// [`PlanError::Unsupported`] where this NCCL does not do the collective so, and
/// [`PlanError::NoRing`] where only NVLink is wanted and it would fall back to PCIe.
pub fn baseline_plan(
    machine: &Machine,
    gpus: &[usize],
    collective: Collective,
    baseline: Baseline,
    links: Links,
) -> Result<BaselinePlan, PlanError> {
    let remedy = match (baseline, collective) {
        (Baseline::Classic, kind) if by_pairs(kind) => Some("nccl-ring, packing"),
        (Baseline::Tree, kind) if kind != Collective::AllReduce => Some("nccl-ring, nccl-classic"),
        _ => None,
    };
    if let Some(remedy) = remedy {
        let (algorithm, collective) = (baseline.name(), collective.name());
        return Err(PlanError::Unsupported { algorithm, collective, remedy });
    }
    let job = Job::new(machine, gpus, baseline, links)?;
    let name = format!("{}-{}", baseline.name(), collective.name());
    let mut trees = Vec::new();
    let schedule = match collective {
        Collective::AllToAll => schedule_of_ways(&name, gpus, &job.ways(), 1),
        Collective::Gather { root } | Collective::Scatter { root } => {
            trees = vec![job.star(root)];
            schedule_of_trees(&name, collective, gpus, &trees)
        }
        Collective::Broadcast { root } | Collective::Reduce { root } => {
            let forwards = matches!(collective, Collective::Broadcast { .. });
            trees = job.rings.iter().map(|ring| chain(ring, root, forwards)).collect();
            schedule_of_trees(&name, collective, gpus, &trees)
        }
        Collective::AllReduce if baseline == Baseline::Tree => {
            trees = job.trees();
            schedule_of_trees(&name, collective, gpus, &trees)
        }
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => {
            let chunks = if collective == Collective::AllReduce { gpus.len() as u32 } else { 1 };
            let ring = |ring: &Ring| Ring { chunks, ..ring.clone() };
            let rings: Vec<Ring> = job.rings.iter().map(ring).collect();
            schedule_of_rings(&name, collective, gpus, &rings)
        }
    };
    Ok(BaselinePlan { schedule, links: job.class, trees, notes: job.notes })
}

/// Whether NCCL runs it as sends and receives between pairs, which it has since 2.7.
pub(super) const fn by_pairs(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::Gather { .. } | Collective::Scatter { .. } | Collective::AllToAll
    )
}

/// A job's rings and what they use.
struct Job<'a> {
    machine: &'a Machine,
    gpus: &'a [usize],
    /// The ranks of each server.
    servers: Vec<Vec<usize>>,
    /// For each channel and server the ranks in the ring's order.
    orders: Vec<Vec<Vec<usize>>>,
    /// The rings through all servers, as ranks.
    rings: Vec<Ring>,
    class: LinkClass,
    notes: Vec<String>,
    /// Whether pairs without NVLink may relay.
    relays: bool,
}

impl<'a> Job<'a> {
    fn new(
        machine: &'a Machine,
        gpus: &'a [usize],
        baseline: Baseline,
        links: Links,
    ) -> Result<Self, PlanError> {
        let servers = by_server(machine, gpus);
        let ids = |ranks: &Vec<usize>| ranks.iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
        let found = |ranks: &Vec<usize>| match links {
            Links::Host => on_host(machine, &ids(ranks)),
            Links::Auto | Links::Fabric => rings_of(machine, &ids(ranks), baseline.era()),
        };
        let mut found: Vec<Rings> = servers.iter().map(found).collect();
        let falls_back = found.iter().any(|rings| rings.path == RingPath::Host);
        if falls_back && links == Links::Fabric {
            return Err(PlanError::NoRing { algorithm: baseline.name() });
        }
        let mut notes = Vec::new();
        if falls_back && links == Links::Auto {
            notes.push(format!("{} finds no ring over NVLink; planned over PCIe", baseline.name()));
            found = servers.iter().map(|ranks| on_host(machine, &ids(ranks))).collect();
        }
        if found.iter().any(|rings| !rings.exact) {
            notes.push("the search for rings was cut short; there may be more of them".to_owned());
        }
        let class = match (servers.len() > 1, falls_back || links == Links::Host) {
            (true, _) => LinkClass::Network,
            (false, true) => LinkClass::Host,
            (false, false) => LinkClass::Fabric,
        };
        let orders = orders(machine, gpus, &servers, &found);
        let relays: Vec<Relay> = servers
            .iter()
            .zip(&found)
            .flat_map(|(ranks, rings)| {
                let renamed = |relay: &Relay| Relay {
                    from: ranks[relay.from],
                    to: ranks[relay.to],
                    ..*relay
                };
                rings.rings.iter().flat_map(|ring| &ring.relays).map(renamed).collect::<Vec<_>>()
            })
            .collect();
        if !relays.is_empty() {
            notes.push(relay_note(gpus, &relays));
        }
        let host = falls_back || links == Links::Host;
        let transport = if host { Transport::Host } else { Transport::Best };
        let ring = |order: &Vec<Vec<usize>>| {
            let order: Vec<usize> = order.concat();
            let next = |at: usize| order[(at + 1) % order.len()];
            let hops: Vec<_> = (0..order.len()).map(|at| (order[at], next(at))).collect();
            let used = relays.iter().filter(|relay| hops.contains(&(relay.from, relay.to)));
            let mut relays: Vec<Relay> = used.copied().collect();
            relays.sort_unstable();
            relays.dedup();
            Ring { order, chunks: 1, channel: Channel { transport, relays } }
        };
        let rings = orders.iter().map(ring).collect();
        let relays = baseline.era() == Era::Recent && !host;
        Ok(Self { machine, gpus, servers, orders, rings, class, notes, relays })
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

    fn fabrics(&self) -> Vec<Fabric> {
        let ids =
            |ranks: &Vec<usize>| ranks.iter().map(|rank| self.gpus[*rank]).collect::<Vec<_>>();
        self.servers.iter().map(|ranks| Fabric::new(self.machine, &ids(ranks))).collect()
    }

    /// One way for each ordered pair.
    fn ways(&self) -> Vec<Way> {
        let fabrics = self.fabrics();
        let ranks = self.gpus.len();
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let way = |(from, to)| {
            let through = self.relay(&fabrics, from, to);
            let ranks = [Some(from), through, Some(to)].into_iter().flatten().collect();
            Way { ranks, chunks: 1 }
        };
        pairs.filter(|(from, to)| from != to).map(way).collect()
    }

    /// Every rank beside the root, relayed where NCCL does so.
    fn star(&self, root: usize) -> RootedTree {
        let fabrics = self.fabrics();
        let ends = (0..self.gpus.len()).flat_map(|rank| [(root, rank), (rank, root)]);
        let relay = |(from, to): (usize, usize)| {
            let through = self.relay(&fabrics, from, to)?;
            Some(Relay { from, to, through: self.gpus[through] })
        };
        let relays = ends.filter_map(relay).collect();
        let transport = self.rings[0].channel.transport;
        RootedTree {
            parent: (0..self.gpus.len()).map(|rank| (rank != root).then_some(root)).collect(),
            chunks: 1,
            channel: Channel { transport, relays },
        }
    }

    /// For each channel a chain in every server, whose heads the double binary trees join.
    fn trees(&self) -> Vec<RootedTree> {
        let between = double_binary_tree(self.servers.len());
        let kinds = if self.servers.len() > 1 { 2 } else { 1 };
        let mut trees = Vec::new();
        for (order, ring) in self.orders.iter().zip(&self.rings) {
            for tree in &between[..kinds] {
                let mut parent = vec![None; self.gpus.len()];
                for (server, ranks) in order.iter().enumerate() {
                    parent[ranks[0]] = tree[server].map(|above| order[above][0]);
                    ranks.windows(2).for_each(|pair| parent[pair[1]] = Some(pair[0]));
                }
                let mut channel = ring.channel.clone();
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

/// For each channel and server the ranks in their order. Several servers have as many channels
/// as the least of them; each starts at another GPU, so that the network interfaces share.
fn orders(
    machine: &Machine,
    gpus: &[usize],
    servers: &[Vec<usize>],
    found: &[Rings],
) -> Vec<Vec<Vec<usize>>> {
    let renamed = |ranks: &[usize], ring: &FoundRing| -> Vec<usize> {
        ring.order.iter().map(|at| ranks[*at]).collect()
    };
    if let ([ranks], [rings]) = (servers, found) {
        let most = rings.rings.iter().take(MOST_CHANNELS);
        return most.map(|ring| vec![renamed(ranks, ring)]).collect();
    }
    let nics = interfaces(machine, gpus[servers[0][0]]);
    let switched = |rings: &Rings| rings.path == RingPath::Switched;
    let count = |rings: &Rings| if switched(rings) { nics } else { rings.rings.len() };
    let channels = found.iter().map(count).min().unwrap_or(1).clamp(1, MOST_CHANNELS / 2);
    let order = |channel: usize| {
        let of_server = |(ranks, rings): (&Vec<usize>, &Rings)| {
            let ring = &rings.rings[channel % rings.rings.len()];
            let mut order = renamed(ranks, ring);
            let length = order.len();
            // A chain may start anywhere on its ring, but a hop less is a relay less.
            if ring.relays.is_empty() {
                order.rotate_left(channel * length / channels % length);
            }
            order
        };
        servers.iter().zip(found).map(of_server).collect()
    };
    (0..channels).map(order).collect()
}

/// How many network interfaces the server of a GPU has.
pub(super) fn interfaces(machine: &Machine, gpu: usize) -> usize {
    let servers = machine.servers();
    let own = servers[machine.gpus()[gpu]];
    let devices = machine.devices().iter().zip(&servers);
    let nics = devices.filter(|(device, server)| device.kind == DeviceKind::Nic && **server == own);
    nics.count().max(1)
}

/// The path along a ring away from the root, or, where data flows to it, the whole ring but
/// its last hop.
fn chain(ring: &Ring, root: usize, forwards: bool) -> RootedTree {
    let length = ring.order.len();
    let start = ring.order.iter().position(|rank| *rank == root).unwrap_or(0);
    let mut parent = vec![None; length];
    for step in 1..length {
        let at = |step: usize| ring.order[(start + step) % length];
        if forwards {
            parent[at(step)] = Some(at(step - 1));
        } else {
            parent[at(step)] = Some(at(step + 1));
        }
    }
    RootedTree { parent, chunks: 1, channel: ring.channel.clone() }
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

#[cfg(test)]
mod tests;
