//! What every model of the network offers to the programs that run on it.

use thiserror::Error;

use super::paths::PathError;
use crate::engine::PastEvent;
use crate::units::{Bytes, Picoseconds};

/// The index of a GPU in the system.
pub type GpuIndex = u32;

/// The index that a model of the network gives to a message under way.
pub type MessageIndex = u32;

/// A message from one GPU to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Where it starts.
    pub source: GpuIndex,
    /// Where it ends.
    pub destination: GpuIndex,
    /// How much it carries; a message of nothing still travels, as a header.
    pub size: Bytes,
    /// The caller's name for it.
    pub token: u64,
    /// The higher first, where the network heeds it.
    pub priority: u8,
    /// Whether it only arranges for another: interfaces keep it apart from those with data and
    /// send it before them, as on a queue of its own.
    pub control: bool,
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// A message's last byte has left its source.
    Sent {
        /// The message's token.
        token: u64,
    },
    /// A message's last byte has arrived.
    Delivered {
        /// The message's token.
        token: u64,
    },
    /// Many events have been handled and nothing else has occurred: a caller may show how far
    /// the run is, or end it.
    Working,
    /// A time has come that [`Transport::wake_at`] asked for.
    Woken {
        /// The token given.
        token: u64,
    },
}

/// A network that moves nothing any more although messages are under way.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the network is stuck at {time} with {messages} messages under way: {cycle}")]
pub struct Stuck {
    /// When it was noticed.
    pub time: Picoseconds,
    /// How many messages have not arrived.
    pub messages: usize,
    /// Which buffers wait for one another.
    pub cycle: String,
}

/// Why a model of the network cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TransportError {
    /// Messages wait for one another for ever.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// The model scheduled an event before the current time: an error of its own.
    #[error("this is a fault of Linkwright's network model: {0}")]
    Past(#[from] PastEvent),
    /// Two GPUs of one server that nothing joins.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Time is counted in 64 bits of picoseconds.
    #[error(
        "at {now}, a message would be under way until more than 213 days after the start; send          less data, or give the network more bandwidth and less latency"
    )]
    TooLong {
        /// When that was noticed.
        now: Picoseconds,
    },
}

/// A model of the network, which moves messages in simulated time and keeps the clock.
///
/// Occurrences come in the order of their times, and at one time in an order that the calls
/// made so far fix: two runs of the same calls agree to the last bit.
pub trait Transport {
    /// The current time: that of the occurrence returned last.
    fn now(&self) -> Picoseconds;

    /// Hands over a message at the current time.
    fn send(&mut self, message: Message);

    /// Asks to be woken, at the current time or later.
    fn wake_at(&mut self, time: Picoseconds, token: u64);

    /// The next occurrence; `None` when nothing is left to happen.
    ///
    /// # Errors
    /// A network in which messages wait for one another for ever, or where something would
    /// happen in the past or beyond 213 days; the model is of no use afterwards.
    fn next(&mut self) -> Result<Option<Occurrence>, TransportError>;

    /// How many events the model has handled, for rates and progress.
    fn events(&self) -> u64;
}
