//! Gives Python `linkwright.GpuModel`.

use std::collections::BTreeMap;

use linkwright::system::gpus::{self, GpuError, NumberType};
use linkwright::units::OperationRate;
use pyo3::prelude::*;

use crate::argument::{as_extracted, given};
use crate::errors;

/// Holds the known facts of one model of GPU, by data sheets and whitepapers.
///
/// Facts that its file does not give are unknown. Their property raises a MachineError that names
/// the section that is missing.
#[pyclass(frozen, eq, module = "linkwright.gpu")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GpuModel(gpus::GpuModel);

/// Gives peak speeds in TFLOP/s, or TOP/s, by number type.
fn rates(rates: &BTreeMap<NumberType, OperationRate>) -> BTreeMap<&'static str, f64> {
    rates.iter().map(|(number, rate)| (number.name(), rate.0 as f64 / 1e12)).collect()
}

fn known<T>(section: Result<T, GpuError>) -> PyResult<T> {
    section.map_err(errors::machine)
}

impl From<gpus::GpuModel> for GpuModel {
    fn from(model: gpus::GpuModel) -> Self {
        Self(model)
    }
}

impl GpuModel {
    /// Returns the core's value.
    pub fn core(&self) -> &gpus::GpuModel {
        &self.0
    }

    /// The model of a name whose inside is known.
    pub fn inside(name: &str) -> PyResult<Self> {
        known(gpus::find_inside(name)).cloned().map(Self)
    }
}

#[pymethods]
impl GpuModel {
    /// Finds the model of a name: its own, or its product's as `nvidia-smi` or `rocm-smi` prints it.
    ///
    /// Raises:
    ///     MachineError: If there is none; the message names the nearest.
    #[staticmethod]
    #[pyo3(signature = (name: "str"))]
    fn find(#[pyo3(from_py_with = given)] name: &str) -> PyResult<Self> {
        known(gpus::find(name)).cloned().map(Self)
    }

    /// Reads a model from its TOML text; `file` names the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no model, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        gpus::read(file, text).map(Self).map_err(errors::input)
    }

    /// Returns its name here, such as `v100-sxm2-16gb`.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its name as the vendor's tool prints it: `Tesla V100-SXM2-16GB`.
    #[getter]
    fn product(&self) -> &str {
        &self.0.product
    }

    /// Names its vendor: `nvidia` or `amd`.
    #[getter]
    fn vendor(&self) -> &'static str {
        self.0.vendor.name()
    }

    /// Lists its PCI vendor and device ids, such as `10de:1db1`.
    #[getter]
    fn pci_ids(&self) -> Vec<String> {
        self.0.pci_ids.iter().map(ToString::to_string).collect()
    }

    /// Lists the names that compilers give its processor, such as `sm_70` or `gfx942`.
    #[getter]
    fn processors(&self) -> Vec<String> {
        self.0.processors.clone()
    }

    /// Names its generation of PCIe, such as `pcie3`.
    #[getter]
    fn pcie(&self) -> &'static str {
        self.0.pcie.name()
    }

    /// The kind of its links to other GPUs, such as `nvlink2`; None where it is sold without.
    #[getter]
    fn link_kind(&self) -> Option<&'static str> {
        self.0.links.map(|links| links.kind.name())
    }

    /// How many of them it has.
    #[getter]
    fn link_count(&self) -> u32 {
        self.0.links.map_or(0, |links| links.count)
    }

    /// Bandwidth of one of them in one direction, in GB/s; None where there are none.
    #[getter]
    fn link_bandwidth(&self) -> Option<f64> {
        self.0.links.map(|links| links.bandwidth().as_gigabytes_per_second())
    }

    /// Gives the peak speed of its plain cores by number type (`fp32`), in TFLOP/s, for integers in
    /// TOP/s.
    #[getter]
    fn vector_peak(&self) -> PyResult<BTreeMap<&'static str, f64>> {
        known(self.0.peak()).map(|peak| rates(&peak.vector))
    }

    /// Gives the peak speed of its tensor or matrix cores on dense matrices, likewise.
    #[getter]
    fn matrix_peak(&self) -> PyResult<BTreeMap<&'static str, f64>> {
        known(self.0.peak()).map(|peak| rates(&peak.matrix))
    }

    /// Names the kind of its memory, such as `hbm2`.
    #[getter]
    fn memory_kind(&self) -> PyResult<&'static str> {
        known(self.0.memory()).map(|memory| memory.kind.name())
    }

    /// Gives its memory in bytes, as sold; drivers keep some.
    #[getter]
    fn memory_capacity(&self) -> PyResult<u64> {
        known(self.0.memory()).map(|memory| memory.capacity.0)
    }

    /// Gives the peak bandwidth of its memory, reading and writing together, in GB/s.
    #[getter]
    fn memory_bandwidth(&self) -> PyResult<f64> {
        known(self.0.memory()).map(|memory| memory.bandwidth.as_gigabytes_per_second())
    }

    /// Counts the engines that copy between its memory and the rest while the cores work.
    #[getter]
    fn copy_engines(&self) -> PyResult<u32> {
        known(self.0.copy_engines()).map(|engines| engines.count)
    }

    /// Whether it reaches the memory of other GPUs over PCIe; else copies go through the host's memory.
    #[getter]
    fn pcie_peer_access(&self) -> PyResult<bool> {
        known(self.0.peer_access()).map(|access| access.pcie)
    }

    /// It draws this at most while it works, in W: the thermal design power of its data sheet.
    #[getter]
    fn busy_power(&self) -> PyResult<f64> {
        known(self.0.power()).map(|power| power.busy.as_watts())
    }

    /// How many streaming multiprocessors, or compute units, it has.
    #[getter]
    fn units(&self) -> PyResult<u32> {
        known(self.0.caches()).map(|caches| caches.units)
    }

    /// Counts the bytes of its second-level cache, all slices together.
    #[getter]
    fn l2_cache(&self) -> PyResult<u64> {
        known(self.0.caches()).map(|caches| caches.l2.0)
    }

    /// Whether its file has a `[hierarchy]`, so that kernels can run inside it.
    #[getter]
    fn has_hierarchy(&self) -> bool {
        self.0.hierarchy().is_ok()
    }

    /// Its file, with everything that is known, and where from.
    fn to_toml(&self) -> String {
        gpus::write(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<GpuModel {}>", self.0.name)
    }
}

/// Every model of GPU that is known, by vendor, the oldest first.
#[pyfunction]
pub fn gpu_models() -> Vec<GpuModel> {
    gpus::all().cloned().map(GpuModel).collect()
}

/// A model by its name, or as it is.
#[derive(FromPyObject)]
pub enum NamedModel {
    Model(Py<GpuModel>),
    Name(String),
}

as_extracted!(NamedModel: "a model's name or a `GpuModel`", "models";);
