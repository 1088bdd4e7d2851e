//! Tells of a scenario whatever its settings need of each other.

use super::build::ReadyJobs;
use super::files::{Files, text_of};
use super::mix::{JobSource, Mix};
use super::program_job::{JobEntry, ScenarioMapping};
use super::programs::Programs;
use super::read::{Asked, Scenario};
use crate::network::pcie::PcieArbitration;
use crate::network::routing::{DIMENSION_ORDER, SHORTEST_PATH, STATIC};
use crate::simulation::PlannedBy;
use crate::simulation::RunTime;
use crate::simulation::cluster::{Cluster, CollectiveMethod, Fidelity, Mapping};
use crate::simulation::played::PlannerChoice;

/// Holds a scenario, and the system and jobs that were made of it and its files.
pub(super) struct Facts<'a> {
    pub scenario: &'a Scenario,
    pub cluster: &'a Cluster,
    pub work: &'a ReadyJobs,
    pub files: &'a Files,
}

impl Facts<'_> {
    pub const fn mix(&self) -> Option<&Mix> {
        match &self.scenario.asked {
            Asked::Mix(mix) => Some(mix),
            Asked::Programs(_) => None,
        }
    }

    pub const fn programs(&self) -> Option<&Programs> {
        match &self.scenario.asked {
            Asked::Mix(mix) => mix.written.as_ref(),
            Asked::Programs(programs) => Some(programs),
        }
    }

    /// Tells how closely messages are simulated; None where a formula stands for them.
    pub fn fidelity(&self) -> Option<Fidelity> {
        match self.mix() {
            None => Some(self.scenario.network.fidelity),
            Some(mix) => (mix.choices.run_time == RunTime::Played).then_some(mix.choices.fidelity),
        }
    }

    pub fn are_packets(&self) -> bool {
        self.fidelity() == Some(Fidelity::Packet)
    }

    pub fn are_kernels(&self) -> bool {
        self.mix().is_none() && self.scenario.network.collectives.are_kernels()
    }

    /// Whether messages are routed: those of `[jobs]` only as packets, and kernels' never.
    pub fn routes(&self) -> bool {
        if self.mix().is_some() { self.are_packets() } else { !self.are_kernels() }
    }

    /// Whether something is said of the PCIe bus, and its arbiter is as asked.
    pub fn bus(&self, is: impl Fn(PcieArbitration) -> bool) -> bool {
        self.scenario.network.packets.pcie.is_some_and(|bus| is(bus.arbitration))
    }

    pub fn has_pcie(&self) -> bool {
        let mut links = self.cluster.system.kinds().iter().flat_map(|kind| kind.server().links());
        links.any(|link| link.kind.is_pcie())
    }

    /// Whether messages are sent by MPI's protocol.
    pub fn sends_by_mpi(&self) -> bool {
        self.mix().is_none_or(|mix| match self.fidelity() {
            Some(Fidelity::Packet) => true,
            Some(Fidelity::Flow) => mix.choices.planner == PlannerChoice::Mpi,
            Some(Fidelity::Fluid) | None => false,
        })
    }

    /// Whether collectives may go by plans that are played as messages.
    pub fn plans_messages(&self) -> bool {
        if let Some(mix) = self.mix() {
            return self.are_packets() && mix.choices.planner != PlannerChoice::Mpi;
        }
        let choices = &self.scenario.network.collectives;
        let is_chosen = || choices.chosen.values().any(|it| *it == CollectiveMethod::Planned);
        !choices.are_kernels() && (choices.only_planner().is_some() || is_chosen())
    }

    /// Whether NCCL itself chooses how some collective is played.
    pub fn asks_library(&self) -> bool {
        let is_library = |planner| matches!(planner, PlannerChoice::Plan(PlannedBy::Library(_)));
        let choices = &self.scenario.network.collectives;
        let of_kernels =
            choices.are_kernels() && is_library(PlannerChoice::Plan(choices.kernels_by()));
        of_kernels || self.mix().is_some_and(|mix| is_library(mix.choices.planner))
    }

    /// Whether the jobs are those of a file that says how long each ran.
    pub fn is_record(&self) -> bool {
        let Some(Mix { jobs: Some(JobSource::File(file)), .. }) = self.mix() else { return false };
        let text = text_of(&self.scenario.file, file, self.files);
        let reads = |text: &str| self.mix().is_some_and(|mix| mix.reads_as_record(text));
        text.is_ok_and(reads)
    }

    /// Whether chance draws the jobs, their GPUs or the ways of their messages.
    pub fn draws(&self) -> bool {
        let own_seed = self.scenario.written.has("jobs.generate.seed");
        let draws_jobs = match self.mix().and_then(|mix| mix.jobs.as_ref()) {
            // Days of a file are drawn from it where several seeds are compared.
            Some(JobSource::File(_)) => true,
            Some(JobSource::Generate(..)) => !own_seed,
            None => false,
        };
        let draws_gpus = self.programs().is_some_and(|Programs { jobs, mapping }| {
            let of_job = |job: &JobEntry| match job.mapping.as_ref().unwrap_or(mapping) {
                ScenarioMapping::Given(Mapping::Rule(rule)) => job.demand.is_none() && rule.draws(),
                ScenarioMapping::Given(Mapping::Gpus(_)) | ScenarioMapping::File(_) => false,
            };
            jobs.iter().any(of_job)
        });
        let kind = self.cluster.routing;
        let fixed = [STATIC, DIMENSION_ORDER, SHORTEST_PATH];
        let has_ways = self.cluster.system.fabric().is_some() && !fixed.contains(&kind);
        draws_jobs || draws_gpus || (has_ways && self.routes())
    }
}
