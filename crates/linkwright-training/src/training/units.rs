//! Tells how many units a model of GPU has on which kernels take turns.
//!
//! Data sheets of the newest GPUs say peaks and memory, and not into how many multiprocessors the peak divides. Where a
//! file lacks that, its nearest relative's number is taken, and each is as much faster as the peaks say.
//! Products that fill the GPU then take as much shorter as its peak is higher. Where memory bounds a kernel, its own counts.

use std::collections::BTreeSet;

use super::error::TrainingError;
use super::precision::Precision;
use super::prepare::model_of;
use crate::system::System;
use crate::system::gpus::{self, GpuError, GpuModel};

/// Counts the streaming multiprocessors, or compute units, of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// How many there are.
    pub count: u32,
    /// Whose they are, where the model's own file does not say it.
    pub like: Option<&'static GpuModel>,
}

impl Units {
    /// Those of a model; of one whose file has no `[caches]`, those of the relative whose peak in these numbers is
    /// nearest below its own.
    ///
    /// # Errors
    /// A model without them that has no such relative.
    pub fn of(model: &GpuModel, precision: Precision) -> Result<Self, GpuError> {
        let missing = match model.caches() {
            Ok(caches) => return Ok(Self { count: caches.units, like: None }),
            Err(missing) => missing,
        };
        let Ok((peak, is_matrix)) = precision.peak_of(model) else { return Err(missing) };
        let relatives = gpus::all().filter(|other| other.vendor == model.vendor);
        let known = relatives.filter_map(|other| {
            let (rate, of_matrix) = precision.peak_of(other).ok()?;
            let units = other.caches().ok()?.units;
            (rate <= peak && of_matrix == is_matrix).then_some((rate, units, other))
        });
        // Of several with one peak, the first of the list.
        let nearest = known.reduce(|best, other| if other.0 > best.0 { other } else { best });
        let (_, count, like) = nearest.ok_or(missing)?;
        Ok(Self { count, like: Some(like) })
    }

    /// Tells of each model of these GPUs whose units are another's that it is so.
    ///
    /// # Errors
    /// Refuses a GPU of no known model.
    pub fn assumed(
        system: &System,
        gpus: impl IntoIterator<Item = u32>,
        precision: Precision,
    ) -> Result<BTreeSet<String>, TrainingError> {
        let mut told = BTreeSet::new();
        for gpu in gpus {
            let model = model_of(system, gpu)?;
            if let Ok(Self { count, like: Some(like) }) = Self::of(model, precision) {
                told.insert(format!(
                    "No data sheet here says how many multiprocessors a {} has. Training takes the {count} of a {}, \
                     each as much faster as the peaks in {} say."
                    ,
                    model.name,
                    like.name,
                    precision.number().name(),
                ));
            }
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets;

    /// Every machine of Linkwright's own trains: each of its GPUs that has a model says what kernels depend on.
    #[test]
    fn gpus_of_presets_say_what_computing_needs() {
        for name in presets::NAMES {
            let server = presets::preset(name).unwrap();
            for gpu in server.gpus() {
                // Trees of PCIe stand for any GPUs.
                let Some(model) = server.devices()[*gpu].gpu_model() else { continue };
                let units = Units::of(model, Precision::Fp32).unwrap();
                assert_eq!(units.like, None, "{name}: {}", model.name);
                assert!(model.memory().is_ok() && model.power().is_ok(), "{}", model.name);
            }
        }
    }

    #[test]
    fn units_are_a_model_s_own_or_its_nearest_relative_s() {
        let of = |name, precision| Units::of(gpus::find(name).unwrap(), precision);
        let own = of("h100-sxm5-80gb", Precision::Bf16).unwrap();
        assert_eq!((own.count, own.like), (132, None));
        for name in ["b200-sxm6-180gb", "gb200-186gb", "b300", "gb300"] {
            let own = of(name, Precision::Bf16).unwrap();
            assert_eq!((own.count, own.like), (148, None), "{name}");
        }
        let taken = of("rtx-3090-ti", Precision::Fp32).unwrap();
        let like = taken.like.unwrap();
        assert_eq!(taken.count, like.caches().unwrap().units);
        let [own, peak] = [gpus::find("rtx-3090-ti").unwrap(), like]
            .map(|model| Precision::Fp32.peak_of(model).unwrap().0);
        let closer = gpus::all().filter(|other| other.caches().is_ok()).filter(|other| {
            let rate = Precision::Fp32.peak_of(other);
            other.vendor == like.vendor && rate.is_ok_and(|(it, _)| it > peak && it <= own)
        });
        assert_eq!(closer.count(), 0);
        // Nobody knows how fast it is.
        assert!(of("h20", Precision::Bf16).is_err());
    }
}
