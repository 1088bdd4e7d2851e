//! Reads what a caller says of the power of models of GPU.

use std::collections::BTreeMap;

use linkwright::simulation::power::GpuPower;

use crate::argument::as_extracted;

/// Watts of models of GPU, busy and at rest, by their names in small letters.
pub type Watts = BTreeMap<String, (Option<f64>, Option<f64>)>;

as_extracted!(Watts: "a dictionary of models and their watts, busy and at rest", "watts";);

/// Gives what a caller says of the power of models.
pub fn of_models(watts: Watts) -> BTreeMap<String, GpuPower> {
    watts.into_iter().map(|(name, (busy, rest))| (name, GpuPower { busy, rest })).collect()
}
