//! Gives Python `linkwright.NeuralNetwork` and `linkwright.TrainingStep`: steps of training as
//! programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use linkwright::collectives::Collective;
use linkwright::collectives::baselines::{ExpectError, Settings, expected_timings};
use linkwright::diagnostic::Diagnosis;
use linkwright::diagnostic::Named;
use linkwright::program::CollectiveKind;
use linkwright::training::{
    self, Bucketing, Footprint, FrameworkCosts, LayerTime, MOST_MICRO_BATCHES, MOST_SAMPLES,
    MeasuredLayers, Network, Optimizer, Precision, Representatives, SampleSize, Shape,
    SharedMemories, Terms, Training, Units, Way, collectives_of, model_of, tables,
};
use linkwright::units::{Bytes, Picoseconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::argument::{given, optional_size, optional_speed};
use crate::choices::Choice;
use crate::errors;
use crate::kernel_trace::{KernelRatios, KernelTrace};
use crate::number::whole;
use crate::plan::gpu_ids;
use crate::program::Program;
use crate::shared_memory;
use crate::system::System;
use crate::table::Table;
use crate::worker::interruptible;

/// The names of the frameworks whose costs are known.
pub fn framework_names() -> Vec<&'static str> {
    Terms::own().frameworks()
}

/// Returns the rates that kernels reach on a GPU and the costs of frameworks, as TOML, each with
/// its source.
#[pyfunction]
pub fn training_terms() -> &'static str {
    Terms::TEXT
}

/// The networks that Linkwright has: name, where it was published, trained numbers.
#[pyfunction]
pub fn neural_networks() -> Vec<(String, String, u64)> {
    let of = |it: &Network| (it.full_name(), it.source.clone(), it.parameters());
    Network::all().into_iter().map(of).collect()
}

/// A network that is trained, layer by layer; numbers are of one sample.
#[pyclass(frozen, eq, module = "linkwright.training")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NeuralNetwork(pub Arc<Network>);

#[pymethods]
impl NeuralNetwork {
    /// The network of a name of `neural_networks`; upper and lower case are one, and hyphens may
    /// be left out.
    ///
    /// Raises:
    ///     SimulationError: If there is none; the message names the nearest.
    #[staticmethod]
    #[pyo3(signature = (name: "str"))]
    fn find(#[pyo3(from_py_with = given)] name: &str) -> PyResult<Self> {
        let found = Network::find(name).map_err(errors::training)?;
        Ok(Self(Arc::new(found.clone())))
    }

    /// Reads a network from its TOML text; `file` names the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no network, or its layers do not meet, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        let read = py.detach(|| Network::read(file, text)).map_err(errors::input)?;
        Ok(Self(Arc::new(read)))
    }

    /// Returns its name, with its variant where it has several.
    #[getter]
    fn name(&self) -> String {
        self.0.full_name()
    }

    /// Where it was published; empty where the file does not say.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// Lists the points that the source leaves open, and how they are taken.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumed().cloned().collect()
    }

    /// Returns the shape of one sample, such as `3 x 224 x 224`.
    #[getter]
    fn input(&self) -> String {
        self.0.input.to_string()
    }

    /// Says how to call its samples: `images`, `sequences` or `samples`.
    #[getter]
    fn samples(&self) -> &'static str {
        match self.0.input {
            Shape::Image { .. } => "images",
            Shape::Tokens { .. } => "sequences",
            Shape::Vector { .. } => "samples",
        }
    }

    /// Tokens of a sample; None where samples are no sequences.
    #[getter]
    fn tokens(&self) -> Option<u64> {
        match self.0.input {
            Shape::Tokens { tokens, .. } => Some(tokens),
            Shape::Image { .. } | Shape::Vector { .. } => None,
        }
    }

    /// Counts the trained numbers.
    #[getter]
    fn parameters(&self) -> u64 {
        self.0.parameters()
    }

    /// Counts the multiply-adds of the forward pass.
    #[getter]
    fn multiply_adds(&self) -> u64 {
        self.0.multiply_adds()
    }

    /// Numbers that are kept for the backward pass.
    #[getter]
    fn saved(&self) -> u64 {
        self.0.saved()
    }

    /// Samples of an epoch of the dataset that it is usually trained on; None where none is named.
    #[getter]
    fn epoch(&self) -> Option<u64> {
        self.0.dataset().map(|dataset| dataset.samples)
    }

    /// Copies the network for images of another size, or sequences of another length.
    ///
    /// Args:
    ///     size: Points of an image, each way.
    ///     channels: Channels of an image, with `size`; those that it has where absent.
    ///     tokens: Tokens of a sequence.
    ///
    /// Raises:
    ///     SimulationError: If its samples are none of these, or a layer cannot take the shape.
    #[pyo3(signature = (*, size: "int | None" = None, channels: "int | None" = None, tokens: "int | None" = None))]
    fn with_input(
        &self,
        #[pyo3(from_py_with = given)] size: Option<i128>,
        #[pyo3(from_py_with = given)] channels: Option<i128>,
        #[pyo3(from_py_with = given)] tokens: Option<i128>,
    ) -> PyResult<Self> {
        let extent = |what, value: Option<i128>| {
            value.map(|value| whole(what, value, training::MOST_EXTENT)).transpose()
        };
        let size = SampleSize {
            points: extent("points of an image", size)?,
            channels: extent("channels of an image", channels)?,
            tokens: extent("tokens of a sequence", tokens)?,
        };
        let made = self.0.resized(size).map_err(errors::training)?;
        Ok(Self(Arc::new(made)))
    }

    /// Returns one row for each layer.
    ///
    /// Columns: name, kind, inputs, output, block (that is repeated, counted from 0), parameters,
    /// multiply_adds, elementwise (other operations), activations, saved (for the backward pass).
    fn layers(&self) -> PyResult<Table> {
        Table::new(tables::layers(&self.0))
    }

    /// Writes all of it as JSON: its input's shape and every layer. A layer has its keys, its
    /// inputs by their places in the list (null is the network's), its output's shape and the
    /// values that follow.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| serde_json::to_string(&*self.0))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn __repr__(&self) -> String {
        let Network { layers, input, .. } = &*self.0;
        let (name, parameters) = (self.0.full_name(), self.0.parameters());
        format!(
            "<NeuralNetwork: {name}, {} layers, {parameters} parameters, {input}>",
            layers.len()
        )
    }
}

/// A rank of a step, and for how many it stands.
type Standing = (u32, u32);
/// Holds the program and the ranks of servers that stand for others, with those others and the loads of links.
type StandingFor = (Program, Vec<Standing>, Vec<Vec<u32>>, Vec<(u32, f64)>);
/// How long each collective takes alone.
type Alone = BTreeMap<(CollectiveKind, Bytes), Picoseconds>;

/// Times the collectives of a step as NCCL's on idle links, and sums up how all of its calls load each link.
fn alone(
    system: &linkwright::system::System,
    gpus: &[usize],
    calls: &BTreeMap<(CollectiveKind, Bytes), u64>,
) -> Result<(Alone, Vec<(u32, f64)>), ExpectError> {
    let (mut times, mut loads) = (Alone::new(), BTreeMap::<u32, f64>::new());
    let mut kinds: Vec<CollectiveKind> = calls.keys().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    for kind in kinds {
        let own: Vec<_> = calls.iter().filter(|((of, _), _)| *of == kind).collect();
        // The whole buffer, as nccl-tests counts it.
        let parts = if kind == CollectiveKind::AllGather { gpus.len() as u64 } else { 1 };
        let sizes: Vec<Bytes> = own.iter().map(|((_, size), _)| Bytes(size.0 * parts)).collect();
        let collective = Collective::of_program(kind, 0);
        let settings = Settings::default();
        let timings = expected_timings(system, gpus, collective, &sizes, &settings)?;
        for ((call, count), timing) in own.into_iter().zip(timings) {
            times.insert(*call, timing.time);
            for load in timing.links {
                *loads.entry(load.channel).or_default() += load.bytes * *count as f64;
            }
        }
    }
    Ok((times, loads.into_iter().collect()))
}

/// Holds a step of training on some GPUs of a system, with the work of each: computing, copying and
/// reducing.
#[pyclass(frozen, eq, module = "linkwright.training")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TrainingStep {
    network: NeuralNetwork,
    program: Program,
    times: BTreeMap<String, Vec<LayerTime>>,
    footprints: Vec<Footprint>,
    gpus: Vec<u32>,
    samples: u64,
    costs: FrameworkCosts,
    way: Way,
    traffic: Option<[u64; 2]>,
    #[serde(default)]
    assumed: Vec<String>,
    #[serde(default)]
    ratios: Option<KernelRatios>,
}

#[pymethods]
impl TrainingStep {
    /// Makes a step.
    ///
    /// Args:
    ///     network: The network to train.
    ///     system: The system to train it on.
    ///     gpus: Ids in the system, in the order of the ranks.
    ///     batch: Samples of the step, over all GPUs.
    ///     way: How data moves between the GPUs.
    ///     precision: The numbers that are multiplied.
    ///     gradients: The numbers that gradients are kept and reduced in; those of `precision` where
    ///         absent. PyTorch's automatic mixed precision keeps and reduces `fp32`.
    ///     optimizer: The rule that turns gradients into weights.
    ///     framework: Whose costs around kernels count.
    ///     overlap: Whether gradients are reduced while others are computed.
    ///     bucket: Bytes of gradients that are reduced at once, 0 for every layer's apart; the
    ///         framework's where absent.
    ///     micro_batches: Parts of the batch that follow one another through a pipeline; four times
    ///         the GPUs where absent.
    ///     host_copies: Whether samples are copied from the host in every step.
    ///     terms: The speeds that kernels reach and the costs of frameworks, as TOML like
    ///         `training_terms`, which counts where absent.
    ///     measured: Times of layers that replace the model's, as comma-separated values: layer,
    ///         forward, backward, update and the like. They are of the samples that one GPU
    ///         computes at once.
    ///     trace: A trace of the same network, by which layers take as long as was measured.
    ///     trace_samples: Samples that a GPU computed at once in the trace; as many as now where absent.
    ///     shared_memory: How GPUs share memory under `tsm`, as for `GpuSystem`; of those under relaxed
    ///         consistency.
    ///     shared_bandwidth: Of each GPU to that memory, each way, in GB/s; that of `GpuSystem` where
    ///         absent.
    ///
    /// Raises:
    ///     InputError: If the terms or the measured times are none, with line and column.
    ///     MachineError: If a GPU's model is not known well enough.
    ///     OutOfMemoryError: If a GPU's memory does not hold the step.
    ///     SimulationError: If the batch does not divide, the GPUs cannot go that way or do not
    ///         calculate with such numbers, or a choice is unknown.
    #[new]
    #[pyo3(signature = (
        network: "NeuralNetwork", system: "System", gpus: "Sequence[int]", *, batch: "int",
        way: "TrainingWayName" = "all-reduce", precision: "PrecisionName" = "fp32",
        gradients: "PrecisionName | None" = None, optimizer: "OptimizerName" = "momentum", framework: "FrameworkName" = "pytorch",
        overlap: "bool" = true, bucket: "int | str | None" = None, micro_batches: "int | None" = None,
        host_copies: "bool" = true, terms: "str | None" = None, measured: "str | None" = None,
        trace: "KernelTrace | None" = None, trace_samples: "int | None" = None,
        shared_memory: "MemorySystemName" = "tsm-wt-c-rc", shared_bandwidth: "float | str | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        #[pyo3(from_py_with = given)] network: &NeuralNetwork,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
        #[pyo3(from_py_with = given)] batch: i128,
        #[pyo3(from_py_with = given)] way: &str,
        #[pyo3(from_py_with = given)] precision: &str,
        #[pyo3(from_py_with = given)] gradients: Option<&str>,
        #[pyo3(from_py_with = given)] optimizer: &str,
        #[pyo3(from_py_with = given)] framework: &str,
        #[pyo3(from_py_with = given)] overlap: bool,
        #[pyo3(from_py_with = optional_size)] bucket: Option<i128>,
        #[pyo3(from_py_with = given)] micro_batches: Option<i128>,
        #[pyo3(from_py_with = given)] host_copies: bool,
        #[pyo3(from_py_with = given)] terms: Option<&str>,
        #[pyo3(from_py_with = given)] measured: Option<&str>,
        #[pyo3(from_py_with = given)] trace: Option<&KernelTrace>,
        #[pyo3(from_py_with = given)] trace_samples: Option<i128>,
        #[pyo3(from_py_with = given)] shared_memory: &str,
        #[pyo3(from_py_with = optional_speed)] shared_bandwidth: Option<f64>,
    ) -> PyResult<Self> {
        let of = &*system.cluster().system;
        let gpus = ranks_on(of.gpus(), &gpus)?;
        let terms = match terms {
            Some(text) => &Terms::read("<terms>", text).map_err(errors::input)?,
            None => Terms::own(),
        };
        let mut costs = terms.framework(framework).map_err(errors::training)?;
        if let Some(bucket) = bucket {
            let bucket = whole("bytes of a bucket", bucket, u64::MAX)?;
            costs.bucket = Bucketing::of_bytes(Bytes(bucket));
        }
        let micro_batches = match micro_batches {
            Some(count) => whole("parts of a batch", count, MOST_MICRO_BATCHES)?,
            None => 4 * gpus.len() as u32,
        };
        let way = Way::named(way)?;
        let links = if way == Way::TrulyShared {
            let shared = shared_memory::shared_memory(shared_memory, shared_bandwidth)?;
            shared.links_of(of).map_err(errors::machine)?
        } else {
            SharedMemories::new()
        };
        let training = Training {
            network: &network.0,
            batch: whole("samples of a step", batch, MOST_SAMPLES)?,
            precision: Precision::named(precision)?,
            gradients: Precision::named(gradients.unwrap_or(precision))?,
            optimizer: Optimizer::named(optimizer)?,
            terms,
            costs,
            way,
            overlaps: overlap,
            micro_batches,
            copies_samples: host_copies,
            measured: &BTreeMap::new(),
            shared: &links,
        };
        let samples = training.samples(gpus.len()).map_err(errors::training)?;
        let rows = measured.map(|text| MeasuredLayers::read("<measured>", text, &network.0));
        let rows = rows.transpose().map_err(errors::input)?;
        let training = match &rows {
            Some(rows) => {
                let measured = rows.of(samples).map_err(errors::training)?;
                Training { measured, ..training }
            }
            None => training,
        };
        let traced = match (trace, gpus.first()) {
            (Some(trace), Some(gpu)) => {
                let model = model_of(of, *gpu).map_err(errors::training)?;
                let own = |count| whole("samples of a trace", count, MOST_SAMPLES);
                let samples = trace_samples.map(own).transpose()?.unwrap_or(samples);
                let traced = training.traced(trace.core(), samples, model, gpus.len());
                Some(traced.map_err(errors::training)?)
            }
            _ => None,
        };
        let mut training = training;
        if let Some(traced) = &traced {
            // Kernels that no layer stands for keep their time, once in a step.
            training.costs.iteration.0 += traced.ratios.rest.0;
            costs.iteration = training.costs.iteration;
            training.measured = &traced.layers;
        }
        let ratios = traced.as_ref().map(|it| KernelRatios::new(it.ratios, &it.rows));
        let memory = terms.memory(framework).map_err(errors::training)?;
        let footprints = training.fitting(of, &gpus, memory);
        let footprints = footprints.map_err(errors::training)?;
        let program = training.program(of, &gpus).map_err(errors::training)?;
        let mut times = BTreeMap::new();
        for gpu in &gpus {
            let model = model_of(of, *gpu).map_err(errors::training)?;
            if times.contains_key(&model.product) {
                continue;
            }
            let layers = training.spent(model, gpus.len()).map_err(errors::training)?;
            times.insert(model.product.clone(), layers);
        }
        let traffic = if way == Way::TrulyShared {
            let mut all = [0; 2];
            for gpu in &gpus {
                let model = model_of(of, *gpu).map_err(errors::training)?;
                let own = training.traffic(model, gpus.len()).map_err(errors::training)?;
                all = [all[0] + own[0].0, all[1] + own[1].0];
            }
            Some(all)
        } else {
            None
        };
        let assumed = Units::assumed(of, gpus.iter().copied(), training.precision);
        let assumed = assumed.map_err(errors::training)?.into_iter().collect();
        let program = Program(Arc::new(program));
        let network = network.clone();
        Ok(Self {
            network,
            program,
            times,
            footprints,
            gpus,
            samples,
            costs,
            way,
            traffic,
            assumed,
            ratios,
        })
    }

    /// Returns the program of every rank.
    #[getter]
    fn program(&self) -> Program {
        self.program.clone()
    }

    /// Lists the collectives of the step, each once, with the bytes that each GPU contributes.
    fn collectives(&self) -> Vec<(&'static str, u64)> {
        let calls = collectives_of(&self.program.0);
        calls.into_keys().map(|(kind, size)| (kind.name(), size.0)).collect()
    }

    /// How many times as long as by the model kernels took in the trace that was given; None without one.
    #[getter]
    fn ratios(&self) -> Option<KernelRatios> {
        self.ratios.clone()
    }

    /// Tells whether a collective of the step has a root.
    #[getter]
    fn has_root(&self) -> bool {
        collectives_of(&self.program.0).into_keys().any(|(kind, _)| kind.has_root())
    }

    /// Returns the program of a few servers. Each stands for all that do the same. In it each
    /// collective lasts as long as NCCL's does on idle links. Returns for each of its ranks the
    /// step's rank that it is, and how many ranks it stands for. Returns also all servers that each
    /// of these servers stands for, and how many bytes each link carries in collectives.
    ///
    /// None where collectives are not all that joins the GPUs, or their models differ.
    ///
    /// Raises:
    ///     CollectiveError: If no links join the GPUs.
    ///     SimulationError: If the system is too small.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (system: "System"))]
    fn representatives(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] system: &System,
    ) -> PyResult<Option<StandingFor>> {
        let of = Arc::clone(system.core());
        let wanted: Vec<i128> = self.gpus.iter().map(|gpu| i128::from(*gpu)).collect();
        ranks_on(of.gpus(), &wanted)?;
        if self.times.len() > 1 {
            return Ok(None);
        }
        let calls = collectives_of(&self.program.0);
        let gpus = gpu_ids(&wanted, system)?;
        let (times, loads) =
            interruptible(py, move || alone(&of, &gpus, &calls))?.map_err(errors::collective)?;
        let time = |kind, size| times.get(&(kind, size)).copied().unwrap_or_default();
        let found = Representatives::of(&self.program.0, system.core(), &self.gpus, time);
        Ok(found.map(|Representatives { program, ranks, servers }| {
            (Program(Arc::new(program)), ranks, servers, loads)
        }))
    }

    /// Names the way to communicate that other frameworks call by a name, such as `zero3`.
    ///
    /// Args:
    ///     name: In any case, with hyphens or without.
    ///
    /// Returns:
    ///     The way's name here; None where there is none.
    #[staticmethod]
    #[pyo3(signature = (name: "str"))]
    fn way_meant(#[pyo3(from_py_with = given)] name: &str) -> Option<&'static str> {
        <Way as Named>::meant(name)
    }

    /// Samples that one GPU computes at once.
    #[getter]
    fn samples_at_once(&self) -> u64 {
        self.samples
    }

    /// Returns the GPUs by their ids in the system.
    #[getter]
    fn gpus(&self) -> Vec<u32> {
        self.gpus.clone()
    }

    /// How data moves between them.
    #[getter]
    fn way(&self) -> &'static str {
        self.way.name()
    }

    /// Counts the bytes that all GPUs' kernels read of the memory which they share, and those that they
    /// write; None where they share none.
    #[getter]
    fn traffic(&self) -> Option<(u64, u64)> {
        self.traffic.map(|[read, written]| (read, written))
    }

    /// Tells in sentences which assumptions are made of the GPUs.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.assumed.clone()
    }

    /// Lists the models of the GPUs.
    #[getter]
    fn models(&self) -> Vec<&str> {
        self.times.keys().map(String::as_str).collect()
    }

    /// Returns the seconds that a copy between GPUs costs on the host.
    #[getter]
    fn copy_cost(&self) -> f64 {
        self.costs.copy.as_seconds()
    }

    /// One row for each layer: how long it computes on a GPU of a model, in seconds.
    ///
    /// Columns are name, kind, forward, backward and update.
    ///
    /// Raises:
    ///     SimulationError: If none of the GPUs is of that model.
    #[pyo3(signature = (model: "str"))]
    fn layers(&self, #[pyo3(from_py_with = given)] model: &str) -> PyResult<Table> {
        let times = self.times.get(model).ok_or_else(|| {
            let known: Vec<&str> = self.times.keys().map(String::as_str).collect();
            errors::unknown_choice("GPU of the step", model, &known)
        })?;
        Table::new(tables::times(&self.network.0, times))
    }

    /// One row for each GPU: the bytes of its memory during training, by what they are for.
    ///
    /// Columns are gpu, context (the framework's own), weights, gradients, optimizer, aggregation
    /// (of the gradients of all GPUs) and gathered (of others, for a while). Then come samples,
    /// activations, workspace, before (the first step, in all) and total (while it trains).
    fn memory(&self) -> PyResult<Table> {
        Table::new(tables::memory(&self.gpus, &self.footprints))
    }

    /// Seconds that a GPU of a model computes: forward, backward, and new weights.
    #[pyo3(signature = (model: "str"))]
    fn computing(&self, #[pyo3(from_py_with = given)] model: &str) -> PyResult<(f64, f64, f64)> {
        let times = self.times.get(model).into_iter().flatten();
        let of = |part: fn(&LayerTime) -> Picoseconds| {
            times.clone().map(|time| part(time).as_seconds()).sum()
        };
        Ok((of(|time| time.forward), of(|time| time.backward), of(|time| time.update)))
    }

    fn __repr__(&self) -> String {
        let (name, gpus) = (self.network.0.full_name(), self.gpus.len());
        format!("<TrainingStep: {name} on {gpus} GPUs, {}>", self.way())
    }
}

/// Checks GPUs of a system by their ids, each once.
pub fn ranks_on(gpus: u32, wanted: &[i128]) -> PyResult<Vec<u32>> {
    if wanted.is_empty() {
        let problem = "no GPU trains the network";
        return Err(errors::range(Diagnosis::of(problem).remedy("name one or more")));
    }
    let mut taken = Vec::with_capacity(wanted.len());
    for gpu in wanted {
        let gpu = crate::number::gpu_of(gpus as usize, *gpu)? as u32;
        if taken.contains(&gpu) {
            return Err(errors::repeated_gpu(gpu as usize));
        }
        taken.push(gpu);
    }
    Ok(taken)
}
