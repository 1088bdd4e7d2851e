//! Writes one rank of a stage through a step, as a program's operations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::LayoutStep;
use super::actions::Action;
use super::pieces::GroupCall;
use super::turns::{Pipe, Turn};
use super::units::{Chunk, Unit};
use crate::network::RouteClass;
use crate::program::{
    CollectiveKind, CopyDirection, Operation, PendingOperation, Rank, RankBuilder, RankProgram,
    WORLD,
};
use crate::training::layout::RankGroup;
use crate::training::memory::Numbers;
use crate::training::step::Region;
use crate::units::{Bytes, Picoseconds};

const COMPUTING: u32 = 0;
/// The stream of a group's collectives, of groups in their order. Parts of weights are gathered and reduced on one stream,
/// whether they are of experts or not, as frameworks have it.
const GROUPS: u32 = 1;
/// The streams of what comes and of what goes, by direction and by stage.
const PIPELINE: u32 = GROUPS + RankGroup::ALL.len() as u32;

/// Gradients that wait until they are enough to be reduced.
#[derive(Default)]
struct Open {
    numbers: Numbers,
}

pub(super) struct Writer<'a> {
    step: &'a LayoutStep,
    stage: u64,
    rank: RankBuilder,
    /// The last computing, which stands for all before it.
    last: PendingOperation,
    /// Reduced gradients that the update has to wait for.
    reduced: Vec<PendingOperation>,
    open: Open,
    /// How long calls take, where those that nothing is computed beside are folded into computing.
    folded: Option<&'a BTreeMap<GroupCall, Picoseconds>>,
    /// Computing that is not written yet, since more follows at once.
    unwritten: Picoseconds,
    /// Weights that are gathered before the first forward pass of each unit (ZeRO 1 and 2).
    gathered: Vec<Vec<VecDeque<PendingOperation>>>,
}

impl<'a> Writer<'a> {
    /// Writes all operations of a rank of a stage. With the times of its calls, calls between kernels become
    /// computing.
    pub(super) fn write(
        step: &'a LayoutStep,
        stage: u64,
        folded: Option<&'a BTreeMap<GroupCall, Picoseconds>>,
    ) -> RankProgram {
        let mut rank = RankBuilder::default();
        rank.begin_body();
        let begun = rank.run(Operation::Compute { duration: Picoseconds(0) });
        let mut own = Self {
            step,
            stage,
            rank,
            last: begun,
            reduced: Vec::new(),
            open: Open::default(),
            folded,
            unwritten: Picoseconds(0),
            gathered: Vec::new(),
        };
        own.begin();
        for turn in step.pipe().turns(stage) {
            own.turn(turn);
        }
        own.update();
        let mut rank = own.rank;
        rank.end_body();
        rank.finish()
    }

    fn chunks(&self) -> &'a [Chunk] {
        &self.step.stages[self.stage as usize]
    }

    fn within(&mut self, region: Region, write: impl FnOnce(&mut Self)) {
        let region = region as u32;
        self.rank.run(Operation::Enter { region });
        write(self);
        self.rank.run(Operation::Leave { region });
    }

    fn begin(&mut self) {
        let framework = self.step.framework;
        self.within(Region::Framework, |own| {
            own.rank.run(Operation::Delay { duration: framework });
        });
        let input = self.step.input;
        if self.stage == 0 && input.0 > 0 {
            self.within(Region::Input, |own| {
                let direction = CopyDirection::HostToDevice;
                own.rank.run(Operation::Copy { direction, size: input, route: RouteClass::Any });
            });
        }
        self.compute(Picoseconds(0), &[]);
        if !matches!(self.step.zero, 1 | 2) {
            return;
        }
        for chunk in self.chunks() {
            let units = chunk.iter().map(|unit| self.gather(unit.trained, &[]).into()).collect();
            self.gathered.push(units);
        }
    }

    fn compute(&mut self, duration: Picoseconds, after: &[PendingOperation]) {
        self.written();
        self.last = self.rank.run_after(Operation::Compute { duration }, after);
    }

    fn turn(&mut self, turn: Turn) {
        let pipe: Pipe = self.step.pipe();
        let come = pipe.before(self.stage, turn).map(|(from, _)| {
            let operation = Operation::Receive {
                from: Some(from as Rank),
                tag: Some(u32::from(turn.is_backward)),
                communicator: WORLD,
                size: self.step.handed,
            };
            let stream = self.stream(from, turn.is_backward, false);
            self.on_stream(stream, |rank| rank.run(operation))
        });
        let region = if turn.is_backward { Region::Backward } else { Region::Forward };
        self.within(region, |own| {
            own.compute(Picoseconds(0), come.as_slice());
            own.pass(turn);
        });
        self.written();
        let Some((to, _)) = pipe.behind(self.stage, turn) else { return };
        let operation = Operation::Send {
            to: to as Rank,
            tag: u32::from(turn.is_backward),
            communicator: WORLD,
            size: self.step.handed,
            route: RouteClass::Any,
        };
        let (stream, last) = (self.stream(to, turn.is_backward, true), self.last);
        self.on_stream(stream, |rank| rank.run_after(operation, &[last]));
    }

    /// The stream of what comes from another stage, or goes there.
    fn stream(&self, other: u64, is_backward: bool, is_sent: bool) -> u32 {
        let which = u32::from(is_backward) * 2 + u32::from(is_sent);
        PIPELINE + other as u32 * 4 + which
    }

    /// Takes a micro-batch through the units of a chunk.
    fn pass(&mut self, turn: Turn) {
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

    /// Writes computing down that more might have followed.
    fn written(&mut self) {
        let duration = std::mem::take(&mut self.unwritten);
        if duration.0 > 0 {
            self.last = self.rank.run(Operation::Compute { duration });
        }
    }

    /// Adds an action of a known time to computing, as nothing else does wait for it.
    fn fold(&mut self, action: Action, times: &BTreeMap<GroupCall, Picoseconds>) {
        let cost = self.step.cost_of_collective.0;
        let called = |call| cost + times.get(&call).map_or(0, |time: &Picoseconds| time.0);
        self.unwritten.0 += match action {
            Action::Compute(time) => time.0,
            Action::Call(call) => called(call),
            Action::Beside(call, time) => called(call).max(time.0),
        };
    }

    fn act(&mut self, action: Action) {
        if let Some(times) = self.folded {
            self.fold(action, times);
            return;
        }
        match action {
            Action::Compute(time) => self.compute(time, &[]),
            Action::Call(call) => {
                let last = self.last;
                let done = self.call(call, &[last]);
                self.compute(Picoseconds(0), &[done]);
            }
            Action::Beside(call, time) => {
                let last = self.last;
                let done = self.call(call, &[last]);
                self.compute(time, &[]);
                self.compute(Picoseconds(0), &[done]);
            }
        }
    }

    /// A collective on the stream of its group, once the requests are complete.
    fn call(&mut self, call: GroupCall, after: &[PendingOperation]) -> PendingOperation {
        let GroupCall { group, kind, size } = call;
        let communicator = LayoutStep::communicator(group);
        let cost = self.step.cost_of_collective;
        let of = match group {
            RankGroup::ExpertShards => RankGroup::Shards,
            other => other,
        };
        self.on_stream(GROUPS + of as u32, |rank| {
            let mut last = rank.run_after(Operation::Join, after);
            if cost.0 > 0 {
                last = rank.run(Operation::Delay { duration: cost });
            }
            if size.0 > 0 {
                last = rank.run(Operation::Collective { kind, root: 0, communicator, size });
            }
            last
        })
    }

    fn on_stream<T>(&mut self, stream: u32, write: impl FnOnce(&mut RankBuilder) -> T) -> T {
        self.rank.on_stream(stream);
        let made = write(&mut self.rank);
        self.rank.on_stream(COMPUTING);
        made
    }

    /// Gathers weights that are divided over replicas.
    fn gather(&mut self, numbers: Numbers, after: &[PendingOperation]) -> Vec<PendingOperation> {
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

    fn update(&mut self) {
        self.flush();
        let duration = self.step.updates[self.stage as usize];
        let reduced = std::mem::take(&mut self.reduced);
        self.within(Region::Update, |own| {
            own.compute(Picoseconds(0), &reduced);
            own.compute(duration, &[]);
        });
    }
}
