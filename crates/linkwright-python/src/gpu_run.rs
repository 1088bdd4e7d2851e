//! Gives Python `linkwright.GpuSystem` and `linkwright.GpuRun`: kernels inside GPUs.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::diagnostic::Diagnosis;
use linkwright::engine::{Hook, Progress};
use linkwright::memory::kernel::recorded::{Checked, LoadedWords, WrongLoad};
use linkwright::memory::kernel::{Image, KernelWorkload, Mismatch};
use linkwright::memory::protocol::Leases;
use linkwright::memory::{self, AccessesAsked, Distribution, DramTiming, GpuOptions, tables};
use linkwright::network::wires::Wires;
use linkwright::simulation::cluster::{self, ClusterKernel, KernelChoices, Mapping};
use linkwright::system::gpus::Hierarchy;
use linkwright::units::{Bytes, Picoseconds};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::{callback, given, speed};
use crate::choices::Choice;
use crate::cluster_job::{ClusterJob, MappingArgument, checked_iterations};
use crate::errors;
use crate::gpu_machine::GpuMachine;
use crate::gpu_model::{GpuModel, NamedModel};
use crate::gpu_workload::{Kept, Wanted, What};
use crate::number;
use crate::shared_memory::{checked_bandwidth, memory_system, shared_memory};
use crate::system::System;
use crate::table::Table;
use crate::worker;

/// Describes GPUs of one model, how they share memory, and the links that join them.
///
/// Examples:
///     >>> from linkwright import GpuSystem
///     >>> run = GpuSystem("r9-nano", 2, "tsm-wt-c-rc").play("relu", 4096)
///     >>> run.correct, run.time
///     (True, 7.229e-06)
#[pyclass(frozen, eq, module = "linkwright.gpu")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GpuSystem {
    model: GpuModel,
    gpus: u32,
    machine: Option<GpuMachine>,
    memory: String,
    distribution: String,
    remote: Vec<String>,
    dram: String,
    shared_bandwidth: f64,
    read_lease: u32,
    write_lease: u32,
    timestamp_bits: u8,
    code: bool,
}

#[pymethods]
impl GpuSystem {
    /// Makes GPUs that share memory.
    ///
    /// Args:
    ///     model: A name of `gpu_models` whose file has a `[hierarchy]`, or a `GpuModel`; `r9-nano`, or
    ///         the machine's own, if not given.
    ///     gpus: How many; one, or all of the machine, if not given.
    ///     machine: A `System` whose links join them; PCIe as the model's file says if not given.
    ///     on: The ids of GPUs of one server of the machine.
    ///     without: Parts that the machine lacks: devices (`mlx5_3` of every server, `node1/mlx5_3` of
    ///         one), or all links of a pair (`GPU0-GPU3`).
    ///     memory: How they share memory: `rdma`, `tsm-wt-c-rc` and the like.
    ///     distribution: The rule by which data lies in the GPUs' memories. `unified` deals out
    ///         pages in turn, and `discrete` deals out buffers in equal blocks. `first` puts all in
    ///         the memory of the first GPU, which alone runs kernels.
    ///     remote: Under `first`, the names of buffers that lie in the second GPU's memory instead.
    ///     dram: How memory is timed: `ideal`, at one latency, or `hbm2`, by banks and rows.
    ///     shared_bandwidth: Of each GPU to truly shared memory, each way, in GB/s; a machine says its own.
    ///     read_lease: How long a copy that was read is valid, in logical time, where a memory
    ///         system leases lines (MGCC, G-TSC).
    ///     write_lease: How long one that was written is, likewise.
    ///     timestamp_bits: Of a timestamp, 2 to 16; leases fit into it.
    ///     code: Whether wavefronts read the code of benchmarks from memory, through caches of
    ///         instructions, or know it.
    ///
    /// Raises:
    ///     MachineError: If the model is unknown, or its file does not say what is inside. Also if the
    ///         machine has no such part, or does not join the GPUs.
    ///     AllocationError: If a choice is unknown, or a GPU of the machine.
    ///     SimulationError: If a number is out of range, or no other GPU's memory can hold what is
    ///         remote. Also if the machine has no memory that the memory system needs.
    #[new]
    #[pyo3(signature = (
        model: "GpuModel | str | None" = None, gpus: "int | None" = None, memory: "MemorySystemName" = "rdma", *,
        machine: "System | None" = None, on: "Sequence[int] | None" = None, without: "Sequence[str]" = Vec::new(),
        distribution: "DistributionName" = "unified", remote: "Sequence[str]" = Vec::new(), dram: "DramName" = "ideal", shared_bandwidth: "float | str" = 32.0,
        read_lease: "int" = 10, write_lease: "int" = 5, timestamp_bits: "int" = 16, code: "bool" = true
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        #[pyo3(from_py_with = given)] model: Option<NamedModel>,
        #[pyo3(from_py_with = given)] gpus: Option<i128>,
        #[pyo3(from_py_with = given)] memory: &str,
        #[pyo3(from_py_with = given)] machine: Option<PyRef<'_, System>>,
        #[pyo3(from_py_with = given)] on: Option<Vec<i128>>,
        #[pyo3(from_py_with = given)] without: Vec<String>,
        #[pyo3(from_py_with = given)] distribution: &str,
        #[pyo3(from_py_with = given)] remote: Vec<String>,
        #[pyo3(from_py_with = given)] dram: &str,
        #[pyo3(from_py_with = speed)] shared_bandwidth: f64,
        #[pyo3(from_py_with = given)] read_lease: i128,
        #[pyo3(from_py_with = given)] write_lease: i128,
        #[pyo3(from_py_with = given)] timestamp_bits: i128,
        #[pyo3(from_py_with = given)] code: bool,
    ) -> PyResult<Self> {
        let machine = match machine {
            Some(system) => Some(GpuMachine::new(&system, gpus, on, without)?),
            None if on.is_some() || !without.is_empty() => {
                let (what, few) = if on.is_some() { ("on", "GPUs") } else { ("without", "parts") };
                let refused = Diagnosis::of(format!("`{what}` names {few} of a machine"));
                return Err(errors::machine(refused.remedy("give the machine, too")));
            }
            None => None,
        };
        let model = match (model, &machine) {
            (Some(NamedModel::Model(model)), _) => model.get().clone(),
            (Some(NamedModel::Name(name)), _) => GpuModel::inside(&name)?,
            (None, Some(machine)) => machine.inside()?,
            (None, None) => GpuModel::inside("r9-nano")?,
        };
        let inside = model.core().hierarchy().map_err(errors::machine)?;
        memory_system(memory)?;
        Distribution::named(distribution)?;
        DramTiming::named(dram)?;
        checked_bandwidth(shared_bandwidth)?;
        let counted = |gpus: &u32| (1..=memory::MOST_GPUS).contains(gpus);
        let gpus = machine.as_ref().map_or(gpus.unwrap_or(1), |machine| machine.count());
        let gpus = u32::try_from(gpus).ok().filter(counted).ok_or_else(|| {
            let refused = Diagnosis::of(format!("a run cannot have {gpus} GPUs"));
            errors::range(refused.remedy(format!("use 1 to {}", memory::MOST_GPUS)))
        })?;
        if let Some(machine) = &machine {
            machine.joins(memory_system(memory)?, inside)?;
        }
        Leases::new(read_lease, write_lease, timestamp_bits).map_err(errors::range)?;
        // None is more than a timestamp holds.
        let [read_lease, write_lease] = [read_lease, write_lease].map(|lease| lease as u32);
        let timestamp_bits = timestamp_bits as u8;
        let [memory, distribution, dram] = [memory, distribution, dram].map(str::to_owned);
        let system = Self {
            model,
            gpus,
            machine,
            memory,
            distribution,
            remote,
            dram,
            shared_bandwidth,
            read_lease,
            write_lease,
            timestamp_bits,
            code,
        };
        if !system.remote.is_empty() {
            memory::can_be_remote(&system.options(false, 1.0, None)?).map_err(errors::range)?;
        }
        Ok(system)
    }

    /// Returns the model of its GPUs.
    #[getter]
    fn model(&self) -> GpuModel {
        self.model.clone()
    }

    /// How many GPUs there are.
    #[getter]
    fn gpus(&self) -> u32 {
        self.gpus
    }

    /// The machine whose links join its GPUs; None where the model's file says what does.
    #[getter]
    fn machine(&self) -> Option<System> {
        self.machine.as_ref().map(GpuMachine::system)
    }

    /// Gives the ids of its GPUs in the machine; empty without one.
    #[getter]
    fn on(&self) -> Vec<u32> {
        self.machine.as_ref().map_or(Vec::new(), |machine| machine.gpus().to_vec())
    }

    /// The parts of the machine that are absent.
    #[getter]
    fn without(&self) -> Vec<String> {
        self.machine.as_ref().map_or(Vec::new(), |machine| machine.without().to_vec())
    }

    /// Says how they share memory.
    #[getter]
    fn memory(&self) -> &str {
        &self.memory
    }

    /// Which GPU's memory holds what.
    #[getter]
    fn distribution(&self) -> &str {
        &self.distribution
    }

    /// The buffers that lie in the second GPU's memory, where the first alone runs kernels.
    #[getter]
    fn remote(&self) -> Vec<String> {
        self.remote.clone()
    }

    /// How memory is timed.
    #[getter]
    fn dram(&self) -> &str {
        &self.dram
    }

    /// Returns the bandwidth of each GPU to truly shared memory, each way, in GB/s.
    #[getter]
    fn shared_bandwidth(&self) -> f64 {
        self.shared_bandwidth
    }

    /// How long a copy that was read is valid, in logical time.
    #[getter]
    fn read_lease(&self) -> u32 {
        self.read_lease
    }

    /// How long a copy that was written is valid, in logical time.
    #[getter]
    fn write_lease(&self) -> u32 {
        self.write_lease
    }

    /// Counts the bits of a timestamp.
    #[getter]
    fn timestamp_bits(&self) -> u8 {
        self.timestamp_bits
    }

    /// Says whether wavefronts read their code.
    #[getter]
    fn code(&self) -> bool {
        self.code
    }

    /// Whether what one wavefront wrote is what another reads, once a fence and a flag or an atomic
    /// have told it, within a kernel.
    #[getter]
    fn is_coherent(&self) -> PyResult<bool> {
        Ok(memory_system(&self.memory)?.is_coherent())
    }

    /// Lists those of `shared_bandwidth`, `read_lease`, `write_lease` and `timestamp_bits` that
    /// change something under its memory system. The values of the others are of no account.
    #[getter]
    fn heeds(&self) -> PyResult<Vec<&'static str>> {
        let heeds = memory_system(&self.memory)?.heeds().into_iter();
        // A machine says itself how fast its links are.
        let is_its = |it: &&str| *it != "shared_bandwidth" || self.machine.is_none();
        Ok(heeds.filter(is_its).collect())
    }

    /// Gives the costs of its coherence before anything runs, in messages and in the state of
    /// caches and memory.
    ///
    /// Columns are `what` (`read request`, `lines of an L1` and the like), bytes, and added (how
    /// many of them are the protocol's). The state of directories is left out, since it grows with
    /// the data that is shared.
    fn costs(&self) -> PyResult<Table> {
        let memory = memory_system(&self.memory)?;
        Table::new(memory::costs(self.hierarchy()?, memory, self.leases()?))
    }

    /// Seconds that bytes which a GPU reads and writes keep its links to truly shared memory, as layers of
    /// training under `tsm` take.
    ///
    /// Args:
    ///     read: Bytes that it reads, by whole lines.
    ///     written: Bytes that it writes, likewise.
    ///
    /// Raises:
    ///     SimulationError: If its GPUs share no memory, or under sequential consistency.
    #[pyo3(signature = (read: "int", written: "int"))]
    fn shared_time(
        &self,
        #[pyo3(from_py_with = given)] read: i128,
        #[pyo3(from_py_with = given)] written: i128,
    ) -> PyResult<f64> {
        let [read, written] = [("bytes read", read), ("bytes written", written)]
            .map(|(what, bytes)| number::whole::<u64>(what, bytes, u64::MAX));
        let shared = shared_memory(&self.memory, Some(self.shared_bandwidth))?;
        let links = shared.links(self.model.core()).map_err(errors::machine)?;
        Ok(links.seconds(read? as f64, written? as f64))
    }

    /// Returns the seconds of a cycle of its GPUs' clock.
    #[getter]
    fn cycle(&self) -> PyResult<f64> {
        Ok(self.hierarchy()?.cycle.as_seconds())
    }

    /// Runs a benchmark, or a kernel of one's own.
    ///
    /// Args:
    ///     benchmark: A name of `gpu_benchmarks`, or a `GpuKernel`.
    ///     size: How large a benchmark is; one that runs within seconds if not given.
    ///     data: Whether kernels work on real data, so that the answer can be wrong; the time is
    ///         the same either way.
    ///     limit: Simulated seconds after which a kernel that has not ended is given up.
    ///     timeline: How many work-groups a timeline keeps at most, for `groups` and `samples`; 0
    ///         for none. The time is the same either way.
    ///     accesses: The most accesses to lines that the run keeps, for `accesses`.
    ///     accesses_from: From which second on.
    ///     accesses_until: Until which second.
    ///     progress: Called every 100 ms with wavefronts done and simulated seconds.
    ///
    /// Raises:
    ///     SimulationError: If the size is not possible, memory does not hold the buffers, or there
    ///         is no buffer of a name in `remote`.
    ///     TimeLimitError: If a kernel has not ended in time.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        benchmark: "BenchmarkName | GpuKernel", size: "int | None" = None, *, data: "bool" = true,
        limit: "float" = 1.0, timeline: "int" = 0,
        accesses: "int" = 0, accesses_from: "float" = 0.0, accesses_until: "float | None" = None,
        progress: "Callable[[int, float], object] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    #[pyo3(name = "play")]
    fn run(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] benchmark: Wanted<'_>,
        #[pyo3(from_py_with = given)] size: Option<i128>,
        #[pyo3(from_py_with = given)] data: bool,
        #[pyo3(from_py_with = given)] limit: f64,
        #[pyo3(from_py_with = given)] timeline: i128,
        #[pyo3(from_py_with = given)] accesses: i128,
        #[pyo3(from_py_with = given)] accesses_from: f64,
        #[pyo3(from_py_with = given)] accesses_until: Option<f64>,
        #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
    ) -> PyResult<GpuRun> {
        let timeline: u64 = number::whole("timeline", timeline, u64::MAX)?;
        if !(limit > 0.0 && limit.is_finite()) {
            let refused = Diagnosis::of(format!("the limit cannot be {limit} seconds"));
            return Err(errors::range(refused.remedy("give more than 0")));
        }
        let what = What::new(benchmark, size)?;
        let most: u64 = number::whole("accesses", accesses, u64::MAX)?;
        let from = number::time("accesses_from", accesses_from)?.0;
        let until =
            accesses_until.map(|until| number::time("accesses_until", until)).transpose()?;
        let span = (from, until.map_or(u64::MAX, |until| until.0));
        let accesses = (most > 0).then_some((most, span));
        let of = Of { system: self.clone(), what, data, limit, timeline, accesses };
        GpuRun::play(py, of, progress.as_ref())
    }

    /// Makes a job of it for `System.play`, where it runs beside other jobs.
    ///
    /// The system that plays it has the GPUs and all links; their inside is as here. Messages between GPUs and to
    /// their host go over that network, which must have packets. It has no data.
    ///
    /// Args:
    ///     benchmark: As for `run`.
    ///     size: As for `run`.
    ///     name: The kernel's where absent.
    ///     iterations: How often.
    ///     start: In seconds. Its ranks start when its GPUs are free.
    ///     priority: Of its messages, 0 to 255.
    ///     mapping: As for `ClusterJob`. Where absent, `on` of the machine here, or what the replay says.
    ///
    /// Raises:
    ///     SimulationError: If a number is out of range, or there is no such mapping.
    ///     AllocationError: If there is no such benchmark.
    #[pyo3(signature = (
        benchmark: "BenchmarkName | GpuKernel", size: "int | None" = None, *, name: "str | None" = None,
        iterations: "int" = 1, start: "float" = 0.0, priority: "int" = 0,
        mapping: "str | Sequence[int] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn job(
        &self,
        #[pyo3(from_py_with = given)] benchmark: Wanted<'_>,
        #[pyo3(from_py_with = given)] size: Option<i128>,
        #[pyo3(from_py_with = given)] name: Option<String>,
        #[pyo3(from_py_with = given)] iterations: i128,
        #[pyo3(from_py_with = given)] start: f64,
        #[pyo3(from_py_with = given)] priority: i128,
        #[pyo3(from_py_with = given)] mapping: Option<MappingArgument>,
    ) -> PyResult<ClusterJob> {
        let of_machine = || self.machine.as_ref().map(|it| Mapping::Gpus(it.gpus().to_vec()));
        let given = mapping.map(MappingArgument::mapping).transpose()?;
        let kernel = ClusterKernel {
            source: What::new(benchmark, size)?.source(),
            model: self.model.core().clone(),
            choices: KernelChoices {
                memory: self.memory.clone(),
                distribution: self.distribution.clone(),
                remote: self.remote.clone(),
                dram: self.dram.clone(),
                leases: [self.read_lease, self.write_lease, self.timestamp_bits.into()],
                code: self.code,
            },
        };
        Ok(ClusterJob(cluster::ClusterJob {
            name: name.unwrap_or_else(|| kernel.name().to_owned()),
            program: Arc::new(kernel.program(self.gpus)),
            iterations: checked_iterations(iterations)?,
            start: number::time("the start", start)?,
            computation_scale: 1.0,
            priority: number::whole("the priority", priority, u8::MAX)?,
            deadline: None,
            mapping: given.or_else(of_machine),
            kernel: Some(Arc::new(kernel)),
        }))
    }

    fn __repr__(&self) -> String {
        let name = &self.model.core().name;
        let machine = self.machine.as_ref();
        let between = machine.map_or(String::new(), |it| format!(" in {}", it.name()));
        format!("<GpuSystem: {} of {name}{between}, {}>", self.gpus, self.memory)
    }
}

impl GpuSystem {
    /// Returns the inside of its GPUs.
    pub fn hierarchy(&self) -> PyResult<&Hierarchy> {
        self.model.core().hierarchy().map_err(errors::machine)
    }

    fn leases(&self) -> PyResult<Leases> {
        let [read, write] = [self.read_lease, self.write_lease].map(i128::from);
        Leases::new(read, write, self.timestamp_bits.into()).map_err(errors::range)
    }

    /// Builds the wires of its machine.
    pub fn wires(&self) -> PyResult<Option<Wires>> {
        let memory = memory_system(&self.memory)?;
        let wires = |it: &GpuMachine| it.wires(memory, self.hierarchy()?);
        self.machine.as_ref().map(wires).transpose()
    }

    /// Gives the options of a run of it, over the wires of its machine.
    pub fn options<'a>(
        &self,
        data: bool,
        limit: f64,
        between: Option<&'a Wires>,
    ) -> PyResult<GpuOptions<'a>> {
        Ok(GpuOptions {
            gpus: self.gpus,
            between,
            memory: memory_system(&self.memory)?,
            distribution: Distribution::named(&self.distribution)?,
            dram: DramTiming::named(&self.dram)?,
            with_data: data,
            with_code: self.code,
            shared_bandwidth: checked_bandwidth(self.shared_bandwidth)?,
            leases: self.leases()?,
            limit: Picoseconds::from_seconds(limit),
            watched: None,
            timeline: None,
            accesses: None,
        })
    }
}

/// Holds everything that a run is played from.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Of {
    system: GpuSystem,
    what: What,
    data: bool,
    limit: f64,
    timeline: u64,
    /// How many accesses are kept, and those between which picoseconds.
    accesses: Option<(u64, (u64, u64))>,
}

impl Of {
    /// The workload, whose making the hook can end.
    fn workload(&self, hook: Hook<'_>) -> PyResult<(KernelWorkload, Kept)> {
        let page = self.system.hierarchy()?.page;
        let distribution = Distribution::named(&self.system.distribution)?;
        let gpus = distribution.computing(self.system.gpus);
        let (mut workload, kept) = self.what.workload(page, gpus, hook)?;
        workload.put_remote(&self.system.remote).map_err(errors::range)?;
        Ok((workload, kept))
    }

    /// Memory compared with a CPU's answer, which may take as long to compute as the run has.
    fn checked(&self, py: Python<'_>, image: Image) -> PyResult<(Image, Option<Mismatch>)> {
        let of = self.clone();
        worker::interruptible(py, move || {
            let (workload, _) = of.workload(&mut |_| ControlFlow::Continue(()))?;
            let mismatch = (workload.check)(&image).err();
            Ok((image, mismatch))
        })?
    }
}

/// Holds the results of a benchmark, or of a kernel of one's own, on GPUs.
///
/// A run is pickled as what it was played from, and is played again when it is loaded.
#[pyclass(frozen, module = "linkwright.gpu")]
pub struct GpuRun {
    of: Of,
    run: memory::GpuRun,
    steps: linkwright::table::Table,
    groups: linkwright::table::Table,
    /// Lists each buffer's name, address and size.
    buffers: Vec<(String, u64, Bytes)>,
    mismatch: Option<Mismatch>,
    wrong_load: Option<WrongLoad>,
    loads: Vec<LoadedWords>,
}

impl Serialize for GpuRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.of.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GpuRun {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of = Of::deserialize(deserializer)?;
        Python::attach(|py| Self::play(py, of, None)).map_err(D::Error::custom)
    }
}

impl GpuRun {
    fn play(py: Python<'_>, of: Of, progress: Option<&Py<PyAny>>) -> PyResult<Self> {
        let timeline = (of.timeline > 0).then_some(of.timeline as usize);
        let accesses = of.accesses.map(|(most, (from, until))| AccessesAsked {
            most: most as usize,
            from: Picoseconds(from),
            until: Picoseconds(until),
        });
        let wires = of.system.wires()?;
        let options = of.system.options(of.data, of.limit, wires.as_ref())?;
        let options = GpuOptions { timeline, accesses, ..options };
        let hierarchy = of.system.hierarchy()?;
        let report = |py: Python<'_>, at: Progress| match progress {
            Some(call) => call.call1(py, (at.done, at.time.as_seconds())).map(|_| ()),
            None => Ok(()),
        };
        let played = worker::watched(py, report, |hook| {
            let (workload, kept) = of.workload(&mut *hook)?;
            let run = memory::run(hierarchy, &workload, &options, Some(hook));
            let run = run.map_err(errors::gpus)?;
            let steps = tables::steps(&workload, &run);
            let groups = tables::groups(&workload, &run, of.system.gpus);
            let buffers = workload.buffers.iter();
            let buffers = buffers.map(|it| (it.name.to_string(), it.address, it.size)).collect();
            Ok::<_, PyErr>((run, steps, groups, buffers, kept.take()))
        })?;
        let (mut run, steps, groups, buffers, loads) = played?;
        let mut mismatch = None;
        if let Some(image) = run.image.take() {
            let (image, found) = of.checked(py, image)?;
            (run.image, mismatch) = (Some(image), found);
        }
        if let Some(wrong) = &mut mismatch {
            // Who is to blame is known once it is known for what: the run is played again.
            let watched = Some(wrong.address);
            let watching = GpuOptions { watched, timeline: None, accesses: None, ..options };
            let again = worker::watched(py, report, |hook| {
                let (workload, _) = of.workload(&mut *hook)?;
                memory::run(hierarchy, &workload, &watching, Some(hook)).map_err(errors::gpus)
            })?;
            wrong.stored_by = again?.stored_by;
        }
        let wrong_load = of.what.wrong_load(&loads);
        Ok(Self { of, run, steps, groups, buffers, mismatch, wrong_load, loads })
    }
}

#[pymethods]
impl GpuRun {
    /// Names the benchmark, or the kernel of one's own.
    #[getter]
    fn benchmark(&self) -> &str {
        self.of.what.name()
    }

    /// Returns the benchmark's size; None for a kernel of one's own.
    #[getter]
    fn size(&self) -> Option<u64> {
        match self.of.what {
            What::Benchmark { size, .. } => Some(size),
            What::Kernel(_) => None,
        }
    }

    /// Returns the GPUs that ran it.
    #[getter]
    fn system(&self) -> GpuSystem {
        self.of.system.clone()
    }

    /// Returns the seconds from the first copy to the last.
    #[getter]
    fn time(&self) -> f64 {
        self.run.time.as_seconds()
    }

    /// Returns the seconds of the kernels alone.
    #[getter]
    fn kernel_time(&self) -> f64 {
        self.run.kernel_time().as_seconds()
    }

    /// Returns the time in cycles of the GPU's clock.
    #[getter]
    fn cycles(&self) -> u64 {
        self.run.time.0 / self.run.cycle.0
    }

    /// Whether the answer is a CPU's, or what a kernel of one's own expects. None of a run without
    /// data, or of a kernel that expects nothing.
    #[getter]
    fn correct(&self) -> Option<bool> {
        self.checked().map(|_| self.mismatch.is_none() && self.wrong_load.is_none())
    }

    /// Says what `correct` judges: `answer`, or `memory`. The latter is of a kernel of one's own that
    /// expects words in buffers, and neither expects what loads bring nor stores it. None where
    /// `correct` is.
    #[getter]
    fn checked(&self) -> Option<&'static str> {
        self.run.image.as_ref()?;
        self.of.what.checked_part().map(|part| match part {
            Checked::Answer => "answer",
            Checked::Memory => "memory",
        })
    }

    /// The first element that is wrong in memory, or else in what loads brought, and how; None where
    /// none is, or without data.
    #[getter]
    fn mismatch(&self) -> Option<String> {
        let in_memory = self.mismatch.as_ref().map(ToString::to_string);
        in_memory.or_else(|| self.wrong_load.as_ref().map(ToString::to_string))
    }

    /// Counts the instructions of wavefronts.
    #[getter]
    fn instructions(&self) -> u64 {
        self.run.instructions.instructions
    }

    /// Accesses to lines that went to another GPU.
    #[getter]
    fn remote_accesses(&self) -> u64 {
        self.run.instructions.remote
    }

    /// Counts the pages that came to a GPU because it touched them.
    #[getter]
    fn page_migrations(&self) -> u64 {
        self.run.migrations
    }

    /// Counts the events that the model handled.
    #[getter]
    fn events(&self) -> u64 {
        self.run.events
    }

    /// Returns one row for each step, in order.
    ///
    /// Columns are step (`copy in`, `kernel`, `write back`, `copy out`), of (which buffer or
    /// kernel) and time (in seconds).
    fn steps(&self) -> PyResult<Table> {
        Table::new(self.steps.clone())
    }

    /// Returns one row for each cache.
    ///
    /// Columns are cache (`L1 vector`, `L1 scalar`, `L1 instruction`, `L2`), gpu and number (among
    /// the GPU's). Then come hits, merged (accesses that waited for a line under way), misses,
    /// evictions and write_backs, all in lines. The last are answers and latency (their mean, in
    /// seconds; no number where there are none).
    fn caches(&self) -> PyResult<Table> {
        Table::new(tables::caches(&self.run, self.of.system.gpus))
    }

    /// Returns one row for each channel of memory.
    ///
    /// Columns: gpu (whose it is, or `shared`), channel, reads, writes (lines, for caches),
    /// copied_in, copied_out (lines, by the host's copies), timestamp_evictions. The last counts
    /// timestamps that its storage unit forgot for lack of room.
    fn channels(&self) -> PyResult<Table> {
        Table::new(tables::memory(&self.run, self.of.system.gpus))
    }

    /// Returns one row for each direction of a link that carried something.
    ///
    /// Columns are link, messages, bytes (without those that the link adds) and utilisation (share
    /// of the run for which it was busy, 0 to 1). The last is longest_wait: the longest that a
    /// message waited for those before it, in seconds.
    fn links(&self) -> PyResult<Table> {
        Table::new(tables::links(&self.run))
    }

    /// One row for each work-group that the timeline kept, in the order in which they ended. Empty
    /// unless the run was given a `timeline`.
    ///
    /// Columns are kernel, launch (its number), group (its number in the launch), gpu, unit (the
    /// compute unit of the GPU), start and end (in seconds).
    fn groups(&self) -> PyResult<Table> {
        Table::new(self.groups.clone())
    }

    /// How many work-groups there were, kept or not; 0 unless the run was given a `timeline`.
    #[getter]
    fn group_count(&self) -> u64 {
        self.run.timeline.as_ref().map_or(0, |timeline| timeline.group_count)
    }

    /// One row for each interval, and each link and memory that did anything. Empty unless the run
    /// was given a `timeline`.
    ///
    /// An interval is 64 cycles, or longer, so that there are no more than 1,024 intervals. Columns
    /// are of (which link, or whose memory), `what`, start (of the interval, in seconds) and value.
    /// The value of `busy` is the share of the interval, 0 to 1. Those of `read` and `written`, by
    /// caches, are in bytes a second.
    fn samples(&self) -> PyResult<Table> {
        Table::new(tables::samples(&self.run, self.of.system.gpus))
    }

    /// The bytes that a buffer holds in the end, words of 4 bytes with the lowest first, as
    /// `numpy.frombuffer` reads them.
    ///
    /// Raises:
    ///     KeyError: If there is no such buffer.
    ///     SimulationError: If the run had no data.
    #[pyo3(signature = (name: "str"))]
    fn buffer<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given)] name: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Some(image) = &self.run.image else {
            let without = Diagnosis::of("the run had no data").remedy("run with data=True");
            return Err(errors::range(without));
        };
        let found = self.buffers.iter().find(|(known, _, _)| known == name);
        let (_, address, size) = found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(PyBytes::new(py, image.of_buffer(*address, *size)))
    }

    /// Gives one row for each access of a wavefront to a line that the run kept, in the order of their answers.
    ///
    /// Time is in seconds, when it came to its first-level cache, which is its place. Kind is `read`, `write`
    /// or `atomic`, size the bytes of the line that it touches. Level is the farthest place that it went to:
    /// `L1`, `L2`, `memory` or `remote`. The last is another GPU's L2 or memory, or the host's. An access that waits
    /// for a line which another has asked for finds it in the cache. Hops are the links between GPUs, or to shared
    /// memory, that its answer crossed. Latency is in seconds, until its cache answered. Buffer and offset
    /// (in bytes) say where the line is. Empty unless the run was given `accesses`.
    fn accesses(&self) -> PyResult<Table> {
        Table::new(tables::accesses(&self.run, &self.buffers))
    }

    /// How many such accesses there were in the span, kept or not; 0 unless the run was given
    /// `accesses`.
    #[getter]
    fn access_count(&self) -> u64 {
        self.run.accesses.as_ref().map_or(0, |trace| trace.count)
    }

    /// Gives the words that the loads of a kernel of one's own have read: one row for each word.
    ///
    /// Columns are load (its name), launch (its number), group, wavefront (in the group) and gpu
    /// (that ran it). Then come lane (the work-item), word (of the work-item) and value (without
    /// sign).
    fn loads(&self) -> PyResult<Table> {
        Table::new(tables::loads(&self.loads))
    }

    /// How long the loads took that a kernel of one's own records: one row for each, with or without data.
    ///
    /// Columns: load (its name), launch (its number), group, wavefront (in the group), gpu (that
    /// ran it), issued, latency (both in seconds), cycles. The wavefront gave the instruction when it was
    /// issued. Latency is from then until the last word was there; cycles are the same of the GPU's clock.
    fn timed_loads(&self) -> PyResult<Table> {
        Table::new(tables::timed_loads(&self.loads, self.run.cycle))
    }

    /// The names of the buffers.
    #[getter]
    fn buffers(&self) -> Vec<String> {
        self.buffers.iter().map(|(name, _, _)| name.clone()).collect()
    }

    fn __repr__(&self) -> String {
        let (Of { system, .. }, name, time) = (&self.of, self.of.what.name(), self.run.time);
        let size = self.size().map_or(String::new(), |size| format!(" {size}"));
        let cut = self.run.timeline.as_ref().map_or_else(String::new, |timeline| {
            let (kept, count) = (timeline.groups.len(), timeline.group_count);
            let is_cut = (kept as u64) < count;
            if is_cut { format!(", {kept} of {count} work-groups kept") } else { String::new() }
        });
        format!("<GpuRun: {name}{size} on {} GPUs, {}, {time}{cut}>", system.gpus, system.memory)
    }
}
