//! Takes micro-batches through a chunk's units, while weights are gathered and gradients are reduced beside.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Open, Writer};
use crate::program::{CollectiveKind, PendingOperation};
use crate::training::layout::RankGroup;
use crate::training::layout_step::pieces::GroupCall;
use crate::training::layout_step::turns::Turn;
use crate::training::layout_step::units::Unit;
use crate::training::memory::Numbers;
use crate::training::step::Region;
use crate::units::{Bytes, Picoseconds};

impl Writer<'_> {
    /// Takes a micro-batch through the units of a chunk.
    pub(super) fn pass(&mut self, turn: Turn) {
        let chunks = self.chunks();
        let units: Vec<&Arc<Unit>> = if turn.is_backward {
            chunks[turn.chunk as usize].iter().rev().collect()
        } else {
            chunks[turn.chunk as usize].iter().collect()
        };
        // Stages of a pipeline keep their weights whole from the first micro-batch to the last.
        let is_first = turn.micro_batch == 0 && !turn.is_backward;
        let divides = self.step.zero >= 3 && (self.step.layout.pp == 1 || is_first);
        let ahead = if divides { self.step.execution.prefetch.min(units.len()) } else { 0 };
        let is_last = turn.micro_batch + 1 == self.step.micro_batches;
        let mut ready: VecDeque<Vec<PendingOperation>> = VecDeque::new();
        let start = self.last;
        // The unit that ended the forward pass is still whole.
        let kept = usize::from(turn.is_backward && self.step.layout.pp == 1);
        let gather = |own: &mut Self, at: usize, after| {
            let unit = units.get(at)?;
            let is_kept = at < kept;
            Some(if is_kept { Vec::new() } else { own.gather(unit.weights, &[after]) })
        };
        if divides {
            for at in 0..ahead {
                ready.extend(gather(self, at, start));
            }
        }
        for (at, unit) in units.iter().enumerate() {
            if divides {
                self.written();
            }
            let before = self.last;
            if divides {
                ready.extend(gather(self, at + ahead, before));
            }
            let mut after = ready.pop_front().unwrap_or_default();
            if !turn.is_backward {
                after.extend(self.first_gathered(turn, at));
            }
            let actions =
                if turn.is_backward { &unit.actions.backward } else { &unit.actions.forward };
            if !after.is_empty() {
                self.compute(Picoseconds(0), &after);
            }
            for action in actions {
                self.act(*action);
            }
            if turn.is_backward {
                self.reduce(unit, is_last);
            }
        }
    }

    fn first_gathered(&mut self, turn: Turn, at: usize) -> Vec<PendingOperation> {
        let chunk = self.gathered.get_mut(turn.chunk as usize);
        chunk
            .and_then(|units| units.get_mut(at))
            .map(|it| it.drain(..).collect())
            .unwrap_or_default()
    }

    /// Gathers weights that are divided over replicas.
    pub(super) fn gather(
        &mut self,
        numbers: Numbers,
        after: &[PendingOperation],
    ) -> Vec<PendingOperation> {
        let number = self.step.number;
        let parted = self.step.parted(numbers);
        let mut calls = Vec::new();
        for (group, part, parts) in parted {
            if parts > 1 && part > 0 {
                let size = Bytes(part * number);
                let call = GroupCall { group, kind: CollectiveKind::AllGather, size };
                calls.push(self.call(call, after));
            }
        }
        calls
    }

    /// Reduces the gradients of a unit, or lets them wait for more.
    fn reduce(&mut self, unit: &Unit, is_last: bool) {
        let is_each = self.step.zero >= 2 && self.step.layout.pp == 1;
        if !is_last && !is_each {
            return;
        }
        self.open.numbers.plain += unit.trained.plain;
        self.open.numbers.experts += unit.trained.experts;
        let held = (self.open.numbers.plain + self.open.numbers.experts)
            .saturating_mul(self.step.gradient);
        if self.step.zero >= 3 || held >= self.step.bucket.0 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.written();
        let Open { numbers } = std::mem::take(&mut self.open);
        let gradient = self.step.gradient;
        let kind = if self.step.zero == 0 {
            CollectiveKind::AllReduce
        } else {
            CollectiveKind::ReduceScatter
        };
        let last = self.last;
        for ((group, part, parts), whole) in
            self.step.parted(numbers).into_iter().zip([numbers.plain, numbers.experts])
        {
            if whole == 0 {
                continue;
            }
            let mut after = last;
            if parts > 1 {
                let size = Bytes(whole.saturating_mul(gradient));
                after = self.call(GroupCall { group, kind, size }, &[last]);
            }
            // Replicas of the shards sum their parts.
            if group == RankGroup::Shards && self.step.layout.fsdp > 1 && self.step.layout.dp > 1 {
                let part = if self.step.zero == 0 { whole } else { part };
                let size = Bytes(part.saturating_mul(gradient));
                let (group, kind) = (RankGroup::Replicas, CollectiveKind::AllReduce);
                after = self.call(GroupCall { group, kind, size }, &[after]);
            }
            if after != last {
                self.reduced.push(after);
            }
        }
    }

    pub(super) fn update(&mut self) {
        self.flush();
        let duration = self.step.updates[self.stage as usize];
        let reduced = std::mem::take(&mut self.reduced);
        self.within(Region::Update, |own| {
            own.compute(Picoseconds(0), &reduced);
            own.compute(duration, &[]);
        });
    }
}
