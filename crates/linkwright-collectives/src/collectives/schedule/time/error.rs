//! Lists the errors when a schedule is timed.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};
use crate::engine::EngineError;
use crate::network::TransportError;
use crate::runtime::RuntimeError;
use crate::system::NoReducingSwitch;

/// Why a schedule cannot be timed on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum TimeError {
    /// A GPU that the machine does not have.
    UnknownGpu {
        /// Names the rank.
        rank: usize,
        /// Names its GPU.
        gpu: usize,
        /// Names the machine.
        machine: String,
        /// How many GPUs that has.
        count: usize,
    },
    /// Tells of two ranks without a way between them.
    NoRoute {
        /// Names the links, in words.
        links: &'static str,
        /// Names the sending GPU.
        from: usize,
        /// Names the receiving GPU.
        to: usize,
        /// Names the machine.
        machine: String,
    },
    /// In-switch steps where no switch does them.
    NoReducingSwitch(#[from] NoReducingSwitch),
    /// In-switch steps where ranks can only send messages.
    InSwitch {
        /// Names the rank.
        rank: usize,
        /// Names its block.
        block: usize,
        /// Names the step.
        step: usize,
    },
    /// A block that sends to, or receives from, a rank that does not do its part.
    Unpaired {
        /// Names the rank.
        rank: usize,
        /// Names the block.
        block: usize,
        /// Names the channel.
        channel: usize,
    },
    /// Blocks that wait for one another for ever.
    Stuck {
        /// The first rank that waits.
        rank: usize,
        /// Names its block.
        block: usize,
        /// Names the step.
        step: usize,
    },
    /// More events than a run may have.
    TooManyTransfers {
        /// Counts the data.
        size: crate::units::Bytes,
        /// Gives the chunk.
        chunk: crate::units::Bytes,
        /// Counts the transfers.
        transfers: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// A schedule that would take longer than time is counted.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Something that no schedule should bring about.
    Fault {
        /// Describes the problem.
        problem: String,
    },
    /// Refuses a chunk size of zero.
    EmptyChunk,
}

impl Diagnose for TimeError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::UnknownGpu { rank, gpu, machine, count } => Diagnosis::of(format!(
                "rank {rank} runs on GPU {gpu}, but `{machine}` has {count} GPUs"
            )),
            Self::NoRoute { links, from, to, machine } => Diagnosis::of(format!(
                "the schedule sends from GPU {from} to GPU {to} of `{machine}`, but no {links} \
                 joins them"
            )),
            Self::NoReducingSwitch(error) => {
                Diagnosis::of(format!("the schedule needs a switch that reduces: {error}"))
                    .remedy("plan it with packing or nccl-ring")
            }
            Self::InSwitch { rank, block, step } => Diagnosis::of(format!(
                "rank {rank} block {block} step {step} runs in a switch, so messages between \
                 ranks cannot replace it"
            ))
            .remedy("plan it with packing or nccl-ring"),
            Self::Unpaired { rank, block, channel } => Diagnosis::of(format!(
                "block {block} of rank {rank} has a connection on channel {channel} without a \
                 block at the other rank"
            ))
            .remedy("check the schedule first"),
            Self::Stuck { rank, block, step } => {
                Diagnosis::of(format!("rank {rank} waits forever at step {step} of block {block}"))
                    .remedy("check the schedule: it says which step waits for which")
            }
            Self::TooManyTransfers { size, chunk, transfers, limit } => Diagnosis::of(format!(
                "{size} in chunks of {chunk} takes {transfers} transfers, but the limit is {limit}"
            ))
            .remedy("use larger chunks"),
            Self::Engine(error) => error.diagnosis(),
            Self::Fault { problem } => {
                Diagnosis::of(format!("this is a fault in Linkwright: {problem}"))
            }
            Self::EmptyChunk => {
                Diagnosis::of("a chunk cannot have 0 bytes").remedy("give a size such as 1 MiB")
            }
        }
    }
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
