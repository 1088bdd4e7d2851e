//! What can go wrong when a schedule is timed.

use thiserror::Error;

use crate::engine::EngineError;
use crate::network::TransportError;
use crate::runtime::RuntimeError;
use crate::system::NoReducingSwitch;

/// Why a schedule cannot be timed on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    /// A GPU that the machine does not have.
    #[error("rank {rank} runs on GPU {gpu}, and `{machine}` has {count} of them")]
    UnknownGpu {
        /// The rank.
        rank: usize,
        /// Its GPU.
        gpu: usize,
        /// The machine's name.
        machine: String,
        /// How many GPUs that has.
        count: usize,
    },
    /// Two ranks without a way between them.
    #[error("no {links} joins GPU {from} and GPU {to} of `{machine}`, which the schedule needs")]
    NoRoute {
        /// The links, in words.
        links: &'static str,
        /// The sending GPU.
        from: usize,
        /// The receiving GPU.
        to: usize,
        /// The machine's name.
        machine: String,
    },
    /// In-switch steps where no switch does them.
    #[error("the schedule reduces or copies in a switch: {0}; plan it with packing or nccl-ring")]
    NoReducingSwitch(#[from] NoReducingSwitch),
    /// In-switch steps where ranks can only send messages.
    #[error(
        "rank {rank} block {block} step {step} is done in a switch, which messages between ranks \
         cannot say; plan it with packing or nccl-ring"
    )]
    InSwitch {
        /// The rank.
        rank: usize,
        /// Its block.
        block: usize,
        /// The step.
        step: usize,
    },
    /// A block that sends to, or receives from, a rank that does not do its part.
    #[error(
        "block {block} of rank {rank} has a connection on channel {channel} that no block of \
         the other rank shares; check the schedule first"
    )]
    Unpaired {
        /// The rank.
        rank: usize,
        /// The block.
        block: usize,
        /// The channel.
        channel: usize,
    },
    /// Blocks that wait for one another for ever.
    #[error(
        "rank {rank} never gets past step {step} of block {block}; check the schedule for what \
         it waits for"
    )]
    Stuck {
        /// The first rank that waits.
        rank: usize,
        /// Its block.
        block: usize,
        /// The step.
        step: usize,
    },
    /// More events than a run may have.
    #[error(
        "{size} in chunks of {chunk} would take {transfers} transfers, more than {limit}; use \
         larger chunks"
    )]
    TooManyTransfers {
        /// The data.
        size: crate::units::Bytes,
        /// The chunk.
        chunk: crate::units::Bytes,
        /// The transfers.
        transfers: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// A schedule that would take longer than time is counted.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Something that no schedule should bring about.
    #[error("this is a fault of Linkwright's: {problem}")]
    Fault {
        /// What it is.
        problem: String,
    },
    /// A chunk size of zero.
    #[error("a chunk needs at least one byte; give a size such as 1 MiB")]
    EmptyChunk,
}

impl From<RuntimeError> for TimeError {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::StuckKernel { rank, block, step, .. } => {
                Self::Stuck { rank: rank as usize, block: block as usize, step: step as usize }
            }
            RuntimeError::Transport(TransportError::Engine(error)) => Self::Engine(error),
            RuntimeError::Transport(TransportError::TooLong { now }) => {
                Self::Engine(EngineError::TooLong { now })
            }
            other => Self::Fault { problem: other.to_string() },
        }
    }
}
