//! Gives Python `linkwright.simulate` and its result.

use linkwright::allocation::{BandwidthModel, Policy, Ties};
use linkwright::collectives::plan::planners;
use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::engine::Progress;
use linkwright::network::LinkLoads;
use linkwright::scenario::comparison::ComparisonError;
use linkwright::simulation::cluster::{Fidelity, links, parts};
use linkwright::simulation::played::{GpuSpeed, IterationSettings, PlannerChoice};
use linkwright::simulation::sensitivity::measure;
use linkwright::simulation::summary::{JobTimes, PolicySummary, Quartiles, TimeParts};
use linkwright::simulation::{
    self, Attribution, DayChoices, DayOutcome, Endured, JobRecord, QueueDiscipline, RunTime,
    ServerChoice, attribution, play_day, tables,
};
use linkwright::system::{self, BandwidthProfile};
use linkwright::table as core_table;
use linkwright::training::Precision;
use linkwright::units::{Bytes, Picoseconds};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::{callback, given, optional_size};
use crate::choices::Choice;
use crate::errors;
use crate::job::Job;
use crate::number;
use crate::plug_in::{self, PolicyName};
use crate::system::System;
use crate::table::Table;
use crate::worker;

/// Holds quartiles, minimum to maximum.
pub type Five = (f64, f64, f64, f64, f64);

/// Gives quartiles as five numbers.
pub fn five(it: Quartiles) -> Five {
    (it.minimum, it.lower, it.median, it.upper, it.maximum)
}

fn no_jobs() -> PyErr {
    errors::range(ComparisonError::NoJobs)
}

/// Holds the fate of each job under one policy.
#[pyclass(frozen, module = "linkwright.scenario")]
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub struct SimulationResult {
    policy: String,
    jobs: Vec<simulation::Job>,
    records: Vec<JobRecord>,
    /// Holds the system's id of each server's first GPU.
    first_gpus: Vec<u32>,
    run_time: RunTime,
    plans: Option<usize>,
    attributions: Option<Vec<Attribution>>,
    endured: Vec<Endured>,
    loads: Option<LinkLoads>,
}

#[pymethods]
impl SimulationResult {
    /// Returns the policy's name.
    #[getter]
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// Names the source of each job's run time: `formula`, `regression` or `played`.
    #[getter]
    fn run_time(&self) -> &'static str {
        self.run_time.name()
    }

    /// How many collectives were planned for jobs that were played.
    ///
    /// Those on GPUs that are joined alike share a plan. None where the formula said how long jobs
    /// ran.
    #[getter]
    fn plans(&self) -> Option<usize> {
        self.plans
    }

    /// Returns the seconds from time zero until the last job ended.
    #[getter]
    fn makespan(&self) -> f64 {
        self.records.iter().map(|record| record.finish).max().map_or(0.0, Picoseconds::as_seconds)
    }

    /// Returns one row per job, in the jobs' order.
    ///
    /// The first columns are job, workload, gpu_count, pattern and sensitive. Then come arrival,
    /// start, finish, wait and run_time, all in seconds. Columns gpus, double_links, single_links
    /// and pcie_links follow. Bandwidths are in GB/s: aggregated_bandwidth,
    /// ideal_aggregated_bandwidth, effective_bandwidth, sound_bandwidth and preserved_bandwidth.
    /// The last are candidates and optimal. The two bandwidths that one GPU does not have are null
    /// there. They are null for a job of several servers, too, whose links and other bandwidths are
    /// those within servers. For a system of several servers a last column, servers, says in which
    /// the job ran. Where parts failed for a time, restarts counts how often a job began anew, and
    /// lost has the seconds that this cost it.
    fn jobs(&self) -> PyResult<Table> {
        let table = tables::jobs(&self.jobs, &self.records, &self.first_gpus);
        Table::new(tables::with_failures(table, &self.records, &self.endured))
    }

    /// One row for each time in which a job held GPUs: a job that lost its own has several.
    ///
    /// Columns are job, start, finish (in seconds) and gpus.
    fn tries(&self) -> PyResult<Table> {
        Table::new(tables::tries(&self.jobs, &self.records, &self.first_gpus))
    }

    /// How many GPUs jobs of several servers held in a server, as Blink's histogram has it.
    ///
    /// Columns: gpu_count, parts, share. A job that held 8 and 4 GPUs is a part of each. There are no rows where
    /// every job ran in one server.
    fn gpus_per_server(&self) -> PyResult<Table> {
        Table::new(tables::gpus_per_server(&self.records))
    }

    /// Counts by GPUs in a server the jobs that had no others, and the parts of jobs that had.
    ///
    /// Columns: gpu_count, whole, parts, share. Rows go up to the most that was held. Jobs of one GPU do not count.
    fn fragments(&self) -> PyResult<Table> {
        Table::new(tables::fragments(&self.records))
    }

    /// Tells how near to one another the GPUs of jobs of several were, in the jobs' order.
    ///
    /// Columns: job, workload, gpu_count, servers, leaves (of these servers in the network), tensor_groups,
    /// tensor_within. A tensor group's ranks hold parts of the same layers of a model; the last column counts those
    /// within one server.
    ///
    /// Args:
    ///     system: The system that the jobs ran on.
    ///
    /// Raises:
    ///     SimulationError: If they ran on another.
    #[pyo3(signature = (system: "System"))]
    fn nearness(&self, #[pyo3(from_py_with = given)] system: &System) -> PyResult<Table> {
        let core = system.core();
        if !self.fits(core) {
            return Err(another_system());
        }
        Table::new(simulation::nearness(core, &self.jobs, &self.records))
    }

    /// Splits the slowdown of each job, in the jobs' order; None unless that was asked for.
    ///
    /// Columns: job, gpu_count, alone, best, best_gpus, waiting, placement, neighbours, failure, slowdown, exposed. `alone` is the
    /// time alone on its GPUs, and `best` that on the best GPUs of the idle system, `best_gpus`. Both are in seconds.
    /// `slowdown` is its time from arrival to end over `best`. It is the product of `waiting`, `placement`, `neighbours`
    /// and `failure`, which is 1 where nothing fails.
    /// `exposed` is the share of its run time in which it only communicated.
    fn attribution(&self) -> PyResult<Option<Table>> {
        let found = self.attributions.as_deref();
        found.map(|found| Table::new(attribution::table(&self.jobs, found))).transpose()
    }

    /// Lists the neighbours that cost each job most, by the links that they share; None unless that was asked for.
    ///
    /// Columns: job, neighbour, cost (in seconds). The time that a job lost is divided among those that ran beside it. The ten
    /// dearest have rows. A job has none where it lost nothing, and where nobody knows, as among packets.
    fn neighbours(&self) -> PyResult<Option<Table>> {
        let found = self.attributions.as_deref();
        found.map(|found| Table::new(attribution::neighbours_table(&self.jobs, found))).transpose()
    }

    /// Gives where the time of the jobs goes, by the names of `TimeParts`.
    ///
    /// Args:
    ///     gpus: How many GPUs of the system are in order.
    ///
    /// Raises:
    ///     SimulationError: If no job ran.
    #[pyo3(signature = (gpus: "int") -> "dict[str, Any]")]
    fn time_parts<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given)] gpus: i128,
    ) -> PyResult<Bound<'py, PyDict>> {
        let gpus = number::whole("gpus", gpus, usize::MAX)?;
        let each = self.records.iter().map(|it| JobTimes::of(&self.jobs[it.job], it));
        let parts = TimeParts::of(&each.collect::<Vec<_>>(), gpus).ok_or_else(no_jobs)?;
        let made = PyDict::new(py);
        made.set_item("wait", parts.wait)?;
        made.set_item("run_time", parts.run_time)?;
        made.set_item("job_time", parts.job_time)?;
        made.set_item("throughput", parts.throughput)?;
        made.set_item("gpu_seconds", parts.gpu_seconds)?;
        made.set_item("load", parts.load)?;
        Ok(made)
    }

    /// Gives what the policy made of the jobs, by the names of `PolicySummary`, quartiles as five numbers.
    ///
    /// Raises:
    ///     SimulationError: If no job ran.
    #[pyo3(signature = () -> "dict[str, Any]")]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.summed_up()?;
        let made = PyDict::new(py);
        made.set_item("jobs", found.jobs)?;
        made.set_item("one_gpu_jobs", found.one_gpu_jobs)?;
        made.set_item("makespan", found.makespan)?;
        made.set_item("throughput", found.throughput)?;
        made.set_item("run_time", found.run_time.map(five))?;
        made.set_item("wait", five(found.wait))?;
        made.set_item("effective_bandwidth", found.effective_bandwidth.map(five))?;
        made.set_item("sound_bandwidth", found.sound_bandwidth.map(five))?;
        Ok(made)
    }

    /// Counts the bytes of each direction of each link until all jobs had ended.
    ///
    /// Columns are link (its number in the system), from, to, kind, bandwidth (GB/s), data (bytes)
    /// and utilisation. Then come level, at, at_level, group and member, as `ClusterRun.links` has
    /// them, and link_kind. Links of the network have a row each. Links within servers have one if
    /// they carried something. Flows do not know the way through a dragonfly: there links between
    /// switches have null, unless packets are played. There is no row where a formula said how long
    /// jobs ran, and nothing was sent.
    ///
    /// Args:
    ///     system: As told to `play_jobs`.
    ///
    /// Raises:
    ///     SimulationError: If the jobs were played on another system.
    #[pyo3(signature = (system: "System"))]
    fn links(&self, #[pyo3(from_py_with = given)] system: &System) -> PyResult<Table> {
        self.table_of_loads(system, links::links_of_day)
    }

    /// Gives one row per level of links, from where messages enter the network to where they leave it.
    ///
    /// Columns: level, links, mean and most, as `ClusterRun.levels` has them.
    ///
    /// Args:
    ///     system: As told to `play_jobs`.
    ///
    /// Raises:
    ///     SimulationError: If the jobs were played on another system.
    #[pyo3(signature = (system: "System"))]
    fn levels(&self, #[pyo3(from_py_with = given)] system: &System) -> PyResult<Table> {
        self.table_of_loads(system, links::levels_of_day)
    }

    /// Counts the bytes that entered and left every network interface, NVSwitch and switch of the network.
    ///
    /// Columns: device, kind, received and sent (bytes), and utilisation. That is the share of the makespan in which its
    /// links would carry this at their full bandwidth, by the fuller way. Loads that are not counted are null.
    ///
    /// Args:
    ///     system: As told to `play_jobs`.
    ///
    /// Raises:
    ///     SimulationError: If the jobs were played on another system.
    #[pyo3(signature = (system: "System"))]
    fn device_loads(&self, #[pyo3(from_py_with = given)] system: &System) -> PyResult<Table> {
        self.table_of_loads(system, parts::devices_of_day)
    }

    /// Counts the bytes of each direction of each link in each span of time in which it carried something.
    ///
    /// Columns: link, from, to, begin and end (of the span, in seconds), data (bytes), and utilisation. That is the share of
    /// the span in which it would carry this at its full bandwidth.
    ///
    /// Args:
    ///     system: As told to `play_jobs`.
    ///
    /// Raises:
    ///     SimulationError: If the jobs were played on another system.
    #[pyo3(signature = (system: "System"))]
    fn link_times(&self, #[pyo3(from_py_with = given)] system: &System) -> PyResult<Table> {
        self.table_of_loads(system, parts::link_times)
    }

    /// The same under another name in place of the policy's, as one of several that are compared.
    #[pyo3(signature = (name: "str"))]
    fn named(&self, #[pyo3(from_py_with = given)] name: String) -> Self {
        Self { policy: name, ..self.clone() }
    }

    /// The whole result as JSON, which `from_text` reads back to the last bit.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| serde_json::to_string(self));
        text.map_err(|error| errors::range(Diagnosis::of(error.to_string())))
    }

    /// Reads the result that `to_json` of this version wrote.
    ///
    /// Raises:
    ///     SimulationError: If the text is none.
    #[staticmethod]
    #[pyo3(signature = (text: "str"))]
    fn from_text(py: Python<'_>, #[pyo3(from_py_with = given)] text: &str) -> PyResult<Self> {
        py.detach(|| serde_json::from_str(text)).map_err(|error| {
            errors::range(
                Diagnosis::of(format!("this is no result of this version: {error}"))
                    .remedy("play it again"),
            )
        })
    }

    fn __repr__(&self) -> String {
        let (policy, count, makespan) = (&self.policy, self.jobs.len(), self.makespan());
        format!("<SimulationResult: {count} jobs under {policy}, {makespan:.1} s>")
    }
}

impl SimulationResult {
    /// Sums up what the policy made of the jobs.
    pub fn summed_up(&self) -> PyResult<PolicySummary> {
        PolicySummary::of(&self.jobs, &self.records).ok_or_else(no_jobs)
    }

    /// Plays jobs on an idle system under the policy of a name.
    pub fn play(
        py: Python<'_>,
        system: &System,
        choices: &DayChoices,
        policy: &dyn Policy,
        (jobs, attributes): (Vec<Job>, bool),
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Self> {
        let core = system.core();
        let mut jobs: Vec<simulation::Job> = jobs.into_iter().map(|job| job.0).collect();
        measure(&mut jobs, core).map_err(errors::simulation)?;
        let report = |py: Python<'_>, at: Progress| match progress {
            Some(call) => call.call1(py, (at.done, at.total, at.time.as_seconds())).map(|_| ()),
            None => Ok(()),
        };
        let played = worker::watched(py, report, |hook| {
            let choices = DayChoices { attributes, ..choices.clone() };
            play_day(system.cluster(), &choices, policy, &jobs, hook)
        })?;
        let day = played.map_err(errors::simulation)?;
        let DayOutcome { records, plans, attributions, loads, endured, .. } = day;
        let first_gpus = core.first_gpus();
        let (policy, run_time) = (policy.name().to_owned(), choices.run_time);
        Ok(Self {
            policy,
            jobs,
            records,
            first_gpus,
            run_time,
            plans,
            attributions,
            endured,
            loads,
        })
    }

    /// Makes a table of the loads of channels; without rows where nothing was sent.
    fn table_of_loads(
        &self,
        system: &System,
        table: impl Fn(&system::System, &LinkLoads, Picoseconds) -> core_table::Table,
    ) -> PyResult<Table> {
        let core = system.core();
        if !self.fits(core) {
            return Err(another_system());
        }
        let end = self.records.iter().map(|record| record.finish).max().unwrap_or_default();
        let found = table(core, self.loads.as_ref().unwrap_or(&LinkLoads::default()), end);
        Table::new(if self.loads.is_some() { found } else { found.emptied() })
    }

    /// Whether a system has the GPUs that the jobs held.
    fn fits(&self, system: &system::System) -> bool {
        let has = |server: u32, gpu: usize| {
            self.first_gpus.get(server as usize) == Some(&system.gpu_at(server, 0))
                && gpu < system.kind_of(server).server().gpus().len()
        };
        let parts = self.records.iter().flat_map(|record| &record.parts);
        parts.into_iter().all(|part| {
            part.server < system.servers()
                && part.chosen.placement.iter().all(|gpu| has(part.server, *gpu))
        })
    }
}

fn another_system() -> PyErr {
    let problem = "the jobs were not played on this system";
    errors::range(Diagnosis::of(problem).remedy("give the one that they had"))
}

/// The most bytes of gradients that are reduced at once.
fn bucket_of(bucket: Option<i128>) -> PyResult<Option<Bytes>> {
    bucket.map(|size| number::whole("bucket", size, u64::MAX).map(Bytes)).transpose()
}

/// Plays the jobs on an idle system.
///
/// A job runs within one server: the first of its choice in which the policy finds GPUs. One that is played
/// has GPUs of several where no server has as many, and, under `pack` and `spread`, where none has room. Under `whole` a
/// job of a server's size or more waits for servers of its own.
///
/// Args:
///     system: A server, or several on a fabric.
///     jobs: The jobs; those of one arrival time queue in this order.
///     policy: One of `policy_names`, or a class as `linkwright.contracts.Policy` has it, or an object of one.
///     bandwidth_model: The bandwidth by which the policy ranks: `sound` or `published`.
///     bandwidth_profile: The source of the links' labels: `mapa` or `data-sheet`; if not given,
///         that of the machine.
///     ties: The rule between matches that tie: `nearest` or `published`.
///     discipline: `fifo` or `backfill`.
///     servers: The server in which a job looks for GPUs first. `first-fit` goes in their order,
///         `pack` to where the fewest are free, and `spread` to where the most are. `whole` does as
///         clusters are run.
///     unhealthy: GPUs that are out of order from the start.
///     run_time: `formula`, `regression` or `played`. `regression` is the formula at the bandwidth
///         of the published regression. `played` runs every job's iterations on the real wiring,
///         message by message, beside those of all other jobs.
///     planner: For played jobs, the planner of their all-reduces, one of `planner_names`. `nccl`
///         takes NCCL's own choice for each size, as `expect` has it. `auto` takes the fastest of
///         all, as `plan` finds it.
///     fidelity: Of played jobs, `fluid`, `flow` or `packet`.
///     host_copies: Of played jobs, whether the images of every iteration are copied from the host.
///     gpu_speed: For played jobs, `reference` or `own`. `reference` is the V100 that workloads are
///         timed on. `own` is as much faster as the peak of the server's GPU, of the unit that the
///         workload's kernels use.
///     precision: Of played jobs at their GPUs' own speed, the numbers that nets multiply.
///     bucket: For played jobs, the most bytes of gradients that are reduced at once while others
///         are computed, at least a million. If not given, all are reduced at the end.
///     progress: Called every 100 ms with jobs done, jobs in all, and simulated seconds.
///     nccl: With the planner `nccl`, the release by whose rules it chooses, such as 2.21.5; the newest that is
///         known where None.
///     attribute: Whether to split the slowdown of each job. Then jobs are played alone, too, on their GPUs and on
///         the best, once for each class of job and place.
///
/// Raises:
///     AllocationError: If a policy, a choice or a GPU is unknown.
///     SimulationError: If a job can never start or has another's name, a plan cannot be had, or a
///         time is beyond 213 days.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system: "System", jobs: "Sequence[Job]", policy: "PolicyName | Policy | type[Policy]" = PolicyName("preserve"), *,
    bandwidth_model: "BandwidthModelName" = "sound",
    bandwidth_profile: "BandwidthProfileName | None" = None, ties: "TieName" = "nearest",
    discipline: "DisciplineName" = "fifo", servers: "ServerChoiceName" = "first-fit",
    unhealthy: "Sequence[int] | None" = None,
    run_time: "RunTimeName" = "formula", planner: "PlannerName" = "packing",
    fidelity: "FidelityName" = "flow", host_copies: "bool" = false,
    gpu_speed: "GpuSpeedName" = "reference", bucket: "int | str | None" = None,
    progress: "Callable[[int, int, float], object] | None" = None, nccl: "str | None" = None,
    attribute: "bool" = false, precision: "PrecisionName" = "fp32"
), text_signature = "(system, jobs, policy='preserve', *, bandwidth_model='sound', bandwidth_profile=None, \
                     ties='nearest', discipline='fifo', servers='first-fit', unhealthy=None, \
                     run_time='formula', planner='packing', fidelity='flow', host_copies=False, \
                     gpu_speed='reference', bucket=None, progress=None, nccl=None, attribute=False, \
                     precision='fp32')")]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn play_jobs(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] jobs: Vec<Job>,
    #[pyo3(from_py_with = given)] policy: PolicyName<'_>,
    #[pyo3(from_py_with = given)] bandwidth_model: &str,
    #[pyo3(from_py_with = given)] bandwidth_profile: Option<&str>,
    #[pyo3(from_py_with = given)] ties: &str,
    #[pyo3(from_py_with = given)] discipline: &str,
    #[pyo3(from_py_with = given)] servers: &str,
    #[pyo3(from_py_with = given)] unhealthy: Option<Vec<i128>>,
    #[pyo3(from_py_with = given)] run_time: &str,
    #[pyo3(from_py_with = given)] planner: &str,
    #[pyo3(from_py_with = given)] fidelity: &str,
    #[pyo3(from_py_with = given)] host_copies: bool,
    #[pyo3(from_py_with = given)] gpu_speed: &str,
    #[pyo3(from_py_with = optional_size)] bucket: Option<i128>,
    #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] attribute: bool,
    #[pyo3(from_py_with = given)] precision: &str,
) -> PyResult<SimulationResult> {
    let unhealthy = unhealthy.unwrap_or_default().into_iter();
    let id = |gpu| number::whole("an id of `unhealthy`", gpu, usize::MAX);
    let choices = DayChoices {
        bandwidth_model: BandwidthModel::named(bandwidth_model)?,
        bandwidth_profile: bandwidth_profile.map(BandwidthProfile::named).transpose()?,
        ties: Ties::named(ties)?,
        server_choice: ServerChoice::named(servers)?,
        discipline: QueueDiscipline::named(discipline)?,
        unhealthy: unhealthy.map(id).collect::<PyResult<_>>()?,
        run_time: RunTime::named(run_time)?,
        fidelity: Fidelity::named(fidelity)?,
        planner: planner_of(planner, nccl)?,
        iteration: IterationSettings {
            host_copies,
            gpu_speed: GpuSpeed::named(gpu_speed)?,
            precision: Precision::named(precision)?,
            bucket: bucket_of(bucket)?,
        },
        attributes: attribute,
    };
    let policy = plug_in::policy(policy.0).map_err(errors::allocation_choice)?;
    let jobs = (jobs, attribute);
    SimulationResult::play(py, system, &choices, policy, jobs, progress.as_ref())
}

/// Finds the planner of a name. NCCL chooses by the rules of the release.
fn planner_of(name: &str, release: Option<&str>) -> PyResult<PlannerChoice> {
    let planner = PlannerChoice::named(name, &planners()).map_err(errors::range)?;
    let release = release.map(str::parse).transpose().map_err(errors::range)?;
    Ok(planner.in_release(release))
}

/// The names of what plans the collectives of jobs that are played.
#[pyfunction]
#[pyo3(signature = () -> "list[PlannerName]")]
pub fn planner_names() -> Vec<&'static str> {
    PlannerChoice::names(&planners())
}
