//! `linkwright.Machine`.

use linkwright::topology::{self, tables, toml_format};
use pyo3::prelude::*;

use crate::errors;
use crate::table::Table;

/// A server (or several): its devices and the links between them.
#[pyclass(frozen, eq, module = "linkwright")]
#[derive(PartialEq)]
pub struct Machine(topology::Machine);

#[pymethods]
impl Machine {
    /// Reads a machine from its TOML text; `file` names the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no machine, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text, file = "<text>"))]
    fn from_toml(text: &str, file: &str) -> PyResult<Self> {
        toml_format::read(file, text).map(Self).map_err(errors::topology)
    }

    /// The machine's name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Where its description comes from.
    #[getter]
    fn source(&self) -> &str {
        self.0.source()
    }

    /// What an importer had to assume because the source does not say it.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumptions().to_vec()
    }

    /// How many GPUs it has.
    #[getter]
    fn gpu_count(&self) -> usize {
        self.0.gpus().len()
    }

    /// One row per device: name, kind, model, links and bandwidth to other GPUs.
    fn devices(&self) -> PyResult<Table> {
        Table::new(tables::devices(&self.0))
    }

    /// One row per bundle of links: its ends, kind, count, bandwidth and latency.
    fn links(&self) -> PyResult<Table> {
        Table::new(tables::links(&self.0))
    }

    /// The machine as text that `from_toml` reads back to an equal machine.
    fn to_toml(&self) -> String {
        toml_format::write(&self.0)
    }

    fn __repr__(&self) -> String {
        let (devices, links) = (self.0.devices().len(), self.0.links().len());
        let (name, gpus) = (self.0.name(), self.0.gpus().len());
        format!("<Machine {name:?}: {gpus} GPUs, {devices} devices, {links} bundles of links>")
    }
}
