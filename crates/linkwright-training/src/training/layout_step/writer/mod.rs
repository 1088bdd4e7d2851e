//! Writes one rank of a stage through a step, as a program's operations.

mod weights;

use std::collections::{BTreeMap, VecDeque};

use super::LayoutStep;
use super::actions::Action;
use super::pieces::GroupCall;
use super::turns::{Pipe, Turn};
use super::units::Chunk;
use crate::network::RouteClass;
use crate::program::{
    CopyDirection, Operation, PendingOperation, Rank, RankBuilder, RankProgram, WORLD,
};
use crate::training::layout::RankGroup;
use crate::training::memory::Numbers;
use crate::training::step::Region;
use crate::units::Picoseconds;

const COMPUTING: u32 = 0;
/// Gives the stream of the first queue of collectives ([`LayoutStep::queue`]); the others follow.
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

    /// Writes computing down that more might have followed.
    fn written(&mut self) {
        let duration = std::mem::take(&mut self.unwritten);
        if duration.0 > 0 {
            self.last = self.rank.run(Operation::Compute { duration });
        }
    }

    /// Adds an action of a known time to computing; nothing else is waiting for it.
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
        self.on_stream(GROUPS + LayoutStep::queue(group) as u32, |rank| {
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
}
