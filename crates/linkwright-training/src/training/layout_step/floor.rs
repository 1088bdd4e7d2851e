//! A time that no step is shorter than, in closed form.
//!
//! A stage computes and waits for exchanges in turn. Before its first micro-batch it waits for
//! the first chunk of all stages before it; behind its last one these take the gradients back. `F` and `B` are the
//! passes of a micro-batch through all chunks of a stage, `f` and `b` those through its first. So by every stage `s` a step
//! takes at least
//!
//! ```text
//! framework + sum of f before s + micro-batches x (F + B) + sum of b before s + update of stage 0
//! ```
//!
//! The collectives of a group follow one another, too. Gradients that are reduced once are so behind the last micro-batch of
//! their units.

use super::exchange_times::ExchangeTimes;
use super::rows::Pass;
use super::{GroupCall, LayoutStep, PipelineSend};
use crate::program::CollectiveKind;
use crate::training::layout::RankGroup;
use crate::units::{Bytes, Picoseconds};

impl LayoutStep {
    /// A time that no step is shorter than whose exchanges take what `times` says or more. One exchange of many bytes is to
    /// take no more by `times` than several of as many together.
    #[must_use]
    pub fn floor(&self, times: &mut dyn ExchangeTimes) -> Picoseconds {
        let micro_batches = self.micro_batches;
        let first_update = self.updates.first().map_or(0, |update| update.0);
        let (mut before, mut behind, mut most) = (0_u64, 0_u64, 0_u64);
        for stage in 0..self.layout.pp {
            let rows = self.rows(stage, times);
            let pass = |chunk: &Vec<[Pass; 2]>, which: usize| -> u64 {
                chunk.iter().map(|row| row[which].time).sum()
            };
            let [forward, backward] =
                [0, 1].map(|which| rows.iter().map(|chunk| pass(chunk, which)).sum::<u64>());
            let worked = (forward + backward).saturating_mul(micro_batches);
            let update = self.updates[stage as usize].0;
            most = most.max(before + worked + behind + first_update).max(before + worked + update);
            // Gradients begin to be reduced in the last micro-batch of the last chunk, behind its last unit. All that
            // other chunks still compute then is the rest of a round.
            let (last, others) = rows.split_last().map_or((0, 0), |(last, others)| {
                let first = last.last().map_or(0, |row| row[1].time);
                (pass(last, 1) - first, others.iter().map(|chunk| pass(chunk, 1)).sum())
            });
            let rest = last + others.saturating_mul(self.layout.pp);
            let (shards, is_at_end) = self.shards(stage, times);
            let begun = if is_at_end { before + worked.saturating_sub(rest) } else { 0 };
            most = most.max(begun + shards + update);
            if let Some(first) = rows.first().filter(|_| stage + 1 < self.layout.pp) {
                let size = self.handed;
                let there = times.send(&PipelineSend { from: stage, to: stage + 1, size }).0;
                let back = times.send(&PipelineSend { from: stage + 1, to: stage, size }).0;
                before += pass(first, 0) + there;
                behind += pass(first, 1) + back;
            }
        }
        Picoseconds(self.framework.0 + most)
    }

    /// Gives the time of a stage's collectives of shards in a step. It tells whether all wait for the last micro-batch.
    fn shards(&self, stage: u64, times: &mut dyn ExchangeTimes) -> (u64, bool) {
        let (group, parts) = (RankGroup::Shards, self.layout.shards());
        if parts < 2 {
            return (0, false);
        }
        let units = self.stages[stage as usize].iter().flatten();
        let (trained, weights) = units.fold((0_u64, 0_u64), |(trained, weights), unit| {
            (trained + unit.trained.plain, weights + unit.weights.plain)
        });
        let mut of = |kind, bytes: u64| {
            if bytes == 0 {
                return 0;
            }
            times.call(stage, &GroupCall { group, kind, size: Bytes(bytes) }).0
        };
        let gathered = |numbers: u64| numbers / parts * self.number;
        let reduced = trained * self.gradient;
        if self.zero == 0 {
            return (of(CollectiveKind::AllReduce, reduced), true);
        }
        let each = of(CollectiveKind::ReduceScatter, reduced);
        // A stage of a pipeline keeps weights and gradients whole from the first micro-batch to the last.
        if self.zero == 1 || self.layout.pp > 1 {
            return (each, true);
        }
        let all = each.saturating_mul(self.micro_batches);
        if self.zero == 2 {
            return (all + of(CollectiveKind::AllGather, gathered(trained)), false);
        }
        // Whatever stays whole between both passes is gathered once.
        let whole = of(CollectiveKind::AllGather, gathered(weights));
        (all + whole.saturating_mul(self.micro_batches), false)
    }
}
