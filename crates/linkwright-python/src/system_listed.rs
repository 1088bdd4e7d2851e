//! Writes a system as texts of other tools, and as a list of all its parts.

use std::sync::Arc;

use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::scenario::{is_system, read_system};
use linkwright::system::views::gpu_graph::few_enough;
use linkwright::system::views::listed::listed;
use linkwright::system::{self, ExportFormat, Exported, Server, presets};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::system::System;

/// The most servers whose parts are listed one by one.
const MOST_LISTED: u32 = 1024;

impl System {
    /// Writes a server of it as another tool's text. All its servers have to be alike.
    pub fn exported(&self, format: &str) -> PyResult<Exported> {
        let format = ExportFormat::from_name(format).map_err(errors::machine)?;
        let [kind] = self.core().kinds() else {
            let problem = format!("`{}` has servers of several kinds", self.core().name());
            let remedy = "give one of its `servers()`, which print a text each";
            return Err(errors::machine(Diagnosis::of(problem).remedy(remedy)));
        };
        system::export(kind.server(), format).map_err(errors::system)
    }

    /// Its servers with every part listed, as allocation and plans see them. Of a network it
    /// lists one switch, whose inside is as wide as all its links.
    pub fn listed(&self) -> PyResult<Arc<Server>> {
        let core = self.core();
        if core.fabric().is_none() {
            return Ok(Arc::clone(core.kinds()[0].server()));
        }
        if let Some(listed) = self.listed.get() {
            return Ok(Arc::clone(listed));
        }
        let refuse =
            |why: String| Err(errors::machine(Diagnosis::of(format!("`{}` {why}", core.name()))));
        if self.is_of_nodes() {
            return refuse(
                "has nodes whose wiring nobody describes; give it a `server`".to_owned(),
            );
        }
        let count = core.servers();
        if count > MOST_LISTED {
            return refuse(format!(
                "has {count} servers, and the parts of {MOST_LISTED} at most are listed; take a \
                 system of fewer"
            ));
        }
        let all: Vec<u32> = (0..count).collect();
        let found = listed(core, &all).map_err(errors::system)?;
        let name = match core.kinds() {
            [kind] if count > 1 => format!("{count}x{}", kind.server().name()),
            _ => found.name().to_owned(),
        };
        Ok(Arc::clone(self.listed.get_or_init(|| Arc::new(found.renamed(&name)))))
    }

    /// Gives the same of GPUs that are few enough to look at each pair.
    pub fn listed_by_pairs(&self) -> PyResult<Arc<Server>> {
        few_enough(self.core().gpus() as usize).map_err(errors::system)?;
        self.listed()
    }
}

/// Gives each built-in server's name and description.
#[pyfunction]
pub fn preset_names() -> Vec<(&'static str, &'static str)> {
    presets::PRESETS.iter().map(|preset| (preset.name, preset.description)).collect()
}

/// The formats that `System.from_text` reads.
#[pyfunction]
#[pyo3(signature = () -> "list[ImportFormatName]")]
pub fn import_format_names() -> Vec<&'static str> {
    system::importers().names()
}

/// Lists the formats that `System.to_text` writes.
#[pyfunction]
#[pyo3(signature = () -> "list[ExportFormatName]")]
pub fn export_format_names() -> Vec<&'static str> {
    ExportFormat::names()
}

/// The files that a text names which describes a system, and does not hold itself; none of other texts.
///
/// Raises:
///     InputError: If the text is no such TOML, with line and column.
#[pyfunction]
#[pyo3(signature = (text: "str", file: "str" = "<text>"))]
pub fn system_files(
    #[pyo3(from_py_with = given)] text: &str,
    #[pyo3(from_py_with = given)] file: &str,
) -> PyResult<Vec<String>> {
    if !is_system(text) {
        return Ok(Vec::new());
    }
    let read = read_system(file, text).map_err(errors::input)?;
    Ok(read.files().into_iter().map(|file| file.name.clone()).collect())
}
