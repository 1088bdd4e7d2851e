//! Says what can go wrong in this layer.

use thiserror::Error;

use super::links::LinkCounts;
use super::pattern::MOST_EDGES;
use crate::diagnostic::{Diagnose, Diagnosis, InputError, UnknownName, shown};
use crate::system::SystemError;

/// Names any failure of the allocation layer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum AllocationError {
    /// A text that is not accepted, with its place.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A machine that cannot be labelled.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A pattern name that does not exist.
    UnknownPattern(UnknownName),
    /// A policy name that does not exist.
    #[error(transparent)]
    UnknownPolicy(#[from] UnknownName),
    /// Refuses a pattern of no GPU, or of more than the layer handles.
    PatternSize {
        /// Gives the size asked for.
        size: usize,
        /// Gives the largest that there is.
        most: usize,
    },
    /// An edge that is no edge of the pattern.
    PatternEdge {
        /// Names one end.
        a: usize,
        /// Names the other end.
        b: usize,
        /// Gives the pattern's size.
        size: usize,
    },
    /// A word that is no edge with its shares.
    EdgeText {
        /// Gives the word.
        word: String,
    },
    /// Refuses a line of more edges than any pattern has.
    TooManyEdges,
    /// A share of an edge that nothing can carry.
    Share {
        /// Names one end.
        a: usize,
        /// Names the other end.
        b: usize,
        /// Shows the share that was given.
        share: String,
    },
    /// Refuses a machine with more GPUs than the layer handles.
    TooManyGpus {
        /// How many it has.
        gpus: usize,
    },
    /// A GPU id that the machine does not have.
    UnknownGpu {
        /// Gives the id asked for.
        gpu: usize,
        /// How many GPUs the machine has.
        gpus: usize,
    },
    /// A GPU that is held by a job, unhealthy, or asked for twice.
    NotFree {
        /// Names the GPU asked for.
        gpu: usize,
    },
    /// Refuses a placement of another size than the pattern's.
    PlacementSize {
        /// How many GPUs were given.
        given: usize,
        /// Gives the pattern's size.
        size: usize,
    },
    /// Refuses a job larger than the machine.
    JobTooLarge {
        /// Names the job.
        job: String,
        /// Counts the GPUs asked for.
        size: usize,
        /// Counts the GPUs that exist.
        gpus: usize,
    },
    /// A job wants a number of servers that it can never have.
    NoSuchServers {
        /// Names the job.
        job: String,
        /// Counts the GPUs asked for.
        size: usize,
        /// Counts the servers asked for.
        wanted: usize,
        /// Counts those that there are.
        servers: usize,
        /// Counts the healthy GPUs that one server has at most.
        most: usize,
    },
    /// A job that holds GPUs already.
    AlreadyAllocated {
        /// Names the job.
        job: String,
        /// Lists what it holds.
        held: String,
    },
    /// A job that holds nothing.
    NotAllocated {
        /// Names the job.
        job: String,
    },
    /// Holds a fit of Eq. 2 to nothing.
    NoSamples,
    /// A sample that no all-reduce can have given.
    Sample {
        /// The links it was measured on.
        links: LinkCounts,
        /// Gives the bandwidth, GB/s.
        bandwidth: String,
    },
    /// Tells of a decision that its caller ended.
    Interrupted {
        /// Names the job.
        job: String,
    },
    /// A saved state that belongs to another machine or contradicts itself.
    State {
        /// Says what does not fit.
        problem: String,
    },
}

impl Diagnose for AllocationError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Input(error) => error.diagnosis(),
            Self::System(error) => error.diagnosis(),
            Self::UnknownPattern(error) | Self::UnknownPolicy(error) => error.diagnosis(),
            Self::PatternSize { size, most } => {
                Diagnosis::of(format!("a pattern of {size} GPUs cannot be placed"))
                    .remedy(format!("ask for 1 to {most}"))
            }
            Self::PatternEdge { a, b, size } => Diagnosis::of(format!(
                "edge {a}-{b} does not join two different vertices from 0 to {}",
                size - 1
            )),
            Self::NoSamples => Diagnosis::of("Eq. 2 cannot be fitted without samples").remedy(
                "give at least one sample: numbers of links and the bus bandwidth \
                    measured on them",
            ),
            Self::Sample { links: LinkCounts { double, single, pcie }, bandwidth } => {
                Diagnosis::of(format!(
                    "a sample of {bandwidth} GB/s on ({double}, {single}, {pcie}) links is out of \
                     range"
                ))
                .remedy("give 0 to 1e9 GB/s and at most 8,128 links of each class")
            }
            Self::EdgeText { word } => Diagnosis::of(format!("`{}` is not an edge", shown(word)))
                .remedy(
                    "write `0-1`, `0-1:3`, or `0-1:3/0.5` with a share each way; vertices \
                    count from 0",
                ),
            Self::TooManyEdges => Diagnosis::of(format!("there are more than {MOST_EDGES} edges"))
                .remedy("write each pair once; 128 GPUs have 8,128"),
            Self::Share { a, b, share } => {
                Diagnosis::of(format!("edge {a}-{b} cannot have the share {share}"))
                    .remedy("give a number of 0 or more, such as 1 or 2.5")
            }
            Self::TooManyGpus { gpus } => Diagnosis::of(format!("the machine has {gpus} GPUs"))
                .remedy("use a machine of at most 128 GPUs"),
            Self::UnknownGpu { gpu, gpus } => Diagnosis::of(format!("there is no GPU {gpu}"))
                .remedy(format!("use GPUs 0 to {}", gpus - 1)),
            Self::NotFree { gpu } => Diagnosis::of(format!("GPU {gpu} is not free"))
                .remedy("release its job or mark it healthy first"),
            Self::PlacementSize { given, size } => {
                Diagnosis::of(format!("{given} GPUs cannot hold a pattern of {size}"))
                    .remedy(format!("name {size} different GPUs"))
            }
            Self::JobTooLarge { job, size, gpus } => {
                Diagnosis::of(format!("job `{job}` asks for {size} GPUs"))
                    .remedy(format!("ask for at most {gpus}, which is all that the machine has"))
            }
            Self::NoSuchServers { job, size, wanted, servers, most } => {
                let counted = |count: usize, what: &str| {
                    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
                };
                let (gpus, on) = (counted(*size, "GPU"), counted(*wanted, "server"));
                let have = if *servers == 1 { "server has" } else { "servers have" };
                let (least, last) = (size.div_ceil(*most).max(1), (*size).min(*servers));
                let range = match (least, last) {
                    (1, 1) => "1 server, or for fewer GPUs".to_owned(),
                    (least, last) if least <= last => {
                        format!("{least} to {last} servers, or for fewer GPUs")
                    }
                    _ => "fewer GPUs".to_owned(),
                };
                Diagnosis::of(format!(
                    "job `{}` asks for {gpus} on {on}, and the {servers} {have} at most {most} \
                     healthy GPUs",
                    shown(job)
                ))
                .remedy(format!("ask for {range}"))
            }
            Self::AlreadyAllocated { job, held } => {
                Diagnosis::of(format!("job `{job}` holds GPUs {held} already"))
                    .remedy("release it first")
            }
            Self::NotAllocated { job } => Diagnosis::of(format!("job `{job}` holds no GPU"))
                .remedy("release each job once, after it was allocated"),
            Self::Interrupted { job } => {
                Diagnosis::of(format!("stopped while deciding on job `{job}`"))
            }
            Self::State { problem } => {
                Diagnosis::of(format!("the saved state does not fit this machine: {problem}"))
            }
        }
    }
}
