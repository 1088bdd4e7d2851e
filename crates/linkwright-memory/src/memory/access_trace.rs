//! Loads and stores line by line, as first-level caches answer them, as far as a limit allows.

use super::protocol::Access;
use super::requests::{Kind, Request, ServedBy};
use crate::units::Picoseconds;

/// Says which accesses are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessesAsked {
    /// How many are kept at most.
    pub most: usize,
    /// Says from when on they come to their caches.
    pub from: Picoseconds,
    /// Says until when they come.
    pub until: Picoseconds,
}

/// Records the access of a wavefront to one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRecord {
    /// Says when it came to its first-level cache.
    pub time: Picoseconds,
    /// Tells how long the cache took to answer.
    pub latency: Picoseconds,
    /// Numbers its GPU.
    pub gpu: u32,
    /// Tells whether its cache is one of scalars, not of vectors.
    pub is_scalar: bool,
    /// Numbers its cache over all GPUs.
    pub cache: u32,
    /// Says why it comes.
    pub access: Access,
    /// Counts the bytes of the line it touches.
    pub size: u32,
    /// Gives the line's address.
    pub line: u64,
    /// Names the farthest place that it went to for its answer.
    pub served: ServedBy,
    /// Counts the links between GPUs, or to shared memory, that its answer crossed.
    pub hops: u8,
}

/// Keeps the first accesses that are asked for, in the order of their answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessTrace {
    asked: AccessesAsked,
    /// Those that are kept.
    pub records: Vec<AccessRecord>,
    /// How many there were.
    pub count: u64,
}

impl AccessTrace {
    pub(super) const fn new(asked: AccessesAsked) -> Self {
        Self { asked, records: Vec::new(), count: 0 }
    }

    /// Takes an access in, which is answered at a time.
    #[cold]
    pub(super) fn note<S>(&mut self, request: &Request<S>, at: u64) {
        let time = Picoseconds(request.since);
        if time < self.asked.from || time > self.asked.until {
            return;
        }
        self.count += 1;
        if self.records.len() < self.asked.most {
            self.records.push(AccessRecord {
                time,
                latency: Picoseconds(at - request.since),
                gpu: request.gpu.into(),
                is_scalar: request.first.kind == Kind::Scalar,
                cache: request.first.cache,
                access: request.access,
                size: request.mask.count_ones(),
                line: request.line,
                served: request.served,
                hops: request.crossed,
            });
        }
    }
}
