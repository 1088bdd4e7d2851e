//! Holds one rank's buffers, with chunks of equal width.
//!
//! A shard seldom divides into its chunks. The part that does divide stays where the caller has it,
//! so that long data is never copied. The few elements that are left at each shard's end follow in
//! a plane of their own. One more pass of the schedule moves them. There a chunk has room for the
//! most that any has, and the rest is padding that travels along. So in each plane every run of
//! chunks is as long as any other of that count.

use std::ops::Range;

use super::element::{Element, Reduction};
use super::lengths::{Lengths, chunk_range};
use crate::collectives::schedule::placement::{MemoryMap, Placement};
use crate::collectives::schedule::{Buffer, Schedule, Slice};

/// Names a run of chunks: which of the buffers, its first chunk there, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    region: usize,
    chunk: usize,
    count: usize,
}

/// Which elements a plane has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Of every shard as many as all have and as divide into its chunks.
    Even,
    /// Holds the others.
    Rest,
}

/// The part of every chunk that one pass of the schedule moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) part: Part,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How many elements a chunk has in each plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    /// Chunks in a shard.
    chunks: usize,
    pub(super) even: usize,
    pub(super) rest: usize,
}

impl Widths {
    pub(super) fn new(schedule: &Schedule, lengths: &Lengths) -> Self {
        let chunks = schedule.chunks as usize;
        let even = lengths.shortest() / chunks;
        Self { chunks, even, rest: (lengths.longest() - even * chunks).div_ceil(chunks) }
    }

    /// Where the rest of a shard starts.
    const fn end_of_even(&self) -> usize {
        self.chunks * self.even
    }
}

/// Buffers whose chunks are equally wide: input, output and scratch, or what the first two
/// share, nothing, and scratch.
#[derive(Debug, Clone)]
struct Plane<T> {
    layout: Layout,
    regions: [Vec<T>; 3],
}

/// Says where a plane's chunks lie.
#[derive(Debug, Clone)]
struct Layout {
    /// Chunks in a shard.
    chunks: usize,
    /// Counts the elements of a chunk.
    width: usize,
    /// Where each shard of the first two regions starts.
    starts: [Vec<usize>; 2],
}

/// Holds the memory of a rank.
#[derive(Debug, Clone)]
pub(super) struct RankMemory<T> {
    map: MemoryMap,
    widths: Widths,
    even: Plane<T>,
    rest: Plane<T>,
    /// Gives the first chunk of each region.
    firsts: [usize; 3],
}

impl<T: Element> RankMemory<T> {
    /// Takes a rank's input; without a copy unless it lies within a longer buffer.
    pub(super) fn new(
        schedule: &Schedule,
        rank: usize,
        placement: Placement,
        lengths: &Lengths,
        input: Vec<T>,
    ) -> Self {
        let map = MemoryMap::new(schedule, rank, placement);
        let widths = Widths::new(schedule, lengths);
        let chunks = widths.chunks;
        let scratch = map.address(Slice::scratch(0));
        let output = if map.overlaps() { scratch } else { map.address(Slice::output(0)) };
        let (inputs, outputs) =
            (lengths.ranges(rank, Buffer::Input), lengths.ranges(rank, Buffer::Output));
        // Where they overlap, the shorter buffer lies in the longer.
        let second = if map.overlaps() { &[][..] } else { &outputs };
        let shared = if inputs.len() * chunks == output { &inputs } else { &outputs };
        let starts =
            [shared, second].map(|shards| shards.iter().map(|shard| shard.start).collect());
        let [whole, apart] =
            [shared, second].map(|shards| shards.last().map_or(0, |last| last.end));
        let first = map.address(Slice::input(0)) / chunks;
        let scratch_chunks = map.len() - scratch;
        let mut rest = Plane::padded(&widths, [output, scratch - output, scratch_chunks]);
        for (shard, range) in inputs.iter().enumerate() {
            let left = &input[range.start + widths.end_of_even()..range.end];
            rest.put(first + shard, left);
        }
        let taken = if input.len() == whole {
            input
        } else {
            let mut region = vec![T::default(); whole];
            for (shard, range) in inputs.iter().cloned().enumerate() {
                let start = shared[first + shard].start;
                region[start..start + range.len()].copy_from_slice(&input[range]);
            }
            region
        };
        let zeros = |count: usize| vec![T::default(); count];
        let regions = [taken, zeros(apart), zeros(scratch_chunks * widths.even)];
        let layout = Layout { chunks, width: widths.even, starts };
        let even = Plane { layout, regions };
        Self { map, widths, even, rest, firsts: [0, output, scratch] }
    }

    /// Gives the rank's output; without a copy unless it lies within a longer buffer.
    pub(super) fn into_output(mut self, rank: usize, lengths: &Lengths) -> Vec<T> {
        let ranges = lengths.ranges(rank, Buffer::Output);
        let Stretch { region, chunk, .. } = self.locate(Slice::output(0), 0);
        let first = chunk / self.widths.chunks;
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let mut output = if total == self.even.regions[region].len() {
            std::mem::take(&mut self.even.regions[region])
        } else {
            let start = self.even.layout.starts[region].get(first).copied().unwrap_or(0);
            self.even.regions[region][start..start + total].to_vec()
        };
        for (shard, range) in ranges.into_iter().enumerate() {
            let left = &mut output[range.start + self.widths.end_of_even()..range.end];
            self.rest.take(region, first + shard, left);
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
        Stretch { region, chunk: address - self.firsts[region], count: count as usize }
    }

    const fn plane(&self, piece: Piece) -> &Plane<T> {
        match piece.part {
            Part::Even => &self.even,
            Part::Rest => &self.rest,
        }
    }

    const fn plane_mut(&mut self, piece: Piece) -> &mut Plane<T> {
        match piece.part {
            Part::Even => &mut self.even,
            Part::Rest => &mut self.rest,
        }
    }

    /// Appends a run to a message.
    pub(super) fn read(&self, stretch: Stretch, piece: Piece, message: &mut Vec<T>) {
        let plane = self.plane(piece);
        for range in plane.layout.ranges(stretch, piece) {
            message.extend_from_slice(&plane.regions[stretch.region][range]);
        }
    }

    /// Writes a message to a run.
    pub(super) fn write(&mut self, stretch: Stretch, piece: Piece, message: &[T]) {
        let plane = self.plane_mut(piece);
        let mut rest = message;
        for range in plane.layout.ranges(stretch, piece) {
            let (part, later) = rest.split_at(range.len());
            plane.regions[stretch.region][range].copy_from_slice(part);
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
        let plane = self.plane(piece);
        let mut rest = message;
        for range in plane.layout.ranges(stretch, piece) {
            let (part, later) = rest.split_at_mut(range.len());
            reduction.apply(part, &plane.regions[stretch.region][range]);
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
        let plane = self.plane_mut(piece);
        let mut rest = message;
        for range in plane.layout.ranges(stretch, piece) {
            let (part, later) = rest.split_at(range.len());
            reduction.apply(&mut plane.regions[stretch.region][range], part);
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
        let plane = self.plane_mut(piece);
        // The two runs need not cross from shard to shard at the same chunk.
        for chunk in 0..source.count {
            let one = |run: Stretch| plane.layout.chunk(run.region, run.chunk + chunk, piece);
            let (from, to) = (one(source), one(destination));
            let apart = plane.regions.get_disjoint_mut([source.region, destination.region]);
            let (from, to) = if let Ok([source, destination]) = apart {
                (&source[from], &mut destination[to])
            } else {
                let region = &mut plane.regions[source.region];
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

impl<T: Element> Plane<T> {
    /// Makes room for the rests of shards, in regions of the given numbers of chunks.
    fn padded(widths: &Widths, regions: [usize; 3]) -> Self {
        let (chunks, width) = (widths.chunks, widths.rest);
        let starts = |region: usize| {
            let shards = regions[region] / chunks;
            (0..shards).map(|shard| shard * chunks * width).collect()
        };
        let layout = Layout { chunks, width, starts: [starts(0), starts(1)] };
        Self { layout, regions: regions.map(|count| vec![T::default(); count * width]) }
    }

    /// Spreads the rest of a shard of the first region over the shard's chunks.
    fn put(&mut self, shard: usize, rest: &[T]) {
        let chunks = self.layout.chunks;
        for chunk in 0..chunks {
            let from = &rest[chunk_range(rest.len(), chunk, chunks)];
            let to = self.layout.start(0, shard * chunks + chunk);
            self.regions[0][to..to + from.len()].copy_from_slice(from);
        }
    }

    /// Takes the rest of a shard from its chunks.
    fn take(&self, region: usize, shard: usize, rest: &mut [T]) {
        let chunks = self.layout.chunks;
        for chunk in 0..chunks {
            let to = chunk_range(rest.len(), chunk, chunks);
            let from = self.layout.start(region, shard * chunks + chunk);
            let length = to.len();
            rest[to].copy_from_slice(&self.regions[region][from..from + length]);
        }
    }
}

impl Layout {
    fn start(&self, region: usize, chunk: usize) -> usize {
        self.starts.get(region).map_or(chunk * self.width, |starts| {
            starts[chunk / self.chunks] + chunk % self.chunks * self.width
        })
    }

    /// Where a piece of one chunk lies in its region.
    fn chunk(&self, region: usize, chunk: usize, piece: Piece) -> Range<usize> {
        let start = self.start(region, chunk);
        start + piece.start..start + piece.end
    }

    /// Where a piece of each chunk of a run lies in its region. Whole chunks of a shard, and
    /// of scratch, follow each other without a gap and make one range.
    fn ranges(&self, run: Stretch, piece: Piece) -> impl Iterator<Item = Range<usize>> {
        let whole = piece.end - piece.start == self.width;
        let end = run.chunk + run.count;
        let mut next = run.chunk;
        std::iter::from_fn(move || {
            let left = end - next;
            let together = match whole {
                true if run.region < self.starts.len() => {
                    left.min(self.chunks - next % self.chunks)
                }
                true => left,
                false => left.min(1),
            };
            let last = next + together.checked_sub(1)?;
            let (first, last) =
                (self.chunk(run.region, next, piece), self.chunk(run.region, last, piece));
            next += together;
            Some(first.start..last.end)
        })
    }
}
