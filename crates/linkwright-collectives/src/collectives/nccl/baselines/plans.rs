//! Writes NCCL's algorithms as schedules.

mod job;
pub(super) mod uneven;

use self::job::{Job, Recipe};
use thiserror::Error;

use super::choice::versions::today;
use super::choice::{Choice, ChoiceError, Chooser, Settings, dealing_of, newest_dealing, rings_in};
use super::expected_algorithm::{ExpectedAlgorithm, by_pairs};
use super::interfaces::Dealing;
use super::rings::{Era, Rings, rings_of};
use crate::collectives::planners::link_graph::{LinkClass, LinkGraphError, check_gpus};
use crate::collectives::planners::lowering::{
    Ring, RootedTree, outline_of_parallel_trees, outline_of_rings, schedule_of_parallel_trees,
    schedule_of_paths, schedule_of_rings, schedule_of_trees,
};
use crate::collectives::planners::plan::nvls::{plan as nvls_plan, schedule_of_head_trees};
use crate::collectives::planners::plan::{Links, Plan, PlanError, Question, by_rule_alone};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Pacing, Schedule};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::{LinkKind, System, Wiring};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Names an NCCL, and one of its algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NcclBaseline {
    /// Stands for the rings of NCCL 2.3 and 2.4.
    Classic,
    /// Recent NCCL: rings, and pairs of sends and receives.
    Ring,
    /// Stands for recent NCCL's chains within a server and double binary trees between servers.
    Tree,
}

impl NcclBaseline {
    /// Returns its name among the algorithms.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "nccl-classic",
            Self::Ring => "nccl-ring",
            Self::Tree => "nccl-tree",
        }
    }

    const fn era(self) -> Era {
        match self {
            Self::Classic => Era::Classic,
            Self::Ring | Self::Tree => Era::Recent,
        }
    }
}

/// Holds a baseline's schedule and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselinePlan {
    /// Holds the steps to do.
    pub schedule: Schedule,
    /// Names the links that carry it.
    pub links: LinkClass,
    /// Holds the chains or trees behind it. It is empty for rings and paths.
    pub trees: Vec<RootedTree>,
    /// Tells a person of a fall-back, of the GPUs that relay, or of an incomplete search.
    pub notes: Vec<String>,
}

/// The schedule that NCCL would run on these GPUs, by their ids.
///
/// # Errors
/// Returns [`PlanError::Unsupported`] where this NCCL does not do the collective this way. Returns
/// [`PlanError::NoRing`] where only NVLink is wanted and it would fall back to PCIe. It also fails
/// as [`check_gpus`] does.
pub fn baseline_plan(
    question: &Question<'_>,
    baseline: NcclBaseline,
) -> Result<BaselinePlan, PlanError> {
    check_gpus(question.system, question.gpus)?;
    plan_on(question, baseline)
}

/// As [`baseline_plan`] on GPUs that have been checked.
pub(in crate::collectives) fn plan_on(
    question: &Question<'_>,
    baseline: NcclBaseline,
) -> Result<BaselinePlan, PlanError> {
    let Question { gpus, collective, links, .. } = *question;
    let wiring = question.wiring();
    let remedy = match (baseline, collective) {
        (NcclBaseline::Classic, kind) if by_pairs(kind) => Some("nccl-ring, packing"),
        (NcclBaseline::Tree, kind) if kind != Collective::AllReduce => {
            Some("nccl-ring, nccl-classic")
        }
        _ => None,
    };
    if let Some(remedy) = remedy {
        let (algorithm, collective, remedy) = (baseline.name(), collective.name(), remedy.into());
        return Err(PlanError::Unsupported { algorithm, collective, remedy });
    }
    let era = baseline.era();
    let recipe = Recipe {
        name: baseline.name(),
        links,
        rings: &|own| rings_of(today(), wiring, own, era),
        relays: era == Era::Recent,
        channels: None,
        p2p: true,
        dealing: match era {
            // Of releases before PXN.
            Era::Classic => Dealing { pxn: false, paired: false, ..newest_dealing(wiring) },
            Era::Recent => newest_dealing(wiring),
        },
        deal: None,
    };
    let tree = baseline == NcclBaseline::Tree;
    let mut plan = laid_out(wiring, gpus, (collective, false), tree, &recipe)?;
    if wiring.wires().iter().any(|wire| wire.kind.is_some_and(LinkKind::is_xgmi)) {
        plan.notes.push(format!(
            "on AMD's GPUs it is RCCL that runs; {} stands for it, with rings by NCCL's search",
            baseline.name()
        ));
    }
    Ok(plan)
}

/// Returns a library's choice for a size, and the schedule of that choice.
///
/// # Errors
/// [`ChosenPlanError`] where the machine cannot have the settings, and of a barrier or a scan.
pub fn chosen_plan(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    size: Bytes,
    settings: &Settings,
) -> Result<(Choice, BaselinePlan), ChosenPlanError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let chooser = Chooser::new(wiring, gpus, collective, settings)?;
    let choice = chooser.choose(size.0);
    let plan = plan_choice(wiring, gpus, collective, &chooser, &choice)?;
    Ok((choice, plan))
}

/// Why there is no plan of a choice.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ChosenPlanError {
    /// The GPUs do not fit the system.
    #[error(transparent)]
    Links(#[from] LinkGraphError),
    /// The machine cannot have the settings.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The choice has no schedule.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Diagnose for ChosenPlanError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Links(error) => error.diagnosis(),
            Self::Choice(error) => error.diagnosis(),
            Self::Plan(error) => error.diagnosis(),
        }
    }
}

/// Returns the schedule that a library runs by its choice, with the choice's rings and number of
/// channels.
///
/// # Errors
/// Returns [`PlanError::Unsupported`] for a barrier or a scan.
pub(in crate::collectives) fn plan_choice(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    chooser: &Chooser,
    choice: &Choice,
) -> Result<BaselinePlan, PlanError> {
    of_choice(wiring, gpus, (collective, false), chooser, choice)
}

/// Returns the schedule that a library runs by its choice. Of rings it returns the outline alone
/// where that is enough.
pub(super) fn of_choice(
    wiring: &Wiring,
    gpus: &[usize],
    (collective, is_outline): (Collective, bool),
    chooser: &Chooser,
    choice: &Choice,
) -> Result<BaselinePlan, PlanError> {
    let (name, tree) = match choice.algorithm {
        ExpectedAlgorithm::Ring => ("nccl-ring", false),
        ExpectedAlgorithm::Tree => ("nccl-tree", true),
        ExpectedAlgorithm::Pairs => ("nccl-pairs", false),
        ExpectedAlgorithm::Pat => {
            let channels = vec![Channel::default(); choice.channels as usize];
            let write =
                if is_outline { outline_of_parallel_trees } else { schedule_of_parallel_trees };
            let name = format!("nccl-pat-{}", collective.name());
            let mut schedule = write(&name, collective, gpus, &channels);
            let chunk = choice.longest_run(collective);
            schedule.pacing = Pacing::SideBySide { chunk, blocks: Some(1) };
            let (links, trees, notes) = (LinkClass::Network, Vec::new(), Vec::new());
            return Ok(BaselinePlan { schedule, links, trees, notes });
        }
        in_switch @ (ExpectedAlgorithm::Nvls | ExpectedAlgorithm::NvlsTree) => {
            let (mut schedule, links, notes) = if in_switch == ExpectedAlgorithm::Nvls {
                let Plan { schedule, links, notes, .. } =
                    nvls_plan(wiring, gpus, collective, Links::Auto)?;
                (schedule, links, notes)
            } else {
                let dealing = dealing_of(chooser.rules, &chooser.settings);
                let schedule = schedule_of_head_trees(wiring, gpus, chooser.heads(), dealing)?;
                (schedule, LinkClass::Network, Vec::new())
            };
            let chunk = choice.longest_run(collective);
            schedule.pacing = Pacing::SideBySide { chunk, blocks: Some(choice.channels) };
            return Ok(BaselinePlan { schedule, links, trees: Vec::new(), notes });
        }
    };
    let rings = rings_by(wiring, chooser);
    let recipe = recipe_of(name, chooser, choice, &rings);
    let mut plan = laid_out(wiring, gpus, (collective, is_outline), tree, &recipe)?;
    plan.schedule.protocol = choice.protocol;
    let chunk = choice.longest_run(collective);
    plan.schedule.pacing = Pacing::SideBySide { chunk, blocks: Some(1) };
    Ok(plan)
}

/// How the library's release finds the rings of the GPUs of one server.
fn rings_by<'a>(wiring: &'a Wiring, chooser: &'a Chooser) -> impl Fn(&[usize]) -> Rings + 'a {
    |own| rings_in(chooser.rules, wiring, own, &chooser.settings)
}

/// A choice's channels, on rings that are found so.
fn recipe_of<'a>(
    name: &'static str,
    chooser: &'a Chooser,
    choice: &Choice,
    rings: &'a dyn Fn(&[usize]) -> Rings,
) -> Recipe<'a> {
    Recipe {
        name,
        links: if chooser.settings.p2p { Links::Auto } else { Links::Host },
        rings,
        relays: chooser.rules.thresholds.is_none(),
        channels: Some(choice.channels),
        p2p: chooser.settings.p2p,
        dealing: dealing_of(chooser.rules, &chooser.settings),
        deal: chooser.believed.deal.as_ref(),
    }
}

/// Returns the schedule of a collective on a job's rings.
fn laid_out(
    wiring: &Wiring,
    gpus: &[usize],
    (collective, is_outline): (Collective, bool),
    tree: bool,
    recipe: &Recipe<'_>,
) -> Result<BaselinePlan, PlanError> {
    let job = Job::new(wiring, gpus, recipe)?;
    let name = format!("{}-{}", recipe.name, collective.name());
    let mut trees = Vec::new();
    let mut schedule = match collective {
        Collective::AllToAll => {
            let transport = job.rings[0].channel.transport;
            let channels = recipe.channels.unwrap_or(1);
            let paths = job.paths(channels);
            let mut schedule =
                schedule_of_paths(&name, collective, gpus, &paths, channels, transport);
            if let Some(messages) = job.messages() {
                messages.name(&mut schedule);
            }
            schedule
        }
        Collective::Gather { root } | Collective::Scatter { root } => {
            trees = vec![job.star(root)];
            schedule_of_trees(&name, collective, gpus, &trees)
        }
        Collective::Broadcast { root } | Collective::Reduce { root } => {
            let forwards = matches!(collective, Collective::Broadcast { .. });
            trees = job.rings.iter().map(|ring| chain(ring, root, forwards)).collect();
            schedule_of_trees(&name, collective, gpus, &trees)
        }
        Collective::AllReduce if tree => {
            trees = job.trees();
            schedule_of_trees(&name, collective, gpus, &trees)
        }
        Collective::Barrier | Collective::Scan => {
            return Err(by_rule_alone(recipe.name, collective));
        }
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => {
            let chunks = if collective == Collective::AllReduce { gpus.len() as u32 } else { 1 };
            let ring = |ring: &Ring| Ring { chunks, ..ring.clone() };
            let rings: Vec<Ring> = job.rings.iter().map(ring).collect();
            let write = if is_outline { outline_of_rings } else { schedule_of_rings };
            write(&name, collective, gpus, &rings)
        }
    };
    schedule.pacing = Pacing::SideBySide { chunk: chunk_of(collective, tree), blocks: None };
    Ok(BaselinePlan { schedule, links: job.class, trees, notes: job.notes })
}

/// Returns the longest run that a step of the protocol Simple moves. Steps have 512 KiB, and a
/// ring's chunk takes four of them (NCCL, `src/include/collectives.h` and `device.h`).
const fn chunk_of(collective: Collective, tree: bool) -> Bytes {
    let is_ring = match collective {
        Collective::AllReduce => !tree,
        Collective::AllGather | Collective::ReduceScatter => true,
        _ => false,
    };
    Bytes(if is_ring { 2 << 20 } else { 512 << 10 })
}

/// Returns the path along a ring away from the root. Where data flows to the root, it returns the
/// whole ring without its last hop.
fn chain(ring: &Ring, root: usize, forwards: bool) -> RootedTree {
    let length = ring.order.len();
    let start = ring.order.iter().position(|rank| *rank == root).unwrap_or(0);
    let mut parent = vec![None; length];
    for step in 1..length {
        let at = |step: usize| ring.order[(start + step) % length];
        if forwards {
            parent[at(step)] = Some(at(step - 1));
        } else {
            parent[at(step)] = Some(at(step + 1));
        }
    }
    RootedTree { parent, chunks: 1, channel: ring.channel.clone() }
}

#[cfg(test)]
mod tests;
