//! Closer bounds for the candidates that may win: turn by turn, with exchanges as long as they are played.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{FoundLayouts, LayoutCandidate, LayoutSearch};
use crate::training::layout_step::LayoutStep;
use crate::units::Picoseconds;

/// Keeps a search short, whatever is asked. A close look takes time in proportion to the GPUs. So this counts the GPUs of
/// all layouts that are looked at closely. On 1,024 GPUs that is 400 layouts.
const MOST: u64 = 400 << 10;

/// Holds candidates by their closer bounds, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClosestLayouts {
    /// As many as were asked for, or all.
    pub candidates: Vec<LayoutCandidate>,
    /// How many were looked at closely.
    pub looked_at: u64,
    /// Gives the bound of all others.
    pub rest: Option<Picoseconds>,
    /// Whether some were not looked at closely that might be among the first.
    pub is_cut: bool,
}

impl LayoutSearch<'_> {
    /// Finds the candidates with the least bounds; `bound` says what a step takes turn by turn. The one with the least bound is
    /// looked at closely and comes back with a closer one, until enough are known to be first.
    ///
    /// # Errors
    /// Passes on those of `bound`.
    pub fn closest<E>(
        &self,
        found: &FoundLayouts,
        count: usize,
        mut bound: impl FnMut(&LayoutStep) -> Result<Picoseconds, E>,
    ) -> Result<ClosestLayouts, E> {
        let all = found.candidates.iter().enumerate();
        let mut queue: BinaryHeap<Reverse<(Picoseconds, bool, usize)>> =
            all.map(|(at, own)| Reverse((own.least, false, at))).collect();
        let mut closest = ClosestLayouts::default();
        while let Some(Reverse((least, is_close, at))) = queue.pop() {
            let own = &found.candidates[at];
            if is_close {
                closest.candidates.push(LayoutCandidate { least, ..own.clone() });
                if closest.candidates.len() == count {
                    break;
                }
                continue;
            }
            if closest.looked_at.saturating_mul(self.gpus) >= MOST {
                // The rest has no closer bound. Those that have one come first.
                closest.is_cut = true;
                closest.rest = Some(closest.rest.map_or(least, |rest| rest.min(least)));
                continue;
            }
            closest.looked_at += 1;
            let step = self.machine.step(&self.training(own)).ok().flatten();
            let Some(step) = step else { continue };
            let closer = bound(&step)?.max(least);
            queue.push(Reverse((closer, true, at)));
        }
        let next = queue.into_iter().map(|Reverse((least, ..))| least).min();
        closest.rest = [closest.rest, next].into_iter().flatten().min();
        Ok(closest)
    }
}
