//! Follows the content of every chunk from step to step.
//!
//! A value is the reduction of one chunk of the input over a set of ranks. Chunks that lie next to
//! each other mostly hold the next chunks of the same set, so memory is a list of runs. A schedule
//! of thousands of chunks costs as much as its steps tell apart.

use std::collections::BTreeMap;

use super::fault::{ScheduleFault, StepPlace};
use super::limits;
use super::order::{StepGraph, StepIndex};
use super::structure::chunk_of;
use crate::collectives::schedule::collective::Content;
use crate::collectives::schedule::placement::{MemoryMap, Placement};
use crate::collectives::schedule::{Buffer, Schedule, Slice, StepOperation};

mod value;

use value::{Combination, RankSets, Run, Value, combine, push};

/// Describes a stretch of memory whose chunks hold consecutive chunks of the same set of ranks.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    end: usize,
    value: Value,
    writer: Option<StepIndex>,
}

/// Holds the content of one rank's memory, by the address of each stretch's first chunk.
#[derive(Debug, Clone, Default)]
struct Memory(BTreeMap<usize, Stretch>);

impl Memory {
    /// The runs of a stretch of memory, or the first address that was never written.
    fn read(&self, first: usize, count: usize) -> Result<Vec<Run>, usize> {
        let end = first + count;
        let mut runs = Vec::new();
        let mut at = first;
        let before = self.0.range(..=first).next_back().into_iter();
        let inside = self.0.range(first + 1..end);
        for (&start, stretch) in before.chain(inside) {
            if stretch.end <= at {
                continue;
            }
            if start > at {
                return Err(at);
            }
            let until = stretch.end.min(end);
            push(&mut runs, Run { length: until - at, value: stretch.value.skip(at - start) });
            at = until;
        }
        if at < end { Err(at) } else { Ok(runs) }
    }

    fn write(&mut self, first: usize, runs: &[Run], writer: Option<StepIndex>) {
        let end = first + runs.iter().map(|run| run.length).sum::<usize>();
        self.cut(first);
        self.cut(end);
        let covered: Vec<_> = self.0.range(first..end).map(|(start, _)| *start).collect();
        for start in covered {
            self.0.remove(&start);
        }
        let mut at = first;
        for run in runs {
            self.0.insert(at, Stretch { end: at + run.length, value: run.value, writer });
            at += run.length;
        }
    }

    /// Makes an address the start of a stretch, if it lies inside one.
    fn cut(&mut self, address: usize) {
        let Some((&start, stretch)) = self.0.range_mut(..address).next_back() else { return };
        if stretch.end > address {
            let rest = Stretch { value: stretch.value.skip(address - start), ..*stretch };
            stretch.end = address;
            self.0.insert(address, rest);
        }
    }

    fn writer(&self, address: usize) -> Option<StepIndex> {
        let (_, stretch) = self.0.range(..=address).next_back()?;
        stretch.writer.filter(|_| stretch.end > address)
    }
}

/// Follows all values in one placement.
pub(super) fn check(
    schedule: &Schedule,
    graph: &StepGraph<'_>,
    order: &[StepIndex],
    placement: Placement,
) -> Result<(), ScheduleFault> {
    let ranks = schedule.ranks();
    let maps = (0..ranks).map(|rank| MemoryMap::new(schedule, rank, placement)).collect();
    let mut sets = RankSets::new(ranks);
    let mut memories = vec![Memory::default(); ranks];
    for (rank, memory) in memories.iter_mut().enumerate() {
        let length = schedule.buffer_chunks(rank, Buffer::Input);
        if length > 0 {
            let value = Value { ranks: sets.single(rank)?, chunk: 0 };
            let map: &Vec<MemoryMap> = &maps;
            memory.write(map[rank].address(Slice::input(0)), &[Run { length, value }], None);
        }
    }
    let once = !schedule.collective.may_repeat();
    let mut play = Play { graph, maps, placement, once, sets, memories, runs: 0 };
    let mut on_the_way = BTreeMap::new();
    for &index in order {
        let received = graph.received(index).iter().filter_map(|run| on_the_way.remove(run));
        let received = play.together(index, received.collect())?;
        let value = play.step(index, received)?;
        if let [others @ .., last] = graph.sent(index) {
            on_the_way.extend(others.iter().map(|run| (*run, value.clone())));
            on_the_way.insert(*last, value);
        }
    }
    play.outputs(schedule)
}

/// Holds the state between two steps.
struct Play<'a> {
    graph: &'a StepGraph<'a>,
    maps: Vec<MemoryMap>,
    placement: Placement,
    /// Says whether every contribution counts once at most.
    once: bool,
    sets: RankSets,
    memories: Vec<Memory>,
    /// Runs touched so far.
    runs: usize,
}

impl Play<'_> {
    /// Returns the data that a step receives, as one: the reduction of all that a switch reads.
    fn together(
        &mut self,
        index: StepIndex,
        received: Vec<Vec<Run>>,
    ) -> Result<Vec<Run>, ScheduleFault> {
        let mut received = received.into_iter();
        let mut whole = received.next().unwrap_or_default();
        for other in received {
            self.touched(whole.len() + other.len())?;
            whole = self.combined(self.graph.place(index), &whole, &other)?;
        }
        Ok(whole)
    }

    fn combined(
        &mut self,
        place: StepPlace,
        first: &[Run],
        second: &[Run],
    ) -> Result<Vec<Run>, ScheduleFault> {
        let at = Combination { place, placement: self.placement, once: self.once };
        combine(&mut self.sets, at, first, second)
    }

    /// Counts runs that are followed.
    fn touched(&mut self, runs: usize) -> Result<(), ScheduleFault> {
        self.runs += runs;
        if self.runs > limits::RUNS {
            let (what, limit) = ("runs of chunks to follow", limits::RUNS);
            return Err(ScheduleFault::TooLarge { what, found: self.runs, limit });
        }
        Ok(())
    }

    /// Runs one step and returns the value that it moves.
    fn step(&mut self, index: StepIndex, received: Vec<Run>) -> Result<Vec<Run>, ScheduleFault> {
        let (step, place) = (self.graph.step(index), self.graph.place(index));
        let operation = step.operation;
        let source = step.source.filter(|_| operation.reads_source());
        let destination = step.destination.filter(|_| operation.writes_destination());
        if let Some(destination) = destination {
            self.writable(place, source, destination, step.count as usize)?;
        }
        let read = |play: &Self, slice: Option<Slice>| {
            slice.map_or(Ok(Vec::new()), |slice| play.read(place, slice, step.count as usize))
        };
        let source = read(self, source)?;
        let (first, second) = match operation {
            StepOperation::Reduce => (source, read(self, destination)?),
            _ if operation.reduces() => (received, source),
            _ if operation.receives() => (received, Vec::new()),
            _ => (source, Vec::new()),
        };
        self.touched(first.len() + second.len())?;
        let value =
            if operation.reduces() { self.combined(place, &first, &second)? } else { first };
        if let Some(destination) = destination {
            let address = self.maps[place.rank].address(destination);
            self.memories[place.rank].write(address, &value, Some(index));
        }
        Ok(value)
    }

    fn writable(
        &self,
        place: StepPlace,
        source: Option<Slice>,
        destination: Slice,
        count: usize,
    ) -> Result<(), ScheduleFault> {
        let map = &self.maps[place.rank];
        let placement = self.placement;
        if destination.buffer == Buffer::Input && !map.overlaps() {
            return Err(ScheduleFault::WritesInput { place, placement });
        }
        let distance =
            source.map_or(0, |source| map.address(source).abs_diff(map.address(destination)));
        if distance > 0 && distance < count {
            return Err(ScheduleFault::Overlap { place, placement });
        }
        Ok(())
    }

    fn read(
        &self,
        place: StepPlace,
        slice: Slice,
        count: usize,
    ) -> Result<Vec<Run>, ScheduleFault> {
        let first = self.maps[place.rank].address(slice);
        self.memories[place.rank].read(first, count).map_err(|address| {
            let (buffer, chunk) = chunk_of(slice, first, address);
            ScheduleFault::Unwritten { place, buffer, chunk, placement: self.placement }
        })
    }

    /// Compares every rank's output with what the collective promises.
    fn outputs(mut self, schedule: &Schedule) -> Result<(), ScheduleFault> {
        let (ranks, chunks) = (schedule.ranks(), schedule.chunks as usize);
        let everyone = self.sets.first(ranks)?;
        for rank in 0..ranks {
            let start = self.maps[rank].address(Slice::output(0));
            for shard in 0..schedule.collective.output_shards(ranks, rank) {
                let (set, from) = match schedule.collective.expected(rank, shard) {
                    Content::From { rank, shard } => (self.sets.single(rank)?, shard),
                    Content::Reduced { shard } => (everyone, shard),
                    Content::ReducedTo { rank, shard } => (self.sets.first(rank + 1)?, shard),
                };
                let expected = Value { ranks: set, chunk: from * chunks };
                let first = start + shard * chunks;
                self.output(rank, (first, chunks), first - start, expected)?;
            }
        }
        Ok(())
    }

    fn output(
        &self,
        rank: usize,
        (first, count): (usize, usize),
        output_chunk: usize,
        expected: Value,
    ) -> Result<(), ScheduleFault> {
        let memory = &self.memories[rank];
        let (wrong, found) = match memory.read(first, count) {
            Err(address) => (address - first, None),
            Ok(runs) => {
                let mut at = 0;
                let wrong = runs.iter().find(|run| {
                    let differs = run.value != expected.skip(at);
                    at += if differs { 0 } else { run.length };
                    differs
                });
                let Some(run) = wrong else { return Ok(()) };
                (at, Some(run.value))
            }
        };
        let found = found.map_or_else(|| "nothing".into(), |value| self.sets.describe(value));
        let writer = memory.writer(first + wrong).map(|index| self.graph.place(index));
        Err(ScheduleFault::WrongOutput {
            rank,
            chunk: output_chunk + wrong,
            expected: self.sets.describe(expected.skip(wrong)),
            found,
            writer,
            placement: self.placement,
        })
    }
}
