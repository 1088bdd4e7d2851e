//! Tells what a GPU draws while its matrix units work, and the clock that a limit of power leaves it.
//!
//! **The model.** Under matrix load, at a share `c` of its boost clock, a GPU draws
//!
//! ```text
//! power(c) = rest + memory x c + cores x c x v(c)^2        v(c) = base + (1 - base) x c
//! ```
//!
//! Cores switch once a cycle, and each switch takes the square of the voltage. The voltage is linear in the clock, above a part
//! that no clock saves. Memory moves what products need, so that its power follows the clock, and its voltage stays. At
//! the boost clock all of it together is the data sheet's power, by which the cores' part follows. A limit of power then
//! leaves the clock at which `power(c)` is the limit.
//!
//! **What it leaves out.** Kernels that draw less than products keep a higher clock on real GPUs. So do products of
//! numbers that repeat. Leakage that grows with temperature, the spread between chips, and times over which a GPU averages are
//! left out as well. Kernels were measured at the data sheet's power. Clocks that fall under that limit are in those
//! measurements.

use super::model::{GpuError, GpuModel, MemoryKind};

/// At rest a GPU draws this share of its data sheet's power. No data sheet says it. Public listings of `nvidia-smi` show 68 to 73 of
/// 700 W for an H100 80GB HBM3 in its fastest state (P0) without work.
const REST: f64 = 0.1;

/// The part of the voltage at the boost clock that no clock saves. NVIDIA published one table of voltages by clocks, that of the
/// Tegra X1 in Linux (`drivers/gpu/drm/nouveau/nvkm/subdev/volt/gm20b.c`). It is linear from 814 mV at 77 MHz to 1,317 mV
/// at 998 MHz. Its line has 772 mV at no clock.
const BASE_VOLTAGE: f64 = 0.586;

/// Halvings of the span of clocks in which the right one lies; each is a bit.
const HALVINGS: u32 = 48;

/// Gives the picojoules that a bit takes from memory or to it. Micron's comparison of its memories says 7.5 of GDDR6, 7.25 of GDDR6X and
/// 6.0 of HBM2E. The others are taken as their nearest relative.
const fn energy_of_bit(kind: MemoryKind) -> f64 {
    match kind {
        MemoryKind::Gddr5 | MemoryKind::Gddr6 => 7.5,
        MemoryKind::Gddr6x | MemoryKind::Gddr7 => 7.25,
        MemoryKind::Hbm
        | MemoryKind::Hbm2
        | MemoryKind::Hbm2e
        | MemoryKind::Hbm3
        | MemoryKind::Hbm3e => 6.0,
    }
}

/// Holds what a GPU draws under matrix load at its boost clock, in watts by cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixLoad {
    /// Is drawn whatever it does.
    pub rest: f64,
    /// Is drawn by memory that is read and written at its peak.
    pub memory: f64,
    /// Is drawn by all that the cores' clock moves.
    pub cores: f64,
}

impl MatrixLoad {
    /// Gives that of a model.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where its file has no `[power]` or `[memory]`.
    pub fn of(model: &GpuModel) -> Result<Self, GpuError> {
        let busy = model.power()?.busy.as_watts();
        let memory = model.memory()?;
        let rest = REST * busy;
        let bits = 8.0 * memory.bandwidth.0 as f64;
        // No memory takes more than what the rest leaves.
        let memory = (bits * energy_of_bit(memory.kind) * 1e-12).min(busy - rest);
        Ok(Self { rest, memory, cores: busy - rest - memory })
    }

    /// Gives the voltage at a share of the boost clock, as a share of that at the boost clock.
    #[must_use]
    pub fn voltage(clock: f64) -> f64 {
        BASE_VOLTAGE + (1.0 - BASE_VOLTAGE) * clock
    }

    /// Gives the watts at a share of the boost clock.
    #[must_use]
    pub fn power(&self, clock: f64) -> f64 {
        let voltage = Self::voltage(clock);
        self.rest + (self.memory + self.cores * voltage * voltage) * clock
    }

    /// Gives the largest share of the boost clock at which no more than these watts are drawn; none where rest alone draws as much.
    #[must_use]
    pub fn clock(&self, limit: f64) -> Option<f64> {
        if limit >= self.power(1.0) {
            return Some(1.0);
        }
        if limit <= self.rest {
            return None;
        }
        let (mut below, mut above) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(below, above);
            if self.power(middle) <= limit {
                below = middle;
            } else {
                above = middle;
            }
        }
        Some(below)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::gpus;

    #[test]
    fn watts_by_hand() {
        // 700 W: 70 at rest, 3352 GB/s of 8 bits at 6 pJ, and the cores' part.
        let load = MatrixLoad::of(gpus::find("h100-sxm5-80gb").unwrap()).unwrap();
        let memory = 3352e9 * 8.0 * 6e-12;
        assert!((load.memory - memory).abs() < 1e-9, "{load:?}");
        let half = 70.0 + memory / 2.0 + (630.0 - memory) / 2.0 * 0.793 * 0.793;
        assert!((load.power(0.5) - half).abs() < 1e-9, "{}", load.power(0.5));
    }

    #[test]
    fn every_model_that_says_its_power_leaves_some_to_its_cores() {
        for model in gpus::all() {
            let Ok(load) = MatrixLoad::of(model) else { continue };
            let busy = model.power().unwrap().busy.as_watts();
            assert!(load.cores > 0.4 * busy, "{}: {load:?}", model.name);
            assert!((load.power(1.0) - busy).abs() < 1e-9, "{}", model.name);
        }
    }

    proptest! {
        #[test]
        fn a_clock_draws_its_limit_and_more_power_never_lowers_it(
            limits in prop::array::uniform2(1.0_f64..1000.0)
        ) {
            let load = MatrixLoad::of(gpus::find("h100-sxm5-80gb").unwrap()).unwrap();
            let [less, more] = [limits[0].min(limits[1]), limits[0].max(limits[1])];
            prop_assert_eq!(load.clock(less).is_none(), less <= load.rest);
            if let (Some(slow), Some(fast)) = (load.clock(less), load.clock(more)) {
                prop_assert!(slow <= fast && fast <= 1.0);
                prop_assert!(slow == 1.0 || (load.power(slow) - less).abs() < 1e-6);
            }
        }
    }
}
