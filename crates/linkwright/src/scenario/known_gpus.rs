//! Reads facts of the GPUs of a system's servers that differ from their models' files.
//!
//! ```toml
//! [system]
//! server = "hgx-h100"
//! gpu = { power = 500, memory = "96 GB", bandwidth = "2.4 TB/s" }
//! ```

use std::sync::Arc;

use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::source::Place;
use crate::diagnostic::InputError;
use crate::simulation::cluster::Cluster;
use crate::system::gpus::{GpuChanges, GpuSections};
use crate::units::{Bandwidth, Bytes, Frequency, Power};

/// Holds the table's facts, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownGpus {
    /// Has all but the file's sections.
    pub changes: GpuChanges,
    /// Has sections of a GPU's file.
    pub file: Option<FileName>,
    /// It stands there.
    pub place: Place,
}

impl KnownGpus {
    /// Reads the table of a system.
    ///
    /// # Errors
    /// A value that is no power, clock, memory or bandwidth, at its key; GPUs of nodes that nobody describes.
    pub(super) fn read(system: &Fields<'_>, is_described: bool) -> Result<Self, InputError> {
        let table = system.table("gpu")?;
        if system.has("gpu") && !is_described {
            let remedy = "say which servers with `server`";
            return Err(system.refuse("gpu", "GPUs of abstract nodes have no model", remedy));
        }
        let power: Option<Power> = table.optional("power")?;
        let clock = match table.optional("clock")? {
            Some(megahertz) => {
                let remedy = "give megahertz, such as 1500";
                let refuse = || table.refuse("clock", "no clock", remedy);
                Some(Frequency::from_megahertz(megahertz).ok_or_else(refuse)?)
            }
            None => None,
        };
        let memory: Option<Bytes> = table.optional("memory")?;
        let bandwidth: Option<Bandwidth> = table.optional("bandwidth")?;
        let changes = GpuChanges { sections: None, power, clock, memory, bandwidth };
        Ok(Self { changes, file: table.file("file")?, place: system.place("gpu") })
    }

    /// Gives a cluster with that.
    ///
    /// # Errors
    /// A file that is not given or has no sections of a GPU; a section that the GPUs' models lack.
    pub(super) fn on(
        &self,
        cluster: Cluster,
        scenario: &str,
        files: &Files,
    ) -> Result<Cluster, InputError> {
        let read = |file: &FileName| GpuSections::read(&file.name, text_of(scenario, file, files)?);
        let sections = self.file.as_ref().map(read).transpose()?;
        let changes = GpuChanges { sections, ..self.changes.clone() };
        if changes.is_empty() {
            return Ok(cluster);
        }
        let changed = cluster.system.with_gpus(&changes);
        let system = changed.map_err(|error| {
            self.place.refuse_as(scenario, &error, "", "leave it out, or name another server")
        })?;
        Ok(Cluster { system: Arc::new(system), ..cluster })
    }
}
