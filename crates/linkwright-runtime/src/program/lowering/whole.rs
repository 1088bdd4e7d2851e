//! Turns a whole program into one without collectives.

use thiserror::Error;

use super::{CollectiveCall, Lowering};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::program::{
    CommunicatorId, Dependency, Operation, Program, Rank, RankBuilder, RankProgram,
};

/// A call of a collective that names what is not there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum LoweringError {
    /// A communicator that the program does not have.
    Communicator {
        /// Gives the communicator.
        communicator: CommunicatorId,
        /// How many there are.
        communicators: usize,
    },
    /// A rank or root that the communicator does not have.
    Outside {
        /// Gives the index.
        index: u32,
        /// How many ranks there are.
        ranks: u32,
    },
}

impl Diagnose for LoweringError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Communicator { communicator, communicators } => {
                Diagnosis::of(format!("there is no communicator {communicator}")).remedy(format!(
                    "use one of the {communicators} that the program has, counted \
                        from 0"
                ))
            }
            Self::Outside { index, ranks } => Diagnosis::of(format!(
                "there is no index {index} in a communicator of {ranks} \
                    ranks"
            )),
        }
    }
}

/// Returns the program with every collective replaced by its messages.
///
/// Messages of collectives go over communicators of their own, one behind each that the program
/// has. So no receive of the program can take them. Calls follow one another in the order in which
/// every rank makes them, as MPI demands. The main loop stays marked.
///
/// # Errors
/// A communicator that the program does not have, and a collective called by a rank, or with a
/// root, that is not in it.
pub fn lower_program(
    program: &Program,
    lowering: &impl Lowering,
) -> Result<Program, LoweringError> {
    let lower = |(me, rank)| lower_rank(program, lowering, me, rank);
    let ranks = (0..).zip(&program.ranks).map(lower).collect::<Result<_, _>>()?;
    let communicators = [&program.communicators[..], &program.communicators[..]].concat();
    Ok(Program { communicators, ranks, ..program.clone() })
}

fn lower_rank(
    program: &Program,
    lowering: &impl Lowering,
    me: Rank,
    rank: &RankProgram,
) -> Result<RankProgram, LoweringError> {
    let own = program.communicators.len() as u32;
    let mut lowered = RankBuilder::default();
    // Where each operation of the program starts and completes in the lowered one.
    let mut places: Vec<(u32, u32)> = Vec::with_capacity(rank.operations().len());
    for (index, operation) in (0..).zip(rank.operations()) {
        match rank.body() {
            Some((start, _)) if start == index => lowered.begin_body(),
            Some((_, end)) if end == index => lowered.end_body(),
            _ => {}
        }
        let mapped = |dependency: &Dependency| match *dependency {
            Dependency::Completed(on) => Dependency::Completed(places[on as usize].1),
            Dependency::Started(on) => Dependency::Started(places[on as usize].0),
        };
        let before: Vec<_> = rank.dependencies(index as usize).iter().map(mapped).collect();
        let place = match *operation {
            Operation::Collective { kind, root, communicator, size } => {
                let members = members(program, communicator)?;
                let within = |rank| {
                    let found = members.iter().position(|member| *member == rank);
                    let ranks = members.len() as u32;
                    found.ok_or(LoweringError::Outside { index: rank, ranks })
                };
                let ranks = members.len() as u32;
                let root = if kind.has_root() { within(root)? as u32 } else { 0 };
                let variant = lowering.variant(0, communicator, kind, root);
                let index = within(me)? as u32;
                let call = CollectiveCall { kind, ranks, index, root, size, variant };
                let part = lowering.lower(&call);
                append(&mut lowered, &part, &before, members, own + communicator)
            }
            other => {
                let at = lowered.push(other, &before);
                (at, at)
            }
        };
        places.push(place);
    }
    if rank.body().is_some_and(|(_, end)| end as usize == rank.operations().len()) {
        lowered.end_body();
    }
    Ok(lowered.finish())
}

fn members(program: &Program, communicator: CommunicatorId) -> Result<&[Rank], LoweringError> {
    let communicators = program.communicators.len();
    let found = program.communicators.get(communicator as usize);
    let missing = LoweringError::Communicator { communicator, communicators };
    found.map(Vec::as_slice).ok_or(missing)
}

/// Appends one rank's part of a collective between a first and a last operation that do
/// nothing; returns these two.
fn append(
    lowered: &mut RankBuilder,
    part: &RankProgram,
    before: &[Dependency],
    members: &[Rank],
    own: CommunicatorId,
) -> (u32, u32) {
    let first = lowered.push(Operation::Join, before);
    let mut last = vec![Dependency::Completed(first)];
    for (index, operation) in part.operations().iter().enumerate() {
        let member = |index: u32| members[index as usize];
        let operation = match *operation {
            Operation::Send { to, tag, size, route, .. } => {
                Operation::Send { to: member(to), tag, communicator: own, size, route }
            }
            Operation::Receive { from, tag, size, .. } => {
                Operation::Receive { from: from.map(member), tag, communicator: own, size }
            }
            other => other,
        };
        let shifted = |dependency: &Dependency| match *dependency {
            Dependency::Completed(on) => Dependency::Completed(first + 1 + on),
            Dependency::Started(on) => Dependency::Started(first + 1 + on),
        };
        let mut dependencies = vec![Dependency::Completed(first)];
        dependencies.extend(part.dependencies(index).iter().map(shifted));
        last = vec![Dependency::Completed(lowered.push(operation, &dependencies))];
    }
    (first, lowered.push(Operation::Join, &last))
}

#[cfg(test)]
mod tests {
    use super::super::pairs::pairs;
    use super::*;
    use crate::program::{CollectiveKind, WORLD};
    use crate::units::{Bytes, Picoseconds};

    #[test]
    fn collectives_go_over_communicators_of_their_own() {
        let call = |rank: &mut RankBuilder, communicator| {
            let (kind, size) = (CollectiveKind::Broadcast, Bytes(8));
            rank.run(Operation::Collective { kind, root: 2, communicator, size });
        };
        let rank = |calls: &[CommunicatorId]| {
            let mut rank = RankBuilder::default();
            rank.begin_body();
            rank.run(Operation::Compute { duration: Picoseconds(5) });
            calls.iter().for_each(|communicator| call(&mut rank, *communicator));
            rank.end_body();
            rank.finish()
        };
        let program = Program {
            name: "two".to_owned(),
            communicators: vec![vec![0, 1, 2], vec![2, 1]],
            regions: vec![],
            ranks: vec![rank(&[WORLD]), rank(&[WORLD, 1]), rank(&[WORLD, 1])],
        };
        let lowered = lower_program(&program, &pairs).unwrap();
        assert_eq!(lowered.communicators.len(), 4);
        let messages = |rank: usize| -> Vec<_> {
            let operations = lowered.ranks[rank].operations().iter();
            operations
                .filter_map(|operation| match *operation {
                    Operation::Send { to, communicator, .. } => Some(("to", to, communicator)),
                    Operation::Receive { from, communicator, .. } => {
                        Some(("from", from.unwrap(), communicator))
                    }
                    _ => None,
                })
                .collect()
        };
        let both = |peer, communicator| [("from", peer, communicator), ("to", peer, communicator)];
        let world =
            |one, other| [("from", one, 2), ("from", other, 2), ("to", one, 2), ("to", other, 2)];
        assert_eq!(messages(0), world(1, 2));
        assert_eq!(messages(1), [&world(0, 2)[..], &both(2, 3)].concat());
        assert_eq!(messages(2), [&world(0, 1)[..], &both(1, 3)].concat());
        assert_eq!(lowered.ranks[0].body(), Some((0, 8)));
        let mut wrong = program;
        wrong.ranks[0] = rank(&[1]);
        let outside = LoweringError::Outside { index: 0, ranks: 2 };
        assert_eq!(lower_program(&wrong, &pairs), Err(outside));
        wrong.ranks[0] = rank(&[2]);
        let missing = LoweringError::Communicator { communicator: 2, communicators: 2 };
        assert_eq!(lower_program(&wrong, &pairs), Err(missing));
    }
}
