//! Finds the heaviest ring through every subset of a small machine's GPUs, exactly.
//!
//! It uses Held and Karp's dynamic programming. This finds the heaviest path from a subset's lowest
//! GPU through all of it to each of its GPUs. The heaviest ring of every subset follows at once.
//! Preparing a 16-GPU machine costs some 3 million additions. A decision is then a scan over a
//! table. For 20 GPUs the table takes 84 MB, and it is made when a ring is first asked for.

use super::paths::{bits, path_starts};
use crate::allocation::Pattern;
use crate::allocation::effort::Effort;
use crate::allocation::links::PairTable;

/// The most GPUs whose heaviest rings are tabulated.
pub const MAX_EXACT: usize = 20;

/// Holds the heaviest rings of all subsets.
#[derive(Debug, Clone)]
pub struct RingTable {
    starts: Vec<u32>,
    /// Holds the heaviest path per subset and last GPU.
    paths: Vec<u64>,
    /// Holds the heaviest ring per subset. It is zero below two GPUs, and one edge for two.
    rings: Vec<u64>,
}

impl RingTable {
    /// Prepares the table; where the effort is stopped meanwhile it is to be thrown away.
    ///
    /// # Panics
    /// If there are more than [`MAX_EXACT`] GPUs.
    #[must_use]
    pub fn new(pairs: &PairTable, effort: &mut Effort<'_>) -> Self {
        assert!(pairs.count() <= MAX_EXACT, "the table would not fit");
        let starts = path_starts(pairs.count());
        let mut paths = vec![0; starts[starts.len() - 1] as usize];
        let mut rings = vec![0; starts.len() - 1];
        for subset in 1..rings.len() {
            if subset % 4096 == 0 {
                effort.pass(4096);
                if effort.is_stopped() {
                    break;
                }
            }
            let first = subset.trailing_zeros() as usize;
            let later = subset & (subset - 1);
            let closes = later & later.wrapping_sub(1) != 0;
            for (at, last) in bits(later).enumerate() {
                let before = subset & !(1 << last);
                let known = &paths[starts[before] as usize..starts[before + 1] as usize];
                let to_last = pairs.weights_of(last);
                let others = bits(later & !(1 << last)).zip(known);
                let longer = others.map(|(previous, path)| path + to_last[previous]).max();
                let path = longer.unwrap_or(to_last[first]);
                paths[starts[subset] as usize + at] = path;
                let closing = if closes { to_last[first] } else { 0 };
                rings[subset] = rings[subset].max(path + closing);
            }
        }
        Self { starts, paths, rings }
    }

    /// Returns the weight of the heaviest ring through exactly this subset.
    #[must_use]
    #[inline]
    pub fn weight(&self, subset: usize) -> u64 {
        self.rings[subset]
    }

    /// That ring, from its lowest GPU on; among equals the last GPU is lowest, and so on back.
    #[must_use]
    pub fn ring(&self, subset: usize, pairs: &PairTable) -> Vec<usize> {
        let mut rest = subset;
        let Some(first) = bits(rest).next() else { return Vec::new() };
        let closes = rest.count_ones() > 2;
        let mut ring = Vec::with_capacity(rest.count_ones() as usize);
        // The last GPU is the one whose path and closing edge make the ring. Each GPU before it is
        // the one whose path and next edge make the rest of the path.
        let mut left = self.rings[rest];
        let mut next = first;
        while rest.count_ones() > 1 {
            let known = &self.paths[self.starts[rest] as usize..];
            let edge = |gpu: usize| match ring.is_empty() && !closes {
                true => 0,
                false => pairs.weight(gpu, next),
            };
            let mut ends = bits(rest & (rest - 1)).zip(known);
            let Some((gpu, _)) = ends.find(|(gpu, path)| *path + edge(*gpu) == left) else { break };
            left -= edge(gpu);
            ring.push(gpu);
            rest &= !(1 << gpu);
            next = gpu;
        }
        ring.push(first);
        ring.reverse();
        ring
    }
}

/// The GPU of each vertex when the pattern's own ring is laid along `ring`.
#[must_use]
pub fn in_ring_order(pattern: &Pattern, ring: &[usize]) -> Vec<usize> {
    let mut placement = ring.to_vec();
    let (mut before, mut at) = (None, 0);
    for gpu in ring {
        placement[at] = *gpu;
        let ends = pattern.edges().iter().filter(|(a, b)| *a == at || *b == at);
        let next = ends.map(|(a, b)| a + b - at).find(|v| Some(*v) != before);
        (before, at) = (Some(at), next.unwrap_or(0));
    }
    placement
}
