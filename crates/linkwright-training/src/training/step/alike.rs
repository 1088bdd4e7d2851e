//! A step in which servers do the same, by the program of one of them.
//!
//! The model applies where only collectives join the GPUs of a step. Servers of one kind whose GPUs
//! do the same take the same times, so one of them is played. In it, each collective lasts as long
//! as it takes on all GPUs. It begins when the last GPU that is played has entered it. The model
//! leaves out the part of a collective that a GPU has before the others. It leaves out transfers of
//! samples that share links with a collective.

use std::collections::BTreeMap;

use crate::program::{CollectiveKind, CopyDirection, Operation, Program, Rank, RankProgram};
use crate::system::System;
use crate::units::{Bytes, Picoseconds};

/// Counts the collectives of a step, which all ranks call, by their kind and the bytes that each
/// rank contributes.
#[must_use]
pub fn collectives_of(program: &Program) -> BTreeMap<(CollectiveKind, Bytes), u64> {
    let mut calls = BTreeMap::new();
    for operation in program.ranks.iter().take(1).flat_map(RankProgram::operations) {
        if let Operation::Collective { kind, size, .. } = *operation {
            *calls.entry((kind, size)).or_default() += 1;
        }
    }
    calls
}

/// Servers that stand for all that do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Representatives {
    /// Holds the work of their GPUs.
    pub program: Program,
    /// Of each rank of this program: which of the whole program's it is, and for how many it stands.
    pub ranks: Vec<(Rank, u32)>,
    /// Of each server that is played, all that do the same, itself first.
    pub servers: Vec<Vec<u32>>,
}

impl Representatives {
    /// Of a program of GPUs by their ids in the system; each collective lasts as long as `time` says.
    ///
    /// `None` where ranks exchange data in other ways, so that they would wait for one that is not played.
    #[must_use]
    pub fn of(
        program: &Program,
        system: &System,
        gpus: &[u32],
        time: impl Fn(CollectiveKind, Bytes) -> Picoseconds,
    ) -> Option<Self> {
        if program.ranks.iter().flat_map(RankProgram::operations).any(meets) {
            return None;
        }
        let mut servers: BTreeMap<u32, Vec<(u32, Rank)>> = BTreeMap::new();
        for (rank, gpu) in (0..).zip(gpus) {
            let place = system.gpu(*gpu);
            servers.entry(place.server).or_default().push((place.index, rank));
        }
        // This holds the first server of each sort. A sort has the server's kind, the GPUs in use,
        // and their programs.
        let mut distinct: Vec<&RankProgram> = Vec::new();
        let mut sorts: BTreeMap<_, (Vec<Rank>, Vec<u32>)> = BTreeMap::new();
        for (server, mut used) in servers {
            used.sort_unstable();
            let of_rank = |(index, rank): &(u32, Rank)| {
                let does = &program.ranks[*rank as usize];
                let known = distinct.iter().position(|known| *known == does);
                let known = known.unwrap_or_else(|| {
                    distinct.push(does);
                    distinct.len() - 1
                });
                (*index, known)
            };
            let sort: Vec<(u32, usize)> = used.iter().map(of_rank).collect();
            let ranks = || used.iter().map(|(_, rank)| *rank).collect();
            let key = (system.kind_index_of(server), sort);
            sorts.entry(key).or_insert_with(|| (ranks(), Vec::new())).1.push(server);
        }
        let of_sort = |(ranks, servers): &(Vec<Rank>, Vec<u32>)| {
            let count = servers.len() as u32;
            ranks.iter().map(move |rank| (*rank, count)).collect::<Vec<_>>()
        };
        let mut ranks: Vec<(Rank, u32)> = sorts.values().flat_map(of_sort).collect();
        ranks.sort_unstable();
        let mut servers: Vec<Vec<u32>> = sorts.into_values().map(|(_, servers)| servers).collect();
        servers.sort_unstable();
        let timed = |operation| match operation {
            Operation::Collective { kind, communicator, size, .. } => {
                Operation::Timed { kind, communicator, size, duration: time(kind, size) }
            }
            other => other,
        };
        let played = ranks.iter().map(|(rank, _)| program.ranks[*rank as usize].mapped(timed));
        let program = Program {
            name: program.name.clone(),
            communicators: vec![(0..ranks.len() as Rank).collect()],
            regions: program.regions.clone(),
            ranks: played.collect(),
        };
        Some(Self { program, ranks, servers })
    }
}

/// Whether an operation names another rank.
fn meets(operation: &Operation) -> bool {
    let to_peer = matches!(operation, Operation::Copy { direction: CopyDirection::Peer(_), .. });
    to_peer || matches!(operation, Operation::Send { .. } | Operation::Receive { .. })
}
