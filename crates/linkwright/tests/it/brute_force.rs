//! Compares every decision with all permutations of all subsets of machines of up to 8 GPUs.

use linkwright::allocation::bandwidth::published;
use linkwright::allocation::links::{LinkCounts, PairClass};
use linkwright::allocation::{
    BandwidthModel, Effort, GpuSet, Objective, Pattern, PatternShape, PreparedMachine,
};
use linkwright::system::presets::preset;
use linkwright::system::{
    BandwidthProfile, DeviceKind, GpuGraph, ImportOptions, Link, LinkKind, PairLink, Server,
    ServerBuilder, import,
};
use linkwright::units::Bandwidth;
use proptest::prelude::*;

/// The best that any placement on one set of GPUs reaches.
#[derive(Clone, Copy)]
struct Best {
    aggregated: u64,
    /// Published effective bandwidth, and the aggregated bandwidth of the matches that have it.
    published: (f64, u64),
    /// Bandwidth of the pattern by its edges, and the most aggregated bandwidth of the matches that have it; of
    /// patterns that are judged so.
    by_edges: (f64, u64),
}

fn class(link: PairLink) -> PairClass {
    match link {
        PairLink::Direct { count: 1, .. } => PairClass::Single,
        PairLink::Direct { .. } | PairLink::Switched { .. } => PairClass::Double,
        PairLink::Host { .. } => PairClass::Pcie,
    }
}

fn permute(items: &mut Vec<usize>, at: usize, visit: &mut dyn FnMut(&[usize])) {
    if at == items.len() {
        return visit(items);
    }
    for other in at..items.len() {
        items.swap(at, other);
        permute(items, at + 1, visit);
        items.swap(at, other);
    }
}

fn best_on((graph, sound): (&GpuGraph, &PreparedMachine), pattern: &Pattern, gpus: GpuSet) -> Best {
    let none = (f64::NEG_INFINITY, 0);
    let mut best = Best { aggregated: 0, published: none, by_edges: none };
    permute(&mut gpus.iter().collect(), 0, &mut |placement| {
        let pairs = pattern.edges().iter().map(|(a, b)| (placement[*a], placement[*b]));
        let pairs = pairs.map(|(a, b)| graph.pair(a, b).unwrap());
        let aggregated = pairs.clone().map(|pair| pair.bandwidth.0).sum();
        let links = pairs.fold(LinkCounts::default(), |sum, pair| sum.plus(class(pair.link)));
        let published = (published::effective_bandwidth(links), aggregated);
        best.aggregated = best.aggregated.max(aggregated);
        if !pattern.is_collective() {
            let by_edges = (sound.pattern_bandwidth(pattern, placement), aggregated);
            if by_edges > best.by_edges {
                best.by_edges = by_edges;
            }
        }
        if published > best.published {
            best.published = published;
        }
    });
    best
}

fn inside(graph: &GpuGraph, gpus: GpuSet) -> u64 {
    let lower = |b: usize| gpus.iter().take_while(move |a| *a < b);
    gpus.iter().flat_map(|b| lower(b).map(move |a| graph.pair(a, b).unwrap().bandwidth.0)).sum()
}

/// Compares one objective with brute force, for every set of free GPUs in `frees`.
fn compare(
    machine: &str,
    shape: PatternShape,
    sizes: std::ops::RangeInclusive<usize>,
    frees: &[u128],
) {
    compare_on(&preset(machine).unwrap(), BandwidthProfile::Mapa, shape, sizes, frees);
}

fn compare_on(
    machine: &Server,
    profile: BandwidthProfile,
    shape: PatternShape,
    sizes: std::ops::RangeInclusive<usize>,
    frees: &[u128],
) {
    let graph = GpuGraph::new(machine, profile).unwrap();
    let prepare = |model| PreparedMachine::new(machine, profile, model).unwrap();
    let models = [prepare(BandwidthModel::Published), prepare(BandwidthModel::Sound)];
    for size in sizes {
        let pattern = Pattern::new(shape, size).unwrap();
        let mut sets: Vec<GpuSet> =
            (0..1_u128 << graph.len()).map(GpuSet).filter(|set| set.len() == size).collect();
        sets.sort_by_key(|set| set.lowest_ids_key());
        let both = (&graph, &models[1]);
        let bests: Vec<Best> = sets.iter().map(|set| best_on(both, &pattern, *set)).collect();
        for free in frees.iter().copied().map(GpuSet) {
            for (prepared, objective) in models.iter().flat_map(|model| {
                [Objective::Aggregated, Objective::Effective, Objective::Preserved]
                    .map(|objective| (model, objective))
            }) {
                let key = |(set, best): (&GpuSet, &Best)| match (objective, prepared.model()) {
                    (Objective::Aggregated, _) => (0.0, best.aggregated),
                    (Objective::Preserved, _) => {
                        (inside(&graph, free.without(*set)) as f64, best.aggregated)
                    }
                    (Objective::Effective, BandwidthModel::Published) => best.published,
                    (Objective::Effective, BandwidthModel::Sound) if !pattern.is_collective() => {
                        best.by_edges
                    }
                    (Objective::Effective, BandwidthModel::Sound) => {
                        (prepared.sound_bandwidth(*set), best.aggregated)
                    }
                };
                let mut expected: Option<((f64, u64), GpuSet)> = None;
                for (set, best) in sets.iter().zip(&bests).filter(|(set, _)| set.is_subset_of(free))
                {
                    let value = key((set, best));
                    let nearness = |set: GpuSet| prepared.nearness(set, free);
                    let better = expected.is_none_or(|(most, known)| {
                        value > most || value == most && nearness(*set) < nearness(known)
                    });
                    if better {
                        expected = Some((value, *set));
                    }
                }
                let found = prepared.best(&pattern, free, objective, &mut Effort::new());
                let gpus = found.as_ref().map(|selection| selection.chosen.gpus());
                let context = (shape.name(), size, free, objective, prepared.model());
                assert_eq!(gpus, expected.map(|(_, set)| set), "{context:?}");
                if let (Some(selection), Some(((value, aggregated), _))) = (found, expected) {
                    assert!(selection.optimal, "{context:?}");
                    let scored = selection.chosen.aggregated_bandwidth.0;
                    assert_eq!(scored, aggregated, "{context:?}");
                    if objective == Objective::Effective && size > 1 {
                        assert_eq!(selection.chosen.effective_bandwidth, Some(value));
                    }
                }
            }
        }
    }
}

fn every_free_set() -> Vec<u128> {
    (0..256).collect()
}

#[test]
fn rings_on_a_dgx1v_with_every_set_of_free_gpus() {
    compare("dgx1-v100", PatternShape::Ring, 1..=8, &every_free_set());
}

#[test]
fn rings_on_a_dgx1p() {
    compare("dgx1-p100", PatternShape::Ring, 1..=7, &[255, 254, 0b1101_1011, 0b0111_1110]);
}

#[test]
fn other_patterns_on_a_dgx1v() {
    for shape in [
        PatternShape::Chain,
        PatternShape::Tree,
        PatternShape::Star,
        PatternShape::AllToAll,
        PatternShape::RingTree,
    ] {
        compare("dgx1-v100", shape, 1..=5, &[255, 0b1110_1101, 0b1011_0111, 0b0101_1010]);
    }
}

#[test]
fn large_patterns_on_a_dgx1v() {
    compare("dgx1-v100", PatternShape::Tree, 7..=8, &[255]);
    compare("dgx1-v100", PatternShape::RingTree, 7..=7, &[255]);
}

const SHAPES: [PatternShape; 6] = PatternShape::ALL;

#[test]
fn a_real_machine_whose_pcie_ways_differ() {
    let text =
        include_str!("../../../../examples/topologies/4x-rtx6000ada-pcie.nvidia-smi-topo-m.txt");
    let machine = import("4x-rtx6000ada.txt", text, None, &ImportOptions::default()).unwrap();
    for profile in [BandwidthProfile::Mapa, BandwidthProfile::DataSheet] {
        for shape in SHAPES {
            let every: Vec<u128> = (0..16).collect();
            compare_on(&machine, profile, shape, 1..=4, &every);
        }
    }
}

/// Builds GPUs on PCIe of three widths, with NVLinks of two kinds and zero to three links between
/// pairs. Pairs of one class differ in weight.
fn mixed(gpus: usize, direct: &[(u32, bool)], narrow: &[u64]) -> Server {
    let mut builder = ServerBuilder::new("mixed", "test");
    let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
    let ids: Vec<usize> = (0..gpus)
        .map(|gpu| builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap())
        .collect();
    let mut direct = direct.iter();
    for (index, a) in ids.iter().copied().enumerate() {
        let kind = LinkKind::Pcie4;
        let sheet = kind.data_sheet();
        let bandwidth = Bandwidth(sheet.bandwidth.0 / narrow[index]);
        let (b, latency) = (bridge, sheet.latency);
        builder
            .link(Link {
                a,
                b,
                kind,
                count: 1,
                bandwidth,
                latency,
                discipline: None,
                flits: None,
                measured: None,
            })
            .unwrap();
        for other in &ids[..index] {
            let Some((count @ 1..=3, newer)) = direct.next().copied() else { continue };
            let kind = if newer { LinkKind::Nvlink5 } else { LinkKind::Nvlink2 };
            builder.data_sheet_link(a, *other, kind, count).unwrap();
        }
    }
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn machines_whose_links_of_one_class_differ(
        gpus in 4_usize..=6,
        direct in proptest::collection::vec((0_u32..6, any::<bool>()), 15),
        narrow in proptest::collection::vec(1_u64..4, 6),
        data_sheet: bool,
        shape in 0..SHAPES.len(),
    ) {
        let profile =
            if data_sheet { BandwidthProfile::DataSheet } else { BandwidthProfile::Mapa };
        let machine = mixed(gpus, &direct, &narrow);
        let all = (1 << gpus) - 1;
        compare_on(&machine, profile, SHAPES[shape], 1..=gpus, &[all, all & !2, all & !5]);
    }
}

/// Finds the best ring through these GPUs by its value. Among equals it takes the ring whose last
/// GPU is lowest, then the one before it, and so on back.
fn first_of_the_best<V: PartialOrd>(gpus: GpuSet, value: impl Fn(&[usize]) -> V) -> Vec<usize> {
    let (first, mut rest) = (gpus.iter().next().unwrap(), gpus.iter().skip(1).collect());
    let mut best: Option<(V, Vec<usize>)> = None;
    permute(&mut rest, 0, &mut |order| {
        let ring: Vec<usize> = std::iter::once(first).chain(order.iter().copied()).collect();
        let found = value(&ring);
        let better = best.as_ref().is_none_or(|(most, known)| {
            found > *most || found == *most && ring.iter().rev().lt(known.iter().rev())
        });
        if better {
            best = Some((found, ring));
        }
    });
    best.unwrap().1
}

#[test]
fn of_equal_rings_the_one_with_the_lowest_ids_from_its_end_is_given() {
    let direct: Vec<(u32, bool)> = (0..21_u32).map(|at| (at * at % 5, false)).collect();
    let machines =
        [preset("dgx1-v100").unwrap(), preset("dgx2").unwrap(), mixed(7, &direct, &[1; 7])];
    for (machine, profile) in machines.iter().flat_map(|machine| {
        [BandwidthProfile::Mapa, BandwidthProfile::DataSheet].map(|p| (machine, p))
    }) {
        let graph = GpuGraph::new(machine, profile).unwrap();
        let pair = |a, b| graph.pair(a, b).unwrap();
        let sound = PreparedMachine::new(machine, profile, BandwidthModel::Sound).unwrap();
        for gpus in (1..128).map(GpuSet) {
            let pattern = Pattern::new(PatternShape::Ring, gpus.len()).unwrap();
            let heaviest = first_of_the_best(gpus, |ring| {
                let edges = pattern.edges().iter();
                edges.map(|(a, b)| pair(ring[*a], ring[*b]).bandwidth.0).sum::<u64>()
            });
            let placed = sound.place(&pattern, gpus, gpus, &mut Effort::new());
            assert_eq!(placed.chosen.placement, heaviest, "{} {gpus}", machine.name());
        }
    }
}

#[test]
fn rings_on_a_mixed_machine_of_eight() {
    let direct: Vec<(u32, bool)> =
        (0..28_u32).map(|at| (at * at % 7, at.is_multiple_of(3))).collect();
    let machine = mixed(8, &direct, &[1, 2, 1, 3, 1, 2, 3, 1]);
    let frees = [255, 0b1110_1101];
    compare_on(&machine, BandwidthProfile::DataSheet, PatternShape::Ring, 1..=8, &frees);
}
