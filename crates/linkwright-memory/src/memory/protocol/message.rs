//! Names the messages between caches and homes, whatever the protocol.

/// Stands for a cache on the way from a CU to the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// A CU's own: written through, and not filled by writes unless the protocol says so.
    L1,
    /// Stands for a bank of a GPU's second cache.
    L2,
}

/// Says why an access wants a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Wants data.
    Read,
    /// Wants to change some bytes.
    Write,
    /// Wants to change every byte of the line.
    Overwrite,
    /// Wants to read and change at the home.
    Atomic,
}

impl Access {
    /// Whether it changes the line where the copy is, once the line is there.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Overwrite)
    }
}

/// Names the request of a cache to the level below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Asks for a copy to read.
    Read,
    /// Another lease of a copy that is there; the answer has data only if the line has changed.
    Renew,
    /// Asks for a copy to write.
    Own,
    /// Sends the bytes of a write through.
    Write,
    /// An atomic is done there; the answer has the data before it.
    Atomic,
}

/// Which caches an access passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CachePath {
    /// Takes L1, the GPU's own L2, and a home at the memory controller.
    OwnL2,
    /// L1, the L2 of the GPU to which the line belongs, and its memory.
    LineL2,
    /// Takes L1, and the GPU's own L2 unless the line belongs to it. The home is the L2 of the GPU
    /// to which the line belongs.
    HomeL2,
}

/// Says whether the copy stays, changes or goes in a cache that asks below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meanwhile {
    /// It stays as it is.
    Stays,
    /// Changes at once by the write's bytes.
    Merges,
    /// It goes first, its data written back if they are dirty.
    Goes,
}

/// Holds a cache's request to the level below, and its state until the answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Forward<S> {
    /// Names the request.
    pub ask: Ask,
    /// Gives the stamp.
    pub stamp: S,
    /// Says whether the copy here stays, changes or goes.
    pub copy: Meanwhile,
    /// Whether nobody else may look the line up in this cache until the answer is there.
    pub hold: bool,
}

/// Holds a cache's decision on an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lookup<L, S> {
    /// The copy here serves it: is read, or changed. The answer goes up with this stamp.
    Hit(S),
    /// A new copy, made of nothing but what is written, serves it.
    Allocate(L, S),
    /// The level below is asked.
    Forward(Forward<S>),
}

/// Says which copy a cache keeps when an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Copied<L> {
    /// The answer's data are held in this state; those of a write that waited are merged in.
    Install(L),
    /// The data that are here stay, those of the write that waited are merged in, and this is
    /// the state.
    Merge(L),
    /// Leaves the copy as it is, and nothing comes in its place.
    Leave,
    /// Drops the copy.
    Drop,
}

/// Holds a cache's decision on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answered<L, S> {
    /// Says which copy it keeps.
    pub copy: Copied<L>,
    /// Gives the stamp that goes up with the data.
    pub stamp: S,
}

/// Names the request of a home to a cache that holds a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Probe {
    /// Drops the copy.
    Invalidate,
    /// Keep it, to be read only.
    Share,
}

/// Whom a home asks before it goes on; the default is nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probes {
    /// The GPUs whose L2 is asked, one bit each.
    pub gpus: u32,
    /// Names the request.
    pub probe: Probe,
}

impl Default for Probes {
    fn default() -> Self {
        Self { gpus: 0, probe: Probe::Invalidate }
    }
}

/// Says whether the data of a dropped copy is written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eviction {
    /// They are the same below.
    Nothing,
    /// They are newer than those below, and go there.
    WriteBack,
}

/// Names the change to all lines of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flush {
    /// Does nothing.
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
        /// Gives the first.
        from: u64,
        /// Gives the last.
        to: u64,
    },
}

/// How many bytes a protocol adds to each message, between any two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overhead {
    /// Counts the bytes added to a request for data.
    pub read_request: u32,
    /// To a request that carries data, or an atomic.
    pub write_request: u32,
    /// Counts the bytes added to an answer with data.
    pub read_response: u32,
    /// Counts the bytes added to the answer to a write.
    pub write_response: u32,
    /// Whether the answer to a write carries the line's data.
    pub write_response_has_data: bool,
}

/// How many bits a protocol keeps beside addresses, data and what every cache has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Counts the bits for a line, in an L1 and in a bank of L2 alike.
    pub line: u32,
    /// For each L1, whatever it holds.
    pub l1: u32,
    /// Counts the bits for each bank of L2, likewise.
    pub l2: u32,
    /// Counts the bits for an entry of the timestamp storage unit.
    pub entry: u32,
}
