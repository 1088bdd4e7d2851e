//! The plan that is the fastest for data of one size.

use std::borrow::Cow;
use std::sync::Arc;

use super::fastest::{Attempt, fastest_of};
use super::optimum::in_switch_rate;
use super::rate::steady_rate;
use super::{Links, Plan, PlanError, Planner, Question, by_rule_alone, nvls};
use crate::collectives::nccl::baselines::{
    BaselinePlan, ChoiceError, Chooser, ExpectedAlgorithm, NcclBaseline, Settings, Version,
    plan_choice,
};
use crate::collectives::planners::lowering::tree::MAX_CHANNELS;
use crate::collectives::planners::lowering::{RootedTree, schedule_of_trees};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{
    KnownTimes, NcclProtocol, Player, Timing, choose_chunk_on, fastest_by, protocol_on, resources,
};
use crate::collectives::schedule::{Protocol, Schedule};
use crate::system::Wiring;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Works as [`plan`](fn@super::plan), for data of that size. It takes the fastest of the plans that
/// the planner offers, with the fastest of the protocols that its executors have.
///
/// Of few deep trees and many shallow ones, each on one channel or two, which reach the same rate,
/// packing's are the fastest. Blink's own trees are taken as they are, on one channel or two.
///
/// # Errors
/// Fails as [`plan`](fn@super::plan) does.
pub fn plan_for_size(
    planner: &dyn Planner,
    question: &Question<'_>,
    size: Bytes,
) -> Result<Plan, PlanError> {
    Ok(timed_plan_for_size(planner, question, size)?.0)
}

/// As [`plan_for_size`], and how long the plan takes while peer access need not be switched.
///
/// # Errors
/// Fails as [`plan`](fn@super::plan) does.
pub fn timed_plan_for_size(
    planner: &dyn Planner,
    question: &Question<'_>,
    size: Bytes,
) -> Result<(Plan, Timing), PlanError> {
    Candidates::new(planner, question)?.fastest(size)
}

/// As [`timed_plan_for_size`], of what may take less than `within`: nothing is played where no plan can.
///
/// # Errors
/// Fails as [`plan`](fn@super::plan) does.
pub fn timed_plan_within(
    planner: &dyn Planner,
    question: &Question<'_>,
    (size, within): (Bytes, Option<Picoseconds>),
) -> Result<Attempt, PlanError> {
    let candidates = Candidates::new(planner, question)?;
    candidates.fastest_within((size, within), &mut KnownTimes::default())
}

/// Works as [`plan_for_size`] for each of several sizes. Each size may have another plan.
///
/// # Errors
/// Fails as [`plan`](fn@super::plan) does.
pub fn plan_for_sizes(
    planner: &dyn Planner,
    question: &Question<'_>,
    sizes: &[Bytes],
) -> Result<Vec<Plan>, PlanError> {
    let candidates = Candidates::new(planner, question)?;
    sizes.iter().map(|size| Ok(candidates.fastest(*size)?.0)).collect()
}

/// Holds all that a planner has to offer for any size.
#[derive(Debug)]
pub struct Offer(Open);

/// Holds the alternatives to choose from.
#[derive(Debug)]
enum Open {
    /// Holds plans, and the fastest of them is taken.
    Plans(Vec<Plan>),
    /// NCCL, which chooses by its own model.
    Nccl {
        chooser: Box<Chooser>,
        gpus: Vec<usize>,
        collective: Collective,
        optimum: Option<Bandwidth>,
        note: Option<String>,
    },
}

impl Offer {
    /// Offers these plans, one at least; of equally fast ones the first is taken.
    #[must_use]
    pub const fn of_plans(plans: Vec<Plan>) -> Self {
        Self(Open::Plans(plans))
    }
}

/// Keeps what a planner offers on a job's GPUs, for many sizes.
#[derive(Debug)]
pub struct Candidates {
    wiring: Arc<Wiring>,
    protocols: &'static [Protocol],
    open: Open,
}

impl Candidates {
    /// # Errors
    /// Fails as [`plan`](fn@super::plan) does.
    pub fn new(planner: &dyn Planner, question: &Question<'_>) -> Result<Self, PlanError> {
        question.check()?;
        Self::of_checked(planner, question)
    }

    fn of_checked(planner: &dyn Planner, question: &Question<'_>) -> Result<Self, PlanError> {
        let Offer(open) = planner.offer(question)?;
        let wiring = Arc::clone(question.shared_wiring());
        Ok(Self { wiring, protocols: planner.protocols(), open })
    }

    /// Makes the offer of the plans that NCCL, or RCCL, itself takes for each size, in a release or
    /// the newest that is known.
    ///
    /// # Errors
    /// Fails as [`plan`](fn@super::plan) does, and for a barrier or a scan.
    pub fn of_library(
        question: &Question<'_>,
        release: Option<Version>,
    ) -> Result<Self, PlanError> {
        question.check()?;
        let Question { gpus, collective, .. } = *question;
        let settings = Settings { version: release, ..Settings::default() };
        let chooser = Chooser::new(question.wiring(), gpus, collective, &settings);
        let chooser = Box::new(chooser.map_err(|error| match error {
            ChoiceError::Links(error) => error.into(),
            // All else is said of settings, and there are none.
            _ => by_rule_alone("nccl-ring", collective),
        })?);
        let gpus = gpus.to_vec();
        let open = Open::Nccl { chooser, gpus, collective, optimum: None, note: None };
        let wiring = Arc::clone(question.shared_wiring());
        Ok(Self { wiring, protocols: &Protocol::ALL, open })
    }

    /// Returns the plan that moves `size` the fastest, with its protocol, and how long it takes.
    ///
    /// # Errors
    /// A size that would take too many transfers.
    pub fn fastest(&self, size: Bytes) -> Result<(Plan, Timing), PlanError> {
        self.fastest_knowing(size, &mut KnownTimes::default())
    }

    /// Does as [`Self::fastest`], and plays nothing again that was played for other GPUs.
    ///
    /// # Errors
    /// Fails as [`Self::fastest`] does.
    pub fn fastest_knowing(
        &self,
        size: Bytes,
        known: &mut KnownTimes,
    ) -> Result<(Plan, Timing), PlanError> {
        Ok(self.fastest_within((size, None), known)?.into_timed())
    }

    /// Does as [`Self::fastest_knowing`] where something may take less than `within`; nothing is played
    /// where no plan can.
    ///
    /// # Errors
    /// Fails as [`Self::fastest`] does.
    pub fn fastest_within(
        &self,
        (size, within): (Bytes, Option<Picoseconds>),
        known: &mut KnownTimes,
    ) -> Result<Attempt, PlanError> {
        let Self { wiring, protocols, open } = self;
        match open {
            Open::Plans(plans) => {
                fastest_of((plans, protocols), wiring, (size, within), Picoseconds(0), known)
            }
            Open::Nccl { chooser, gpus, collective, optimum, note } => {
                let choice = chooser.choose(size.0);
                let chosen = plan_choice(wiring, gpus, *collective, chooser, &choice)?;
                let BaselinePlan { schedule, links, trees, mut notes } = chosen;
                notes.extend(note.clone());
                let costs = protocol_on(&schedule, wiring);
                let routes = resources(wiring);
                let player = Player::on(&schedule, &routes, &costs)?;
                let least = player.least(size);
                if within.is_some_and(|within| least >= within) {
                    return Ok(Attempt::Hopeless { least, optimum: None });
                }
                let timing = fastest_by(&player, size, known)?;
                let rate = steady_rate(&schedule, wiring)?;
                let algorithm = Cow::Borrowed(planner_of(choice.algorithm));
                let optimum = *optimum;
                let plan = Plan { schedule, algorithm, links, trees, rate, optimum, notes };
                Ok(Attempt::Found(Box::new(plan), Some(timing)))
            }
        }
    }
}

/// Names NCCL's parallel trees.
pub(super) const NAME_OF_PARALLEL_TREES: &str = "nccl-pat";

/// The name of who plans what NCCL runs.
const fn planner_of(expected: ExpectedAlgorithm) -> &'static str {
    match expected {
        ExpectedAlgorithm::Ring | ExpectedAlgorithm::Pairs => NcclBaseline::Ring.name(),
        ExpectedAlgorithm::Tree => NcclBaseline::Tree.name(),
        ExpectedAlgorithm::Nvls => nvls::NAME,
        ExpectedAlgorithm::NvlsTree => nvls::NAME_OF_TREES,
        ExpectedAlgorithm::Pat => NAME_OF_PARALLEL_TREES,
    }
}

/// NCCL with an algorithm of its own, where it has it on these GPUs and the links are its own choice.
pub(super) fn offer_of_library(
    question: &Question<'_>,
    wanted: ExpectedAlgorithm,
) -> Option<Offer> {
    let Question { gpus, collective, links, .. } = *question;
    if links != Links::Auto {
        return None;
    }
    let wiring = question.wiring();
    let settings = Settings { algorithm: Some(wanted), ..Settings::default() };
    let chooser = Chooser::new(wiring, gpus, collective, &settings).ok()?;
    let optimum = (wanted == ExpectedAlgorithm::Nvls)
        .then(|| in_switch_rate(wiring, gpus, collective))
        .flatten();
    let (chooser, gpus) = (Box::new(chooser), gpus.to_vec());
    let note = question.note_without_streams(planner_of(wanted));
    Some(Offer(Open::Nccl { chooser, gpus, collective, optimum, note }))
}

/// As [`plan_for_size`], on GPUs that have been checked.
pub(super) fn plan_sized(
    planner: &dyn Planner,
    question: &Question<'_>,
    size: Bytes,
) -> Result<Plan, PlanError> {
    Ok(Candidates::of_checked(planner, question)?.fastest(size)?.0)
}

/// Of a plan on one channel for a tree or on two, the one that moves `size` the fastest.
pub(super) fn fastest(
    plan: Plan,
    protocols: &[Protocol],
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Plan, PlanError> {
    let (plans, known) = (with_two_channels(vec![plan]), &mut KnownTimes::default());
    let found = fastest_of((&plans, protocols), wiring, (size, None), peer_access_switch, known)?;
    Ok(found.into_timed().0)
}

/// Plans as they are, and each also with its trees on two channels.
pub(super) fn with_two_channels(mut plans: Vec<Plan>) -> Vec<Plan> {
    let is_narrow = |trees: usize| trees > 0 && 2 * trees <= MAX_CHANNELS;
    let narrow = plans.iter().filter(|plan| is_narrow(plan.trees.len()));
    let twice: Vec<Plan> = narrow.map(on_two_channels).collect();
    plans.extend(twice);
    plans
}

/// How long a plan takes with the chunk that suits it.
pub(super) fn time_of(
    plan: &Plan,
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Picoseconds, PlanError> {
    let costs = NcclProtocol { peer_access_switch, ..protocol_on(&plan.schedule, wiring) };
    Ok(choose_chunk_on(&plan.schedule, wiring, size, &costs)?.0.time)
}

/// Returns the same trees, each on two channels with half of its data.
///
/// A connection holds few chunks. So a GPU that passes them on lets its link rest while the next is
/// on its way. The other channel's chunks fill that gap.
fn on_two_channels(plan: &Plan) -> Plan {
    let Schedule { name, collective, gpus, .. } = &plan.schedule;
    let halves: Vec<RootedTree> =
        plan.trees.iter().flat_map(|tree| [tree.clone(), tree.clone()]).collect();
    let mut schedule = schedule_of_trees(name, *collective, gpus, &halves);
    schedule.routes.clone_from(&plan.schedule.routes);
    schedule.pacing = plan.schedule.pacing;
    let mut whole = plan.trees.clone();
    whole.iter_mut().for_each(|tree| tree.chunks *= 2);
    Plan { schedule, trees: whole, ..plan.clone() }
}

/// The plans among which a planner chooses.
#[cfg(test)]
pub(super) fn plans_of(planner: &dyn Planner, question: &Question<'_>) -> Option<Vec<Plan>> {
    match planner.offer(question).ok()?.0 {
        Open::Plans(plans) => Some(plans),
        Open::Nccl { .. } => None,
    }
}
