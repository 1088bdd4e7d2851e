//! Describes one operation of a rank.

use crate::network::RouteClass;
use crate::units::{Bandwidth, Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

use super::CommunicatorId;

/// Gives the index of a rank in its program.
pub type Rank = u32;

/// Tells apart messages between the same two ranks.
pub type Tag = u32;

/// Lists the things that a rank does in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Computes; a rank computes one thing at a time.
    Compute {
        /// Holds its time, before the job's scaling of computation.
        duration: Picoseconds,
    },
    /// Lets time pass and occupies nothing, as the host's part of a call does.
    Delay {
        /// How long; a job's scaling of computation leaves it as it is.
        duration: Picoseconds,
    },
    /// Adds what has come to what the GPU holds, as a collective does between two messages. It
    /// occupies the rank's processor, as computing does.
    Reduce {
        /// Holds the size of each of the two.
        size: Bytes,
        /// How fast; `None` as the GPU's memory allows, which reads both and writes the sum.
        rate: Option<Bandwidth>,
    },
    /// Copies between the rank's GPU and the memory of its host, or to another GPU of its server,
    /// whose rank takes no part. It needs one of the GPU's copy engines, and completes when the
    /// last byte is there.
    Copy {
        /// Says from where to where it copies.
        direction: CopyDirection,
        /// Counts its bytes.
        size: Bytes,
        /// Over which links.
        route: RouteClass,
    },
    /// Sends a message; completes when the buffer may be used again.
    Send {
        /// Gives the receiver's rank in the program.
        to: Rank,
        /// Holds the tag that the receiver may select by.
        tag: Tag,
        /// Gives the communicator that it goes over.
        communicator: CommunicatorId,
        /// Counts its bytes.
        size: Bytes,
        /// Over which links its data goes.
        route: RouteClass,
    },
    /// Receives a message; completes when it is there.
    Receive {
        /// The sender's rank in the program; `None` takes any.
        from: Option<Rank>,
        /// The message's tag; `None` takes any.
        tag: Option<Tag>,
        /// Gives the communicator that it goes over.
        communicator: CommunicatorId,
        /// Limits its bytes.
        size: Bytes,
    },
    /// Takes part in a collective; completes when this rank's part is done.
    Collective {
        /// Says which collective it is.
        kind: CollectiveKind,
        /// The root's rank in the program, where there is one; else ignored.
        root: Rank,
        /// Gives the communicator of its ranks.
        communicator: CommunicatorId,
        /// Counts the bytes that each rank contributes; for all-to-all those that it sends to each
        /// other rank.
        size: Bytes,
    },
    /// Takes part in a collective whose time is known. It is complete `duration` after the last of
    /// its ranks has entered it, with nothing on the network.
    Timed {
        /// Says which collective it is.
        kind: CollectiveKind,
        /// Gives the communicator of its ranks.
        communicator: CommunicatorId,
        /// Counts the bytes that each rank contributes.
        size: Bytes,
        /// Holds its time; of several the longest counts.
        duration: Picoseconds,
    },
    /// Runs the job's kernel in the memory of its ranks' GPUs. It begins when all ranks have come to it, and is
    /// complete for all at once. The kernel itself stands beside the program.
    Kernel,
    /// Does nothing but wait for what it depends on: MPI's wait and wait-all.
    Join,
    /// Enters a region of the program.
    Enter {
        /// Gives the index of its name.
        region: u32,
    },
    /// Leaves a region of the program.
    Leave {
        /// Gives the index of its name.
        region: u32,
    },
}

impl Operation {
    /// Returns the bytes that it sends, takes, copies, reduces or contributes; nothing where it
    /// handles no data.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        match *self {
            Self::Send { size, .. }
            | Self::Receive { size, .. }
            | Self::Copy { size, .. }
            | Self::Reduce { size, .. }
            | Self::Collective { size, .. }
            | Self::Timed { size, .. } => size,
            Self::Compute { .. }
            | Self::Delay { .. }
            | Self::Kernel
            | Self::Join
            | Self::Enter { .. }
            | Self::Leave { .. } => Bytes(0),
        }
    }
}

/// From where to where a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CopyDirection {
    /// From the memory of the CPU that is nearest to the rank's GPU into that GPU.
    HostToDevice,
    /// From the rank's GPU into the memory of the CPU that is nearest to it.
    DeviceToHost,
    /// Copies from the rank's GPU into another rank's GPU, in the same server.
    Peer(Rank),
}

impl CopyDirection {
    /// Returns its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostToDevice => "host-to-device",
            Self::DeviceToHost => "device-to-host",
            Self::Peer(_) => "peer",
        }
    }
}

/// Lists the collective operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// No rank leaves before all have entered.
    Barrier,
    /// Sends the root's data to all.
    Broadcast,
    /// Gives the sum of all to the root.
    Reduce,
    /// Gives the sum of all to all.
    AllReduce,
    /// Sends all data to the root.
    Gather,
    /// Sends a part of the root's data to each.
    Scatter,
    /// Sends all data to all.
    AllGather,
    /// Gives a part of the sum to each.
    ReduceScatter,
    /// Sends a part of its own from each to each.
    AllToAll,
    /// The sum of all ranks up to each.
    Scan,
}

linkwright_ground::named_by_all!(CollectiveKind, "collective");

impl CollectiveKind {
    /// Lists all of them.
    pub const ALL: [Self; 10] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::AllReduce,
        Self::Gather,
        Self::Scatter,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Scan,
    ];

    /// Whether one rank has a part of its own.
    #[must_use]
    pub fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Returns its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllReduce => "all-reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Scan => "scan",
        }
    }
}

/// Says for which point of another operation an operation waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dependency {
    /// An operation of the same rank has to be complete.
    Completed(u32),
    /// An operation of the same rank has to have started: a non-blocking call has returned.
    Started(u32),
}
