//! The collectives of a day: those of workloads by the planner of all, and those of programs as `[collectives]` says.

use super::plans::{Carries, OWN, Plans};
use crate::engine::Hook;
use crate::network::Routes;
use crate::program::kernel::KernelCall;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, CommunicatorId, RankProgram};
use crate::runtime::ProgramJob;
use crate::simulation::cluster::{Cluster, ClusterError, ClusterLowering, Planned};

/// Answers a runtime when a rank of a day's job reaches a collective.
pub(super) struct DayLowering<'a> {
    pub(super) plans: Plans<'a>,
    cluster: &'a Cluster,
    /// Holds the plans of programs, by the index of their jobs in the runtime.
    planned: Planned,
}

impl<'a> DayLowering<'a> {
    pub(super) fn new(plans: Plans<'a>, cluster: &'a Cluster) -> Self {
        Self { plans, cluster, planned: Planned::default() }
    }

    /// Makes plans for a state of the system from now on.
    pub(super) fn enter(&mut self, (state, cluster): (usize, &'a Cluster), routes: &'a Routes<'a>) {
        self.cluster = cluster;
        self.plans.enter(state, routes);
    }

    /// Plans what a program calls that is the next to be admitted, with that index in the runtime.
    pub(super) fn admit_program<'r>(
        &mut self,
        (index, job): (u32, &ProgramJob),
        (network, routes): (&mut impl Carries<'r>, Option<&'r Routes<'r>>),
        hook: Hook<'_>,
    ) -> Result<(), ClusterError> {
        let kernels = self.cluster.collectives.are_kernels();
        let mut opening = routes.filter(|_| kernels).and_then(|routes| network.opening(routes));
        self.planned.add(self.cluster, (index, job), opening.as_mut(), hook)?;
        self.plans.admit(OWN);
        Ok(())
    }

    fn of_programs(&self) -> ClusterLowering<'_> {
        ClusterLowering { choices: &self.cluster.collectives, planned: &self.planned }
    }
}

/// The same call as programs' own plans know it, if it is of a program.
fn of_program(call: &CollectiveCall) -> Option<CollectiveCall> {
    let variant = call.variant.checked_sub(OWN)?;
    Some(CollectiveCall { variant, ..*call })
}

impl Lowering for DayLowering<'_> {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        match of_program(call) {
            Some(own) => self.of_programs().lower(&own),
            None => self.plans.lower(call),
        }
    }

    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        match of_program(call) {
            Some(own) => self.of_programs().part(&own, from),
            None => self.plans.part(call, from),
        }
    }

    fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
        match of_program(call) {
            Some(own) => self.of_programs().kernel(&own),
            None => self.plans.kernel(call),
        }
    }

    fn variant(
        &self,
        job: u32,
        communicator: CommunicatorId,
        kind: CollectiveKind,
        root: u32,
    ) -> u32 {
        match self.plans.variant(job, communicator, kind, root) {
            OWN => OWN + self.of_programs().variant(job, communicator, kind, root),
            of_workload => of_workload,
        }
    }
}
