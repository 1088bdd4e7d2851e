//! One rank's buffers, with chunks of equal width.
//!
//! Where chunks differ by an element, each has room for the longest, and the rest is padding
//! that travels along; so every run of chunks is as long as any other of that count.

use super::element::{Element, Reduction};
use super::lengths::{Lengths, chunk_range};
use crate::collectives::placement::{MemoryMap, Placement};
use crate::collectives::schedule::{Buffer, Schedule, Slice};

/// A run of chunks: which of the buffers, its first chunk there, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    region: usize,
    chunk: usize,
    count: usize,
}

/// The part of every chunk that one pass of the schedule moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The memory of a rank: input, output and scratch, or what they share and scratch.
#[derive(Debug, Clone)]
pub(super) struct RankMemory<T> {
    map: MemoryMap,
    chunks: usize,
    /// Elements of a chunk.
    width: usize,
    regions: [Vec<T>; 3],
    starts: [usize; 3],
}

impl<T: Element> RankMemory<T> {
    /// Takes a rank's input; without a copy where its chunks are all full.
    pub(super) fn new(
        schedule: &Schedule,
        rank: usize,
        placement: Placement,
        lengths: &Lengths,
        input: Vec<T>,
    ) -> Self {
        let map = MemoryMap::new(schedule, rank, placement);
        let chunks = schedule.chunks as usize;
        let width = lengths.longest().div_ceil(chunks);
        let scratch = map.address(Slice::scratch(0));
        let output = if map.overlaps() { scratch } else { map.address(Slice::output(0)) };
        let starts = [0, output, scratch];
        let zeros = |count: usize| vec![T::default(); count * width];
        let rest = [zeros(scratch - output), zeros(map.len() - scratch)];
        let first = map.address(Slice::input(0));
        let shared = if input.len() == output * width {
            input
        } else {
            let mut region = zeros(output);
            for (shard, range) in lengths.ranges(rank, Buffer::Input).into_iter().enumerate() {
                let start = first + shard * chunks;
                for chunk in 0..chunks {
                    let from = &input[range.clone()][chunk_range(range.len(), chunk, chunks)];
                    let to = (start + chunk) * width;
                    region[to..to + from.len()].copy_from_slice(from);
                }
            }
            region
        };
        let [output, scratch] = rest;
        Self { map, chunks, width, regions: [shared, output, scratch], starts }
    }

    /// Gives the rank's output; without a copy where its chunks are all full.
    pub(super) fn into_output(mut self, rank: usize, lengths: &Lengths) -> Vec<T> {
        let ranges = lengths.ranges(rank, Buffer::Output);
        let Stretch { region, chunk: first, .. } = self.locate(Slice::output(0), 0);
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if total == self.regions[region].len() {
            return std::mem::take(&mut self.regions[region]);
        }
        let region = &self.regions[region];
        let mut output = Vec::with_capacity(total);
        for (shard, range) in ranges.into_iter().enumerate() {
            for chunk in 0..self.chunks {
                let length = chunk_range(range.len(), chunk, self.chunks).len();
                let from = (first + shard * self.chunks + chunk) * self.width;
                output.extend_from_slice(&region[from..from + length]);
            }
        }
        output
    }

    /// Finds a run of chunks.
    pub(super) fn locate(&self, slice: Slice, count: u32) -> Stretch {
        let address = self.map.address(slice);
        let region = match slice.buffer {
            Buffer::Scratch => 2,
            Buffer::Output if !self.map.overlaps() => 1,
            _ => 0,
        };
        Stretch { region, chunk: address - self.starts[region], count: count as usize }
    }

    /// Where a piece of each chunk of a run lies in its region. Whole chunks follow each other
    /// without a gap and make one range.
    fn ranges(
        &self,
        stretch: Stretch,
        piece: Piece,
    ) -> impl Iterator<Item = std::ops::Range<usize>> + use<T> {
        let whole = piece.end - piece.start == self.width;
        let (count, step) =
            if whole { (1, stretch.count * self.width) } else { (stretch.count, self.width) };
        let first = stretch.chunk * self.width + piece.start;
        let length = if whole { step } else { piece.end - piece.start };
        (0..count).map(move |chunk| first + chunk * step..first + chunk * step + length)
    }

    /// Appends a run to a message.
    pub(super) fn read(&self, stretch: Stretch, piece: Piece, message: &mut Vec<T>) {
        for range in self.ranges(stretch, piece) {
            message.extend_from_slice(&self.regions[stretch.region][range]);
        }
    }

    /// Writes a message to a run.
    pub(super) fn write(&mut self, stretch: Stretch, piece: Piece, message: &[T]) {
        let mut rest = message;
        for range in self.ranges(stretch, piece) {
            let (part, later) = rest.split_at(range.len());
            self.regions[stretch.region][range].copy_from_slice(part);
            rest = later;
        }
    }

    /// Reduces a run into a message.
    pub(super) fn reduce_into_message(
        &self,
        reduction: Reduction,
        stretch: Stretch,
        piece: Piece,
        message: &mut [T],
    ) {
        let mut rest = message;
        for range in self.ranges(stretch, piece) {
            let (part, later) = rest.split_at_mut(range.len());
            reduction.apply(part, &self.regions[stretch.region][range]);
            rest = later;
        }
    }

    /// Reduces a message into a run.
    pub(super) fn reduce_into_run(
        &mut self,
        reduction: Reduction,
        stretch: Stretch,
        piece: Piece,
        message: &[T],
    ) {
        let mut rest = message;
        for range in self.ranges(stretch, piece) {
            let (part, later) = rest.split_at(range.len());
            reduction.apply(&mut self.regions[stretch.region][range], part);
            rest = later;
        }
    }

    /// Copies one run to another that is the same or apart from it, or reduces it there.
    pub(super) fn local(
        &mut self,
        reduction: Option<Reduction>,
        source: Stretch,
        destination: Stretch,
        piece: Piece,
    ) {
        if source == destination {
            return;
        }
        let pairs = self.ranges(source, piece).zip(self.ranges(destination, piece));
        for (from, to) in pairs {
            let apart = self.regions.get_disjoint_mut([source.region, destination.region]);
            let (from, to) = if let Ok([source, destination]) = apart {
                (&source[from], &mut destination[to])
            } else {
                let region = &mut self.regions[source.region];
                if from.start < to.start {
                    let (low, high) = region.split_at_mut(to.start);
                    (&low[from], &mut high[..to.len()])
                } else {
                    let (low, high) = region.split_at_mut(from.start);
                    (&high[..from.len()], &mut low[to])
                }
            };
            match reduction {
                Some(reduction) => reduction.apply(to, from),
                None => to.copy_from_slice(from),
            }
        }
    }
}
