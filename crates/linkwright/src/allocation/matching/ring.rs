//! The heaviest ring through every subset of a small machine's GPUs, exactly.
//!
//! Held and Karp's dynamic programming: the heaviest path from a subset's lowest GPU through
//! all of it to each of its GPUs, from which the heaviest ring of every subset follows at
//! once. Preparing a 16-GPU machine costs some 3 million additions; a decision is then a
//! scan over a table.

use crate::allocation::links::PairTable;

/// Heaviest rings of all subsets.
#[derive(Debug, Clone)]
pub struct RingTable {
    count: usize,
    /// Heaviest path per subset and last GPU; the first GPU is the subset's lowest.
    paths: Vec<u64>,
    /// Heaviest ring per subset: zero below two GPUs, one edge for two.
    rings: Vec<u64>,
}

impl RingTable {
    /// Prepares the table.
    #[must_use]
    pub fn new(pairs: &PairTable) -> Self {
        let count = pairs.count();
        let mut paths = vec![0; count << count];
        let mut rings = vec![0; 1 << count];
        for subset in 1..rings.len() {
            let first = subset.trailing_zeros() as usize;
            let later = subset & (subset - 1);
            let mut best_ring = 0;
            let mut ends = later;
            while ends != 0 {
                let last = ends.trailing_zeros() as usize;
                ends &= ends - 1;
                let before = subset & !(1 << last);
                let mut others = later & !(1 << last);
                let mut best = if others == 0 { pairs.weight(first, last) } else { 0 };
                while others != 0 {
                    let previous = others.trailing_zeros() as usize;
                    others &= others - 1;
                    best =
                        best.max(paths[before * count + previous] + pairs.weight(previous, last));
                }
                paths[subset * count + last] = best;
                let closing = if later & (later - 1) == 0 { 0 } else { pairs.weight(last, first) };
                best_ring = best_ring.max(best + closing);
            }
            rings[subset] = best_ring;
        }
        Self { count, paths, rings }
    }

    /// Weight of the heaviest ring through exactly this subset.
    #[must_use]
    #[inline]
    pub fn weight(&self, subset: u16) -> u64 {
        self.rings[usize::from(subset)]
    }

    /// That ring, from its lowest GPU on; among equals the last GPU is lowest, and so on back.
    #[must_use]
    pub fn ring(&self, subset: u16, pairs: &PairTable) -> Vec<usize> {
        let mut rest = usize::from(subset);
        if rest.count_ones() < 2 {
            return (0..self.count).filter(|gpu| rest >> gpu & 1 == 1).collect();
        }
        let first = rest.trailing_zeros() as usize;
        let closing = if rest.count_ones() == 2 { 0 } else { 1 };
        let members = |set: usize| (first + 1..self.count).filter(move |gpu| set >> gpu & 1 == 1);
        let mut ring = Vec::with_capacity(rest.count_ones() as usize);
        // The last GPU is the one whose path and closing edge make the ring; each GPU before
        // it is the one whose path and next edge make the path that is left.
        let mut left = self.rings[rest];
        let mut next = first;
        while rest.count_ones() > 1 {
            let edge = |gpu: usize| match ring.is_empty() {
                true => pairs.weight(gpu, next) * closing,
                false => pairs.weight(gpu, next),
            };
            let fits = |gpu: &usize| self.paths[rest * self.count + gpu] + edge(*gpu) == left;
            let Some(gpu) = members(rest).find(fits) else { break };
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
