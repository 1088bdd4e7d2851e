//! The chunk size, found as Blink finds it: multiplicative increase, additive decrease.
//!
//! Small chunks leave links idle between steps, large ones fill a pipeline late. Blink's code
//! generator starts small and doubles the chunk while the time falls. Then it takes equal steps
//! back while that helps (Blink, "Auto chunk size selection with MIAD").
//!
//! Many small pieces take long to play, and are seldom the best. The search therefore starts with at most
//! [`MOST_AT_FIRST`], doubles the chunk while the time falls, and halves it where doubling does not help. Where times
//! fall and then rise, Blink's generator stops at the same chunk.

use crate::program::kernel::NcclProtocol;
use crate::system::{System, Wiring};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

use super::error::TimeError;
use super::known::{Found, KnownTimes};
use super::paths::resources;
use super::play::{Player, Timing, wiring_of};
use crate::collectives::schedule::{Pacing, Schedule};

/// The least chunk to be tried, but for steps back.
const FIRST: u64 = 64 << 10;

/// The first chunk to be tried is the least of those that double from [`FIRST`] which cuts data into no more pieces.
const MOST_AT_FIRST: u128 = 64;

/// Halving ends at the second chunk in a row that is slower. Pieces seldom fill the last round, so that times do not
/// fall evenly.
const MISSES: u32 = 2;

/// Steps back after the last doubling: quarters of what it added.
const STEPS_BACK: u64 = 4;

/// One chunk size that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChunkTrial {
    /// Gives the chunk.
    pub chunk: Bytes,
    /// Divides size by time, GB/s.
    pub algorithm_bandwidth: f64,
}

/// Returns the best timing over chunk sizes, and the trials on the way, in order. The chunks that
/// the schedule names are used, where it does.
///
/// # Errors
/// Fails as [`time`](fn@super::time) does.
pub fn choose_chunk(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    protocol: &NcclProtocol,
) -> Result<(Timing, Vec<ChunkTrial>), TimeError> {
    choose_chunk_on(schedule, &wiring_of(schedule, system)?, size, protocol)
}

/// Works as [`choose_chunk`], on the servers of the schedule's GPUs.
pub(in crate::collectives) fn choose_chunk_on(
    schedule: &Schedule,
    wiring: &Wiring,
    size: Bytes,
    protocol: &NcclProtocol,
) -> Result<(Timing, Vec<ChunkTrial>), TimeError> {
    let routes = resources(wiring);
    choose_chunk_by(&Player::on(schedule, &routes, protocol)?, size)
}

/// Finds the best timing over chunk sizes of a schedule that is ready to be played. One that takes as long as another
/// that was played before is not.
pub(in crate::collectives) fn fastest_by(
    player: &Player<'_>,
    size: Bytes,
    known: &mut KnownTimes,
) -> Result<Timing, TimeError> {
    let key = player.key(size);
    if let Some(found) = known.find(key) {
        return Ok(player.timing_of(size, found));
    }
    let timing = choose_chunk_by(player, size)?.0;
    known.keep(key, Found { pieces: timing.pieces, time: timing.time });
    Ok(timing)
}

/// As [`choose_chunk`], of a schedule that is ready to be played.
fn choose_chunk_by(
    player: &Player<'_>,
    size: Bytes,
) -> Result<(Timing, Vec<ChunkTrial>), TimeError> {
    let mut trials = Vec::new();
    if let Pacing::SideBySide { chunk, .. } = player.pacing() {
        return Ok((attempt(player, size, chunk.0, &mut trials)?, trials));
    }
    // Pipelines of many hundred pieces take long to play and gain nothing from more.
    let least = size.0 >> 11;
    let first = FIRST.max(least).min(size.0.max(1));
    let mut middle = first;
    while player.pieces(size, Bytes(middle)) > MOST_AT_FIRST {
        middle *= 2;
    }
    let mut chunk = middle;
    let mut best = attempt(player, size, chunk, &mut trials)?;
    while best.pieces > 1 {
        let next = attempt(player, size, chunk * 2, &mut trials)?;
        if next.time >= best.time {
            break;
        }
        (best, chunk) = (next, chunk * 2);
    }
    let (mut smaller, mut misses) = (chunk, 0);
    while chunk <= middle && smaller > first && misses < MISSES {
        smaller /= 2;
        let next = attempt(player, size, smaller, &mut trials)?;
        if next.time <= best.time {
            (best, chunk, misses) = (next, smaller, 0);
        } else {
            misses += 1;
        }
    }
    // Chunks before the last doubling have been seen to be slower.
    let bound = if chunk > first { chunk / 2 } else { least };
    let (step, mut back) = ((chunk / 2 / STEPS_BACK).max(1), chunk);
    while back > bound + step {
        back -= step;
        let next = attempt(player, size, back, &mut trials)?;
        if next.time >= best.time {
            break;
        }
        best = next;
    }
    Ok((best, trials))
}

fn attempt(
    player: &Player<'_>,
    size: Bytes,
    chunk: u64,
    trials: &mut Vec<ChunkTrial>,
) -> Result<Timing, TimeError> {
    let timing = player.time(size, Bytes(chunk))?;
    let algorithm_bandwidth = timing.algorithm_bandwidth;
    trials.push(ChunkTrial { chunk: Bytes(chunk), algorithm_bandwidth });
    Ok(timing)
}
