//! Says what planners have in common, and gives them by name.

use std::fmt;

use super::mpi::RULES;
use super::sized::Offer;
use super::{
    BetweenServers, Blink, NvlsPlanner, OneHop, Packing, Plan, PlanError, Question, ThreePhase,
    answer,
};
use crate::collectives::nccl::baselines::NcclBaseline;
use crate::collectives::schedule::Protocol;
use crate::diagnostic::{Registered, Registry};

/// A planner finds schedules.
///
/// A planner is a pure function of what it is asked. [`plan`](fn@super::plan) and its like check the
/// GPUs and the root before they ask one.
pub trait Planner: Registered {
    /// Says what it does, and for a baseline which library it stands for, in a few words.
    fn description(&self) -> &'static str;

    /// The protocols that who runs it has, lowest latency first.
    fn protocols(&self) -> &'static [Protocol] {
        &Protocol::ALL
    }

    /// Plans for data of any size.
    ///
    /// # Errors
    /// [`PlanError`] where the GPUs, their links or the collective do not allow it.
    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError>;

    /// Makes all plans that may be the fastest for some size.
    ///
    /// # Errors
    /// Fails as [`Self::plan`] does.
    fn offer(&self, question: &Question<'_>) -> Result<Offer, PlanError> {
        Ok(Offer::of_plans(vec![answer(self, question)?]))
    }

    /// Whether a hybrid may share data between the trees of two of its plans.
    fn has_trees(&self) -> bool {
        false
    }

    /// Plans as [`Self::plan`] does, along trees where it also has other ways.
    ///
    /// # Errors
    /// Fails as [`Self::plan`] does.
    fn along_trees(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        self.plan(question)
    }

    /// Whether it is a rule that knows nothing of the links: rules alone plan barriers and scans.
    fn is_rule(&self) -> bool {
        false
    }

    /// When it is tried where the fastest of all planners is wanted.
    fn turn(&self) -> Turn {
        Turn::Usual
    }

    /// Whether it plans a thousand GPUs in seconds.
    fn is_quick(&self) -> bool {
        false
    }

    /// Counts the hops within servers that follow one another at least when data goes around a ring
    /// through all ranks. None says that no such bound is known.
    fn hops_within(&self, _: RingBound) -> Option<u64> {
        None
    }

    /// Whether a plan depends on hosts that no data of its GPUs crosses.
    fn looks_at_hosts(&self) -> bool {
        true
    }

    /// Estimates the seconds that it needs on one core to plan for a size; 0 for a second or less.
    fn planning_seconds(&self, _: &Question<'_>) -> f64 {
        0.0
    }
}

/// Says when a planner is tried. One that plans in little time and may rule others out comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// It comes before all others.
    First,
    /// It comes as soon as possible after that.
    Early,
    /// It comes here where nothing is known.
    Usual,
    /// It comes when others may have ruled it out.
    Late,
    /// It comes after all others.
    Last,
}

/// Describes a ring through all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingBound {
    /// How often the data goes around.
    pub rounds: u64,
    /// How many ranks there are.
    pub ranks: u64,
    /// How many servers they are on.
    pub servers: u64,
}

/// Holds Linkwright's own planners that look at the links, and NCCL's.
pub const PLANNERS: [&dyn Planner; 10] = [
    &Packing,
    &Blink,
    &OneHop,
    &ThreePhase,
    &NcclBaseline::Classic,
    &NcclBaseline::Ring,
    &NcclBaseline::Tree,
    &NvlsPlanner,
    &BetweenServers::NvlsTree,
    &BetweenServers::ParallelTrees,
];

/// Gives Linkwright's own planners by name: [`PLANNERS`], then MPI's rules.
#[must_use]
pub fn planners() -> Registry<dyn Planner> {
    let mut all = Registry::new("planner", &PLANNERS);
    RULES.iter().for_each(|rule| all.add(rule));
    all
}

impl fmt::Debug for dyn Planner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl PartialEq for dyn Planner {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Planner {}
