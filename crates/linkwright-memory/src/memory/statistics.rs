//! Holds the counts that are taken while a kernel runs.

/// Counts the answers of a cache, by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// Accesses that a copy here served.
    pub hits: u64,
    /// Accesses that went below.
    pub misses: u64,
    /// Accesses that waited for a line that was under way.
    pub merged: u64,
    /// Lines that gave their place to others.
    pub evictions: u64,
    /// Lines of them that were written back.
    pub write_backs: u64,
    /// Accesses that were answered, and how long that took all together, in picoseconds.
    pub answered: u64,
    /// Sums their times.
    pub time: u64,
}

/// Counts the accesses that a channel of memory has served, by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounts {
    /// Lines read for caches.
    pub reads: u64,
    /// Lines written by caches.
    pub writes: u64,
    /// Lines read for copies to the host.
    pub copied_out: u64,
    /// Lines written by copies from the host.
    pub copied_in: u64,
    /// Counts timestamps that its storage unit forgot for lack of room.
    pub timestamp_evictions: u64,
}

/// Counts the operations of wavefronts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstructionCounts {
    /// Counts the instructions of wavefronts.
    pub instructions: u64,
    /// Accesses to lines of other GPUs' memory.
    pub remote: u64,
}
