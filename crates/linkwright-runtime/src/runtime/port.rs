//! Lets a protocol reach the runtime.

use crate::engine::{Scheduler, Within};
use crate::network::{ConnectionIndex, Message, TrafficClass, Transport};
use crate::program::lowering::Lowering;
use crate::units::{Bytes, Picoseconds};

use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::observer::{KernelRecord, Observer};
use super::protocols::{Ports, ProtocolCall};
use super::shared::Shared;
use super::token::{PROTOCOLS, WAKES, token};

/// Lets a protocol reach all that is shared, at the time of the scheduler.
#[derive(Debug)]
pub(super) struct Port<'p, 'a, T, L, O, S> {
    pub(super) shared: &'p mut Shared<'a, T, L, O>,
    pub(super) scheduler: &'p mut S,
    /// Is the protocol's place.
    pub(super) protocol: usize,
}

impl<T, L, O, S> Port<'_, '_, T, L, O, S> {
    fn token(&self, what: u64) -> u64 {
        token(PROTOCOLS + self.protocol as u8, what)
    }
}

impl<T, L, O, S> Ports for Port<'_, '_, T, L, O, S>
where
    T: Transport,
    L: Lowering,
    O: Observer,
    S: Scheduler<RuntimeEvent<T::Event>>,
{
    fn now(&self) -> Picoseconds {
        self.scheduler.now()
    }

    fn settle_later(&mut self) -> bool {
        if T::SETTLES {
            self.shared.kept |= 1 << self.protocol;
        }
        T::SETTLES
    }

    fn wake(&mut self, time: Picoseconds, what: u32) {
        let wake = (self.protocol as u32) << WAKES | what & ((1 << WAKES) - 1);
        self.scheduler.schedule(time, RuntimeEvent::Protocol(wake));
    }

    fn send(&mut self, call: &ProtocolCall, to: u32, size: Bytes, what: u64) {
        let Shared { jobs, ranks, communicators, frames, transport, .. } = &mut *self.shared;
        let rank = frames.rank_of(call.operation);
        let job = ranks.id(rank).job;
        let to = jobs.first_rank(job) + communicators.member(call.communicator, to);
        let class = TrafficClass { priority: jobs.priority(job), ..TrafficClass::default() };
        let ends = [ranks.device(rank), ranks.device(to)];
        ranks.count_messages(rank, 1, size.0);
        let token = token(PROTOCOLS + self.protocol as u8, what);
        let message = Message { class, ..Message::new(ends[0], ends[1], size, token) };
        transport.send(message, &mut Within::<_, RuntimeEvent<T::Event>>::new(self.scheduler));
    }

    fn transfer(
        &mut self,
        connection: ConnectionIndex,
        size: Bytes,
        what: u64,
    ) -> Result<(), RuntimeError> {
        let token = self.token(what);
        let mut within = Within::<_, RuntimeEvent<T::Event>>::new(self.scheduler);
        Ok(self.shared.transport.transfer(connection, size, token, &mut within)?)
    }

    fn count_messages(&mut self, call: &ProtocolCall, messages: u64, bytes: u64) {
        let rank = self.shared.frames.rank_of(call.operation);
        self.shared.ranks.count_messages(rank, messages, bytes);
    }

    fn complete(&mut self, call: &ProtocolCall) {
        let rank = self.shared.ranks.id(self.shared.frames.rank_of(call.operation));
        let (kind, size, start) = (call.call.kind, call.call.size, call.since);
        let record = KernelRecord { rank, kind, size, start };
        self.shared.now = self.scheduler.now().0;
        self.shared.observer.ran(&record, self.scheduler.now());
        self.shared.complete_communication(call.operation, 0);
    }

    fn too_long(&self, call: &ProtocolCall) -> RuntimeError {
        self.shared.too_long(call.operation)
    }
}
