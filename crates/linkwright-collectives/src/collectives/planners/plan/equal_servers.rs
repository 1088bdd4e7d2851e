//! Plans on servers that are all alike: it plans one of them, and the traffic between them.
//!
//! **Which servers are alike.** A planner sees the GPUs of the job on a server and the fabric
//! between these. It also sees the part of the network that each reaches. Servers of one template,
//! with GPUs in the same places and as wide ports, have the same of each.
//!
//! **The quotient.** One of S such servers is kept, with trees packed on its own links. They start
//! from every place of it where every GPU is a root. Between servers data stays on its rail, the
//! GPUs in one place of all servers, each with its own part B of the interfaces. An all-gather's
//! rails carry each shard to every other server once. Their trees are the same from every server,
//! so that each interface sends and receives S - 1 shards. An all-reduce is one of each kind, a
//! reduction and its way back. A broadcast cuts its data in one part for each rail. It sends each
//! half of a part along one of two binary trees, in which each server passes two halves on at most.
//!
//! **Why nothing is faster.** Let W be all GPUs of one server, of n / S GPUs. Let B be the
//! bandwidth that enters it over the network. W is a set of the whole system, so its cut bounds
//! every schedule there. In an all-gather n - n / S shards have to enter it, and in a
//! reduce-scatter they have to leave it. In a broadcast from elsewhere all data has to enter it. In
//! an all-reduce, every byte of the result is merged from S servers' parts and then brought to all
//! of these. This makes 2 (S - 1) arrivals at servers, whose interfaces take in S B together. A
//! plan of the quotient loads an interface with just that, since it sends nothing into a server
//! twice. Where one server's own trees carry as much, the plan attains the bound and is an optimum
//! of the whole. Where they do not, the fabric is the limit, and the bound proves nothing. Then the
//! whole is planned as servers that differ are, if it is small enough.
//!
//! It leaves out interfaces that GPUs of a server share unequally, and PCIe beside the fabric.

use std::borrow::Cow;

use super::rate::steady_rate;
use super::{Plan, PlanError, Question, packed, packing, rails};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::nccl::baselines::double_tree::binary_tree;
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::collectives::planners::lowering::{
    PlaceTree, RankPath, RootedTree, schedule_of_equal_servers, schedule_of_paths,
    schedule_of_trees,
};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, ChannelTransport, Schedule};
use crate::graph::arborescences::Preference;
use crate::graph::greatest_common_divisor;
use crate::system::Wiring;
use crate::units::Bandwidth;

/// The most parts that a broadcast's data is cut into, to keep shares exact.
const MOST_PARTS: u64 = 4_096;

/// In how many parts it is cut where exact shares would need more.
const ROUNDED_PARTS: u64 = 1_024;

/// How much of the bound a rate must reach to be taken for it: capacities are whole units.
const AS_GOOD: f64 = 1.0 - 1e-4;

/// Servers that are alike, and one of them.
pub(super) struct EqualServers {
    /// Lists the ranks of each, in the order of their places.
    servers: Vec<Vec<usize>>,
    /// The fabric of one server, whose GPUs are its places; None where that has one GPU.
    fabric: Option<LinkGraph>,
    /// Gives the bandwidth of the network that each place reaches, B/s.
    rails: Vec<u64>,
}

impl EqualServers {
    /// The servers of these GPUs; None where they differ, there is one, or the fabric does not join the
    /// GPUs of each.
    pub(super) fn of(wiring: &Wiring, gpus: &[usize]) -> Option<Self> {
        let mut servers = by_server(wiring, gpus);
        let places = servers[0].len();
        if servers.len() < 2 || servers.iter().any(|ranks| ranks.len() != places) {
            return None;
        }
        let place = |rank: &usize| {
            Some(wiring.in_template(gpus[*rank]).1).filter(|_| !wiring.is_alike(gpus[*rank]))
        };
        servers.iter_mut().for_each(|ranks| ranks.sort_by_key(place));
        let template = |ranks: &[usize]| wiring.in_template(gpus[ranks[0]]).0;
        let ports = ports(wiring);
        let looks = |ranks: &[usize]| -> (Vec<Option<usize>>, &[(u64, u64)]) {
            let server = wiring.server_of(gpus[ranks[0]]).unwrap_or(0);
            (ranks.iter().map(place).collect(), ports.get(server).map_or(&[], Vec::as_slice))
        };
        let first = (template(&servers[0]), looks(&servers[0]));
        let is_like =
            |ranks: &Vec<usize>| std::ptr::eq(template(ranks), first.0) && looks(ranks) == first.1;
        if !servers.iter().all(is_like) {
            return None;
        }
        let two: Vec<usize> = servers[..2].concat().into_iter().map(|rank| gpus[rank]).collect();
        let joined = rails::graph(wiring, &two)?;
        let across =
            |(a, b, _): &&(usize, usize, u64)| *a < places && (places..2 * places).contains(b);
        let mut rails = vec![0; places];
        for (a, b, bandwidth) in joined.links.iter().filter(across) {
            if a + places != *b {
                return None;
            }
            rails[*a] += bandwidth;
        }
        let own = || LinkGraph::on(wiring, &two[..places], LinkClass::Fabric).ok();
        let fabric = if places > 1 { Some(own()?) } else { None };
        rails.iter().all(|rail| *rail > 0).then_some(Self { servers, fabric, rails })
    }

    /// A plan of the quotient; None for collectives that it is no use for.
    pub(super) fn plan(&self, question: &Question<'_>) -> Result<Option<Plan>, PlanError> {
        let Question { gpus, collective, preference, .. } = *question;
        let wiring = question.wiring();
        let name = format!("{}-{}", packed::NAME, collective.name());
        let (schedule, trees) = match collective {
            Collective::AllGather | Collective::ReduceScatter | Collective::AllReduce => {
                let (trees, _) = self.trees_of_every_place(preference)?;
                let servers = &self.servers;
                (schedule_of_equal_servers(&name, collective, gpus, servers, &trees), Vec::new())
            }
            Collective::Broadcast { root } | Collective::Reduce { root } => {
                let trees = self.trees_of_root(root, preference)?;
                (schedule_of_trees(&name, collective, gpus, &trees), trees)
            }
            // Elsewhere some GPUs of a server have no link of their own between them.
            Collective::Scatter { root } | Collective::Gather { root }
                if self.fabric.as_ref().is_none_or(LinkGraph::has_switches) =>
            {
                (self.by_paths(&name, collective, gpus, root), Vec::new())
            }
            _ => return Ok(None),
        };
        let rate = steady_rate(&schedule, wiring)?;
        let bound = self.bound(collective);
        let is_proven = rate.0 as f64 >= bound * AS_GOOD;
        let optimum = is_proven.then_some(Bandwidth((bound.round() as u64).max(rate.0)));
        let (algorithm, links) = (Cow::Borrowed(packed::NAME), LinkClass::Network);
        let notes = vec![format!(
            "{} equal servers are planned as one: its trees are those of each, joined by rails",
            self.servers.len()
        )];
        Ok(Some(Plan { schedule, algorithm, links, trees, rate, optimum, notes }))
    }

    /// Returns a bound that no schedule passes, B/s of the size: see the module.
    fn bound(&self, collective: Collective) -> f64 {
        let entering: f64 = self.rails.iter().map(|rail| *rail as f64).sum();
        let servers = self.servers.len() as f64;
        match collective {
            Collective::Broadcast { .. } | Collective::Reduce { .. } => entering,
            Collective::AllReduce => entering * servers / (2.0 * (servers - 1.0)),
            _ => entering * servers / (servers - 1.0),
        }
    }

    fn channel() -> Channel {
        Channel::default()
    }

    /// Returns one server's trees from each of its places, and the chunks of each place.
    fn trees_of_every_place(
        &self,
        preference: Preference,
    ) -> Result<(Vec<PlaceTree>, u64), PlanError> {
        let Some(fabric) = &self.fabric else {
            return Ok((vec![PlaceTree { parent: vec![None], chunks: 1 }], 1));
        };
        let whole = Collective::AllGather;
        let packed = packing::pack(fabric, whole, ChannelTransport::Best, preference)?;
        let trees = packed.trees.into_iter();
        let trees: Vec<PlaceTree> =
            trees.map(|tree| PlaceTree { parent: tree.parent, chunks: tree.chunks }).collect();
        let of_first = trees.iter().filter(|tree| tree.parent[0].is_none());
        let chunks = of_first.map(|tree| u64::from(tree.chunks)).sum();
        Ok((trees, chunks))
    }

    /// Returns trees of all ranks for data that a root sends to all, or gets from all. On its own
    /// server they are the server's trees from the root. On the others they start at the rail that
    /// the data comes over.
    fn trees_of_root(
        &self,
        root: usize,
        preference: Preference,
    ) -> Result<Vec<RootedTree>, PlanError> {
        let at_home = |ranks: &Vec<usize>| ranks.contains(&root);
        let home = self.servers.iter().position(at_home).unwrap_or(0);
        let own = self.servers[home].iter().position(|rank| *rank == root).unwrap_or(0);
        let mut at_root = match &self.fabric {
            Some(fabric) => {
                let from = Collective::Broadcast { root: own };
                packing::pack(fabric, from, ChannelTransport::Best, preference)?.trees
            }
            None => vec![RootedTree { parent: vec![None], chunks: 1, channel: Self::channel() }],
        };
        let (mut elsewhere, per_place) = self.trees_of_every_place(preference)?;
        // Data for a rail goes, where it can, through the GPU of that rail first.
        let places = self.rails.len();
        let after_own = |place: usize| (place + places - own - 1) % places;
        let through = |tree: &RootedTree| {
            let below = (0..places).filter(|place| tree.parent[*place] == Some(own));
            below.map(after_own).min()
        };
        at_root.sort_by_key(through);
        elsewhere.sort_by_key(|tree| tree.parent.iter().position(Option::is_none).map(after_own));
        let between = server_trees(self.servers.len());
        let halves = between.len() as u64;
        let of_root: u64 = at_root.iter().map(|tree| u64::from(tree.chunks)).sum();
        let of_rails = places as u64 * per_place * halves;
        let exact = of_root / greatest_common_divisor(of_root, of_rails);
        let exact = exact.checked_mul(of_rails).filter(|parts| *parts <= MOST_PARTS);
        let parts = exact.unwrap_or(ROUNDED_PARTS.max(of_rails));
        let at_root: Vec<(&RootedTree, u64)> =
            at_root.iter().map(|tree| (tree, u64::from(tree.chunks))).collect();
        let rails: Vec<((&PlaceTree, usize), u64)> = elsewhere
            .iter()
            .flat_map(|tree| {
                (0..halves as usize).map(move |half| ((tree, half), u64::from(tree.chunks)))
            })
            .collect();
        let mut cuts = [ends(&at_root, parts), ends(&rails, parts)].concat();
        cuts.sort_unstable();
        cuts.dedup();
        let unit = cuts.iter().fold(0, |unit, cut| greatest_common_divisor(unit, *cut));
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let run = |(start, end): (u64, &u64)| {
            let ((tree, half), root_tree) =
                (turn(&rails, start, parts), turn(&at_root, start, parts));
            let parent = self.joined(home, (root_tree, tree), &between[half]);
            let chunks = ((end - start) / unit) as u32;
            RootedTree { parent, chunks, channel: Self::channel() }
        };
        Ok(starts.zip(&cuts).filter(|(start, end)| start < end).map(run).collect())
    }

    /// One tree of all ranks: of the root's server, of the others, and between them.
    fn joined(
        &self,
        home: usize,
        (at_root, elsewhere): (&RootedTree, &PlaceTree),
        between: &[Option<usize>],
    ) -> Vec<Option<usize>> {
        let rail = elsewhere.parent.iter().position(Option::is_none).unwrap_or(0);
        let ranks = |distance: usize| &self.servers[(home + distance) % self.servers.len()];
        let mut parent = vec![None; self.servers.len() * self.rails.len()];
        for (distance, above) in between.iter().enumerate() {
            let (own, tree) =
                (ranks(distance), if distance == 0 { &at_root.parent } else { &elsewhere.parent });
            for (place, nearer) in tree.iter().enumerate() {
                parent[own[place]] = nearer.map(|nearer| own[nearer]);
            }
            if let Some(above) = above {
                parent[own[rail]] = Some(ranks(*above)[rail]);
            }
        }
        parent
    }

    /// Sends each shard by way of the GPU of its rail on the root's server.
    fn by_paths(
        &self,
        name: &str,
        collective: Collective,
        gpus: &[usize],
        root: usize,
    ) -> Schedule {
        let home =
            self.servers.iter().find(|ranks| ranks.contains(&root)).unwrap_or(&self.servers[0]);
        let to = |(place, rank): (usize, &usize)| {
            let mut ranks = vec![root, home[place], *rank];
            ranks.dedup();
            if matches!(collective, Collective::Gather { .. }) {
                ranks.reverse();
            }
            (*rank != root).then_some(RankPath { ranks, chunks: 1, channel: 0 })
        };
        let paths: Vec<RankPath> =
            self.servers.iter().flat_map(|ranks| ranks.iter().enumerate().filter_map(to)).collect();
        schedule_of_paths(name, collective, gpus, &paths, 1, ChannelTransport::Best)
    }
}

/// Returns the bandwidth and latency of the links of each server's interfaces to the network, in
/// their order.
fn ports(wiring: &Wiring) -> Vec<Vec<(u64, u64)>> {
    let mut ports: Vec<Vec<(u64, u64)>> = Vec::new();
    for wire in wiring.wires().iter().filter(|wire| wire.is_network()) {
        for end in [wire.a, wire.b] {
            let Some(server) = wiring.devices()[end].server else { continue };
            if ports.len() <= server {
                ports.resize(server + 1, Vec::new());
            }
            ports[server].push((wire.bandwidth.0, wire.latency.0));
        }
    }
    ports
}

/// Returns the trees of the servers, by their distance from the root's. There is one for two
/// servers, else two, in which the leaves of one pass on in the other.
fn server_trees(servers: usize) -> Vec<Vec<Option<usize>>> {
    let first = binary_tree(servers);
    if servers < 3 {
        return vec![first];
    }
    // All but the root: mirrored where they are even in number, else shifted by one.
    let others = servers - 1;
    let place = |server: usize| match server {
        0 => 0,
        _ if others.is_multiple_of(2) => servers - server,
        _ => server % others + 1,
    };
    let mut second = vec![None; servers];
    for (server, above) in first.iter().enumerate() {
        second[place(server)] = above.map(place);
    }
    vec![first, second]
}

/// Returns where each item's run ends, among `parts` parts.
fn ends<T>(items: &[(T, u64)], parts: u64) -> Vec<u64> {
    let whole: u128 = items.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let end = |end: &mut u128, (_, weight): &(T, u64)| {
        *end += u128::from(*weight);
        Some(((*end * u128::from(parts) + whole / 2) / whole) as u64)
    };
    items.iter().scan(0, end).collect()
}

/// Whose run a part is of.
fn turn<T: Copy>(items: &[(T, u64)], at: u64, parts: u64) -> T {
    let ends = ends(items, parts);
    let found = ends.iter().position(|end| at < *end).unwrap_or(items.len() - 1);
    items[found].0
}

#[cfg(test)]
mod tests;
