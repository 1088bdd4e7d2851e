//! Holds memory behind the second level, by channels.
//!
//! It represents channels that take requests as they come. An ideal one takes a request each cycle,
//! and answers each after the same latency. A banked one is as [`banked`] says.

pub(super) mod banked;

use banked::Banked;

use super::statistics::MemoryCounts;
use crate::diagnostic::Named;
use crate::system::gpus::Hierarchy;

/// How memory is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DramTiming {
    /// Takes the same latency for every access, one access a cycle.
    #[default]
    Ideal,
    /// Has banks, rows, a bus and refresh.
    Hbm2,
}

impl Named for DramTiming {
    const WHAT: &'static str = "timing of memory";
    const NAMED: &'static [(&'static str, Self)] = &[("ideal", Self::Ideal), ("hbm2", Self::Hbm2)];
}

/// Holds the channels of all memories.
#[derive(Debug)]
pub struct Channels {
    free: Vec<u64>,
    /// Picoseconds for which a request keeps an ideal channel.
    each: u64,
    latency: u64,
    banked: Option<Banked>,
    /// Channels of DRAM that each of these is made of.
    parts: u32,
    /// Counts the requests that each has served.
    counts: Vec<MemoryCounts>,
}

impl Channels {
    /// Makes `channels` channels, each made of `parts` channels of DRAM, which take a request each
    /// in a cycle.
    #[must_use]
    pub fn new(hierarchy: &Hierarchy, timing: DramTiming, channels: u32, parts: u32) -> Self {
        let cycle = hierarchy.cycle.0;
        let latency = u64::from(hierarchy.memory.latency) * cycle;
        Self {
            free: vec![0; channels as usize],
            each: (cycle / u64::from(parts)).max(1),
            latency,
            banked: (timing == DramTiming::Hbm2)
                .then(|| Banked::new(&hierarchy.banks, latency, cycle, channels * parts)),
            parts,
            counts: vec![MemoryCounts::default(); channels as usize],
        }
    }

    /// Gives what a channel has served, to count more.
    #[inline]
    pub fn count(&mut self, channel: u32) -> &mut MemoryCounts {
        &mut self.counts[channel as usize]
    }

    /// Gives what each channel has served.
    #[must_use]
    pub fn counts(&self) -> &[MemoryCounts] {
        &self.counts
    }

    /// When a request that comes now to a line, numbered within its channel, is served.
    #[inline]
    pub fn serve(&mut self, now: u64, channel: u32, line: u64, is_write: bool) -> u64 {
        if let Some(banked) = &mut self.banked {
            let parts = u64::from(self.parts);
            let part = (line % parts) as u32;
            return banked.serve(now, channel * self.parts + part, line / parts, is_write);
        }
        let free = &mut self.free[channel as usize];
        let start = now.max(*free);
        *free = start + self.each;
        start + self.latency
    }
}
