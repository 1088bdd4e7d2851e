//! Makes planners of MPI's algorithms: rules that know nothing of the links, written down.

use std::borrow::Cow;

use super::ground::Ground;
use super::planner::{Planner, Turn};
use super::trees::note_host;
use super::{Plan, PlanError, Question, rate};
use crate::collectives::planners::mpi::{MpiAlgorithm, Source};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::source::materialise;
use crate::collectives::schedule::{Channel, Protocol};
use crate::diagnostic::Registered;
use crate::units::Bandwidth;

/// Plans by an algorithm of MPI.
#[derive(Debug)]
pub struct MpiRule {
    algorithm: MpiAlgorithm,
    name: &'static str,
    description: &'static str,
}

impl MpiRule {
    const fn new(algorithm: MpiAlgorithm, name: &'static str, description: &'static str) -> Self {
        Self { algorithm, name, description }
    }
}

/// MPI's algorithms, with their names among planners and what they do.
pub static RULES: [MpiRule; MpiAlgorithm::ALL.len()] = {
    use MpiAlgorithm as By;
    [
        MpiRule::new(
            By::BinaryTree,
            "mpi-binary-tree",
            "MPI: a complete binary tree from the root",
        ),
        MpiRule::new(By::BinomialTree, "mpi-binomial-tree", "MPI: a binomial tree from the root"),
        MpiRule::new(
            By::Linear,
            "mpi-linear",
            "MPI: the root to or from each rank at once; a scan rank by rank",
        ),
        MpiRule::new(
            By::Dissemination,
            "mpi-dissemination",
            "MPI: signals over distances of 1, 2, 4 and so on",
        ),
        MpiRule::new(By::Ring, "mpi-ring", "MPI: every rank to the next, one block at a time"),
        MpiRule::new(
            By::RecursiveDoubling,
            "mpi-recursive-doubling",
            "MPI: exchanges of all over distances of 1, 2, 4",
        ),
        MpiRule::new(
            By::RecursiveHalving,
            "mpi-recursive-halving",
            "MPI: exchanges of halves, quarters and so on",
        ),
        MpiRule::new(
            By::Pairwise,
            "mpi-pairwise",
            "MPI: one exchange with each other rank after another",
        ),
        MpiRule::new(By::Blocked, "mpi-blocked", "MPI: exchanges with 32 ranks at once"),
        MpiRule::new(By::Bruck, "mpi-bruck", "MPI: few messages of many blocks each"),
    ]
};

/// Says that no planner that looks at the links plans a barrier or a scan, and names the ones that
/// do.
pub(in crate::collectives) fn by_rule_alone(
    algorithm: &'static str,
    collective: Collective,
) -> PlanError {
    let of = MpiAlgorithm::of(collective.kind());
    let name = |by: &MpiAlgorithm| RULES.iter().find(|rule| rule.algorithm == *by);
    let names: Vec<&str> = of.iter().filter_map(name).map(|rule| rule.name).collect();
    let (remedy, collective) = (Cow::Owned(names.join(", ")), collective.name());
    PlanError::Unsupported { algorithm, collective, remedy }
}

impl Registered for MpiRule {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Planner for MpiRule {
    fn description(&self) -> &'static str {
        self.description
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Simple]
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        let Question { gpus, collective, links, .. } = *question;
        let mut notes = Vec::new();
        let Ground { class, .. } = question.ground(&mut notes)?;
        let root = collective.root().unwrap_or(0) as u32;
        let source = Source::new(collective.kind(), self.algorithm, gpus.len() as u32, root);
        let source = source.map_err(|_| by_rule_alone(self.name, collective))?;
        let name = format!("{}-{}", self.name, collective.name());
        let channel = Channel::over(class.transport());
        let schedule = materialise(&source, &name, gpus, channel)?;
        // A barrier moves no data.
        let rate = match collective {
            Collective::Barrier => Bandwidth(0),
            _ => rate::steady_rate(&schedule, question.wiring())?,
        };
        let (algorithm, trees, optimum) = (Cow::Borrowed(self.name), Vec::new(), None);
        let mut plan = Plan { schedule, algorithm, links: class, trees, rate, optimum, notes };
        note_host(&mut plan, question.wiring(), links, self.name)?;
        Ok(plan)
    }

    fn is_rule(&self) -> bool {
        true
    }

    fn turn(&self) -> Turn {
        Turn::Last
    }
}
