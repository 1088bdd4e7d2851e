//! A player for tests: programs without collectives, where a send completes only with its
//! receive, so that whatever depends on buffering stands still.

use std::collections::{BTreeMap, VecDeque};

use super::{CommunicatorId, Dependency, Operation, Rank, RankProgram, Tag};

/// Holds the values that a send and its receive have in common.
type Key = (Rank, Rank, CommunicatorId, Tag);

fn key(me: Rank, operation: &Operation) -> Option<(bool, Key)> {
    match *operation {
        Operation::Send { to, tag, communicator, .. } => Some((true, (me, to, communicator, tag))),
        Operation::Receive { from: Some(from), tag: Some(tag), communicator, .. } => {
            Some((false, (from, me, communicator, tag)))
        }
        Operation::Receive { .. } | Operation::Collective { .. } | Operation::Timed { .. } => {
            panic!("only messages of known partners can be played: {operation:?}")
        }
        _ => None,
    }
}

/// Plays the programs; returns how many operations are left undone.
pub fn play(programs: &[RankProgram]) -> usize {
    let mut posted: BTreeMap<(bool, Key), VecDeque<(usize, usize)>> = BTreeMap::new();
    let undone = |program: &RankProgram| vec![false; program.operations().len()];
    let mut started: Vec<_> = programs.iter().map(undone).collect();
    let mut complete = started.clone();
    loop {
        let mut moved = false;
        for (me, program) in programs.iter().enumerate() {
            for (index, operation) in program.operations().iter().enumerate() {
                let ready = |dependency: &Dependency| match *dependency {
                    Dependency::Completed(on) => complete[me][on as usize],
                    Dependency::Started(on) => started[me][on as usize],
                };
                if started[me][index] || !program.dependencies(index).iter().all(ready) {
                    continue;
                }
                (started[me][index], moved) = (true, true);
                let Some((sends, key)) = key(me as Rank, operation) else {
                    complete[me][index] = true;
                    continue;
                };
                let partner = posted.get_mut(&(!sends, key)).and_then(VecDeque::pop_front);
                match partner {
                    None => posted.entry((sends, key)).or_default().push_back((me, index)),
                    Some((peer, at)) => (complete[me][index], complete[peer][at]) = (true, true),
                }
            }
        }
        if !moved {
            return complete.iter().flatten().filter(|done| !**done).count();
        }
    }
}
