//! Says where a rank's buffers lie: input and output apart, or partly the same memory.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::collectives::schedule::{Buffer, Schedule, Slice};

/// Whether a rank's input and output are the same memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Placement {
    /// Input and output are apart, and the input is only read.
    OutOfPlace,
    /// Input and output overlap as [`crate::collectives::Collective::in_place_overlap`] says.
    InPlace,
}

impl Placement {
    /// Lists the placements that a schedule declares.
    #[must_use]
    pub fn declared(schedule: &Schedule) -> Vec<Self> {
        let out_of_place = schedule.out_of_place.then_some(Self::OutOfPlace);
        let in_place = schedule.in_place.then_some(Self::InPlace);
        out_of_place.into_iter().chain(in_place).collect()
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfPlace => "out of place",
            Self::InPlace => "in place",
        })
    }
}

/// One rank's memory as a line of chunks, so that two names of the same chunk have the same
/// address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryMap {
    input: usize,
    output: usize,
    scratch: usize,
    end: usize,
    overlaps: bool,
}

impl MemoryMap {
    /// Lays out the memory of a rank, which holds its buffers.
    #[must_use]
    pub fn new(schedule: &Schedule, rank: usize, placement: Placement) -> Self {
        let chunks = schedule.chunks as usize;
        let inputs = schedule.buffer_chunks(rank, Buffer::Input);
        let outputs = schedule.buffer_chunks(rank, Buffer::Output);
        let overlap = match placement {
            Placement::OutOfPlace => None,
            Placement::InPlace => schedule.collective.in_place_overlap(schedule.ranks(), rank),
        };
        // The overlapping shards are the whole of the shorter buffer, which lies in the longer.
        let (input, output) =
            overlap.map_or((0, inputs), |(first_in, first_out, _)| (first_out, first_in));
        let (input, output) =
            if overlap.is_some() { (input * chunks, output * chunks) } else { (input, output) };
        let scratch = (input + inputs).max(output + outputs);
        let end = scratch + schedule.buffer_chunks(rank, Buffer::Scratch);
        Self { input, output, scratch, end, overlaps: overlap.is_some() }
    }

    /// Returns the address of a run's first chunk.
    #[must_use]
    pub const fn address(&self, slice: Slice) -> usize {
        slice.offset as usize
            + match slice.buffer {
                Buffer::Input => self.input,
                Buffer::Output => self.output,
                Buffer::Scratch => self.scratch,
            }
    }

    /// Returns the length of the memory, in chunks.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.end
    }

    /// Whether the rank has no memory at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Whether the rank's input and output share chunks, so that its input may be written.
    #[must_use]
    pub const fn overlaps(&self) -> bool {
        self.overlaps
    }
}
