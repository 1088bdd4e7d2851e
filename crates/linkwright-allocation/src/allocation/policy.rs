//! What an allocation policy is, and the policies by name.

use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::nearness::Ties;
use super::pattern::Pattern;
use super::policies::{Baseline, Greedy, Preserve, TopologyAware};
use super::prepared::PreparedMachine;
use super::selection::{Objective, Selection};
use crate::diagnostic::{Registered, Registry, UnknownName};

/// What a job asks for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Which of its GPUs talk to which.
    pub pattern: &'a Pattern,
    /// Whether its run time depends on bandwidth, as its owner says.
    pub sensitive: bool,
}

/// A rule that picks GPUs for a job: a pure function of the machine, the job and what is free.
pub trait Policy: Registered {
    /// The rule for this request under this rule for ties, in one sentence.
    fn rule(&self, request: &Request<'_>, ties: Ties) -> String;

    /// What the policy ranks matches by; `None` where it does not rank them.
    fn objective(&self, request: &Request<'_>) -> Option<Objective>;

    /// The GPUs for the job, or `None` where too few are free. Where the effort was stopped
    /// meanwhile, what comes back is to be thrown away.
    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection>;
}

/// Linkwright's own policies, in the order of the paper's tables.
pub const POLICIES: [&dyn Policy; 4] = [&Baseline, &TopologyAware, &Greedy, &Preserve];

/// Linkwright's own policies by name.
#[must_use]
pub fn policies() -> Registry<dyn Policy> {
    Registry::new("policy", &POLICIES)
}

/// Linkwright's own policy of that name.
///
/// # Errors
/// A name that none has.
pub fn policy(name: &str) -> Result<&'static dyn Policy, UnknownName> {
    policies().get(name)
}
