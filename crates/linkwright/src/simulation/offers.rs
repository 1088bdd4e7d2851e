//! Collectives of jobs are planned by one planner, by NCCL itself, or by the fastest of all planners.

use crate::collectives::baselines::Version;
use crate::collectives::plan::{AllCandidates, Candidates, Plan, PlanError, Planner, Question};
use crate::collectives::time::{KnownTimes, Timing};
use crate::units::Bytes;

/// Says what plans a collective for some GPUs and a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedBy {
    /// One planner does.
    Planner(&'static dyn Planner),
    /// It is what NCCL, or RCCL, takes itself, in a release or the newest that is known, as
    /// [`expect`](fn@crate::collectives::baselines::expect) has it.
    Library(Option<Version>),
    /// It is the fastest that any planner has, as [`plan_fastest`](crate::collectives::plan::plan_fastest) finds it.
    Fastest,
}

impl PlannedBy {
    /// Names [`Self::Library`].
    pub const LIBRARY: &'static str = "nccl";

    /// Names [`Self::Fastest`].
    pub const FASTEST: &'static str = "auto";

    /// Gives its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planner(planner) => planner.name(),
            Self::Library(_) => Self::LIBRARY,
            Self::Fastest => Self::FASTEST,
        }
    }
}

/// Keeps what there is to choose from for one collective on some GPUs, for many sizes.
#[derive(Debug)]
pub(super) enum Offers {
    One(Box<Candidates>),
    All(AllCandidates),
}

impl Offers {
    /// # Errors
    /// GPUs or links that the planner cannot use.
    pub(super) fn new(by: PlannedBy, question: &Question<'_>) -> Result<Self, PlanError> {
        let candidates = match by {
            PlannedBy::Planner(planner) => Candidates::new(planner, question)?,
            PlannedBy::Library(release) => Candidates::of_library(question, release)?,
            PlannedBy::Fastest => return Ok(Self::All(AllCandidates::default())),
        };
        Ok(Self::One(Box::new(candidates)))
    }

    /// The plan of a size, and how long it takes, for the question that this was made for.
    ///
    /// # Errors
    /// As [`Self::new`], and a size that would take too many transfers.
    pub(super) fn fastest(
        &mut self,
        question: &Question<'_>,
        size: Bytes,
        known: &mut KnownTimes,
    ) -> Result<(Plan, Timing), PlanError> {
        match self {
            Self::One(candidates) => candidates.fastest_knowing(size, known),
            Self::All(all) => all.fastest(question, size, known),
        }
    }
}
