//! Describes the errors of this layer.

use thiserror::Error;

use crate::allocation::AllocationError;
use crate::diagnostic::{Diagnose, Diagnosis, InputError, shown};
use crate::engine::{EngineError, Progress};
use crate::system::composition::PartError;
use crate::system::gpus::NumberType;
use crate::training::{TrainingError, UnknownWorkload};
use crate::units::{Bandwidth, Bytes};

use super::cluster::ClusterError;
use super::generate::MOST_JOBS;
use super::played::{LEAST_BUCKET, PlanningFault};

/// Says how the simulation layer failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum SimulationError {
    /// A text that no reader accepts, with its place.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An allocation that cannot be.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A job that could never start.
    JobTooLarge {
        /// Names the job.
        job: String,
        /// Counts the GPUs asked for.
        size: usize,
        /// Counts the healthy GPUs.
        gpus: usize,
    },
    /// A job of several servers where a formula says how long it runs.
    JobOfServers {
        /// Names the job.
        job: String,
        /// Counts the GPUs asked for.
        size: usize,
        /// Counts the healthy GPUs of one server at most.
        gpus: usize,
    },
    /// A job trains what its GPUs cannot train.
    TrainingOf {
        /// Names the job.
        job: String,
        /// Names the network.
        network: String,
        /// Says why.
        error: Box<TrainingError>,
    },
    /// Two jobs have one name.
    DuplicateJob {
        /// Gives the name.
        job: String,
    },
    /// A job that would run for longer than time is counted.
    RunTooLong {
        /// Names the job.
        job: String,
        /// Gives the effective bandwidth of its GPUs.
        bandwidth: Bandwidth,
        /// Counts its iterations.
        iterations: u64,
    },
    /// A server with too many GPUs to profile a job's sensitivity on all their sets.
    TooManyToProfile {
        /// Counts them.
        gpus: usize,
    },
    /// A job whose program no formula knows.
    NoFormula {
        /// Names the job.
        job: String,
    },
    /// A job that names a GPU that is out of order.
    UnhealthyGpu {
        /// Names the job.
        job: String,
        /// Names the GPU of the system.
        gpu: u32,
    },
    /// A part of the system that cannot fail.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Failures that come and go where nothing is played as flows or fluids.
    TimedFailures {
        /// Says what is played instead.
        played: &'static str,
    },
    /// Links between the switches of a dragonfly that come and go.
    TimedDragonfly,
    /// A job waits for GPUs that do not come back.
    NeverStarts {
        /// Names the job.
        job: String,
        /// Counts the GPUs asked for.
        size: usize,
    },
    /// The caller has ended the run.
    Interrupted {
        /// Counts the jobs finished by then.
        done: u64,
        /// Counts the jobs in all.
        total: u64,
    },
    /// Something would happen in the past or too late.
    #[error(transparent)]
    Engine(EngineError),
    /// A job whose iterations are too many to be played.
    TooManyIterations {
        /// Names the job.
        job: String,
        /// Counts its iterations.
        iterations: u64,
    },
    /// Collectives of a job that cannot be planned.
    Planning {
        /// Names the job.
        job: String,
        /// Says why not.
        fault: Box<PlanningFault>,
    },
    /// A job that has no fluid.
    NotFluid {
        /// Names the job.
        job: String,
    },
    /// The jobs are fluids whose collectives go by rule.
    NoFluid,
    /// The planner plans no collective, so that nothing says how much each link carries.
    NoPlan,
    /// A GPU that is to compute at its own speed, which is not known.
    UnknownSpeed {
        /// Names the server.
        server: String,
        /// Names the GPU.
        gpu: String,
        /// The numbers in which it is to compute.
        number: NumberType,
    },
    /// A job whose images are to be copied to a GPU without a host.
    NoHost {
        /// Names the job.
        job: String,
    },
    /// Buckets of gradients that would be too many.
    SmallBucket {
        /// Gives the bytes that one would hold.
        bucket: Bytes,
    },
    /// Programs that cannot be played.
    #[error(transparent)]
    Played(#[from] Box<ClusterError>),
    /// A workload that the table does not hold.
    #[error(transparent)]
    UnknownWorkload(#[from] UnknownWorkload),
    /// A network that cannot be trained.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// A mix of more jobs than are drawn.
    TooManyJobs {
        /// Counts the jobs asked for.
        count: u32,
    },
    /// A mix of jobs has no workloads to draw from.
    NoWorkloads {
        /// The names that exist.
        known: String,
    },
    /// A mix of jobs allows each job zero GPUs.
    NoGpus,
    /// A time that does not fit 64 bits of picoseconds.
    TimeTooLong {
        /// Names the late thing.
        what: String,
        /// Tells the user a remedy.
        remedy: &'static str,
    },
}

impl SimulationError {
    /// Of a job that ends beyond what is counted.
    pub(super) fn end_too_late(job: &str) -> Self {
        let what = format!("the end of job `{}`", shown(job));
        Self::TimeTooLong {
            what,
            remedy: "lower its iterations or its arrival, or play a part of a record by `jobs.days`",
        }
    }
}

impl Diagnose for SimulationError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Input(error) => error.diagnosis(),
            Self::Allocation(error) => error.diagnosis(),
            Self::JobTooLarge { job, size, gpus } => {
                Diagnosis::of(format!("job `{}` asks for {size} GPUs", shown(job)))
                    .remedy(format!("ask for at most {gpus}, the number of healthy GPUs"))
            }
            Self::JobOfServers { job, size, gpus } => Diagnosis::of(format!(
                "job `{}` asks for {size} GPUs, but no server has more than {gpus} healthy GPUs",
                shown(job)
            ))
            .remedy(
                "write `run_time = \"played\"`, since the formula has no links between servers",
            ),
            Self::TrainingOf { job, network, error } => {
                let Diagnosis { problem, remedy } = error.diagnosis();
                let problem = format!("job `{}`, which trains `{network}`: {problem}", shown(job));
                Diagnosis { problem, remedy }
            }
            Self::DuplicateJob { job } => {
                Diagnosis::of(format!("two jobs are named `{}`", shown(job)))
                    .remedy("give each job a name of its own")
            }
            Self::RunTooLong { job, bandwidth, iterations } => Diagnosis::of(format!(
                "job `{}` would run for more than 213 days ({iterations} iterations at \
                 {bandwidth})",
                shown(job)
            ))
            .remedy("use fewer iterations, or links with more bandwidth"),
            Self::TooManyToProfile { gpus } => Diagnosis::of(format!(
                "sensitivity can be measured on at most 16 GPUs, but this server has {gpus}"
            ))
            .remedy("write `sensitive` as `true` or `false`"),
            Self::NoFormula { job } => Diagnosis::of(format!(
                "job `{}` has no workload, so no formula gives its run time",
                shown(job)
            ))
            .remedy("write `run_time = \"played\"`"),
            Self::UnhealthyGpu { job, gpu } => Diagnosis::of(format!(
                "job `{}` asks for GPU {gpu}, which is not healthy",
                shown(job)
            ))
            .remedy("name another GPU, or write `gpus` so that a policy chooses"),
            Self::Part(error) => error.diagnosis(),
            Self::TimedFailures { played } => Diagnosis::of(format!(
                "parts cannot fail for a time with {played}, since routes do not change during the run"
            ))
            .remedy(
                "use `flow` or `fluid`, or leave out `from` and `to` so that the parts fail \
                all day",
            ),
            Self::TimedDragonfly => Diagnosis::of(
                "links between switches of a dragonfly cannot fail for a time, since its routes \
                 depend on load",
            )
            .remedy("leave out `from` and `to`, so that they fail all day"),
            Self::NeverStarts { job, size } => Diagnosis::of(format!(
                "job `{}` waits forever for {size} GPUs, since failed parts do not come back",
                shown(job)
            ))
            .remedy("give the failures an end with `to`, or ask for fewer GPUs"),
            Self::Interrupted { done, total } => {
                Diagnosis::of(format!("stopped after {done} of {total} jobs"))
            }
            Self::Engine(error) => error.diagnosis(),
            Self::TooManyIterations { job, iterations } => Diagnosis::of(format!(
                "job `{}` has {iterations} iterations, but a played job can have 1 to {}",
                shown(job),
                u32::MAX
            ))
            .remedy("use fewer iterations, or write `run_time = \"formula\"`"),
            Self::Planning { job, fault } => {
                fault.diagnosis().within(format_args!("job `{}`", shown(job)))
            }
            Self::NotFluid { job } => Diagnosis::of(format!(
                "job `{}` does not repeat an iteration, which `fluid` needs",
                shown(job)
            ))
            .remedy("use the fidelity `flow` or `packet`"),
            Self::NoFluid => Diagnosis::of(
                "`fluid` needs a plan of each job's traffic, which `mpi` does not make",
            )
            .remedy("use the fidelity `flow` or `packet`, or another planner"),
            Self::NoPlan => Diagnosis::of(
                "loads of links need a plan of each job's traffic, which `mpi` does not make",
            )
            .remedy("use another planner"),
            Self::UnknownSpeed { server, gpu, number: NumberType::Fp32 } => Diagnosis::of(format!(
                "the speed of `{}` of `{}` is not known",
                shown(gpu),
                shown(server)
            ))
            .remedy("name a known GPU model, or write `gpu_speed = \"reference\"`"),
            Self::UnknownSpeed { server, gpu, number } => Diagnosis::of(format!(
                "the speed of `{}` of `{}` in {} is not known",
                shown(gpu),
                shown(server),
                number.name()
            ))
            .remedy("write another `precision`, or `gpu_speed = \"reference\"`"),
            Self::NoHost { job } => Diagnosis::of(format!(
                "job `{}` copies images from its host, but one of its GPUs has no host",
                shown(job)
            ))
            .remedy("leave `host_copies` out, or use servers with CPUs"),
            Self::SmallBucket { bucket } => {
                Diagnosis::of(format!("a bucket of {bucket} is too small"))
                    .remedy(format!("give {LEAST_BUCKET} or more"))
            }
            Self::Played(error) => error.diagnosis(),
            Self::UnknownWorkload(error) => error.diagnosis(),
            Self::Training(error) => error.diagnosis(),
            Self::TooManyJobs { count } => Diagnosis::of(format!("a mix cannot have {count} jobs"))
                .remedy(format!("use 1 to {MOST_JOBS}")),
            Self::NoWorkloads { known } => Diagnosis::of("the mix has no workloads")
                .remedy(format!("name at least one of {known}")),
            Self::NoGpus => Diagnosis::of("the largest job of the mix cannot have 0 GPUs").remedy(
                "give 1 or \
                    more",
            ),
            Self::TimeTooLong { what, remedy } => {
                Diagnosis::of(format!("{what} lies more than 213 days after the start"))
                    .remedy(*remedy)
            }
        }
    }
}

impl From<ClusterError> for SimulationError {
    fn from(error: ClusterError) -> Self {
        Self::Played(Box::new(error))
    }
}

impl From<EngineError> for SimulationError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Interrupted(Progress { done, total, .. }) => {
                Self::Interrupted { done, total }
            }
            other => Self::Engine(other),
        }
    }
}
