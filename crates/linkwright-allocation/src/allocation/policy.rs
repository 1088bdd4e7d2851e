//! What an allocation policy is, and the policies by name.

use super::effort::Effort;
use super::error::AllocationError;
use super::gpu_set::GpuSet;
use super::nearness::Ties;
use super::pattern::Pattern;
use super::policies::{Baseline, Greedy, Preserve, TopologyAware};
use super::prepared::PreparedMachine;
use super::selection::{Objective, Selection};

/// What a job asks for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Which of its GPUs talk to which.
    pub pattern: &'a Pattern,
    /// Whether its run time depends on bandwidth, as its owner says.
    pub sensitive: bool,
}

/// A rule that picks GPUs for a job: a pure function of the machine, the job and what is free.
pub trait Policy: Send + Sync {
    /// The name in scenarios and on the command line.
    fn name(&self) -> &'static str;

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

/// Every policy, in the order of the paper's tables.
pub const POLICIES: [&dyn Policy; 4] = [&Baseline, &TopologyAware, &Greedy, &Preserve];

/// The policy of that name.
///
/// # Errors
/// [`AllocationError::UnknownPolicy`] with the names that exist.
pub fn policy(name: &str) -> Result<&'static dyn Policy, AllocationError> {
    let found = POLICIES.into_iter().find(|policy| policy.name() == name);
    found.ok_or_else(|| AllocationError::UnknownPolicy {
        name: name.to_owned(),
        known: POLICIES.map(Policy::name).join(", "),
    })
}
