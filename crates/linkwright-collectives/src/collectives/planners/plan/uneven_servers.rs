//! Trees for an all-reduce on servers with different numbers of GPUs, each GPU behind a switch and beside an
//! interface of its own.
//!
//! **Why nothing is faster.** Let S servers have n interfaces of bandwidth B, and the smallest m of them. Every byte of
//! the result enters the smallest server once at least. It arrives at servers 2 (S - 1) times in all, since it is merged
//! from S parts and then brought to all. So no all-reduce passes m B, nor n B / (2 (S - 1)).
//!
//! **Trees that attain it.** Data that goes along a tree of servers loads each with its degree there, in both
//! directions. Degrees of one at least that sum to 2 (S - 1) are those of some tree. The data is cut into K equal
//! parts, so that an interface carries q parts: K / q is the bound over B in lowest terms. Every server ends an edge for
//! each part. The other S - 2 ends of a tree go to the servers with the most interfaces left. Large servers become hubs,
//! and trees are shallow. A server's ends go to its interfaces with the most left. A tree takes as many parts as its
//! interfaces have left. It leaves every server an end for each part that is still to come.
//!
//! On a server one GPU is on the way to the root. The others hang from it along a tree: [`SHALLOW`] from each, or a
//! [`CHAIN`].
//!
//! The rate of what comes out is asked of the links. Where it falls short, the fabric inside or between servers binds, and
//! trees are packed.

use std::cmp::{Ordering, Reverse};
use std::collections::VecDeque;

use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::LinkGraph;
use crate::collectives::planners::lowering::RootedTree;
use crate::collectives::schedule::{Channel, ChannelTransport};
use crate::graph::greatest_common_divisor;
use crate::network::{RouteClass, Routes};
use crate::system::Wiring;
use crate::units::Bandwidth;

/// How much of the bound a rate must reach to be taken for it: capacities are whole units.
const AS_GOOD: f64 = 1.0 - 1e-4;

/// Limits how many of a server's GPUs hang from each in shallow trees. Two hops join thirteen. A GPU's links carry four
/// parts at most.
pub(super) const SHALLOW: usize = 3;

/// How many hang from each in a chain, which loads a GPU's links with two parts.
pub(super) const CHAIN: usize = 1;

/// Holds GPUs on servers with different numbers of them.
pub(super) struct UnevenServers {
    /// Each has its ranks here; servers with the most come first.
    servers: Vec<Vec<usize>>,
    /// Each GPU's interface carries this in each direction, B/s.
    interface: u64,
    /// How many equal parts the data has, and how many of their ends an interface carries.
    parts: usize,
    ends: usize,
}

impl UnevenServers {
    /// Those of an all-reduce over rails; None where servers are all alike, where GPUs are joined by no
    /// switch, and where their interfaces differ.
    pub(super) fn of(wiring: &Wiring, gpus: &[usize], graph: &LinkGraph) -> Option<Self> {
        let mut servers = by_server(wiring, gpus);
        servers.sort_by_key(|ranks| Reverse(ranks.len()));
        let (most, least) = (servers.first()?.len(), servers.last()?.len());
        if most == least || !graph.has_switches() {
            return None;
        }
        let interface = interface_of_all(wiring, gpus, &servers)?;
        let arrivals = 2 * (servers.len() - 1);
        let (parts, ends) = if least * arrivals <= gpus.len() {
            (least, 1)
        } else {
            let unit = greatest_common_divisor(gpus.len(), arrivals);
            (gpus.len() / unit, arrivals / unit)
        };
        Some(Self { servers, interface, parts, ends })
    }

    /// Gives the rate that no all-reduce passes.
    pub(super) fn bound(&self) -> Bandwidth {
        let most = self.interface as f64 * self.parts as f64 / self.ends as f64;
        Bandwidth(most.round() as u64)
    }

    /// Whether a rate is the bound.
    pub(super) fn is_bound(&self, rate: f64) -> bool {
        rate >= self.bound().0 as f64 * AS_GOOD
    }

    /// Gives the trees, each with its parts of the data. At most `below` GPUs of a server hang from each.
    pub(super) fn trees(&self, transport: ChannelTransport, below: usize) -> Vec<RootedTree> {
        let ranks = self.servers.iter().map(Vec::len).sum();
        let (mut left, mut parts) = (vec![self.ends; ranks], self.parts);
        let mut trees = Vec::new();
        while parts > 0 {
            let (ends, taken) = self.next(&left, parts);
            for (rank, left) in left.iter_mut().enumerate() {
                *left -= taken * ends.iter().flatten().filter(|end| **end == rank).count();
            }
            parts -= taken;
            let parent = self.parents(&ends, below);
            trees.push(RootedTree {
                parent,
                chunks: taken as u32,
                channel: Channel::over(transport),
            });
        }
        trees
    }

    /// Gives the ranks at which each server's edges of the next tree end, and how many parts it takes. `left` counts the
    /// ends that each rank's interface still has, and `parts` those of the data that are still to come.
    fn next(&self, left: &[usize], parts: usize) -> (Vec<Vec<usize>>, usize) {
        let spare: Vec<usize> = self
            .servers
            .iter()
            .map(|ranks| ranks.iter().map(|rank| left[*rank]).sum::<usize>() - parts)
            .collect();
        let mut degrees = vec![1; spare.len()];
        let share = |amount: usize, among: usize| Share { amount, among };
        for _ in 2..spare.len() {
            let at =
                (0..spare.len()).max_by_key(|at| (share(spare[*at], degrees[*at]), Reverse(*at)));
            degrees[at.expect("there are servers")] += 1;
        }
        let mut taken = parts;
        let mut used = vec![0; left.len()];
        let mut ends = Vec::with_capacity(degrees.len());
        for ((ranks, degree), spare) in self.servers.iter().zip(&degrees).zip(&spare) {
            let mut own = Vec::with_capacity(*degree);
            for _ in 0..*degree {
                let of = |rank: usize| share(left[rank], used[rank] + 1);
                let rank = ranks.iter().copied().max_by_key(|rank| (of(*rank), Reverse(*rank)));
                let rank = rank.expect("a server has a rank");
                used[rank] += 1;
                own.push(rank);
            }
            let most = own.iter().map(|rank| left[*rank] / used[*rank]).min();
            taken = taken.min(most.unwrap_or(parts));
            if *degree > 1 {
                taken = taken.min(spare / (degree - 1));
            }
            ends.push(own);
        }
        // Spare ends are no fewer than the ends that trees still need: the server with the largest share has one.
        assert!(taken > 0, "some tree takes a part");
        (ends, taken)
    }

    /// Gives the parent of each rank in the tree whose edges end at these ranks of the servers.
    fn parents(&self, ends: &[Vec<usize>], below: usize) -> Vec<Option<usize>> {
        let mut parent = vec![None; self.servers.iter().map(Vec::len).sum()];
        let mut outwards: Vec<usize> = (0..ends.len()).collect();
        outwards.sort_by_key(|server| Reverse(ends[*server].len()));
        let mut open: VecDeque<usize> = VecDeque::new();
        for (place, server) in outwards.into_iter().enumerate() {
            let own = &ends[server];
            let (top, mut free) = (own[0], &own[..]);
            if place > 0 {
                parent[top] = Some(open.pop_front().expect("degrees are those of a tree"));
                free = &own[1..];
            }
            open.extend(free);
            self.join(server, top, &mut parent, below);
        }
        parent
    }

    /// Hangs the other ranks of a server below one of its ranks.
    fn join(&self, server: usize, top: usize, parent: &mut [Option<usize>], below: usize) {
        let ranks = &self.servers[server];
        let at = ranks.iter().position(|rank| *rank == top).expect("it is one of them");
        let places: Vec<usize> = ranks[at..].iter().chain(&ranks[..at]).copied().collect();
        for (place, rank) in places.iter().enumerate().skip(1) {
            parent[*rank] = Some(places[(place - 1) / below]);
        }
    }
}

/// An amount among some, by which they are compared.
#[derive(Debug, Clone, Copy)]
struct Share {
    amount: usize,
    among: usize,
}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.amount * other.among).cmp(&(other.amount * self.among))
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Share {}

/// Gives what each rank's interface carries towards another server, if all carry the same.
fn interface_of_all(wiring: &Wiring, gpus: &[usize], servers: &[Vec<usize>]) -> Option<u64> {
    let routes = Routes::at_peak(wiring);
    let device = |rank: usize| wiring.gpu(gpus[rank]);
    let others = servers.iter().cycle().skip(1);
    let mut own = servers
        .iter()
        .zip(others)
        .flat_map(|(ranks, others)| ranks.iter().map(|rank| (device(*rank), device(others[0]))));
    let reached = |(from, to)| Some(routes.route(from, to, RouteClass::Network)?.bandwidth.0);
    let first = reached(own.next()?)?;
    own.all(|ends| reached(ends) == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests;
