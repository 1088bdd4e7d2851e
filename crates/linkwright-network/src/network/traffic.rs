//! Plays messages at given times over a network on which no programs run.
//!
//! This is an open loop. Its holder hands messages over, now or for later, and hears about their
//! fate. The holder decides freely how to react.

use super::transport::{ConnectionIndex, Message, Occurrence, Transport, TransportError};
use crate::engine::{Engine, Model, Scheduler, Within};
use crate::units::{Bytes, Picoseconds};

/// Holds a network with nothing on it but the messages that its holder hands over.
pub struct Traffic<'n, T: Transport> {
    engine: Engine<'n, Happening<T::Event>>,
    source: Source<'n, T>,
}

#[derive(Debug, Clone, Copy)]
enum Happening<E> {
    /// The time of a message has come.
    Send(u32),
    Network(E),
}

impl<E> From<E> for Happening<E> {
    fn from(event: E) -> Self {
        Self::Network(event)
    }
}

/// Hands messages to a network at their times.
struct Source<'n, T> {
    network: &'n mut T,
    messages: Vec<Message>,
}

impl<T: Transport> Model for Source<'_, T> {
    type Event = Happening<T::Event>;
    type Error = TransportError;
    const SETTLES: bool = T::SETTLES;

    fn handle(
        &mut self,
        event: Self::Event,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<(), TransportError> {
        let mut within = Within::<_, Self::Event>::new(scheduler);
        match event {
            Happening::Send(index) => {
                self.network.send(self.messages[index as usize], &mut within);
                Ok(())
            }
            Happening::Network(event) => self.network.handle(event, &mut within),
        }
    }

    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<Option<Picoseconds>, TransportError> {
        self.network.settle(&mut Within::<_, Self::Event>::new(scheduler))
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), TransportError> {
        self.network.at_rest(now)
    }
}

impl<'n, T: Transport> Traffic<'n, T> {
    /// Makes a network at rest at time zero.
    #[must_use]
    pub fn new(network: &'n mut T) -> Self {
        let source = Source { network, messages: Vec::new() };
        Self { engine: Engine::unwatched(), source }
    }

    /// Returns the network.
    #[must_use]
    pub fn network(&self) -> &T {
        self.source.network
    }

    /// Returns the current time: the time of the occurrence that [`Traffic::next_occurrence`] told
    /// last.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        self.engine.now()
    }

    /// Hands a message over at the current time.
    pub fn send(&mut self, message: Message) {
        self.source
            .network
            .send(message, &mut Within::<_, Happening<T::Event>>::new(&mut self.engine));
    }

    /// Hands a transfer over at the current time, by a connection that was opened on the network.
    ///
    /// # Errors
    /// A connection that was not.
    pub fn transfer(
        &mut self,
        connection: ConnectionIndex,
        size: Bytes,
        token: u64,
    ) -> Result<(), TransportError> {
        let mut within = Within::<_, Happening<T::Event>>::new(&mut self.engine);
        self.source.network.transfer(connection, size, token, &mut within)
    }

    /// Hands a message over at the current time or later.
    pub fn send_at(&mut self, time: Picoseconds, message: Message) {
        self.engine.schedule(time, Happening::Send(self.source.messages.len() as u32));
        self.source.messages.push(message);
    }

    /// Returns the next occurrence, if anything is left to happen.
    ///
    /// # Errors
    /// A network that is stuck, or in which something would happen in the past or beyond 213 days.
    pub fn next_occurrence(&mut self) -> Result<Option<Occurrence>, TransportError> {
        loop {
            if let Some(occurrence) = self.source.network.tell() {
                return Ok(Some(occurrence));
            }
            if !self.engine.step(&mut self.source)? {
                self.source.at_rest(self.engine.now())?;
                return Ok(None);
            }
        }
    }
}
