//! Lets ranks work for a time, and wakes them at its end.

use crate::engine::Scheduler;
use crate::network::Transport;
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::frames::OperationRef;
use super::lanes::{PROCESSOR, Work, WorkKind};
use super::observer::Observer;
use super::plan::STARTED;
use super::shared::Shared;

impl<T: Transport, L: Lowering, O: Observer> Shared<'_, T, L, O> {
    /// Adds a work to one of a rank's lanes.
    pub(super) fn occupy(
        &mut self,
        lane: usize,
        work: Work,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let rank = self.frames.rank_of(work.operation);
        let starts = self.lanes.push(rank, lane, work);
        if !starts {
            return Ok(());
        }
        if work.duration == 0 {
            return self.end_work(rank, lane, scheduler);
        }
        self.schedule(rank, lane, work, scheduler)
    }

    /// Lets time pass for an operation, beside whatever its rank does.
    pub(super) fn delay(
        &mut self,
        at: OperationRef,
        duration: Picoseconds,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        self.frames.propagate(at, STARTED);
        let Some(end) = self.now.checked_add(duration.0) else { return Err(self.too_long(at)) };
        let delay = self.delays.insert(at);
        scheduler.schedule(Picoseconds(end), RuntimeEvent::Delay(delay));
        Ok(())
    }

    /// The time is over.
    pub(super) fn end_delay(&mut self, delay: u32) {
        let at = self.delays[delay];
        self.delays.release(delay);
        self.complete(at, 0);
    }

    fn schedule(
        &mut self,
        rank: u32,
        lane: usize,
        work: Work,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let Some(end) = self.now.checked_add(work.duration) else {
            return Err(self.too_long(work.operation));
        };
        let done = if lane == PROCESSOR {
            self.lanes.compute_until(rank, end);
            RuntimeEvent::Processor
        } else {
            RuntimeEvent::Library
        };
        scheduler.schedule(Picoseconds(end), done(rank));
        Ok(())
    }

    /// The first work of a rank's processor is done, unless iterations have passed meanwhile.
    pub(super) fn end_computation(
        &mut self,
        rank: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let Some(end) = self.lanes.take_postponed(rank) else {
            return self.end_work(rank, PROCESSOR, scheduler);
        };
        scheduler.schedule(Picoseconds(end), RuntimeEvent::Processor(rank));
        Ok(())
    }

    pub(super) fn too_long(&self, operation: OperationRef) -> RuntimeError {
        let id = self.ranks.id(self.frames.rank_of(operation));
        let (call, _) = self.frames.origin(operation);
        let job = self.jobs.name(id.job).to_owned();
        RuntimeError::TooLong { job, rank: id.rank, call }
    }

    /// The first work of a lane is done; the next starts.
    pub(super) fn end_work(
        &mut self,
        rank: u32,
        lane: usize,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let Some((work, next)) = self.lanes.pop(rank, lane) else { return Ok(()) };
        if let Some(next) = next {
            self.schedule(rank, lane, next, scheduler)?;
        }
        match work.kind {
            WorkKind::Compute => {
                self.ranks.count_computation(rank, work.duration);
                let start = Picoseconds(self.now - work.duration);
                self.observer.computed(self.ranks.id(rank), start, Picoseconds(self.now));
                self.complete(work.operation, 0);
            }
            WorkKind::Send(envelope) => self.depart(envelope, scheduler)?,
            WorkKind::Receive => self.complete_communication(work.operation, 0),
        }
        Ok(())
    }
}
