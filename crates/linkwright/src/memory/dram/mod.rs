//! Memory behind the second level, by channels.
//!
//! What it represents: an ideal channel takes a request each cycle, and answers each after the same
//! latency. What it leaves out: banks, rows, refresh.

use super::statistics::MemoryCounts;
use crate::system::gpus::Hierarchy;

/// The channels of all memories, ideal ones.
#[derive(Debug)]
pub struct Channels {
    free: Vec<u64>,
    /// Picoseconds for which a request keeps a channel.
    each: u64,
    latency: u64,
    /// What each has served.
    pub counts: Vec<MemoryCounts>,
}

impl Channels {
    /// So many channels, each of which takes `at_once` requests in a cycle.
    #[must_use]
    pub fn new(hierarchy: &Hierarchy, channels: u32, at_once: u32) -> Self {
        let cycle = hierarchy.cycle.0;
        Self {
            free: vec![0; channels as usize],
            each: (cycle / u64::from(at_once)).max(1),
            latency: u64::from(hierarchy.memory.latency) * cycle,
            counts: vec![MemoryCounts::default(); channels as usize],
        }
    }

    /// When a request that comes now is served.
    #[inline]
    pub fn serve(&mut self, now: u64, channel: u32) -> u64 {
        let free = &mut self.free[channel as usize];
        let start = now.max(*free);
        *free = start + self.each;
        start + self.latency
    }
}
