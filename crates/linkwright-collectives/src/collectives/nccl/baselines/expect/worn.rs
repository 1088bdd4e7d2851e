//! Says what the library takes where links carry less than it believes.
//!
//! A link that is worn has its peak in every table, so that the library chooses as on sound links.
//! Data take longer all the same.

use super::{ExpectError, Expectation, Expectations, Prepared};
use crate::collectives::nccl::baselines::choice::Settings;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::CollectiveTerms;
use crate::system::{PeakShare, System, Wire, Wiring};
use crate::units::Bytes;

/// Works as [`super::expect`], where each wire carries a part of what it should. `part` gives that
/// part, above 0 and at most 1. It takes the wiring of the job's servers and one of its wires.
///
/// # Errors
/// Fails as [`super::expect`] does.
pub fn expect_worn(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
    settings: &Settings,
    part: impl Fn(&Wiring, &Wire) -> f64,
) -> Result<Expectations, ExpectError> {
    let prepared = Prepared::new(system, gpus, collective, sizes, settings)?;
    let sound = &prepared.wiring;
    let worn = sound.clone().measured(|wire| {
        let part = part(sound, wire).clamp(1e-3, 1.0);
        if part < 1.0 {
            let of_peak = |share: f64| PeakShare::of((share * part).clamp(1e-6, 1.0));
            wire.in_switch = wire.in_switch_share().and_then(of_peak);
            wire.reached = of_peak(wire.reached_share());
        }
    });
    let timings = prepared.times(&worn, CollectiveTerms::shipped())?;
    let rows = timings.into_iter().zip(&prepared.choices).map(Expectation::of).collect();
    let library = prepared.chooser.release();
    Ok(Expectations { rows, library, notes: prepared.chooser.notes })
}
