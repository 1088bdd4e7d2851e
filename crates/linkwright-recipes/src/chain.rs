//! A planner of collectives is written here: it sends all data from each rank to the next.

use linkwright::collectives::Collective;
use linkwright::collectives::plan::{Plan, PlanError, Planner, Question};
use linkwright::diagnostic::Registered;

/// Sends along a chain of ranks that begins at the root.
pub struct Chain;

impl Registered for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }
}

impl Planner for Chain {
    fn description(&self) -> &'static str {
        "a chain of ranks from the root, or one from each"
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        let ranks = question.gpus.len();
        let chain = |root: usize| {
            let above = |rank: usize| (rank != root).then_some((rank + ranks - 1) % ranks);
            (0..ranks).map(above).collect()
        };
        let trees = match (question.collective, question.collective.root()) {
            (_, Some(root)) => vec![chain(root)],
            (Collective::AllReduce, None) => vec![chain(0)],
            (_, None) => (0..ranks).map(chain).collect(),
        };
        Plan::of_trees(self, question, trees)
    }
}
