//! Tells how hot a package becomes whose blocks are GPUs of a server, by the power that each draws in the mean.
//!
//! It observes a result and changes nothing of it. It represents the steady state of means: each GPU makes as much heat
//! all the time as it draws in the mean over the span. Conduction is linear, so that this is the mean of the
//! temperatures, too. It leaves out transients: a GPU that works for seconds at a time becomes warmer than its mean
//! and cools again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::power::{GpuPower, Held, KILOWATT_HOUR, busy_times};
use crate::system::System;
use crate::table::Table;
use crate::thermal::{Extremes, Floorplan, ThermalError, ThermalMap};
use crate::units::Picoseconds;

/// Is a package whose blocks are GPUs of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Package {
    /// It has its layers, its blocks and its sink.
    pub floorplan: Floorplan,
    /// It lists each GPU by its id in the system, with the index of its block.
    pub gpus: Vec<(u32, usize)>,
    /// It is cut into as many cells each way.
    pub cells: usize,
    /// It tells the power of GPUs that goes before their data sheets.
    pub powers: BTreeMap<u32, GpuPower>,
}

/// Holds what became of one GPU of a package over a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuHeat {
    /// It has this id in the system.
    pub gpu: u32,
    /// It is the block of this index.
    pub block: usize,
    /// It was held for this share of the span.
    pub busy_share: f64,
    /// It draws this.
    pub power: GpuPower,
    /// Gives its mean power, in W.
    pub mean_power: f64,
    /// Gives the extreme temperatures of its block.
    pub temperatures: Extremes,
}

/// Holds the heat of a package over a span.
#[derive(Debug, Clone)]
pub struct PackageHeat {
    /// It has the GPUs in the order of the package.
    pub gpus: Vec<GpuHeat>,
    /// Gives the time from zero to the end of the last job.
    pub span: Picoseconds,
    /// Has the temperatures of the whole package, under the mean powers.
    pub map: ThermalMap,
}

/// Holds the heat of a package in numbers and names. Temperatures are in degrees Celsius, energies in kWh, powers in W.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeatSummary {
    /// It has this name.
    pub package: String,
    /// The air has this temperature.
    pub ambient: f64,
    /// Its hottest place has this temperature.
    pub maximum: f64,
    /// That place lies in this block; None where it lies in none.
    pub hottest_block: Option<String>,
    /// It tells what all its blocks took until the last job's end.
    pub energy: f64,
    /// It tells what left it in that time.
    pub heat: f64,
    /// It has the GPUs in the order of the package.
    pub gpus: Vec<GpuHeatSummary>,
    /// It lists the blocks that are no GPU.
    pub others: Vec<String>,
}

/// Holds what became of one GPU of a package, in numbers and names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuHeatSummary {
    /// It has this id in the system.
    pub gpu: u32,
    /// It has this name in its server.
    pub name: String,
    /// Its block has this name.
    pub block: String,
    /// It was held for this share of the time until the last job's end.
    pub busy_share: f64,
    /// It draws this while a job holds it.
    pub busy_power: Option<f64>,
    /// It draws this while none does; None where nobody says it.
    pub rest_power: Option<f64>,
    /// It draws this in the mean.
    pub mean_power: f64,
    /// It has taken this when the last job ends.
    pub gpu_energy: f64,
    /// The hottest place of its block has this temperature.
    pub maximum: f64,
    /// Its block has this temperature in the mean.
    pub mean: f64,
}

impl Package {
    /// Tells what a package's GPUs draw in the mean while jobs hold them, and how hot they become.
    ///
    /// `powers` are those of the system's GPUs. Blocks that are no GPU draw all the time what the floorplan says.
    ///
    /// # Errors
    /// It refuses as [`Floorplan::solve`] does.
    ///
    /// # Panics
    /// If the busy power of a GPU that is held is unknown. Whoever makes a package sees to that.
    pub fn observe(&self, powers: &[GpuPower], held: &[Held]) -> Result<PackageHeat, ThermalError> {
        let span = held.iter().map(|job| job.end).max().unwrap_or_default();
        let busy = busy_times(powers.len(), held);
        let mut floorplan = self.floorplan.clone();
        let mut means = Vec::new();
        for (gpu, block) in &self.gpus {
            let (power, held) = (powers[*gpu as usize], busy[*gpu as usize]);
            let mean = power.mean(held, span).expect("a package's GPUs have a busy power");
            floorplan.blocks[*block].power = mean;
            means.push((power, held, mean));
        }
        let map = floorplan.solve(self.cells)?;
        let temperatures = map.blocks();
        let gpus = self.gpus.iter().zip(means).map(|((gpu, block), (power, held, mean_power))| {
            let busy_share = if span.0 == 0 { 0.0 } else { held.0 as f64 / span.0 as f64 };
            let temperatures = temperatures[*block];
            GpuHeat { gpu: *gpu, block: *block, busy_share, power, mean_power, temperatures }
        });
        Ok(PackageHeat { gpus: gpus.collect(), span, map })
    }
}

impl PackageHeat {
    /// Gives what all blocks took in the span, in kWh.
    #[must_use]
    pub fn energy(&self) -> f64 {
        self.map.floorplan().power() * self.span.as_seconds() / KILOWATT_HOUR
    }

    /// Gives the heat that left the package in the span by the sink and the board, in kWh.
    #[must_use]
    pub fn heat(&self) -> f64 {
        let heat = self.map.heat();
        (heat.sink + heat.board) * self.span.as_seconds() / KILOWATT_HOUR
    }

    /// Sums it up in numbers and names, as a comparison of runs keeps it.
    #[must_use]
    pub fn summary(&self, system: &System) -> HeatSummary {
        let hours = self.span.as_seconds() / KILOWATT_HOUR;
        let plan = self.map.floorplan();
        let of_gpu = |it: &GpuHeat| GpuHeatSummary {
            gpu: it.gpu,
            name: gpu_name(system, it.gpu),
            block: plan.blocks[it.block].name.clone(),
            busy_share: it.busy_share,
            busy_power: it.power.busy,
            rest_power: it.power.rest,
            mean_power: it.mean_power,
            gpu_energy: it.mean_power * hours,
            maximum: it.temperatures.maximum,
            mean: it.temperatures.mean,
        };
        let is_other = |block: usize| self.gpus.iter().all(|it| it.block != block);
        let others = plan.blocks.iter().enumerate().filter(|(block, _)| is_other(*block));
        HeatSummary {
            package: plan.name.clone(),
            ambient: plan.ambient,
            maximum: self.map.maximum(),
            hottest_block: self.map.hottest_block().map(|block| block.name.clone()),
            energy: self.energy(),
            heat: self.heat(),
            gpus: self.gpus.iter().map(of_gpu).collect(),
            others: others.map(|(_, block)| block.name.clone()).collect(),
        }
    }

    /// Gives a row for each GPU: its block, its powers in W, its energy in kWh, and its temperatures in degrees Celsius.
    #[must_use]
    pub fn table(&self, system: &System) -> Table {
        let gpus = self.summary(system).gpus;
        let of = |value: fn(&GpuHeatSummary) -> f64| gpus.iter().map(value).collect::<Vec<f64>>();
        let watts =
            |value: fn(&GpuHeatSummary) -> Option<f64>| gpus.iter().map(value).collect::<Vec<_>>();
        Table::new()
            .with("gpu", "", gpus.iter().map(|it| u64::from(it.gpu)).collect::<Vec<_>>())
            .with("name", "", gpus.iter().map(|it| it.name.clone()).collect::<Vec<_>>())
            .with("block", "", gpus.iter().map(|it| it.block.clone()).collect::<Vec<_>>())
            .with("busy_share", "", of(|it| it.busy_share))
            .with("busy_power", "W", watts(|it| it.busy_power))
            .with("rest_power", "W", watts(|it| it.rest_power))
            .with("mean_power", "W", of(|it| it.mean_power))
            .with("gpu_energy", "kWh", of(|it| it.gpu_energy))
            .with("maximum", "°C", of(|it| it.maximum))
            .with("mean", "°C", of(|it| it.mean))
    }
}

/// Gives the name of a GPU in its server.
fn gpu_name(system: &System, gpu: u32) -> String {
    let place = system.gpu(gpu);
    let server = system.kind_of(place.server).server();
    server.devices()[server.gpus()[place.index as usize]].name.clone()
}
