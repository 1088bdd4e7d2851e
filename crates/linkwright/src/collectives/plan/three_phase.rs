//! Partitions of an all-reduce across servers, with a root and a tree on each.
//!
//! Every server packs trees on its own links: NVLink where it joins the server's GPUs, else
//! PCIe. The data is cut wherever some server changes its tree or its root; the roots of a
//! server follow one another in equal parts, so that the network interfaces near all of its
//! GPUs carry some, and a server of fewer GPUs has each of them as root for longer.

use super::super::baselines::by_server;
use super::super::collective::Collective;
use super::super::link_graph::{LinkClass, LinkGraph};
use super::super::lowering::{LocalTree, Partition, RootedTree, schedule_of_partitions};
use super::super::schedule::{Channel, Transport};
use super::packing;
use super::rate::steady_rate;
use super::{Algorithm, Links, Plan, PlanError, choose_links};
use crate::graph::arborescences::Preference;
use crate::graph::greatest_common_divisor;
use crate::topology::Machine;

/// The most cuts of the data that keep every share exact.
const MOST_PARTS: u128 = 4_096;

/// In how many parts the data is cut where exact shares would need more.
const ROUNDED_PARTS: u128 = 1_024;

/// One server's GPUs and trees.
struct Server {
    ranks: Vec<usize>,
    /// Its trees, each with its weight; none where there is one GPU.
    trees: Vec<(LocalTree, u32)>,
    /// Whether its trees keep their roots: those that are packed from every root.
    rooted: bool,
    links: LinkClass,
}

/// Plans an all-reduce on GPUs that have been checked.
pub(super) fn plan(
    machine: &Machine,
    gpus: &[usize],
    collective: Collective,
    links: Links,
) -> Result<Plan, PlanError> {
    let algorithm = Algorithm::ThreePhase;
    if collective != Collective::AllReduce {
        return Err(PlanError::Unsupported {
            algorithm: algorithm.name(),
            collective: collective.name(),
            remedy: "packing, nccl-ring",
        });
    }
    let mut notes = Vec::new();
    let groups = by_server(machine, gpus);
    let servers = groups.into_iter().map(|ranks| server(machine, gpus, ranks, links, &mut notes));
    let servers: Vec<Server> = servers.collect::<Result<_, _>>()?;
    let partitions = partitions(gpus.len(), &servers, &mut notes);
    let name = format!("{}-{}", algorithm.name(), collective.name());
    let schedule = schedule_of_partitions(&name, gpus, &partitions);
    let rate = steady_rate(&schedule, machine)?;
    let links = if servers.len() > 1 { LinkClass::Network } else { servers[0].links };
    Ok(Plan { schedule, algorithm, links, trees: Vec::new(), rate, optimum: None, notes })
}

fn server(
    machine: &Machine,
    gpus: &[usize],
    ranks: Vec<usize>,
    links: Links,
    notes: &mut Vec<String>,
) -> Result<Server, PlanError> {
    if ranks.len() < 2 {
        return Ok(Server { ranks, trees: Vec::new(), rooted: true, links: LinkClass::Fabric });
    }
    let own: Vec<usize> = ranks.iter().map(|rank| gpus[*rank]).collect();
    let (class, graph): (LinkClass, LinkGraph) = choose_links(machine, &own, links, notes)?;
    let transport = if class == LinkClass::Host { Transport::Host } else { Transport::Best };
    let (trees, _) = packing::pack(&graph, Collective::AllReduce, transport, Preference::FewTrees)?;
    let in_job = |tree: RootedTree| {
        let mut parent = vec![None; gpus.len()];
        for (at, above) in tree.parent.iter().enumerate() {
            parent[ranks[at]] = above.map(|above| ranks[above]);
        }
        let root = ranks[tree.root()];
        (LocalTree { root, parent, channel: tree.channel }, tree.chunks)
    };
    let trees = trees.into_iter().map(in_job).collect();
    Ok(Server { ranks, trees, rooted: graph.has_switches(), links: class })
}

impl Server {
    fn weight(&self) -> u128 {
        self.trees.iter().map(|(_, weight)| u128::from(*weight)).sum::<u128>().max(1)
    }

    /// Where the server changes its tree or its root, as parts of the data.
    fn cuts(&self) -> Vec<(u128, u128)> {
        let whole = self.weight();
        let ends = self.trees.iter().scan(0, |end, (_, weight)| {
            *end += u128::from(*weight);
            Some((*end, whole))
        });
        let count = self.ranks.len() as u128;
        let roots = (1..=count).map(|root| (root, count)).filter(|_| !self.rooted);
        ends.chain(roots).chain([(1, 1)]).collect()
    }

    /// The tree for the data at `at` of `parts`.
    fn tree_at(&self, at: u128, parts: u128, ranks: usize) -> LocalTree {
        let position = at * self.weight();
        let mut end = 0;
        let found = self.trees.iter().find(|(_, weight)| {
            end += u128::from(*weight);
            position < end * parts
        });
        let Some((tree, _)) = found else {
            let channel = Channel { transport: Transport::Best, relays: Vec::new() };
            return LocalTree { root: self.ranks[0], parent: vec![None; ranks], channel };
        };
        if self.rooted {
            return tree.clone();
        }
        let turn = (at * self.ranks.len() as u128 / parts) as usize;
        let root = self.ranks[turn];
        LocalTree { root, parent: hung_from(root, &tree.parent), channel: tree.channel.clone() }
    }
}

/// The same tree with another root: the way from there to the old one is turned round.
fn hung_from(root: usize, parent: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut turned = parent.to_vec();
    turned[root] = None;
    let (mut below, mut next) = (root, parent[root]);
    while let Some(at) = next {
        turned[at] = Some(below);
        (below, next) = (at, parent[at]);
    }
    turned
}

/// The common refinement of every server's cuts, as runs of whole chunks.
fn partitions(ranks: usize, servers: &[Server], notes: &mut Vec<String>) -> Vec<Partition> {
    let cuts: Vec<(u128, u128)> = servers.iter().flat_map(Server::cuts).collect();
    let exact = cuts.iter().try_fold(1_u128, |parts, (part, whole)| {
        let unit = whole / greatest_common_divisor(*part, *whole);
        let parts = parts / greatest_common_divisor(parts, unit) * unit;
        (parts <= MOST_PARTS).then_some(parts)
    });
    if exact.is_none() {
        notes.push(format!("shares are rounded to {ROUNDED_PARTS} parts of the data"));
    }
    let parts = exact.unwrap_or(ROUNDED_PARTS);
    let mut ends: Vec<u128> =
        cuts.iter().map(|(part, whole)| (part * parts + whole / 2) / whole).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.retain(|end| *end > 0);
    // A ring of roots needs one run for each of them.
    let fold = if servers.len() > 2 { servers.len() as u128 } else { 1 };
    let starts = [0].into_iter().chain(ends.iter().copied());
    let partition = |(start, end): (u128, &u128)| Partition {
        servers: servers.iter().map(|server| server.tree_at(start, parts, ranks)).collect(),
        chunks: ((end - start) * fold) as u32,
    };
    starts.zip(&ends).map(partition).collect()
}
