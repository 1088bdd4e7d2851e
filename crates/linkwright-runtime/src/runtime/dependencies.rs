//! Passes on the completion of an operation, a rank or a collective.

use crate::network::Transport;
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::frames::{Ended, OperationRef};
use super::observer::Observer;
use super::shared::Shared;

impl<T: Transport, L: Lowering, O: Observer> Shared<'_, T, L, O> {
    /// An operation is complete, and has started too where `events` say so.
    pub(super) fn complete(&mut self, operation: OperationRef, events: u8) {
        match self.frames.complete(operation, events, &self.lowering) {
            Ended::Alone => {}
            Ended::Rank(rank) => self.finish_rank(rank),
            Ended::Collective(parent) => self.complete_communication(parent, 0),
        }
    }

    /// A send, a receive or a collective is complete.
    pub(super) fn complete_communication(&mut self, operation: OperationRef, events: u8) {
        if self.frames.collective_of(operation).is_none() {
            let rank = self.frames.rank_of(operation);
            self.ranks.end_communication(rank, self.now);
        }
        self.complete(operation, events);
    }

    pub(super) fn finish_rank(&mut self, rank: u32) {
        let job_start = self.jobs.end_rank(self.ranks.id(rank).job);
        self.ranks.finish(rank, job_start, Picoseconds(self.now));
    }
}
