//! Describes an allocation policy, and lists the policies by name.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::nearness::Ties;
use super::pattern::Pattern;
use super::policies::{Baseline, Greedy, Preserve, TopologyAware};
use super::prepared::PreparedMachine;
use super::selection::{Objective, Selection};
use crate::diagnostic::{Registered, Registry, UnknownName};

/// Describes a job's request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Says which of its GPUs talk to which.
    pub pattern: &'a Pattern,
    /// Whether its run time depends on bandwidth, as its owner says.
    pub sensitive: bool,
}

/// A rule that picks GPUs for a job: a pure function of the machine, the job and what is free.
pub trait Policy: Registered {
    /// Returns the rule for this request under this rule for ties, in one sentence.
    fn rule(&self, request: &Request<'_>, ties: Ties) -> String;

    /// Returns the score that the policy ranks matches by, or `None` where it does not rank them.
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

/// A policy that was chosen, which is written by its name.
#[derive(Clone, Copy)]
pub struct ChosenPolicy(pub &'static dyn Policy);

impl fmt::Debug for ChosenPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.name())
    }
}

impl PartialEq for ChosenPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Serialize for ChosenPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for ChosenPolicy {
    /// Only Linkwright's own are known to a text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        policy(&name).map(Self).map_err(D::Error::custom)
    }
}

/// Lists Linkwright's own policies, in the order of the paper's tables.
pub const POLICIES: [&dyn Policy; 4] = [&Baseline, &TopologyAware, &Greedy, &Preserve];

/// Returns Linkwright's own policies by name.
#[must_use]
pub fn policies() -> Registry<dyn Policy> {
    Registry::new("policy", &POLICIES)
}

/// Returns Linkwright's own policy of that name.
///
/// # Errors
/// A name that none has.
pub fn policy(name: &str) -> Result<&'static dyn Policy, UnknownName> {
    policies().get(name)
}
