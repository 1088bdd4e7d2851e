//! What can go wrong in this layer.

use thiserror::Error;

use crate::diagnostic::InputError;
use crate::system::SystemError;

/// Any failure of the allocation layer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AllocationError {
    /// A text that is not accepted, with its place.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A machine that cannot be labelled.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A pattern name that does not exist.
    #[error("there is no pattern `{name}`; the patterns are {known}")]
    UnknownPattern {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A policy name that does not exist.
    #[error("there is no policy `{name}`; the policies are {known}")]
    UnknownPolicy {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A pattern of no GPU, or of more than the layer handles.
    #[error("a pattern of {size} GPUs cannot be placed; ask for 1 to 128")]
    PatternSize {
        /// The size asked for.
        size: usize,
    },
    /// An edge that is no edge of the pattern.
    #[error("edge {a}-{b} does not join two of the pattern's vertices 0 to {}", size - 1)]
    PatternEdge {
        /// One end.
        a: usize,
        /// The other end.
        b: usize,
        /// The pattern's size.
        size: usize,
    },
    /// A machine with more GPUs than the layer handles.
    #[error("the machine has {gpus} GPUs; a machine may have at most 128 to be allocated")]
    TooManyGpus {
        /// How many it has.
        gpus: usize,
    },
    /// A GPU id that the machine does not have.
    #[error("there is no GPU {gpu}; the machine has GPUs 0 to {}", gpus - 1)]
    UnknownGpu {
        /// The id asked for.
        gpu: usize,
        /// How many GPUs the machine has.
        gpus: usize,
    },
    /// A GPU that is held by a job, unhealthy, or asked for twice.
    #[error("GPU {gpu} is not free; release its job or mark it healthy first")]
    NotFree {
        /// The GPU asked for.
        gpu: usize,
    },
    /// A placement of another size than the pattern's.
    #[error("{given} GPUs cannot hold a pattern of {size}; name {size} different GPUs")]
    PlacementSize {
        /// How many GPUs were given.
        given: usize,
        /// The pattern's size.
        size: usize,
    },
    /// A job larger than the machine.
    #[error("job `{job}` asks for {size} GPUs; the machine has {gpus}, so it can never start")]
    JobTooLarge {
        /// The job.
        job: String,
        /// The GPUs asked for.
        size: usize,
        /// The GPUs that exist.
        gpus: usize,
    },
    /// A job that holds GPUs already.
    #[error("job `{job}` holds GPUs {held} already; release it first")]
    AlreadyAllocated {
        /// The job.
        job: String,
        /// What it holds.
        held: String,
    },
    /// A job that holds nothing.
    #[error("job `{job}` holds no GPU; it was released before or never allocated")]
    NotAllocated {
        /// The job.
        job: String,
    },
    /// A decision that its caller ended.
    #[error("stopped while deciding on job `{job}`")]
    Interrupted {
        /// The job.
        job: String,
    },
    /// A saved state that belongs to another machine or contradicts itself.
    #[error("the saved state does not fit: {problem}")]
    State {
        /// What does not fit.
        problem: String,
    },
}
