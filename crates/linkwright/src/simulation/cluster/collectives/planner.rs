//! The plans of all collectives that jobs call.

use std::collections::{BTreeMap, BTreeSet};

use super::choices::planning;
use super::error::{PlanningError, PlanningProblem};
use super::placement::Placement;
use crate::collectives::baselines::Baseline;
use crate::collectives::messages::MessageSchedule;
use crate::collectives::plan::{Algorithm, Links, Plan, PlanError, plan};
use crate::engine::{Hook, Progress};
use crate::program::{Collective, CommunicatorId, Operation, Rank};
use crate::runtime::{Job, RuntimeError, validate};
use crate::simulation::cluster::{Cluster, ClusterError};
use crate::system::System;
use crate::units::{Bandwidth, Picoseconds};

/// The most GPUs of a communicator that plans are made for.
pub const MOST_PLANNED_GPUS: usize = 256;

/// The most GPUs for which trees are packed exactly; as far, this takes well under a second.
pub const MOST_PACKED_GPUS: usize = 16;

/// The most GPUs of one node whose all-to-all a linear programme shares among the links.
const MOST_SHARED_GPUS: usize = 8;

/// The most GPUs that send to all others at once.
const MOST_STARS: usize = 64;

/// A collective of a communicator, planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCollective {
    /// The job's index.
    pub job: u32,
    /// The communicator.
    pub communicator: CommunicatorId,
    /// The collective.
    pub kind: Collective,
    /// The root's rank in the program, where there is one.
    pub root: Option<Rank>,
    /// How many ranks it has.
    pub ranks: usize,
    /// How many nodes they are on.
    pub nodes: usize,
    /// The planner's algorithm.
    pub algorithm: &'static str,
    /// What the plan reaches of the links' peak in the limit of long data, alone on the network:
    /// bytes of the longest buffer per second.
    pub rate: Bandwidth,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// What one rank of a job calls: its job, communicator and collective, and the root's rank.
type Called = (u32, CommunicatorId, Collective, Option<Rank>);

/// A plan with its messages.
pub(super) struct Found {
    pub(super) messages: MessageSchedule,
    pub(super) algorithm: Algorithm,
    rate: Bandwidth,
    pub(super) notes: Vec<String>,
}

/// The plans of all collectives that are to go by plans.
#[derive(Debug, Default)]
pub(in crate::simulation::cluster) struct Planned {
    messages: Vec<MessageSchedule>,
    /// The plan of a job's communicator for a collective with that place of the root.
    of: BTreeMap<(u32, CommunicatorId, Collective, u32), u32>,
    list: Vec<PlannedCollective>,
}

impl Planned {
    /// Plans what the jobs call; the hook is asked before each plan.
    ///
    /// # Errors
    /// Jobs that cannot run, a collective without a plan, a run that the hook ended.
    pub(in crate::simulation::cluster) fn new(
        cluster: &Cluster,
        jobs: &[Job],
        hook: Hook<'_>,
    ) -> Result<Self, ClusterError> {
        let mut planned = Self::default();
        if Collective::ALL.into_iter().all(|kind| !cluster.collectives.is_planned(kind)) {
            return Ok(planned);
        }
        jobs.iter().try_for_each(|job| validate(job, cluster.gpus()))?;
        let mut known: BTreeMap<(Placement, Collective, usize), (u32, Algorithm, Bandwidth)> =
            BTreeMap::new();
        let mut notes: Vec<Vec<String>> = Vec::new();
        for (job, communicator, kind, root) in called(cluster, jobs) {
            let of = &jobs[job as usize];
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
            let key = (placement, kind, place);
            let (index, algorithm, rate) = match known.get(&key) {
                Some(found) => *found,
                None => {
                    let progress = Progress { done: 0, total: 0, events: 0, time: Picoseconds(0) };
                    if hook(progress).is_break() {
                        let (time, done, total) = (Picoseconds(0), 0, 0);
                        return Err(RuntimeError::Interrupted { time, done, total }.into());
                    }
                    let only = cluster.collectives.algorithm();
                    let found = best(&cluster.system, only, nodes, &gpus, kind, place);
                    let found = found.map_err(refuse)?;
                    let index = planned.messages.len() as u32;
                    planned.messages.push(found.messages);
                    notes.push(found.notes);
                    known.insert(key, (index, found.algorithm, found.rate));
                    (index, found.algorithm, found.rate)
                }
            };
            planned.of.insert((job, communicator, kind, place as u32), index);
            planned.list.push(PlannedCollective {
                job,
                communicator,
                kind,
                root,
                ranks,
                nodes,
                algorithm: algorithm.name(),
                rate,
                notes: notes[index as usize].clone(),
            });
        }
        Ok(planned)
    }

    /// The index of the plan for a collective with that place of the root, if it has one.
    pub(super) fn index(
        &self,
        job: u32,
        communicator: CommunicatorId,
        kind: Collective,
        root: u32,
    ) -> Option<u32> {
        self.of.get(&(job, communicator, kind, root)).copied()
    }

    /// The messages of a plan.
    pub(super) fn messages(&self, index: u32) -> &MessageSchedule {
        &self.messages[index as usize]
    }

    /// What was planned.
    pub(in crate::simulation::cluster) fn into_list(self) -> Vec<PlannedCollective> {
        self.list
    }
}

/// The collectives to be planned that some rank of the jobs calls, each once.
fn called(cluster: &Cluster, jobs: &[Job]) -> BTreeSet<Called> {
    let mut called = BTreeSet::new();
    for (index, job) in (0..).zip(jobs) {
        for operation in job.program.ranks.iter().flat_map(|rank| rank.operations()) {
            if let Operation::Collective { kind, root, communicator, .. } = *operation
                && cluster.collectives.is_planned(kind)
            {
                let root = kind.has_root().then_some(root);
                called.insert((index, communicator, kind, root));
            }
        }
    }
    called
}

/// The planner's algorithms that are tried, those of fewer hops first.
fn tried(kind: Collective, ranks: usize, nodes: usize) -> Vec<Algorithm> {
    let packed = match (kind, nodes) {
        // Through the network every pair has but one way.
        (Collective::AllToAll, 2..) => MOST_PLANNED_GPUS,
        (Collective::AllToAll, _) => MOST_SHARED_GPUS,
        _ => MOST_PACKED_GPUS,
    };
    let across = kind == Collective::AllReduce && nodes > 1;
    [
        (Algorithm::OneHop, kind != Collective::AllToAll && ranks <= MOST_STARS),
        (Algorithm::ThreePhase, across),
        (Algorithm::Packing, ranks <= packed),
        // Three phases fill every node's interface, which no ring passes.
        (Algorithm::Nccl(Baseline::Ring), !across),
    ]
    .into_iter()
    .filter_map(|(algorithm, fits)| fits.then_some(algorithm))
    .collect()
}

/// The plan of the highest rate for GPUs on so many servers; of equals the first. Where there is
/// an `only` algorithm, its plan.
pub(super) fn best(
    system: &System,
    only: Option<Algorithm>,
    nodes: usize,
    gpus: &[u32],
    kind: Collective,
    root: usize,
) -> Result<Found, PlanningProblem> {
    let gpus: Vec<usize> = gpus.iter().map(|gpu| *gpu as usize).collect();
    let ranks = gpus.len();
    let collective = planning(kind, root).expect("only what can be planned is chosen so");
    let mut best: Option<Result<Plan, PlanError>> = None;
    for algorithm in only.map_or_else(|| tried(kind, ranks, nodes), |only| vec![only]) {
        let found = plan(system, &gpus, collective, algorithm, Links::Auto);
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
    let found = best.expect("some algorithm is tried for every collective")?;
    let Plan { schedule, algorithm, rate, .. } = found;
    let mut notes = Vec::new();
    if only.is_none() && kind != Collective::AllToAll && nodes > 1 && ranks > MOST_PACKED_GPUS {
        notes.push(format!(
            "trees are packed exactly for {MOST_PACKED_GPUS} GPUs at most, and these are {ranks}: \
             {} was the fastest of what is known besides",
            algorithm.name()
        ));
    }
    let messages = MessageSchedule::new(schedule).map_err(PlanError::from)?;
    Ok(Found { messages, algorithm, rate, notes })
}
