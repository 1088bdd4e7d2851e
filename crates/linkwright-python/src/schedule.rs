//! Gives Python `linkwright.Schedule`: a collective, planned or read.

use linkwright::diagnostic::{Diagnosis, Named as _};
use std::sync::Arc;

use linkwright::collectives::certificate::{Claim, verify};
use linkwright::collectives::export::{
    self, MscclOptions, MscclppOptions, read_msccl_xml, read_mscclpp_json, to_fastest_mscclpp_json,
    to_mscclpp_json, to_timed_msccl_xml,
};
use linkwright::collectives::plan::{self as planning, Plan};
use linkwright::collectives::{self, CheckReport as Report, check, tables};
use linkwright::system;
use linkwright::units::{Bandwidth, Bytes};
use pyo3::prelude::*;

use crate::argument::{given, optional_size, size};
use crate::cells;
use crate::certificate::Certificate;
use crate::choices::{WantedLinks, links_name};
use crate::errors;
use crate::execution;
use crate::number;
use crate::schedule_source::Source;
use crate::system::System;
use crate::table::Table;
use crate::timing::{self, Timing};
use crate::tree::Tree;
use crate::tried::Tried;
use crate::worker::interruptible;

/// A collective as steps per rank, to be checked, executed, timed and exported.
///
/// `plan` makes one, and `from_msccl_xml` and `from_mscclpp_json` read one. Two are equal if all of their steps are.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Schedule {
    source: Arc<Source>,
    system: Option<System>,
    tried: Vec<planning::Tried>,
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.data() == other.data()
    }
}

impl Schedule {
    /// Holds the planner's plan for a system, and the algorithms that it tried.
    pub fn planned(plan: Plan, tried: Vec<planning::Tried>, system: System) -> Self {
        Self { source: Arc::new(Source::Planned(plan)), system: Some(system), tried }
    }

    /// Returns the core's value.
    pub fn data(&self) -> &collectives::Schedule {
        self.source.schedule()
    }

    /// Returns the same value for another thread.
    pub fn source(&self) -> Arc<Source> {
        Arc::clone(&self.source)
    }

    /// The system that a caller named, or the one that the schedule was planned for.
    pub fn system_or<'a>(&'a self, named: Option<&'a System>) -> PyResult<&'a System> {
        named.or(self.system.as_ref()).ok_or_else(|| {
            errors::collective(
                Diagnosis::of("a schedule from a file knows no system").remedy("name the system"),
            )
        })
    }

    /// Gives what its optimum says, and the system that it is of.
    fn claim(&self) -> PyResult<(Claim, &system::System)> {
        let none = || {
            let told = Diagnosis::of("the schedule has no optimum that could be proved");
            errors::collective(told.remedy("ask `plan` for one by `packing`"))
        };
        let system = self.core().ok_or_else(none)?;
        let plan = self.source.plan().ok_or_else(none)?;
        Ok((plan.claim(system).ok_or_else(none)?, system))
    }

    /// The core's system that it was planned for.
    fn core(&self) -> Option<&Arc<system::System>> {
        self.system.as_ref().map(System::core)
    }
}

/// Holds a schedule in another format.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Export(export::Export);

#[pymethods]
impl Export {
    /// Returns the file's whole text.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// Lists the facts that the format could not say and its user must know, each in a sentence.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    fn __str__(&self) -> &str {
        &self.0.text
    }

    fn __repr__(&self) -> String {
        format!("<Export: {} bytes, {} notes>", self.0.text.len(), self.0.notes.len())
    }
}

/// Says what a sound schedule looks like from above.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CheckReport(Report);

#[pymethods]
impl CheckReport {
    /// Steps of all ranks together.
    #[getter]
    fn steps(&self) -> usize {
        self.0.steps
    }

    /// For each rank, how many chunks it sends.
    #[getter]
    fn sent_chunks(&self) -> Vec<u64> {
        self.0.sent_chunks.clone()
    }

    /// Returns the most messages that must follow one another: latency counts this many times.
    #[getter]
    fn longest_chain(&self) -> usize {
        self.0.longest_chain
    }

    /// For which placements it is sound: `out of place`, `in place`.
    #[getter]
    fn placements(&self) -> Vec<String> {
        self.0.placements.iter().map(ToString::to_string).collect()
    }

    fn __repr__(&self) -> String {
        let (steps, chain, placements) = (self.0.steps, self.0.longest_chain, self.placements());
        let placements = placements.join(" and ");
        format!("<CheckReport: {steps} steps, at most {chain} in a row, sound {placements}>")
    }
}

/// The range of sizes that an exported file is for.
fn size_range(least: i128, most: Option<i128>) -> PyResult<(Bytes, Option<Bytes>)> {
    let narrow = |what: &str, value: i128| {
        let refuse = || {
            errors::collective(
                Diagnosis::of(format!("{what} is {value}")).remedy("give 0 to 2^63 bytes"),
            )
        };
        let found = u64::try_from(value).ok().filter(|bytes| *bytes <= 1 << 63);
        found.map(Bytes).ok_or_else(refuse)
    };
    let most = most.map(|most| narrow("max_bytes", most)).transpose()?;
    Ok((narrow("min_bytes", least)?, most))
}

/// Gives the ranks of a schedule from a file their GPUs, where a caller names any.
fn rename_gpus(
    schedule: &mut collectives::Schedule,
    file: &str,
    gpus: Option<Vec<i128>>,
) -> PyResult<()> {
    let Some(gpus) = gpus else { return Ok(()) };
    let ranks = schedule.ranks();
    if gpus.len() != ranks {
        let given = gpus.len();
        return Err(errors::collective(
            Diagnosis::of(format!("`{file}` has {ranks} ranks, and {given} GPUs are given"))
                .remedy("give one for each rank"),
        ));
    }
    let repeated = (0..ranks).find(|at| gpus[..*at].contains(&gpus[*at]));
    if let Some(at) = repeated {
        let gpu = gpus[at];
        let message =
            Diagnosis::of(format!("GPU {gpu} is given twice")).remedy("name each GPU once");
        return Err(errors::collective(message));
    }
    schedule.gpus = gpus.into_iter().map(number::gpu).collect::<PyResult<_>>()?;
    Ok(())
}

fn option(what: &str, value: i128) -> PyResult<u32> {
    let refuse = || {
        errors::collective(
            Diagnosis::of(format!("{what} is {value}")).remedy(format!("give 0 to {}", u32::MAX)),
        )
    };
    u32::try_from(value).map_err(|_| refuse())
}

#[pymethods]
impl Schedule {
    /// Reads an algorithm in MSCCL XML, anyone's.
    ///
    /// Args:
    ///     text: The text itself.
    ///     file: Its name in errors.
    ///     gpus: The GPU of each rank; rank `i` is GPU `i` where None.
    ///
    /// Raises:
    ///     InputError: If the text is no such algorithm, with line and column.
    ///     CollectiveError: If the GPUs are not one for each rank, each once.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>", *, gpus: "Sequence[int] | None" = None))]
    fn from_msccl_xml(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
        #[pyo3(from_py_with = given)] gpus: Option<Vec<i128>>,
    ) -> PyResult<Self> {
        let mut schedule = py.detach(|| read_msccl_xml(file, text)).map_err(errors::input)?;
        rename_gpus(&mut schedule, file, gpus)?;
        Ok(Self { source: Arc::new(Source::Read(schedule)), system: None, tried: Vec::new() })
    }

    /// Reads an execution plan of MSCCL++, anyone's, as its executor would load it.
    ///
    /// Args:
    ///     text: The text itself.
    ///     file: Its name in errors.
    ///     gpus: The GPU of each rank; rank `i` is GPU `i` where None.
    ///
    /// Raises:
    ///     InputError: If the executor would refuse the text or hang on it, with line and column.
    ///     CollectiveError: If the GPUs are not one for each rank, each once.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>", *, gpus: "Sequence[int] | None" = None))]
    fn from_mscclpp_json(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
        #[pyo3(from_py_with = given)] gpus: Option<Vec<i128>>,
    ) -> PyResult<Self> {
        let mut plan = py.detach(|| read_mscclpp_json(file, text)).map_err(errors::input)?;
        rename_gpus(&mut plan.schedule, file, gpus)?;
        Ok(Self { source: Arc::new(Source::Loaded(plan)), system: None, tried: Vec::new() })
    }

    /// At which messages MSCCL++'s executor takes the plan: of what they are multiples, the least and
    /// the most, in bytes. None if it was not read from such a plan.
    #[getter]
    fn message_sizes(&self) -> Option<(u64, u64, u64)> {
        let sizes = self.source.sizes()?;
        Some((sizes.unit.0, sizes.least.0, sizes.most.0))
    }

    /// Gives the name that people call it by.
    #[getter]
    fn name(&self) -> &str {
        &self.data().name
    }

    /// Returns the collective's name.
    #[getter]
    fn collective(&self) -> &'static str {
        self.data().collective.name()
    }

    /// The GPU that alone has, or gets, the data; None where all are alike.
    #[getter]
    fn root(&self) -> Option<usize> {
        self.data().collective.root().map(|rank| self.data().gpus[rank])
    }

    /// Returns the GPU of each rank.
    #[getter]
    fn gpus(&self) -> Vec<usize> {
        self.data().gpus.clone()
    }

    /// Lists the algorithms that `auto` tried: timed plans from the fastest on, then the others.
    ///
    /// Empty where an algorithm was named.
    #[getter]
    fn tried(&self) -> Vec<Tried> {
        self.tried.iter().cloned().map(Tried).collect()
    }

    /// Names the protocol of its connections: `LL`, `LL128` or `Simple`.
    #[getter]
    fn protocol(&self) -> &'static str {
        self.data().protocol.name()
    }

    /// Into how many chunks it cuts a shard.
    #[getter]
    fn chunks(&self) -> u32 {
        self.data().chunks
    }

    /// How many shards the longest buffer of a rank has: a size must divide by it.
    #[getter]
    fn shards(&self) -> usize {
        self.data().longest_buffer() / (self.data().chunks.max(1) as usize)
    }

    /// How many shards each rank's input has; none where the rank contributes nothing.
    #[getter]
    fn input_shards(&self) -> Vec<usize> {
        let schedule = self.data();
        let ranks = schedule.ranks();
        (0..ranks).map(|rank| schedule.collective.input_shards(ranks, rank)).collect()
    }

    /// How many channels it uses.
    #[getter]
    fn channels(&self) -> usize {
        self.data().channels.len()
    }

    /// How many steps all ranks have together.
    #[getter]
    fn step_count(&self) -> usize {
        self.data().step_count()
    }

    /// Whether it may run with input and output in the same memory.
    #[getter]
    fn in_place(&self) -> bool {
        self.data().in_place
    }

    /// Whether it may run with input and output apart.
    #[getter]
    fn out_of_place(&self) -> bool {
        self.data().out_of_place
    }

    /// The algorithm that planned it; None if it was read from a file.
    #[getter]
    fn algorithm(&self) -> Option<&str> {
        self.source.plan().map(|plan| &*plan.algorithm)
    }

    /// Its links: `nvlink`, `xgmi`, `pcie`, `hybrid` or `network`; None if it was read.
    #[getter]
    fn links(&self) -> Option<&'static str> {
        let plan = self.source.plan()?;
        let core = self.core();
        let beside =
            core.is_some_and(|system| plan.has_host_beside_fabric(system).unwrap_or(false));
        let of_class = || links_name(plan.links, core.map(Arc::as_ref));
        Some(if beside { WantedLinks::Hybrid.name() } else { of_class() })
    }

    /// Returns the rate that it reaches of the links' peak with long data, in GB/s of size; None if
    /// it was read.
    #[getter]
    fn rate(&self) -> Option<f64> {
        self.source.plan().map(|plan| plan.rate.as_gigabytes_per_second())
    }

    /// The most that any of its kind could, in GB/s; None where that is not known.
    #[getter]
    fn optimum(&self) -> Option<f64> {
        self.source.plan()?.optimum.map(Bandwidth::as_gigabytes_per_second)
    }

    /// Says which schedules have `optimum` as their optimum, such as `trees over NVLink`; None
    /// without one.
    #[getter]
    fn optimum_of(&self) -> Option<String> {
        self.source.plan()?.optimum_of(self.core()?)
    }

    /// Gives the most that `optimum`'s kind could with reductions and copies in the switch beside
    /// it, in GB/s. It is None where no switch does so for all of the GPUs (NVSwitches do from
    /// Hopper on), or it is not known.
    #[getter]
    fn optimum_in_switch(&self) -> Option<f64> {
        let most = self.source.plan()?.optimum_in_switch(self.core()?);
        most.map(Bandwidth::as_gigabytes_per_second)
    }

    /// Finds why nothing passes `optimum`; None where there is none, or no proof of it is known.
    ///
    /// Raises:
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    fn certificate(&self, py: Python<'_>) -> PyResult<Option<Certificate>> {
        let (source, core) = (self.source(), self.core().cloned());
        interruptible(py, move || Certificate::of_plan(source.plan()?, core.as_deref()?))
    }

    /// Checks by sums over the system's links that a certificate proves `optimum`.
    ///
    /// Args:
    ///     certificate: The certificate.
    ///
    /// Raises:
    ///     CollectiveError: If it does not, with the first thing that is wrong; or if there is no optimum.
    #[pyo3(signature = (certificate: "Certificate"))]
    fn verify(&self, #[pyo3(from_py_with = given)] certificate: &Certificate) -> PyResult<()> {
        let (claim, system) = self.claim()?;
        verify(system, certificate.core(), &claim).map_err(errors::collective)
    }

    /// Lists what the plan takes of GPUs outside the job that pass its data on while it flows at
    /// `rate`. Each has its id, and the GB/s that enter it (as much leaves). It has the part of all
    /// its NVLinks, and the part of that which is taken most.
    #[getter]
    fn helpers(&self) -> PyResult<Vec<(usize, f64, f64, f64)>> {
        let (Some(plan), Some(core)) = (self.source.plan(), self.core()) else {
            return Ok(Vec::new());
        };
        let taken = plan.taken(core).map_err(errors::collective)?;
        let told = |it: &planning::Taken| {
            (it.gpu, it.bandwidth.as_gigabytes_per_second(), it.share, it.most)
        };
        Ok(taken.iter().map(told).collect())
    }

    /// Lists the planner's remarks: links that could not be used, weights that were rounded.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.source.plan().map_or_else(Vec::new, |plan| plan.notes.clone())
    }

    /// The trees behind it; empty for rings and ways, and if it was read from a file.
    #[getter]
    fn trees(&self) -> Vec<Tree> {
        let trees = |plan: &Plan| Tree::of_plan(&plan.trees, &plan.schedule.gpus);
        self.source.plan().map_or_else(Vec::new, trees)
    }

    /// Proves that it brings about its collective, whatever the timing.
    ///
    /// Raises:
    ///     ScheduleError: With the first fault and the step that has it.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    fn check(&self, py: Python<'_>) -> PyResult<CheckReport> {
        let source = self.source();
        let report = interruptible(py, move || check(source.schedule()))?;
        report.map(CheckReport).map_err(errors::schedule)
    }

    /// Runs it on real data, with a thread for each core.
    ///
    /// Args:
    ///     arrays: The input of each rank. It is a NumPy array, or anything with its buffer protocol,
    ///         of float32, float64, int32 or int64. None or empty where the rank has none.
    ///     reduction: `sum`, `product`, `min` or `max`.
    ///     in_place: Whether input and output share memory while it runs. The arrays that are
    ///         given never change.
    ///
    /// Returns:
    ///     The output of each rank as a NumPy array of one dimension.
    ///
    /// Raises:
    ///     ScheduleError: If it does not check.
    ///     CollectiveError: If the arrays do not fit it, or take more than 16 GiB together.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        arrays: "Sequence[NDArray[Any] | Buffer | None]", reduction: "ReductionName" = "sum", *, in_place: "bool" = false
    ) -> "list[NDArray[Any]]")]
    fn execute(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] arrays: Vec<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = given)] reduction: &str,
        #[pyo3(from_py_with = given)] in_place: bool,
    ) -> PyResult<Vec<Py<PyAny>>> {
        execution::execute(py, &self.source, &arrays, reduction, in_place)
            .map(|(outputs, _)| outputs)
    }

    /// Executes as `execute` does, and also returns the seconds that the ranks took.
    ///
    /// These count the check that comes first, but no copies from or to Python.
    ///
    /// Raises:
    ///     ScheduleError: If it does not check.
    ///     CollectiveError: If the arrays do not fit it, or take more than 16 GiB together.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        arrays: "Sequence[NDArray[Any] | Buffer | None]", reduction: "ReductionName" = "sum", *, in_place: "bool" = false
    ) -> "tuple[list[NDArray[Any]], float]")]
    fn execute_timed(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] arrays: Vec<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = given)] reduction: &str,
        #[pyo3(from_py_with = given)] in_place: bool,
    ) -> PyResult<(Vec<Py<PyAny>>, f64)> {
        execution::execute(py, &self.source, &arrays, reduction, in_place)
    }

    /// Computes the results that its collective must give for these inputs, without any schedule.
    ///
    /// Integers equal what `execute` gives. Floats are reduced in the order of the ranks, so
    /// that for `n` ranks a sum may differ by `n` units of its last place.
    ///
    /// Raises:
    ///     CollectiveError: If the arrays do not fit the collective.
    #[pyo3(signature = (
        arrays: "Sequence[NDArray[Any] | Buffer | None]", reduction: "ReductionName" = "sum"
    ) -> "list[NDArray[Any]]")]
    fn reference(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] arrays: Vec<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = given)] reduction: &str,
    ) -> PyResult<Vec<Py<PyAny>>> {
        execution::reference(py, &self.source, &arrays, reduction)
    }

    /// How long it takes on a system's links.
    ///
    /// Args:
    ///     size: Bytes, as nccl-tests counts them: the longest buffer of a rank.
    ///     system: Whose links carry it; the one that it was planned for where None.
    ///     chunk: The longest run of bytes that one step moves; where None it is found as Blink
    ///         does (MIAD), and `Timing.chunk_trials` says what was tried.
    ///     protocol: `LL`, `LL128` or `Simple`; its own where None.
    ///     processes: How ranks are launched. `each` is a process for every rank, and `one` is a
    ///         process with all GPUs, one after another. `group` is one that launches all at once,
    ///         as NCCL up to 2.8 does. Where None, it is `one` within a server, unless its
    ///         calibration says otherwise, and `each` between servers.
    ///
    /// Raises:
    ///     CollectiveError: If the size does not divide into shards, the system has no path for a
    ///         connection, or the schedule waits for ever.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        size: "int | str", *, system: "System | None" = None, chunk: "int | str | None" = None,
        protocol: "ProtocolName | None" = None, processes: "ProcessesName | None" = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn time(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = size)] size: i128,
        #[pyo3(from_py_with = given)] system: Option<&System>,
        #[pyo3(from_py_with = optional_size)] chunk: Option<i128>,
        #[pyo3(from_py_with = given)] protocol: Option<&str>,
        #[pyo3(from_py_with = given)] processes: Option<&str>,
    ) -> PyResult<Timing> {
        let on = self.system_or(system)?;
        timing::time_schedule(py, &self.source, size, on, chunk, protocol, processes)
    }

    /// Writes the file that MSCCL's executors load.
    ///
    /// Args:
    ///     min_bytes: The smallest call that may use it.
    ///     max_bytes: The largest; no bound where None.
    ///     step_limit: The most steps of a thread block that the executor was built for.
    ///     size: The message in bytes for which a note gives the time of the form in the file. It
    ///         is the time on the system that the schedule was planned for. No note where None.
    ///
    /// Raises:
    ///     CollectiveError: If a limit of the executors would be passed, with the limit.
    #[pyo3(signature = (
        *, min_bytes: "int | str" = 0, max_bytes: "int | str | None" = None, step_limit: "int" = 64,
        size: "int | str | None" = None
    ))]
    fn to_msccl_xml(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = size)] min_bytes: i128,
        #[pyo3(from_py_with = optional_size)] max_bytes: Option<i128>,
        #[pyo3(from_py_with = given)] step_limit: i128,
        #[pyo3(from_py_with = optional_size)] size: Option<i128>,
    ) -> PyResult<Export> {
        let (min_bytes, max_bytes) = size_range(min_bytes, max_bytes)?;
        let step_limit = option("step_limit", step_limit)?;
        let options = MscclOptions { min_bytes, max_bytes, step_limit };
        let size = size.map(|size| timing::bytes("the size", size)).transpose()?;
        let (source, timed) = (self.source(), self.core().cloned().zip(size));
        let made = interruptible(py, move || match timed {
            Some((system, size)) => to_timed_msccl_xml(source.schedule(), &system, size, &options),
            None => export::to_msccl_xml(source.schedule(), &options),
        })?;
        made.map(Export).map_err(errors::collective)
    }

    /// Writes the execution plan that MSCCL++ loads.
    ///
    /// Args:
    ///     min_bytes: The smallest message that may use it.
    ///     max_bytes: The largest message. Where None, it is the most that offsets of 32 bits
    ///         reach, which it never exceeds.
    ///     in_place: Whether input and output are the same memory; where None, only if the
    ///         schedule cannot run otherwise.
    ///     threads_per_block: A multiple of 32, at most 1,024.
    ///     block_limit: The most thread blocks of a rank: the multiprocessors of its GPU.
    ///     pieces: The number of pieces into which the data is cut. They follow one another, since
    ///         the executor runs a plan once over the whole message. Where None, the number that
    ///         makes it the fastest at `size`, and one if the schedule was read from a file.
    ///     size: The message in bytes for which the pieces are chosen and a note gives the rate.
    ///         The executor wants units of 16 bytes. Where the chunks do not divide the message
    ///         into these, shares are rounded so that they do, and notes give the cost.
    ///
    /// Raises:
    ///     CollectiveError: If the format has no such collective, or a limit would be passed.
    #[pyo3(signature = (
        *, min_bytes: "int | str" = 0, max_bytes: "int | str | None" = None, in_place: "bool | None" = None,
        threads_per_block: "int" = 1024, block_limit: "int" = 80, pieces: "int | None" = None,
        size: "int | str" = 67_108_864
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn to_mscclpp_json(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = size)] min_bytes: i128,
        #[pyo3(from_py_with = optional_size)] max_bytes: Option<i128>,
        #[pyo3(from_py_with = given)] in_place: Option<bool>,
        #[pyo3(from_py_with = given)] threads_per_block: i128,
        #[pyo3(from_py_with = given)] block_limit: i128,
        #[pyo3(from_py_with = given)] pieces: Option<i128>,
        #[pyo3(from_py_with = size)] size: i128,
    ) -> PyResult<Export> {
        let (min_bytes, max_bytes) = size_range(min_bytes, max_bytes)?;
        let threads_per_block = option("threads_per_block", threads_per_block)?;
        let block_limit = option("block_limit", block_limit)?;
        let size = timing::bytes("the size", size)?;
        let given = pieces.map(|pieces| option("pieces", pieces)).transpose()?;
        let options = MscclppOptions {
            min_bytes,
            max_bytes,
            in_place,
            threads_per_block,
            block_limit,
            pieces: given.unwrap_or(1),
            taken_at: Some(size),
        };
        let (source, system) = (self.source(), self.core().cloned());
        let made = interruptible(py, move || match system {
            Some(system) if given.is_none() => {
                to_fastest_mscclpp_json(source.schedule(), &system, size, &options)
            }
            _ => to_mscclpp_json(source.schedule(), &options),
        })?;
        made.map(Export).map_err(errors::collective)
    }

    /// Draws its trees side by side for Graphviz.
    ///
    /// Where there are none, it shows what every connection moves.
    fn to_dot(&self) -> String {
        let schedule = self.data();
        let Some(plan) = self.source.plan().filter(|plan| !plan.trees.is_empty()) else {
            return export::to_dot(schedule);
        };
        let names: Vec<String> = schedule.gpus.iter().map(|gpu| format!("GPU {gpu}")).collect();
        let shares = Tree::of_plan(&plan.trees, &schedule.gpus);
        let trees: Vec<(String, &[Option<usize>])> = plan
            .trees
            .iter()
            .zip(&shares)
            .map(|(tree, share)| (share.title(), tree.parent.as_slice()))
            .collect();
        export::trees_to_dot(&schedule.name, &names, &trees)
    }

    /// Returns one row per step.
    ///
    /// Columns: rank, block, step, channel, operation, send_to, receive_from, source,
    /// destination, count and after, the `block.step` of its rank that must have ended first.
    fn steps(&self) -> PyResult<Table> {
        Table::new(tables::steps(self.data()))
    }

    /// Its steps, below what it is.
    fn _repr_html_(&self) -> PyResult<String> {
        Ok(cells::titled(&self.__repr__(), &self.steps()?._repr_html_()))
    }

    fn __repr__(&self) -> String {
        let schedule = self.data();
        let (name, collective) = (&schedule.name, schedule.collective.name());
        let gpus: Vec<String> = schedule.gpus.iter().map(usize::to_string).collect();
        let (gpus, steps) = (gpus.join(","), schedule.step_count());
        let rate = self.rate().map_or_else(String::new, |rate| format!(", {rate:.2} GB/s"));
        format!("<Schedule {name:?}: {collective} on GPUs {gpus}, {steps} steps{rate}>")
    }
}
