//! Makes planners of NCCL's rings and trees.

use std::borrow::Cow;

use super::planner::{Planner, RingBound, Turn};
use super::sized::{Offer, offer_of_library};
use super::{Plan, PlanError, Question, answer, rate};
use crate::collectives::nccl::baselines::{
    BaselinePlan, ExpectedAlgorithm, NcclBaseline, by_pairs, plan_on,
};
use crate::collectives::schedule::Protocol;
use crate::diagnostic::Registered;

impl Registered for NcclBaseline {
    fn name(&self) -> &'static str {
        Self::name(*self)
    }
}

impl Planner for NcclBaseline {
    fn description(&self) -> &'static str {
        match self {
            Self::Classic => {
                "NCCL 2.3 and 2.4, of Blink's time: rings over NVLink if one exists, else PCIe"
            }
            Self::Ring => {
                "the search of NCCL 2.18.5: rings, relayed through a GPU where they must be"
            }
            Self::Tree => {
                "the search of NCCL 2.18.5: a chain in a server, double trees between them"
            }
        }
    }

    /// NCCL has LL128 since 2.5.
    fn protocols(&self) -> &'static [Protocol] {
        match self {
            Self::Classic => &[Protocol::LL, Protocol::Simple],
            Self::Ring | Self::Tree => &Protocol::ALL,
        }
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        question.ground(&mut Vec::new())?;
        let BaselinePlan { schedule, links, trees, notes } = plan_on(question, *self)?;
        let rate = rate::steady_rate(&schedule, question.wiring())?;
        let algorithm = Cow::Borrowed(Self::name(*self));
        Ok(Plan { schedule, algorithm, links, trees, rate, optimum: None, notes })
    }

    fn offer(&self, question: &Question<'_>) -> Result<Offer, PlanError> {
        let wanted = match self {
            Self::Ring if by_pairs(question.collective) => Some(ExpectedAlgorithm::Pairs),
            Self::Ring => Some(ExpectedAlgorithm::Ring),
            Self::Tree => Some(ExpectedAlgorithm::Tree),
            Self::Classic => None,
        };
        match wanted.and_then(|wanted| offer_of_library(question, wanted)) {
            Some(offer) => Ok(offer),
            None => Ok(Offer::of_plans(vec![answer(self, question)?])),
        }
    }

    fn turn(&self) -> Turn {
        match self {
            Self::Tree => Turn::Early,
            Self::Classic | Self::Ring => Turn::Late,
        }
    }

    fn is_quick(&self) -> bool {
        true
    }

    /// Of any hops in a row around a ring, all but two of each round's may be within servers.
    fn hops_within(&self, bound: RingBound) -> Option<u64> {
        let RingBound { rounds, ranks, servers } = bound;
        let within = rounds * (ranks - 1) - rounds * (servers - 1);
        (*self != Self::Tree).then_some(within)
    }
}
