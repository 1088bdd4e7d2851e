//! Collectives that last a known time from when the last of their ranks has entered.

use std::collections::BTreeMap;

use crate::engine::Scheduler;
use crate::network::Transport;
use crate::program::CollectiveKind;
use crate::program::lowering::Lowering;
use crate::units::{Bytes, Picoseconds};

use super::communicators::{Entered, Entry};
use super::error::RuntimeError;
use super::frames::OperationRef;
use super::observer::{KernelRecord, Observer};
use super::plan::STARTED;
use super::protocols::nccl::WaitingRank;
use super::state::Runtime;
use super::works::RuntimeEvent;

/// One that some rank has entered and that has not ended.
#[derive(Debug, Clone, Default)]
struct TimedCall {
    /// The longest that a rank states.
    duration: Picoseconds,
    entered: Vec<WaitingRank>,
}

/// All of them, by their contexts.
#[derive(Debug, Clone, Default)]
pub(super) struct TimedCalls(BTreeMap<u32, TimedCall>);

impl TimedCalls {
    /// The ranks that wait in one.
    pub(super) fn waiting(&self) -> impl Iterator<Item = WaitingRank> + '_ {
        self.0.values().flat_map(|call| call.entered.iter().copied())
    }
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// A rank enters one; with the last of them its time begins.
    pub(super) fn enter_timed(
        &mut self,
        at: OperationRef,
        (kind, size, duration): (CollectiveKind, Bytes, Picoseconds),
        communicator: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (call, _) = self.frames.origin(at);
        let id = self.ranks.id(self.frames.rank_of(at));
        let communicator = self.jobs.first_communicator(id.job) + communicator;
        let entry = Entry { rank: id.rank, call, kind, root: None };
        let Entered { context, ranks, .. } =
            self.communicators.enter(communicator, entry, &self.jobs)?;
        let timed = self.timed.0.entry(context).or_default();
        timed.duration = timed.duration.max(duration);
        timed.entered.push(WaitingRank { call: at, kind, size, since: self.now });
        let (is_last, duration) = (timed.entered.len() == ranks as usize, timed.duration.0);
        self.frames.propagate(at, STARTED);
        if is_last {
            let Some(end) = self.now.checked_add(duration) else { return Err(self.too_long(at)) };
            scheduler.schedule(Picoseconds(end), RuntimeEvent::Timed(context));
        }
        Ok(())
    }

    /// The time of one is over.
    pub(super) fn end_timed(&mut self, context: u32) {
        let Some(timed) = self.timed.0.remove(&context) else { return };
        for WaitingRank { call, kind, size, since } in timed.entered {
            let rank = self.ranks.id(self.frames.rank_of(call));
            let record = KernelRecord { rank, kind, size, start: Picoseconds(since) };
            self.observer.ran(&record, Picoseconds(self.now));
            self.complete_communication(call, 0);
        }
    }
}
