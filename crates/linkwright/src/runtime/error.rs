//! What can go wrong in this layer.

use thiserror::Error;

use crate::diagnostic::shown;
use crate::engine::{EngineError, Progress};
use crate::network::{GpuIndex, TransportError};
use crate::program::{Collective, CommunicatorId, Rank, Tag};
use crate::units::{Bytes, Picoseconds};

use super::call::Call;
use super::stalled::Stalled;

/// Any failure of programs that run.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RuntimeError {
    /// A mapping of another length than the program.
    #[error(
        "job `{}` has {ranks} ranks, but its mapping names {gpus} GPUs; name one for each rank",
        shown(.job)
    )]
    Mapping {
        /// The job.
        job: String,
        /// Its ranks.
        ranks: usize,
        /// The GPUs named.
        gpus: usize,
    },
    /// A GPU that the network does not have.
    #[error(
        "job `{}` puts rank {rank} on GPU {gpu}, but there are {gpus} GPUs, from 0", shown(.job)
    )]
    UnknownGpu {
        /// The job.
        job: String,
        /// The rank.
        rank: Rank,
        /// The GPU named.
        gpu: GpuIndex,
        /// How many there are.
        gpus: u32,
    },
    /// Two ranks of a job on one GPU.
    #[error(
        "job `{}` gives GPU {gpu} to rank {} and to rank {}; give each rank a GPU of its own",
        shown(.job), .ranks[0], .ranks[1]
    )]
    SharedGpu {
        /// The GPU.
        gpu: GpuIndex,
        /// The job.
        job: String,
        /// The two ranks.
        ranks: [Rank; 2],
    },
    /// A scaling of computation that is no factor.
    #[error(
        "job `{}` scales computation by {scale}; give a number from 0, such as 0.5 for a \
         processor twice as fast", shown(.job)
    )]
    Scale {
        /// The job.
        job: String,
        /// The factor given.
        scale: f64,
    },
    /// Iterations of a main loop that is not there.
    #[error(
        "job `{}` is to run its main loop {iterations} times, but the program of rank {rank} \
         marks none; run it once, or mark the loop", shown(.job)
    )]
    NoLoop {
        /// The job.
        job: String,
        /// The first rank without a loop.
        rank: Rank,
        /// The iterations asked for.
        iterations: u32,
    },
    /// A communicator that cannot be.
    #[error("communicator {communicator} of job `{}` {problem}", shown(.job))]
    Communicator {
        /// The job.
        job: String,
        /// The communicator.
        communicator: CommunicatorId,
        /// What is wrong with it.
        problem: String,
    },
    /// An operation that names something that is not there.
    #[error("call {operation} of rank {rank} of job `{}` {problem}", shown(.job))]
    Operation {
        /// The job.
        job: String,
        /// The rank.
        rank: Rank,
        /// The operation.
        operation: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// A message larger than the receive that it matches.
    #[error(
        "job `{}` rank {rank}: {call} receives at most {capacity}, but the message with tag {tag} \
         from rank {peer} has {size}; enlarge the receive", shown(.job)
    )]
    Truncated {
        /// The job.
        job: String,
        /// The receiver.
        rank: Rank,
        /// The receive.
        call: Call,
        /// The sender.
        peer: Rank,
        /// The message's tag.
        tag: Tag,
        /// The message's size.
        size: Bytes,
        /// The receive's size.
        capacity: Bytes,
    },
    /// Ranks of a communicator that call different collectives, or name different roots.
    #[error(
        "job `{}`: rank {} takes part in {} as {}, but rank {} in {} as {}, both as collective \
         {sequence} of communicator {communicator}; all its ranks have to make the same calls in \
         the same order", shown(.job), .ranks[0], collective(.kinds[0], .roots[0]), .calls[0],
        .ranks[1], collective(.kinds[1], .roots[1]), .calls[1]
    )]
    CollectiveMismatch {
        /// The job.
        job: String,
        /// The communicator.
        communicator: CommunicatorId,
        /// How many collectives the communicator had seen before.
        sequence: u64,
        /// The first rank to call, and the one that differs.
        ranks: [Rank; 2],
        /// Their calls.
        calls: [Call; 2],
        /// What they call.
        kinds: [Collective; 2],
        /// The roots that they name, where the collective has one.
        roots: [Option<Rank>; 2],
    },
    /// A collective whose lowering is no program.
    #[error("the lowering of {kind:?} for rank {index} of {ranks} {problem}; correct the lowering")]
    Lowering {
        /// The collective.
        kind: Collective,
        /// The rank's place in the communicator.
        index: u32,
        /// The communicator's ranks.
        ranks: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// Blocks of a kernel that wait for one another for ever.
    #[error(
        "job `{}` rank {rank}: in {kind:?} ({call}) block {block} never gets past step {step}; check \
         the schedule for what it waits for", shown(.job)
    )]
    StuckKernel {
        /// The job.
        job: String,
        /// The first rank that waits.
        rank: Rank,
        /// Its collective.
        kind: Collective,
        /// Its call.
        call: Call,
        /// Its block.
        block: u32,
        /// The block's step.
        step: u32,
    },
    /// A time that does not fit 64 bits of picoseconds.
    #[error(
        "{call} of rank {rank} of job `{}` would end more than 213 days after the start; lower \
         the iterations, the scale of computation or the job's start", shown(.job)
    )]
    TooLong {
        /// The job.
        job: String,
        /// The rank.
        rank: Rank,
        /// The operation.
        call: Call,
    },
    /// A network that moves nothing any more, or beyond the time that is counted.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Ranks that wait for ever, or messages that nobody takes.
    #[error(transparent)]
    Stalled(#[from] Box<Stalled>),
    /// A run that its caller ended.
    #[error("stopped at {time} after {done} of {total} operations")]
    Interrupted {
        /// The simulated time.
        time: Picoseconds,
        /// Operations completed by then.
        done: u64,
        /// Operations in all.
        total: u64,
    },
}

fn collective(kind: Collective, root: Option<Rank>) -> String {
    match root {
        Some(root) => format!("{kind:?} of root {root}"),
        None => format!("{kind:?}"),
    }
}

impl From<EngineError> for RuntimeError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Interrupted(Progress { time, done, total, .. }) => {
                Self::Interrupted { time, done, total }
            }
            other => Self::Transport(other.into()),
        }
    }
}
