//! Gives a policy of one's own its machine and its job, and takes its choice: `linkwright.contracts`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use linkwright::allocation::{self, Effort, GpuSet, Objective, PreparedMachine};
use linkwright::diagnostic::{Diagnosis, instead_of};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::number;
use crate::pattern::Pattern;

/// The objectives by their names.
pub const OBJECTIVES: [(&str, Objective); 3] = [
    ("aggregated", Objective::Aggregated),
    ("effective", Objective::Effective),
    ("preserved", Objective::Preserved),
];

/// Finds the objective of a name.
pub fn objective(name: &str) -> PyResult<Objective> {
    let found = OBJECTIVES.iter().find(|(known, _)| *known == name);
    found.map(|(_, objective)| *objective).ok_or_else(|| {
        let problem = Diagnosis::of(format!("there is no objective `{name}`"));
        let known = OBJECTIVES.map(|(name, _)| name);
        errors::allocation_choice(problem.remedy(instead_of(name, &known)))
    })
}

/// Tells what a job asks a policy for.
#[pyclass(frozen, module = "linkwright.contracts")]
pub struct Request {
    pub pattern: Py<Pattern>,
    pub sensitive: bool,
}

#[pymethods]
impl Request {
    /// Which of the job's GPUs talk to which; its `size` is the number of GPUs.
    #[getter]
    fn pattern(&self, py: Python<'_>) -> Py<Pattern> {
        self.pattern.clone_ref(py)
    }

    /// Whether the job's run time depends on bandwidth, as its owner says.
    #[getter]
    fn sensitive(&self) -> bool {
        self.sensitive
    }
}

/// Places a job's pattern on GPUs of a machine, with its scores.
#[pyclass(frozen, module = "linkwright.contracts")]
pub struct Selection(pub allocation::Selection);

#[pymethods]
impl Selection {
    /// Lists the GPU of each vertex of the pattern.
    #[getter]
    fn gpus(&self) -> Vec<usize> {
        self.0.chosen.placement.clone()
    }

    /// The bandwidth of all pairs that the pattern joins, in GB/s.
    #[getter]
    fn aggregated_bandwidth(&self) -> f64 {
        self.0.chosen.aggregated_bandwidth.as_gigabytes_per_second()
    }

    /// The predicted bandwidth of the pattern, in GB/s; None where it has no edges.
    #[getter]
    fn effective_bandwidth(&self) -> Option<f64> {
        self.0.chosen.effective_bandwidth
    }

    /// Sums the bandwidth between the GPUs that stay free, in GB/s.
    #[getter]
    fn preserved_bandwidth(&self) -> f64 {
        self.0.chosen.preserved_bandwidth.as_gigabytes_per_second()
    }

    /// How many sets of GPUs competed.
    #[getter]
    fn candidates(&self) -> u64 {
        self.0.candidates
    }

    fn __repr__(&self) -> String {
        format!("<Selection: GPUs {:?}>", self.0.chosen.placement)
    }
}

/// The machine that a policy chooses GPUs of.
#[pyclass(frozen, module = "linkwright.contracts")]
pub struct Machine {
    machine: Arc<PreparedMachine>,
    /// The steps of [`Effort`] that the decision has left.
    left: AtomicU64,
}

impl Machine {
    pub fn new(machine: Arc<PreparedMachine>, effort: &Effort<'_>) -> Self {
        Self { machine, left: AtomicU64::new(effort.left()) }
    }

    /// The steps that are left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Does work without the interpreter's lock, which takes steps of what is left.
    fn spend<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&PreparedMachine, &mut Effort<'_>) -> T + Send,
    ) -> T {
        let (steps, machine) = (self.left(), &*self.machine);
        let (found, left) = py.detach(|| {
            let mut effort = Effort::of(steps);
            let found = work(machine, &mut effort);
            (found, effort.left())
        });
        self.left.store(left, Ordering::Relaxed);
        found
    }

    /// Makes a set of this machine's GPUs, each named once.
    fn set(&self, gpus: &[i128]) -> PyResult<GpuSet> {
        let mut set = GpuSet::EMPTY;
        for gpu in gpus {
            let gpu = number::gpu_of(self.machine.gpu_count(), *gpu)?;
            if set.contains(gpu) {
                return Err(errors::repeated_gpu(gpu));
            }
            set = set.with(gpu);
        }
        Ok(set)
    }
}

#[pymethods]
impl Machine {
    /// Gives its name.
    #[getter]
    fn name(&self) -> &str {
        self.machine.name()
    }

    /// How many GPUs it has.
    #[getter]
    fn gpu_count(&self) -> usize {
        self.machine.gpu_count()
    }

    /// Gives the bandwidth of all pairs of some GPUs, in GB/s.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn bandwidth_inside(&self, #[pyo3(from_py_with = given)] gpus: Vec<i128>) -> PyResult<f64> {
        let set = self.set(&gpus)?;
        Ok(self.machine.bandwidth_inside(set).as_gigabytes_per_second())
    }

    /// Gives the bus bandwidth of an all-reduce among some GPUs, in GB/s.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn all_reduce_bandwidth(&self, #[pyo3(from_py_with = given)] gpus: Vec<i128>) -> PyResult<f64> {
        let set = self.set(&gpus)?;
        Ok(self.machine.sound_bandwidth(set))
    }

    /// Lays a pattern on exactly these GPUs, as well as it can be.
    ///
    /// Args:
    ///     pattern: The job's.
    ///     gpus: As many as the pattern has vertices.
    ///     free: The GPUs that the job may have, these among them.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown, named twice or not free, or if there are too few or too many.
    #[pyo3(signature = (pattern: "Pattern", gpus: "Sequence[int]", free: "Sequence[int]"))]
    fn place(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
        #[pyo3(from_py_with = given)] free: Vec<i128>,
    ) -> PyResult<Selection> {
        let (gpus, free) = (self.set(&gpus)?, self.set(&free)?);
        let size = pattern.0.size();
        if gpus.len() != size || !gpus.is_subset_of(free) {
            let problem = Diagnosis::of(format!("a pattern of {size} cannot be laid on {gpus}"));
            let remedy = format!("give {size} of the free GPUs {free}");
            return Err(errors::allocation_choice(problem.remedy(remedy)));
        }
        let placed =
            self.spend(py, |machine, effort| machine.place(&pattern.0, gpus, free, effort));
        Ok(Selection(placed))
    }

    /// Finds the match of a pattern on free GPUs with the most of an objective; None where too few are free.
    ///
    /// Args:
    ///     pattern: The job's.
    ///     objective: `aggregated`, `effective` or `preserved` bandwidth.
    ///     free: The GPUs that the job may have.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown or named twice, or if there is no such objective.
    #[pyo3(signature = (pattern: "Pattern", objective: "str", free: "Sequence[int]"))]
    fn best(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] pattern: &Pattern,
        #[pyo3(from_py_with = given)] objective: &str,
        #[pyo3(from_py_with = given)] free: Vec<i128>,
    ) -> PyResult<Option<Selection>> {
        let (free, objective) = (self.set(&free)?, self::objective(objective)?);
        let found =
            self.spend(py, |machine, effort| machine.best(&pattern.0, free, objective, effort));
        Ok(found.map(Selection))
    }
}
