//! A step whose ranks all behave alike, by the program of one of them.
//!
//! What it represents: where every rank does the same and only collectives join them, no rank waits for another longer
//! than its own collectives last, each of which begins on all ranks at once, on links that carry nothing else. The
//! program of the first rank, in which each collective is a time that passes, then takes as long as that of all. What it
//! leaves out: transfers of samples that share links with a collective.

use crate::program::{Collective, Operation, Program, RankProgram};
use crate::units::{Bytes, Picoseconds};

/// The collectives of a program, each once: what they are, and what each rank contributes.
#[must_use]
pub fn collectives_of(program: &Program) -> Vec<(Collective, Bytes)> {
    let operations = program.ranks.iter().flat_map(RankProgram::operations);
    let mut found: Vec<_> = operations
        .filter_map(|operation| match *operation {
            Operation::Collective { kind, size, .. } => Some((kind, size)),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The program of the first rank alone, in which each collective lasts as long as `time` says.
///
/// `None` where it sends or receives, so that it would wait for another.
#[must_use]
pub fn alone(
    program: &Program,
    time: impl Fn(Collective, Bytes) -> Picoseconds,
) -> Option<Program> {
    let first = program.ranks.first()?;
    let is_met = |operation: &Operation| {
        matches!(operation, Operation::Send { .. } | Operation::Receive { .. })
    };
    if first.operations().iter().any(is_met) {
        return None;
    }
    let rank = first.mapped(|operation| match operation {
        Operation::Collective { kind, size, .. } => Operation::Delay { duration: time(kind, size) },
        other => other,
    });
    Some(Program {
        name: program.name.clone(),
        communicators: vec![vec![0]],
        regions: program.regions.clone(),
        ranks: vec![rank],
    })
}
