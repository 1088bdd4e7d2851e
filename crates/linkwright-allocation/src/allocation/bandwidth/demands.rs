//! Finds how long a pattern takes at least, by what its vertices ask of their GPUs.
//!
//! The bound judges a set of GPUs before it is searched.

use super::copies::{CopyPaths, Port};
use crate::allocation::shares::WHOLE;
use crate::allocation::{GpuSet, Pattern};

/// Says what the vertices of a pattern send, so that sets of GPUs can be judged before they are searched.
#[derive(Debug, Clone)]
pub enum Demands {
    /// All edges carry the same: numbers of edges that vertices have, each with how many vertices have it, ascending.
    Equal(Vec<(usize, usize)>),
    /// Holds what vertices send that do not all send the same, each kind once.
    Shares(Vec<VertexDemand>),
}

/// Holds what one vertex exchanges with others, of [`WHOLE`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VertexDemand {
    /// Holds the larger share of each edge, the largest first.
    edges: Vec<u64>,
    /// Holds the share that it sends over each edge, the largest first.
    sent: Vec<u64>,
}

impl Demands {
    /// Finds those of a pattern.
    #[must_use]
    pub fn of(pattern: &Pattern) -> Self {
        let mut exchanged: Vec<Vec<[u64; 2]>> = vec![Vec::new(); pattern.size()];
        for (edge, (a, b)) in pattern.edges().iter().enumerate() {
            let [forth, back] = pattern.share(edge).map(u64::from);
            exchanged[*a].push([forth, back]);
            exchanged[*b].push([back, forth]);
        }
        if pattern.shares().is_empty() {
            let mut degrees: Vec<usize> = exchanged.iter().map(Vec::len).collect();
            degrees.sort_unstable();
            let alike = degrees.chunk_by(|a, b| a == b);
            return Self::Equal(alike.map(|same| (same[0], same.len())).collect());
        }
        let mut vertices: Vec<VertexDemand> =
            exchanged.iter().map(|it| VertexDemand::new(it)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        Self::Shares(vertices)
    }

    /// Gives a time that no match of the pattern is below on these GPUs or some of them.
    #[must_use]
    pub fn least_time(&self, copies: &CopyPaths, gpus: GpuSet) -> u64 {
        match self {
            Self::Equal(degrees) => least_of_degrees(copies, degrees, gpus),
            Self::Shares(vertices) => {
                let offers: Vec<Offer> =
                    gpus.iter().map(|it| Offer::new(copies, it, gpus)).collect();
                let least = |it: &VertexDemand| offers.iter().map(|offer| it.least_at(offer)).min();
                vertices.iter().filter_map(least).max().unwrap_or(0)
            }
        }
    }
}

/// Gives the least time where all edges carry the same.
fn least_of_degrees(copies: &CopyPaths, degrees: &[(usize, usize)], gpus: GpuSet) -> u64 {
    let mut least = 0;
    let mut above = 0;
    for (degree, vertices) in degrees.iter().rev().filter(|(degree, _)| *degree > 0) {
        above += vertices;
        // Each of these vertices has a GPU of its own: the last of them is no faster than that.
        let mut times = [u64::MAX; 128];
        for (at, gpu) in gpus.iter().enumerate() {
            times[at] = least_at(copies, *degree, gpu, gpus);
        }
        let (_, last, _) = times[..gpus.len()].select_nth_unstable(above - 1);
        least = least.max(*last);
    }
    least.saturating_mul(u64::from(WHOLE))
}

/// Says how long a vertex of some edges takes on a GPU at least, where the others are on these.
fn least_at(copies: &CopyPaths, degree: usize, gpu: usize, gpus: GpuSet) -> u64 {
    let there = |other: &&u8| gpus.contains(usize::from(**other));
    let last = copies.nearest(gpu).iter().filter(there).nth(degree - 1);
    let slowest = last.map_or(u64::MAX, |other| copies.alone(gpu, usize::from(*other)));
    let Port { others, time } = copies.port_of(gpu);
    let elsewhere = gpus.without(others).len() - 1;
    slowest.max(time.saturating_mul(degree.saturating_sub(elsewhere) as u64))
}

/// Holds what a GPU offers a vertex, where the others are on some GPUs.
struct Offer {
    /// Holds the time of a copy to each of the others, in the faster direction, the fastest first.
    times: Vec<u64>,
    /// How long a copy keeps the channel to most others busy.
    port: u64,
    /// How many of the others are not behind that channel.
    elsewhere: usize,
}

impl Offer {
    fn new(copies: &CopyPaths, gpu: usize, gpus: GpuSet) -> Self {
        let others = gpus.without(GpuSet::EMPTY.with(gpu));
        let mut times: Vec<u64> = others.iter().map(|it| copies.alone_faster(gpu, it)).collect();
        times.sort_unstable();
        let Port { others: behind, time } = copies.port_of(gpu);
        Self { times, port: time, elsewhere: others.without(behind).len() }
    }
}

impl VertexDemand {
    fn new(exchanged: &[[u64; 2]]) -> Self {
        let descending = |mut shares: Vec<u64>| {
            shares.sort_unstable_by(|a, b| b.cmp(a));
            shares
        };
        Self {
            edges: descending(exchanged.iter().map(|[out, back]| *out.max(back)).collect()),
            sent: descending(exchanged.iter().map(|[out, _]| *out).collect()),
        }
    }

    /// Says how long it takes on a GPU at least.
    fn least_at(&self, offer: &Offer) -> u64 {
        // No other order makes the slowest of the edges faster.
        let paired = self.edges.iter().zip(&offer.times);
        let slowest = paired.map(|(share, time)| share.saturating_mul(*time)).max().unwrap_or(0);
        let through: u64 = self.sent.iter().skip(offer.elsewhere).sum();
        slowest.max(offer.port.saturating_mul(through))
    }
}
