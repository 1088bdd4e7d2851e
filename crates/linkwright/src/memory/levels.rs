//! One level of caches as the model times it: lines, registers of misses, and who waits.

use super::cache::{Lines, Mshrs};
use super::protocol::Protocol;
use super::requests::Fifo;
use super::statistics::CacheCounts;

/// Equal caches of one level.
#[derive(Debug)]
pub struct Caches<P: Protocol> {
    /// What they hold.
    pub lines: Lines<P::Line>,
    /// What the protocol keeps for each.
    pub states: Vec<P::Cache>,
    /// What is under way to each.
    pub mshrs: Mshrs,
    /// What waits for a register of each.
    pub waiting: Vec<Fifo>,
    /// What each has answered.
    pub counts: Vec<CacheCounts>,
    /// Picoseconds to look a line up.
    pub directory: u64,
    /// Picoseconds to read or write one.
    pub bank: u64,
}

/// What became of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// It is dealt with.
    Settled,
    /// A register is missing.
    Stalled,
}

/// How large caches are, and how fast.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Bytes of each.
    pub size: u64,
    /// Lines that a set holds.
    pub ways: u32,
    /// Lines that may be under way.
    pub mshrs: u32,
    /// Picoseconds to look a line up.
    pub directory: u64,
    /// Picoseconds to read or write one.
    pub bank: u64,
}

impl<P: Protocol> Caches<P> {
    /// So many empty caches.
    #[must_use]
    pub fn new(caches: u32, shape: Shape, with_data: bool) -> Self {
        let Shape { size, ways, mshrs, directory, bank } = shape;
        Self {
            lines: Lines::new(caches, size, ways, with_data),
            states: vec![P::Cache::default(); caches as usize],
            mshrs: Mshrs::new(caches, mshrs),
            waiting: vec![Fifo::default(); caches as usize],
            counts: vec![CacheCounts::default(); caches as usize],
            directory,
            bank,
        }
    }

    /// Notes an answer to what came at `since`.
    #[inline]
    pub fn answered(&mut self, cache: u32, since: u64, now: u64) {
        let counts = &mut self.counts[cache as usize];
        counts.answered += 1;
        counts.time += now - since;
    }
}
