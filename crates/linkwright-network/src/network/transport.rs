//! Defines the interface that every model of the network gives to the programs that run on it.

use std::num::NonZeroU32;

use thiserror::Error;

use super::paths::PathError;
use super::route::RouteClass;
use super::site::GpuSite;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::engine::{EngineError, Model, Scheduler};
use crate::units::{Bytes, Picoseconds};

/// Gives the index of a GPU in the system.
pub type GpuIndex = u32;

/// The index that a model of the network gives to a message under way.
pub type MessageIndex = u32;

/// Names a connection that was opened on a model of the network.
pub type ConnectionIndex = u32;

/// Gives the number of a device in the system.
pub type DeviceIndex = u32;

/// Tells the messages of a kernel's caches apart, so that none of one class waits for a place behind
/// another class.
///
/// Who takes a request may have to send probes, and who takes either sends an answer. An answer is taken by whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryClass {
    /// A page that moves, or a part of a copy. Nothing follows from it in the network.
    Page,
    /// Asks the home of a line, or writes there.
    Request,
    /// Asks a cache for a line that it holds.
    Probe,
    /// Answers a request or a probe.
    Answer,
}

impl MemoryClass {
    /// Lists all of them.
    pub const ALL: [Self; 4] = [Self::Page, Self::Request, Self::Probe, Self::Answer];

    /// Gives its virtual channel in a server. Pages share that of all other messages.
    #[must_use]
    pub const fn virtual_channel(self) -> u8 {
        self as u8
    }

    /// Lists the classes of messages that whoever takes one of this class may have to send for it.
    #[must_use]
    pub const fn causes(self) -> &'static [Self] {
        match self {
            Self::Page | Self::Answer => &[],
            Self::Request => &[Self::Probe, Self::Answer],
            Self::Probe => &[Self::Answer],
        }
    }
}

/// Holds the properties by which a network tells messages apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficClass {
    /// Gives the class of a kernel's message; None of all others. Such a message is sent at once. It takes what its
    /// packets take on a link, with what each adds.
    pub memory: Option<MemoryClass>,
    /// Orders messages where the network heeds it: the higher goes first.
    pub priority: u8,
    /// Says whether it only arranges for another message. Interfaces keep it apart from those with
    /// data and send it before them, as on a queue of its own.
    pub control: bool,
    /// How long it may take, in thousandths of its time on an idle bus, where the network heeds
    /// that: of what crosses a PCIe bus. None where it takes what it takes.
    pub deadline: Option<NonZeroU32>,
}

/// Describes a message from one device to another: from and to GPUs, CPUs and network interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Where it starts.
    pub source: DeviceIndex,
    /// Where it ends.
    pub destination: DeviceIndex,
    /// How much it carries; a message of nothing still travels, as a header.
    pub size: Bytes,
    /// Holds the caller's name for it.
    pub token: u64,
    /// Over which links it goes; [`RouteClass::Any`] is the widest within a server, and the network
    /// between servers.
    pub route: RouteClass,
    /// How it is told from others.
    pub class: TrafficClass,
    /// Whether a GPU's copy engine makes it, which reaches more of PCIe than what kernels store.
    pub by_copy_engine: bool,
}

impl Message {
    /// Makes a message that goes by the widest way, like any other.
    #[must_use]
    pub fn new(source: DeviceIndex, destination: DeviceIndex, size: Bytes, token: u64) -> Self {
        let (route, class) = (RouteClass::Any, TrafficClass::default());
        Self { source, destination, size, token, route, class, by_copy_engine: false }
    }
}

/// Tells of something that happened to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// A message's last byte has left its source.
    Sent {
        /// Gives the message's token.
        token: u64,
    },
    /// A message's last byte has arrived.
    Delivered {
        /// Gives the message's token.
        token: u64,
    },
}

/// A network that moves nothing any more although messages are under way.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct Stuck {
    /// When it was noticed.
    pub time: Picoseconds,
    /// How many messages have not arrived.
    pub messages: usize,
    /// Says which buffers wait for one another.
    pub cycle: String,
}

impl Diagnose for Stuck {
    fn diagnosis(&self) -> Diagnosis {
        let Self { time, messages, cycle } = self;
        Diagnosis::of(format!(
            "the network is in deadlock at {time}, with {messages} messages under way: {cycle}"
        ))
    }
}

/// Why a model of the network cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum TransportError {
    /// Says that messages wait for one another for ever.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// A transfer over a connection that the model did not open.
    NoConnection {
        /// Gives the connection.
        connection: ConnectionIndex,
    },
    /// Two devices that no link of the class asked for joins.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Something would happen in the past or too late, or the caller ended the run.
    #[error(transparent)]
    Engine(EngineError),
    /// Time is counted in 64 bits of picoseconds.
    TooLong {
        /// When that was noticed.
        now: Picoseconds,
    },
}

impl Diagnose for TransportError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Stuck(error) => error.diagnosis(),
            Self::NoConnection { connection } => Diagnosis::of(format!(
                "there is no connection {connection} on this model of the network"
            ))
            .remedy(
                "open the connection first, on a model that has connections (flows over given \
                routes)",
            ),
            Self::Path(error) => error.diagnosis(),
            Self::Engine(error) => error.diagnosis(),
            Self::TooLong { now } => Diagnosis::of(format!(
                "at {now}, a message starts that would arrive more than 213 days after the start \
                 of the run"
            ))
            .remedy("send less data, or use a network with more bandwidth and less latency"),
        }
    }
}

impl From<EngineError> for TransportError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::TooLong { now } => Self::TooLong { now },
            other => Self::Engine(other),
        }
    }
}

/// A model of the network, which moves messages in simulated time.
///
/// Occurrences are told in the order of their time. At one time, the calls made so far fix the
/// order: two runs of the same calls agree to the last bit. The holder of the network asks for them
/// after each event and each settling ([`Transport::tell`]).
pub trait Transport: Model<Error = TransportError> {
    /// The device that a GPU is.
    fn gpu_device(&self, gpu: GpuIndex) -> DeviceIndex;

    /// Says where a GPU sits; by default nothing is known of it.
    fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        GpuSite::bare(self.gpu_device(gpu))
    }

    /// Takes a message over at the current time.
    fn send(&mut self, message: Message, scheduler: &mut impl Scheduler<Self::Event>);

    /// Takes a transfer over at the current time, by a connection that was opened before. The
    /// caller that opened it chose its way. Occurrences are told as for messages.
    ///
    /// # Errors
    /// [`TransportError::NoConnection`] where the model did not open it; by default there is none.
    fn transfer(
        &mut self,
        connection: ConnectionIndex,
        size: Bytes,
        token: u64,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<(), TransportError> {
        let _ = (size, token, scheduler);
        Err(TransportError::NoConnection { connection })
    }

    /// Takes the earliest occurrence that has not been told.
    fn tell(&mut self) -> Option<Occurrence>;

    /// Says whether something that the model carries may end at the current time, to be told when
    /// the model settles. By default something may, as far as is known.
    fn may_end_at(&self, now: Picoseconds) -> bool {
        let _ = now;
        true
    }

    /// How often the model has done something by itself, without an event.
    fn own_events(&self) -> u64 {
        0
    }
}
