//! The lowest free ids, as Nvidia Docker gives GPUs out (MAPA, Section 4).

use crate::allocation::policy::{Policy, Request};
use crate::allocation::{Effort, GpuSet, Objective, PreparedMachine, Selection, Ties};
use crate::diagnostic::Registered;

/// Takes the lowest free ids; the pattern is then laid on them as well as it can be.
#[derive(Debug)]
pub struct Baseline;

impl Registered for Baseline {
    fn name(&self) -> &'static str {
        "baseline"
    }
}

impl Policy for Baseline {
    fn rule(&self, _: &Request<'_>, _: Ties) -> String {
        "the free GPUs with the lowest ids".to_owned()
    }

    fn objective(&self, _: &Request<'_>) -> Option<Objective> {
        None
    }

    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        let size = request.pattern.size();
        let gpus: GpuSet = free.iter().take(size).collect();
        (gpus.len() == size).then(|| machine.place(request.pattern, gpus, free, effort))
    }
}
