//! Counts the bytes of channels over time.
//!
//! Divides time into [`SPANS`] equal spans, which become twice as long whenever a run outlasts
//! them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::channel_shares::InnerCounts;
use crate::system::fabric::ChannelId;
use crate::units::Picoseconds;

/// Time is told in as many spans at most.
pub const SPANS: usize = 48;

/// The shortest span is a microsecond.
const SHORTEST: u64 = 1_000_000;

/// Holds the bytes of channels while a run goes on.
#[derive(Debug, Clone)]
pub struct LoadHistory {
    /// How long a span is, in picoseconds.
    span: u64,
    rows: BTreeMap<ChannelId, Box<[f64; SPANS]>>,
}

/// Holds the bytes of each channel that carried something.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkLoads {
    /// How long each span of time is.
    pub span: Picoseconds,
    /// It says how much is counted of the links between the fabric's switches.
    pub inner: InnerCounts,
    /// Lists channels by their numbers in the system. Each has its bytes in every span from time zero on, up to its last.
    pub channels: Vec<(ChannelId, Vec<u64>)>,
}

impl Default for LoadHistory {
    fn default() -> Self {
        Self { span: SHORTEST, rows: BTreeMap::new() }
    }
}

impl LoadHistory {
    /// How long a span is at present.
    #[must_use]
    pub const fn span(&self) -> Picoseconds {
        Picoseconds(self.span)
    }

    /// Lets a channel carry some bytes, evenly from a time to another.
    pub fn add(&mut self, channel: ChannelId, (from, to): (Picoseconds, Picoseconds), bytes: f64) {
        while to.0 > self.span.saturating_mul(SPANS as u64) {
            self.double();
        }
        let row = self.rows.entry(channel).or_insert_with(|| Box::new([0.0; SPANS]));
        let place = |time: u64| ((time / self.span) as usize).min(SPANS - 1);
        let first = place(from.0);
        if to <= from {
            row[first] += bytes;
            return;
        }
        let rate = bytes / (to.0 - from.0) as f64;
        for at in first..=place(to.0 - 1) {
            let begin = from.0.max(at as u64 * self.span);
            let end = if at == SPANS - 1 { to.0 } else { to.0.min((at as u64 + 1) * self.span) };
            row[at] += rate * (end - begin) as f64;
        }
    }

    fn double(&mut self) {
        self.span = self.span.saturating_mul(2);
        for row in self.rows.values_mut() {
            for at in 0..SPANS {
                let both = 2 * at;
                row[at] = if both < SPANS { row[both] + row[both + 1] } else { 0.0 };
            }
        }
    }

    /// The same in whole bytes: the sum of a channel's is rounded, and so is that up to any span.
    #[must_use]
    pub fn finished(self, inner: InnerCounts) -> LinkLoads {
        let rounded = |(channel, row): (ChannelId, Box<[f64; SPANS]>)| {
            let (mut sum, mut told) = (0.0, 0_u64);
            let mut bytes: Vec<u64> = row
                .iter()
                .map(|part| {
                    sum += part;
                    let until = f64::round(sum) as u64;
                    let more = until.saturating_sub(told);
                    told = until;
                    more
                })
                .collect();
            bytes.truncate(bytes.iter().rposition(|part| *part > 0).map_or(0, |last| last + 1));
            (channel, bytes)
        };
        let channels = self.rows.into_iter().map(rounded).filter(|(_, bytes)| !bytes.is_empty());
        LinkLoads { span: Picoseconds(self.span), inner, channels: channels.collect() }
    }
}

impl LinkLoads {
    /// Gives the bytes of a channel in all.
    #[must_use]
    pub fn of(&self, channel: ChannelId) -> u64 {
        let found = self.channels.binary_search_by_key(&channel, |(of, _)| *of);
        found.map_or(0, |at| self.channels[at].1.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However long it takes, nothing is lost, and nothing is where nobody carried.
        #[test]
        fn all_that_is_added_is_kept(
            parts in prop::collection::vec((0_u64..1 << 44, 0_u64..1 << 42, 0_u64..1 << 40), 1..20),
        ) {
            let mut history = LoadHistory::default();
            for (from, span, bytes) in &parts {
                let times = (Picoseconds(*from), Picoseconds(from + span));
                history.add(7, times, *bytes as f64);
            }
            let loads = history.finished(InnerCounts::All);
            let all: u64 = parts.iter().map(|(_, _, bytes)| bytes).sum();
            prop_assert!(loads.of(7).abs_diff(all) <= 1, "{} of {all}", loads.of(7));
            prop_assert_eq!(loads.of(8), 0);
            let first = parts.iter().map(|(from, ..)| *from).min().unwrap();
            if let Some((_, bytes)) = loads.channels.first() {
                let empty = (first / loads.span.0) as usize;
                prop_assert!(bytes[..empty.min(bytes.len())].iter().all(|part| *part == 0));
            }
        }
    }
}
