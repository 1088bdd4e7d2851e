use proptest::prelude::*;

use super::super::strength::strength_of_subsets;
use super::*;

fn matrix(count: usize, edges: impl IntoIterator<Item = (usize, usize, u64)>) -> Vec<u64> {
    let mut capacity = vec![0; count * count];
    for (a, b, value) in edges {
        capacity[a * count + b] = value;
        capacity[b * count + a] = value;
    }
    capacity
}

/// Makes a complete graph whose edges take the values in turn.
fn filled(count: usize, values: &[u64]) -> Vec<u64> {
    let pairs = (0..count).flat_map(|b| (0..b).map(move |a| (a, b)));
    matrix(count, pairs.zip(values).map(|((a, b), value)| (a, b, *value)))
}

fn dgx1v() -> Vec<u64> {
    let double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
    let single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];
    let double = double.into_iter().map(|(a, b)| (a, b, 2));
    matrix(8, double.chain(single.into_iter().map(|(a, b)| (a, b, 1))))
}

fn quick() -> Search {
    Search { trials: 30, seed: 7 }
}

/// Trees span, edges carry no more than they can, and the weights add up to the rate.
fn assert_sound(count: usize, capacity: &[u64], packing: &SpanningTreePacking) {
    let mut used = vec![0; count * count];
    for tree in &packing.trees {
        assert!(tree.weight > 0);
        assert!(tree.edges.is_sorted() && tree.edges.iter().all(|(a, b)| a < b));
        assert_eq!(tree.edges.len(), count - 1);
        let mut depth = vec![None; count];
        depth[tree.root] = Some(0);
        for _ in 0..count {
            for (a, b) in &tree.edges {
                let (from_a, from_b) = (depth[*a], depth[*b]);
                depth[*a] = from_a.or(from_b.map(|depth: usize| depth + 1));
                depth[*b] = from_b.or(from_a.map(|depth| depth + 1));
            }
        }
        let deepest = depth.into_iter().map(|depth| depth.expect("it spans")).max();
        assert_eq!(deepest, Some(tree.depth));
        for (a, b) in &tree.edges {
            used[a * count + b] += tree.weight;
        }
    }
    for (used, capacity) in used.iter().zip(capacity) {
        assert!(*used <= u128::from(*capacity) * packing.denominator);
    }
    let sum: u128 = packing.trees.iter().map(|tree| tree.weight).sum();
    assert_eq!(sum * packing.rate.1, packing.rate.0 * packing.denominator);
    assert!(packing.trees.is_sorted_by(|x, y| {
        (y.weight, &x.edges) < (x.weight, &y.edges) && (x.weight >= y.weight)
    }));
}

/// Says whether one or two trees suffice, by trying all of them.
fn two_suffice(count: usize, capacity: &[u64], rate: (u128, u128)) -> bool {
    let graph = Graph::new(count, capacity);
    let room = |edge: usize| {
        let (a, b) = graph.edges[edge];
        rate.1 * u128::from(capacity[a * count + b])
    };
    let trees: Vec<u32> = (0_u32..1 << graph.edges.len())
        .filter(|edges| edges.count_ones() as usize == count - 1)
        .filter(|edges| {
            let chosen = (0..graph.edges.len()).filter(|edge| edges >> edge & 1 == 1);
            let mut reached = 1_usize;
            let ends: Vec<_> = chosen.map(|edge| graph.edges[edge]).collect();
            for _ in 0..count {
                for (a, b) in &ends {
                    if reached >> a & 1 != reached >> b & 1 {
                        reached |= 1 << a | 1 << b;
                    }
                }
            }
            reached == (1 << count) - 1
        })
        .collect();
    let narrowest = |edges: u32| {
        let chosen = (0..graph.edges.len()).filter(|edge| edges >> edge & 1 == 1);
        chosen.map(room).min().unwrap_or(u128::MAX)
    };
    trees.iter().any(|x| {
        trees.iter().any(|y| {
            narrowest(x & y) >= rate.0
                && narrowest(x & !y).saturating_add(narrowest(y & !x)) >= rate.0
        })
    })
}

#[test]
fn the_whole_dgx1v_takes_seven_trees() {
    let packing = pack_spanning_trees(8, &dgx1v(), Search::default()).unwrap();
    assert_sound(8, &dgx1v(), &packing);
    assert_eq!(packing.rate, (24, 7));
    // Five trees do not suffice. All patterns of trees that use an edge up were tried, with weights
    // over every denominator that a system of five such equations has. Six are not ruled out.
    assert_eq!(packing.trees.len(), 7);
    assert!(packing.trees.iter().all(|tree| tree.depth <= 4));
}

#[test]
fn graphs_without_a_tree_have_rate_zero_or_need_none() {
    for (count, capacity) in [(0, vec![]), (1, vec![0]), (3, matrix(3, [(0, 2, 5)]))] {
        let packing = pack_spanning_trees(count, &capacity, Search::default()).unwrap();
        assert_eq!((packing.rate, packing.trees.len()), ((0, 1), 0));
    }
}

#[test]
fn a_tree_is_its_own_packing_rooted_in_its_middle() {
    let path = matrix(5, (0..4).map(|a| (a, a + 1, 25_000_000_000)));
    let packing = pack_spanning_trees(5, &path, Search::default()).unwrap();
    assert_eq!((packing.rate, packing.denominator), ((25_000_000_000, 1), 1));
    let edges = vec![(0, 1), (1, 2), (2, 3), (3, 4)];
    let expected = WeightedTree { edges, weight: 25_000_000_000, root: 2, depth: 2 };
    assert_eq!(packing.trees, [expected]);
}

#[test]
fn more_vertices_than_are_tabulated_are_packed_by_cuts() {
    let hypercube = |a: usize, b: usize| (a ^ b).is_power_of_two();
    let pairs = (0..32).flat_map(|b| (0..b).map(move |a| (a, b)));
    let edges = pairs.filter_map(|(a, b)| match hypercube(a, b) {
        true => Some((a, b, 25_000_000_000)),
        false => (a + 1 == b).then_some((a, b, 15_754_000_000)),
    });
    let capacity = matrix(32, edges);
    let packing = pack_spanning_trees(32, &capacity, Search { trials: 0, seed: 0 }).unwrap();
    assert_sound(32, &capacity, &packing);
    assert_eq!(packing.rate, (2_236_310_000_000, 31));
    let edges = capacity.iter().filter(|value| **value > 0).count() / 2;
    assert!(packing.trees.len() <= edges);
}

#[test]
fn the_largest_capacities_do_not_overflow() {
    let full = filled(6, &[u64::MAX; 15]);
    let packing = pack_spanning_trees(6, &full, quick()).unwrap();
    assert_sound(6, &full, &packing);
    assert_eq!(packing.rate, (3 * u128::from(u64::MAX), 1));
    let prime = filled(6, &std::array::from_fn::<_, 15, _>(|i| u64::MAX - 58 * i as u64));
    assert_sound(6, &prime, &pack_spanning_trees(6, &prime, quick()).unwrap());
}

/// The search promises no minimum, so the graphs are the same every time.
#[test]
fn two_trees_are_found_where_two_suffice() {
    let mut dice = Dice(11);
    for _ in 0..300 {
        let count = 2 + dice.below(4);
        let values: [u64; 10] = std::array::from_fn(|_| dice.below(4) as u64);
        let capacity = filled(count, &values);
        let packing = pack_spanning_trees(count, &capacity, Search::default()).unwrap();
        assert_sound(count, &capacity, &packing);
        if packing.rate.0 > 0 {
            let few = two_suffice(count, &capacity, packing.rate);
            assert_eq!(packing.trees.len() <= 2, few, "{count} {values:?}");
        }
    }
}

/// Tests that only loads that leave half of some edges unused split into such a small number.
#[test]
fn capacity_to_spare_is_left_where_that_saves_trees() {
    let capacity = filled(5, &[3, 0, 2, 1, 3, 2, 0, 1, 3, 3]);
    let packing = pack_spanning_trees(5, &capacity, Search::default()).unwrap();
    assert_eq!((packing.rate, packing.trees.len()), ((4, 1), 2));
}

proptest! {
    #[test]
    fn every_packing_is_sound_and_reaches_the_strength(
        count in 2_usize..11,
        values in proptest::collection::vec((0_u8..4, 1_u64..9), 45),
        unit in prop_oneof![Just(1_u64), Just(2_000_000), Just(999_999_999_989)],
    ) {
        let values: Vec<u64> =
            values.into_iter().map(|(some, v)| if some > 1 { v * unit } else { 0 }).collect();
        let capacity = filled(count, &values);
        let packing = pack_spanning_trees(count, &capacity, quick()).unwrap();
        assert_sound(count, &capacity, &packing);
        let strength = strength_of_subsets(count, &capacity)[(1 << count) - 1];
        let rate = packing.rate.0 as f64 / packing.rate.1 as f64;
        prop_assert!((rate - strength).abs() <= 1e-12 * strength);
        let edges = capacity.iter().filter(|value| **value > 0).count() / 2;
        prop_assert!(packing.trees.len() <= edges);
        prop_assert_eq!(packing, pack_spanning_trees(count, &capacity, quick()).unwrap());
    }

    #[test]
    fn uneven_capacities_are_packed_exactly(
        count in 8_usize..14,
        values in proptest::collection::vec((0_u8..3, 1_u64..50_000_000_000), 78),
    ) {
        let values: Vec<u64> =
            values.into_iter().map(|(some, v)| if some > 0 { v } else { 0 }).collect();
        let capacity = filled(count, &values);
        let packing = pack_spanning_trees(count, &capacity, quick()).unwrap();
        assert_sound(count, &capacity, &packing);
        prop_assert_eq!(packing.rate, exact_strength(count, &capacity));
    }
}
