//! Into how many pieces a plan is best cut, and what that form of it reaches.

use super::{MscclppOptions, to_mscclpp_json};
use crate::collectives::export::{Export, ExportError, in_pieces, normalise};
use crate::collectives::schedule::Schedule;
use crate::collectives::time::{TimeError, Timing, choose_chunk, protocol_of, time};
use crate::system::System;
use crate::units::Bytes;

/// The most pieces that are tried.
const MOST_PIECES: u32 = 64;

/// A number of pieces and the time of the plan that is cut so.
#[derive(Debug, Clone, PartialEq)]
pub struct BestPieces {
    /// How many.
    pub pieces: u32,
    /// What the exported form takes, which the executor runs once over the whole message.
    pub timing: Timing,
}

/// The number of pieces, by doubling, with which a plan that fits the options is the fastest.
///
/// # Errors
/// As [`to_mscclpp_json`] where not even the uncut plan fits; what the timing refuses comes
/// inside of the result.
pub fn best_pieces(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    options: &MscclppOptions,
) -> Result<Result<BestPieces, TimeError>, ExportError> {
    let normal = normalise(schedule)?;
    let costs = match protocol_of(schedule, system) {
        Ok(costs) => costs,
        Err(refused) => return Ok(Err(refused)),
    };
    to_mscclpp_json(schedule, &MscclppOptions { pieces: 1, ..*options })?;
    let mut best = match time(&normal, system, size, size, &costs) {
        Ok(timing) => BestPieces { pieces: 1, timing },
        Err(refused) => return Ok(Err(refused)),
    };
    let mut pieces = 2;
    while pieces <= MOST_PIECES {
        let cut = in_pieces(&normal, pieces);
        let fits = || to_mscclpp_json(schedule, &MscclppOptions { pieces, ..*options }).is_ok();
        let timed = cut.filter(|_| fits()).map(|cut| time(&cut, system, size, size, &costs));
        match timed {
            Some(Ok(timing)) if timing.time < best.timing.time => {
                best = BestPieces { pieces, timing };
            }
            _ => break,
        }
        pieces *= 2;
    }
    Ok(Ok(best))
}

/// Writes a schedule in as many pieces as make it the fastest at a size, with a note on what that
/// form reaches by the time model, beside what the schedule itself does.
///
/// # Errors
/// As [`to_mscclpp_json`].
pub fn to_fastest_mscclpp_json(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    options: &MscclppOptions,
) -> Result<Export, ExportError> {
    let found = best_pieces(schedule, system, size, options)?;
    let Ok(BestPieces { pieces, timing }) = found else {
        return to_mscclpp_json(schedule, options);
    };
    let mut export = to_mscclpp_json(schedule, &MscclppOptions { pieces, ..*options })?;
    let whole = protocol_of(schedule, system)
        .and_then(|costs| choose_chunk(schedule, system, size, &costs));
    if let Ok((whole, _)) = whole {
        let cut = if pieces == 1 { "one piece".to_owned() } else { format!("{pieces} pieces") };
        export.notes.push(format!(
            "By the time model the plan in {cut} reaches {:.2} GB/s at {size}, and the schedule \
             with chunks of any size {:.2} GB/s.",
            timing.algorithm_bandwidth, whole.algorithm_bandwidth
        ));
    }
    Ok(export)
}
