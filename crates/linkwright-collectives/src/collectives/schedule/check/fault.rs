//! Lists the faults that a schedule can have.

use std::fmt;

use thiserror::Error;

use crate::collectives::schedule::placement::Placement;
use crate::collectives::schedule::{Buffer, StepOperation};
use crate::diagnostic::{Diagnose, Diagnosis};

/// Names a step by rank, block and position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepPlace {
    /// Names the rank.
    pub rank: usize,
    /// Gives the index in the rank's blocks.
    pub block: usize,
    /// Gives the index in the block's steps.
    pub step: usize,
}

impl fmt::Display for StepPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} block {} step {}", self.rank, self.block, self.step)
    }
}

/// Says why a step waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The other comes before it in its block.
    Block,
    /// It names the other in its `after` list.
    After,
    /// The other sends what it receives.
    Message,
    /// The other must first receive what fills the connection.
    Room,
}

/// One step that waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The step that waits.
    pub step: StepPlace,
    /// The step that it waits for.
    pub waits_for: StepPlace,
    /// Says why it waits.
    pub cause: Cause,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, waits_for, cause } = self;
        match cause {
            Cause::Block => write!(f, "{step} comes after {waits_for} in its block"),
            Cause::After => write!(f, "{step} depends on {waits_for}"),
            Cause::Message => write!(f, "{step} waits for what {waits_for} sends"),
            Cause::Room => {
                write!(f, "{step} cannot send until {waits_for} has received what fills the slots")
            }
        }
    }
}

/// A circle of waits, shortened where it is long.
fn circle(waits: &[Wait]) -> String {
    const SHOWN: usize = 8;
    let mut text = String::new();
    for wait in waits.iter().take(SHOWN) {
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&wait.to_string());
    }
    if waits.len() > SHOWN {
        text.push_str(&format!("; and so on through {} more steps", waits.len() - SHOWN));
    }
    text
}

/// Returns the word for a buffer.
const fn word(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::Input => "input",
        Buffer::Output => "output",
        Buffer::Scratch => "scratch",
    }
}

/// The first thing that is wrong with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ScheduleFault {
    /// More than the checker takes on.
    TooLarge {
        /// Names the thing that there is too much of.
        what: &'static str,
        /// Counts it, or gives the first amount past the limit.
        found: usize,
        /// Gives the limit.
        limit: usize,
    },
    /// The schedule's own figures do not fit together.
    Header {
        /// Names the fault, as the end of a sentence.
        problem: String,
    },
    /// A channel's own figures do not fit together.
    Channel {
        /// Names the channel.
        channel: usize,
        /// Names the fault, as the end of a sentence.
        problem: String,
    },
    /// A block names something that does not exist.
    Block {
        /// Names the rank.
        rank: usize,
        /// Names the block.
        block: usize,
        /// Names the fault, as the end of a sentence.
        problem: String,
    },
    /// Refuses two blocks of a rank that hold the same end of a connection.
    ConnectionTwice {
        /// Names the rank.
        rank: usize,
        /// Names the block that came first.
        first: usize,
        /// Names the other block.
        second: usize,
        /// "send to" or "receive from".
        direction: &'static str,
        /// Names the other rank.
        peer: usize,
        /// Names the channel.
        channel: usize,
    },
    /// A step that needs a peer in a block that has none.
    NoPeer {
        /// Names the step.
        place: StepPlace,
        /// Names its operation.
        operation: StepOperation,
        /// "send to" or "receive from".
        direction: &'static str,
    },
    /// A step without the source or destination that it needs.
    NoSlice {
        /// Names the step.
        place: StepPlace,
        /// Names its operation.
        operation: StepOperation,
        /// Says "source" or "destination".
        what: &'static str,
    },
    /// A step that moves nothing.
    NoChunks {
        /// Names the step.
        place: StepPlace,
        /// Names its operation.
        operation: StepOperation,
    },
    /// Refuses a step beyond the end of a buffer.
    OutOfBuffer {
        /// Names the step.
        place: StepPlace,
        /// Names the buffer.
        buffer: Buffer,
        /// Gives the first chunk of the step.
        offset: usize,
        /// Gives its last chunk.
        last: usize,
        /// Gives the buffer's length in chunks.
        length: usize,
    },
    /// A dependency on a step that does not exist.
    UnknownDependency {
        /// Names the step.
        place: StepPlace,
        /// The block that it names.
        block: usize,
        /// The step that it names.
        step: usize,
    },
    /// A run that is sent but never received, or awaited but never sent.
    Unmatched {
        /// Names the step.
        place: StepPlace,
        /// Names the thing that is missing.
        problem: String,
        /// Names the channel.
        channel: usize,
        /// Numbers the run of the connection, from one.
        number: usize,
    },
    /// A run that is sent with one length and received with another.
    CountsDiffer {
        /// Names the sending step.
        send: StepPlace,
        /// Counts its chunks.
        sent: u32,
        /// Names the receiving step.
        receive: StepPlace,
        /// Counts its chunks.
        received: u32,
    },
    /// Steps of a rank that depend on each other in a circle.
    DependencyCycle(Vec<Wait>),
    /// Steps that wait for each other for ever.
    Deadlock(Vec<Wait>),
    /// A write to what may only be read.
    WritesInput {
        /// Names the step.
        place: StepPlace,
        /// How the schedule runs.
        placement: Placement,
    },
    /// Refuses a source and a destination that overlap without being the same.
    Overlap {
        /// Names the step.
        place: StepPlace,
        /// How the schedule runs.
        placement: Placement,
    },
    /// Refuses two steps that use a chunk at once.
    Race {
        /// Names one step.
        first: StepPlace,
        /// Whether it writes.
        first_writes: bool,
        /// Names the other.
        second: StepPlace,
        /// Whether it writes.
        second_writes: bool,
        /// The buffer, as the second step names it.
        buffer: Buffer,
        /// Names the chunk.
        chunk: usize,
        /// How the schedule runs.
        placement: Placement,
    },
    /// A read of what was never written.
    Unwritten {
        /// Names the step.
        place: StepPlace,
        /// Names the buffer.
        buffer: Buffer,
        /// Names the chunk.
        chunk: usize,
        /// How the schedule runs.
        placement: Placement,
    },
    /// Refuses a reduction of two values that share a contribution.
    CountedTwice {
        /// Names the step.
        place: StepPlace,
        /// The rank whose contribution it is.
        rank: usize,
        /// Names the chunk of that rank's input.
        chunk: usize,
        /// How the schedule runs.
        placement: Placement,
    },
    /// A reduction of different chunks of the input, which no collective asks for.
    MixedChunks {
        /// Names the step.
        place: StepPlace,
        /// Names one chunk.
        first: usize,
        /// Names the other.
        second: usize,
        /// How the schedule runs.
        placement: Placement,
    },
    /// An output that does not end as it should.
    WrongOutput {
        /// Names the rank.
        rank: usize,
        /// Names the chunk of its output.
        chunk: usize,
        /// Describes the content that it should hold.
        expected: String,
        /// Describes the content that it holds.
        found: String,
        /// The step that wrote it last, where one did.
        writer: Option<StepPlace>,
        /// How the schedule runs.
        placement: Placement,
    },
}

impl Diagnose for ScheduleFault {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::TooLarge { what, found, limit } => {
                Diagnosis::of(format!("the schedule has {found} {what}"))
                    .remedy(format!("make it at most {limit}"))
            }
            Self::Header { problem } => Diagnosis::of(format!("the schedule {problem}")),
            Self::Channel { channel, problem } => {
                Diagnosis::of(format!("channel {channel} {problem}"))
            }
            Self::Block { rank, block, problem } => {
                Diagnosis::of(format!("rank {rank} block {block} {problem}"))
            }
            Self::ConnectionTwice { rank, first, second, direction, peer, channel } => {
                Diagnosis::of(format!(
                    "rank {rank} blocks {first} and {second} both {direction} rank {peer} on \
                     channel {channel}"
                ))
                .remedy("use one block for each connection")
            }
            Self::NoPeer { place, operation, direction } => Diagnosis::of(format!(
                "{place} is a {operation:?}, but its block has no peer to {direction}"
            )),
            Self::NoSlice { place, operation, what } => {
                Diagnosis::of(format!("{place} is a {operation:?}, but it names no {what}"))
            }
            Self::NoChunks { place, operation } => {
                Diagnosis::of(format!("{place} is a {operation:?} of 0 chunks"))
                    .remedy("move at least 1 chunk")
            }
            Self::OutOfBuffer { place, buffer, offset, last, length } => Diagnosis::of(format!(
                "{place} uses chunks {offset} to {last} of the {} buffer, which has {length}",
                word(*buffer)
            )),
            Self::UnknownDependency { place, block, step } => Diagnosis::of(format!(
                "{place} depends on block {block} step {step} of its rank, which does not exist"
            )),
            Self::Unmatched { place, problem, channel, number } => Diagnosis::of(format!(
                "{place} {problem} on channel {channel}, in run {number} of this connection"
            )),
            Self::CountsDiffer { send, sent, receive, received } => Diagnosis::of(format!(
                "{send} sends {sent} chunks, but {receive} receives {received}"
            )),
            Self::DependencyCycle(error) => {
                Diagnosis::of(format!("steps depend on each other in a circle: {}", circle(error)))
            }
            Self::Deadlock(error) => Diagnosis::of(format!("deadlock: {}", circle(error))),
            Self::WritesInput { place, placement } => Diagnosis::of(format!(
                "{place} writes the input, which must stay as it is when the schedule runs \
                 {placement}"
            )),
            Self::Overlap { place, placement } => Diagnosis::of(format!(
                "{place} reads and writes ranges that overlap in part when it runs {placement}"
            )),
            Self::Race { first, first_writes, second, second_writes, buffer, chunk, placement } => {
                Diagnosis::of(format!(
                    "race when run {placement}: {first} {} and {second} {} chunk {chunk} of the \
                     {} buffer in no fixed order",
                    verb(*first_writes),
                    verb(*second_writes),
                    word(*buffer)
                ))
            }
            Self::Unwritten { place, buffer, chunk, placement } => Diagnosis::of(format!(
                "{place} reads chunk {chunk} of the {} buffer before anything writes it, when run \
                 {placement}",
                word(*buffer)
            )),
            Self::CountedTwice { place, rank, chunk, placement } => Diagnosis::of(format!(
                "{place} counts rank {rank}'s chunk {chunk} twice, when run {placement}: both \
                 values that it reduces hold it"
            )),
            Self::MixedChunks { place, first, second, placement } => Diagnosis::of(format!(
                "{place} reduces chunk {first} of the input with chunk {second}, when run \
                     {placement}"
            ))
            .remedy("reduce only equal chunks of different ranks"),
            Self::WrongOutput { rank, chunk, expected, found, writer, placement } => {
                Diagnosis::of(format!(
                    "rank {rank} must end with {expected} in chunk {chunk} of its output, but has \
                     {found}, when run {placement}{}",
                    writer.map_or_else(String::new, |place| format!("; {place} wrote it last"))
                ))
            }
        }
    }
}

const fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}
