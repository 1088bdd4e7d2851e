//! Says what the ranks of a program send each other: the shares of its pattern's edges.

use super::counters::EdgeTraffic;
use super::error::AllocationError;
use super::pattern::Pattern;
use crate::program::Program;
use crate::units::Bytes;

/// Gives the traffic of each edge of a program's pattern, as [`Pattern::of_program`] counts it.
///
/// The lower rank of an edge comes first, and edges stand by it.
///
/// # Errors
/// Fails as [`Pattern::of_program`] does.
pub fn traffic_of_program(program: &Program) -> Result<Vec<EdgeTraffic>, AllocationError> {
    let table = Pattern::exchanged(program)?;
    let edge = |((a, b), [forth, back]): ((usize, usize), [f64; 2])| EdgeTraffic {
        a,
        b,
        bytes_a_to_b: Bytes(forth as u64),
        bytes_b_to_a: Bytes(back as u64),
    };
    Ok(table.edges().map(edge).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{CollectiveKind, CopyDirection, Operation, Rank, RankBuilder, WORLD};

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
