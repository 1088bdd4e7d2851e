//! Writes down as much of a library's choice as its time depends on.

use super::choice::{Choice, Chooser};
use super::deep_trees::{DeepTree, MOST_RANKS, MOST_SERVERS};
use super::expected_algorithm::ExpectedAlgorithm;
use super::plans::of_choice;
use super::wide_exchange::{self, WideExchange};
use crate::collectives::planners::plan::PlanError;
use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::collective::Collective;
use crate::system::Wiring;

/// A schedule that says all that a time depends on.
pub(in crate::collectives) enum Timed {
    Whole(Schedule),
    /// The steps of rank 0 are those of all ranks.
    Outline(Schedule),
    /// Holds the trees that stand for a deep one.
    Deep(Box<DeepTree>),
    /// Holds the exchanges that stand for a wide one.
    Wide(Box<WideExchange>),
}

impl Timed {
    /// Returns as much as is written down.
    pub(in crate::collectives) fn schedule(&self) -> &Schedule {
        match self {
            Self::Whole(schedule) | Self::Outline(schedule) => schedule,
            Self::Deep(tree) => &tree.near,
            Self::Wide(exchange) => exchange.larger(),
        }
    }
}

/// Gives a tree or an exchange over many servers by those that stand for it, and all else as [`outline_choice`].
pub(super) fn timed_choice(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    chooser: &Chooser,
    choice: &Choice,
) -> Result<Timed, PlanError> {
    if gpus.len() > MOST_RANKS
        && let Some(deep) = DeepTree::over(MOST_SERVERS, wiring, gpus, collective, chooser, choice)?
    {
        return Ok(Timed::Deep(Box::new(deep)));
    }
    let servers = wide_exchange::SERVERS;
    if gpus.len() > wide_exchange::MOST_RANKS
        && let Some(wide) = WideExchange::over(servers, wiring, gpus, collective, chooser, choice)?
    {
        return Ok(Timed::Wide(Box::new(wide)));
    }
    outline_choice(wiring, gpus, collective, chooser, choice)
}

/// As [`plan_choice`](super::plans::plan_choice), to be timed alone: rings are not written down rank by rank.
pub(super) fn outline_choice(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    chooser: &Chooser,
    choice: &Choice,
) -> Result<Timed, PlanError> {
    use Collective::{AllGather, AllReduce, ReduceScatter};
    let is_outline = match choice.algorithm {
        ExpectedAlgorithm::Ring => matches!(collective, AllReduce | AllGather | ReduceScatter),
        ExpectedAlgorithm::Pat => true,
        _ => false,
    };
    let plan = of_choice(wiring, gpus, (collective, is_outline), chooser, choice)?;
    Ok(if is_outline { Timed::Outline(plan.schedule) } else { Timed::Whole(plan.schedule) })
}
