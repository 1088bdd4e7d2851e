//! Describes the events at a location, with their times.

use crate::units::Bytes;

/// Describes one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Gives its time, in ticks of the location's own clock; never less than the time of the event
    /// before.
    pub time: u64,
    /// Says which event it is.
    pub kind: EventKind,
}

/// A message, seen from one of its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageEnd {
    /// Gives the other end, as its rank in the communicator.
    pub peer: u32,
    /// Gives the communicator's id.
    pub communicator: u32,
    /// Gives the message's tag.
    pub tag: u32,
    /// Gives the message's length.
    pub length: Bytes,
}

/// Describes the part that one rank took in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// Says which collective it is.
    pub operation: CollectiveOperation,
    /// Gives the communicator's id.
    pub communicator: u32,
    /// Gives the root.
    pub root: Root,
    /// Counts the bytes that this rank sent.
    pub sent: Bytes,
    /// Counts the bytes that this rank received.
    pub received: Bytes,
}

/// Tells the root of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// The collective has none.
    None,
    /// Means this rank, in an inter-communicator.
    ThisRank,
    /// Means another rank of this rank's side of an inter-communicator.
    ThisGroup,
    /// Gives the rank in the communicator.
    Rank(u32),
}

/// Describes an event. Names are from OTF2; ids refer to the [archive](super::Archive)'s tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A region was entered.
    Enter {
        /// Gives the region's id.
        region: u32,
    },
    /// A region was left.
    Leave {
        /// Gives the region's id.
        region: u32,
    },
    /// Records a blocking send, between the entry and the exit of its MPI call.
    MpiSend(MessageEnd),
    /// A non-blocking send was started.
    MpiIsend {
        /// Describes the message.
        message: MessageEnd,
        /// Gives the request's number, unique among the location's open ones.
        request: u64,
    },
    /// A non-blocking send was found complete, within the call that waited or tested.
    MpiIsendComplete {
        /// Gives the request's number.
        request: u64,
    },
    /// A non-blocking receive was started; the message is known once it is complete.
    MpiIrecvRequest {
        /// Gives the request's number.
        request: u64,
    },
    /// Records a blocking receive, between the entry and the exit of its MPI call.
    MpiRecv(MessageEnd),
    /// A non-blocking receive was found complete, within the call that waited or tested.
    MpiIrecv {
        /// Describes the message that came.
        message: MessageEnd,
        /// Gives the request's number.
        request: u64,
    },
    /// A request was tested and is not complete.
    MpiRequestTest {
        /// Gives the request's number.
        request: u64,
    },
    /// A request was cancelled.
    MpiRequestCancelled {
        /// Gives the request's number.
        request: u64,
    },
    /// Begins a collective. Its end says which one it is.
    MpiCollectiveBegin,
    /// Ends a collective.
    MpiCollectiveEnd(CollectiveRecord),
    /// A non-blocking collective was started.
    NonBlockingCollectiveRequest {
        /// Gives the request's number.
        request: u64,
    },
    /// A non-blocking collective was found complete.
    NonBlockingCollectiveComplete {
        /// Describes the collective.
        call: CollectiveRecord,
        /// Gives the request's number.
        request: u64,
    },
    /// A matched probe found a message, which is received later by its number (OTF2 3.2).
    MpiProbe {
        /// Gives the sender, as its rank in the communicator.
        sender: u32,
        /// Gives the communicator's id.
        communicator: u32,
        /// Gives the message's tag.
        tag: u32,
        /// Gives the message's number at this location.
        message: u64,
    },
    /// A probed message was received.
    MpiMrecv {
        /// Gives the message's number at this location.
        message: u64,
        /// Gives the message's length.
        length: Bytes,
    },
    /// A non-blocking receive of a probed message was started.
    MpiImrecvRequest {
        /// Gives the message's number at this location.
        message: u64,
        /// Gives the request's number.
        request: u64,
    },
    /// A non-blocking receive of a probed message was found complete.
    MpiImrecv {
        /// Gives the request's number.
        request: u64,
        /// Gives the message's length.
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
    /// Sets a parameter to a text.
    ParameterString {
        /// Gives the parameter's id.
        parameter: u32,
        /// Gives the text's id.
        string: u32,
    },
    /// Sets a parameter to a signed number.
    ParameterInt {
        /// Gives the parameter's id.
        parameter: u32,
        /// Gives the value.
        value: i64,
    },
    /// Sets a parameter to an unsigned number.
    ParameterUnsignedInt {
        /// Gives the parameter's id.
        parameter: u32,
        /// Gives the value.
        value: u64,
    },
    /// An event that is not read: threads, metrics, windows, files and what newer versions add.
    Other {
        /// Gives its number in the file.
        record: u8,
    },
}

/// Lists the collectives of MPI.
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
    /// Lists the collectives in the order of their numbers in the file.
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

    /// Returns the collective of a number in the file.
    pub(super) fn of(number: u8) -> Self {
        Self::BY_NUMBER.get(usize::from(number)).copied().unwrap_or(Self::Other(number))
    }
}
