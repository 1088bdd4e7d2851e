//! Values between processes: every value pickles and copies, as the core's data in JSON.
//!
//! A class needs to derive serde's traits and to stand in the list of [`pickled`]. `copyreg` then
//! tells Python's `pickle` and `copy` about it, and its numbers come back to the last bit.

use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::allocator::Allocator;
use crate::bandwidth_fit::BandwidthFit;
use crate::certificate::Certificate;
use crate::cluster_job::ClusterJob;
use crate::cluster_run::ClusterRun;
use crate::decision::{Explanation, Match};
use crate::fabric::Fabric;
use crate::gpu_kernel::GpuKernel;
use crate::gpu_model::GpuModel;
use crate::gpu_place::GpuPlace;
use crate::gpu_run::{GpuRun, GpuSystem};
use crate::job::Job;
use crate::kernel_trace::{KernelRatios, KernelTrace};
use crate::layout_search::LayoutSearch;
use crate::layout_step::LayoutStep;
use crate::model::Model;
use crate::model_training::ModelTraining;
use crate::nccl_tests::NcclTestsLog;
use crate::owner::Owner;
use crate::pattern::Pattern;
use crate::program::Program;
use crate::scenario::Scenario;
use crate::schedule::{CheckReport, Export, Schedule};
use crate::setting::Setting;
use crate::simulation::SimulationResult;
use crate::system::System;
use crate::system_origin::Origin;
use crate::table::Table;
use crate::thermal::{Floorplan, ThermalMap};
use crate::timing::Timing;
use crate::training::{NeuralNetwork, TrainingStep};
use crate::tree::Tree;
use crate::tried::Tried;

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the pickle is not of this version of Linkwright: {error}"))
}

macro_rules! pickled {
    ($($class:ident),* $(,)?) => {
        /// Returns the name of a value's class, and its data.
        fn saved(value: &Bound<'_, PyAny>) -> PyResult<(&'static str, String)> {
            $(if let Ok(value) = value.cast::<$class>() {
                let text = serde_json::to_string(&*value.borrow()).map_err(refuse)?;
                return Ok((stringify!($class), text));
            })*
            Err(PyTypeError::new_err(format!("cannot pickle {}", value.get_type().name()?)))
        }

        /// Makes a value from the name of its class and its data.
        #[pyfunction]
        #[pyo3(name = "_restored")]
        fn restored(py: Python<'_>, class: &str, text: &str) -> PyResult<Py<PyAny>> {
            match class {
                $(stringify!($class) => {
                    serde_json::from_str::<$class>(text).map_err(refuse)?.into_py_any(py)
                })*
                other => Err(refuse(format!("it has no class `{other}`"))),
            }
        }

        /// Tells Python how each class is pickled and copied.
        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            let py = module.py();
            module.add_function(wrap_pyfunction!(restored, module)?)?;
            module.add_function(wrap_pyfunction!(reduced, module)?)?;
            let reduced = module.getattr("_reduced")?;
            let copyreg = py.import("copyreg")?;
            $(copyreg.call_method1("pickle", (py.get_type::<$class>(), &reduced))?;)*
            Ok(())
        }
    };
}

pickled!(
    Allocator,
    BandwidthFit,
    Certificate,
    CheckReport,
    ClusterJob,
    ClusterRun,
    Explanation,
    Fabric,
    Floorplan,
    GpuKernel,
    GpuModel,
    GpuPlace,
    GpuRun,
    GpuSystem,
    Export,
    Job,
    KernelRatios,
    KernelTrace,
    LayoutSearch,
    LayoutStep,
    Match,
    Model,
    ModelTraining,
    NcclTestsLog,
    NeuralNetwork,
    Owner,
    Pattern,
    Program,
    Scenario,
    Schedule,
    Setting,
    SimulationResult,
    System,
    Table,
    ThermalMap,
    Timing,
    TrainingStep,
    Tree,
    Tried,
);

/// Returns the parts that make a value again, as `copyreg` asks for them.
#[pyfunction]
#[pyo3(name = "_reduced")]
fn reduced<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let py = value.py();
    let restore = py.import("linkwright._core")?.getattr("_restored")?;
    Ok((restore, saved(value)?.into_pyobject(py)?))
}

impl Serialize for System {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.origin().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for System {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let origin = Origin::deserialize(deserializer)?;
        let cluster = origin.cluster().map_err(D::Error::custom)?;
        Ok(Self::new(cluster, origin))
    }
}
