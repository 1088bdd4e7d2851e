//! Decides on a live server: holds its machine, policy and state together.

use std::sync::Arc;

use super::effort::Effort;
use super::error::AllocationError;
use super::gpu_set::GpuSet;
use super::nearness::{NearnessDifference, Ties};
use super::policy::{Policy, Request};
use super::prepared::{Match, PreparedMachine};
use super::selection::{Objective, RunnersUp, Selection};
use super::state::ServerState;

/// Gives jobs their GPUs by one policy and keeps the state. A clone shares the machine and
/// has a state of its own.
#[derive(Clone)]
pub struct Allocator {
    machine: Arc<PreparedMachine>,
    policy: &'static dyn Policy,
    state: ServerState,
}

/// Why a decision came out as it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Gives the policy's rule for this job, in one sentence.
    pub rule: String,
    /// The key in which the first and the second part, such as `effective bandwidth`, `host
    /// proximity` or `lowest ids`; `rule` where the policy compares nothing.
    pub decided_by: &'static str,
    /// Holds the match that the policy chose.
    pub selection: Selection,
    /// Lists the best candidates by the policy's own order, the chosen one first.
    pub ranking: Vec<Match>,
    /// Whether those behind the chosen one are the next best for certain: as
    /// [`Selection::optimal`], of the effort that ranking them took.
    pub certain: bool,
    /// Says why the first beat the second.
    pub verdict: String,
}

impl Allocator {
    /// Makes an allocator on a server in a given state.
    ///
    /// # Errors
    /// Fails for the state of another machine: its name or its number of GPUs differs.
    pub fn new(
        machine: PreparedMachine,
        policy: &'static dyn Policy,
        state: ServerState,
    ) -> Result<Self, AllocationError> {
        let saved = (state.machine(), state.gpu_count());
        let actual = (machine.name(), machine.gpu_count());
        if saved != actual {
            let of = |(name, gpus): (&str, usize)| format!("`{name}` with {gpus} GPUs");
            let problem = format!("it is of {}, this is {}", of(saved), of(actual));
            return Err(AllocationError::State { problem });
        }
        Ok(Self { machine: Arc::new(machine), policy, state })
    }

    /// An allocator on a server whose GPUs are all free and healthy.
    #[must_use]
    pub fn idle(machine: PreparedMachine, policy: &'static dyn Policy) -> Self {
        let state = ServerState::new(machine.name(), machine.graph());
        Self { machine: Arc::new(machine), policy, state }
    }

    /// Returns the machine that it allocates on.
    #[must_use]
    pub fn machine(&self) -> &PreparedMachine {
        &self.machine
    }

    /// Returns the policy that decides.
    #[must_use]
    pub fn policy(&self) -> &'static dyn Policy {
        self.policy
    }

    /// Returns the state: which GPUs are free, held and unhealthy.
    #[must_use]
    pub const fn state(&self) -> &ServerState {
        &self.state
    }

    /// Returns the state to be changed, to release jobs and mark GPUs.
    pub const fn state_mut(&mut self) -> &mut ServerState {
        &mut self.state
    }

    /// Returns the policy's choice for now, or `None` where too few GPUs are free.
    ///
    /// # Errors
    /// A job larger than the machine, or an effort that was stopped.
    pub fn decide(
        &self,
        job: &str,
        request: &Request<'_>,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Selection>, AllocationError> {
        let (size, gpus) = (request.pattern.size(), self.machine.gpu_count());
        if size > gpus {
            return Err(AllocationError::JobTooLarge { job: job.to_owned(), size, gpus });
        }
        let selection = self.choose(request, effort);
        not_stopped(job, effort)?;
        Ok(selection)
    }

    /// Gives what the policy would of the free GPUs.
    pub(super) fn choose(
        &self,
        request: &Request<'_>,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        self.policy.choose(&self.machine, request, self.state.free(), effort)
    }

    /// Gives a job its GPUs, or `None` where too few are free.
    ///
    /// # Errors
    /// A job larger than the machine, one that holds GPUs already, or an effort that was
    /// stopped.
    pub fn allocate(
        &mut self,
        job: &str,
        request: &Request<'_>,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Selection>, AllocationError> {
        let Some(selection) = self.decide(job, request, effort)? else { return Ok(None) };
        self.state.allocate(job, &selection.chosen.placement)?;
        Ok(Some(selection))
    }

    /// The decision, its best `limit` candidates (one at least), and why the first won; `None`
    /// where too few GPUs are free. The decision may take the whole effort, and the ranking
    /// of all others together as much again.
    ///
    /// # Errors
    /// A job larger than the machine, or an effort that was stopped.
    pub fn explain(
        &self,
        job: &str,
        request: &Request<'_>,
        limit: usize,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Explanation>, AllocationError> {
        let Some(selection) = self.decide(job, request, effort)? else { return Ok(None) };
        self.explain_choice(job, request, selection, limit, effort).map(Some)
    }

    /// Explains a choice of the policy.
    pub(super) fn explain_choice(
        &self,
        job: &str,
        request: &Request<'_>,
        selection: Selection,
        limit: usize,
        effort: &mut Effort<'_>,
    ) -> Result<Explanation, AllocationError> {
        let free = self.state.free();
        let objective = self.policy.objective(request);
        let chosen = selection.chosen.gpus();
        effort.renew();
        // The verdict speaks of the second also where it is not asked for.
        let others = limit.max(2) - 1;
        let RunnersUp { matches, certain } =
            self.machine.runners_up(request.pattern, free, objective, chosen, others, effort);
        not_stopped(job, effort)?;
        let mut ranking = vec![selection.chosen.clone()];
        ranking.extend(matches);
        let (decided_by, verdict) = verdict(&self.machine, free, &ranking, objective, certain);
        ranking.truncate(limit.max(1));
        let rule = self.policy.rule(request, self.machine.ties());
        Ok(Explanation { rule, decided_by, selection, ranking, certain, verdict })
    }
}

/// Refuses what was found after its caller ended the work.
pub(super) fn not_stopped(job: &str, effort: &Effort<'_>) -> Result<(), AllocationError> {
    if effort.is_stopped() {
        return Err(AllocationError::Interrupted { job: job.to_owned() });
    }
    Ok(())
}

/// Says what decided between the first two of a ranking: the key's name, and the sentence.
fn verdict(
    machine: &PreparedMachine,
    free: GpuSet,
    ranking: &[Match],
    objective: Option<Objective>,
    certain: bool,
) -> (&'static str, String) {
    let [first, second, ..] = ranking else {
        return ("no other set", "no other set of free GPUs is large enough".to_owned());
    };
    let (chosen, next) = (first.gpus(), second.gpus());
    let Some(objective) = objective else {
        return ("rule", format!("the rule takes GPUs {chosen} whatever the links"));
    };
    let gigabytes = |m: &Match| match objective {
        Objective::Aggregated => m.aggregated_bandwidth.as_gigabytes_per_second(),
        Objective::Effective => m.effective_bandwidth.unwrap_or_default(),
        Objective::Preserved => m.preserved_bandwidth.as_gigabytes_per_second(),
    };
    let key = match objective {
        Objective::Aggregated => "aggregated bandwidth",
        Objective::Effective => "effective bandwidth",
        Objective::Preserved => "preserved bandwidth",
    };
    let (ours, theirs) = (gigabytes(first), gigabytes(second));
    if ours > theirs {
        let found = if certain { "" } else { " found" };
        let why = format!(
            "GPUs {chosen} have {ours:.2} GB/s of {key}, the next best{found}, {next}, {theirs:.2}"
        );
        return (key, why);
    }
    let tie = format!("GPUs {chosen} and {next} tie at {ours:.2} GB/s of {key}");
    let (a, b) = (first.aggregated_bandwidth, second.aggregated_bandwidth);
    if a > b {
        let why = format!("{tie}; {chosen} have {a} of aggregated bandwidth, {next} {b}");
        return ("aggregated bandwidth", why);
    }
    let nearness = |set: GpuSet| machine.nearness(set, free);
    let difference = match machine.ties() {
        Ties::Nearest => nearness(chosen).difference(&nearness(next)),
        Ties::Published => None,
    };
    match difference.filter(|found| found.counts.0 < found.counts.1) {
        Some(NearnessDifference { key, what, counts: (ours, theirs) }) => {
            (key, format!("{tie}; {key}: {chosen} have {ours} {what}, {next} {theirs}"))
        }
        None => ("lowest ids", format!("{tie}; the lower ids win")),
    }
}
