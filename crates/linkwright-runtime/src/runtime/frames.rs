//! Programs as they run: which operations wait for what, and which are ready.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, Operation, Program};

use super::call::Call;
use super::error::RuntimeError;
use super::plan::COMPLETED;
use super::plans::Plans;

/// Names an operation of a frame, in one iteration of its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OperationRef {
    pub(super) frame: u32,
    pub(super) operation: u32,
    pub(super) iteration: u32,
}

/// Where a frame comes from that plays a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectiveFrame {
    /// Is the collective's operation.
    pub(super) parent: OperationRef,
    pub(super) call: CollectiveCall,
    /// Gives the communicator, among all of the runtime.
    pub(super) communicator: u32,
    /// Tells within which context its messages match.
    pub(super) context: u32,
    pub(super) since: u64,
    /// Where the collective goes on when the part that is played is complete.
    pub(super) next: Option<u32>,
}

/// A program as it runs: a rank's, or that of its part in a collective.
#[derive(Debug, Clone)]
struct Frame {
    /// Gives the rank, among all of the runtime.
    rank: u32,
    plan: u32,
    collective: Option<CollectiveFrame>,
    /// Counts the events that each operation of the current iteration still waits for.
    waits: Vec<u32>,
    iteration: u32,
    iterations: u32,
    /// How many operations of all iterations have not completed.
    left: u64,
}

/// Tells what else has ended with an operation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ended {
    /// Nothing more has.
    Alone,
    /// The program of this rank has.
    Rank(u32),
    /// The collective has that this operation called.
    Collective(OperationRef),
}

/// All programs as they run, what they are made of, and the operations that may start.
#[derive(Debug)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    free: Vec<u32>,
    plans: Plans,
    /// Operations that have nothing to wait for any more.
    ready: VecDeque<OperationRef>,
    /// A part of a collective that is no program, found where an operation was completed.
    fault: Option<RuntimeError>,
    /// How many operations were played, collectives' included.
    played: u64,
    /// How many operations of ranks' own programs are complete, and of how many.
    done: u64,
    total: u64,
}

impl Frames {
    pub(super) fn new() -> Self {
        let (frames, free, ready) = (Vec::new(), Vec::new(), VecDeque::new());
        let plans = Plans::new();
        Self { frames, free, plans, ready, fault: None, played: 0, done: 0, total: 0 }
    }

    /// Gives the plan of each rank of a program, for one job more.
    pub(super) fn plans_of(&mut self, program: &Arc<Program>) -> Arc<[u32]> {
        self.plans.of_program(program)
    }

    /// One job less runs a program.
    pub(super) fn release_program(&mut self, program: &Arc<Program>) {
        self.plans.release_program(program);
    }

    /// Gives the operations of a plan.
    pub(super) fn operations(&self, plan: u32) -> &[Operation] {
        self.plans[plan].operations()
    }

    /// A rank is to run its program, its loop so often; returns its frame.
    pub(super) fn add_rank(&mut self, rank: u32, plan: u32, iterations: u32) -> u32 {
        let of_plan = &self.plans[plan];
        let body = of_plan.body().len() as u64;
        let iterations = if body == 0 { 1 } else { iterations };
        let left = of_plan.operations().len() as u64 + body * u64::from(iterations - 1);
        let waits = of_plan.waits().to_vec();
        let (collective, iteration) = (None, 0);
        self.total += left;
        self.add(Frame { rank, plan, collective, waits, iteration, iterations, left })
    }

    /// Finds a place for a frame.
    fn add(&mut self, frame: Frame) -> u32 {
        if let Some(index) = self.free.pop() {
            self.frames[index as usize] = frame;
            return index;
        }
        self.frames.push(frame);
        (self.frames.len() - 1) as u32
    }

    /// A rank's program is not needed any more.
    pub(super) fn release(&mut self, frame: u32) {
        self.frames[frame as usize].waits = Vec::new();
        self.free.push(frame);
    }

    /// Makes the operations of a new frame ready that wait for nothing; whether it has any operation.
    pub(super) fn start(&mut self, frame: u32) -> bool {
        let Frame { waits, left, .. } = &self.frames[frame as usize];
        let operations = waits.len() as u32 - 1;
        for (operation, waits) in (0..operations).zip(waits) {
            if *waits == 0 {
                self.ready.push_back(OperationRef { frame, operation, iteration: 0 });
            }
        }
        *left > 0
    }

    /// A rank's part in a collective is played; false where there is nothing to play.
    pub(super) fn start_collective(
        &mut self,
        (at, rank): (OperationRef, u32),
        (call, communicator, context): (CollectiveCall, u32, u32),
        since: u64,
        lowering: &impl Lowering,
    ) -> Result<bool, RuntimeError> {
        let (plan, next) = self.plans.lower(lowering, &call)?;
        let left = self.plans[plan].operations().len() as u64;
        if left == 0 {
            self.plans.release(plan, &call);
            return Ok(false);
        }
        let collective = CollectiveFrame { parent: at, call, communicator, context, since, next };
        let collective = Some(collective);
        // The room that a frame before had for its operations is used again.
        let free = self.free.last();
        let waits = free.map(|frame| std::mem::take(&mut self.frames[*frame as usize].waits));
        let (waits, iteration, iterations) = (waits.unwrap_or_default(), 0, 1);
        let frame = self.add(Frame { rank, plan, collective, waits, iteration, iterations, left });
        self.start_part(frame);
        Ok(true)
    }

    /// Starts what a collective's frame has to play.
    fn start_part(&mut self, frame: u32) {
        let of_frame = &mut self.frames[frame as usize];
        let plan = &self.plans[of_frame.plan];
        of_frame.left = plan.operations().len() as u64;
        of_frame.waits.clear();
        of_frame.waits.extend_from_slice(plan.waits());
        self.start(frame);
    }

    /// The next operation that waits for nothing any more.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<OperationRef> {
        self.ready.pop_front()
    }

    /// Tells whether any operation waits for nothing any more.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Plays an operation, and gives it with its rank.
    #[inline]
    pub(super) fn play(&mut self, at: OperationRef) -> Result<(u32, Operation), RuntimeError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.played += 1;
        let frame = &self.frames[at.frame as usize];
        Ok((frame.rank, self.plans[frame.plan].operation(at.operation)))
    }

    /// How many operations were played.
    pub(super) const fn played(&self) -> u64 {
        self.played
    }

    /// The rank, among all of the runtime, that an operation is of.
    #[inline]
    pub(super) fn rank_of(&self, at: OperationRef) -> u32 {
        self.frames[at.frame as usize].rank
    }

    /// The collective that an operation is a part of.
    #[inline]
    pub(super) fn collective_of(&self, at: OperationRef) -> Option<&CollectiveFrame> {
        self.frames[at.frame as usize].collective.as_ref()
    }

    /// The call of a rank's program that an operation belongs to, and the collective that it
    /// is part of.
    #[inline]
    pub(super) fn origin(&self, at: OperationRef) -> (Call, Option<CollectiveKind>) {
        let collective = self.collective_of(at);
        let named = collective.map_or(at, |collective| collective.parent);
        let call = Call { operation: named.operation, iteration: named.iteration };
        (call, collective.map(|collective| collective.call.kind))
    }

    /// The collectives that are played, each with its rank.
    pub(super) fn collectives(&self) -> impl Iterator<Item = (u32, &CollectiveFrame)> {
        self.frames.iter().filter_map(|frame| Some((frame.rank, frame.collective.as_ref()?)))
    }

    /// Something has happened to an operation: makes ready what waited for nothing else.
    #[inline]
    pub(super) fn propagate(&mut self, of: OperationRef, events: u8) {
        let frame = &mut self.frames[of.frame as usize];
        let plan = &self.plans[frame.plan];
        let body = plan.body();
        let in_body = body.contains(&of.operation);
        if in_body && of.iteration != frame.iteration {
            return;
        }
        let is_last = frame.iteration + 1 == frame.iterations;
        let end = plan.end();
        for target in plan.successors(of.operation, events) {
            // Operations behind the loop see its last iteration alone.
            if in_body && !is_last && target >= body.end && target != end {
                continue;
            }
            let waits = &mut frame.waits[target as usize];
            *waits -= 1;
            if *waits > 0 {
                continue;
            }
            if target != end {
                let iteration = frame.iteration;
                self.ready.push_back(OperationRef { operation: target, iteration, ..of });
            } else if !is_last {
                frame.iteration += 1;
                frame.waits[end as usize] = plan.waits()[end as usize];
                for operation in body.clone() {
                    let waits = plan.waits_within_body(operation);
                    frame.waits[operation as usize] = waits;
                    if waits == 0 {
                        let iteration = frame.iteration;
                        self.ready.push_back(OperationRef { operation, iteration, ..of });
                    }
                }
            }
        }
    }

    /// An operation is complete, and has started too where `events` say so; tells what has ended with it.
    #[inline]
    pub(super) fn complete(
        &mut self,
        operation: OperationRef,
        events: u8,
        lowering: &impl Lowering,
    ) -> Ended {
        self.propagate(operation, events | COMPLETED);
        let frame = &mut self.frames[operation.frame as usize];
        frame.left -= 1;
        let is_last = frame.left == 0;
        let Some(collective) = frame.collective else {
            self.done += 1;
            return if is_last { Ended::Rank(frame.rank) } else { Ended::Alone };
        };
        if !is_last {
            return Ended::Alone;
        }
        let Some(from) = collective.next else {
            self.plans.release(frame.plan, &collective.call);
            frame.collective = None;
            self.free.push(operation.frame);
            return Ended::Collective(collective.parent);
        };
        match self.plans.go_on(frame.plan, lowering, &collective.call, from) {
            Ok(next) => {
                frame.collective = Some(CollectiveFrame { next, ..collective });
                self.start_part(operation.frame);
            }
            Err(fault) => {
                // Whatever starts next tells of it.
                self.fault = Some(fault);
                self.ready.push_back(collective.parent);
            }
        }
        Ended::Alone
    }

    /// The iteration that a rank's program is in, and how many it has.
    pub(super) fn iteration(&self, frame: u32) -> (u32, u32) {
        let frame = &self.frames[frame as usize];
        (frame.iteration, frame.iterations)
    }

    /// Tells how much each operation of a program's current iteration still waits for.
    pub(super) fn waits(&self, frame: u32) -> &[u32] {
        &self.frames[frame as usize].waits
    }

    /// How many operations of ranks' own programs are complete, and of how many.
    #[inline]
    pub(super) const fn progress(&self) -> (u64, u64) {
        (self.done, self.total)
    }

    /// Lets iterations of a rank's program pass.
    pub(super) fn pass(&mut self, frame: u32, iterations: u32) {
        let frame = &mut self.frames[frame as usize];
        frame.iteration += iterations;
        let passed = self.plans[frame.plan].body().len() as u64 * u64::from(iterations);
        frame.left -= passed;
        self.done += passed;
    }

    /// Tells whether a rank's program does anything behind its loop.
    pub(super) fn has_tail(&self, frame: u32) -> bool {
        let plan = &self.plans[self.frames[frame as usize].plan];
        (plan.body().end as usize) < plan.operations().len()
    }

    /// Takes iterations from a rank's program that it has not begun.
    pub(super) fn shorten(&mut self, frame: u32, iterations: u32) {
        let frame = &mut self.frames[frame as usize];
        frame.iterations -= iterations;
        let taken = self.plans[frame.plan].body().len() as u64 * u64::from(iterations);
        frame.left -= taken;
        self.total -= taken;
    }

    /// For how many frames and operations there is room, and how many plans are kept.
    #[cfg(test)]
    pub(super) fn room(&self) -> (usize, usize, usize) {
        (self.frames.len(), self.ready.capacity(), self.plans.kept())
    }
}
