//! Adds an allocation policy that takes the highest free ids.

use linkwright::allocation::{
    Effort, GpuSet, Objective, Policy, PreparedMachine, Request, Selection, Ties,
};
use linkwright::diagnostic::Registered;

/// Takes the highest free ids.
#[derive(Debug)]
pub struct LastGpus;

impl Registered for LastGpus {
    fn name(&self) -> &'static str {
        "last"
    }
}

impl Policy for LastGpus {
    fn rule(&self, _: &Request<'_>, _: Ties) -> String {
        "the free GPUs with the highest ids".to_owned()
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
        let first = free.len().checked_sub(size)?;
        let gpus: GpuSet = free.iter().skip(first).collect();
        Some(machine.place(request.pattern, gpus, free, effort))
    }
}
