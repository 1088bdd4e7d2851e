//! Holds the requests that are under way between caches and memory, in one slab.

use super::cache::{NONE, copy_masked};
use super::kernel::AtomicOperation;
use super::protocol::{Access, Ask, Flat, Probe};

/// Names a kind of first-level cache, by its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Stands for the cache of a compute unit, by its number over all GPUs.
    #[default]
    Vector,
    /// Stands for one that neighbouring compute units share, for scalars.
    Scalar,
    /// Stands for one that neighbouring compute units share, for code.
    Instruction,
}

/// Names the first-level cache that a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct First {
    /// Names its kind.
    pub kind: Kind,
    /// Gives its number among those of all GPUs.
    pub cache: u32,
}

/// Names the farthest place that an access has to go to for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServedBy {
    /// It goes no farther than its first-level cache.
    First,
    /// The second level of its GPU does.
    Second,
    /// Memory does: its GPU's own, or that which all GPUs share.
    Memory,
    /// Another GPU's second level or memory does, or the host's memory.
    Remote,
}

impl ServedBy {
    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "L1",
            Self::Second => "L2",
            Self::Memory => "memory",
            Self::Remote => "remote",
        }
    }
}

/// Where a request goes when it has crossed the links before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Goes to the bank of the second level.
    Second,
    /// Goes to the home of its line.
    Home,
    /// To a cache that a home asks.
    Probe(Probe),
    /// Goes back from there to the home.
    Probed,
    /// Goes to the channel of memory, from a second level beside it.
    Memory,
    /// Goes back to the bank of the second level.
    BackAtSecond,
    /// It tells the bank of the second level that memory has what it evicted.
    Evicted,
    /// Goes back to the first level.
    BackAtFirst,
    /// Goes to the GPU that touched its page.
    Page,
    /// Goes to the end of a copy between host and memory.
    Copied,
}

/// One access to a line, from where it started to where it is.
#[derive(Debug, Clone, Copy)]
pub struct Request<S> {
    /// Names the line, in the address space.
    pub line: u64,
    /// Names the line, in memory.
    pub physical: u64,
    /// The bytes that it reads or changes.
    pub mask: u64,
    /// Gives the time when it came to the first level, in picoseconds.
    pub since: u64,
    /// Gives the time when it came to the second, in picoseconds.
    pub since_second: u64,
    /// Holds the protocol's stamp.
    pub stamp: S,
    /// Names the load or store that it is a part of, or [`NONE`] for a line that is written back.
    /// For a probe it names the request that waits for it.
    pub load: u32,
    /// The request that waits behind it.
    pub next: u32,
    /// Names the miss that waits for this write-back, or [`NONE`].
    pub waiter: u32,
    /// Whether its bank keeps a place for its line.
    pub has_place: bool,
    /// Whether, at a controller, reads have passed this write, or the access before serves this read.
    pub is_passed: bool,
    /// The bank of the second level that it passes, over all GPUs.
    pub bank: u32,
    /// Names the cache that it came from.
    pub first: First,
    /// Names its GPU.
    pub gpu: u16,
    /// Names the farthest place that it has gone to.
    pub served: ServedBy,
    /// Says why it wants the line.
    pub access: Access,
    /// Names its request to the level that it goes to.
    pub ask: Ask,
    /// Names the request of the first level.
    pub first_ask: Ask,
    /// Whether it is at memory for a home that lacks the line.
    pub is_fetch: bool,
    /// Whether the home's answer has the line's data.
    pub has_data: bool,
    /// Counts the probes that its home waits for.
    pub probes: u8,
    /// How often its first-level cache had been emptied when it asked below.
    pub epoch: u32,
    /// Names the operation of an atomic.
    pub operation: AtomicOperation,
    /// Where it goes on the links that it crosses.
    pub stage: Stage,
    /// The links left to cross: a path, and how many of its channels are behind.
    pub path: u32,
    /// Channels of the path that are crossed.
    pub crossed: u8,
    /// Counts the bytes that cross them.
    pub bytes: u32,
}

impl<S> Request<S> {
    /// It goes to a place for its answer.
    #[inline]
    pub fn goes_to(&mut self, place: ServedBy) {
        self.served = self.served.max(place);
    }
}

impl<S: Flat> Request<S> {
    /// A read of a whole line that starts at a time on a GPU, and that nobody waits for.
    #[must_use]
    pub fn new(line: u64, physical: u64, at: u64, gpu: u32) -> Self {
        Self {
            line,
            physical,
            mask: u64::MAX,
            since: at,
            since_second: at,
            stamp: S::default(),
            load: NONE,
            next: NONE,
            waiter: NONE,
            has_place: false,
            is_passed: false,
            bank: 0,
            first: First::default(),
            gpu: gpu as u16,
            served: ServedBy::First,
            access: Access::Read,
            ask: Ask::Read,
            first_ask: Ask::Read,
            is_fetch: false,
            has_data: true,
            probes: 0,
            epoch: 0,
            operation: AtomicOperation::Add,
            stage: Stage::Second,
            path: 0,
            crossed: 0,
            bytes: 0,
        }
    }
}

/// Holds the bytes that go with a request.
#[derive(Debug, Clone, Copy)]
pub struct Payload {
    /// Holds the bytes that it writes, or an atomic's operands.
    pub write: [u8; 64],
    /// Holds the answer of the level below.
    pub answer: [u8; 64],
}

/// All that is under way; numbers are given again once they are free.
#[derive(Debug)]
pub struct Requests<S> {
    slab: Vec<Request<S>>,
    free: Vec<u32>,
    payloads: Option<Vec<Payload>>,
}

impl<S: Flat> Requests<S> {
    /// Nothing under way; with bytes where the run has data.
    #[must_use]
    pub fn new(with_data: bool) -> Self {
        Self { slab: Vec::new(), free: Vec::new(), payloads: with_data.then(Vec::new) }
    }

    /// Takes a request in.
    #[inline]
    pub fn add(&mut self, request: Request<S>) -> u32 {
        if let Some(index) = self.free.pop() {
            self.slab[index as usize] = request;
            return index;
        }
        self.slab.push(request);
        if let Some(payloads) = &mut self.payloads {
            payloads.push(Payload { write: [0; 64], answer: [0; 64] });
        }
        (self.slab.len() - 1) as u32
    }

    /// Forgets a request that is done.
    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Returns a request.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> &Request<S> {
        &self.slab[index as usize]
    }

    /// A request, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut Request<S> {
        &mut self.slab[index as usize]
    }

    /// The bytes that go with a request, where the run has data.
    #[inline]
    #[must_use]
    pub fn payload(&self, index: u32) -> Option<&Payload> {
        self.payloads.as_ref().map(|payloads| &payloads[index as usize])
    }

    /// The same, to be changed.
    #[inline]
    pub fn payload_mut(&mut self, index: u32) -> Option<&mut Payload> {
        self.payloads.as_mut().map(|payloads| &mut payloads[index as usize])
    }

    /// Returns the bytes that a request writes, where the run has data.
    #[inline]
    #[must_use]
    pub fn written(&self, index: u32) -> Option<&[u8; 64]> {
        self.payload(index).map(|payload| &payload.write)
    }

    /// Returns the line for an access that waits for a whole one: the answer, with its own bytes in
    /// it.
    #[inline]
    #[must_use]
    pub fn merged(&self, index: u32) -> Option<[u8; 64]> {
        let payload = self.payload(index)?;
        let request = self.get(index);
        let mut line = payload.answer;
        if request.access.writes() {
            copy_masked(&mut line, &payload.write, request.mask);
        }
        Some(line)
    }

    /// Puts a request behind another that waits, or behind none.
    #[inline]
    pub fn link(&mut self, before: u32, after: u32) {
        if before != NONE {
            self.slab[before as usize].next = after;
        }
        self.slab[after as usize].next = NONE;
    }
}

/// Requests that wait in order, a list through them.
#[derive(Debug, Clone, Copy)]
pub struct Fifo {
    first: u32,
    last: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Fifo {
    /// Whether nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The first that waits.
    #[inline]
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Puts a request at the end.
    #[inline]
    pub fn push<S: Flat>(&mut self, requests: &mut Requests<S>, request: u32) {
        let before = if self.first == NONE { NONE } else { self.last };
        requests.link(before, request);
        if before == NONE {
            self.first = request;
        }
        self.last = request;
    }

    /// Takes the first, behind which another waits, or nothing.
    #[inline]
    pub fn advance(&mut self, next: u32) {
        self.first = next;
    }
}

/// Returns the words of a line after an atomic operation on those of a mask.
pub fn atomic<S>(before: &[u8; 64], operands: &[u8; 64], request: &Request<S>) -> [u8; 64] {
    let mut after = *before;
    for word in (0..64).step_by(4).filter(|byte| request.mask >> byte & 1 == 1) {
        let read = |bytes: &[u8; 64]| {
            u32::from_le_bytes([bytes[word], bytes[word + 1], bytes[word + 2], bytes[word + 3]])
        };
        let result = request.operation.of(read(before), read(operands));
        after[word..word + 4].copy_from_slice(&result.to_le_bytes());
    }
    after
}
