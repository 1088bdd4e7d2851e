//! What each operation does when it starts.

use crate::engine::Scheduler;
use crate::network::Transport;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{Operation, Rank};
use crate::units::{Bytes, Picoseconds};

use super::communicators::{Entered, Entry};
use super::error::RuntimeError;
use super::frames::OperationRef;
use super::lanes::{PROCESSOR, Work, WorkKind};
use super::observer::Observer;
use super::plan::STARTED;
use super::slab::NONE;
use super::state::Runtime;
use super::validate::has_root;
use super::works::RuntimeEvent;

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Starts an operation that waits for nothing any more.
    pub(super) fn execute(
        &mut self,
        at: OperationRef,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (rank, operation) = self.frames.play(at)?;
        match operation {
            Operation::Join => self.complete(at, STARTED),
            Operation::Compute { duration } => self.compute(at, duration, scheduler)?,
            Operation::Delay { duration } => self.delay(at, duration, scheduler)?,
            Operation::Enter { region } => {
                let id = self.ranks.id(rank);
                self.observer.entered(id, region, Picoseconds(self.now));
                self.complete(at, STARTED);
            }
            Operation::Leave { region } => {
                let id = self.ranks.id(rank);
                self.observer.left(id, region, Picoseconds(self.now));
                self.complete(at, STARTED);
            }
            Operation::Reduce { size, rate } => self.reduce(at, size, rate, scheduler)?,
            Operation::Copy { direction, size, route } => {
                self.begin_communication(at, rank);
                self.copy(at, (direction, size, route), scheduler);
            }
            Operation::Send { to, tag, communicator, size, route } => {
                self.begin_communication(at, rank);
                let (destination, context) = self.resolve(at, to, communicator);
                self.send(at, (destination, context), tag, (size, route), scheduler)?;
            }
            Operation::Receive { from, tag, communicator, size } => {
                self.begin_communication(at, rank);
                let (_, context) = self.resolve(at, 0, communicator);
                let source = from.map(|from| self.resolve(at, from, communicator).0);
                self.receive(at, (source, context), tag, size, scheduler)?;
            }
            Operation::Collective { kind, root, communicator, size } => {
                self.begin_communication(at, rank);
                let root = has_root(kind).then_some(root);
                let (call, _) = self.frames.origin(at);
                let entry = Entry { rank: self.ranks.id(rank).rank, call, kind, root };
                self.enter_collective(at, entry, communicator, size, scheduler)?;
            }
            Operation::Timed { kind, communicator, size, duration } => {
                self.begin_communication(at, rank);
                self.enter_timed(at, (kind, size, duration), communicator, scheduler)?;
            }
        }
        Ok(())
    }

    /// Notes that a rank communicates, as its own program says; a collective's messages count
    /// as the collective.
    fn begin_communication(&mut self, at: OperationRef, rank: u32) {
        if self.frames.collective_of(at).is_none() {
            self.ranks.begin_communication(rank, self.now);
        }
    }

    /// A rank that an operation names, among all of the replay, and what its messages match
    /// within.
    pub(super) fn resolve(&self, at: OperationRef, named: Rank, communicator: u32) -> (u32, u32) {
        let job = self.ranks.id(self.frames.rank_of(at)).job;
        let first_rank = self.jobs.first_rank(job);
        match self.frames.collective_of(at) {
            None => {
                let communicator = self.jobs.first_communicator(job) + communicator;
                let context = self.communicators.context(communicator);
                (first_rank + named, context)
            }
            Some(collective) => {
                let member = self.communicators.member(collective.communicator, named);
                (first_rank + member, collective.context)
            }
        }
    }

    fn compute(
        &mut self,
        at: OperationRef,
        duration: Picoseconds,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let job = self.ranks.id(self.frames.rank_of(at)).job;
        let scale = self.jobs.computation_scale(job);
        let duration = if scale == 1.0 || self.frames.collective_of(at).is_some() {
            duration.0
        } else {
            (duration.0 as f64 * scale).round() as u64
        };
        self.frames.propagate(at, STARTED);
        self.occupy(
            PROCESSOR,
            Work { kind: WorkKind::Compute, operation: at, duration, next: NONE },
            scheduler,
        )
    }

    fn enter_collective(
        &mut self,
        at: OperationRef,
        entry: Entry,
        communicator: u32,
        size: Bytes,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let rank = self.frames.rank_of(at);
        let job = self.ranks.id(rank).job;
        let communicator = self.jobs.first_communicator(job) + communicator;
        let Entered { context, job, id, ranks, index, root } =
            self.communicators.enter(communicator, entry, &self.jobs)?;
        let variant = self.lowering.variant(job, id, entry.kind, root);
        let call = CollectiveCall { kind: entry.kind, ranks, index, root, size, variant };
        if let Some(kernel) = self.lowering.kernel(&call) {
            return self.enter_kernel(at, &call, context, kernel, scheduler);
        }
        let of_group = (call, communicator, context);
        let plays =
            self.frames.start_collective((at, rank), of_group, self.now, &self.lowering)?;
        if !plays {
            self.complete_communication(at, 0);
        }
        Ok(())
    }
}
