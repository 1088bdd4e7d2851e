//! The score of patterns that are judged by their edges: the bandwidth of the pattern, then aggregated bandwidth.

use super::ceiling::most_aggregated;
use super::plan::Plan;
use super::rank::{Primary, Rank};
use super::scores::{Aggregated, Ahead, MatchScore};
use crate::allocation::bandwidth::copies::{CopyPaths, PatternLoad};
use crate::allocation::effort::Effort;
use crate::allocation::links::PairTable;
use crate::allocation::{GpuSet, Pattern};

/// Ranks by the bandwidth of a pattern, then by aggregated bandwidth.
pub struct ByEdges<'a> {
    pattern: &'a Pattern,
    copies: &'a CopyPaths,
    pairs: &'a PairTable,
    aggregated: Aggregated<'a>,
    /// How long the pattern takes at least on these GPUs.
    least: u64,
}

impl<'a> ByEdges<'a> {
    /// The score on these GPUs, on which no match takes less than a time; its work is charged.
    #[must_use]
    pub fn new(
        pattern: &'a Pattern,
        (copies, pairs): (&'a CopyPaths, &'a PairTable),
        (gpus, least): (GpuSet, u64),
        effort: &mut Effort<'_>,
    ) -> Self {
        let aggregated = Aggregated::new(pairs, gpus, Primary::NONE, effort);
        Self { pattern, copies, pairs, aggregated, least }
    }
}

/// A time as a primary score: the bandwidth at which a whole share takes it.
#[must_use]
pub fn primary_of(time: u64) -> Primary {
    Primary::of_prediction(CopyPaths::of_time(time))
}

impl MatchScore for ByEdges<'_> {
    type Sum = (PatternLoad, u64);

    fn start(&self) -> Self::Sum {
        (self.copies.empty(), 0)
    }

    fn add(&self, (load, weight): &mut Self::Sum, edge: usize, gpus: [usize; 2]) {
        self.copies.add(load, gpus, self.pattern.share(edge));
        *weight += self.pairs.weight(gpus[0], gpus[1]);
    }

    fn rank(&self, (load, weight): &Self::Sum) -> Rank {
        Rank { primary: primary_of(load.time()), aggregated: *weight }
    }

    fn bound(
        &self,
        (load, weight): &Self::Sum,
        ahead: &Ahead<'_>,
        effort: &mut Effort<'_>,
    ) -> Rank {
        let primary = primary_of(load.time().max(self.least));
        Rank { primary, aggregated: self.aggregated.still(*weight, ahead, effort) }
    }

    fn most(&self, plan: &Plan<'_>, gpus: GpuSet, effort: &mut Effort<'_>) -> Rank {
        effort.spend(1 + (gpus.len() * gpus.len()) as u64 / 64);
        let aggregated = most_aggregated(plan, self.pairs, gpus);
        Rank { primary: primary_of(self.least), aggregated }
    }
}
