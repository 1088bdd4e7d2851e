//! What caches and homes say to each other, whatever the protocol.

/// A cache on the way from a CU to the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// A CU's own: written through, and not filled by writes unless the protocol says so.
    L1,
    /// A bank of a GPU's second cache.
    L2,
}

/// What an access wants of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Data.
    Read,
    /// To change some bytes.
    Write,
    /// To change every byte of the line.
    Overwrite,
    /// To read and change at the home.
    Atomic,
}

impl Access {
    /// Whether it changes the line where the copy is, once the line is there.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Overwrite)
    }
}

/// What a cache asks of the level below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// A copy to read.
    Read,
    /// Another lease of a copy that is there; the answer has data only if the line has changed.
    Renew,
    /// A copy to write.
    Own,
    /// The bytes of a write go through.
    Write,
    /// An atomic is done there; the answer has the data before it.
    Atomic,
}

/// Which caches an access passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CachePath {
    /// L1, the GPU's own L2, and a home at the memory controller.
    OwnL2,
    /// L1, the L2 of the GPU to which the line belongs, and its memory.
    LineL2,
    /// L1, the GPU's own L2 unless the line belongs to it, and a home that is the L2 of the GPU
    /// to which the line belongs.
    HomeL2,
}

/// What becomes of the copy in a cache that asks below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meanwhile {
    /// It stays as it is.
    Stays,
    /// The write's bytes change it at once.
    Merges,
    /// It goes first, its data written back if they are dirty.
    Goes,
}

/// What a cache asks below, and what it does until the answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Forward<S> {
    /// What it asks.
    pub ask: Ask,
    /// With what stamp.
    pub stamp: S,
    /// What becomes of the copy here.
    pub copy: Meanwhile,
    /// Whether nobody else may look the line up in this cache until the answer is there.
    pub hold: bool,
}

/// What a cache makes of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lookup<L, S> {
    /// The copy here serves it: is read, or changed. The answer goes up with this stamp.
    Hit(S),
    /// A new copy, made of nothing but what is written, serves it.
    Allocate(L, S),
    /// The level below is asked.
    Forward(Forward<S>),
}

/// What becomes of a cache's copy when an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Copied<L> {
    /// The answer's data are held in this state; those of a write that waited are merged in.
    Install(L),
    /// The data that are here stay, those of the write that waited are merged in, and this is
    /// the state.
    Merge(L),
    /// What is here stays as it is, and nothing comes in its place.
    Leave,
    /// What is here is dropped.
    Drop,
}

/// What a cache makes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answered<L, S> {
    /// What becomes of its copy.
    pub copy: Copied<L>,
    /// What goes up with the data.
    pub stamp: S,
}

/// What a home may ask of a cache that holds a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Probe {
    /// Drop it.
    Invalidate,
    /// Keep it, to be read only.
    Share,
}

/// Whom a home asks before it goes on; the default is nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probes {
    /// The GPUs whose L2 is asked, one bit each.
    pub gpus: u32,
    /// What is asked.
    pub probe: Probe,
}

impl Default for Probes {
    fn default() -> Self {
        Self { gpus: 0, probe: Probe::Invalidate }
    }
}

/// What becomes of the data of a copy that is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eviction {
    /// They are the same below.
    Nothing,
    /// They are newer than those below, and go there.
    WriteBack,
}

/// What happens to all lines of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flush {
    /// Nothing.
    Nothing,
    /// Dirty lines are written back, and stay.
    WriteBack,
    /// Dirty lines are written back, and all are dropped.
    Invalidate,
}

/// When a copy may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    /// As long as it is there.
    Present {
        /// Whether it may be written, too.
        writable: bool,
    },
    /// By whoever is at these logical times, both included.
    Logical {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
}

/// How many bytes a protocol adds to each message, between any two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overhead {
    /// To a request for data.
    pub read_request: u32,
    /// To a request that carries data, or an atomic.
    pub write_request: u32,
    /// To an answer with data.
    pub read_response: u32,
    /// To the answer to a write.
    pub write_response: u32,
    /// Whether the answer to a write carries the line's data.
    pub write_response_has_data: bool,
}

/// How many bits a protocol keeps beside addresses, data and what every cache has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// For a line, in an L1 and in a bank of L2 alike.
    pub line: u32,
    /// For each L1, whatever it holds.
    pub l1: u32,
    /// For each bank of L2, likewise.
    pub l2: u32,
    /// For an entry of the timestamp storage unit.
    pub entry: u32,
}
