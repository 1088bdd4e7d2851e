//! Holds the plans of all collectives that jobs call.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::choices::planning;
use super::error::{PlanningError, PlanningProblem};
use super::kernels::{Kernels, Opening, Taken};
use super::placement::Placement;
use crate::collectives::Collective as Planning;
use crate::collectives::baselines::NcclBaseline;
use crate::collectives::messages::MessageSchedule;
use crate::collectives::plan::{
    OneHop, Packing, Plan, PlanError, Planner, Question, ThreePhase, plan,
};
use crate::engine::{Hook, Progress};
use crate::program::kernel::KernelCall;
use crate::program::{CollectiveKind, CommunicatorId, Operation, Rank};
use crate::runtime::{ProgramJob, RuntimeError, validate};
use crate::simulation::cluster::{Cluster, ClusterError};
use crate::system::System;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The most GPUs of a communicator that plans are made for.
pub const MOST_PLANNED_GPUS: usize = 256;

/// The most GPUs for which trees are packed exactly; as far, this takes well under a second.
pub const MOST_PACKED_GPUS: usize = 16;

/// Limits the GPUs of one node whose all-to-all a linear programme shares among the links.
const MOST_SHARED_GPUS: usize = 8;

/// Limits the GPUs that send to all others at once.
const MOST_STARS: usize = 64;

/// Describes a collective of a communicator, planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCollective {
    /// Gives the job's index.
    pub job: u32,
    /// Names the communicator.
    pub communicator: CommunicatorId,
    /// Names the collective.
    pub kind: CollectiveKind,
    /// The root's rank in the program, where there is one.
    pub root: Option<Rank>,
    /// How many ranks it has.
    pub ranks: usize,
    /// How many nodes they are on.
    pub nodes: usize,
    /// Names the planner.
    pub algorithm: Cow<'static, str>,
    /// Gives the rate that the plan reaches in the limit of long data, alone on the network and at
    /// the links' peak. It counts bytes of the longest buffer per second.
    pub rate: Bandwidth,
    /// Lists the facts that a person should know.
    pub notes: Vec<String>,
}

/// Says what one rank of a job calls: its communicator and collective, and the root's rank.
type Called = (CommunicatorId, CollectiveKind, Option<Rank>);

/// Where a collective is called: on which GPUs, and with the root at which of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) gpus: &'a [u32],
    pub(super) kind: CollectiveKind,
    pub(super) root: usize,
}

impl Ground<'_> {
    /// Returns the planning of this collective.
    pub(super) fn collective(&self) -> Planning {
        planning(self.kind, self.root).expect("only what can be planned is chosen so")
    }
}

/// Holds a plan with its messages.
pub(super) struct Found {
    pub(super) messages: Box<MessageSchedule>,
    pub(super) algorithm: Cow<'static, str>,
    rate: Bandwidth,
    pub(super) notes: Vec<String>,
}

/// Holds a plan as the ranks play it.
enum Form {
    /// Serves MPI's protocol.
    Messages(Box<MessageSchedule>),
    /// Under NCCL's, by the size that is called.
    Kernels(BTreeMap<Bytes, KernelCall>),
}

/// All that a plan depends on.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Same {
    /// Messages take whatever way leads to their rank.
    Placement(Placement, CollectiveKind, usize),
    /// A kernel's connections are opened on the links of its GPUs.
    Kernels(Vec<u32>, CollectiveKind, usize, BTreeSet<Bytes>),
}

/// The plans of all collectives that are to go by plans.
#[derive(Default)]
pub(in crate::simulation) struct Planned {
    forms: Vec<Form>,
    /// Gives the plan of a job's communicator for a collective with that place of the root.
    of: BTreeMap<(u32, CommunicatorId, CollectiveKind, u32), u32>,
    list: Vec<PlannedCollective>,
    /// The form of each plan that was made.
    known: BTreeMap<Same, u32>,
    /// Says what took each form.
    taken: Vec<Vec<Taken>>,
}

impl Planned {
    /// Plans what the jobs call, as kernels where their connections can be opened; the hook is asked
    /// before each plan.
    ///
    /// # Errors
    /// Jobs that cannot run, a collective without a plan, a run that the hook ended.
    pub(in crate::simulation::cluster) fn new(
        cluster: &Cluster,
        jobs: &[ProgramJob],
        mut opening: Option<Opening<'_, '_>>,
        hook: Hook<'_>,
    ) -> Result<Self, ClusterError> {
        let mut planned = Self::default();
        if CollectiveKind::ALL.into_iter().all(|kind| !cluster.collectives.is_planned(kind)) {
            return Ok(planned);
        }
        jobs.iter().try_for_each(|job| validate(job, cluster.gpus()))?;
        for (index, job) in (0..).zip(jobs) {
            planned.add(cluster, (index, job), opening.as_mut(), hook)?;
        }
        Ok(planned)
    }

    /// Plans what one job more calls, whose index among all is this.
    ///
    /// # Errors
    /// Fails for a collective without a plan, and for a run that the hook ended.
    pub(in crate::simulation) fn add(
        &mut self,
        cluster: &Cluster,
        (job, of): (u32, &ProgramJob),
        mut opening: Option<&mut Opening<'_, '_>>,
        hook: Hook<'_>,
    ) -> Result<(), ClusterError> {
        for ((communicator, kind, root), sizes) in called(cluster, of) {
            let members = &of.program.communicators[communicator as usize];
            if members.len() < 2 {
                continue;
            }
            let place = members.iter().position(|member| Some(*member) == root).unwrap_or(0);
            let gpus: Vec<u32> = members.iter().map(|rank| of.mapping[*rank as usize]).collect();
            let ranks = gpus.len();
            let refuse = |problem| {
                let job = of.name.clone();
                PlanningError { job, communicator, ranks, kind, problem }
            };
            if ranks > MOST_PLANNED_GPUS {
                let most = MOST_PLANNED_GPUS;
                return Err(refuse(PlanningProblem::TooManyGpus { most }).into());
            }
            let placement = Placement::new(&cluster.system, &gpus);
            let nodes = placement.nodes();
            let key = match opening {
                Some(_) => Same::Kernels(gpus.clone(), kind, place, sizes.clone()),
                None => Same::Placement(placement, kind, place),
            };
            let index = match self.known.get(&key) {
                Some(found) => *found,
                None => {
                    let progress = Progress { done: 0, total: 0, events: 0, time: Picoseconds(0) };
                    if hook(progress).is_break() {
                        let (time, done, total) = (Picoseconds(0), 0, 0);
                        return Err(RuntimeError::Interrupted { time, done, total }.into());
                    }
                    let ground = Ground { gpus: &gpus, kind, root: place };
                    let (form, by) = match opening.as_deref_mut() {
                        Some(opening) => {
                            let by = cluster.collectives.kernels_by();
                            let made = Kernels::new(&cluster.system, by, &ground, &sizes, opening);
                            let made = made.map_err(|error| refuse(error.into()))?;
                            (Form::Kernels(made.calls), made.taken)
                        }
                        None => {
                            let only = cluster.collectives.only_planner();
                            let found = best(&cluster.system, only, nodes, &ground);
                            let Found { messages, algorithm, rate, notes } =
                                found.map_err(refuse)?;
                            (Form::Messages(messages), vec![Taken { algorithm, rate, notes }])
                        }
                    };
                    let index = self.forms.len() as u32;
                    self.forms.push(form);
                    self.taken.push(by);
                    self.known.insert(key, index);
                    index
                }
            };
            self.of.insert((job, communicator, kind, place as u32), index);
            let rows = self.taken[index as usize].iter().map(|by| PlannedCollective {
                job,
                communicator,
                kind,
                root,
                ranks,
                nodes,
                algorithm: by.algorithm.clone(),
                rate: by.rate,
                notes: by.notes.clone(),
            });
            self.list.extend(rows);
        }
        Ok(())
    }

    /// The index of the plan for a collective with that place of the root, if it has one.
    pub(super) fn index(
        &self,
        job: u32,
        communicator: CommunicatorId,
        kind: CollectiveKind,
        root: u32,
    ) -> Option<u32> {
        self.of.get(&(job, communicator, kind, root)).copied()
    }

    /// The messages of a plan that is played so.
    pub(super) fn messages(&self, index: u32) -> Option<&MessageSchedule> {
        match &self.forms[index as usize] {
            Form::Messages(messages) => Some(messages),
            Form::Kernels(_) => None,
        }
    }

    /// The kernel of a plan for a size, where it is played so.
    pub(super) fn kernel(&self, index: u32, size: Bytes) -> Option<&KernelCall> {
        match &self.forms[index as usize] {
            Form::Messages(_) => None,
            Form::Kernels(calls) => calls.get(&size),
        }
    }

    /// Returns the planned collectives.
    pub(in crate::simulation::cluster) fn into_list(self) -> Vec<PlannedCollective> {
        self.list
    }
}

/// The collectives to be planned that some rank of a job calls, each once with its sizes.
fn called(cluster: &Cluster, job: &ProgramJob) -> BTreeMap<Called, BTreeSet<Bytes>> {
    let mut called: BTreeMap<Called, BTreeSet<Bytes>> = BTreeMap::new();
    for operation in job.program.ranks.iter().flat_map(|rank| rank.operations()) {
        if let Operation::Collective { kind, root, communicator, size } = *operation
            && cluster.collectives.is_planned(kind)
        {
            let root = kind.has_root().then_some(root);
            called.entry((communicator, kind, root)).or_default().insert(size);
        }
    }
    called
}

/// The planners that are tried, those of fewer hops first.
fn tried(kind: CollectiveKind, ranks: usize, nodes: usize) -> Vec<&'static dyn Planner> {
    let packed = match (kind, nodes) {
        // Through the network every pair has but one way.
        (CollectiveKind::AllToAll, 2..) => MOST_PLANNED_GPUS,
        (CollectiveKind::AllToAll, _) => MOST_SHARED_GPUS,
        _ => MOST_PACKED_GPUS,
    };
    let across = kind == CollectiveKind::AllReduce && nodes > 1;
    let all: [(&dyn Planner, bool); 4] = [
        (&OneHop, kind != CollectiveKind::AllToAll && ranks <= MOST_STARS),
        (&ThreePhase, across),
        (&Packing, ranks <= packed),
        // Three phases fill every node's interface, which no ring passes.
        (&NcclBaseline::Ring, !across),
    ];
    all.into_iter().filter_map(|(planner, fits)| fits.then_some(planner)).collect()
}

/// Returns the plan of the highest rate for GPUs on a given number of servers; of equals the first.
/// Where there is an `only` planner, it returns its plan.
pub(super) fn best(
    system: &System,
    only: Option<&'static dyn Planner>,
    nodes: usize,
    ground: &Ground<'_>,
) -> Result<Found, PlanningProblem> {
    let (kind, collective) = (ground.kind, ground.collective());
    let gpus: Vec<usize> = ground.gpus.iter().map(|gpu| *gpu as usize).collect();
    let ranks = gpus.len();
    let mut best: Option<Result<Plan, PlanError>> = None;
    let question = Question::new(system, &gpus, collective);
    for planner in only.map_or_else(|| tried(kind, ranks, nodes), |only| vec![only]) {
        let found = plan(planner, &question);
        let is_better = match (&best, &found) {
            (None, _) => true,
            (Some(_), Err(_)) => false,
            (Some(Err(_)), Ok(_)) => true,
            // Rates of equal plans differ by the rounding of their sums.
            (Some(Ok(best)), Ok(found)) => found.rate.0 as f64 > best.rate.0 as f64 * (1.0 + 1e-6),
        };
        if is_better {
            best = Some(found);
        }
    }
    let found = best.expect("some planner is tried for every collective")?;
    let Plan { schedule, algorithm, rate, .. } = found;
    let mut notes = Vec::new();
    if only.is_none() && kind != CollectiveKind::AllToAll && nodes > 1 && ranks > MOST_PACKED_GPUS {
        notes.push(format!(
            "trees are packed exactly for {MOST_PACKED_GPUS} GPUs at most, and these are {ranks}: \
             {algorithm} was the fastest of what is known besides",
        ));
    }
    let messages = MessageSchedule::new(schedule).map_err(PlanError::from)?.on_its_ways(system);
    Ok(Found { messages: Box::new(messages), algorithm, rate, notes })
}
