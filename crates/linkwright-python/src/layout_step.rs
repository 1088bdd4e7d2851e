//! Gives Python `linkwright.LayoutStep`: a step of a language model's training by a layout, as a program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use linkwright::collectives::baselines::{ExpectError, GroupTime, GroupTimes, Settings};
use linkwright::table::Table as Columns;
use linkwright::training::{
    BesideTimes, ClassTimes, ContextExchange, Exchanges, Execution, GroupCall, LayoutStep as Core,
    LinkPeaks, RankGroup, SearchedMachine, Terms, Variation, rooflines,
};
use linkwright::units::{Bytes, Picoseconds};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::argument::given;
use crate::choices::Choice;
use crate::errors;
use crate::kernel_trace::KernelRatios;
use crate::model_training::ModelTraining;
use crate::number::whole;
use crate::program::Program;
use crate::system::System;
use crate::table::Table;
use crate::training::ranks_on;
use crate::worker::interruptible;

/// The most blocks whose weights may be gathered ahead.
const MOST_AHEAD: usize = 1 << 20;
/// The most seeds that may be asked for at once.
const MOST_SEEDS: u64 = 10_000;
/// Names the sends of stages, which a step may take as free ([`LayoutStep::free_program`]).
const SENDS: &str = "pp";

/// Describes a step of a language model's training by a layout: each stage's computing and exchanges.
#[pyclass(frozen, module = "linkwright.training")]
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "AskedStep", into = "AskedStep")]
pub struct LayoutStep {
    asked: AskedStep,
    step: Core,
    exchanges: Exchanges<GroupTime>,
    times: ClassTimes,
}

/// A step follows from these.
#[derive(Clone, Serialize, Deserialize)]
pub struct AskedStep {
    pub training: ModelTraining,
    pub system: System,
    pub gpus: Vec<usize>,
    pub execution: Execution,
}

impl From<LayoutStep> for AskedStep {
    fn from(step: LayoutStep) -> Self {
        step.asked
    }
}

impl TryFrom<AskedStep> for LayoutStep {
    type Error = String;

    fn try_from(asked: AskedStep) -> Result<Self, String> {
        let step = asked.slowest().map_err(|error| error.to_string())?;
        let exchanges = exchanges(asked.system.core(), &asked.gpus, &step);
        let exchanges = exchanges.map_err(|error| error.to_string())?;
        Ok(Self::of(asked, step, exchanges))
    }
}

/// Asks NCCL how long exchanges take on idle links, all groups at once.
fn exchanges(
    system: &linkwright::system::System,
    gpus: &[usize],
    step: &Core,
) -> Result<Exchanges<GroupTime>, ExpectError> {
    exchanges_by(&mut GroupTimes::new(system, Settings::default()), gpus, step)
}

/// As [`exchanges`], with times that are known already.
pub fn exchanges_by(
    known: &mut GroupTimes<'_>,
    gpus: &[usize],
    step: &Core,
) -> Result<Exchanges<GroupTime>, ExpectError> {
    let ask = |groups: &[Vec<u64>], kind, sizes: &[Bytes]| {
        let of_group = |ranks: &Vec<u64>| ranks.iter().map(|it| gpus[*it as usize]).collect();
        let groups: Vec<Vec<usize>> = groups.iter().map(of_group).collect();
        known.taken(&groups, kind, sizes)
    };
    step.exchanges_of(|_, _| true, ask)
}

#[pymethods]
impl LayoutStep {
    /// A step; its exchanges are timed as NCCL makes them on idle links, all groups at once.
    ///
    /// Args:
    ///     training: The model, its layout and how it is trained.
    ///
    ///     system: On what.
    ///
    ///     gpus: Ids in the system, in the order of the ranks.
    ///
    ///     context: How parts of sequences meet: `ring`, `all-gather` or `all-to-all`.
    ///
    ///     async_tensor: Whether collectives of tensor parallelism are cut into parts that hide behind products.
    ///
    ///     prefetch: Blocks whose divided weights are gathered ahead.
    ///
    ///     bucket: Bytes of gradients that are reduced at once; the framework's own where absent.
    ///
    ///     measured: How many times as long as by the model kernels take; once where absent.
    ///
    /// Raises:
    ///     MachineError: If a GPU's model is not known well enough.
    ///     CollectiveError: If no links join the GPUs of a group.
    ///     SimulationError: If GPUs do not calculate with such numbers, or a choice is unknown.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[new]
    #[pyo3(signature = (
        training: "ModelTraining", system: "System", gpus: "Sequence[int]", *,
        context: "ContextExchangeName" = "ring", async_tensor: "bool" = false, prefetch: "int" = 1,
        bucket: "int | None" = None, measured: "KernelRatios | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] training: &ModelTraining,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
        #[pyo3(from_py_with = given)] context: &str,
        #[pyo3(from_py_with = given)] async_tensor: bool,
        #[pyo3(from_py_with = given)] prefetch: i128,
        #[pyo3(from_py_with = given)] bucket: Option<i128>,
        #[pyo3(from_py_with = given)] measured: Option<&KernelRatios>,
    ) -> PyResult<Self> {
        let execution = execution(context, async_tensor, prefetch, bucket, measured)?;
        let gpus = ranks_on(system.core().gpus(), &gpus)?;
        let gpus = gpus.into_iter().map(|gpu| gpu as usize).collect();
        let asked =
            AskedStep { training: training.clone(), system: system.clone(), gpus, execution };
        let step = asked.slowest()?;
        let (timed, on, of) = (step.clone(), asked.gpus.clone(), Arc::clone(system.core()));
        let exchanges = interruptible(py, move || exchanges(&of, &on, &timed))?;
        let exchanges = exchanges.map_err(errors::collective)?;
        Ok(Self::of(asked, step, exchanges))
    }

    /// Gives the program of one rank of each stage; its ranks are the stages. An exchange lasts as long as all groups
    /// take at once.
    ///
    /// Args:
    ///     free: Exchanges that take no time: parts of the layout (`tp`, `cp`, `shards`, `dp`, `ep`, `etp`, `edp`), and
    ///         `pp` for what stages send.
    ///
    ///     in_full: Whether exchanges between kernels are operations of their own, for a timeline; else a rank computes
    ///         meanwhile.
    #[pyo3(signature = (free: "Sequence[str]" = Vec::new(), *, in_full: "bool" = false))]
    fn program(
        &self,
        #[pyo3(from_py_with = given)] free: Vec<String>,
        #[pyo3(from_py_with = given)] in_full: bool,
    ) -> Program {
        let times = freed(&self.times, &free);
        let program =
            if in_full { self.step.by_class_in_full(&times) } else { self.step.by_class(&times) };
        Program(Arc::new(program))
    }

    /// Seconds of the step, turn by turn: when the last stage ends. A step that is played takes as long.
    ///
    /// Args:
    ///     free: Exchanges that take no time, as for `program`.
    ///
    ///     alone: Whether exchanges last as long as one group takes alone, on links that no other group loads.
    ///
    ///     beside: Whether kernels go on more slowly while collectives run beside them on the same GPU.
    ///
    ///     host: Whether kernels wait until the host has launched them.
    #[pyo3(signature = (
        free: "Sequence[str]" = Vec::new(), *, alone: "bool" = false, beside: "bool" = false, host: "bool" = false
    ))]
    fn least(
        &self,
        #[pyo3(from_py_with = given)] free: Vec<String>,
        #[pyo3(from_py_with = given)] alone: bool,
        #[pyo3(from_py_with = given)] beside: bool,
        #[pyo3(from_py_with = given)] host: bool,
    ) -> f64 {
        let times = if alone { self.exchanges.map(|it| it.alone) } else { self.times.clone() };
        let times = freed(&times, &free);
        let mut times = if beside { self.beside(times) } else { BesideTimes::of(times) };
        let step = if host { &self.step.launched() } else { &self.step };
        step.by_turns(&mut times).as_seconds()
    }

    /// Gives the seconds of the step by each of `seeds` seeds, from 0 on. Kernels of each GPU and in each step take other times,
    /// and the step waits for the slowest. They go on more slowly beside collectives, and wait until the host has launched them.
    ///
    /// Args:
    ///     seeds: Draws of all GPUs and of one step of theirs. An odd seed mirrors the even one before it.
    ///
    /// Raises:
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (seeds: "int"))]
    fn varied(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] seeds: i128,
    ) -> PyResult<Vec<f64>> {
        let seeds: u64 = whole("seeds", seeds, MOST_SEEDS)?;
        let (step, mut times) = (self.step.launched(), self.beside(self.times.clone()));
        interruptible(py, move || {
            let varied = step.varied(Variation::PUBLISHED, &mut times);
            (0..seeds).map(|seed| varied.time(seed, &mut times).as_seconds()).collect()
        })
    }

    /// Names the parts of the layout whose ranks exchange something, stages apart.
    #[getter]
    fn exchanged(&self) -> Vec<&'static str> {
        let calls = self.times.calls.iter().flat_map(|calls| calls.keys());
        let groups: BTreeSet<RankGroup> = calls.map(|call| call.group).collect();
        groups.into_iter().map(RankGroup::name).collect()
    }

    /// The GPU that stands for each stage, and for how many.
    #[getter]
    fn representatives(&self) -> Vec<(u32, u32)> {
        let layout = self.step.layout();
        let count = layout.of_stage() as u32;
        let first = |stage| self.step.peers(0, stage)[0].1;
        (0..layout.pp).map(|stage| (self.asked.gpus[first(stage) as usize] as u32, count)).collect()
    }

    /// The busiest stage computes for these seconds, and no step is shorter.
    #[getter]
    fn bound(&self) -> f64 {
        self.step.busiest().1.as_seconds()
    }

    /// The framework works on the host for these seconds before the step.
    #[getter]
    fn framework(&self) -> f64 {
        self.step.framework().as_seconds()
    }

    /// Micro-batches that each replica computes one by one.
    #[getter]
    fn micro_batches(&self) -> u64 {
        self.step.micro_batches()
    }

    /// Gives one row for each stage.
    ///
    /// Columns: stage, forward and backward (s of one micro-batch through all of its chunks), again (s of backward
    /// that repeat forward passes), update (s).
    fn work(&self) -> PyResult<Table> {
        let work = self.step.work();
        let seconds = |of: fn(&linkwright::training::StageWork) -> Picoseconds| {
            work.iter().map(|it| of(it).as_seconds()).collect::<Vec<f64>>()
        };
        let columns = Columns::new()
            .with("stage", "", (0..work.len() as u64).collect::<Vec<_>>())
            .with("forward", "s", seconds(|it| it.forward))
            .with("backward", "s", seconds(|it| it.backward))
            .with("again", "s", seconds(|it| it.again))
            .with("update", "s", seconds(|it| it.update));
        Table::new(columns)
    }

    /// Gives one row for each kind of exchange of each stage.
    ///
    /// Columns: stage, group (the part of the layout whose ranks exchange), collective, size (B that a rank gives),
    /// calls, time (s of one). Calls are counted in a step.
    fn exchanges(&self) -> PyResult<Table> {
        let calls: Vec<BTreeMap<GroupCall, u64>> = self.step.calls();
        let each = (0_u64..).zip(&calls).flat_map(|(stage, calls)| {
            calls.iter().map(move |(call, count)| (stage, *call, *count))
        });
        let each: Vec<(u64, GroupCall, u64)> = each.collect();
        let time = |(stage, call, _): &(u64, GroupCall, u64)| {
            self.times.calls[*stage as usize].get(call).copied().unwrap_or_default().as_seconds()
        };
        let columns = Columns::new()
            .with("stage", "", each.iter().map(|it| it.0).collect::<Vec<_>>())
            .with(
                "group",
                "",
                each.iter().map(|it| it.1.group.name().to_owned()).collect::<Vec<_>>(),
            )
            .with(
                "collective",
                "",
                each.iter().map(|it| it.1.kind.name().to_owned()).collect::<Vec<_>>(),
            )
            .with("size", "B", each.iter().map(|it| it.1.size.0).collect::<Vec<_>>())
            .with("calls", "", each.iter().map(|it| it.2).collect::<Vec<_>>())
            .with("time", "s", each.iter().map(time).collect::<Vec<_>>());
        Table::new(columns)
    }

    fn __repr__(&self) -> String {
        format!("<LayoutStep: {}>", self.step.layout())
    }
}

impl AskedStep {
    fn ids(&self) -> Vec<u32> {
        self.gpus.iter().map(|gpu| *gpu as u32).collect()
    }

    /// Gives the GPUs and links of the system, as steps of the training take them.
    pub fn searched(&self) -> PyResult<SearchedMachine> {
        let (costs, _) = Terms::own().of_default_framework();
        let (system, ids) = (self.system.core(), self.ids());
        let rooflines = rooflines(system, &ids, self.training.core().precision);
        Ok(SearchedMachine {
            rooflines: rooflines.map_err(errors::training)?,
            costs,
            peaks: LinkPeaks::of(system, &ids),
            order: self.training.order(),
            execution: self.execution,
        })
    }

    /// The step on the GPU that takes longest, as all wait for it.
    fn slowest(&self) -> PyResult<Core> {
        let how = (self.training.order(), self.execution);
        let step = Core::slowest(&self.training.core(), how, self.system.core(), &self.ids());
        step.map_err(errors::training)
    }
}

impl LayoutStep {
    fn of(asked: AskedStep, step: Core, exchanges: Exchanges<GroupTime>) -> Self {
        let times = exchanges.map(|it| it.time);
        Self { asked, step, exchanges, times }
    }

    /// Gives times with what collectives take of a GPU.
    fn beside(&self, times: ClassTimes) -> BesideTimes {
        beside(&self.step, times, &self.exchanges)
    }
}

/// Gives times with what collectives take of a GPU.
pub fn beside(step: &Core, times: ClassTimes, exchanges: &Exchanges<GroupTime>) -> BesideTimes {
    step.beside(times, exchanges, |it| (it.channels, it.bus))
}

/// Gives the times of exchanges. Those that are free take none.
fn freed(times: &ClassTimes, free: &[String]) -> ClassTimes {
    let is_free = |name: &str| free.iter().any(|it| it == name);
    let mut times = times.clone();
    for calls in &mut times.calls {
        calls.retain(|call, _| !is_free(call.group.name()));
    }
    if is_free(SENDS) {
        times.sends.clear();
    }
    times
}

/// How a step is run, as Python says it.
pub fn execution(
    context: &str,
    async_tensor: bool,
    prefetch: i128,
    bucket: Option<i128>,
    measured: Option<&KernelRatios>,
) -> PyResult<Execution> {
    let bucket = bucket.map(|it| whole("bytes of a bucket", it, u64::MAX)).transpose()?;
    Ok(Execution {
        context: ContextExchange::named(context)?,
        async_tensor,
        prefetch: whole("blocks that are gathered ahead", prefetch, MOST_AHEAD)?,
        bucket: bucket.map(Bytes),
        measured: measured.map(KernelRatios::core),
    })
}
