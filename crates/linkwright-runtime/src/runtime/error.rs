//! Lists the failures of this layer.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, shown};
use crate::engine::{EngineError, Progress};
use crate::network::{GpuIndex, TransportError};
use crate::program::{CollectiveKind, CommunicatorId, Rank, Tag};
use crate::units::{Bytes, Picoseconds};

use super::call::Call;
use super::stalled::Stalled;

/// Describes any failure of programs that run.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum RuntimeError {
    /// Refuses a mapping of another length than the program.
    Mapping {
        /// Names the job.
        job: String,
        /// Counts its ranks.
        ranks: usize,
        /// Counts the GPUs that the mapping names.
        gpus: usize,
    },
    /// A GPU that the network does not have.
    UnknownGpu {
        /// Names the job.
        job: String,
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the GPU named.
        gpu: GpuIndex,
        /// How many there are.
        gpus: u32,
    },
    /// Refuses two ranks of a job on one GPU.
    SharedGpu {
        /// Gives the GPU.
        gpu: GpuIndex,
        /// Names the job.
        job: String,
        /// Gives the two ranks.
        ranks: [Rank; 2],
    },
    /// A scaling of computation that is no factor.
    Scale {
        /// Names the job.
        job: String,
        /// Holds the refused factor.
        scale: f64,
    },
    /// Iterations of a main loop that is not there.
    NoLoop {
        /// Names the job.
        job: String,
        /// Gives the first rank without a loop.
        rank: Rank,
        /// Counts the iterations asked for.
        iterations: u32,
    },
    /// A communicator that cannot be.
    Communicator {
        /// Names the job.
        job: String,
        /// Gives the communicator.
        communicator: CommunicatorId,
        /// Says why it is wrong.
        problem: String,
    },
    /// An operation that names something that is not there.
    Operation {
        /// Names the job.
        job: String,
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the operation.
        operation: u32,
        /// Says why it is wrong.
        problem: String,
    },
    /// A message larger than the receive that it matches.
    Truncated {
        /// Names the job.
        job: String,
        /// Gives the receiver.
        rank: Rank,
        /// Gives the receive.
        call: Call,
        /// Gives the sender.
        peer: Rank,
        /// Gives the message's tag.
        tag: Tag,
        /// Gives the message's size.
        size: Bytes,
        /// Gives the receive's size.
        capacity: Bytes,
    },
    /// Ranks of a communicator that call different collectives, or name different roots.
    CollectiveMismatch {
        /// Names the job.
        job: String,
        /// Gives the communicator.
        communicator: CommunicatorId,
        /// How many collectives the communicator had seen before.
        sequence: u64,
        /// Gives the first rank to call, and the one that differs.
        ranks: [Rank; 2],
        /// Gives their calls.
        calls: [Call; 2],
        /// Names the collectives that they call.
        kinds: [CollectiveKind; 2],
        /// The roots that they name, where the collective has one.
        roots: [Option<Rank>; 2],
    },
    /// A collective whose lowering is no program.
    Lowering {
        /// Names the collective.
        kind: CollectiveKind,
        /// Gives the rank's place in the communicator.
        index: u32,
        /// Counts the communicator's ranks.
        ranks: u32,
        /// Says why it is wrong.
        problem: String,
    },
    /// Blocks of a kernel that wait for one another for ever.
    StuckKernel {
        /// Names the job.
        job: String,
        /// The first rank that waits.
        rank: Rank,
        /// Names its collective.
        kind: CollectiveKind,
        /// Gives its call.
        call: Call,
        /// Gives its block.
        block: u32,
        /// Gives the block's step.
        step: u32,
    },
    /// A kernel in GPUs' memory that cannot go on.
    Kernel {
        /// Names the job.
        job: String,
        /// Says why, with a remedy.
        told: Diagnosis,
    },
    /// A time that does not fit 64 bits of picoseconds.
    TooLong {
        /// Names the job.
        job: String,
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the operation.
        call: Call,
    },
    /// A network that moves nothing any more, or beyond the time that is counted.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Ranks that wait for ever, or messages that nobody takes.
    #[error(transparent)]
    Stalled(#[from] Box<Stalled>),
    /// Tells of a run that its caller ended.
    Interrupted {
        /// Gives the simulated time.
        time: Picoseconds,
        /// Counts the operations completed by then.
        done: u64,
        /// Counts the operations in all.
        total: u64,
    },
}

impl Diagnose for RuntimeError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Mapping { job, ranks, gpus } => Diagnosis::of(format!(
                "job `{}` has {ranks} ranks, but its mapping lists {gpus} GPUs",
                shown(job)
            ))
            .remedy("list one GPU for each rank"),
            Self::UnknownGpu { job, rank, gpu, gpus } => Diagnosis::of(format!(
                "job `{}` puts rank {rank} on GPU {gpu}, but there are \
                 {gpus} GPUs, counted from 0",
                shown(job)
            )),
            Self::SharedGpu { gpu, job, ranks } => Diagnosis::of(format!(
                "job `{}` gives GPU {gpu} to rank {} and to rank {}",
                shown(job),
                ranks[0],
                ranks[1]
            ))
            .remedy("give each rank a GPU of its own"),
            Self::Scale { job, scale } => {
                Diagnosis::of(format!("job `{}` scales computation by {scale}", shown(job)))
                    .remedy("give a number of 0 or more, such as 0.5 for a processor twice as fast")
            }
            Self::NoLoop { job, rank, iterations } => Diagnosis::of(format!(
                "job `{}` must run its main loop {iterations} times, but the program of rank \
                 {rank} marks no loop",
                shown(job)
            ))
            .remedy("use 1 iteration, or mark the main loop"),
            Self::Communicator { job, communicator, problem } => Diagnosis::of(format!(
                "communicator {communicator} of job `{}` {problem}",
                shown(job)
            )),
            Self::Operation { job, rank, operation, problem } => Diagnosis::of(format!(
                "call {operation} of rank {rank} of job `{}` {problem}",
                shown(job)
            )),
            Self::Truncated { job, rank, call, peer, tag, size, capacity } => {
                Diagnosis::of(format!(
                    "job `{}` rank {rank}: {call} receives at most {capacity}, but \
                     the message with tag {tag} from rank {peer} has {size}",
                    shown(job)
                ))
                .remedy("make the receive at least as large as the message")
            }
            Self::CollectiveMismatch {
                job,
                communicator,
                sequence,
                ranks,
                calls,
                kinds,
                roots,
            } => Diagnosis::of(format!(
                "job `{}`: rank {} takes part in {} as {}, but rank {} in {} as \
                     {}, both as collective {sequence} of communicator {communicator}",
                shown(job),
                ranks[0],
                collective(kinds[0], roots[0]),
                calls[0],
                ranks[1],
                collective(kinds[1], roots[1]),
                calls[1]
            ))
            .remedy(
                "make all ranks of the communicator call the same collectives in the same \
                order",
            ),
            Self::Lowering { kind, index, ranks, problem } => {
                Diagnosis::of(format!("the plan of {kind:?} for rank {index} of {ranks} {problem}"))
                    .remedy("use another algorithm, and report this fault of the plan")
            }
            Self::StuckKernel { job, rank, kind, call, block, step } => Diagnosis::of(format!(
                "job `{}` rank {rank}: in {kind:?} ({call}), block {block} waits forever at step \
                 {step}",
                shown(job)
            ))
            .remedy("check the schedule: it says which step waits for which"),
            Self::Kernel { job, told } => told.clone().within(format!("job `{}`", shown(job))),
            Self::TooLong { job, rank, call } => Diagnosis::of(format!(
                "{call} of rank {rank} of job `{}` would end more than 213 days after the start \
                 of the run",
                shown(job)
            ))
            .remedy("use fewer iterations, a smaller scale of computation or an earlier start"),
            Self::Transport(error) => error.diagnosis(),
            Self::Stalled(error) => error.diagnosis(),
            Self::Interrupted { time, done, total } => {
                Diagnosis::of(format!("stopped at {time} after {done} of {total} operations"))
            }
        }
    }
}

fn collective(kind: CollectiveKind, root: Option<Rank>) -> String {
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
