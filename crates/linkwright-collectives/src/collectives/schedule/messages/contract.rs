//! Tests the contract of every schedule as messages. Messages match, and nothing deadlocks without
//! buffering. Every rank has the result that its collective promises, in any order of events. Not a
//! byte more or less than the data is sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Cut, MessageSchedule, Writer};
use crate::collectives::schedule::collective::Content;
use crate::collectives::schedule::{Buffer, ScheduleStep, Slice, StepId};
use crate::engine::Random;
use crate::program::rendezvous::play;
use crate::program::{Dependency, Operation, RankProgram};
use crate::units::Bytes;

/// Whose inputs a chunk is made of: ranks with the chunks of their inputs.
type Value = BTreeSet<(usize, u32)>;
/// Holds the content of a run of chunks.
type Run = Vec<Value>;
/// Names sender, receiver and tag.
type Key = (u32, u32, u32);

/// Holds one rank's program with the step behind each of its operations.
struct Lane {
    program: RankProgram,
    steps: Vec<(u64, StepId)>,
}

/// Plays real contents in one order, chosen by chance.
struct Player<'a> {
    of: &'a MessageSchedule,
    cut: Cut,
    lanes: Vec<Lane>,
    /// Holds, for each rank and piece, its output and its scratch.
    memory: BTreeMap<(usize, u64), [Vec<Option<Value>>; 2]>,
    /// Holds the data that has landed for a step.
    landed: BTreeMap<(usize, u64, StepId), Run>,
    sends: BTreeMap<Key, VecDeque<(usize, usize, Run)>>,
    receives: BTreeMap<Key, VecDeque<(usize, usize)>>,
    complete: Vec<Vec<bool>>,
}

/// Asserts all of it for data of one size.
pub fn assert_contract(of: &MessageSchedule, size: Bytes, longest: Bytes, seed: u64) {
    let name = format!("{} of {size} in {longest}", of.schedule.name);
    let programs: Vec<RankProgram> =
        (0..of.schedule.ranks()).map(|rank| of.program(rank, size, longest)).collect();
    let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
    for (me, program) in (0..).zip(&programs) {
        for operation in program.operations() {
            let (into, key, size) = match *operation {
                Operation::Send { to, tag, size, .. } => (&mut sent, (me, to, tag), size),
                Operation::Receive { from: Some(from), tag: Some(tag), size, .. } => {
                    (&mut received, (from, me, tag), size)
                }
                Operation::Join => continue,
                other => panic!("{name}: {other:?} is no message"),
            };
            assert!(size.0 > 0 && key.0 != key.1, "{name}: {key:?}");
            assert_eq!(into.insert(key, size), None, "{name}: {key:?} twice");
        }
    }
    assert_eq!(sent, received, "{name}");
    assert_eq!(play(&programs), 0, "{name}: a deadlock without buffers");
    let cut = of.cut(size, longest);
    for shard in 0..cut.shards as u32 {
        let chunks = shard * cut.chunks as u32..(shard + 1) * cut.chunks as u32;
        let bytes: u64 =
            (0..cut.pieces).map(|piece| cut.bytes(piece, std::slice::from_ref(&chunks))).sum();
        let own =
            |shard: u64| (u128::from(size.0) * u128::from(shard) / u128::from(cut.shards)) as u64;
        assert_eq!(bytes, own(u64::from(shard) + 1) - own(u64::from(shard)), "{name}");
    }
    // A run of no bytes is no message, so that contents can be followed where there is none.
    if size.0 >= cut.shards * cut.chunks * cut.pieces * 2 {
        Player::new(of, cut).play(&name, seed);
    }
}

impl<'a> Player<'a> {
    fn new(of: &'a MessageSchedule, cut: Cut) -> Self {
        let lanes: Vec<Lane> = (0..of.schedule.ranks())
            .map(|rank| {
                let mut writer = Writer::new(cut, of.lanes(rank));
                // The step behind each operation, with its piece.
                let mut steps = Vec::new();
                writer.schedule(of, rank, |piece, step, operations| {
                    steps.resize(operations as usize, (piece, step));
                });
                Lane { program: writer.program.finish(), steps }
            })
            .collect();
        let undone = |lane: &Lane| vec![false; lane.steps.len()];
        let complete = lanes.iter().map(undone).collect();
        let mut memory = BTreeMap::new();
        for rank in 0..of.schedule.ranks() {
            for piece in 0..cut.pieces {
                let room = [Buffer::Output, Buffer::Scratch]
                    .map(|buffer| vec![None; of.schedule.buffer_chunks(rank, buffer)]);
                memory.insert((rank, piece), room);
            }
        }
        let (landed, sends, receives) = Default::default();
        Self { of, cut, lanes, memory, landed, sends, receives, complete }
    }

    fn read(&self, rank: usize, piece: u64, slice: Slice, count: u32) -> Run {
        let chunk = |offset: u32| match slice.buffer {
            Buffer::Input => Value::from([(rank, offset)]),
            buffer => {
                let room = &self.memory[&(rank, piece)][usize::from(buffer == Buffer::Scratch)];
                room[offset as usize].clone().expect("what is read was written")
            }
        };
        (slice.offset..slice.offset + count).map(chunk).collect()
    }

    fn write(&mut self, rank: usize, piece: u64, slice: Slice, run: &Run) {
        assert_ne!(slice.buffer, Buffer::Input, "inputs stay as they are");
        let room = self.memory.get_mut(&(rank, piece)).expect("every rank has its buffers");
        let room = &mut room[usize::from(slice.buffer == Buffer::Scratch)];
        for (at, value) in run.iter().enumerate() {
            room[slice.offset as usize + at] = Some(value.clone());
        }
    }

    fn step_of(&self, rank: usize, operation: usize) -> (u64, StepId, &'a ScheduleStep) {
        let (piece, id) = self.lanes[rank].steps[operation];
        let block = &self.of.schedule.programs[rank].blocks[id.block as usize];
        (piece, id, &block.steps[id.step as usize])
    }

    /// Does what a step does within its rank; returns what it sends if it sends.
    fn perform(&mut self, rank: usize, operation: usize) -> Run {
        let (piece, id, step) = self.step_of(rank, operation);
        let landed = self.landed.remove(&(rank, piece, id));
        assert_eq!(landed.is_some(), step.operation.receives(), "a receive before its use");
        let own = step.source.filter(|_| step.operation.reads_source());
        let own = own.map(|source| self.read(rank, piece, source, step.count));
        let run = match (landed, own) {
            (Some(a), Some(b)) => a.iter().zip(&b).map(|(a, b)| sum(a, b)).collect(),
            (Some(run), None) => run,
            (None, Some(own)) if step.operation.reduces() => {
                let place = step.destination.expect("a reduction has a destination");
                let there = self.read(rank, piece, place, step.count);
                own.iter().zip(&there).map(|(a, b)| sum(a, b)).collect()
            }
            (None, own) => own.unwrap_or_default(),
        };
        if let Some(place) = step.destination.filter(|_| step.operation.writes_destination()) {
            self.write(rank, piece, place, &run);
        }
        run
    }

    fn play(mut self, name: &str, seed: u64) {
        let mut chance = Random::new(seed);
        let mut waiting: Vec<(usize, usize)> = (0..self.lanes.len())
            .flat_map(|rank| (0..self.lanes[rank].steps.len()).map(move |at| (rank, at)))
            .collect();
        while !waiting.is_empty() {
            let ready: Vec<usize> = (0..waiting.len())
                .filter(|index| {
                    let (rank, at) = waiting[*index];
                    self.lanes[rank].program.dependencies(at).iter().all(|dependency| {
                        let Dependency::Completed(on) = *dependency else {
                            panic!("only ends are waited for")
                        };
                        self.complete[rank][on as usize]
                    })
                })
                .collect();
            assert!(!ready.is_empty(), "{name}: stuck with {} left", waiting.len());
            // Some of what may happen happens, in an order by chance.
            let share = chance.uniform().max(0.2);
            let mut chosen: Vec<usize> =
                ready.iter().copied().filter(|_| chance.uniform() < share).collect();
            if chosen.is_empty() {
                chosen.extend(chance.choose(&ready));
            }
            let mut started: Vec<(usize, usize)> =
                chosen.iter().rev().map(|index| waiting.swap_remove(*index)).collect();
            while !started.is_empty() {
                let at = (chance.uniform() * started.len() as f64) as usize;
                let (rank, operation) = started.swap_remove(at);
                self.start(rank, operation);
            }
        }
        self.assert_promised(name);
    }

    fn start(&mut self, rank: usize, at: usize) {
        let operation = self.lanes[rank].program.operations()[at];
        let me = rank as u32;
        let key = match operation {
            Operation::Send { to, tag, size, .. } => {
                let run = self.perform(rank, at);
                let (piece, ..) = self.step_of(rank, at);
                let bytes = |value: &Value| {
                    let (_, chunk) = *value.first().expect("a chunk has an origin");
                    self.cut.before(piece, chunk + 1) - self.cut.before(piece, chunk)
                };
                assert_eq!(size.0, run.iter().map(bytes).sum::<u64>(), "rank {rank}, {at}");
                self.sends.entry((me, to, tag)).or_default().push_back((rank, at, run));
                (me, to, tag)
            }
            Operation::Receive { from: Some(from), tag: Some(tag), .. } => {
                self.receives.entry((from, me, tag)).or_default().push_back((rank, at));
                (from, me, tag)
            }
            _ => {
                self.perform(rank, at);
                self.complete[rank][at] = true;
                return;
            }
        };
        let there =
            |queue: Option<&VecDeque<(usize, usize)>>| queue.is_some_and(|it| !it.is_empty());
        let is_sent = self.sends.get(&key).is_some_and(|queue| !queue.is_empty());
        if !is_sent || !there(self.receives.get(&key)) {
            return;
        }
        let sent = self.sends.get_mut(&key).and_then(VecDeque::pop_front);
        let received = self.receives.get_mut(&key).and_then(VecDeque::pop_front);
        let ((from, send, run), (to, receive)) = sent.zip(received).expect("both are there");
        // The data to be sent must still lie where it was read.
        let (piece, _, step) = self.step_of(from, send);
        let place = step.source.filter(|_| !step.operation.receives());
        if let Some(source) = place {
            assert_eq!(self.read(from, piece, source, step.count), run, "overwritten while sent");
        }
        let (piece, id, _) = self.step_of(to, receive);
        self.landed.insert((to, piece, id), run);
        (self.complete[from][send], self.complete[to][receive]) = (true, true);
    }

    fn assert_promised(&self, name: &str) {
        let schedule = &self.of.schedule;
        let ranks = schedule.ranks();
        for ((rank, piece), [output, _]) in &self.memory {
            for shard in 0..schedule.collective.output_shards(ranks, *rank) {
                for chunk in 0..schedule.chunks {
                    let of = |shard: usize| shard as u32 * schedule.chunks + chunk;
                    let expected: Value = match schedule.collective.expected(*rank, shard) {
                        Content::From { rank, shard } => Value::from([(rank, of(shard))]),
                        Content::Reduced { shard } => {
                            (0..ranks).map(|it| (it, of(shard))).collect()
                        }
                        Content::ReducedTo { rank, shard } => {
                            (0..=rank).map(|it| (it, of(shard))).collect()
                        }
                    };
                    let held = &output[of(shard) as usize];
                    assert_eq!(held.as_ref(), Some(&expected), "{name}: rank {rank}, {piece}");
                }
            }
        }
    }
}

fn sum(a: &Value, b: &Value) -> Value {
    assert!(a.is_disjoint(b), "{a:?} and {b:?} count something twice");
    a | b
}
