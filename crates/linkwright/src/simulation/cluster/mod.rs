//! Plays jobs on a cluster: programs of many ranks over servers on a fabric.
//!
//! A [`Cluster`] describes the system. [`Cluster::replay`] plays jobs on it, with the packet model
//! or the flow model, or with collectives as kernels over flows. It returns the results of the jobs
//! and of each channel. [`tables`] makes columns of them.

mod collectives;
mod deadlines;
mod failures;
mod gpu_kernel;
mod inside;
mod job;
mod kernel_pairs;
mod kernels;
mod latencies;
pub mod links;
mod load;
mod notes;
pub mod parts;
mod placed_program;
mod placement;
mod stand_ins;
mod stays;
pub mod tables;
mod watch;

use std::sync::Arc;

use thiserror::Error;

pub(in crate::simulation) use collectives::{ClusterLowering, Opening, Planned};
use deadlines::with_deadlines;
pub use failures::{Failure, MOST_FAILURES, SystemFailures};

use crate::diagnostic::{Chosen, Diagnose, Diagnosis, Named, shown};
use crate::engine::Hook;
use crate::network::packet::{
    Arbitration, ChannelStatistics, NicPolicy, PacketTrace, SettingsError,
};
use crate::network::routing::{AnyRouting, Nowhere, RoutingError, RoutingKind, TableRouting};
use crate::network::{
    CountsLoads, FlowTransport, LinkLoads, PacketNetwork, PacketSettings, Sampled,
};
use crate::runtime::{
    MpiProtocol, Observer, Outcome, PreparedGpuKernel, ProgramJob, Runtime, RuntimeError, validate,
};
use crate::system::System;
use crate::system::fabric::{ChannelId, RoutingTables};

pub use collectives::{
    CollectiveChoices, CollectiveMethod, CollectiveMethodError, CollectiveProtocol,
    MOST_PACKED_GPUS, MOST_PLANNED_GPUS, PlannedCollective, PlanningError, PlanningProblem,
};
pub use gpu_kernel::{ClusterKernel, KernelChoices, KernelSource};
pub use inside::inside_of;
pub use job::ClusterJob;
pub use latencies::Latencies;
pub use load::{TrafficError, TrafficOutcome};
pub use placed_program::{PlacedProgramError, placed_program};
pub use placement::{Mapping, MappingRule, PlacementError, place};
pub use stand_ins::StandIns;
pub use stays::{RegionInterval, Stays};
pub use watch::{ComputationInterval, CopyInterval, KernelInterval, MessageInterval, Watch};

/// How closely the network is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fidelity {
    /// It goes packet by packet: [`PacketNetwork`].
    #[default]
    Packet,
    /// Messages are fluids: [`FlowTransport`].
    Flow,
    /// Jobs are fluids, and each has a rate of iterations: [`played`](super::played). Programs that
    /// are played from end to end have no such model.
    Fluid,
}

impl Named for Fidelity {
    const WHAT: &'static str = "fidelity";
    const NAMED: &'static [(&'static str, Self)] =
        &[("packet", Self::Packet), ("flow", Self::Flow), ("fluid", Self::Fluid)];
}

/// Holds a job's kernel, ready for its GPUs, if the job has one.
type PreparedKernel = Option<Box<dyn PreparedGpuKernel>>;

/// Describes a system that jobs run on.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The servers, the fabric and what joins them.
    pub system: Arc<System>,
    /// Holds packets, buffers and delays.
    pub settings: PacketSettings,
    /// Says which way packets go.
    pub routing: &'static dyn RoutingKind,
    /// Tells whether nobody chose that.
    pub routing_is_default: bool,
    /// Tables that packets follow whatever the routing says.
    pub tables: Option<RoutingTables>,
    /// Which message a network interface sends first.
    pub nic: NicPolicy,
    /// Which packet a channel takes first.
    pub arbitration: &'static dyn Arbitration,
    /// Gives the software costs of messages.
    pub protocol: MpiProtocol,
    /// Says how collectives become messages.
    pub collectives: CollectiveChoices,
    /// How closely the network is simulated.
    pub fidelity: Fidelity,
    /// Names the parts that the system lacks, and those that fail.
    pub failures: SystemFailures,
}

/// Holds the results of the jobs and of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOutcome {
    /// Holds the results of the jobs and their ranks.
    pub jobs: Outcome,
    /// Lists the collectives that went by plans, in the order of jobs and communicators.
    pub planned: Vec<PlannedCollective>,
    /// Gives the load of each channel of the fabric, by its index.
    pub channels: Vec<ChannelStatistics>,
    /// Gives the load of each channel within a server that carried anything, by its number in the
    /// system.
    pub inside: Vec<(ChannelId, ChannelStatistics)>,
    /// Counts the events that the network's model handled.
    pub events: u64,
    /// Counts how many times a packet crossed a channel; zero in the flow model.
    pub packet_hops: u64,
    /// Holds the loads of channels over time.
    pub loads: LinkLoads,
}

/// A run that cannot be had.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum ClusterError {
    /// Settings of the network that are out of range.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A routing that the fabric cannot have.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// Kernels over a network of packets, on which no connection can be opened.
    KernelsAsPackets,
    /// A collective that cannot be planned as asked.
    #[error(transparent)]
    Planning(#[from] PlanningError),
    /// Jobs that cannot run, or do not come to an end.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// Programs as fluids.
    NotFluid,
    /// A job runs a kernel in GPUs' memory over a network without packets.
    KernelNotPackets {
        /// Names the job.
        job: String,
        /// Says how the network is simulated.
        fidelity: Fidelity,
    },
    /// A job runs a kernel in GPUs' memory beside a PCIe bus with classes of traffic.
    KernelOverBus {
        /// Names the job.
        job: String,
    },
    /// A kernel that cannot run on its GPUs.
    Kernel {
        /// Names the job.
        job: String,
        /// Says why, with a remedy.
        told: Diagnosis,
    },
}

impl Diagnose for ClusterError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Settings(error) => error.diagnosis(),
            Self::Routing(error) => error.diagnosis(),
            Self::Planning(error) => error.diagnosis(),
            Self::Runtime(error) => error.diagnosis(),
            Self::KernelsAsPackets => {
                Diagnosis::of("the protocol `nccl` of collectives needs the fidelity `flow`")
                    .remedy("use the fidelity `flow`, or the protocol `mpi` for collectives")
            }
            Self::KernelNotPackets { job, fidelity } => Diagnosis::of(format!(
                "the kernel of job `{}` needs the fidelity `packet`, not `{}`",
                shown(job),
                fidelity.name()
            ))
            .remedy("use `packet`"),
            Self::KernelOverBus { job } => Diagnosis::of(format!(
                "the kernel of job `{}` cannot go with `[pcie]`, since both set virtual channels",
                shown(job)
            ))
            .remedy("leave out the kernel or `[pcie]`"),
            Self::Kernel { job, told } => told.clone().within(format!("job `{}`", shown(job))),
            Self::NotFluid => {
                Diagnosis::of("programs do not repeat an iteration, which `fluid` needs")
                    .remedy("use `packet` or `flow`")
            }
        }
    }
}

impl Cluster {
    /// How many GPUs there are.
    #[must_use]
    pub fn gpus(&self) -> u32 {
        self.system.gpus()
    }

    /// The routing in the fabric; a lone server has nowhere to route to.
    pub(super) fn routing(&self) -> Result<AnyRouting, RoutingError> {
        match (self.system.fabric(), &self.tables) {
            (None, _) => Ok(AnyRouting::of(Nowhere)),
            (Some(fabric), None) => AnyRouting::new(self.routing, fabric, self.settings.seed),
            (Some(fabric), Some(tables)) => Ok(AnyRouting::of(TableRouting::new(fabric, tables)?)),
        }
    }

    /// Plays jobs to their ends; the hook learns how far the run is and may end it.
    ///
    /// # Errors
    /// Refuses settings out of range, a routing for another network, and a collective that cannot
    /// be planned as asked. It fails for jobs that do not fit or do not come to an end, and for a
    /// network that is stuck. It fails for a run that the hook ended.
    pub fn replay(
        &self,
        jobs: &[ProgramJob],
        observer: &mut impl Observer,
        hook: Hook<'_>,
    ) -> Result<ClusterOutcome, ClusterError> {
        self.replay_traced(jobs, observer, &mut None, hook)
    }

    /// Plays jobs as [`Self::replay`] does, and records what packets do in a trace, if there is one and
    /// the network has packets.
    ///
    /// # Errors
    /// Fails as [`Self::replay`] does.
    pub fn replay_traced(
        &self,
        jobs: &[ProgramJob],
        observer: &mut impl Observer,
        trace: &mut Option<PacketTrace>,
        hook: Hook<'_>,
    ) -> Result<ClusterOutcome, ClusterError> {
        let given = with_deadlines(jobs, self.settings.pcie.as_ref());
        let jobs = given.as_deref().unwrap_or(jobs);
        let routing = self.routing()?;
        let kernels = self.prepared_kernels(jobs)?;
        if self.collectives.are_kernels() {
            return match self.fidelity {
                Fidelity::Packet => Err(ClusterError::KernelsAsPackets),
                Fidelity::Fluid => Err(ClusterError::NotFluid),
                Fidelity::Flow => self.replay_kernels(jobs, observer, hook),
            };
        }
        let planned = Planned::new(self, jobs, None, hook)?;
        match self.fidelity {
            Fidelity::Packet => {
                let has_kernels = kernels.iter().any(Option::is_some);
                let make =
                    if has_kernels { PacketNetwork::for_kernels } else { PacketNetwork::new };
                let mut network =
                    make(&self.system, self.settings, routing, self.nic, self.arbitration)?;
                if let Some(trace) = trace.take() {
                    network = network.with_trace(trace);
                }
                let (jobs, loads) =
                    self.play(&mut network, (jobs, &kernels), &planned, observer, hook)?;
                *trace = network.take_trace();
                Ok(ClusterOutcome {
                    events: jobs.events,
                    jobs,
                    planned: planned.into_list(),
                    channels: network.statistics(),
                    inside: network.inside_statistics(),
                    packet_hops: network.packet_hops(),
                    loads,
                })
            }
            Fidelity::Fluid => Err(ClusterError::NotFluid),
            Fidelity::Flow => {
                let mut network =
                    FlowTransport::new(&self.system, self.settings, routing, self.nic)?;
                let (jobs, loads) =
                    self.play(&mut network, (jobs, &[]), &planned, observer, hook)?;
                Ok(ClusterOutcome {
                    events: jobs.events,
                    jobs,
                    planned: planned.into_list(),
                    channels: network.statistics(),
                    inside: network.inside_statistics(),
                    packet_hops: 0,
                    loads,
                })
            }
        }
    }

    /// Makes the kernels of jobs ready for their GPUs.
    fn prepared_kernels(&self, jobs: &[ProgramJob]) -> Result<Vec<PreparedKernel>, ClusterError> {
        let prepared = |job: &ProgramJob| {
            let Some(kernel) = &job.kernel else { return Ok(None) };
            let name = || job.name.clone();
            validate(job, self.gpus())?;
            if self.fidelity != Fidelity::Packet {
                let fidelity = self.fidelity;
                return Err(ClusterError::KernelNotPackets { job: name(), fidelity });
            }
            if self.settings.pcie.is_some() {
                return Err(ClusterError::KernelOverBus { job: name() });
            }
            let prepared = kernel.prepare(&self.system, &job.mapping);
            prepared.map(Some).map_err(|told| ClusterError::Kernel { job: name(), told })
        };
        jobs.iter().map(prepared).collect()
    }

    fn play<T: CountsLoads>(
        &self,
        network: &mut T,
        (jobs, kernels): (&[ProgramJob], &[PreparedKernel]),
        planned: &Planned,
        observer: &mut impl Observer,
        hook: Hook<'_>,
    ) -> Result<(Outcome, LinkLoads), RuntimeError> {
        let mut network = Sampled::new(network);
        let lowering = ClusterLowering { choices: &self.collectives, planned };
        let gpus = self.gpus();
        let runtime =
            Runtime::observed(&mut network, gpus, jobs, self.protocol, lowering, observer)?;
        let runtime = runtime.with_kernels(kernels.iter().map(Option::as_deref).collect());
        let outcome = match self.collectives.own_protocol {
            Some(Chosen(own)) => runtime.with_protocol(own.begin()).run(hook),
            None => runtime.run(hook),
        }?;
        let end = outcome.jobs.iter().map(|job| job.end).max().unwrap_or_default();
        Ok((outcome, network.finished(end)))
    }
}
