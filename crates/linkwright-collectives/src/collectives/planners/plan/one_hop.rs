//! The planner `one-hop` sends along a star from each GPU.

use super::planner::Planner;
use super::{Plan, PlanError, Question};
use crate::diagnostic::Registered;

/// Takes one star for each GPU, with an equal part of the data (Blink on `NVSwitch` machines).
#[derive(Debug)]
pub struct OneHop;

impl Registered for OneHop {
    fn name(&self) -> &'static str {
        "one-hop"
    }
}

impl Planner for OneHop {
    fn description(&self) -> &'static str {
        "a star from every GPU, with an equal part of the data each"
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        Plan::of_trees(self, question, stars(question.gpus.len(), question.collective.root()))
    }

    fn has_trees(&self) -> bool {
        true
    }
}

/// The rank above each, in one star for each rank; a collective with a root has but that one.
pub(super) fn stars(ranks: usize, root: Option<usize>) -> Vec<Vec<Option<usize>>> {
    let star = |root: usize| (0..ranks).map(|rank| (rank != root).then_some(root)).collect();
    root.map_or_else(|| (0..ranks).map(star).collect(), |root| vec![star(root)])
}
