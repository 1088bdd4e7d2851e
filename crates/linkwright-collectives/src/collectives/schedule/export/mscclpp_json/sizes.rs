//! At which messages the executor takes a plan, and shares rounded so that it takes one.
//!
//! Its rules are those of microsoft/mscclpp v0.9.0. A buffer must be a multiple of the alignment
//! times its chunks. The message is no smaller and no larger than the plan says
//! (`src/core/executor/execution_plan.cc`, `checkMessageSize`). A plan's smallest message is read
//! as an `int`. Offsets within buffers have 32 bits (`src/core/include/execution_common.hpp`,
//! `Operation`).

use super::super::rounded::{Rounded, in_parts};
use super::{ALIGNMENT, ExportError, MscclppOptions};
use crate::collectives::schedule::Schedule;
use crate::units::Bytes;

/// Is one more than the largest offset within a buffer.
const OFFSETS: u64 = 1 << 32;
/// Is the largest `min_message_size`.
const MOST_LEAST: u64 = i32::MAX as u64;
/// Into how many parts a shard is cut where its own chunks are not taken: the fewest that cost little.
const PARTS: [u32; 4] = [16, 64, 256, 1024];
/// Limits a small cost: the run that grows most is longer by at most this share.
const LITTLE: f64 = 0.01;

/// The messages at which an executor takes a plan. The message is the longest buffer of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TakenSizes {
    /// The message is a multiple of this.
    pub unit: Bytes,
    /// Must be at least this.
    pub least: Bytes,
    /// Must be at most this.
    pub most: Bytes,
}

impl TakenSizes {
    /// Gives the sizes of a plan by the number of chunks in the longest buffer and in the longest
    /// scratch buffer.
    pub(in crate::collectives::schedule::export) fn of(
        longest: u64,
        scratch: u64,
        alignment: u64,
    ) -> Self {
        let longest = longest.max(1);
        let unit = alignment.saturating_mul(longest);
        let furthest = alignment.saturating_mul(longest.max(scratch));
        let times = (OFFSETS - 1) / furthest;
        Self { unit: Bytes(unit), least: Bytes(0), most: Bytes(unit.saturating_mul(times)) }
    }

    /// Whether it is taken at a message.
    #[must_use]
    pub const fn take(&self, message: Bytes) -> bool {
        message.0.is_multiple_of(self.unit.0)
            && message.0 >= self.least.0
            && message.0 <= self.most.0
    }

    /// The bounds that the plan says, within those that the options ask for.
    pub(super) fn within(
        &self,
        least: Bytes,
        most: Option<Bytes>,
    ) -> Result<(Bytes, Bytes), ExportError> {
        let bound = self.most.0.min(MOST_LEAST);
        if least.0 > bound {
            return Err(ExportError::BadOption {
                option: "min_bytes",
                value: least.0,
                remedy: "choose less than 2 GiB, and no more than the plan's offsets of 32 bits reach",
            });
        }
        Ok((least, Bytes(most.map_or(self.most.0, |most| most.0.min(self.most.0)))))
    }

    /// Says at which messages the executor takes a plan, and whether at the one that was asked for.
    pub(super) fn notes(&self, options: &MscclppOptions) -> Vec<String> {
        let most = options.max_bytes.map_or(self.most.0, |most| most.0.min(self.most.0));
        let mut notes = vec![format!(
            "The executor takes messages of a multiple of {} bytes only, up to {most}: its offsets \
             have 32 bits.",
            self.unit.0
        )];
        let refused = options.taken_at.filter(|size| !self.take(*size) || size.0 > most);
        if let Some(size) = refused {
            let most = size.0.min(most);
            let below = most - most % self.unit.0;
            let near = if below > 0 { below } else { self.unit.0 };
            notes.push(format!(
                "It refuses {} bytes, for which this was planned; {near} bytes are near and taken.",
                size.0
            ));
        }
        notes
    }
}

/// How shares were rounded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rounding {
    /// Chunks of a shard before.
    chunks: u32,
    /// Is the number now.
    parts: u32,
    growth: f64,
}

impl Rounding {
    /// Says what it is and what it costs, as a sentence.
    pub(super) fn note(&self) -> String {
        format!(
            "Shares are rounded to 1/{} of a shard, since the executor takes no {} chunks of such a \
             message. The run that grew most is {:.1} % longer, and no rate falls by more.",
            self.parts,
            self.chunks,
            self.growth * 100.0
        )
    }
}

/// Units of the alignment in a shard of the message; of one that does not divide among the shards, of
/// the power of two below.
fn units(schedule: &Schedule, message: Bytes) -> u64 {
    let shards = (schedule.longest_buffer() as u64 / u64::from(schedule.chunks)).max(1);
    let whole = message.0 / (shards * ALIGNMENT);
    if message.0.is_multiple_of(shards * ALIGNMENT) || whole == 0 {
        return whole;
    }
    1 << whole.ilog2()
}

/// The schedule with its shares rounded, if the options name a message that does not divide into its
/// chunks and rounding makes it divide.
pub(super) fn rounded(
    schedule: Schedule,
    options: &MscclppOptions,
) -> (Schedule, Option<Rounding>) {
    let Some(message) = options.taken_at else { return (schedule, None) };
    let units = units(&schedule, message);
    let divides = |chunks: u32| {
        let chunks = u64::from(chunks) * u64::from(options.pieces);
        units > 0 && chunks > 0 && units.is_multiple_of(chunks)
    };
    if divides(schedule.chunks) {
        return (schedule, None);
    }
    let mut best: Option<(u32, Rounded)> = None;
    for parts in PARTS.into_iter().filter(|parts| divides(*parts)) {
        let Some(found) = in_parts(&schedule, parts) else { continue };
        if best.as_ref().is_none_or(|(_, best)| found.growth < best.growth) {
            best = Some((parts, found));
        }
        if best.as_ref().is_some_and(|(_, best)| best.growth <= LITTLE) {
            break;
        }
    }
    let chunks = schedule.chunks;
    match best {
        None => (schedule, None),
        Some((parts, Rounded { schedule, growth })) => {
            (schedule, Some(Rounding { chunks, parts, growth }))
        }
    }
}
