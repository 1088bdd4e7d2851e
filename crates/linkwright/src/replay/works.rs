//! What ranks do for a time, and what wakes them at its end.

use crate::network::Transport;
use crate::units::Picoseconds;

use super::error::ReplayError;
use super::frame::OperationRef;
use super::lane::{Work, WorkKind};
use super::lowering::Lowering;
use super::observer::Observer;
use super::rank::PROCESSOR;
use super::runtime::Replay;

/// What a wake-up is for, in the token's last two bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The first work of a rank's processor is done.
    Processor,
    /// The first work of a rank's library is done.
    Library,
    /// The data of a large message may go.
    Rendezvous,
    /// A job starts.
    Start,
}

impl Alarm {
    pub(super) fn token(self, index: u32) -> u64 {
        u64::from(index) << 2 | self as u64
    }
}

impl<T: Transport, L: Lowering, O: Observer> Replay<'_, T, L, O> {
    /// Adds a work to one of a rank's lanes.
    pub(super) fn occupy(&mut self, lane: usize, work: Work) -> Result<(), ReplayError> {
        let rank = self.frames[work.operation.frame as usize].rank;
        let starts = self.ranks[rank as usize].lanes[lane].push(&mut self.works, work);
        if !starts {
            return Ok(());
        }
        if work.duration == 0 {
            return self.end_work(rank, lane);
        }
        self.schedule(rank, lane, work)
    }

    fn schedule(&mut self, rank: u32, lane: usize, work: Work) -> Result<(), ReplayError> {
        let Some(end) = self.now.checked_add(work.duration) else {
            return Err(self.too_long(work.operation));
        };
        let alarm = if lane == PROCESSOR { Alarm::Processor } else { Alarm::Library };
        self.transport.wake_at(Picoseconds(end), alarm.token(rank));
        Ok(())
    }

    pub(super) fn too_long(&self, operation: OperationRef) -> ReplayError {
        let id = self.ranks[self.frames[operation.frame as usize].rank as usize].id;
        let (call, _) = self.origin(operation);
        let job = self.jobs[id.job as usize].name.clone();
        ReplayError::TooLong { job, rank: id.rank, call }
    }

    /// The first work of a lane is done; the next starts.
    pub(super) fn end_work(&mut self, rank: u32, lane: usize) -> Result<(), ReplayError> {
        let lanes = &mut self.ranks[rank as usize].lanes;
        let Some((work, next)) = lanes[lane].pop(&mut self.works) else { return Ok(()) };
        if let Some(next) = next {
            self.schedule(rank, lane, next)?;
        }
        match work.kind {
            WorkKind::Compute => {
                let state = &mut self.ranks[rank as usize];
                state.outcome.computing.0 += work.duration;
                let start = Picoseconds(self.now - work.duration);
                self.observer.computed(state.id, start, Picoseconds(self.now));
                self.complete(work.operation, 0);
            }
            WorkKind::Send(envelope) => self.depart(envelope)?,
            WorkKind::Receive => self.complete_communication(work.operation, 0),
        }
        Ok(())
    }

    /// Wakes the replay when the data of a large message may go.
    pub(super) fn wake_for_data(&mut self, end: u64, envelope: u32) {
        self.transport.wake_at(Picoseconds(end), Alarm::Rendezvous.token(envelope));
    }
}
