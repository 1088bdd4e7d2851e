//! Starts each operation.

use crate::engine::Scheduler;
use crate::network::Transport;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, Operation, Rank};
use crate::units::{Bytes, Picoseconds};

use super::call::RankId;
use super::communicators::{Entered, Entry};
use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::frames::OperationRef;
use super::lanes::{PROCESSOR, Work, WorkKind};
use super::observer::Observer;
use super::plan::STARTED;
use super::port::Port;
use super::protocols::{ProtocolCall, ProtocolOffer};
use super::shared::Shared;
use super::slab::NONE;
use super::state::Runtime;
use super::validate::has_root;

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Starts an operation that waits for nothing any more.
    pub(super) fn execute(
        &mut self,
        at: OperationRef,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (rank, operation) = self.shared.frames.play(at)?;
        if operation == Operation::Kernel {
            return self.enter_kernel(at, scheduler);
        }
        let shared = &mut self.shared;
        match operation {
            Operation::Kernel => unreachable!("a kernel has been entered"),
            Operation::Join => shared.complete(at, STARTED),
            Operation::Compute { duration } => shared.compute(at, duration, scheduler)?,
            Operation::Delay { duration } => shared.delay(at, duration, scheduler)?,
            Operation::Enter { region } => {
                let id = shared.ranks.id(rank);
                shared.observer.entered(id, region, Picoseconds(shared.now));
                shared.complete(at, STARTED);
            }
            Operation::Leave { region } => {
                let id = shared.ranks.id(rank);
                shared.observer.left(id, region, Picoseconds(shared.now));
                shared.complete(at, STARTED);
            }
            Operation::Reduce { size, rate } => shared.reduce(at, size, rate, scheduler)?,
            Operation::Copy { direction, size, route } => {
                shared.begin_communication(at, rank);
                shared.copy(at, (direction, size, route), scheduler);
            }
            Operation::Send { to, tag, communicator, size, route } => {
                shared.begin_communication(at, rank);
                let (destination, context) = shared.resolve(at, to, communicator);
                shared.send(at, (destination, context), tag, (size, route), scheduler)?;
            }
            Operation::Receive { from, tag, communicator, size } => {
                shared.begin_communication(at, rank);
                let (_, context) = shared.resolve(at, 0, communicator);
                let source = from.map(|from| shared.resolve(at, from, communicator).0);
                shared.receive(at, (source, context), tag, size, scheduler)?;
            }
            Operation::Collective { kind, root, communicator, size } => {
                let root = has_root(kind).then_some(root);
                self.enter_collective(at, (kind, root, size), communicator, None, scheduler)?;
            }
            Operation::Timed { kind, communicator, size, duration } => {
                let duration = Some(duration);
                self.enter_collective(at, (kind, None, size), communicator, duration, scheduler)?;
            }
        }
        Ok(())
    }

    /// A rank calls a collective: it is offered to each protocol, and else is messages.
    fn enter_collective(
        &mut self,
        at: OperationRef,
        (kind, root, size): (CollectiveKind, Option<Rank>, Bytes),
        communicator: u32,
        duration: Option<Picoseconds>,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let Self { shared, protocols, .. } = self;
        let rank = shared.frames.rank_of(at);
        shared.begin_communication(at, rank);
        let RankId { rank: of_program, job } = shared.ranks.id(rank);
        let communicator = shared.jobs.first_communicator(job) + communicator;
        let (call, _) = shared.frames.origin(at);
        let entry = Entry { rank: of_program, call, kind, root };
        let Entered { context, job, id, ranks, index, root } =
            shared.communicators.enter(communicator, entry, &shared.jobs)?;
        // Nothing plans a collective of a known time.
        let is_planned = duration.is_none();
        let lowering = &shared.lowering;
        let variant = if is_planned { lowering.variant(job, id, kind, root) } else { 0 };
        let call = CollectiveCall { kind, ranks, index, root, size, variant };
        let kernel = if is_planned { lowering.kernel(&call) } else { None };
        let since = Picoseconds(shared.now);
        let of_rank = ProtocolCall { call, context, since, operation: at, communicator };
        let mut offer = ProtocolOffer { call: of_rank, kernel, duration };
        shared.frames.propagate(at, STARTED);
        for (protocol, of) in protocols.iter_mut().enumerate() {
            if of.enter(&mut offer, &mut Port { shared, scheduler, protocol })? {
                return Ok(());
            }
        }
        let of_group = (call, communicator, context);
        let since = shared.now;
        if !shared.frames.start_collective((at, rank), of_group, since, &shared.lowering)? {
            shared.complete_communication(at, 0);
        }
        Ok(())
    }
}

impl<T: Transport, L: Lowering, O: Observer> Shared<'_, T, L, O> {
    /// Notes that a rank communicates, as its own program says; a collective's messages count
    /// as the collective.
    fn begin_communication(&mut self, at: OperationRef, rank: u32) {
        if self.frames.collective_of(at).is_none() {
            self.ranks.begin_communication(rank, self.now);
        }
    }

    /// Finds the rank that an operation names, among all of the replay, and the context that its
    /// messages match within.
    #[inline]
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
}
