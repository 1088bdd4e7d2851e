//! Gives Python `linkwright.ModelTraining`: a model's training by a layout, and its memory.

use linkwright::table::Table as Columns;
use linkwright::training::{
    ContextExchange, Execution, ExpertImbalance, ExpertRouting, FlagsOf, Kernels, Lora, MOST_RANKS,
    MOST_SAMPLES, ModelChoices, ModelLayout, ModelPrecision, ModelTraining as Core, Optimizer,
    Order, Precision, Recompute, StageMemory, Targets, Terms, TracedRun, rooflines,
};
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::argument::given;
use crate::choices::Choice;
use crate::errors;
use crate::kernel_trace::{KernelRatios, KernelTrace};
use crate::model::Model;
use crate::number::{gpu_of, whole};
use crate::system::System;
use crate::table::Table;

/// Holds flags with their values, and the settings that no flag expresses.
type WrittenFlags = (Vec<(String, String)>, Vec<String>);

/// Keeps ranks of LoRA to sizes that matrices have.
const MOST_RANK: u64 = 1 << 20;

/// The orders of a layout's parts over ranks that have a name.
pub fn order_names() -> Vec<&'static str> {
    Order::names()
}

/// Holds a model's training by a layout: who exchanges data with whom, and the memory of each GPU.
#[pyclass(frozen, eq, module = "linkwright.training")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModelTraining {
    model: Model,
    layout: ModelLayout,
    order: Order,
    batch: u64,
    micro_batch: u64,
    precision: ModelPrecision,
    gradients: Precision,
    optimizer: Optimizer,
    zero: u8,
    recompute: Recompute,
    kernels: Kernels,
    sequence_parallel: bool,
    lora: Option<Lora>,
    narrow_weights: bool,
    narrow_activations: bool,
    routing: ExpertRouting,
}

impl ModelTraining {
    /// Which ranks are neighbours.
    pub const fn order(&self) -> Order {
        self.order
    }

    /// Gives the same by the layout of another, with all that goes with it.
    ///
    /// # Errors
    /// A layout that is not sound.
    pub fn as_in(&self, other: &Core<'_>) -> PyResult<Self> {
        other.check().map_err(errors::training)?;
        let Core { layout, micro_batch, zero, sequence_parallel, .. } = *other;
        let recompute = other.recompute.clone();
        Ok(Self { layout, micro_batch, zero, sequence_parallel, recompute, ..self.clone() })
    }

    /// Gives the training as the core has it.
    pub fn core(&self) -> Core<'_> {
        Core {
            model: &self.model.0,
            layout: self.layout,
            batch: self.batch,
            micro_batch: self.micro_batch,
            precision: self.precision,
            gradients: self.gradients,
            optimizer: self.optimizer,
            zero: self.zero,
            recompute: self.recompute.clone(),
            kernels: self.kernels,
            sequence_parallel: self.sequence_parallel,
            lora: self.lora,
            narrow_weights: self.narrow_weights,
            narrow_activations: self.narrow_activations,
            routing: self.routing,
        }
    }
}

#[pymethods]
impl ModelTraining {
    /// A training; its layout is checked.
    ///
    /// Args:
    ///     model: The model that is trained, on sequences of its length.
    ///
    ///     layout: How the training is divided, as `fsdp=4,tp=8`. `dp` counts replicas, and `fsdp`
    ///         counts replicas that divide what they keep. `tp` counts parts of layers, `pp`
    ///         stages, `vp` their chunks, and `cp` parts of sequences. `ep` counts parts of the
    ///         experts, and `etp` parts of each expert (as `tp` where absent). Other counts that
    ///         are left out are one.
    ///
    ///     batch: Samples of a step, over all GPUs.
    ///
    ///     micro_batch: Samples that a replica computes at once.
    ///
    ///     order: Which ranks are neighbours: `megatron`, `torchtitan`, `megatron-tp-pp-dp`, or five parts from
    ///         neighbours on, as `tp-cp-fsdp-dp-pp`.
    ///
    ///     precision: The numbers of products: `fp32`, `tf32`, `fp16`, `bf16`, `fp8`, `mxfp8` or `nvfp4`. The
    ///         last three are made of weights and activations in `bf16`.
    ///
    ///     gradients: The numbers that gradients are kept in.
    ///
    ///     optimizer: The rule that turns gradients into weights.
    ///
    ///     zero: How much replicas divide: nothing (0), the optimizer's state (1), gradients too
    ///         (2), weights too (3). Where absent, it is 3 if the layout has `fsdp`, else 0.
    ///
    ///     recompute: The part that the backward pass computes again: `none`, `selective`
    ///         (attention's core), `selective-op` (by operation, as torchtitan) or `full`. It may
    ///         also be `full:N` (N blocks of each chunk), or modules joined by `+`, as
    ///         `layernorm+moe_act`.
    ///
    ///     kernels: Whose kernels compute: `fused` (Transformer Engine's), `eager` or `compiled` (PyTorch's);
    ///         `eager` with `zero` 3, else `fused`, where absent.
    ///
    ///     sequence_parallel: Whether what tensor parallelism leaves whole is divided by tokens.
    ///
    ///     lora: Numbers between the small matrices that are trained in the place of all weights.
    ///
    ///     lora_target: Beside which matrices they stand: `attention`, `all`, or names of PEFT or Megatron joined
    ///         by `+`, as `q_proj+v_proj`.
    ///
    ///     fp8_weights: Whether weights are kept in the numbers of `fp8`, `mxfp8` or `nvfp4` alone,
    ///         as Megatron's `fp8_param_gather` has it. Otherwise copies in these numbers stand
    ///         beside them.
    ///
    ///     fp8_activations: Whether what a perceptron's function reads is kept in eight bits, as Megatron's
    ///         `activation_func_fp8_input_store` has it.
    ///
    ///     imbalance: How uneven experts are wanted: `uniform`, or `zipf:S`, where shares fall by the rank to the
    ///         power of S.
    ///
    ///     capacity_factor: The most tokens of an expert, in even shares; others are dropped. None are where absent.
    ///
    ///     seed: Decides which experts are wanted most in each block.
    ///
    /// Raises:
    ///     SimulationError: If the layout is not sound, with the nearest that is, or a choice is unknown.
    #[new]
    #[pyo3(signature = (
        model: "Model", layout: "str", *, batch: "int", micro_batch: "int" = 1, order: "str" = "megatron",
        precision: "ModelPrecisionName" = "bf16", gradients: "PrecisionName" = "fp32",
        optimizer: "OptimizerName" = "adam", zero: "int | None" = None, recompute: "str" = "none",
        kernels: "KernelsName | None" = None, sequence_parallel: "bool" = false,
        lora: "int | None" = None, lora_target: "str" = "attention", fp8_weights: "bool" = false,
        fp8_activations: "bool" = false, imbalance: "str" = "uniform",
        capacity_factor: "float | None" = None, seed: "int" = 0
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        #[pyo3(from_py_with = given)] model: &Model,
        #[pyo3(from_py_with = given)] layout: &str,
        #[pyo3(from_py_with = given)] batch: i128,
        #[pyo3(from_py_with = given)] micro_batch: i128,
        #[pyo3(from_py_with = given)] order: &str,
        #[pyo3(from_py_with = given)] precision: &str,
        #[pyo3(from_py_with = given)] gradients: &str,
        #[pyo3(from_py_with = given)] optimizer: &str,
        #[pyo3(from_py_with = given)] zero: Option<i128>,
        #[pyo3(from_py_with = given)] recompute: &str,
        #[pyo3(from_py_with = given)] kernels: Option<&str>,
        #[pyo3(from_py_with = given)] sequence_parallel: bool,
        #[pyo3(from_py_with = given)] lora: Option<i128>,
        #[pyo3(from_py_with = given)] lora_target: &str,
        #[pyo3(from_py_with = given)] fp8_weights: bool,
        #[pyo3(from_py_with = given)] fp8_activations: bool,
        #[pyo3(from_py_with = given)] imbalance: &str,
        #[pyo3(from_py_with = given)] capacity_factor: Option<f64>,
        #[pyo3(from_py_with = given)] seed: i128,
    ) -> PyResult<Self> {
        let layout = ModelLayout::read(layout).map_err(errors::training)?;
        let zero = match zero {
            Some(0) => 0,
            Some(zero) => whole::<u8>("stage of ZeRO", zero, 3)?,
            None => ModelChoices::usual_zero(&layout),
        };
        let kernels = match kernels {
            Some(name) => Kernels::named(name)?,
            None => Kernels::usual(zero),
        };
        let targets = Targets::read(lora_target).map_err(errors::training)?;
        let rank = lora.map(|rank| whole("numbers between matrices of LoRA", rank, MOST_RANK));
        let lora = rank.transpose()?.map(|rank| Lora { rank, targets });
        let imbalance = ExpertImbalance::read(imbalance).map_err(errors::training)?;
        let seed = if seed == 0 { 0 } else { whole("seed", seed, u64::MAX)? };
        let routing = ExpertRouting { imbalance, seed, capacity: None };
        let routing = match capacity_factor {
            Some(factor) => routing.with_capacity(factor).map_err(errors::training)?,
            None => routing,
        };
        let made = Self {
            model: model.clone(),
            layout,
            order: Order::read(order).map_err(errors::training)?,
            batch: whole("samples of a step", batch, MOST_SAMPLES)?,
            micro_batch: whole("samples of a micro-batch", micro_batch, MOST_SAMPLES)?,
            precision: ModelPrecision::named(precision)?,
            gradients: Precision::named(gradients)?,
            optimizer: Optimizer::named(optimizer)?,
            zero,
            recompute: Recompute::read(recompute).map_err(errors::training)?,
            kernels,
            sequence_parallel,
            lora,
            narrow_weights: fp8_weights,
            narrow_activations: fp8_activations,
            routing,
        };
        let core = made.core();
        core.asked().check(&core.layout).map_err(errors::training)?;
        drop(core);
        made.core().check().map_err(errors::training)?;
        Ok(made)
    }

    /// Counts the GPUs of a layout, and its replicas, before it is checked.
    ///
    /// Raises:
    ///     SimulationError: If the text is no layout.
    #[staticmethod]
    #[pyo3(signature = (layout: "str"))]
    fn counts(#[pyo3(from_py_with = given)] layout: &str) -> PyResult<(u64, u64)> {
        let layout = ModelLayout::read(layout).map_err(errors::training)?;
        Ok((layout.gpus(), layout.replicas()))
    }

    /// Says what is trained.
    #[getter]
    fn model(&self) -> Model {
        self.model.clone()
    }

    /// How it is divided, as a text that is read again.
    #[getter]
    fn layout(&self) -> String {
        self.layout.to_string()
    }

    /// Counts the GPUs.
    #[getter]
    fn gpus(&self) -> u64 {
        self.layout.gpus()
    }

    /// Samples of a step, over all GPUs.
    #[getter]
    fn batch(&self) -> u64 {
        self.batch
    }

    /// Samples that a replica computes at once.
    #[getter]
    fn micro_batch(&self) -> u64 {
        self.micro_batch
    }

    /// Micro-batches that a replica computes in a step.
    #[getter]
    fn micro_batches(&self) -> u64 {
        self.core().asked().micro_batches(&self.layout)
    }

    /// Says what replicas divide, from 0 to 3.
    #[getter]
    fn zero(&self) -> u8 {
        self.zero
    }

    /// Says what the backward pass computes again.
    #[getter]
    fn recompute(&self) -> String {
        self.recompute.name()
    }

    /// Says whose kernels compute.
    #[getter]
    fn kernels(&self) -> &'static str {
        linkwright::diagnostic::Named::name(self.kernels)
    }

    /// Whether what tensor parallelism leaves whole is divided by tokens.
    #[getter]
    const fn sequence_parallel(&self) -> bool {
        self.sequence_parallel
    }

    /// Writes it as flags of a framework that runs it.
    ///
    /// Args:
    ///     framework: `megatron` (Megatron-LM core_v0.19.0) or `torchtitan` (v0.2.2).
    ///
    /// Returns:
    ///     Each flag with its value, empty where the flag alone says it; sentences on what no flag says.
    #[pyo3(signature = (framework: "FlagsName"))]
    fn flags(&self, #[pyo3(from_py_with = given)] framework: &str) -> PyResult<WrittenFlags> {
        let found = self.core().flags(FlagsOf::named(framework)?, &self.order);
        Ok((found.flags, found.left_out))
    }

    /// Compares the kernels of a trace, which is to be of this training, with the model's.
    ///
    /// Args:
    ///     trace: Was written by one of its ranks.
    ///
    ///     system: On what it ran.
    ///
    ///     gpu: The id in the system of a GPU on which it ran.
    ///
    ///     context: How parts of sequences met: `ring`, `all-gather` or `all-to-all`.
    ///
    /// Raises:
    ///     MachineError: If the GPU's model is not known well enough.
    ///     SimulationError: If the trace has no backward pass, GPUs do not calculate with such numbers, or a
    ///         choice is unknown.
    #[pyo3(signature = (
        trace: "KernelTrace", system: "System", gpu: "int" = 0, *, context: "ContextExchangeName" = "ring"
    ))]
    fn ratios(
        &self,
        #[pyo3(from_py_with = given)] trace: &KernelTrace,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] gpu: i128,
        #[pyo3(from_py_with = given)] context: &str,
    ) -> PyResult<KernelRatios> {
        let core = system.core();
        let gpu = gpu_of(core.gpus() as usize, gpu)? as u32;
        let (costs, _) = Terms::own().of_default_framework();
        let own = self.core();
        let rooflines = rooflines(core, &[gpu], own.precision).map_err(errors::training)?;
        let context = ContextExchange::named(context)?;
        let run = TracedRun {
            training: &own,
            order: self.order(),
            execution: Execution { context, ..Execution::default() },
            roofline: rooflines.first().expect("a GPU has one"),
            costs: &costs,
        };
        let (ratios, rows) = run.ratios(trace.core()).map_err(errors::training)?;
        Ok(KernelRatios::new(ratios, &rows))
    }

    /// The one way to divide that the layout has, with its number of parts; None where it has several.
    #[getter]
    fn single(&self) -> Option<(&'static str, u64)> {
        self.layout.single()
    }

    /// Gives one row for each kind of group whose ranks exchange data.
    ///
    /// Columns: group (the parts of the layout), moves (the data), size (ranks of each), groups (how many).
    /// Then first (the ranks of the first), servers_least and servers_most (that one group spans).
    ///
    /// Args:
    ///     servers: The server of each rank.
    ///
    /// Raises:
    ///     SimulationError: If these are not as many as there are GPUs.
    #[pyo3(signature = (servers: "Sequence[int]"))]
    fn groups(&self, #[pyo3(from_py_with = given)] servers: Vec<i128>) -> PyResult<Table> {
        let gpus = self.layout.gpus();
        let servers: PyResult<Vec<u64>> =
            servers.iter().map(|it| whole("server of a rank", it + 1, MOST_RANKS)).collect();
        let servers = servers?;
        if servers.len() as u64 != gpus {
            let problem = format!("servers of {} ranks, and the layout has {gpus}", servers.len());
            let told = linkwright::diagnostic::Diagnosis::of(problem);
            return Err(errors::range(told.remedy("give the server of each rank")));
        }
        let groups = self.order.groups(&self.layout, self.zero >= 3);
        let spans: Vec<(u64, u64)> =
            groups.iter().map(|it| it.servers(|rank| servers[rank as usize])).collect();
        let first = groups.iter().map(|group| {
            group.ranks.first().into_iter().flatten().map(|rank| *rank as u32).collect()
        });
        let columns = Columns::new()
            .with("group", "", groups.iter().map(|it| it.name.to_owned()).collect::<Vec<_>>())
            .with("moves", "", groups.iter().map(|it| it.moves.to_owned()).collect::<Vec<_>>())
            .with("size", "", groups.iter().map(|it| it.size).collect::<Vec<_>>())
            .with("groups", "", groups.iter().map(|it| it.ranks.len() as u64).collect::<Vec<_>>())
            .with("first", "", first.collect::<Vec<Vec<u32>>>())
            .with("servers_least", "", spans.iter().map(|it| it.0).collect::<Vec<_>>())
            .with("servers_most", "", spans.iter().map(|it| it.1).collect::<Vec<_>>());
        Table::new(columns)
    }

    /// One row for each pipeline stage: the bytes of a GPU's memory, by what they are for.
    ///
    /// Columns: stage, layers, in_flight (micro-batches that are begun and not ended), weights, gradients,
    /// optimizer (with master copies). Then activations, passing (of a block or the loss, for a while),
    /// collectives (their buffers, and gathered weights). Total is PyTorch's `max_memory_allocated`, reserve
    /// the allocator's gaps, reserved `max_memory_reserved`.
    ///
    /// Args:
    ///     capacity: Bytes that a GPU has; a training that needs more is refused.
    ///
    /// Raises:
    ///     OutOfMemoryError: If it does not fit, with its largest part and changes that do.
    #[pyo3(signature = (capacity: "int | None" = None))]
    fn memory(&self, #[pyo3(from_py_with = given)] capacity: Option<i128>) -> PyResult<Table> {
        let core = self.core();
        let memory = match capacity {
            None => core.memory().map_err(errors::training)?,
            Some(capacity) => {
                let capacity = Bytes(whole("bytes of a GPU's memory", capacity, u64::MAX)?);
                let context = Terms::own().of_default_framework().1.context;
                core.fitting(capacity, context).map_err(errors::training)?
            }
        };
        let numbers = |of: fn(&StageMemory) -> u64| memory.iter().map(of).collect::<Vec<u64>>();
        let columns = Columns::new()
            .with("stage", "", numbers(|it| it.stage))
            .with("layers", "", numbers(|it| it.layers))
            .with("in_flight", "", numbers(|it| it.in_flight))
            .with("weights", "B", numbers(|it| it.weights.0))
            .with("gradients", "B", numbers(|it| it.gradients.0))
            .with("optimizer", "B", numbers(|it| it.optimizer.0))
            .with("activations", "B", numbers(|it| it.activations.0))
            .with("passing", "B", numbers(|it| it.passing.0))
            .with("collectives", "B", numbers(|it| it.collectives.0))
            .with("total", "B", numbers(|it| it.allocated().0))
            .with("reserve", "B", numbers(|it| it.reserve.0))
            .with("reserved", "B", numbers(|it| it.reserved().0));
        Table::new(columns)
    }

    /// One row for each tensor that blocks make for their backward pass, on one GPU, of one micro-batch.
    ///
    /// Columns: blocks (how many are alike), kind (`dense` or `experts`), tensor, bytes, kept (else it is computed
    /// again).
    fn tensors(&self) -> PyResult<Table> {
        let core = self.core();
        let mut before = 0;
        let each = self.model.0.blocks.iter().flat_map(|blocks| {
            let tensors = core.tensors(&blocks.mlp, before).into_iter();
            before += blocks.count;
            tensors.map(move |tensor| (blocks, tensor))
        });
        let each: Vec<_> = each.collect();
        let kinds = each.iter().map(|(blocks, _)| match blocks.mlp.experts() {
            Some(_) => "experts".to_owned(),
            None => "dense".to_owned(),
        });
        let columns = Columns::new()
            .with("blocks", "", each.iter().map(|(blocks, _)| blocks.count).collect::<Vec<_>>())
            .with("kind", "", kinds.collect::<Vec<_>>())
            .with("tensor", "", each.iter().map(|it| it.1.name.to_owned()).collect::<Vec<_>>())
            .with("bytes", "B", each.iter().map(|it| it.1.bytes.0).collect::<Vec<_>>())
            .with("kept", "", each.iter().map(|it| core.keeps(&it.1)).collect::<Vec<bool>>());
        Table::new(columns)
    }

    fn __repr__(&self) -> String {
        format!("<ModelTraining: {}, {}>", self.model.0.name, self.layout)
    }
}
