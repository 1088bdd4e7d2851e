//! Gives Python `linkwright.Allocator`: the live state of a server, or of several.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Instant;

use linkwright::allocation::bandwidth::published::{self, Regression};
use linkwright::allocation::cluster::{
    ClusterAllocator, ClusterRequest, ServerChoice, ServerPart, Servers,
};
use linkwright::allocation::links::LinkCounts;
use linkwright::allocation::{
    self, AllocationError, BandwidthModel, Effort, Ended, GpuSet, PreparedMachine, Selection, Ties,
};
use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::system::{BandwidthProfile, Server};
use linkwright::table::{self, Column};
use pyo3::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::given;
use crate::bandwidth_fit::BandwidthFit;
use crate::cells;
use crate::choices::{Choice, profile_of};
use crate::decision::{Explanation, Match};
use crate::errors;
use crate::number;
use crate::owner::{Owner, microseconds};
use crate::pattern::Pattern;
use crate::plug_in::{self, PolicyName};
use crate::system::System;
use crate::table::Table;

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
    match crate::raised::take_raised().or(failure) {
        Some(error) => Err(error),
        None => done.map_err(errors::allocation),
    }
}

/// Gives jobs their GPUs on a live server, or on several, by one policy.
///
/// On several servers a job has its GPUs as a day's queue gives them. A job has GPUs of several where no server has as
/// many, and, under `pack` and `spread`, where none has room. Under `whole` a job of a server's size or more waits for
/// servers of its own. GPUs are counted through the first server, then the second.
///
/// Examples:
///     >>> from linkwright import Allocator, Pattern, System
///     >>> server = Allocator(System("dgx1-v100"), "preserve")
///     >>> server.allocate("train-1", Pattern("ring", 4)).gpus
///     [0, 3, 2, 1]
#[pyclass(module = "linkwright.allocation")]
pub struct Allocator(ClusterAllocator, Origin);

/// Holds what an allocator is made from, but for its policy and its state.
#[derive(Clone, Serialize, Deserialize)]
struct Origin {
    system: System,
    model: String,
    profile: Option<String>,
    ties: String,
    fit: Option<BandwidthFit>,
    servers: String,
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
        let policy = plug_in::policy(policy).map_err(errors::allocation_choice)?;
        let choice = ServerChoice::named(&origin.servers)?;
        let (model, ties) = (BandwidthModel::named(&origin.model)?, Ties::named(&origin.ties)?);
        let regression =
            origin.fit.as_ref().map_or(Regression::PUBLISHED, |fit| fit.0.coefficients.0);
        let core = origin.system.core();
        if origin.system.is_of_nodes() {
            let problem = format!("`{}` has nodes whose wiring nobody describes", core.name());
            return Err(errors::machine(Diagnosis::of(problem).remedy("give it a `server`")));
        }
        let prepared = |server: &Server| {
            let profile = profile_of(server, origin.profile.as_deref())?;
            let made = || PreparedMachine::with_regression(server, profile, model, regression);
            Ok(py.detach(made).map_err(errors::allocation)?.with_ties(ties))
        };
        let machines = core.kinds().iter().map(|kind| prepared(kind.server()));
        let machines = machines.collect::<PyResult<_>>()?;
        let made = ClusterAllocator::new(Servers { system: core, machines, policy, choice });
        let Some(text) = state else { return Ok(Self(made, origin)) };
        let lost = lost.iter().map(|gpu| {
            let refuse = |_| errors::machine(Diagnosis::of(format!("there is no GPU {gpu}")));
            usize::try_from(*gpu).map_err(refuse)
        });
        let lost = lost.collect::<PyResult<Vec<usize>>>()?;
        let restored = py.detach(|| made.restore(state_file, text, &lost));
        restored.map(|made| Self(made, origin)).map_err(errors::allocation)
    }

    /// A copy to decide on, so that other threads may use this one meanwhile.
    fn now(slf: &Bound<'_, Self>) -> ClusterAllocator {
        slf.borrow().0.clone()
    }

    /// Returns the GPUs of each job by their ids in the system.
    fn in_system<K: Ord>(
        &self,
        jobs: impl IntoIterator<Item = (K, Vec<ServerPart>)>,
    ) -> BTreeMap<K, Vec<usize>> {
        jobs.into_iter().map(|(job, parts)| (job, self.0.in_system(&parts))).collect()
    }

    /// The server of GPUs that are in one, and their ids there.
    fn of_server(&self, gpus: &[i128]) -> PyResult<(usize, Vec<usize>)> {
        let gpus = self.known(gpus)?;
        let places = gpus.iter().map(|gpu| self.0.place(*gpu)).collect::<Result<Vec<_>, _>>();
        let places = places.map_err(errors::allocation)?;
        let server = places.first().map_or(0, |(server, _)| *server);
        if let Some(at) = places.iter().position(|(other, _)| *other != server) {
            let problem = format!(
                "GPU {} is in node{server}, and GPU {} in node{}",
                gpus[0], gpus[at], places[at].0
            );
            let remedy = "give GPUs of one server; the links between servers are not scored";
            return Err(errors::allocation_choice(Diagnosis::of(problem).remedy(remedy)));
        }
        Ok((server, places.into_iter().map(|(_, gpu)| gpu).collect()))
    }

    /// Returns the GPUs by their ids.
    fn known(&self, gpus: &[i128]) -> PyResult<Vec<usize>> {
        let known = self.0.gpu_count();
        gpus.iter().map(|gpu| number::gpu_of(known, *gpu)).collect()
    }

    /// Returns the server and the GPUs of a placement of the pattern.
    fn checked(&self, pattern: &Pattern, gpus: &[i128]) -> PyResult<(usize, Vec<usize>)> {
        let known = self.known(gpus)?;
        let repeated = |at: &usize| known[..*at].contains(&known[*at]);
        if let Some(at) = (0..known.len()).find(repeated) {
            return Err(errors::repeated_gpu(known[at]));
        }
        if known.len() != pattern.0.size() {
            let (given, size) = (known.len(), pattern.0.size());
            return Err(errors::allocation(AllocationError::PlacementSize { given, size }));
        }
        self.of_server(gpus)
    }
}

/// Reads what a job asks for, and refuses numbers that none can ask for.
fn asked(
    pattern: &Pattern,
    sensitive: bool,
    servers_wanted: Option<i128>,
    exclusive: bool,
) -> PyResult<ClusterRequest<'_>> {
    let wanted =
        |count| match number::within("servers_wanted", count, u32::MAX, errors::allocation_choice)?
        {
            0 => {
                let problem = Diagnosis::of("servers_wanted is 0");
                Err(errors::allocation_choice(problem.remedy("give 1 or more, or None")))
            }
            count => Ok(count as usize),
        };
    let servers = servers_wanted.map(wanted).transpose()?;
    Ok(ClusterRequest { pattern: &pattern.0, sensitive, servers, exclusive })
}

#[pymethods]
impl Allocator {
    /// Makes an allocator; with `state`, text that `save` gave, it starts in that state.
    ///
    /// Args:
    ///     system: The server, or several.
    ///     policy: One of `policy_names`, or a class of one's own as `linkwright.contracts.Policy` has it, or an object
    ///         of one.
    ///     servers: As a day's queue chooses servers: `first-fit`, `pack`, `spread` or `whole`.
    ///     bandwidth_model: `sound` or `published`.
    ///     bandwidth_profile: `mapa` or `data-sheet`; if not given, that of each machine.
    ///     ties: The rule between matches that tie in the policy's scores: `nearest` or
    ///         `published`.
    ///     bandwidth_fit: Coefficients in place of the published; for `published` alone.
    ///     state: The text that `save` returned earlier.
    ///     state_file: The state's name in errors.
    ///     lost: The GPUs that the servers have lost since the state was saved, by their ids at
    ///         that time. They are needed only where names, places and links leave open which they
    ///         are.
    ///
    /// Raises:
    ///     AllocationError: If a name is unknown.
    ///     InputError: If the state is not what `save` gave, or of another machine.
    #[new]
    #[pyo3(signature = (
        system: "System", policy: "PolicyName | Policy | type[Policy]" = PolicyName("preserve"), *, servers: "ServerChoiceName" = "first-fit", bandwidth_model: "BandwidthModelName" = "sound",
        bandwidth_profile: "BandwidthProfileName | None" = None, ties: "TieName" = "nearest",
        bandwidth_fit: "BandwidthFit | None" = None,
        state: "str | None" = None, state_file: "str" = "<state>", lost: "Sequence[int] | None" = None
    ), text_signature = "(system, policy='preserve', *, servers='first-fit', bandwidth_model='sound', \
                         bandwidth_profile=None, ties='nearest', bandwidth_fit=None, state=None, \
                         state_file='<state>', lost=None)")]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] policy: PolicyName<'_>,
        #[pyo3(from_py_with = given)] servers: &str,
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
        let profile =
            bandwidth_profile.map(|name| BandwidthProfile::named(name).map(|_| name.to_owned()));
        let origin = Origin {
            system: system.clone(),
            model: bandwidth_model.to_owned(),
            profile: profile.transpose()?,
            ties: ties.to_owned(),
            fit: bandwidth_fit.cloned(),
            servers: servers.to_owned(),
        };
        Self::made(py, origin, policy.0, state, state_file, &lost.unwrap_or_default())
    }

    /// Returns the servers.
    #[getter]
    fn system(&self) -> System {
        self.1.system.clone()
    }

    /// Returns the policy's name.
    #[getter]
    fn policy(&self) -> &'static str {
        self.0.policy().name()
    }

    /// Returns the name of the rule that chooses servers.
    #[getter]
    fn servers(&self) -> &'static str {
        self.0.choice().name()
    }

    /// The GPUs that a job can get now.
    #[getter]
    fn free(&self) -> Vec<usize> {
        self.0.free()
    }

    /// Lists the GPUs marked unhealthy.
    #[getter]
    fn unhealthy(&self) -> Vec<usize> {
        self.0.unhealthy()
    }

    /// The GPUs that the servers have lost since the state was begun, by their ids before.
    ///
    /// They are unhealthy. Those that are left are numbered anew: `ids_before_loss` has the
    /// id that each of them had.
    #[getter]
    fn lost(&self) -> Vec<usize> {
        self.0.lost()
    }

    /// Gives for each GPU its id before the servers lost any.
    #[getter]
    fn ids_before_loss(&self) -> Vec<usize> {
        self.0.ids_before_loss()
    }

    /// Who asked for each job's GPUs, where that is known.
    #[getter]
    fn owners(&self) -> BTreeMap<String, Owner> {
        let owners = self.0.owners().into_iter();
        owners.map(|(job, owner)| (job.to_owned(), Owner(owner.clone()))).collect()
    }

    /// Each job's GPUs, but for those that are lost.
    #[getter]
    fn held(&self) -> BTreeMap<String, Vec<usize>> {
        self.in_system(self.0.held().into_iter().map(|(job, parts)| (job.to_owned(), parts)))
    }

    /// Lists the jobs that share their servers with nobody.
    #[getter]
    fn exclusive(&self) -> Vec<String> {
        let states = self.0.servers().iter().map(|server| server.state());
        let jobs: BTreeSet<&String> = states.flat_map(|state| state.exclusive()).collect();
        jobs.into_iter().cloned().collect()
    }

    /// Gives what the policy would now; None if too few GPUs are free.
    ///
    /// It takes the arguments of `allocate`.
    ///
    /// Raises:
    ///     AllocationError: If the job is larger than the system, or wants servers that it can never have.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        job: "str", pattern: "Pattern", *, sensitive: "bool" = true, servers_wanted: "int | None" = None,
        exclusive: "bool" = false
    ))]
    fn decide(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
        #[pyo3(from_py_with = given)] servers_wanted: Option<i128>,
        #[pyo3(from_py_with = given)] exclusive: bool,
    ) -> PyResult<Option<Match>> {
        let request = asked(pattern, sensitive, servers_wanted, exclusive)?;
        let now = Self::now(slf);
        let found = detached(slf.py(), |effort| now.decide(job, &request, effort))?;
        found.map(|found| Match::new(&now, &pattern.0, found)).transpose()
    }

    /// Gives the job its GPUs; None, and no change, if too few are free.
    ///
    /// Args:
    ///     job: Its name, by which it is released.
    ///     pattern: Which of its GPUs talk to which.
    ///     sensitive: Whether bandwidth matters to it.
    ///     owner: Who asks, to be kept with the state.
    ///     servers_wanted: On how many servers it wants even shares; None leaves it open.
    ///     exclusive: Whether it shares them with nobody.
    ///
    /// Raises:
    ///     AllocationError: If the job is larger than the system, wants servers that it can never have, or holds GPUs
    ///         already.
    ///     KeyboardInterrupt: Within a second of Ctrl-C; nothing has changed then.
    #[pyo3(signature = (
        job: "str", pattern: "Pattern", *, sensitive: "bool" = true, owner: "Owner | None" = None,
        servers_wanted: "int | None" = None, exclusive: "bool" = false
    ))]
    fn allocate(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
        #[pyo3(from_py_with = given)] owner: Option<&Owner>,
        #[pyo3(from_py_with = given)] servers_wanted: Option<i128>,
        #[pyo3(from_py_with = given)] exclusive: bool,
    ) -> PyResult<Option<Match>> {
        let request = asked(pattern, sensitive, servers_wanted, exclusive)?;
        loop {
            let mut next = Self::now(slf);
            let before = next.clone();
            let decision = detached(slf.py(), |effort| next.allocate(job, &request, effort))?;
            if let (Some(_), Some(owner)) = (&decision, owner) {
                next.own(job, &owner.0).map_err(errors::allocation)?;
            }
            let mut allocator = slf.borrow_mut();
            // Another thread may have changed the state meanwhile; then the choice is stale.
            if allocator.0 == before {
                let given = decision.map(|found| Match::new(&next, &pattern.0, found));
                let given = given.transpose()?;
                allocator.0 = next;
                return Ok(given);
            }
        }
    }

    /// Records that a job holds GPUs that somebody else gave it, as a scheduler whose jobs run already.
    ///
    /// Args:
    ///     job: Its name, by which it is released.
    ///     gpus: Its GPUs by their ids.
    ///     owner: Who asked, to be kept with the state.
    ///
    /// Raises:
    ///     AllocationError: If the job holds GPUs already, or if a GPU is unknown, named twice or not free.
    #[pyo3(signature = (job: "str", gpus: "Sequence[int]", *, owner: "Owner | None" = None))]
    fn hold(
        &mut self,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
        #[pyo3(from_py_with = given)] owner: Option<&Owner>,
    ) -> PyResult<()> {
        let gpus = self.known(&gpus)?;
        self.0.hold(job, &gpus).map_err(errors::allocation)?;
        owner.map_or(Ok(()), |owner| self.0.own(job, &owner.0).map_err(errors::allocation))
    }

    /// The decision with its `limit` best candidates of each server; None if too few GPUs are free.
    ///
    /// Raises:
    ///     AllocationError: As of `decide`.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        job: "str", pattern: "Pattern", *, sensitive: "bool" = true, limit: "int" = 5,
        servers_wanted: "int | None" = None, exclusive: "bool" = false
    ))]
    fn explain(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] job: &str,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] sensitive: bool,
        #[pyo3(from_py_with = given)] limit: i128,
        #[pyo3(from_py_with = given)] servers_wanted: Option<i128>,
        #[pyo3(from_py_with = given)] exclusive: bool,
    ) -> PyResult<Option<Explanation>> {
        let limit = number::within("limit", limit, usize::MAX, errors::allocation_choice)?;
        let request = asked(pattern, sensitive, servers_wanted, exclusive)?;
        let now = Self::now(slf);
        let explanation = detached(slf.py(), |effort| now.explain(job, &request, limit, effort))?;
        explanation.map(|why| Explanation::new(&now, &pattern.0, why)).transpose()
    }

    /// Scores a placement, given as the GPU of each vertex.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice, if their number is not the size, or if they are in
    ///         different servers.
    #[pyo3(signature = (pattern: "Pattern", gpus: "Sequence[int]"))]
    fn score(
        &self,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Match> {
        let (server, gpus) = self.checked(pattern, &gpus)?;
        let at = &self.0.servers()[server];
        let chosen = at.machine().score(&pattern.0, gpus, at.state().free());
        let selection = Selection { chosen, candidates: 1, optimal: true, gap: Some(0.0) };
        Match::new(&self.0, &pattern.0, vec![(server, selection)])
    }

    /// Finds the placement on exactly these GPUs with the most aggregated bandwidth, scored.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice, if their number is not the size, or if they are in
    ///         different servers.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (pattern: "Pattern", gpus: "Sequence[int]"))]
    fn best_placement(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Match> {
        let (server, gpus) = slf.borrow().checked(pattern, &gpus)?;
        let now = Self::now(slf);
        let (at, gpus): (_, GpuSet) = (&now.servers()[server], gpus.into_iter().collect());
        let placed = detached(slf.py(), |effort| {
            Ok(at.machine().place(&pattern.0, gpus, at.state().free(), effort))
        })?;
        Match::new(&now, &pattern.0, vec![(server, placed)])
    }

    /// Finds the best placements on the GPUs that suit a pattern least and most, whoever holds them.
    ///
    /// Of several servers it looks at the first kind that has as many GPUs.
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
        let size = pattern.0.size();
        let large = |at: &allocation::Allocator| at.machine().gpu_count() >= size;
        let Some(server) = now.servers().iter().position(large) else { return Ok(None) };
        let machine = now.servers()[server].machine();
        let ends = detached(slf.py(), |effort| Ok(machine.pattern_ends(&pattern.0, effort)))?;
        let in_system = |placement| now.in_system(&[(server, placement)]);
        Ok(ends.map(|[least, most]| (in_system(least.placement), in_system(most.placement))))
    }

    /// Returns the effective bandwidth of these GPUs by the sound model, in GB/s.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown, or if they are in different servers.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn sound_bandwidth(&self, #[pyo3(from_py_with = given)] gpus: Vec<i128>) -> PyResult<f64> {
        let (server, gpus) = self.of_server(&gpus)?;
        let machine = self.0.servers()[server].machine();
        Ok(machine.sound_bandwidth(gpus.into_iter().collect::<GpuSet>()))
    }

    /// Takes the job's GPUs back and returns them.
    ///
    /// Raises:
    ///     AllocationError: If it holds none: released before or never allocated.
    #[pyo3(signature = (job: "str"))]
    fn release(&mut self, #[pyo3(from_py_with = given)] job: &str) -> PyResult<Vec<usize>> {
        let parts = self.0.release(job).map_err(errors::allocation)?;
        Ok(self.0.in_system(&parts))
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
        let released = self.0.reconcile(ended);
        Ok(self.in_system(released))
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
        let released = self.0.reconcile(ended);
        Ok(self.in_system(released))
    }

    /// Keeps a GPU from new jobs; a job that holds it goes on.
    ///
    /// Raises:
    ///     AllocationError: If the GPU is unknown.
    #[pyo3(signature = (gpu: "int"))]
    fn mark_unhealthy(&mut self, #[pyo3(from_py_with = given)] gpu: i128) -> PyResult<()> {
        let gpu = number::gpu_of(self.0.gpu_count(), gpu)?;
        self.0.mark_unhealthy(gpu).map_err(errors::allocation)
    }

    /// Lets a GPU be given out again.
    ///
    /// Raises:
    ///     AllocationError: If the GPU is unknown.
    #[pyo3(signature = (gpu: "int"))]
    fn mark_healthy(&mut self, #[pyo3(from_py_with = given)] gpu: i128) -> PyResult<()> {
        let gpu = number::gpu_of(self.0.gpu_count(), gpu)?;
        self.0.mark_healthy(gpu).map_err(errors::allocation)
    }

    /// Who holds each GPU, below how many are free.
    fn _repr_html_(&self) -> PyResult<String> {
        let count = self.0.gpu_count();
        let mut holders = vec!["(free)".to_owned(); count];
        for gpu in self.0.unhealthy() {
            "(unhealthy)".clone_into(&mut holders[gpu]);
        }
        for (job, gpus) in self.held() {
            gpus.iter().for_each(|gpu| holders[*gpu].clone_from(&job));
        }
        let core = self.1.system.core();
        let name = |gpu: usize| core.device_name(core.gpu_device(gpu as u32));
        let table = table::Table::new()
            .with("gpu", "", Column::UInt64((0..count as u64).collect()))
            .with("name", "", Column::Utf8((0..count).map(name).collect()))
            .with("held_by", "", Column::Utf8(holders));
        Ok(cells::titled(&self.__repr__(), &Table::new(table)?._repr_html_()))
    }

    fn __repr__(&self) -> String {
        let (count, free, jobs) = (self.0.gpu_count(), self.0.free().len(), self.0.held().len());
        let (policy, name) = (self.policy(), self.0.name());
        format!("<Allocator {policy} on {name:?}: {free} of {count} GPUs free, {jobs} jobs>")
    }

    /// Returns the state as JSON text.
    fn save(&self) -> String {
        self.0.save()
    }

    /// Measures the wall-clock time of one decision in seconds, the least of `repeats` tries.
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
        let request = asked(pattern, sensitive, None, false)?;
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

/// Lists the allocation policies, in the order of the paper's tables.
#[pyfunction]
#[pyo3(signature = () -> "list[PolicyName]")]
pub fn policy_names() -> Vec<&'static str> {
    allocation::policies().names()
}

/// Lists the rules that decide between equals, which `ties` takes.
#[pyfunction]
#[pyo3(signature = () -> "list[TieName]")]
pub fn tie_names() -> Vec<&'static str> {
    Ties::NAMED.iter().map(|(name, _)| *name).collect()
}

/// Computes the predicted bandwidth in GB/s for given numbers of links of each class, by MAPA's Eq.
/// 2 with Table 2.
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
