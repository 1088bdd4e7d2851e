//! When operations become ready, and when a rank or a collective is complete.

use crate::network::Transport;
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::frame::{CollectiveFrame, OperationRef};
use super::observer::Observer;
use super::plan::COMPLETED;
use super::state::Runtime;

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Makes the operations of a new frame ready that wait for nothing.
    pub(super) fn start_frame(&mut self, frame: u32) {
        let waits = &self.frames[frame as usize].waits;
        let operations = waits.len() as u32 - 1;
        for (operation, waits) in (0..operations).zip(waits) {
            if *waits == 0 {
                self.ready.push_back(OperationRef { frame, operation, iteration: 0 });
            }
        }
    }

    /// Something has happened to an operation: makes ready what waited for nothing else.
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
            // What follows the loop sees its last iteration alone.
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

    /// An operation is complete, and has started too where `events` say so.
    pub(super) fn complete(&mut self, operation: OperationRef, events: u8) {
        self.propagate(operation, events | COMPLETED);
        let frame = &mut self.frames[operation.frame as usize];
        frame.left -= 1;
        let is_last = frame.left == 0;
        let Some(collective) = frame.collective else {
            self.done += 1;
            if is_last {
                let rank = frame.rank;
                self.finish_rank(rank);
            }
            return;
        };
        if is_last {
            if let Some(from) = collective.next {
                let (index, plan) = (operation.frame, frame.plan);
                let next = self.plans.go_on(plan, &self.lowering, &collective.call, from);
                frame.collective = Some(CollectiveFrame { next, ..collective });
                if self.plans.fault.is_some() {
                    // Whatever starts next tells of it.
                    self.ready.push_back(collective.parent);
                } else {
                    self.start_part(index);
                }
                return;
            }
            self.plans.release(frame.plan, &collective.call);
            frame.collective = None;
            self.free_frames.push(operation.frame);
            self.complete_communication(collective.parent, 0);
        }
    }

    /// A send, a receive or a collective is complete.
    pub(super) fn complete_communication(&mut self, operation: OperationRef, events: u8) {
        let frame = &self.frames[operation.frame as usize];
        if frame.collective.is_none() {
            let rank = &mut self.ranks[frame.rank as usize];
            rank.end_communication(self.now);
            if let Some(rested) = &mut self.rested
                && !rank.communicates()
            {
                rested.push(rank.id.job);
            }
        }
        self.complete(operation, events);
    }

    pub(super) fn finish_rank(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        let job = state.id.job;
        let of_job = &mut self.jobs[job as usize];
        state.finish(of_job.start, Picoseconds(self.now));
        self.unfinished -= 1;
        of_job.running -= 1;
        if of_job.running == 0 {
            self.ended.push(job);
        }
    }
}
