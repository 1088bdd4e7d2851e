//! A schedule run on real buffers, whose ranks share as many threads as there are cores.
//!
//! It does the work of the kernel that a schedule is written for. Blocks run side by side,
//! connections are bounded, and data is cut into pieces that follow each other through all steps.
//! As the check comes first, it ends, and every run gives the same bits. The content of a chunk
//! depends on the schedule alone. It leaves out the machine: its bandwidth is that of this
//! computer's memory and says nothing of a GPU's links.

mod element;
mod exchange;
mod lengths;
mod memory;
mod reference;
mod worker;

use std::thread;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

use crate::collectives::Collective;
use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::check::{DEFAULT_SLOTS, ScheduleFault, check_with_slots};
use crate::collectives::schedule::placement::{MemoryMap, Placement};

use lengths::Lengths;
use memory::{RankMemory, Widths};
use worker::{Connections, Pieces, Worker, connections};

pub use element::{Element, Reduction};
pub use exchange::{Exchange, ThreadExchange};
pub use reference::reference;

/// The most ranks, since each is a thread.
pub const MOST_RANKS: usize = 256;

/// How a schedule is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecuteOptions {
    /// Whether input and output share memory; by default apart, where the schedule may.
    pub placement: Option<Placement>,
    /// Limits the bytes that a step moves at once. A longer run is cut.
    pub piece: usize,
    /// Messages that a connection holds.
    pub slots: usize,
    /// The most bytes of memory that all ranks may take together.
    pub memory: u64,
}

impl Default for ExecuteOptions {
    /// Takes pieces of 128 KiB, which stay in a core's cache between the sender and the receiver.
    fn default() -> Self {
        Self { placement: None, piece: 128 << 10, slots: DEFAULT_SLOTS, memory: 16 << 30 }
    }
}

/// Why a schedule cannot be run on some inputs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ExecuteError {
    /// A schedule that would give wrong results or none.
    #[error(transparent)]
    Schedule(#[from] ScheduleFault),
    /// A placement that the schedule does not declare.
    Placement {
        /// Names the schedule.
        name: String,
        /// Names the placement asked for.
        placement: Placement,
    },
    /// A root that takes no part.
    Root {
        /// Names the root.
        root: usize,
        /// Counts the ranks.
        ranks: usize,
    },
    /// Inputs for more or fewer ranks than the schedule has.
    Inputs {
        /// Counts the schedule's ranks.
        ranks: usize,
        /// Counts the inputs.
        inputs: usize,
    },
    /// An input that is not as long as the others, or that nothing reads.
    InputLength {
        /// Names the rank.
        rank: usize,
        /// Counts its elements.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// An input that does not divide among the ranks.
    Indivisible {
        /// Names the rank.
        rank: usize,
        /// Counts its elements.
        found: usize,
        /// Counts the shards, one for each rank.
        shards: usize,
    },
    /// More ranks than threads are allowed.
    TooManyRanks {
        /// Counts the ranks.
        ranks: usize,
    },
    /// Refuses more memory than allowed.
    Memory {
        /// Counts the bytes needed.
        needed: u128,
        /// Counts the bytes allowed.
        allowed: u64,
    },
    /// Refuses a piece or a connection without room.
    Zero {
        /// Names the option.
        what: &'static str,
    },
    /// A thread that did not start, or that failed.
    Thread {
        /// Names the rank.
        rank: usize,
        /// Tells the problem.
        problem: String,
    },
}

impl Diagnose for ExecuteError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Schedule(error) => error.diagnosis(),
            Self::Placement { name, placement } => {
                Diagnosis::of(format!("schedule `{name}` does not run {placement}"))
            }
            Self::Root { root, ranks } => Diagnosis::of(format!(
                "the root is rank {root}, but there are inputs for {ranks} ranks"
            )),
            Self::Inputs { ranks, inputs } => Diagnosis::of(format!(
                "the schedule has {ranks} ranks, but {inputs} inputs were given"
            ))
            .remedy("give one input for each rank"),
            Self::InputLength { rank, found, expected } => {
                Diagnosis::of(format!("rank {rank}'s input has {found} elements"))
                    .remedy(format!("give {expected} elements"))
            }
            Self::Indivisible { rank, found, shards } => Diagnosis::of(format!(
                "rank {rank}'s input has {found} elements, which do not divide into {shards} \
                     shards"
            )),
            Self::TooManyRanks { ranks } => {
                Diagnosis::of(format!("the schedule has {ranks} ranks"))
                    .remedy(format!("execute at most {MOST_RANKS} ranks; each takes a thread"))
            }
            Self::Memory { needed, allowed } => {
                Diagnosis::of(format!("executing the schedule takes {needed} bytes of memory"))
                    .remedy(format!("raise the limit of {allowed} bytes, or give smaller inputs"))
            }
            Self::Zero { what } => Diagnosis::of(format!("{what} must be at least 1")),
            Self::Thread { rank, problem } => {
                Diagnosis::of(format!("the thread of rank {rank} {problem}"))
                    .remedy("raise the limit of processes (ulimit -u), or run fewer ranks")
            }
        }
    }
}

/// Runs a schedule on one input for each rank and returns the output of each.
///
/// Any number of elements will do where ranks hold whole buffers. A buffer that is shared out among
/// ranks must divide by their number. For gather and all-gather, inputs may differ in length. Ranks
/// that the collective reads nothing from give an empty input. A shard's elements need not divide
/// into its chunks: the rest follows in one more pass.
///
/// # Errors
/// A schedule that does not check, inputs that do not fit it, or more memory or threads than
/// allowed.
pub fn execute<T: Element>(
    schedule: &Schedule,
    inputs: Vec<Vec<T>>,
    reduction: Reduction,
    options: &ExecuteOptions,
) -> Result<Vec<Vec<T>>, ExecuteError> {
    for (what, value) in [("slots", options.slots), ("piece", options.piece)] {
        if value == 0 {
            return Err(ExecuteError::Zero { what });
        }
    }
    let report = check_with_slots(schedule, options.slots)?;
    let placement = options.placement.unwrap_or(report.placements[0]);
    if !report.placements.contains(&placement) {
        return Err(ExecuteError::Placement { name: schedule.name.clone(), placement });
    }
    let ranks = schedule.ranks();
    if ranks > MOST_RANKS {
        return Err(ExecuteError::TooManyRanks { ranks });
    }
    if inputs.len() != ranks {
        return Err(ExecuteError::Inputs { ranks, inputs: inputs.len() });
    }
    let input_lengths: Vec<_> = inputs.iter().map(Vec::len).collect();
    let lengths = Lengths::new(schedule.collective, &input_lengths)?;
    let connections = connections(schedule);
    let pieces = pieces::<T>(schedule, &lengths, options.piece);
    let needed = memory_needed::<T>(schedule, placement, pieces, connections.len(), options.slots);
    if needed > u128::from(options.memory) {
        return Err(ExecuteError::Memory { needed, allowed: options.memory });
    }
    let share = Share::new(ranks);
    let ends = connections.keys().map(|it| (share.thread_of(it.from), share.thread_of(it.to)));
    let exchange = ThreadExchange::new(share.threads(), &ends.collect::<Vec<_>>(), options.slots);
    let memory = |rank, input| RankMemory::new(schedule, rank, placement, &lengths, input);
    let reduction = reduction_of(schedule.collective, reduction);
    let connections = &connections;
    let run = Run { schedule, connections, exchange: &exchange, reduction, pieces, share };
    run.threads(inputs, memory, |rank, memory| memory.into_output(rank, &lengths))
}

/// How values become one: as asked, but signals of a barrier, which may be heard more than once, by
/// the largest.
const fn reduction_of(collective: Collective, asked: Reduction) -> Reduction {
    if collective.may_repeat() { Reduction::Max } else { asked }
}

/// Returns the pieces that keep the longest run of chunks within `bytes` bytes.
fn pieces<T>(schedule: &Schedule, lengths: &Lengths, bytes: usize) -> Pieces {
    let longest = longest_run(schedule);
    let widths = Widths::new(schedule, lengths);
    let widest = widths.even.max(widths.rest).max(1);
    Pieces { widths, piece: (bytes / (longest * size_of::<T>())).clamp(1, widest) }
}

fn longest_run(schedule: &Schedule) -> usize {
    let blocks = schedule.programs.iter().flat_map(|program| &program.blocks);
    blocks.flat_map(|block| &block.steps).map(|step| step.count as usize).max().unwrap_or(0).max(1)
}

fn memory_needed<T>(
    schedule: &Schedule,
    placement: Placement,
    pieces: Pieces,
    connections: usize,
    slots: usize,
) -> u128 {
    let chunks = (0..schedule.ranks()).map(|rank| MemoryMap::new(schedule, rank, placement).len());
    let buffers = chunks.sum::<usize>() as u128 * (pieces.widths.even + pieces.widths.rest) as u128;
    let messages = (connections as u128)
        .saturating_mul(slots as u128)
        .saturating_mul(longest_run(schedule) as u128 * pieces.piece as u128);
    buffers.saturating_add(messages).saturating_mul(size_of::<T>() as u128)
}

/// Which ranks stand on which thread: neighbours on one, as many on each.
#[derive(Debug, Clone, Copy)]
struct Share {
    ranks: usize,
    /// Ranks of a thread; the last may have fewer.
    each: usize,
}

impl Share {
    /// A thread for each core, so that no rank that can go on waits for one that cannot.
    fn new(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, Into::into);
        Self { ranks, each: ranks.div_ceil(cores).max(1) }
    }

    const fn thread_of(self, rank: usize) -> usize {
        rank / self.each
    }

    const fn threads(self) -> usize {
        self.ranks.div_ceil(self.each)
    }
}

/// Holds the data that all ranks share.
struct Run<'a, E> {
    schedule: &'a Schedule,
    connections: &'a Connections,
    exchange: &'a E,
    reduction: Reduction,
    pieces: Pieces,
    share: Share,
}

/// Ends the other ranks when one of them fails, so that none waits for it for ever.
struct StopOnFailure<'a, T, E: Exchange<T>>(&'a E, std::marker::PhantomData<T>);

impl<T, E: Exchange<T>> Drop for StopOnFailure<'_, T, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

impl<E> Run<'_, E> {
    /// Starts the threads. Each makes the memory of its ranks, runs, and gives their outputs.
    fn threads<T: Element>(
        &self,
        inputs: Vec<Vec<T>>,
        memory: impl Fn(usize, Vec<T>) -> RankMemory<T> + Sync,
        output: impl Fn(usize, RankMemory<T>) -> Vec<T> + Sync,
    ) -> Result<Vec<Vec<T>>, ExecuteError>
    where
        E: Exchange<T>,
    {
        let ranks_thread = |first: usize, inputs: Vec<Vec<T>>| {
            let _guard = StopOnFailure(self.exchange, std::marker::PhantomData::<T>);
            let worker = |(rank, input)| Worker {
                rank,
                exchange: self.exchange,
                reduction: self.reduction,
                memory: memory(rank, input),
                pieces: self.pieces,
            };
            let workers = (first..).zip(inputs).map(worker).collect();
            let thread = self.share.thread_of(first);
            let memories = worker::run(thread, workers, self.schedule, self.connections)?;
            let outputs = (first..).zip(memories).map(|(rank, memory)| output(rank, memory));
            Some(outputs.collect::<Vec<_>>())
        };
        let ranks_thread = &ranks_thread;
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.share.threads());
            let mut failed = None;
            let mut inputs = inputs.into_iter();
            for first in (0..self.share.ranks).step_by(self.share.each) {
                let builder = thread::Builder::new().name(format!("rank {first}"));
                let own = inputs.by_ref().take(self.share.each).collect();
                match builder.spawn_scoped(scope, move || ranks_thread(first, own)) {
                    Ok(handle) => threads.push((first, handle)),
                    Err(error) => {
                        self.exchange.stop();
                        let problem = format!("did not start: {error}");
                        failed = Some(ExecuteError::Thread { rank: first, problem });
                        break;
                    }
                }
            }
            let mut outputs: Vec<Vec<T>> = Vec::with_capacity(self.share.ranks);
            for (rank, handle) in threads {
                match handle.join() {
                    Ok(found) => outputs.extend(found.into_iter().flatten()),
                    Err(_) => {
                        let problem = "failed".to_owned();
                        failed.get_or_insert(ExecuteError::Thread { rank, problem });
                    }
                }
            }
            failed.map_or(Ok(outputs), Err)
        })
    }
}
