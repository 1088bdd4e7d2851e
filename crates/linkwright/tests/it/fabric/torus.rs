//! Compares tori with theory: neighbours, hops and the helper of routing.

use linkwright::system::fabric::Direction;
use proptest::prelude::*;

use super::support::{grid, hops_from, switch_at};

proptest! {
    #[test]
    fn any_torus_joins_neighbours(
        dimensions in prop::collection::vec(1_u32..6, 1..4),
        nodes in 1_u32..3,
    ) {
        let (shape, built) = grid(&dimensions, nodes);
        let mut ports = vec![0; built.switches() as usize];
        for switch in 0..built.switches() {
            let mut channels = std::collections::BTreeSet::new();
            for (dimension, size) in dimensions.iter().copied().enumerate() {
                for direction in [Direction::Down, Direction::Up] {
                    let to = shape.neighbour(switch, dimension, direction);
                    match shape.channel(switch, dimension, direction) {
                        None => prop_assert_eq!((size, to), (1, switch)),
                        Some(id) => {
                            let channel = built.channels()[id as usize];
                            let ends = (switch_at(channel.from), switch_at(channel.to));
                            prop_assert_eq!(ends, (switch, to));
                            channels.insert(id);
                        }
                    }
                }
            }
            ports[switch as usize] = channels.len();
            let between: std::collections::BTreeSet<_> =
                built.outgoing(switch)[nodes as usize..].iter().copied().collect();
            prop_assert_eq!(between, channels);
        }
        let farthest = hops_from(&built, 0).into_iter().map(|hops| hops.unwrap()).max().unwrap();
        prop_assert_eq!(farthest, dimensions.iter().map(|size| size / 2).sum::<u32>());
    }
}
