//! Times a step turn by turn, without its events: it says when each stage's computing and collectives end.
//!
//! It goes through what [`Writer`](super::writer) writes, one stage as far as it does not wait for another. Streams are times
//! at which they are free. It leaves out what the runtime adds: samples that are copied from the host, and whatever else
//! shares a link. So no step that is played is shorter.
//!
//! It can count what programs do not have. Kernels go on more slowly beside collectives ([`Beside`]), and a host may
//! launch kernels later than the GPU could run them. The host begins with the step and launches unit after unit; none
//! ends before its last kernel is launched. It leaves out hosts that wait for their GPU within a step.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::beside::Beside;
use super::exchange_times::ExchangeTimes;
use super::rows::Rows;
use super::turns::Turn;
use super::units::Unit;
use super::{GroupCall, LayoutStep, PipelineSend};
use crate::program::CollectiveKind;
use crate::training::layout::RankGroup;
use crate::training::memory::Numbers;
use crate::units::{Bytes, Picoseconds};

/// Says of each pair of stages and direction when its stream is free, and when data came.
type Arrivals = BTreeMap<(u64, u64, bool), (u64, VecDeque<u64>)>;

/// A stage, as far as it is.
struct Stage<'a> {
    step: &'a LayoutStep,
    stage: u64,
    rows: Rows,
    turns: Vec<Turn>,
    next: usize,
    /// When computing ends, and when the stream of each group does.
    computed: u64,
    free: [u64; RankGroup::ALL.len()],
    beside: Beside,
    /// When the host has launched all kernels before.
    launched: u64,
    open: Numbers,
    /// When all gradients are reduced.
    reduced: u64,
    /// When weights are whole before the first forward pass of each unit.
    gathered: Vec<VecDeque<u64>>,
}

impl<'a> Stage<'a> {
    fn begin(step: &'a LayoutStep, stage: u64, times: &mut dyn ExchangeTimes) -> Self {
        let mut own = Self {
            step,
            stage,
            rows: step.rows(stage, times),
            turns: step.pipe().turns(stage),
            next: 0,
            computed: step.framework.0,
            free: [0; RankGroup::ALL.len()],
            beside: Beside::default(),
            launched: step.framework.0,
            open: Numbers::default(),
            reduced: 0,
            gathered: Vec::new(),
        };
        if matches!(step.zero, 1 | 2) {
            for chunk in &step.stages[stage as usize] {
                let ready = chunk.iter().map(|unit| own.gather(unit.trained, 0, times)).collect();
                own.gathered.push(ready);
            }
        }
        own
    }

    fn call(&mut self, call: GroupCall, after: u64, times: &mut dyn ExchangeTimes) -> u64 {
        let queue = LayoutStep::queue(call.group);
        let begun = self.free[queue].max(after) + self.step.cost_of_collective.0;
        let end = begun + if call.size.0 > 0 { times.call(self.stage, &call).0 } else { 0 };
        self.beside.add(begun, end, times.taken(self.stage, &call));
        self.free[queue] = end;
        end
    }

    fn gather(&mut self, numbers: Numbers, after: u64, times: &mut dyn ExchangeTimes) -> u64 {
        let mut ready = after;
        for (group, part, parts) in self.step.parted(numbers) {
            if parts > 1 && part > 0 {
                let size = Bytes(part * self.step.number);
                let call = GroupCall { group, kind: CollectiveKind::AllGather, size };
                ready = ready.max(self.call(call, after, times));
            }
        }
        ready
    }

    fn pass(&mut self, turn: Turn, times: &mut dyn ExchangeTimes) {
        let chunk = &self.step.stages[self.stage as usize][turn.chunk as usize];
        let units: Vec<&Arc<Unit>> =
            if turn.is_backward { chunk.iter().rev().collect() } else { chunk.iter().collect() };
        // Stages of a pipeline keep their weights whole from the first micro-batch to the last.
        let is_first = turn.micro_batch == 0 && !turn.is_backward;
        let divides = self.step.zero >= 3 && (self.step.layout.pp == 1 || is_first);
        let ahead = if divides { self.step.execution.prefetch.min(units.len()) } else { 0 };
        let is_last = turn.micro_batch + 1 == self.step.micro_batches;
        let kept = usize::from(turn.is_backward && self.step.layout.pp == 1);
        let start = self.computed;
        let mut ready: VecDeque<u64> = VecDeque::new();
        for (at, unit) in units.iter().take(ahead).enumerate() {
            let whole = if at < kept { start } else { self.gather(unit.weights, start, times) };
            ready.push_back(whole);
        }
        for at in 0..units.len() {
            let before = self.computed;
            if divides && let Some(unit) = units.get(at + ahead) {
                let is_kept = at + ahead < kept;
                let whole = if is_kept { before } else { self.gather(unit.weights, before, times) };
                ready.push_back(whole);
            }
            self.computed = self.computed.max(ready.pop_front().unwrap_or(0));
            if !turn.is_backward {
                let first =
                    self.gathered.get_mut(turn.chunk as usize).and_then(|it| it.get_mut(at));
                self.computed = self.computed.max(first.map_or(0, std::mem::take));
            }
            let place = if turn.is_backward { units.len() - 1 - at } else { at };
            let row = self.rows[turn.chunk as usize][place][usize::from(turn.is_backward)];
            self.computed = self.beside.end(self.computed, &row);
            if self.step.is_launched {
                self.launched += row.launched;
                self.computed = self.computed.max(self.launched);
            }
            if turn.is_backward {
                self.reduce(units[at], is_last, times);
            }
        }
    }

    fn reduce(&mut self, unit: &Unit, is_last: bool, times: &mut dyn ExchangeTimes) {
        let is_each = self.step.zero >= 2 && self.step.layout.pp == 1;
        if !is_last && !is_each {
            return;
        }
        self.open.plain += unit.trained.plain;
        self.open.experts += unit.trained.experts;
        let held = (self.open.plain + self.open.experts).saturating_mul(self.step.gradient);
        if self.step.zero >= 3 || held >= self.step.bucket.0 {
            self.flush(times);
        }
    }

    fn flush(&mut self, times: &mut dyn ExchangeTimes) {
        let numbers = std::mem::take(&mut self.open);
        let (step, gradient) = (self.step, self.step.gradient);
        let kind =
            if step.zero == 0 { CollectiveKind::AllReduce } else { CollectiveKind::ReduceScatter };
        let whole = [numbers.plain, numbers.experts];
        for ((group, part, parts), whole) in step.parted(numbers).into_iter().zip(whole) {
            if whole == 0 {
                continue;
            }
            let mut after = self.computed;
            if parts > 1 {
                let size = Bytes(whole.saturating_mul(gradient));
                after = self.call(GroupCall { group, kind, size }, after, times);
            }
            if group == RankGroup::Shards && step.layout.fsdp > 1 && step.layout.dp > 1 {
                let part = if step.zero == 0 { whole } else { part };
                let size = Bytes(part.saturating_mul(gradient));
                let (group, kind) = (RankGroup::Replicas, CollectiveKind::AllReduce);
                after = self.call(GroupCall { group, kind, size }, after, times);
            }
            self.reduced = self.reduced.max(after);
        }
    }

    /// Goes on until it waits for another stage; whether it went on.
    fn go(&mut self, arrivals: &mut Arrivals, times: &mut dyn ExchangeTimes) -> bool {
        let (pipe, begun) = (self.step.pipe(), self.next);
        while let Some(turn) = self.turns.get(self.next).copied() {
            if let Some((from, _)) = pipe.before(self.stage, turn) {
                let own = arrivals.get_mut(&(from, self.stage, turn.is_backward));
                let Some(came) = own.and_then(|(_, came)| came.pop_front()) else { break };
                self.computed = self.computed.max(came);
            }
            self.pass(turn, times);
            if let Some((to, _)) = pipe.behind(self.stage, turn) {
                let (from, size) = (self.stage, self.step.handed);
                let taken = times.send(&PipelineSend { from, to, size }).0;
                let (free, came) = arrivals.entry((from, to, turn.is_backward)).or_default();
                *free = self.computed.max(*free) + taken;
                came.push_back(*free);
            }
            self.next += 1;
        }
        self.next > begun
    }

    fn end(&mut self, times: &mut dyn ExchangeTimes) -> u64 {
        self.flush(times);
        self.computed.max(self.reduced) + self.step.updates[self.stage as usize].0
    }
}

impl LayoutStep {
    /// When the last stage ends, turn by turn, where exchanges take what `times` says. No step that is played is shorter.
    #[must_use]
    pub fn by_turns(&self, times: &mut dyn ExchangeTimes) -> Picoseconds {
        let mut arrivals = Arrivals::new();
        let mut stages: Vec<Stage<'_>> =
            (0..self.layout.pp).map(|stage| Stage::begin(self, stage, &mut *times)).collect();
        let mut is_moving = true;
        while is_moving {
            is_moving = false;
            for stage in &mut stages {
                is_moving |= stage.go(&mut arrivals, &mut *times);
            }
        }
        let ends = stages.iter_mut().map(|stage| stage.end(&mut *times));
        Picoseconds(ends.max().unwrap_or(0))
    }
}
