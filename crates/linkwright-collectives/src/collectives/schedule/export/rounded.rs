//! A schedule whose shares are rounded, for executors that take few counts of chunks.
//!
//! An executor may cut a message into equal chunks of whole units only. So a message of a power of
//! two takes no plan in 3, 5 or 7 chunks. Here a shard is cut anew. A run of chunks that began or
//! ended at some part of a shard now does at the nearest multiple of another part. All steps stay
//! as they are but for the lengths of what they move.
//!
//! A scratch buffer's contents take the lengths of what is put there. A place in it that holds
//! different parts of shards at different times has no one length; such a schedule is left as it
//! is.

use std::collections::BTreeSet;

use super::normal::{Connections, Ends, connections};
use crate::collectives::schedule::{Buffer, RankSchedule, Schedule, ScheduleStep, Slice};

/// Holds a schedule in rounded parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rounded {
    /// Is the same in as many chunks as asked for.
    pub(super) schedule: Schedule,
    /// By how much the run that grew most is longer than it was: 0.05 for 5 %.
    pub(super) growth: f64,
}

/// The most chunks of scratch buffers that are looked at.
const MOST_SCRATCH: usize = 1 << 22;
/// How often all steps are gone over to learn what scratch buffers hold.
const MOST_PASSES: usize = 100;

/// The normal schedule with its shards in `parts` chunks; None where a run would vanish, or a scratch
/// buffer says nothing of its lengths.
pub(super) fn in_parts(schedule: &Schedule, parts: u32) -> Option<Rounded> {
    let held = Held::of(schedule)?;
    let lines = Lines::of(schedule, &held, parts)?;
    let mut growth: f64 = 0.0;
    let mut programs = Vec::with_capacity(schedule.ranks());
    for (rank, program) in schedule.programs.iter().enumerate() {
        let scratch = lines.scratch(&held.places[rank]);
        let moved = |slice: Slice, count: u32| {
            let (start, end) =
                (u64::from(slice.offset), u64::from(slice.offset) + u64::from(count));
            let [from, to] = match slice.buffer {
                Buffer::Scratch => [*scratch.get(start as usize)?, *scratch.get(end as usize)?],
                _ => [lines.at(start), lines.at(end)],
            };
            let count = u32::try_from(to.checked_sub(from)?).ok().filter(|count| *count > 0)?;
            Some((Slice { offset: u32::try_from(from).ok()?, ..slice }, count))
        };
        let mut blocks = program.blocks.clone();
        for (block, old) in blocks.iter_mut().zip(&program.blocks) {
            for (number, step) in block.steps.iter_mut().enumerate() {
                let sides = [step.source, step.destination];
                let mut lengths = BTreeSet::new();
                let [source, destination] = sides.map(|slice| {
                    let (slice, count) = moved(slice?, step.count)?;
                    lengths.insert(count);
                    Some(slice)
                });
                if [source, destination].map(|slice| slice.is_some())
                    != sides.map(|it| it.is_some())
                    || lengths.len() > 1
                {
                    return None;
                }
                let count = lengths.pop_first()?;
                let was = f64::from(old.steps[number].count) / f64::from(schedule.chunks);
                growth = growth.max(f64::from(count) / f64::from(parts) / was - 1.0);
                *step = ScheduleStep { source, destination, count, ..step.clone() };
            }
        }
        let scratch_chunks = u32::try_from(*scratch.last()?).ok()?;
        programs.push(RankSchedule { scratch_chunks, blocks });
    }
    let schedule = Schedule { chunks: parts, programs, ..schedule.clone() };
    // Both ends of a connection must still move the same.
    joined(&schedule)?;
    Some(Rounded { schedule, growth })
}

/// Gives both ends of what joins two ranks. Data that switches handle starts and ends in inputs and
/// outputs.
fn joined(schedule: &Schedule) -> Option<Connections> {
    if schedule.first_in_switch().is_some() {
        return Some(Connections { sends: Ends::new(), receives: Ends::new() });
    }
    connections(schedule).ok()
}

/// The part of a shard that each chunk of the scratch buffers holds.
struct Held {
    /// By rank and place; None where nothing is put.
    places: Vec<Vec<Option<u32>>>,
}

impl Held {
    fn of(schedule: &Schedule) -> Option<Self> {
        let lengths = schedule.programs.iter().map(|program| program.scratch_chunks as usize);
        if lengths.clone().sum::<usize>() > MOST_SCRATCH {
            return None;
        }
        let mut held = Self { places: lengths.map(|length| vec![None; length]).collect() };
        let ends = joined(schedule)?;
        for _ in 0..MOST_PASSES {
            if !held.learn(schedule, &ends)? {
                return Some(held);
            }
        }
        None
    }

    /// Where in a shard the run of a step starts, as far as its places tell.
    fn start(&self, chunks: u32, rank: usize, step: &ScheduleStep) -> Option<u32> {
        let of = |slice: Slice| match slice.buffer {
            Buffer::Scratch => *self.places[rank].get(slice.offset as usize)?,
            _ => Some(slice.offset % chunks),
        };
        step.source.and_then(of).or_else(|| step.destination.and_then(of))
    }

    /// Goes over all steps; whether anything was learnt, or None where a place holds two parts.
    fn learn(&mut self, schedule: &Schedule, ends: &Connections) -> Option<bool> {
        let chunks = schedule.chunks;
        let mut has_learnt = false;
        for (rank, program) in schedule.programs.iter().enumerate() {
            for step in program.blocks.iter().flat_map(|block| &block.steps) {
                if let Some(start) = self.start(chunks, rank, step) {
                    has_learnt |= self.put(chunks, rank, step, start)?;
                }
            }
        }
        for (connection, (block, sends)) in &ends.sends {
            let (_, from, to) = *connection;
            let (far_block, receives) = ends.receives.get(connection)?;
            for (send, receive) in sends.iter().zip(receives) {
                let near = &schedule.programs[from].blocks[*block].steps[*send];
                let far = &schedule.programs[to].blocks[*far_block].steps[*receive];
                let known = self.start(chunks, from, near).or(self.start(chunks, to, far));
                if let Some(start) = known {
                    has_learnt |= self.put(chunks, from, near, start)?;
                    has_learnt |= self.put(chunks, to, far, start)?;
                }
            }
        }
        Some(has_learnt)
    }

    /// Notes that a step's run starts there in a shard.
    fn put(&mut self, chunks: u32, rank: usize, step: &ScheduleStep, start: u32) -> Option<bool> {
        let mut has_learnt = false;
        for slice in [step.source, step.destination].into_iter().flatten() {
            if slice.buffer != Buffer::Scratch {
                if slice.offset % chunks != start {
                    return None;
                }
                continue;
            }
            for at in 0..step.count {
                let place = self.places[rank].get_mut((slice.offset + at) as usize)?;
                let part = (u64::from(start) + u64::from(at)) % u64::from(chunks);
                match place {
                    None => {
                        *place = Some(part as u32);
                        has_learnt = true;
                    }
                    Some(known) if u64::from(*known) == part => {}
                    Some(_) => return None,
                }
            }
        }
        Some(has_learnt)
    }
}

/// Tells where the lines between the old chunks of a shard come to lie.
struct Lines {
    /// Gives a new line for each old line of a shard, from 0 to its end.
    new: Vec<u64>,
    parts: u64,
}

impl Lines {
    fn of(schedule: &Schedule, held: &Held, parts: u32) -> Option<Self> {
        let chunks = u64::from(schedule.chunks);
        let mut cuts = BTreeSet::from([0, chunks]);
        for (rank, program) in schedule.programs.iter().enumerate() {
            for step in program.blocks.iter().flat_map(|block| &block.steps) {
                let start = u64::from(held.start(schedule.chunks, rank, step)?);
                cuts.extend([start, (start + u64::from(step.count)) % chunks]);
            }
        }
        let nearest = |cut: u64| (2 * cut * u64::from(parts) + chunks) / (2 * chunks);
        let cuts: Vec<u64> = cuts.into_iter().collect();
        let mut new = vec![0];
        for pair in cuts.windows(2) {
            let (from, to) = (nearest(pair[0]), nearest(pair[1]));
            if from == to {
                return None;
            }
            // Lines inside of what always moves as one count for nothing: any order will do.
            let length = pair[1] - pair[0];
            new.extend((1..=length).map(|at| from + (to - from) * at / length));
        }
        Some(Self { new, parts: u64::from(parts) })
    }

    /// Gives that of a line of a buffer of several shards.
    fn at(&self, line: u64) -> u64 {
        let chunks = self.new.len() as u64 - 1;
        line / chunks * self.parts + self.new[(line % chunks) as usize]
    }

    /// Of all lines of a scratch buffer.
    fn scratch(&self, places: &[Option<u32>]) -> Vec<u64> {
        let length = |part: &u32| self.new[*part as usize + 1] - self.new[*part as usize];
        let mut lines = vec![0];
        let mut end = 0;
        for place in places {
            end += place.as_ref().map_or(0, length);
            lines.push(end);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::check;
    use crate::collectives::schedule::export::normalise;
    use crate::collectives::schedule::export::test_support::{any_schedule, ring_all_reduce};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_rounded_is_sound_and_moves_nearly_the_same(
            schedule in any_schedule(),
            parts in 1_u32..100,
        ) {
            let schedule = normalise(&schedule).unwrap();
            let Some(Rounded { schedule: found, growth }) = in_parts(&schedule, parts) else {
                return Ok(());
            };
            prop_assert_eq!(found.chunks, parts);
            prop_assert_eq!(found.step_count(), schedule.step_count());
            check(&found).unwrap();
            // A line moves by half a part, a run has two, and none was shorter than a chunk.
            prop_assert!(growth >= 0.0 || parts == 1);
            prop_assert!(growth <= f64::from(schedule.chunks) / f64::from(parts) + 1e-9);
            if parts % schedule.chunks == 0 {
                prop_assert!(growth.abs() < 1e-9);
            }
        }
    }

    #[test]
    fn three_parts_become_sixteenths() {
        let schedule = normalise(&ring_all_reduce(3, 1)).unwrap();
        let rounded = in_parts(&schedule, 16).unwrap();
        let counts: BTreeSet<u32> =
            rounded.schedule.programs[0].blocks[0].steps.iter().map(|step| step.count).collect();
        assert_eq!(counts, BTreeSet::from([5, 6]));
        assert!((rounded.growth - (6.0 / 16.0 * 3.0 - 1.0)).abs() < 1e-9);
        assert_eq!(in_parts(&schedule, 2), None, "a part would be nothing");
    }
}
