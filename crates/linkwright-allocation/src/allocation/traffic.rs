//! Says what the ranks of a program send each other: the shares of its pattern's edges.
//!
//! Messages and copies count as they are. A collective counts as the ways of [`Pattern::of_program`] carry it: a ring
//! passes an all-reduce of `n` ranks on as `2 (n - 1) / n` of each rank's data. A main loop counts once.

use std::collections::BTreeMap;

use super::counters::EdgeTraffic;
use super::error::AllocationError;
use super::pattern::Pattern;
use crate::program::{CollectiveKind, CopyDirection, Operation, Program, Rank};
use crate::units::Bytes;

/// Gives the traffic of each edge of a program's pattern, in their order.
///
/// # Errors
/// Those of [`Pattern::of_program`].
pub fn traffic_of_program(program: &Program) -> Result<Vec<EdgeTraffic>, AllocationError> {
    let pattern = Pattern::of_program(program)?;
    let mut sent: BTreeMap<(Rank, Rank), u64> = BTreeMap::new();
    for (rank, operations) in (0..).zip(&program.ranks) {
        let mut send = |to: Rank, size: u64| {
            let total = sent.entry((rank, to)).or_default();
            *total = total.saturating_add(size);
        };
        for operation in operations.operations() {
            match *operation {
                Operation::Send { to, size, .. }
                | Operation::Copy { direction: CopyDirection::Peer(to), size, .. } => {
                    send(to, size.0);
                }
                Operation::Collective { kind, root, communicator, size } => {
                    let ranks = &program.communicators[communicator as usize];
                    of_collective((kind, root, size.0), rank, ranks, &mut send);
                }
                _ => {}
            }
        }
    }
    let bytes = |from: usize, to: usize| {
        Bytes(sent.get(&(from as Rank, to as Rank)).copied().unwrap_or_default())
    };
    let edge = |(a, b): &(usize, usize)| EdgeTraffic {
        a: *a,
        b: *b,
        bytes_a_to_b: bytes(*a, *b),
        bytes_b_to_a: bytes(*b, *a),
    };
    Ok(pattern.edges().iter().map(edge).collect())
}

/// Sends what a rank has to send of a collective.
fn of_collective(
    (kind, root, size): (CollectiveKind, Rank, u64),
    rank: Rank,
    ranks: &[Rank],
    send: &mut impl FnMut(Rank, u64),
) {
    let Some(at) = ranks.iter().position(|member| *member == rank) else { return };
    let count = ranks.len() as u64;
    if count < 2 {
        return;
    }
    let next = ranks[(at + 1) % ranks.len()];
    let others = || ranks.iter().filter(|other| **other != rank);
    let of_all = |times: u64, parts: u64| {
        let whole = u128::from(size) * u128::from(times) / u128::from(parts);
        u64::try_from(whole).unwrap_or(u64::MAX)
    };
    match kind {
        CollectiveKind::Barrier => {}
        CollectiveKind::AllReduce => send(next, of_all(2 * (count - 1), count)),
        CollectiveKind::ReduceScatter => send(next, of_all(count - 1, count)),
        CollectiveKind::AllGather => send(next, of_all(count - 1, 1)),
        CollectiveKind::Broadcast | CollectiveKind::Reduce => send(next, size),
        CollectiveKind::Scan if at + 1 < ranks.len() => send(next, size),
        CollectiveKind::Scan => {}
        CollectiveKind::AllToAll => others().for_each(|other| send(*other, size)),
        CollectiveKind::Gather if rank != root => send(root, size),
        CollectiveKind::Scatter if rank == root => others().for_each(|other| send(*other, size)),
        CollectiveKind::Gather | CollectiveKind::Scatter => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{RankBuilder, WORLD};

    fn told(operations: &[Vec<Operation>]) -> Vec<(usize, usize, u64, u64)> {
        let rank = |operations: &Vec<Operation>| {
            let mut rank = RankBuilder::default();
            operations.iter().for_each(|operation| {
                rank.run(*operation);
            });
            rank.finish()
        };
        let ranks: Vec<_> = operations.iter().map(rank).collect();
        let communicators = vec![(0..ranks.len() as Rank).collect()];
        let program = Program { name: String::new(), communicators, regions: Vec::new(), ranks };
        let traffic = traffic_of_program(&program).unwrap().into_iter();
        traffic.map(|it| (it.a, it.b, it.bytes_a_to_b.0, it.bytes_b_to_a.0)).collect()
    }

    #[test]
    fn messages_and_copies_add_up_by_direction() {
        let send = |to, size| {
            let (tag, communicator, route) = (0, WORLD, Default::default());
            Operation::Send { to, tag, communicator, size: Bytes(size), route }
        };
        let (direction, route) = (CopyDirection::Peer(0), Default::default());
        let copy = Operation::Copy { direction, size: Bytes(5), route };
        let found = told(&[vec![send(2, 8), send(2, 1)], vec![copy], vec![send(0, 3)]]);
        assert_eq!(found, [(0, 1, 0, 5), (0, 2, 9, 3)]);
    }

    #[test]
    fn collectives_carry_what_their_theory_says() {
        let of = |kind, ranks: usize| {
            let call =
                Operation::Collective { kind, root: 1, communicator: WORLD, size: Bytes(1200) };
            told(&vec![vec![call]; ranks])
        };
        let ring = |each| vec![(0, 1, each, 0), (0, 2, 0, each), (1, 2, each, 0)];
        assert_eq!(of(CollectiveKind::AllReduce, 3), ring(1600));
        assert_eq!(of(CollectiveKind::AllReduce, 2), [(0, 1, 1200, 1200)]);
        assert_eq!(of(CollectiveKind::ReduceScatter, 3), ring(800));
        assert_eq!(of(CollectiveKind::AllGather, 3), ring(2400));
        assert_eq!(of(CollectiveKind::Broadcast, 3), ring(1200));
        assert_eq!(of(CollectiveKind::Gather, 3), [(0, 1, 1200, 0), (1, 2, 0, 1200)]);
        assert_eq!(of(CollectiveKind::Scatter, 3), [(0, 1, 0, 1200), (1, 2, 1200, 0)]);
        assert_eq!(of(CollectiveKind::Scan, 3), [(0, 1, 1200, 0), (1, 2, 1200, 0)]);
        let all = of(CollectiveKind::AllToAll, 3);
        assert!(all.iter().all(|(_, _, to, back)| (*to, *back) == (1200, 1200)) && all.len() == 3);
        assert_eq!(of(CollectiveKind::Barrier, 3), []);
    }
}
