//! Finds into how many pieces a plan is best cut. It says what that form of it reaches.

use super::{Form, MscclppOptions, form, to_mscclpp_json};
use crate::collectives::schedule::export::written::{as_executed, note, time_of};
use crate::collectives::schedule::export::{Export, ExportError};
use crate::collectives::schedule::time::{TimeError, Timing, protocol_of, time};
use crate::collectives::schedule::{Protocol, Schedule};
use crate::system::System;
use crate::units::Bytes;

/// Limits the number of pieces that the search tries.
const MOST_PIECES: u32 = 64;

/// A number of pieces and the time of the plan that is cut so.
#[derive(Debug, Clone, PartialEq)]
pub struct BestPieces {
    /// Counts the pieces.
    pub pieces: u32,
    /// Holds the time of the exported form, which the executor runs once over the whole message.
    pub timing: Timing,
}

/// The number of pieces, by doubling, with which a plan that fits the options is the fastest.
///
/// # Errors
/// Fails as [`to_mscclpp_json`] does where not even the uncut plan fits. An error of the timing
/// comes inside of the result.
pub fn best_pieces(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    options: &MscclppOptions,
) -> Result<Result<BestPieces, TimeError>, ExportError> {
    let options = MscclppOptions { taken_at: Some(size), ..*options };
    let whole = form(schedule, &MscclppOptions { pieces: 1, ..options })?;
    if schedule.first_in_switch().is_some() {
        // The kernel moves it through the switches without a stop.
        let timing = time_of(&as_executed(whole.schedule), system, size);
        return Ok(timing.map(|timing| BestPieces { pieces: 1, timing }));
    }
    let is_taken = whole.sizes().take(size);
    let timed = |form: Form| -> Result<Timing, TimeError> {
        let written = as_executed(Schedule { protocol: Protocol::Simple, ..form.schedule });
        time(&written, system, size, size, &protocol_of(&written, system)?)
    };
    let mut best = match timed(whole) {
        Ok(timing) => BestPieces { pieces: 1, timing },
        Err(refused) => return Ok(Err(refused)),
    };
    let mut pieces = 2;
    while pieces <= MOST_PIECES {
        // Options that an uncut plan fits may be too narrow for more pieces, and so may a message.
        let Ok(form) = form(schedule, &MscclppOptions { pieces, ..options }) else { break };
        if is_taken && !form.sizes().take(size) {
            break;
        }
        match timed(form) {
            Ok(timing) if timing.time < best.timing.time => {
                best = BestPieces { pieces, timing };
            }
            _ => break,
        }
        pieces *= 2;
    }
    Ok(Ok(best))
}

/// Writes a schedule in as many pieces as make it the fastest at a size. A note tells the bandwidth
/// that this form reaches by the time model, beside the schedule's own.
///
/// # Errors
/// Fails as [`to_mscclpp_json`] does.
pub fn to_fastest_mscclpp_json(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    options: &MscclppOptions,
) -> Result<Export, ExportError> {
    let options = &MscclppOptions { taken_at: Some(size), ..*options };
    let found = best_pieces(schedule, system, size, options)?;
    let Ok(BestPieces { pieces, timing }) = found else {
        return to_mscclpp_json(schedule, options);
    };
    let options = MscclppOptions { pieces, ..*options };
    let mut export = to_mscclpp_json(schedule, &options)?;
    export.notes.extend(cost_of_rounding(schedule, system, size, &options, &timing));
    if let Ok(planned) = time_of(schedule, system, size) {
        let cut = if pieces == 1 { "one piece".to_owned() } else { format!("{pieces} pieces") };
        export.notes.push(note(&format!("the plan in {cut}"), &timing, &planned));
    }
    Ok(export)
}

/// Returns the cost of rounded shares at a size, as a sentence; None where none were rounded.
fn cost_of_rounding(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    options: &MscclppOptions,
    timing: &Timing,
) -> Option<String> {
    form(schedule, options).ok()?.rounding?;
    let exact = form(schedule, &MscclppOptions { taken_at: None, ..*options }).ok()?;
    let exact = as_executed(Schedule { protocol: Protocol::Simple, ..exact.schedule });
    let exact = if schedule.first_in_switch().is_some() {
        time_of(&exact, system, size).ok()?
    } else {
        time(&exact, system, size, size, &protocol_of(&exact, system).ok()?).ok()?
    };
    let lost = 1.0 - exact.time.as_seconds() / timing.time.as_seconds();
    Some(format!(
        "By the time model the rounding costs {:.1} % of the rate.",
        lost.max(0.0) * 100.0
    ))
}
