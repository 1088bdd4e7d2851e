use std::collections::BTreeMap;

use super::Preference::{FewTrees, LowDepth};
use super::*;
use proptest::prelude::*;

/// Links that are as wide both ways, as arcs.
fn duplex(links: &[(usize, usize, u64)]) -> Vec<(usize, usize, u64)> {
    links.iter().flat_map(|(a, b, value)| [(*a, *b, *value), (*b, *a, *value)]).collect()
}

fn dgx1v() -> DirectedGraph {
    let double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
    let single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];
    let links: Vec<_> =
        double.map(|(a, b)| (a, b, 2)).into_iter().chain(single.map(|(a, b)| (a, b, 1))).collect();
    DirectedGraph { vertices: 8, terminals: (0..8).collect(), arcs: duplex(&links) }
}

/// The least ratio over all cuts: of what leaves the set over 1, for sets that hold the root,
/// or over the terminals in it.
fn least_cut(graph: &DirectedGraph, root: Option<usize>) -> (u64, u64) {
    let holds = |set: usize, vertex: usize| set >> vertex & 1 == 1;
    let mut least: Option<(u64, u64)> = None;
    for set in 0..1_usize << graph.vertices {
        let inside = graph.terminals.iter().filter(|terminal| holds(set, **terminal)).count();
        let is_cut = inside > 0
            && inside < graph.terminals.len()
            && root.is_none_or(|root| holds(set, root));
        if is_cut {
            let leaving = graph.arcs.iter().filter(|arc| holds(set, arc.0) && !holds(set, arc.1));
            let leaving: u64 = leaving.map(|arc| arc.2).sum();
            let parts = if root.is_some() { 1 } else { inside as u64 };
            if least.is_none_or(|(known, of)| leaving * of < known * parts) {
                least = Some((leaving, parts));
            }
        }
    }
    least.unwrap()
}

/// Everything that a packing promises, besides that its rate is the highest.
fn check(graph: &DirectedGraph, root: Option<usize>, packing: &ArborescencePacking) {
    let ArborescencePacking { rate, denominator, trees, logical_arcs } = packing;
    assert_eq!(greatest_common_divisor(rate.numerator, rate.denominator), 1);
    let mut used: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    let mut sent: BTreeMap<usize, u64> = BTreeMap::new();
    for tree in trees {
        assert!(tree.weight > 0);
        let mut reached = vec![tree.root];
        for (parent, child) in &tree.arcs {
            assert!(reached.contains(parent), "{parent} sends what it does not have");
            assert!(!reached.contains(child), "{child} receives twice");
            reached.push(*child);
            *used.entry((*parent, *child)).or_default() += tree.weight;
        }
        reached.sort_unstable();
        let mut terminals = graph.terminals.clone();
        terminals.sort_unstable();
        assert_eq!(reached, terminals);
        *sent.entry(tree.root).or_default() += tree.weight;
    }
    let roots = root.map_or(graph.terminals.len(), |_| 1);
    assert_eq!(sent.len(), roots);
    for (from, weight) in sent {
        assert!(root.is_none_or(|root| root == from));
        let (weight, denominator) = (u128::from(weight), u128::from(*denominator));
        assert_eq!(weight * u128::from(rate.denominator), u128::from(rate.numerator) * denominator);
    }
    let mut passing: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for arc in logical_arcs {
        let total: u64 = arc.routes.iter().map(|route| route.units).sum();
        assert_eq!(used.remove(&(arc.from, arc.to)), Some(total));
        for route in &arc.routes {
            assert!(route.units > 0);
            assert_eq!((route.path[0], route.path[route.path.len() - 1]), (arc.from, arc.to));
            let between = &route.path[1..route.path.len() - 1];
            assert!(between.iter().all(|vertex| !graph.terminals.contains(vertex)));
            for step in route.path.windows(2) {
                *passing.entry((step[0], step[1])).or_default() += route.units;
            }
        }
    }
    assert!(used.is_empty(), "every arc that a tree uses has routes");
    for ((from, to), units) in passing {
        let there = graph.arcs.iter().filter(|arc| (arc.0, arc.1) == (from, to));
        let capacity: u128 = there.map(|arc| u128::from(arc.2)).sum();
        assert!(u128::from(units) <= capacity * u128::from(*denominator), "{from} to {to}");
    }
}

/// Packs, from one root or from all, and compares with all cuts.
fn check_against_all_cuts(graph: &DirectedGraph, root: Option<usize>) {
    let pack = |preference| match root {
        Some(root) => pack_from_root(graph, root, preference),
        None => pack_from_every_root(graph, preference),
    };
    let (leaving, parts) = least_cut(graph, root);
    let found = [FewTrees, LowDepth].map(pack);
    assert_eq!(found, [FewTrees, LowDepth].map(pack), "the same again");
    for packing in found {
        match packing {
            Ok(packing) => {
                let Fraction { numerator, denominator } = packing.rate;
                assert_eq!(numerator * parts, leaving * denominator);
                check(graph, root, &packing);
            }
            Err(ArborescenceError::Unreachable { .. }) => assert_eq!(leaving, 0),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn dgx1v_broadcasts_at_six_links_and_gathers_at_six_sevenths() {
    let graph = dgx1v();
    for root in 0..8 {
        let packing = pack_from_root(&graph, root, FewTrees).unwrap();
        assert_eq!(packing.rate, Fraction { numerator: 6, denominator: 1 });
        check(&graph, Some(root), &packing);
    }
    let packing = pack_from_every_root(&graph, FewTrees).unwrap();
    assert_eq!(packing.rate, Fraction { numerator: 6, denominator: 7 });
    check(&graph, None, &packing);
}

#[test]
fn one_switch_gives_one_star_for_each_root() {
    let gigabyte = 1_000_000_000;
    let links: Vec<_> =
        (0..8).flat_map(|gpu| (8..14).map(move |switch| (gpu, switch, 50 * gigabyte))).collect();
    let graph = DirectedGraph { vertices: 14, terminals: (0..8).collect(), arcs: duplex(&links) };
    let packing = pack_from_every_root(&graph, FewTrees).unwrap();
    assert_eq!(packing.rate, Fraction { numerator: 300 * gigabyte, denominator: 7 });
    assert_eq!(packing.trees.len(), 8);
    assert!(packing.trees.iter().all(|tree| tree.arcs.iter().all(|arc| arc.0 == tree.root)));
    assert!(packing.logical_arcs.iter().all(|arc| arc.routes.len() == 6), "all six switches");
    check(&graph, None, &packing);
}

#[test]
fn a_broadcast_past_one_switch_is_one_chain_or_seven_trees_of_two_steps() {
    let links: Vec<_> = (0..8).map(|gpu| (gpu, 8, 12)).collect();
    let graph = DirectedGraph { vertices: 9, terminals: (0..8).collect(), arcs: duplex(&links) };
    for (preference, trees) in [(FewTrees, 1), (LowDepth, 7)] {
        let packing = pack_from_root(&graph, 3, preference).unwrap();
        assert_eq!(packing.rate, Fraction { numerator: 12, denominator: 1 });
        assert_eq!(packing.trees.len(), trees);
        check(&graph, Some(3), &packing);
    }
}

#[test]
fn two_baseboards_with_trunks_give_one_star_for_each_root() {
    let board = |gpu: usize| if gpu < 8 { 16..22 } else { 22..28 };
    let mut links: Vec<_> =
        (0..16).flat_map(|gpu| board(gpu).map(move |switch| (gpu, switch, 1))).collect();
    links.extend((16..22).map(|switch| (switch, switch + 6, 8)));
    let graph = DirectedGraph { vertices: 28, terminals: (0..16).collect(), arcs: duplex(&links) };
    let packing = pack_from_every_root(&graph, FewTrees).unwrap();
    assert_eq!(packing.rate, Fraction { numerator: 2, denominator: 5 });
    assert_eq!(packing.trees.len(), 16);
    assert!(packing.trees.iter().all(|tree| tree.arcs.iter().all(|arc| arc.0 == tree.root)));
    check(&graph, None, &packing);
}

#[test]
fn malformed_graphs_are_refused() {
    let pair = |terminals: &[usize], arcs: &[(usize, usize, u64)]| {
        let graph = DirectedGraph { vertices: 3, terminals: terminals.into(), arcs: arcs.into() };
        (pack_from_root(&graph, 0, FewTrees).err(), pack_from_every_root(&graph, FewTrees).err())
    };
    let both = |error| (Some(error), Some(error));
    use ArborescenceError as Error;
    assert_eq!(pair(&[], &[]).1, Some(Error::TooFewTerminals(0)));
    assert_eq!(pair(&[0], &[]), both(Error::TooFewTerminals(1)));
    assert_eq!(pair(&[0, 3], &[]), both(Error::UnknownVertex { vertex: 3, vertices: 3 }));
    assert_eq!(pair(&[0, 1], &[(0, 9, 1)]), both(Error::UnknownVertex { vertex: 9, vertices: 3 }));
    assert_eq!(pair(&[0, 1, 0], &[]), both(Error::RepeatedTerminal(0)));
    let unbalanced = Error::UnbalancedSwitch { switch: 2, entering: 6, leaving: 4 };
    assert_eq!(pair(&[0, 1], &[(0, 2, 6), (2, 1, 4)]), both(unbalanced));
    let (one, every) = pair(&[0, 1], &[(0, 1, 1)]);
    assert_eq!((one, every), (None, Some(Error::Unreachable { from: 1, to: 0 })));
    assert_eq!(pair(&[0, 2], &[(2, 0, 1)]).0, Some(Error::Unreachable { from: 0, to: 2 }));
    let large = [(0, 1, u64::MAX), (1, 0, u64::MAX - 1), (0, 2, 1), (2, 0, 1)];
    assert_eq!(pair(&[0, 1, 2], &large), both(Error::TooLarge));
    let (graph, far) = (dgx1v(), 8);
    assert_eq!(
        pack_from_root(&graph, far, FewTrees),
        Err(Error::UnknownVertex { vertex: far, vertices: 8 })
    );
    let switched =
        DirectedGraph { vertices: 3, terminals: vec![0, 1], arcs: duplex(&[(0, 2, 1), (2, 1, 1)]) };
    assert_eq!(pack_from_root(&switched, 2, FewTrees), Err(Error::RootIsSwitch(2)));
}

#[test]
fn a_unit_of_any_size_divides_out() {
    let unit = 999_999_999_989;
    let mut graph = dgx1v();
    for arc in &mut graph.arcs {
        arc.2 *= unit;
    }
    let packing = pack_from_every_root(&graph, FewTrees).unwrap();
    assert_eq!(packing.rate, Fraction { numerator: 6 * unit, denominator: 7 });
    check(&graph, None, &packing);
}

/// Makes arcs between any vertices, without switches.
fn any_directed() -> impl Strategy<Value = DirectedGraph> {
    (2_usize..=10).prop_flat_map(|vertices| {
        let arcs = (0..vertices, 0..vertices, 0_u64..9);
        let arcs = proptest::collection::vec(arcs, vertices..5 * vertices);
        arcs.prop_map(move |mut arcs| {
            // A ring keeps most graphs connected.
            let weak = arcs.len() % 4 == 0;
            arcs.extend((0..vertices).map(|v| (v, (v + 1) % vertices, u64::from(!weak))));
            DirectedGraph { vertices, terminals: (0..vertices).collect(), arcs }
        })
    })
}

/// Links that are as wide both ways; the vertices are terminals or switches at random.
fn switched() -> impl Strategy<Value = DirectedGraph> {
    (3_usize..=10).prop_flat_map(|vertices| {
        let links = (0..vertices, 0..vertices, 1_u64..9);
        let links = proptest::collection::vec(links, vertices..4 * vertices);
        let switches = proptest::collection::vec(any::<bool>(), vertices);
        (links, switches).prop_map(move |(links, switches)| {
            let mut terminals: Vec<usize> = (0..vertices).filter(|v| !switches[*v]).collect();
            if terminals.len() < 2 {
                terminals = vec![vertices - 1, 0];
            }
            DirectedGraph { vertices, terminals, arcs: duplex(&links) }
        })
    })
}

/// Closed walks: balanced everywhere, but not as wide both ways; terminals get more arcs.
fn walks() -> impl Strategy<Value = DirectedGraph> {
    (3_usize..=9).prop_flat_map(|vertices| {
        let walk = (proptest::collection::vec(0..vertices, 2..7), 1_u64..7);
        let walks = proptest::collection::vec(walk, 2..8);
        let extra = proptest::collection::vec((0..vertices, 0..vertices, 0_u64..5), 0..6);
        (walks, extra, 2..=vertices).prop_map(move |(walks, extra, terminals)| {
            let mut arcs = Vec::new();
            for (walk, value) in walks {
                let next = walk.iter().cycle().skip(1);
                arcs.extend(walk.iter().zip(next).map(|(from, to)| (*from, *to, value)));
            }
            arcs.extend(extra.into_iter().filter(|arc| arc.0.max(arc.1) < terminals));
            DirectedGraph { vertices, terminals: (0..terminals).collect(), arcs }
        })
    })
}

/// Makes GPUs on some alike switches, and each pair of GPUs on a slower way to a common switch.
fn servers() -> impl Strategy<Value = DirectedGraph> {
    (1_usize..=2, 1_usize..=2, 1_usize..=2, 1_u64..9, 1_u64..5, 1_u64..5).prop_map(
        |(servers, pairs, planes, fast, slow, network)| {
            let gpus = 2 * servers * pairs;
            let mut vertices = gpus;
            let mut add = || {
                vertices += 1;
                vertices - 1
            };
            let mut links = Vec::new();
            let common = add();
            for server in 0..servers {
                let first = server * 2 * pairs;
                for _ in 0..planes {
                    let switch = add();
                    links.extend((first..first + 2 * pairs).map(|gpu| (gpu, switch, fast)));
                }
                for pair in 0..pairs {
                    let host = add();
                    links.extend((0..2).map(|side| (first + 2 * pair + side, host, slow)));
                    links.push((host, common, network));
                }
            }
            DirectedGraph { vertices, terminals: (0..gpus).collect(), arcs: duplex(&links) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_rate_is_the_least_cut_of_any_directed_graph(graph in any_directed()) {
        check_against_all_cuts(&graph, Some(graph.terminals[0]));
        check_against_all_cuts(&graph, None);
    }

    #[test]
    fn every_rate_is_the_least_cut_with_switches(graph in switched()) {
        check_against_all_cuts(&graph, Some(graph.terminals[0]));
        check_against_all_cuts(&graph, None);
    }

    #[test]
    fn every_rate_is_the_least_cut_with_switches_of_unequal_directions(graph in walks()) {
        check_against_all_cuts(&graph, Some(graph.terminals[0]));
        check_against_all_cuts(&graph, None);
    }

    #[test]
    fn every_rate_is_the_least_cut_of_servers(graph in servers()) {
        check_against_all_cuts(&graph, Some(graph.terminals[0]));
        check_against_all_cuts(&graph, None);
    }
}
