//! Picks the match with the most aggregated bandwidth (MAPA, Section 4).

use crate::allocation::policy::{Policy, Request};
use crate::allocation::{Effort, GpuSet, Objective, PreparedMachine, Selection, Ties};
use crate::diagnostic::Registered;

/// Takes the match with the highest aggregated bandwidth, whatever the job needs.
#[derive(Debug)]
pub struct Greedy;

impl Registered for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }
}

impl Policy for Greedy {
    fn rule(&self, _: &Request<'_>, ties: Ties) -> String {
        format!("the match with the most aggregated bandwidth, then {}", ties.rule())
    }

    fn objective(&self, _: &Request<'_>) -> Option<Objective> {
        Some(Objective::Aggregated)
    }

    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        machine.best(request.pattern, free, Objective::Aggregated, effort)
    }
}
