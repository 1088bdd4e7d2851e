//! Changes the facts of a model of GPU to those that its owner knows.
//!
//! It represents a GPU that was bought with other memory, or that runs under a limit of power or at a lower clock. A file here may also
//! lack a section that the owner has. All of its peaks follow its clock. It leaves out links: they are the machine's.

use serde::{Deserialize, Serialize};

use super::load::MatrixLoad;
use super::model::{
    Caches, Chip, CopyEngines, GpuError, GpuModel, Memory, OperationRates, Peak, PowerDrawn, Vendor,
};
use crate::diagnostic::{InputError, from_toml};
use crate::system::kinds::LinkKind;
use crate::units::{Bandwidth, Bytes, Frequency, OperationRate, Power};

/// Sections of a GPU's file that replace those of its model, or stand where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuSections {
    #[serde(skip_serializing_if = "Option::is_none")]
    chip: Option<Chip>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak: Option<Peak>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_engines: Option<CopyEngines>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caches: Option<Caches>,
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<PowerDrawn>,
}

impl GpuSections {
    /// Reads them from TOML; `file` names the text in errors.
    ///
    /// # Errors
    /// Text that is not TOML, unknown sections and values that no GPU has, each with file, line and column.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        from_toml(file, text)
    }

    fn on(&self, model: &GpuModel) -> GpuModel {
        let mut made = model.clone();
        let Self { chip, peak, memory, copy_engines, caches, power } = self.clone();
        made.chip = chip.or(made.chip);
        made.peak = peak.or(made.peak);
        made.memory = memory.or(made.memory);
        made.copy_engines = copy_engines.or(made.copy_engines);
        made.caches = caches.or(made.caches);
        made.power = power.or(made.power);
        made
    }
}

/// Says what differs of a machine's GPUs from their models. Absent parts are as in the models' files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GpuChanges {
    /// Replaces sections of their file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<GpuSections>,
    /// Each draws no more than this. More than the data sheet's power changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// Its cores' clock is no higher. More than its boost clock changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Frequency>,
    /// It has this memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Its memory moves this much, reading and writing together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
}

impl GpuChanges {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Says whether nothing but the size of its memory is said.
    #[must_use]
    pub fn is_of_capacity(&self) -> bool {
        *self == Self { memory: self.memory, ..Self::default() }
    }

    /// Gives the model with what is said of it.
    ///
    /// # Errors
    /// A part of zero; a model whose file lacks what is changed; less power than it draws at rest.
    pub fn on(&self, model: &GpuModel) -> Result<GpuModel, GpuError> {
        let parts = [
            ("power", self.power.map(|it| it.0)),
            ("clock", self.clock.map(|it| it.0)),
            ("memory", self.memory.map(|it| it.0)),
            ("bandwidth", self.bandwidth.map(|it| it.0)),
        ];
        if let Some((what, _)) = parts.into_iter().find(|(_, value)| *value == Some(0)) {
            return Err(GpuError::Nothing { what });
        }
        let mut made = match &self.sections {
            Some(sections) => sections.on(model),
            None => model.clone(),
        };
        let clock = self.clock_of(&made)?;
        if clock < 1.0 {
            made.slow_down(clock);
        }
        if self.memory.is_some() || self.bandwidth.is_some() {
            let memory = made.memory()?.clone();
            let capacity = self.memory.unwrap_or(memory.capacity);
            let bandwidth = self.bandwidth.unwrap_or(memory.bandwidth);
            made.memory = Some(Memory { capacity, bandwidth, ..memory });
        }
        Ok(made)
    }

    /// Gives the share of its boost clock that a model keeps.
    fn clock_of(&self, model: &GpuModel) -> Result<f64, GpuError> {
        let of_clock = match self.clock {
            Some(clock) => clock.as_megahertz() / f64::from(model.chip()?.clock),
            None => 1.0,
        };
        let of_power = match self.power {
            Some(power) if power >= model.power()?.busy => 1.0,
            Some(power) => {
                let load = MatrixLoad::of(model)?;
                load.clock(power.as_watts()).ok_or_else(|| GpuError::TooLittlePower {
                    model: model.name.clone(),
                    power,
                    rest: Power::from_watts(load.rest).unwrap_or_default(),
                })?
            }
            None => 1.0,
        };
        Ok(of_clock.min(of_power).min(1.0))
    }
}

impl GpuModel {
    /// Gives a model with a name alone, and the PCI id of who makes it. It is taken for one of NVIDIA
    /// where that is unknown, too.
    #[must_use]
    pub fn unknown(name: &str, vendor_id: Option<&str>) -> Self {
        let is_amd =
            vendor_id.is_some_and(|id| id.trim_start_matches("0x") == Vendor::Amd.pci_id());
        Self {
            name: name.to_owned(),
            product: name.to_owned(),
            names: Vec::new(),
            vendor: if is_amd { Vendor::Amd } else { Vendor::Nvidia },
            pci_ids: Vec::new(),
            processors: Vec::new(),
            pcie: LinkKind::Pcie4,
            source: "its owner".to_owned(),
            assumptions: Vec::new(),
            chip: None,
            peak: None,
            memory: None,
            copy_engines: None,
            caches: None,
            hierarchy: None,
            links: None,
            peer_access: None,
            power: None,
        }
    }

    /// Lets all that its cores' clock moves go at a share of it.
    fn slow_down(&mut self, clock: f64) {
        let slower = |rates: &mut OperationRates| {
            for rate in rates.values_mut() {
                *rate = OperationRate(((rate.0 as f64 * clock) as u64).max(1));
            }
        };
        if let (Ok(load), Some(power)) = (MatrixLoad::of(self), &mut self.power) {
            power.busy = Power::from_watts(load.power(clock)).unwrap_or(power.busy);
        }
        if let Some(chip) = &mut self.chip {
            chip.clock = ((f64::from(chip.clock) * clock) as u32).max(1);
        }
        if let Some(peak) = &mut self.peak {
            slower(&mut peak.vector);
            slower(&mut peak.matrix);
        }
    }
}

#[cfg(test)]
mod tests;
