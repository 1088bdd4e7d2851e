//! `linkwright.Allocator`, its decisions and their explanations.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::time::Instant;

use linkwright::allocation::bandwidth::published::{self, Regression};
use linkwright::allocation::links::LinkCounts;
use linkwright::allocation::{
    self, AllocationError, BandwidthModel, Effort, Ended, GpuSet, MAX_GPUS, PreparedMachine,
    Request, Selection, ServerState, Ties, policy,
};
use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::system::BandwidthProfile;
use linkwright::table::{self, Column};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::given;
use crate::bandwidth_fit::BandwidthFit;
use crate::cells;
use crate::choices::{Choice, profile_of};
use crate::errors;
use crate::number;
use crate::owner::{Owner, microseconds};
use crate::pattern::Pattern;
use crate::system::System;
use crate::table::Table;

/// A pattern placed on GPUs, with its scores.
#[pyclass(frozen, eq, hash, module = "linkwright")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Match {
    selection: Selection,
    /// The links that the pattern uses, by the machine's names, with their numbers.
    joined_by: Vec<(String, usize)>,
}

/// Equal matches are of the same GPUs.
impl Hash for Match {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.selection.chosen.placement.hash(state);
    }
}

impl Match {
    fn new(machine: &PreparedMachine, pattern: &Pattern, selection: Selection) -> Self {
        let joined_by = machine.link_names(&pattern.0, &selection.chosen.placement);
        Self { selection, joined_by }
    }
}

#[pymethods]
impl Match {
    /// The GPU of each vertex of the pattern.
    #[getter]
    fn gpus(&self) -> Vec<usize> {
        self.selection.chosen.placement.clone()
    }

    /// How many pairs of GPUs that the pattern joins have which link, the widest first.
    ///
    /// The names are the machine's: `NV18` for 18 NVLinks, `XGMI1` for one of xGMI. A way through
    /// the host is named after what it crosses: `PIX`, `PXB`, `PHB`, `NODE` or `SYS`.
    #[getter]
    fn joined_by<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for (name, count) in &self.joined_by {
            named.set_item(name, count)?;
        }
        Ok(named)
    }

    /// How many double NVLinks, single NVLinks and PCIe links the pattern uses.
    ///
    /// These are the classes of MAPA's Eq. 2.
    #[getter]
    fn links(&self) -> (usize, usize, usize) {
        let LinkCounts { double, single, pcie } = self.selection.chosen.links;
        (double, single, pcie)
    }

    /// Eq. 1, in GB/s: the bandwidth of all pairs that the pattern uses.
    #[getter]
    fn aggregated_bandwidth(&self) -> f64 {
        self.selection.chosen.aggregated_bandwidth.as_gigabytes_per_second()
    }

    /// Predicted bandwidth of the pattern, in GB/s; None where it has no edges.
    ///
    /// Of a ring, a tree or both, and of every pattern under Eq. 2, it is the bus bandwidth of an
    /// all-reduce. Of another under the sound model it is the rate of the edge with the largest
    /// share. All edges carry theirs at once then, both ways.
    #[getter]
    fn effective_bandwidth(&self) -> Option<f64> {
        self.selection.chosen.effective_bandwidth
    }

    /// Eq. 3, in GB/s: the bandwidth between the GPUs that stay free.
    #[getter]
    fn preserved_bandwidth(&self) -> f64 {
        self.selection.chosen.preserved_bandwidth.as_gigabytes_per_second()
    }

    /// How many sets of GPUs competed for the decision.
    #[getter]
    fn candidates(&self) -> u64 {
        self.selection.candidates
    }

    /// Whether no match can be better; true is a proof, false where it was not found.
    #[getter]
    fn optimal(&self) -> bool {
        self.selection.optimal
    }

    /// By what fraction another match could be better at most.
    ///
    /// By the policy's objective, or, where that is certain, in aggregated bandwidth. 0.0 where this
    /// one is optimal, None where no bound is known.
    #[getter]
    fn gap(&self) -> Option<f64> {
        self.selection.gap
    }

    fn __repr__(&self) -> String {
        let (gpus, links) = (self.gpus(), self.links());
        let aggregated = self.aggregated_bandwidth();
        format!("<Match GPUs {gpus:?}: links {links:?}, {aggregated} GB/s aggregated>")
    }
}

/// Why a decision came out as it did.
#[pyclass(frozen, eq, module = "linkwright")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Explanation {
    rule: String,
    decided_by: String,
    verdict: String,
    ranking: Vec<Match>,
}

impl Explanation {
    fn new(machine: &PreparedMachine, pattern: &Pattern, why: allocation::Explanation) -> Self {
        let Selection { candidates, optimal, gap, .. } = why.selection;
        // Whether the others are the next best is known, or it is not.
        let certain = (why.certain, why.certain.then_some(0.0));
        let each = why.ranking.into_iter().enumerate().map(|(place, chosen)| {
            let (optimal, gap) = if place == 0 { (optimal, gap) } else { certain };
            Match::new(machine, pattern, Selection { chosen, candidates, optimal, gap })
        });
        let ranking = each.collect();
        let (rule, decided_by) = (why.rule, why.decided_by.to_owned());
        Self { rule, decided_by, verdict: why.verdict, ranking }
    }
}

#[pymethods]
impl Explanation {
    /// The policy's rule for this job, in one sentence.
    #[getter]
    fn rule(&self) -> &str {
        &self.rule
    }

    /// The key in which the chosen match and the next best part.
    ///
    /// `effective bandwidth`, `aggregated bandwidth`, `preserved bandwidth`, `host proximity`,
    /// `near NICs`, `shared NICs`, `what stays whole` or `lowest ids`; `rule` where the policy
    /// compares nothing, `no other set` where nothing competed.
    #[getter]
    fn decided_by(&self) -> &str {
        &self.decided_by
    }

    /// Why the chosen match beat the next best.
    #[getter]
    fn verdict(&self) -> &str {
        &self.verdict
    }

    /// The decision.
    #[getter]
    fn chosen(&self) -> Match {
        self.ranking[0].clone()
    }

    /// The best candidates by the policy's own order, the chosen one first.
    #[getter]
    fn ranking(&self) -> Vec<Match> {
        self.ranking.clone()
    }

    /// Shows the ranking below what decided.
    fn _repr_html_(&self) -> PyResult<String> {
        let ids = |it: &Match| it.gpus().iter().map(|gpu| *gpu as u32).collect();
        let gigabytes =
            |of: fn(&Match) -> f64| Column::Float64(self.ranking.iter().map(of).collect());
        let effective = self.ranking.iter().map(Match::effective_bandwidth).collect();
        let table = table::Table::new()
            .with("gpus", "", self.ranking.iter().map(ids).collect::<Vec<Vec<u32>>>())
            .with("effective_bandwidth", "GB/s", Column::OptionalFloat64(effective))
            .with("aggregated_bandwidth", "GB/s", gigabytes(Match::aggregated_bandwidth))
            .with("preserved_bandwidth", "GB/s", gigabytes(Match::preserved_bandwidth));
        Ok(cells::titled(&self.__repr__(), &Table::new(table)?._repr_html_()))
    }

    fn __repr__(&self) -> String {
        let (gpus, by) = (self.ranking[0].gpus(), &self.decided_by);
        format!("<Explanation: GPUs {gpus:?} of {} ranked, by {by}>", self.ranking.len())
    }
}

/// Runs what may take long without the interpreter's lock, and looks for Ctrl-C within it.
fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut Effort<'_>) -> Result<T, AllocationError> + Send,
) -> PyResult<T> {
    let mut failure = None;
    let done = py.detach(|| {
        let mut go_on = || match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        };
        work(&mut Effort::interruptible(&mut go_on))
    });
    match failure {
        Some(error) => Err(error),
        None => done.map_err(errors::allocation),
    }
}

/// Gives jobs their GPUs on a live server, by one policy.
#[pyclass(module = "linkwright")]
pub struct Allocator(allocation::Allocator, Origin);

/// What an allocator is made from, but for its policy and its state.
#[derive(Clone, Serialize, Deserialize)]
struct Origin {
    system: System,
    model: String,
    profile: String,
    ties: String,
    #[serde(default)]
    fit: Option<BandwidthFit>,
}

impl Serialize for Allocator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.1, self.policy(), self.save()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Allocator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (origin, policy, state) = <(Origin, String, String)>::deserialize(deserializer)?;
        Python::attach(|py| Self::made(py, origin, &policy, Some(&state), "<pickle>", &[]))
            .map_err(D::Error::custom)
    }
}

impl Allocator {
    fn made(
        py: Python<'_>,
        origin: Origin,
        policy: &str,
        state: Option<&str>,
        state_file: &str,
        lost: &[i128],
    ) -> PyResult<Self> {
        let policy = self::policy(policy).map_err(errors::allocation_choice)?;
        let profile = BandwidthProfile::named(&origin.profile)?;
        let model = BandwidthModel::named(&origin.model)?;
        let regression =
            origin.fit.as_ref().map_or(Regression::PUBLISHED, |fit| fit.0.coefficients.0);
        let machine = &origin.system.listed()?;
        let prepared = py
            .detach(|| PreparedMachine::with_regression(machine, profile, model, regression))
            .map_err(errors::allocation)?
            .with_ties(Ties::named(&origin.ties)?);
        let (name, graph) = (machine.name(), prepared.graph());
        let state = match state {
            Some(text) => {
                let lost = lost.iter().map(|gpu| number::gpu_of(MAX_GPUS, *gpu));
                let lost = lost.collect::<PyResult<Vec<usize>>>()?;
                ServerState::restore(state_file, text, name, graph, &lost)
                    .map_err(errors::allocation)?
            }
            None => ServerState::new(name, graph),
        };
        let made = allocation::Allocator::new(prepared, policy, state);
        made.map(|made| Self(made, origin)).map_err(errors::allocation)
    }

    /// A copy to decide on, so that other threads may use this one meanwhile.
    fn now(slf: &Bound<'_, Self>) -> allocation::Allocator {
        slf.borrow().0.clone()
    }

    /// The GPUs by their ids.
    fn known(&self, gpus: &[i128]) -> PyResult<Vec<usize>> {
        let known = self.0.machine().gpu_count();
        gpus.iter().map(|gpu| number::gpu_of(known, *gpu)).collect()
    }

    /// The GPUs of a placement of the pattern.
    fn checked(&self, pattern: &Pattern, gpus: &[i128]) -> PyResult<Vec<usize>> {
        let gpus = self.known(gpus)?;
        let repeated = |at: &usize| gpus[..*at].contains(&gpus[*at]);
        if let Some(at) = (0..gpus.len()).find(repeated) {
            return Err(errors::repeated_gpu(gpus[at]));
        }
        if gpus.len() != pattern.0.size() {
            let (given, size) = (gpus.len(), pattern.0.size());
            return Err(errors::allocation(AllocationError::PlacementSize { given, size }));
        }
        Ok(gpus)
    }
}

#[pymethods]
impl Allocator {
    /// An allocator; with `state`, text that `save` gave, in that state.
    ///
    /// Args:
    ///     system: The server.
    ///     policy: One of `policy_names`.
    ///     bandwidth_model: `sound` or `published`.
    ///     bandwidth_profile: `mapa` or `data-sheet`; if not given, that of the machine.
    ///     ties: `nearest` or `published`: what decides between matches that tie in the policy's
    ///         scores.
    ///     bandwidth_fit: Coefficients in place of the published; for `published` alone.
    ///     state: What `save` returned earlier.
    ///     state_file: The state's name in errors.
    ///     lost: GPUs that the machine has lost since the state was saved, by their ids then;
    ///         needed only where names, places and links leave open which they are.
    ///
    /// Raises:
    ///     AllocationError: If a name is unknown.
    ///     InputError: If the state is not what `save` gave, or of another machine.
    #[new]
    #[pyo3(signature = (
        system: "System", policy: "PolicyName" = "preserve", *, bandwidth_model: "BandwidthModelName" = "sound",
        bandwidth_profile: "BandwidthProfileName | None" = None, ties: "TieName" = "nearest",
        bandwidth_fit: "BandwidthFit | None" = None,
        state: "str | None" = None, state_file: "str" = "<state>", lost: "Sequence[int] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] policy: &str,
        #[pyo3(from_py_with = given)] bandwidth_model: &str,
        #[pyo3(from_py_with = given)] bandwidth_profile: Option<&str>,
        #[pyo3(from_py_with = given)] ties: &str,
        #[pyo3(from_py_with = given)] bandwidth_fit: Option<&BandwidthFit>,
        #[pyo3(from_py_with = given)] state: Option<&str>,
        #[pyo3(from_py_with = given)] state_file: &str,
        #[pyo3(from_py_with = given)] lost: Option<Vec<i128>>,
    ) -> PyResult<Self> {
        if bandwidth_fit.is_some() && bandwidth_model != "published" {
            let problem = format!("`{bandwidth_model}` has no coefficients to fit");
            let remedy = "let `bandwidth_model` be \"published\", whose equation was fitted";
            return Err(errors::allocation_choice(Diagnosis::of(problem).remedy(remedy)));
        }
        let server = system.listed()?;
        let origin = Origin {
            system: system.clone(),
            model: bandwidth_model.to_owned(),
            profile: profile_of(&server, bandwidth_profile)?.name().to_owned(),
            ties: ties.to_owned(),
            fit: bandwidth_fit.cloned(),
        };
        Self::made(py, origin, policy, state, state_file, &lost.unwrap_or_default())
    }

    /// The policy's name.
    #[getter]
    fn policy(&self) -> &'static str {
        self.0.policy().name()
    }

    /// The GPUs that a job can get now.
    #[getter]
    fn free(&self) -> Vec<usize> {
        self.0.state().free().iter().collect()
    }

    /// The GPUs marked unhealthy.
    #[getter]
    fn unhealthy(&self) -> Vec<usize> {
        self.0.state().unhealthy().iter().collect()
    }

    /// The GPUs that the machine has lost since the state was begun, by their ids before.
    ///
    /// They are unhealthy. Those that are left are numbered anew: `ids_before_loss` has the
    /// id that each of them had.
    #[getter]
    fn lost(&self) -> Vec<usize> {
        self.0.state().lost().to_vec()
    }

    /// For each GPU its id before the machine lost any.
    #[getter]
    fn ids_before_loss(&self) -> Vec<usize> {
        self.0.state().ids_before_loss().to_vec()
    }

    /// Who asked for each job's GPUs, where that is known.
    #[getter]
    fn owners(&self) -> BTreeMap<String, Owner> {
        let owners = self.0.state().owners().iter();
        owners.map(|(job, owner)| (job.clone(), Owner(owner.clone()))).collect()
    }

    /// Each job's GPUs, but for those that are lost.
    #[getter]
    fn held(&self) -> BTreeMap<String, Vec<usize>> {
        self.0.state().held().clone()
    }

    /// What the policy would give now; None if too few GPUs are free.
    ///
    /// Raises:
    ///     AllocationError: If the job is larger than the machine.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (job: "str", pattern: "Pattern", *, sensitive: "bool" = true))]
    fn decide(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
    ) -> PyResult<Option<Match>> {
        let request = Request { pattern: &pattern.0, sensitive };
        let now = Self::now(slf);
        detached(slf.py(), |effort| now.decide(job, &request, effort))
            .map(|found| found.map(|found| Match::new(now.machine(), pattern, found)))
    }

    /// Gives the job its GPUs; None, and no change, if too few are free.
    ///
    /// Args:
    ///     job: Its name, by which it is released.
    ///     pattern: Which of its GPUs talk to which.
    ///     sensitive: Whether bandwidth matters to it.
    ///     owner: Who asks, to be kept with the state.
    ///
    /// Raises:
    ///     AllocationError: If the job is larger than the machine or holds GPUs already.
    ///     KeyboardInterrupt: Within a second of Ctrl-C; nothing has changed then.
    #[pyo3(signature = (job: "str", pattern: "Pattern", *, sensitive: "bool" = true, owner: "Owner | None" = None))]
    fn allocate(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
        #[pyo3(from_py_with = given)] owner: Option<&Owner>,
    ) -> PyResult<Option<Match>> {
        let request = Request { pattern: &pattern.0, sensitive };
        loop {
            let mut next = Self::now(slf);
            let before = next.state().clone();
            let decision = detached(slf.py(), |effort| next.allocate(job, &request, effort))?;
            if let (Some(_), Some(owner)) = (&decision, owner) {
                let owned = next.state_mut().own(job, owner.0.clone());
                owned.map_err(errors::allocation)?;
            }
            let mut allocator = slf.borrow_mut();
            // Another thread may have changed the state meanwhile; then the choice is stale.
            if *allocator.0.state() == before {
                let given = decision.map(|found| Match::new(next.machine(), pattern, found));
                allocator.0 = next;
                return Ok(given);
            }
        }
    }

    /// The decision with its `limit` best candidates; None if too few GPUs are free.
    ///
    /// Raises:
    ///     AllocationError: If the job is larger than the machine.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (job: "str", pattern: "Pattern", *, sensitive: "bool" = true, limit: "int" = 5))]
    fn explain(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
        #[pyo3(from_py_with = given)] limit: i128,
    ) -> PyResult<Option<Explanation>> {
        let limit = number::within("limit", limit, usize::MAX, errors::allocation_choice)?;
        let request = Request { pattern: &pattern.0, sensitive };
        let now = Self::now(slf);
        let explanation = detached(slf.py(), |effort| now.explain(job, &request, limit, effort))?;
        Ok(explanation.map(|why| Explanation::new(now.machine(), pattern, why)))
    }

    /// The scores of a placement: the GPU of each vertex.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice, or their number is not the size.
    #[pyo3(signature = (pattern: "Pattern", gpus: "Sequence[int]"))]
    fn score(
        &self,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Match> {
        let gpus = self.checked(pattern, &gpus)?;
        let free = self.0.state().free();
        let chosen = self.0.machine().score(&pattern.0, gpus, free);
        let selection = Selection { chosen, candidates: 1, optimal: true, gap: Some(0.0) };
        Ok(Match::new(self.0.machine(), pattern, selection))
    }

    /// The placement on exactly these GPUs with the most aggregated bandwidth, scored.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice, or their number is not the size.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (pattern: "Pattern", gpus: "Sequence[int]"))]
    fn best_placement(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Match> {
        let gpus = slf.borrow().checked(pattern, &gpus)?;
        let now = Self::now(slf);
        let gpus: GpuSet = gpus.into_iter().collect();
        detached(slf.py(), |effort| {
            let placed = now.machine().place(&pattern.0, gpus, now.state().free(), effort);
            Ok(Match::new(now.machine(), pattern, placed))
        })
    }

    /// Finds the best placements on the GPUs that suit a pattern least and most, whoever holds them.
    ///
    /// Returns:
    ///     Both placements, by the bandwidth of the pattern's edges; the same where it stands for an
    ///     all-reduce. None where the machine has fewer GPUs.
    ///
    /// Raises:
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (pattern: "Pattern"))]
    fn pattern_ends(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
    ) -> PyResult<Option<(Vec<usize>, Vec<usize>)>> {
        let now = Self::now(slf);
        detached(slf.py(), |effort| Ok(now.machine().pattern_ends(&pattern.0, effort)))
            .map(|ends| ends.map(|[least, most]| (least.placement, most.placement)))
    }

    /// Effective bandwidth of these GPUs by the sound model, in GB/s.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn sound_bandwidth(&self, #[pyo3(from_py_with = given)] gpus: Vec<i128>) -> PyResult<f64> {
        let gpus = self.known(&gpus)?;
        Ok(self.0.machine().sound_bandwidth(gpus.into_iter().collect::<GpuSet>()))
    }

    /// Takes the job's GPUs back and returns them.
    ///
    /// Raises:
    ///     AllocationError: If it holds none: released before or never allocated.
    #[pyo3(signature = (job: "str"))]
    fn release(&mut self, #[pyo3(from_py_with = given)] job: &str) -> PyResult<Vec<usize>> {
        self.0.state_mut().release(job).map_err(errors::allocation)
    }

    /// Takes the GPUs of all jobs back that are not in the list of living ones.
    ///
    /// Args:
    ///     living: The jobs that live; others, of other servers, do no harm.
    ///     since: In seconds since 1970: a job that asked then or later stays, since the list may
    ///         be older than it is. None where the list is newer than every job.
    ///
    /// Returns:
    ///     Each job that was released, and its GPUs.
    ///
    /// Raises:
    ///     AllocationError: If the time is negative or too large.
    #[pyo3(signature = (living: "Sequence[str]", *, since: "float | None" = None))]
    fn reconcile(
        &mut self,
        #[pyo3(from_py_with = given)] living: Vec<String>,
        #[pyo3(from_py_with = given)] since: Option<f64>,
    ) -> PyResult<BTreeMap<String, Vec<usize>>> {
        let since = since.map_or(Ok(u64::MAX), |since| microseconds("since", since))?;
        let living: BTreeSet<String> = living.into_iter().collect();
        let ended = Ended::Unlisted { living: &living, since };
        Ok(self.0.state_mut().reconcile(ended).into_iter().collect())
    }

    /// Takes the GPUs of all jobs back whose lease is over.
    ///
    /// Args:
    ///     now: The time, in seconds since 1970.
    ///
    /// Returns:
    ///     Each job that was released, and its GPUs.
    ///
    /// Raises:
    ///     AllocationError: If the time is negative or too large.
    #[pyo3(signature = (now: "float"))]
    fn release_overdue(
        &mut self,
        #[pyo3(from_py_with = given)] now: f64,
    ) -> PyResult<BTreeMap<String, Vec<usize>>> {
        let ended = Ended::Overdue { now: microseconds("now", now)? };
        Ok(self.0.state_mut().reconcile(ended).into_iter().collect())
    }

    /// Keeps a GPU from new jobs; a job that holds it goes on.
    ///
    /// Raises:
    ///     AllocationError: If the GPU is unknown.
    #[pyo3(signature = (gpu: "int"))]
    fn mark_unhealthy(&mut self, #[pyo3(from_py_with = given)] gpu: i128) -> PyResult<()> {
        let gpu = number::gpu_of(self.0.machine().gpu_count(), gpu)?;
        self.0.state_mut().mark_unhealthy(gpu).map_err(errors::allocation)
    }

    /// Lets a GPU be given out again.
    ///
    /// Raises:
    ///     AllocationError: If the GPU is unknown.
    #[pyo3(signature = (gpu: "int"))]
    fn mark_healthy(&mut self, #[pyo3(from_py_with = given)] gpu: i128) -> PyResult<()> {
        let gpu = number::gpu_of(self.0.machine().gpu_count(), gpu)?;
        self.0.state_mut().mark_healthy(gpu).map_err(errors::allocation)
    }

    /// Who holds each GPU, below how many are free.
    fn _repr_html_(&self) -> PyResult<String> {
        let (state, server) = (self.0.state(), self.1.system.listed()?);
        let names = server.gpus().iter().map(|gpu| server.devices()[*gpu].name.clone()).collect();
        let holder = |gpu: usize| {
            let job = state.held().iter().find(|(_, held)| held.contains(&gpu));
            match job {
                Some((job, _)) => job.clone(),
                None if state.unhealthy().contains(gpu) => "(unhealthy)".to_owned(),
                None => "(free)".to_owned(),
            }
        };
        let count = self.0.machine().gpu_count();
        let table = table::Table::new()
            .with("gpu", "", Column::UInt64((0..count as u64).collect()))
            .with("name", "", Column::Utf8(names))
            .with("held_by", "", Column::Utf8((0..count).map(holder).collect()));
        Ok(cells::titled(&self.__repr__(), &Table::new(table)?._repr_html_()))
    }

    fn __repr__(&self) -> String {
        let (state, count) = (self.0.state(), self.0.machine().gpu_count());
        let (free, jobs) = (state.free().iter().count(), state.held().len());
        let (policy, name) = (self.policy(), self.1.system.core().name());
        format!("<Allocator {policy} on {name:?}: {free} of {count} GPUs free, {jobs} jobs>")
    }

    /// The state as JSON text.
    fn save(&self) -> String {
        self.0.state().save()
    }

    /// Seconds of wall-clock time for one decision, the least of so many.
    ///
    /// Raises:
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (pattern: "Pattern", *, sensitive: "bool" = true, repeats: "int" = 20))]
    fn measure_decision(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
        #[pyo3(from_py_with = given)] repeats: i128,
    ) -> PyResult<f64> {
        let repeats = number::within("repeats", repeats, u32::MAX, errors::allocation_choice)?;
        let now = Self::now(slf);
        let request = Request { pattern: &pattern.0, sensitive };
        let mut least = f64::INFINITY;
        for _ in 0..repeats.max(1) {
            // Timed within, so that giving the lock up and taking it back do not count.
            let seconds = detached(slf.py(), |effort| {
                let start = Instant::now();
                std::hint::black_box(now.decide("measured", &request, effort)?);
                Ok(start.elapsed().as_secs_f64())
            })?;
            least = least.min(seconds);
        }
        Ok(least)
    }
}

/// The allocation policies, in the order of the paper's tables.
#[pyfunction]
#[pyo3(signature = () -> "list[PolicyName]")]
pub fn policy_names() -> Vec<&'static str> {
    allocation::policies().names()
}

/// The rules that decide between equals: what `ties` takes.
#[pyfunction]
#[pyo3(signature = () -> "list[TieName]")]
pub fn tie_names() -> Vec<&'static str> {
    Ties::NAMED.iter().map(|(name, _)| *name).collect()
}

/// MAPA's Eq. 2 with Table 2: GB/s predicted for so many links of each class.
///
/// Raises:
///     AllocationError: If a number is negative.
#[pyfunction]
#[pyo3(signature = (double: "int", single: "int", pcie: "int"))]
pub fn published_effective_bandwidth(
    #[pyo3(from_py_with = given)] double: i128,
    #[pyo3(from_py_with = given)] single: i128,
    #[pyo3(from_py_with = given)] pcie: i128,
) -> PyResult<f64> {
    let count = |what, links| number::within(what, links, usize::MAX, errors::allocation_choice);
    let links = LinkCounts {
        double: count("double", double)?,
        single: count("single", single)?,
        pcie: count("pcie", pcie)?,
    };
    Ok(published::effective_bandwidth(links))
}
