//! Gives Python `linkwright.LayoutSearch`: the layouts of a model on some GPUs, the best first.

use std::sync::Arc;

use linkwright::collectives::baselines::{GroupTimes, Settings};
use linkwright::system::System as CoreSystem;
use linkwright::table::Table as Columns;
use linkwright::training::{
    ClosestLayouts, FoundLayouts, LayoutCandidate, LayoutSearch as Core, MOST_SAMPLES, ModelLayout,
    Recompute, SearchedMachine, Terms, TrainingError,
};
use linkwright::units::{Bytes, Picoseconds};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::argument::given;
use crate::errors;
use crate::kernel_trace::KernelRatios;
use crate::layout_step::{AskedStep, beside, exchanges_by, execution};
use crate::model_training::ModelTraining;
use crate::number::whole;
use crate::system::System;
use crate::table::Table;
use crate::training::ranks_on;
use crate::worker::interruptible;

/// The most candidates that are told at once.
const MOST_TOLD: usize = 1 << 20;

/// Holds the question of a search.
#[derive(Clone, Serialize, Deserialize)]
struct Asked {
    step: AskedStep,
    micro_batch: Option<u64>,
    zero: Option<u8>,
    recompute: Option<Recompute>,
    capacity: Option<Bytes>,
}

impl Asked {
    fn wanted(&self) -> PyResult<Wanted> {
        let system = Arc::clone(self.step.system.core());
        let machine = self.step.searched()?;
        Ok(Wanted { asked: self.clone(), system, machine: Arc::new(machine) })
    }
}

/// Holds the question, and the machine as the search takes it.
#[derive(Clone)]
struct Wanted {
    asked: Asked,
    system: Arc<CoreSystem>,
    machine: Arc<SearchedMachine>,
}

impl Wanted {
    fn fitting(&self) -> Result<FoundLayouts, TrainingError> {
        let first = self.asked.step.gpus.first().map_or(0, |gpu| *gpu as u32);
        let kind = self.system.kind_of(self.system.gpu(first).server);
        self.search().fitting(kind.server().gpus().len() as u64)
    }

    fn search(&self) -> Core<'_> {
        let asked = &self.asked;
        Core {
            training: asked.step.training.core(),
            gpus: asked.step.gpus.len() as u64,
            micro_batch: asked.micro_batch,
            zero: asked.zero,
            recompute: asked.recompute.clone(),
            capacity: asked.capacity,
            context: Terms::own().of_default_framework().1.context,
            machine: &self.machine,
        }
    }

    /// The least bounds, with exchanges as long as NCCL makes them on idle links, kernels beside them and the host.
    fn closest(
        &self,
        found: &FoundLayouts,
        count: usize,
    ) -> Result<ClosestLayouts, linkwright::collectives::baselines::ExpectError> {
        let mut known = GroupTimes::new(&self.system, Settings::default());
        self.search().closest(found, count, |step| {
            let exchanges = exchanges_by(&mut known, &self.asked.step.gpus, step)?;
            let times = exchanges.map(|it| it.time);
            Ok(step.launched().by_turns(&mut beside(step, times, &exchanges)))
        })
    }
}

/// Every sound layout of a model on some GPUs that fits in memory, with a time that its step never falls below.
#[pyclass(frozen, module = "linkwright.training")]
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Asked", into = "Asked")]
pub struct LayoutSearch {
    wanted: Wanted,
    found: Arc<FoundLayouts>,
}

impl From<LayoutSearch> for Asked {
    fn from(search: LayoutSearch) -> Self {
        search.wanted.asked
    }
}

impl TryFrom<Asked> for LayoutSearch {
    type Error = String;

    fn try_from(asked: Asked) -> Result<Self, String> {
        let wanted = asked.wanted().map_err(|error| error.to_string())?;
        let found = wanted.fitting().map_err(|error| error.to_string())?;
        Ok(Self { wanted, found: Arc::new(found) })
    }
}

#[pymethods]
impl LayoutSearch {
    /// Goes through all layouts with all sizes of micro-batches, divisions of state and recomputations.
    ///
    /// Args:
    ///     training: How the model is trained, in all that is not searched for; its layout changes nothing.
    ///
    ///     system: On what.
    ///
    ///     gpus: Ids in the system, in the order of the ranks.
    ///
    ///     micro_batch: Samples that a replica computes at once; all that divide its batch where absent.
    ///
    ///     zero: How much replicas divide, from 0 to 3; all of it where absent.
    ///
    ///     recompute: The part that the backward pass computes again; the least that fits where
    ///         absent.
    ///
    ///     capacity: Bytes that a GPU has; all fits where absent.
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
    ///     OutOfMemoryError: If nothing fits: the least that is needed, and how many GPUs are enough.
    ///     SimulationError: If no layout is sound, or a choice is unknown.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[new]
    #[pyo3(signature = (
        training: "ModelTraining", system: "System", gpus: "Sequence[int]", *,
        micro_batch: "int | None" = None, zero: "int | None" = None, recompute: "str | None" = None,
        capacity: "int | None" = None, context: "ContextExchangeName" = "ring", async_tensor: "bool" = false,
        prefetch: "int" = 1, bucket: "int | None" = None, measured: "KernelRatios | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] training: &ModelTraining,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
        #[pyo3(from_py_with = given)] micro_batch: Option<i128>,
        #[pyo3(from_py_with = given)] zero: Option<i128>,
        #[pyo3(from_py_with = given)] recompute: Option<&str>,
        #[pyo3(from_py_with = given)] capacity: Option<i128>,
        #[pyo3(from_py_with = given)] context: &str,
        #[pyo3(from_py_with = given)] async_tensor: bool,
        #[pyo3(from_py_with = given)] prefetch: i128,
        #[pyo3(from_py_with = given)] bucket: Option<i128>,
        #[pyo3(from_py_with = given)] measured: Option<&KernelRatios>,
    ) -> PyResult<Self> {
        let execution = execution(context, async_tensor, prefetch, bucket, measured)?;
        let gpus = ranks_on(system.core().gpus(), &gpus)?;
        let gpus = gpus.into_iter().map(|gpu| gpu as usize).collect();
        let whole_of = |what, value: Option<i128>, most: u64| {
            value.map(|value| whole::<u64>(what, value, most)).transpose()
        };
        let zero = match zero {
            Some(0) => Some(0),
            other => other.map(|zero| whole::<u8>("stage of ZeRO", zero, 3)).transpose()?,
        };
        let asked = Asked {
            step: AskedStep { training: training.clone(), system: system.clone(), gpus, execution },
            micro_batch: whole_of("samples of a micro-batch", micro_batch, MOST_SAMPLES)?,
            zero,
            recompute: recompute.map(Recompute::read).transpose().map_err(errors::training)?,
            capacity: whole_of("bytes of a GPU's memory", capacity, u64::MAX)?.map(Bytes),
        };
        let wanted = asked.wanted()?;
        let searched = wanted.clone();
        let found = interruptible(py, move || searched.fitting())?;
        Ok(Self { wanted, found: Arc::new(found.map_err(errors::training)?) })
    }

    /// Counts sound layouts, each with every size of micro-batches and all that replicas may divide.
    #[getter]
    fn sound(&self) -> u64 {
        self.found.sound
    }

    /// Counts those that fit in memory, with what is computed again.
    #[getter]
    fn fitting(&self) -> usize {
        self.found.candidates.len()
    }

    /// The candidates with the least bounds, the least first: a row for each. Exchanges last as long as when a step is
    /// played.
    ///
    /// Columns: layout, micro_batch, zero, recompute, reserved (B of the fullest GPU), least (s that no step falls
    /// below).
    ///
    /// Args:
    ///     count: How many.
    ///
    /// Returns:
    ///     The rows. Then it tells how many candidates were looked at closely, and the seconds that all others take at
    ///     least (None where there are none). At last it tells whether some were not looked at that might be among the first.
    ///
    /// Raises:
    ///     CollectiveError: If no links join the GPUs of a group.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (count: "int"))]
    fn closest(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] count: i128,
    ) -> PyResult<(Table, u64, Option<f64>, bool)> {
        let count = whole("candidates", count, MOST_TOLD)?;
        let (wanted, found) = (self.wanted.clone(), Arc::clone(&self.found));
        let closest = interruptible(py, move || wanted.closest(&found, count))?;
        let closest = closest.map_err(errors::collective)?;
        let rows = told(&closest.candidates)?;
        let rest = closest.rest.map(|rest| rest.as_seconds());
        Ok((rows, closest.looked_at, rest, closest.is_cut))
    }

    /// Every candidate with its first bound, the least first: rows as of `closest`. Exchanges take what the peak of links
    /// allows.
    fn candidates(&self) -> PyResult<Table> {
        told(&self.found.candidates)
    }

    /// Gives the training by a row of `closest` or `candidates`.
    ///
    /// Args:
    ///     layout: How the model is divided.
    ///
    ///     micro_batch: Samples that a replica computes at once.
    ///
    ///     zero: How much replicas divide.
    ///
    ///     recompute: The part that the backward pass computes again.
    ///
    /// Raises:
    ///     SimulationError: If the layout is not sound.
    #[pyo3(signature = (layout: "str", micro_batch: "int", zero: "int", recompute: "str"))]
    fn training(
        &self,
        #[pyo3(from_py_with = given)] layout: &str,
        #[pyo3(from_py_with = given)] micro_batch: i128,
        #[pyo3(from_py_with = given)] zero: i128,
        #[pyo3(from_py_with = given)] recompute: &str,
    ) -> PyResult<ModelTraining> {
        let layout = ModelLayout::read(layout).map_err(errors::training)?;
        let candidate = LayoutCandidate {
            layout,
            micro_batch: whole("samples of a micro-batch", micro_batch, MOST_SAMPLES)?,
            zero: if zero == 0 { 0 } else { whole::<u8>("stage of ZeRO", zero, 3)? },
            recompute: Recompute::read(recompute).map_err(errors::training)?,
            reserved: Bytes(0),
            least: Picoseconds(0),
        };
        self.wanted.asked.step.training.as_in(&self.wanted.search().training(&candidate))
    }

    fn __repr__(&self) -> String {
        format!("<LayoutSearch: {} of {} fit>", self.found.candidates.len(), self.found.sound)
    }
}

fn told(candidates: &[LayoutCandidate]) -> PyResult<Table> {
    let all = || candidates.iter();
    let columns = Columns::new()
        .with("layout", "", all().map(|it| it.layout.to_string()).collect::<Vec<_>>())
        .with("micro_batch", "", all().map(|it| it.micro_batch).collect::<Vec<_>>())
        .with("zero", "", all().map(|it| u64::from(it.zero)).collect::<Vec<_>>())
        .with("recompute", "", all().map(|it| it.recompute.name()).collect::<Vec<_>>())
        .with("reserved", "B", all().map(|it| it.reserved.0).collect::<Vec<_>>())
        .with("least", "s", all().map(|it| it.least.as_seconds()).collect::<Vec<_>>());
    Table::new(columns)
}
