//! Writes a program as GOAL text.

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;

use super::Options;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::network::RouteClass;
use crate::network::packet::serialisation;
use crate::program::lowering::{Lowering, LoweringError, lower_program};
use crate::program::{
    CommunicatorId, Dependency, Operation, Program, Rank, RankProgram, Tag, WORLD,
};
use crate::units::{Bandwidth, Picoseconds};

/// Says why GOAL cannot express a program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum WriteError {
    /// A collective that cannot be lowered.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// Refuses a receive of any tag in a program with several communicators, or with collectives.
    AnyTag {
        /// Gives the number of the rank.
        rank: Rank,
    },
    /// A tag that stands for any in LogGOPSim.
    Tag {
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the tag.
        tag: Tag,
    },
    /// An operation that GOAL has no words for.
    NoWords {
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the operation's index.
        operation: u32,
        /// Describes the operation in words.
        what: &'static str,
        /// Says how to avoid it.
        remedy: &'static str,
    },
    /// Refuses a unit of time of zero.
    TimeUnit,
}

impl Diagnose for WriteError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Lowering(error) => error.diagnosis(),
            Self::AnyTag { rank } => Diagnosis::of(format!(
                "rank {rank} receives any tag, but its program has several communicators, which \
                 GOAL does not have"
            )),
            Self::Tag { rank, tag } => Diagnosis::of(format!(
                "rank {rank} uses the tag {tag}, which means any tag in GOAL"
            ))
            .remedy("use a smaller tag"),
            Self::NoWords { rank, operation, what, remedy } => Diagnosis::of(format!(
                "operation {operation} of rank {rank} is {what}, which GOAL cannot express"
            ))
            .remedy(*remedy),
            Self::TimeUnit => Diagnosis::of("the unit of time is 0").remedy("use 1 ns"),
        }
    }
}

/// Maps the program's tags to GOAL's.
enum Tags {
    /// They are the same, as there is but one communicator.
    Same,
    /// Holds a tag for each communicator and tag.
    New(BTreeMap<(CommunicatorId, Tag), Tag>),
}

/// Writes the text of a program's one iteration, with its collectives as messages.
///
/// # Errors
/// A collective that cannot be lowered, and operations, wildcards and tags that GOAL does not have.
pub fn write(
    program: &Program,
    options: &Options,
    lowering: &impl Lowering,
) -> Result<String, WriteError> {
    if options.time_unit.0 == 0 {
        return Err(WriteError::TimeUnit);
    }
    let program = lower_program(program, lowering)?;
    check_words(&program)?;
    let tags = tags(&program)?;
    let mut text = format!("num_ranks {}\n", program.ranks.len());
    for (me, rank) in (0..).zip(&program.ranks) {
        // Writing to a text never fails.
        let _ = write!(text, "\nrank {me} {{\n");
        for (index, operation) in rank.operations().iter().enumerate() {
            let _ = writeln!(text, "l{}: {}", index + 1, statement(operation, &tags, options));
        }
        write_dependencies(rank, &mut text);
        text.push_str("}\n");
    }
    Ok(text)
}

fn write_dependencies(rank: &RankProgram, text: &mut String) {
    for index in 0..rank.operations().len() {
        for dependency in rank.dependencies(index) {
            let (word, on) = match *dependency {
                Dependency::Completed(on) => ("requires", on),
                Dependency::Started(on) => ("irequires", on),
            };
            let _ = writeln!(text, "l{} {word} l{}", index + 1, u64::from(on) + 1);
        }
    }
}

fn statement(operation: &Operation, tags: &Tags, options: &Options) -> String {
    let goal_tag = |communicator, tag| match tags {
        Tags::Same => tag,
        Tags::New(tags) => tags[&(communicator, tag)],
    };
    match *operation {
        Operation::Compute { duration } => {
            format!("calc {}", rounded(duration, options.time_unit))
        }
        Operation::Send { to, tag, communicator, size, .. } => {
            format!("send {}b to {to} tag {}", size.0, goal_tag(communicator, tag))
        }
        Operation::Receive { from, tag, communicator, size } => {
            let from = from.map_or("-1".to_owned(), |rank| rank.to_string());
            let tag = tag.map_or("-1".to_owned(), |tag| goal_tag(communicator, tag).to_string());
            format!("recv {}b from {from} tag {tag}", size.0)
        }
        Operation::Reduce { size, rate } => {
            // A rate is stated where a reduction can be written.
            let rate = rate.map_or(u64::MAX, |rate| rate.0.max(1));
            let duration = Picoseconds(serialisation(size.0, Bandwidth(rate)));
            format!("calc {}", rounded(duration, options.time_unit))
        }
        // No collective is left in a lowered program, and no copy or delay in one that can be written.
        Operation::Collective { .. }
        | Operation::Timed { .. }
        | Operation::Copy { .. }
        | Operation::Delay { .. }
        | Operation::Kernel
        | Operation::Join
        | Operation::Enter { .. }
        | Operation::Leave { .. } => "calc 0".to_owned(),
    }
}

/// Refuses what GOAL cannot say: a network of equal links between ranks is all that it has.
fn check_words(program: &Program) -> Result<(), WriteError> {
    for (rank, of_rank) in (0..).zip(&program.ranks) {
        for (operation, what) in (0..).zip(of_rank.operations()) {
            let (what, remedy) = match *what {
                Operation::Copy { .. } => ("a copy", "leave it out, or make it a computation"),
                Operation::Delay { .. } => ("a delay", "make it a computation"),
                Operation::Kernel => ("a kernel in GPUs' memory", "make it a computation"),
                Operation::Timed { .. } => ("a collective of a known time", "leave out its time"),
                Operation::Reduce { rate: None, .. } => {
                    ("a reduction as fast as the GPU's memory", "state its rate")
                }
                Operation::Send { route, .. } if route != RouteClass::Any => {
                    ("a send over stated links", "let it take any")
                }
                _ => continue,
            };
            return Err(WriteError::NoWords { rank, operation, what, remedy });
        }
    }
    Ok(())
}

/// Rounds a duration to whole units, half up.
fn rounded(duration: Picoseconds, unit: Picoseconds) -> u64 {
    let (whole, rest) = (duration.0 / unit.0, duration.0 % unit.0);
    whole + u64::from(rest >= unit.0 - rest)
}

/// Finds the tags of a program without collectives.
fn tags(program: &Program) -> Result<Tags, WriteError> {
    let mut used = BTreeMap::new();
    let mut any = None;
    for (rank, operations) in (0..).zip(&program.ranks) {
        for operation in operations.operations() {
            let (communicator, tag) = match *operation {
                Operation::Send { communicator, tag, .. } => (communicator, Some(tag)),
                Operation::Receive { communicator, tag, .. } => (communicator, tag),
                _ => continue,
            };
            match tag {
                Some(tag) => drop(used.insert((communicator, tag), rank)),
                None => any = any.or(Some((communicator, rank))),
            }
        }
    }
    let world_alone = used.keys().all(|(communicator, _)| *communicator == WORLD);
    if world_alone && any.is_none_or(|(communicator, _)| communicator == WORLD) {
        return match used.get(&(WORLD, Tag::MAX)) {
            Some(rank) => Err(WriteError::Tag { rank: *rank, tag: Tag::MAX }),
            None => Ok(Tags::Same),
        };
    }
    match any {
        Some((_, rank)) => Err(WriteError::AnyTag { rank }),
        None => Ok(Tags::New(used.into_keys().zip(0..).collect())),
    }
}
