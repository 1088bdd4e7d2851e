//! What happened at a location, and when.

use crate::units::Bytes;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, in ticks of the location's own clock; never less than the event before.
    pub time: u64,
    /// What happened.
    pub kind: EventKind,
}

/// A message, seen from one of its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageEnd {
    /// The other end, as its rank in the communicator.
    pub peer: u32,
    /// The communicator's id.
    pub communicator: u32,
    /// The message's tag.
    pub tag: u32,
    /// The message's length.
    pub length: Bytes,
}

/// The part that one rank took in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// Which collective.
    pub operation: CollectiveOperation,
    /// The communicator's id.
    pub communicator: u32,
    /// The root.
    pub root: Root,
    /// What this rank sent.
    pub sent: Bytes,
    /// What this rank received.
    pub received: Bytes,
}

/// The root of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// The collective has none.
    None,
    /// This rank, in an inter-communicator.
    ThisRank,
    /// Another rank of this rank's side of an inter-communicator.
    ThisGroup,
    /// The rank in the communicator.
    Rank(u32),
}

/// What happened. Names are those of OTF2; ids refer to the [archive](super::Archive)'s tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A region was entered.
    Enter {
        /// The region's id.
        region: u32,
    },
    /// A region was left.
    Leave {
        /// The region's id.
        region: u32,
    },
    /// A blocking send, between the entry and the exit of its MPI call.
    MpiSend(MessageEnd),
    /// A non-blocking send was started.
    MpiIsend {
        /// The message.
        message: MessageEnd,
        /// The request's number, unique among the location's open ones.
        request: u64,
    },
    /// A non-blocking send was found complete, within the call that waited or tested.
    MpiIsendComplete {
        /// The request's number.
        request: u64,
    },
    /// A non-blocking receive was started; the message is known once it is complete.
    MpiIrecvRequest {
        /// The request's number.
        request: u64,
    },
    /// A blocking receive, between the entry and the exit of its MPI call.
    MpiRecv(MessageEnd),
    /// A non-blocking receive was found complete, within the call that waited or tested.
    MpiIrecv {
        /// The message that came.
        message: MessageEnd,
        /// The request's number.
        request: u64,
    },
    /// A request was tested and is not complete.
    MpiRequestTest {
        /// The request's number.
        request: u64,
    },
    /// A request was cancelled.
    MpiRequestCancelled {
        /// The request's number.
        request: u64,
    },
    /// A collective begins; what it is comes with its end.
    MpiCollectiveBegin,
    /// A collective ended.
    MpiCollectiveEnd(CollectiveRecord),
    /// A non-blocking collective was started.
    NonBlockingCollectiveRequest {
        /// The request's number.
        request: u64,
    },
    /// A non-blocking collective was found complete.
    NonBlockingCollectiveComplete {
        /// The collective.
        call: CollectiveRecord,
        /// The request's number.
        request: u64,
    },
    /// A matched probe found a message, which is received later by its number (OTF2 3.2).
    MpiProbe {
        /// The sender, as its rank in the communicator.
        sender: u32,
        /// The communicator's id.
        communicator: u32,
        /// The message's tag.
        tag: u32,
        /// The message's number at this location.
        message: u64,
    },
    /// A probed message was received.
    MpiMrecv {
        /// The message's number at this location.
        message: u64,
        /// The message's length.
        length: Bytes,
    },
    /// A non-blocking receive of a probed message was started.
    MpiImrecvRequest {
        /// The message's number at this location.
        message: u64,
        /// The request's number.
        request: u64,
    },
    /// A non-blocking receive of a probed message was found complete.
    MpiImrecv {
        /// The request's number.
        request: u64,
        /// The message's length.
        length: Bytes,
    },
    /// The recording was switched on or off.
    MeasurementOnOff {
        /// Whether events are recorded from here on.
        on: bool,
    },
    /// The recorder wrote its memory to disk, which took time that the program did not.
    BufferFlush {
        /// When it was done, in ticks of the location's own clock.
        stop: u64,
    },
    /// A parameter took a text as its value.
    ParameterString {
        /// The parameter's id.
        parameter: u32,
        /// The text's id.
        string: u32,
    },
    /// A parameter took a signed number as its value.
    ParameterInt {
        /// The parameter's id.
        parameter: u32,
        /// The value.
        value: i64,
    },
    /// A parameter took an unsigned number as its value.
    ParameterUnsignedInt {
        /// The parameter's id.
        parameter: u32,
        /// The value.
        value: u64,
    },
    /// An event that is not read: threads, metrics, windows, files and what newer versions add.
    Other {
        /// Its number in the file.
        record: u8,
    },
}

/// The collectives of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are MPI's own")]
pub enum CollectiveOperation {
    Barrier,
    Broadcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    AllGather,
    AllGatherv,
    AllToAll,
    AllToAllv,
    AllToAllw,
    AllReduce,
    Reduce,
    ReduceScatter,
    Scan,
    ExclusiveScan,
    ReduceScatterBlock,
    CreateHandle,
    DestroyHandle,
    Allocate,
    Deallocate,
    CreateHandleAndAllocate,
    DestroyHandleAndDeallocate,
    /// A collective that this reader does not know, by its number in the file.
    Other(u8),
}

impl CollectiveOperation {
    /// The collectives in the order of their numbers in the file.
    const BY_NUMBER: [Self; 23] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Gather,
        Self::Gatherv,
        Self::Scatter,
        Self::Scatterv,
        Self::AllGather,
        Self::AllGatherv,
        Self::AllToAll,
        Self::AllToAllv,
        Self::AllToAllw,
        Self::AllReduce,
        Self::Reduce,
        Self::ReduceScatter,
        Self::Scan,
        Self::ExclusiveScan,
        Self::ReduceScatterBlock,
        Self::CreateHandle,
        Self::DestroyHandle,
        Self::Allocate,
        Self::Deallocate,
        Self::CreateHandleAndAllocate,
        Self::DestroyHandleAndDeallocate,
    ];

    /// The collective of a number in the file.
    pub(super) fn of(number: u8) -> Self {
        Self::BY_NUMBER.get(usize::from(number)).copied().unwrap_or(Self::Other(number))
    }
}
