//! Names whatever a setting needs of the rest of a scenario to count.
//!
//! An entry of [`SETTINGS`](super::SETTINGS) lists its own; where a scenario lacks one, a note says so.

use super::build::ReadyJobs;
use super::facts::Facts;
use super::mix::{JobSource, Mix};
use super::program_job::ProgramSource;
use crate::network::packet::arbiters;
use crate::network::pcie::PcieArbitration;
use crate::network::routing::{PROGRESSIVE, UGAL, VALIANT, routing_kinds};
use crate::simulation::played::GpuSpeed;
use crate::simulation::{Job, QueueDiscipline};

/// Says on what a setting depends. Notes come in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Messages are routed: those of `[jobs]` only as packets, and kernels' never.
    Routes,
    /// Jobs send messages: no formula stands for them.
    Played,
    /// A network joins servers.
    Fabric,
    /// Programs are played as packets.
    Packets,
    /// There are packets on the PCIe bus.
    BusPackets,
    /// Packets cross the PCIe bus, or flows whose deadlines a bound on waiting makes sure of.
    Bound,
    /// A server has PCIe.
    Pcie,
    /// The arbiter of the PCIe bus lets some go first.
    Order,
    /// The arbiter of the PCIe bus takes deadlines.
    Deadlines,
    /// Jobs copy from hosts, and none has a deadline of its own.
    SharedDeadline,
    /// The arbiter of the network takes priorities.
    Priority,
    /// The routing takes detours.
    Detours,
    /// The routing takes detours where queues are shorter.
    Weights,
    /// Nodes have several GPUs.
    LinksOfNodes,
    /// There are several servers.
    Servers,
    /// Messages are sent by MPI's protocol.
    Mpi,
    /// Collectives go by plans that are played as messages.
    Plans,
    /// NCCL chooses how collectives are played.
    Library,
    /// Some job runs a published workload.
    Workload,
    /// Networks are drawn, to be trained.
    Training,
    /// There is a job of `[jobs]` that trains layer by layer.
    Trains,
    /// There is such a job, or a net that computes at the own speed of GPUs.
    Numbers,
    /// A `[[job]]` runs a net at the own speed of GPUs.
    OwnNumbers,
    /// Some job computes as fast as its GPUs do.
    GpuTimes,
    /// `[jobs]` has jobs that train on memory which all GPUs share.
    SharedMemory,
    /// Jobs that wait may be let past others.
    Backfill,
    /// Some part of the system fails for a time.
    Failures,
    /// The jobs were recorded.
    Record,
    /// Some job has no mapping of its own.
    Mapping,
    /// Some job is a trace.
    Trace,
    /// Chance draws something.
    Chance,
}

impl Needs {
    /// Says why a setting that needs this counts for nothing; None where the scenario has it.
    pub(super) fn lacking(self, facts: &Facts<'_>) -> Option<&'static str> {
        (!self.is_met(facts)).then(|| self.why(facts))
    }

    fn is_met(self, facts: &Facts<'_>) -> bool {
        let network = &facts.scenario.network;
        let routing = facts.cluster.routing;
        match self {
            Self::Routes => facts.routes(),
            Self::Played => facts.fidelity().is_some(),
            Self::Fabric => facts.cluster.system.fabric().is_some(),
            Self::Packets | Self::BusPackets => facts.are_packets(),
            Self::Bound => {
                let of_messages = facts.mix().is_none() && !facts.are_kernels();
                facts.are_packets() || (of_messages && facts.bus(|it| it == PcieArbitration::Qos))
            }
            Self::Pcie => facts.has_pcie(),
            Self::Order => facts.bus(|it| it != PcieArbitration::RoundRobin),
            Self::Deadlines => facts.bus(|it| it == PcieArbitration::Qos),
            Self::SharedDeadline => {
                let copies = facts.mix().is_some_and(|mix| mix.choices.iteration.host_copies);
                match facts.programs() {
                    Some(programs) => programs.jobs.iter().all(|it| it.deadline.is_none()),
                    None => copies,
                }
            }
            // An arbiter that others registered may heed it.
            Self::Priority => {
                let name = network.arbitration.name();
                name == "priority" || arbiters().get(name).is_err()
            }
            Self::Detours => routing == VALIANT || Self::Weights.is_met(facts),
            Self::Weights => {
                let is_own = routing_kinds().get(routing.name()).is_ok();
                !is_own || routing == UGAL || routing == PROGRESSIVE
            }
            Self::LinksOfNodes => !network.servers.is_empty() || network.node.gpus > 1,
            Self::Servers => facts.cluster.system.servers() > 1,
            Self::Mpi => facts.sends_by_mpi(),
            Self::Plans => facts.plans_messages(),
            Self::Library => facts.asks_library(),
            Self::Workload => match facts.work {
                ReadyJobs::Mix(jobs) => jobs.iter().any(|job| job.samples_per_gpu.is_none()),
                ReadyJobs::Programs(_) => true,
            },
            Self::Training => match facts.mix() {
                Some(Mix { jobs: Some(JobSource::Generate(options, _)), .. }) => {
                    !options.train.is_empty()
                }
                _ => true,
            },
            Self::Trains => match facts.work {
                ReadyJobs::Mix(jobs) => jobs.iter().any(|job| job.samples_per_gpu.is_some()),
                ReadyJobs::Programs(_) => false,
            },
            Self::Numbers => {
                let own = |mix: &Mix| mix.choices.iteration.gpu_speed == GpuSpeed::Own;
                let is_net = |job: &Job| job.work().is_ok_and(|work| work.is_training());
                let are_nets = match facts.work {
                    ReadyJobs::Mix(jobs) => jobs.iter().any(is_net),
                    ReadyJobs::Programs(_) => false,
                };
                Self::Trains.is_met(facts) || are_nets && facts.mix().is_some_and(own)
            }
            Self::OwnNumbers => facts.programs().is_some_and(|it| {
                it.jobs.iter().any(|job| match &job.program {
                    ProgramSource::Workload(source) => source.has_numbers(),
                    _ => false,
                })
            }),
            Self::GpuTimes => {
                let trains = |source: &ProgramSource| matches!(source, ProgramSource::Training(_));
                let of_jobs = facts
                    .programs()
                    .is_some_and(|it| it.jobs.iter().any(|job| trains(&job.program)));
                of_jobs || Self::Numbers.is_met(facts) || Self::OwnNumbers.is_met(facts)
            }
            Self::SharedMemory => facts.mix().is_some_and(|mix| mix.trained.shares_memory()),
            Self::Backfill => {
                facts.mix().is_some_and(|it| it.choices.discipline == QueueDiscipline::Backfill)
            }
            Self::Failures => facts.scenario.failures.is_timed(),
            Self::Record => facts.is_record(),
            Self::Mapping => facts.programs().is_none_or(|it| {
                it.jobs.iter().any(|it| it.mapping.is_none() && it.demand.is_none())
            }),
            Self::Trace => facts.programs().is_some_and(|it| {
                it.jobs.iter().any(|job| matches!(job.program, ProgramSource::Trace { .. }))
            }),
            Self::Chance => facts.draws(),
        }
    }

    fn why(self, facts: &Facts<'_>) -> &'static str {
        let is_mix = facts.mix().is_some();
        match self {
            Self::Routes if is_mix => {
                "of `[jobs]` packets alone heed that (`fidelity = \"packet\"`)"
            }
            Self::Routes => {
                "connections, over which kernels send, are divided over the shortest ways"
            }
            Self::Played => "run times follow a formula, in which no message is sent",
            Self::Fabric => {
                "one server has no network, unless a kind, a file, `routing`, `nic` or \
                 `bandwidth_scale` is given"
            }
            Self::Packets | Self::BusPackets | Self::Bound => {
                "packets alone heed that (`fidelity = \"packet\"`)"
            }
            Self::Pcie => "no server has PCIe",
            Self::Order => "`pcie.arbitration = \"round-robin\"` takes all in turn",
            Self::Deadlines => "`pcie.arbitration = \"qos\"` alone heeds deadlines",
            Self::SharedDeadline if facts.programs().is_none() => {
                "nothing is copied from hosts; `jobs.host_copies = true` copies images"
            }
            Self::SharedDeadline => "there are jobs with a deadline of their own",
            Self::Priority => "`system.network.arbitration = \"priority\"` alone heeds priorities",
            Self::Detours => {
                "`valiant`, `ugal` and `progressive` alone heed that (`system.network.routing`)"
            }
            Self::Weights => "`ugal` and `progressive` alone heed that (`system.network.routing`)",
            Self::LinksOfNodes => "a node has one GPU, which no link joins to another",
            Self::Servers => "there is one server",
            Self::Mpi => {
                "collectives of `[jobs]` run as NCCL's, but as packets or by the planner `mpi`"
            }
            Self::Plans => "no collective goes by a plan whose messages are sent",
            Self::Library => "`collectives.planner = \"nccl\"` alone asks NCCL",
            Self::Workload => "every job trains a network layer by layer, on its own GPUs",
            Self::Training => "no network is drawn; `train` names some",
            Self::Trains => "no job of `[jobs]` trains layer by layer",
            Self::Numbers => {
                "no job of `[jobs]` trains layer by layer, and of others nets heed it with `jobs.gpu_speed = \"own\"`"
            }
            Self::OwnNumbers => "nets alone heed it, with `gpu_speed = \"own\"`",
            Self::GpuTimes => "no job trains layer by layer or computes at the own speed of GPUs",
            Self::SharedMemory => "`jobs.communication = \"tsm\"` alone shares memory",
            Self::Backfill => {
                "`queue.discipline = \"backfill\"` alone heeds how long jobs run at most"
            }
            Self::Failures => "no part fails for a time; `[[failure]]` says what does",
            Self::Record => "the file lists jobs, and not when each ran",
            Self::Mapping => "every job has a mapping of its own",
            Self::Trace => "no `[[job]]` has a `trace`",
            Self::Chance => "nothing is drawn by chance",
        }
    }
}
