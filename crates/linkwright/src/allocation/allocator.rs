//! Decisions on a live server: machine, policy and state together.

use super::error::AllocationError;
use super::gpu_set::GpuSet;
use super::policy::{Policy, Request};
use super::prepared::{Match, PreparedMachine};
use super::selection::{Objective, Selection};
use super::state::ServerState;

/// Gives jobs their GPUs by one policy and keeps the state.
pub struct Allocator {
    machine: PreparedMachine,
    policy: &'static dyn Policy,
    state: ServerState,
}

/// Why a decision came out as it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The policy's rule for this job, in one sentence.
    pub rule: &'static str,
    /// The decision.
    pub selection: Selection,
    /// The best candidates by the policy's own order, the chosen one first.
    pub ranking: Vec<Match>,
    /// Why the first beat the second.
    pub verdict: String,
}

impl Allocator {
    /// An allocator on a server in a given state.
    ///
    /// # Errors
    /// A state of another machine: another name or number of GPUs.
    pub fn new(
        machine: PreparedMachine,
        policy: &'static dyn Policy,
        state: ServerState,
    ) -> Result<Self, AllocationError> {
        if state.gpu_count() != machine.gpu_count() {
            let (saved, actual) = (state.gpu_count(), machine.gpu_count());
            let problem = format!(
                "it is of `{}` with {saved} GPUs, the machine has {actual}",
                state.machine()
            );
            return Err(AllocationError::State { problem });
        }
        Ok(Self { machine, policy, state })
    }

    /// The machine.
    #[must_use]
    pub const fn machine(&self) -> &PreparedMachine {
        &self.machine
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &'static dyn Policy {
        self.policy
    }

    /// What is free, held and unhealthy.
    #[must_use]
    pub const fn state(&self) -> &ServerState {
        &self.state
    }

    /// The same, to release jobs and mark GPUs.
    pub const fn state_mut(&mut self) -> &mut ServerState {
        &mut self.state
    }

    /// What the policy would give now, or `None` where too few GPUs are free.
    ///
    /// # Errors
    /// A job larger than the machine.
    pub fn decide(
        &self,
        job: &str,
        request: &Request<'_>,
    ) -> Result<Option<Selection>, AllocationError> {
        let (size, gpus) = (request.pattern.size(), self.machine.gpu_count());
        if size > gpus {
            return Err(AllocationError::JobTooLarge { job: job.to_owned(), size, gpus });
        }
        Ok(self.policy.choose(&self.machine, request, self.state.free()))
    }

    /// Gives a job its GPUs, or `None` where too few are free.
    ///
    /// # Errors
    /// A job larger than the machine, or one that holds GPUs already.
    pub fn allocate(
        &mut self,
        job: &str,
        request: &Request<'_>,
    ) -> Result<Option<Selection>, AllocationError> {
        let Some(selection) = self.decide(job, request)? else { return Ok(None) };
        self.state.allocate(job, &selection.chosen.placement)?;
        Ok(Some(selection))
    }

    /// The decision, its best `limit` candidates, and why the first won; `None` where too
    /// few GPUs are free.
    ///
    /// # Errors
    /// A job larger than the machine.
    pub fn explain(
        &self,
        job: &str,
        request: &Request<'_>,
        limit: usize,
    ) -> Result<Option<Explanation>, AllocationError> {
        let Some(selection) = self.decide(job, request)? else { return Ok(None) };
        let free = self.state.free();
        let objective = self.policy.objective(request);
        let ranking = self.machine.ranking(request.pattern, free, objective, &selection, limit);
        let verdict = verdict(&ranking, objective);
        let rule = self.policy.rule(request);
        Ok(Some(Explanation { rule, selection, ranking, verdict }))
    }
}

/// What decided between the first two of a ranking.
fn verdict(ranking: &[Match], objective: Option<Objective>) -> String {
    let [first, second, ..] = ranking else {
        return "no other set of free GPUs is large enough".to_owned();
    };
    let gigabytes = |m: &Match| {
        let effective = m.effective_bandwidth.unwrap_or_default();
        match objective {
            Some(Objective::Aggregated) => m.aggregated_bandwidth.as_gigabytes_per_second(),
            Some(Objective::Effective) => effective,
            Some(Objective::Preserved) => m.preserved_bandwidth.as_gigabytes_per_second(),
            None => 0.0,
        }
    };
    let what = match objective {
        Some(Objective::Aggregated) => "aggregated",
        Some(Objective::Effective) => "effective",
        Some(Objective::Preserved) => "preserved",
        None => {
            return format!("the rule takes GPUs {} whatever the links", first.gpus());
        }
    };
    let (ours, theirs) = (gigabytes(first), gigabytes(second));
    let (chosen, next) = (first.gpus(), second.gpus());
    if ours > theirs {
        return format!(
            "GPUs {chosen} have {ours:.2} GB/s of {what} bandwidth, the next best, {next}, {theirs:.2}"
        );
    }
    let (a, b) = (first.aggregated_bandwidth, second.aggregated_bandwidth);
    if a > b {
        return format!(
            "GPUs {chosen} and {next} tie at {ours:.2} GB/s of {what} bandwidth; {chosen} have \
             {a} of aggregated bandwidth, {next} {b}"
        );
    }
    format!("GPUs {chosen} and {next} tie at {ours:.2} GB/s of {what} bandwidth; the lower ids win")
}

impl PreparedMachine {
    /// The `limit` best candidates by an objective, the selection first; without an
    /// objective, by lowest ids behind the selection.
    fn ranking(
        &self,
        pattern: &super::Pattern,
        free: GpuSet,
        objective: Option<Objective>,
        selection: &Selection,
        limit: usize,
    ) -> Vec<Match> {
        let mut others: Vec<Match> = self
            .every_set(pattern, free)
            .into_iter()
            .filter(|set| *set != selection.chosen.gpus())
            .map(|set| self.best_on(pattern, set, free, objective))
            .collect();
        let value = |m: &Match| match objective {
            Some(Objective::Effective) => m.effective_bandwidth.unwrap_or_default(),
            Some(Objective::Preserved) => m.preserved_bandwidth.0 as f64,
            Some(Objective::Aggregated) | None => 0.0,
        };
        if objective.is_some() {
            others.sort_by(|a, b| {
                let by_value = value(b).total_cmp(&value(a));
                by_value.then(b.aggregated_bandwidth.cmp(&a.aggregated_bandwidth))
            });
        }
        others.truncate(limit.saturating_sub(1));
        std::iter::once(selection.chosen.clone()).chain(others).collect()
    }
}
