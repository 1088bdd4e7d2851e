//! The plans of jobs' collectives, made when a job is admitted and shared by class of allocation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use super::allocations::{AllocationPlan, AllocationPlans};
use super::host_ways;
use super::loads::{ChannelLoads, add, of_schedule};
use crate::collectives::baselines::{ExpectError, Version};
use crate::collectives::messages::MessageSchedule;
use crate::collectives::mpi;
use crate::collectives::plan::{PlanError, Planner};
use crate::collectives::schedule::Schedule;
use crate::collectives::time::{LoweredSchedule, TimeError, protocol_of};
use crate::diagnostic::{Diagnose, Diagnosis, Registry, UnknownName, instead_of};
use crate::network::routing::Routing;
use crate::network::{
    ChannelShares, ConnectionIndex, Connections, CountsLoads, GpuSite, PacketNetwork, ResourceId,
    Routes, Sampled, Transport,
};
use crate::program::kernel::{Kernel, KernelCall};
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, CommunicatorId, RankProgram};
use crate::simulation::cluster::Opening;
use crate::simulation::offers::PlannedBy;
use crate::simulation::queue::Part;
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::units::Bytes;

/// Numbers the variant of a job whose collectives take no plan.
const BY_RULE: u32 = 0;

/// The first variant of jobs that run programs of their own, which are planned for elsewhere.
pub(super) const OWN: u32 = 1 << 31;

/// How the collectives of jobs are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannerChoice {
    /// It goes by plans for the GPUs that a job got.
    Plan(PlannedBy),
    /// MPI's algorithm for the size, which knows nothing of the links.
    Mpi,
}

impl PlannerChoice {
    /// Names [`PlannerChoice::Mpi`].
    const MPI: &'static str = "mpi";

    /// The names of all, of these planners.
    #[must_use]
    pub fn names(planners: &Registry<dyn Planner>) -> Vec<&'static str> {
        let others = [PlannedBy::LIBRARY, PlannedBy::FASTEST, Self::MPI];
        planners.names().into_iter().chain(others).collect()
    }

    /// Returns the choice of a name, of these planners.
    ///
    /// # Errors
    /// A name that none has.
    pub fn named(name: &str, planners: &Registry<dyn Planner>) -> Result<Self, UnknownName> {
        match name {
            Self::MPI => return Ok(Self::Mpi),
            PlannedBy::LIBRARY => return Ok(Self::Plan(PlannedBy::Library(None))),
            PlannedBy::FASTEST => return Ok(Self::Plan(PlannedBy::Fastest)),
            _ => {}
        }
        let instead = || instead_of(name, &Self::names(planners));
        planners
            .get(name)
            .map(|planner| Self::Plan(PlannedBy::Planner(planner)))
            .map_err(|error| UnknownName { instead: instead(), ..error })
    }

    /// The same, by the rules of a release of NCCL where NCCL chooses itself.
    #[must_use]
    pub fn in_release(self, release: Option<Version>) -> Self {
        match self {
            Self::Plan(PlannedBy::Library(_)) => Self::Plan(PlannedBy::Library(release)),
            other => other,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan(by) => by.name(),
            Self::Mpi => Self::MPI,
        }
    }
}

/// A plan that cannot be had.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanningFault {
    /// GPUs or links that the planner cannot use.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A schedule that does not run.
    #[error(transparent)]
    Schedule(#[from] TimeError),
    /// The GPUs of a layout's group have no links.
    #[error(transparent)]
    Exchange(#[from] ExpectError),
}

impl Diagnose for PlanningFault {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Plan(error) => error.diagnosis(),
            Self::Schedule(error) => error.diagnosis(),
            Self::Exchange(error) => error.diagnosis(),
        }
    }
}

/// A network that jobs are played on.
pub(super) trait Carries<'r>: Transport {
    /// Opens the connections of a schedule and returns the first; None where the network takes
    /// messages alone.
    fn open(&mut self, schedule: &LoweredSchedule) -> Option<ConnectionIndex>;

    /// Where kernels of programs open theirs; None where the network takes messages alone.
    fn opening(&mut self, routes: &'r Routes<'r>) -> Option<Opening<'_, 'r>>;

    /// Finds the channels of resources; None where the network takes messages alone.
    fn channel_shares(&self) -> Option<&ChannelShares>;

    /// Lets messages of their own take these routes from now on, where the network takes such.
    fn reroute(&mut self, routes: &'r Routes<'r>);
}

impl<'r, T: Carries<'r> + CountsLoads> Carries<'r> for Sampled<'_, T> {
    fn open(&mut self, schedule: &LoweredSchedule) -> Option<ConnectionIndex> {
        self.network.open(schedule)
    }

    fn opening(&mut self, routes: &'r Routes<'r>) -> Option<Opening<'_, 'r>> {
        self.network.opening(routes)
    }

    fn channel_shares(&self) -> Option<&ChannelShares> {
        self.network.channel_shares()
    }

    fn reroute(&mut self, routes: &'r Routes<'r>) {
        self.network.reroute(routes);
    }
}

impl<'r> Carries<'r> for Connections<'r> {
    fn open(&mut self, schedule: &LoweredSchedule) -> Option<ConnectionIndex> {
        Some(schedule.open(self))
    }

    fn opening(&mut self, routes: &'r Routes<'r>) -> Option<Opening<'_, 'r>> {
        Some(Opening { network: self, routes })
    }

    fn channel_shares(&self) -> Option<&ChannelShares> {
        self.shares()
    }

    fn reroute(&mut self, routes: &'r Routes<'r>) {
        Connections::reroute(self, routes);
    }
}

impl<'r, R: Routing> Carries<'r> for PacketNetwork<'_, R> {
    fn open(&mut self, _: &LoweredSchedule) -> Option<ConnectionIndex> {
        None
    }

    fn opening(&mut self, _: &'r Routes<'r>) -> Option<Opening<'_, 'r>> {
        None
    }

    fn channel_shares(&self) -> Option<&ChannelShares> {
        None
    }

    /// Packets find their way by themselves, over a system that stays as it is.
    fn reroute(&mut self, _: &'r Routes<'r>) {}
}

/// Holds a plan as a job's ranks play it.
enum Form {
    /// Serves NCCL's protocol, over these links, ascending, with the loads of channels.
    Kernel(KernelCall, Box<[ResourceId]>, ChannelLoads),
    /// Serves MPI's.
    Messages(MessageSchedule),
}

/// Holds the GPUs of a job by their ids in the system, in the order of its ranks, and its variant.
pub(super) type Planned = (Arc<[usize]>, u32);

/// Holds the variant of GPUs in the order of ranks.
type KnownVariants = BTreeMap<Arc<[usize]>, u32>;

/// The plans that have been made, and the one of each job.
pub(super) struct Plans<'r> {
    planner: PlannerChoice,
    routes: Option<&'r Routes<'r>>,
    /// Limits the size of one transfer or message.
    longest: Bytes,
    plans: AllocationPlans,
    /// Gives the variant of GPUs in the order of ranks.
    known: KnownVariants,
    /// Numbers the state of the system that these are for.
    state: usize,
    /// Keeps the same of other states.
    of_state: BTreeMap<usize, (AllocationPlans, KnownVariants)>,
    /// Of each variant, the plan for a size, ascending; most have few.
    forms: Vec<Vec<(Bytes, Form)>>,
    /// The kernels of all forms, by their ranks and steps: a day has many variants, of few kernels.
    kernels: BTreeMap<(u32, usize), Vec<Arc<Kernel>>>,
    /// Gives the variant of each admitted job.
    of_job: Vec<u32>,
}

impl<'r> Plans<'r> {
    /// No plan yet. Networks that open connections do so on these routes.
    pub(super) fn new(
        planner: PlannerChoice,
        routes: Option<&'r Routes<'r>>,
        longest: Bytes,
    ) -> Self {
        let by = planned_by(planner);
        Self {
            planner,
            routes,
            longest,
            plans: AllocationPlans::new(by),
            known: BTreeMap::new(),
            state: 0,
            of_state: BTreeMap::new(),
            forms: Vec::new(),
            kernels: BTreeMap::new(),
            of_job: Vec::new(),
        }
    }

    /// Where connections are opened, if they are.
    pub(super) const fn routes(&self) -> Option<&'r Routes<'r>> {
        self.routes
    }

    /// How many plans were made.
    pub(super) fn made(&self) -> usize {
        self.plans.made() + self.of_state.values().map(|(plans, _)| plans.made()).sum::<usize>()
    }

    /// Makes plans for a state of the system from now on, over its routes.
    pub(super) fn enter(&mut self, state: usize, routes: &'r Routes<'r>) {
        let by = planned_by(self.planner);
        let others = self.of_state.remove(&state);
        let (plans, known) = others.unwrap_or_else(|| (AllocationPlans::new(by), BTreeMap::new()));
        let before =
            (std::mem::replace(&mut self.plans, plans), std::mem::replace(&mut self.known, known));
        self.of_state.insert(std::mem::replace(&mut self.state, state), before);
        self.routes = Some(routes);
    }

    /// Plans all-reduces of these sizes for what a job got, as far as nobody has before.
    pub(super) fn of_allocation(
        &mut self,
        network: &mut impl Carries<'r>,
        system: &System,
        parts: &[Part],
        sizes: impl Iterator<Item = Bytes>,
    ) -> Result<Planned, PlanningFault> {
        let one = [parts.len(), parts[0].chosen.placement.len()] == [1, 1];
        if one || self.planner == PlannerChoice::Mpi {
            return Ok((as_placed(system, parts), BY_RULE));
        }
        let ranks = self.plans.ranks(system, parts);
        let variant = *self.known.entry(Arc::clone(&ranks.gpus)).or_insert_with(|| {
            self.forms.push(Vec::new());
            self.forms.len() as u32
        });
        for size in sizes {
            if self.form_of(variant, size).is_none() {
                let planned = self.plans.of(system, &ranks, size)?;
                let AllocationPlan { schedule, pieces, .. } = planned;
                let form = self.form(network, system, schedule, (size, pieces))?;
                let forms = &mut self.forms[variant as usize - 1];
                let at = forms.partition_point(|(known, _)| *known < size);
                forms.reserve_exact(1);
                forms.insert(at, (size, form));
            }
        }
        Ok((ranks.gpus, variant))
    }

    /// The plan of a variant that is one, for a size.
    fn form_of(&self, variant: u32, size: Bytes) -> Option<&Form> {
        let forms = self.forms.get(variant.checked_sub(1)? as usize)?;
        let at = forms.binary_search_by_key(&size, |(known, _)| *known).ok()?;
        Some(&forms[at].1)
    }

    /// A call of the kernel that is kept, where one is like its own.
    fn shared(&mut self, call: KernelCall) -> KernelCall {
        let place = (call.kernel.ranks(), call.kernel.steps.len());
        let known = self.kernels.entry(place).or_default();
        if let Some(like) = known.iter().find(|known| **known == call.kernel) {
            return KernelCall { kernel: Arc::clone(like), ..call };
        }
        known.push(Arc::clone(&call.kernel));
        call
    }

    fn form(
        &mut self,
        network: &mut impl Carries<'r>,
        system: &System,
        schedule: Schedule,
        (size, pieces): (Bytes, u64),
    ) -> Result<Form, PlanningFault> {
        if let Some(routes) = self.routes {
            let protocol = protocol_of(&schedule, system)?;
            let lowered = LoweredSchedule::new(&schedule, routes, &protocol)?;
            if let Some(first) = network.open(&lowered) {
                let call = self.shared(lowered.call_in_pieces(size, pieces, first));
                let links: BTreeSet<ResourceId> = lowered.links().collect();
                let shares = network.channel_shares();
                let loads = shares.map(|shares| of_schedule(&lowered, size, shares));
                let (links, loads) = (links.into_iter().collect(), loads.unwrap_or_default());
                return Ok(Form::Kernel(call, links, loads));
            }
        }
        Ok(Form::Messages(MessageSchedule::new(schedule)?.on_its_ways(system)))
    }

    /// Returns the links on which a job of a variant reduces data of this size by kernels. It adds
    /// the links over which images come from the hosts of its GPUs, if they do. It returns None
    /// where a GPU has no host.
    pub(super) fn links(
        &self,
        variant: u32,
        sizes: impl Iterator<Item = Bytes>,
        sites: impl Iterator<Item = GpuSite>,
    ) -> Option<BTreeSet<ResourceId>> {
        let mut links = BTreeSet::new();
        for size in sizes {
            if let Some(Form::Kernel(_, used, _)) = self.form_of(variant, size) {
                links.extend(used.iter().copied());
            }
        }
        let ways = host_ways(sites, self.routes?)?;
        links.extend(ways.iter().flat_map(|way| way.uses.iter().map(|(link, _)| *link)));
        Some(links)
    }

    /// Adds the loads of buckets that a job of a variant reduces by kernels.
    pub(super) fn add_loads(
        &self,
        variant: u32,
        sizes: impl Iterator<Item = Bytes>,
        loads: &mut BTreeMap<ChannelId, f64>,
    ) {
        for size in sizes {
            if let Some(Form::Kernel(.., of_size)) = self.form_of(variant, size) {
                add(of_size, loads);
            }
        }
    }

    /// The next job that is admitted has this variant.
    pub(super) fn admit(&mut self, variant: u32) {
        self.of_job.push(variant);
    }
}

impl Lowering for Plans<'_> {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        match self.form_of(call.variant, call.size) {
            Some(Form::Messages(plan)) => {
                plan.program(call.index as usize, call.size, self.longest)
            }
            Some(Form::Kernel(..)) | None => rule_of(call).lower(call),
        }
    }

    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        match call.variant {
            BY_RULE => rule_of(call).part(call, from),
            _ => (self.lower(call), None),
        }
    }

    fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
        let Form::Kernel(kernel, ..) = self.form_of(call.variant, call.size)? else { return None };
        Some(kernel.clone())
    }

    fn variant(&self, job: u32, _: CommunicatorId, _: CollectiveKind, _: u32) -> u32 {
        self.of_job[job as usize]
    }
}

/// Lists the GPUs in the order in which the policy placed them.
pub(super) fn as_placed(system: &System, parts: &[Part]) -> Arc<[usize]> {
    let of = |part: &Part| {
        let gpus = part.chosen.placement.iter();
        gpus.map(|gpu| system.gpu_at(part.server, *gpu as u32) as usize).collect::<Vec<_>>()
    };
    parts.iter().flat_map(of).collect()
}

/// Gives what needs no plan, on GPUs in the order of its ranks.
pub(super) const fn unplanned(gpus: Arc<[usize]>) -> Planned {
    (gpus, BY_RULE)
}

/// Says who plans. No plan is made under MPI's rules.
fn planned_by(planner: PlannerChoice) -> PlannedBy {
    match planner {
        PlannerChoice::Plan(by) => by,
        PlannerChoice::Mpi => PlannedBy::Library(None),
    }
}

fn rule_of(call: &CollectiveCall) -> mpi::MpiAlgorithm {
    mpi::MpiAlgorithm::default_for(call.kind, call.ranks, call.size)
}
