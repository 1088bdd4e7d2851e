//! Tells which clock a GPU keeps while its matrix units work for long.
//!
//! A multiply-add takes an energy that belongs to a generation and falls with the bits of its numbers and with the square of the
//! voltage. At the boost clock, products that reach their full share may so draw more than the GPU's power allows. The clock
//! falls until they do not ([`MatrixLoad`]).

use super::gpu::KernelGpu;
use super::numbers::KernelNumbers;
use super::terms::KernelTerms;
use crate::system::gpus::{self, GpuModel, MatrixLoad};

/// Holds what a GPU may draw, in milliwatts, and the clock that sets its voltage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PowerBudget {
    /// All that it draws at most.
    pub busy: u64,
    /// Is drawn whatever it does.
    pub rest: u64,
    /// Is drawn by its memory at its peak.
    pub memory: u64,
    /// Gives its highest clock, in millionths of the data sheet's.
    pub clock: u64,
}

const MILLI: f64 = 1e3;
const PARTS: f64 = 1e6;

impl PowerBudget {
    /// Gives that of a model; none where its file does not say it.
    #[must_use]
    pub fn of(model: &GpuModel) -> Option<Self> {
        let load = MatrixLoad::of(model).ok()?;
        let busy = model.power().ok()?.busy.as_watts();
        let own = f64::from(model.chip().ok()?.clock);
        let sheet = gpus::find(&model.name).ok().and_then(|it| it.chip().ok());
        let boost = sheet.map_or(own, |chip| f64::from(chip.clock)).max(own);
        let [busy, rest, memory] = [busy, load.rest, load.memory].map(|it| (it * MILLI) as u64);
        Some(Self { busy, rest, memory, clock: (own / boost * PARTS) as u64 })
    }

    /// Gives the share of its clock that the GPU keeps, where its cores draw `cores` watts at the data sheet's.
    fn kept(&self, cores: f64) -> f64 {
        let [busy, rest, memory] = [self.busy, self.rest, self.memory].map(|it| it as f64 / MILLI);
        let voltage = MatrixLoad::voltage(self.clock as f64 / PARTS);
        let load = MatrixLoad { rest, memory, cores: cores * voltage * voltage };
        load.clock(busy).unwrap_or(1.0)
    }
}

impl KernelTerms {
    /// Gives the share of its clock that a GPU keeps while it multiplies such numbers for long.
    #[must_use]
    pub fn sustained(&self, gpu: &KernelGpu, numbers: KernelNumbers) -> f64 {
        let Some(power) = gpu.power else { return 1.0 };
        let KernelGpu { generation, peak, .. } = *gpu;
        let energy = self.energy(generation) * 1e-12 * numbers.bits() / 16.0;
        let reached = peak * self.product(generation, numbers).share;
        power.kept(energy * reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, numbers: KernelNumbers) -> f64 {
        let gpu = KernelGpu::of(gpus::find(name).unwrap(), numbers).unwrap();
        KernelTerms::own().sustained(&gpu, numbers)
    }

    /// GPUs reach 258 and 720 TFLOP/s of random numbers for long, as was published (the sources stand beside the terms).
    #[test]
    fn gpus_reach_under_load_what_was_published() {
        for (name, published) in [("a100-sxm4-80gb", 258e12), ("h100-sxm5-80gb", 720e12)] {
            let numbers = KernelNumbers::Bf16;
            let gpu = KernelGpu::of(gpus::find(name).unwrap(), numbers).unwrap();
            let share = KernelTerms::own().product(gpu.generation, numbers).share;
            let reached = gpu.peak * share * kept(name, numbers);
            assert!((reached / published - 1.0).abs() < 0.03, "{name}: {reached}");
        }
    }

    #[test]
    fn more_power_keeps_a_higher_clock() {
        let [b200, gb200] =
            ["b200-sxm6-180gb", "gb200-186gb"].map(|name| kept(name, KernelNumbers::Bf16));
        assert!(b200 < gb200 && gb200 <= 1.0, "{b200} {gb200}");
    }
}
