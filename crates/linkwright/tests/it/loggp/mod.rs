//! How long a program would take on a network without contention: the LogGP model.
//!
//! LogGP (Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995) knows four numbers. They are the
//! overhead of a message on each of its two processors, the latency of the wire, and the time of a
//! byte. The fourth, the gap between messages, is the overhead here. A rank's messages leave one
//! after another. Every message is sent eagerly, switches never block, and collectives go by their
//! default algorithms. It serves to tune the skeletons and to see at once how a program behaves;
//! the replay over a network is the real answer.

mod skeletons;

use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use linkwright::collectives::mpi::ByDefault;
use linkwright::network::RouteClass;
use linkwright::program::lowering::{LoweringError, lower_program};
use linkwright::program::{CommunicatorId, Dependency, Operation, Program, Rank, RankProgram, Tag};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

/// Holds the numbers of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogGp {
    /// Lasts from the last byte's leaving to its arrival.
    pub latency: Picoseconds,
    /// Gives the time that a processor spends on each message that it sends or receives.
    pub overhead: Picoseconds,
    /// How fast a message leaves.
    pub bandwidth: Bandwidth,
}

impl Default for LogGp {
    /// Takes 1.5 µs and 0.5 µs, of the order that MPI over EDR InfiniBand shows. It takes the 11.9
    /// GB/s of the paper's links (Bhowmik et al., Section V.B).
    fn default() -> Self {
        Self {
            latency: Picoseconds(1_500_000),
            overhead: Picoseconds(500_000),
            bandwidth: Bandwidth(11_900_000_000),
        }
    }
}

/// Holds the model's answer for a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// When the last rank is done.
    pub makespan: Picoseconds,
    /// How long each rank computes.
    pub computing: Vec<Picoseconds>,
}

impl Estimate {
    /// The share of all ranks' time in which they do not compute, from 0 to 1.
    #[must_use]
    pub fn communication_share(&self) -> f64 {
        let ranks = self.computing.len() as f64;
        let computing: f64 = self.computing.iter().map(|time| time.as_seconds()).sum();
        if self.makespan.0 == 0 {
            return 0.0;
        }
        1.0 - computing / (ranks * self.makespan.as_seconds())
    }
}

/// A program that the model cannot play.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum EstimateError {
    /// A collective that cannot be lowered.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// A receive from anyone or of any tag, whose match depends on the network.
    #[error("rank {rank}'s operation {operation} is a wildcard, which only a replay can match")]
    Wildcard {
        /// Names the rank.
        rank: Rank,
        /// Gives the index of its operation, with collectives lowered.
        operation: usize,
    },
    /// A factor of computation that is not above zero.
    #[error("computation cannot be {speedup} times as fast; take a number above 0")]
    Speedup {
        /// Gives the factor.
        speedup: f64,
    },
    /// No rank can go on.
    #[error("rank {rank} waits forever before its operation {operation}")]
    Stuck {
        /// The first rank that is not done.
        rank: Rank,
        /// Gives the index of its operation, with collectives lowered.
        operation: usize,
    },
}

/// Holds the arrivals of messages not yet received, by sender, receiver, communicator and tag.
type Arrivals = BTreeMap<(Rank, Rank, CommunicatorId, Tag), VecDeque<Picoseconds>>;

struct Lane<'a> {
    program: &'a RankProgram,
    /// When each operation started and when it was complete, as far as known.
    times: Vec<(Picoseconds, Option<Picoseconds>)>,
    /// Receives that no message has matched, with their keys.
    pending: Vec<(usize, (Rank, CommunicatorId, Tag))>,
    processor_free: Picoseconds,
    wire_free: Picoseconds,
    computing: Picoseconds,
}

/// Plays a program, one iteration, with computation faster by a factor (1 for none).
///
/// # Errors
/// Wildcards, collectives that cannot be lowered, a factor not above zero, and ranks that wait
/// for ever.
pub fn estimate(
    program: &Program,
    network: LogGp,
    speedup: f64,
) -> Result<Estimate, EstimateError> {
    if speedup.is_nan() || speedup <= 0.0 {
        return Err(EstimateError::Speedup { speedup });
    }
    let program = lower_program(program, &ByDefault)?;
    let lane = |program| Lane {
        program,
        times: Vec::new(),
        pending: Vec::new(),
        processor_free: Picoseconds(0),
        wire_free: Picoseconds(0),
        computing: Picoseconds(0),
    };
    let mut lanes: Vec<Lane> = program.ranks.iter().map(lane).collect();
    let mut arrivals = Arrivals::new();
    loop {
        let mut moved = false;
        for (me, lane) in (0..).zip(&mut lanes) {
            moved |= advance(me, lane, &mut arrivals, network, speedup)?;
        }
        if !moved {
            break;
        }
    }
    for (rank, lane) in (0..).zip(&lanes) {
        if lane.times.len() < lane.program.operations().len() || !lane.pending.is_empty() {
            return Err(EstimateError::Stuck { rank, operation: lane.times.len() });
        }
    }
    let ends = lanes.iter().flat_map(|lane| lane.times.iter().filter_map(|(_, end)| *end));
    Ok(Estimate {
        makespan: ends.max().unwrap_or_default(),
        computing: lanes.iter().map(|lane| lane.computing).collect(),
    })
}

/// Plays one rank until it waits for another; says whether it got anywhere.
fn advance(
    me: Rank,
    lane: &mut Lane,
    arrivals: &mut Arrivals,
    network: LogGp,
    speedup: f64,
) -> Result<bool, EstimateError> {
    let mut moved = false;
    loop {
        moved |= deliver(me, lane, arrivals, network);
        let index = lane.times.len();
        let Some(operation) = lane.program.operations().get(index) else { return Ok(moved) };
        let Some(ready) = ready(lane, index) else { return Ok(moved) };
        match *operation {
            Operation::Compute { duration } => {
                let duration = Picoseconds((duration.0 as f64 / speedup).round() as u64);
                let start = ready.max(lane.processor_free);
                lane.computing = later(lane.computing, duration);
                lane.processor_free = later(start, duration);
                lane.times.push((start, Some(lane.processor_free)));
            }
            Operation::Send { to, tag, communicator, size, .. } => {
                let start = ready.max(lane.processor_free);
                lane.processor_free = later(start, network.overhead);
                let leaving = lane.processor_free.max(lane.wire_free);
                lane.wire_free = later(leaving, wire_time(size, network.bandwidth));
                let arrival = later(lane.wire_free, network.latency);
                arrivals.entry((me, to, communicator, tag)).or_default().push_back(arrival);
                lane.times.push((lane.processor_free, Some(lane.wire_free)));
            }
            Operation::Receive { from, tag, communicator, .. } => {
                let (Some(from), Some(tag)) = (from, tag) else {
                    return Err(EstimateError::Wildcard { rank: me, operation: index });
                };
                lane.pending.push((index, (from, communicator, tag)));
                lane.times.push((ready, None));
            }
            Operation::Reduce { .. }
            | Operation::Copy { .. }
            | Operation::Delay { .. }
            | Operation::Kernel
            | Operation::Timed { .. } => {
                unreachable!("LogGP knows of messages and computation alone")
            }
            Operation::Collective { .. }
            | Operation::Join
            | Operation::Enter { .. }
            | Operation::Leave { .. } => lane.times.push((ready, Some(ready))),
        }
        moved = true;
    }
}

/// Completes the receives whose messages are under way.
fn deliver(me: Rank, lane: &mut Lane, arrivals: &mut Arrivals, network: LogGp) -> bool {
    let before = lane.pending.len();
    let times = &mut lane.times;
    lane.pending.retain(|(index, (from, communicator, tag))| {
        let queue = arrivals.get_mut(&(*from, me, *communicator, *tag));
        let Some(arrival) = queue.and_then(VecDeque::pop_front) else { return true };
        let start = times[*index].0;
        times[*index].1 = Some(later(arrival.max(start), network.overhead));
        false
    });
    lane.pending.len() < before
}

/// When an operation can start; `None` while that is not known.
fn ready(lane: &Lane, index: usize) -> Option<Picoseconds> {
    let mut ready = Picoseconds(0);
    for dependency in lane.program.dependencies(index) {
        ready = ready.max(match *dependency {
            Dependency::Started(on) => lane.times[on as usize].0,
            Dependency::Completed(on) => lane.times[on as usize].1?,
        });
    }
    Some(ready)
}

fn wire_time(size: Bytes, bandwidth: Bandwidth) -> Picoseconds {
    let time = u128::from(size.0) * u128::from(Picoseconds::SECOND.0);
    let time = time / u128::from(bandwidth.0.max(1));
    Picoseconds(u64::try_from(time).unwrap_or(u64::MAX))
}

/// Returns a time and a span behind it, or the largest time.
fn later(time: Picoseconds, span: Picoseconds) -> Picoseconds {
    Picoseconds(time.0.saturating_add(span.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwright::program::{RankBuilder, WORLD};

    const NETWORK: LogGp = LogGp {
        latency: Picoseconds(2_000),
        overhead: Picoseconds(100),
        bandwidth: Bandwidth(1_000_000_000_000),
    };

    fn program(ranks: Vec<RankProgram>) -> Program {
        let world = (0..ranks.len() as u32).collect();
        Program { name: "test".to_owned(), communicators: vec![world], regions: vec![], ranks }
    }

    fn send(to: Rank, size: u64) -> Operation {
        Operation::Send {
            to,
            tag: 0,
            communicator: WORLD,
            size: Bytes(size),
            route: RouteClass::Any,
        }
    }

    fn receive(from: Option<Rank>) -> Operation {
        Operation::Receive { from, tag: Some(0), communicator: WORLD, size: Bytes(500) }
    }

    #[test]
    fn a_message_takes_two_overheads_its_bytes_and_the_latency() {
        let (mut one, mut other) = (RankBuilder::default(), RankBuilder::default());
        one.run(Operation::Compute { duration: Picoseconds(8_000) });
        one.run(send(1, 500));
        other.run(receive(Some(0)));
        let program = program(vec![one.finish(), other.finish()]);
        let found = estimate(&program, NETWORK, 1.0).unwrap();
        assert_eq!(found.makespan, Picoseconds(8_000 + 100 + 500 + 2_000 + 100));
        assert_eq!(found.computing, [Picoseconds(8_000), Picoseconds(0)]);
        let faster = estimate(&program, NETWORK, 4.0).unwrap();
        assert_eq!(faster.makespan, Picoseconds(2_000 + 2_700));
        assert!((faster.communication_share() - (1.0 - 2_000.0 / 9_400.0)).abs() < 1e-12);
    }

    #[test]
    fn messages_of_a_rank_leave_one_after_another() {
        let (mut one, mut other) = (RankBuilder::default(), RankBuilder::default());
        let sends: Vec<_> = (0..3).map(|_| one.start(send(1, 1_000))).collect();
        one.wait(&sends);
        let receives: Vec<_> = (0..3).map(|_| other.start(receive(Some(0)))).collect();
        other.wait(&receives);
        let found = estimate(&program(vec![one.finish(), other.finish()]), NETWORK, 1.0).unwrap();
        assert_eq!(found.makespan, Picoseconds(100 + 3_000 + 2_000 + 100));
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        let only = |operation| {
            let mut rank = RankBuilder::default();
            rank.run(operation);
            estimate(&program(vec![rank.finish()]), NETWORK, 1.0)
        };
        let stuck = EstimateError::Stuck { rank: 0, operation: 1 };
        assert_eq!(only(receive(Some(0))), Err(stuck));
        let wildcard = EstimateError::Wildcard { rank: 0, operation: 0 };
        assert_eq!(only(receive(None)), Err(wildcard));
        assert_eq!(only(Operation::Join).unwrap().communication_share(), 0.0);
        for speedup in [0.0, -1.0, f64::NAN] {
            let refused = estimate(&program(vec![]), NETWORK, speedup);
            assert!(matches!(refused, Err(EstimateError::Speedup { .. })));
        }
        let longest = only(Operation::Compute { duration: Picoseconds(u64::MAX) });
        assert_eq!(longest.unwrap().makespan, Picoseconds(u64::MAX));
    }
}
