//! MAPA's Algorithm 1: bandwidth for the jobs that need it, kept by those that do not.

use crate::allocation::policy::{Policy, Request};
use crate::allocation::{Effort, GpuSet, Objective, PreparedMachine, Selection, Ties};
use crate::diagnostic::Registered;

/// Gives a sensitive job the match with the highest effective bandwidth. Any other job gets the
/// match that preserves the most bandwidth between the GPUs that stay free.
///
/// A job of one GPU has no bandwidth to be sensitive to, so it preserves. Algorithm 1 does not
/// settle this case. The authors' program does it this way.
#[derive(Debug)]
pub struct Preserve;

impl Preserve {
    fn objective_of(request: &Request<'_>) -> Objective {
        if request.sensitive && request.pattern.size() > 1 {
            Objective::Effective
        } else {
            Objective::Preserved
        }
    }
}

impl Registered for Preserve {
    fn name(&self) -> &'static str {
        "preserve"
    }
}

impl Policy for Preserve {
    fn rule(&self, request: &Request<'_>, ties: Ties) -> String {
        let first = match Self::objective_of(request) {
            Objective::Effective => {
                "the job is sensitive: the match with the highest effective bandwidth"
            }
            _ => "the job is not sensitive: the match that preserves the most bandwidth for others",
        };
        format!("{first}, then the most aggregated bandwidth, then {}", ties.rule())
    }

    fn objective(&self, request: &Request<'_>) -> Option<Objective> {
        Some(Self::objective_of(request))
    }

    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        machine.best(request.pattern, free, Self::objective_of(request), effort)
    }
}
