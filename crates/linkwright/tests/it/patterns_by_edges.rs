//! Holds patterns that are judged by their edges against all mappings and against copies that are played.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::allocation::{
    BandwidthModel, EdgeShare, Effort, GpuSet, Objective, Pattern, PatternShape, PreparedMachine,
    policy,
};
use linkwright::allocation::{Request, Selection};
use linkwright::network::{Connections, RouteClass, Routes, gpu_sites};
use linkwright::program::lowering::CollectiveCall;
use linkwright::program::{CopyDirection::Peer, Operation, Program, RankBuilder, RankProgram};
use linkwright::runtime::{MpiProtocol, ProgramJob, Runtime};
use linkwright::system::presets::{PRESETS, preset};
use linkwright::system::{
    BandwidthProfile, DeviceKind, LinkKind, Server, ServerBuilder, System, Wire,
};
use linkwright::units::Bytes;
use proptest::prelude::*;

const SHAPES: [PatternShape; 4] =
    [PatternShape::Star, PatternShape::Chain, PatternShape::Tree, PatternShape::AllToAll];

fn prepared(server: &Server) -> PreparedMachine {
    let profile = BandwidthProfile::default_of(server);
    PreparedMachine::new(server, profile, BandwidthModel::Sound).unwrap()
}

/// Lists all orders of a number of these GPUs.
fn mappings(gpus: &[usize], size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let shorter = mappings(gpus, size - 1);
    let longer = |known: &Vec<usize>| {
        let known = known.clone();
        let rest = gpus.iter().filter(move |gpu| !known.contains(gpu)).copied();
        rest.collect::<Vec<_>>()
    };
    shorter
        .iter()
        .flat_map(|known| longer(known).into_iter().map(|gpu| [&known[..], &[gpu]].concat()))
        .collect()
}

/// Says how long a gigabyte from each GPU to each keeps the channels busy, in seconds.
type Paths = Vec<Vec<Vec<(usize, f64)>>>;

fn paths(server: &Server) -> Paths {
    let system = System::of_server(Arc::new(server.clone()));
    let routes = Routes::new(&system, Wire::reached_share).unwrap();
    let gpus: Vec<usize> = (0..server.gpus().len()).map(|gpu| routes.wiring().gpu(gpu)).collect();
    let between = |from: usize, to: usize| {
        let uses = routes.route(from, to, RouteClass::Any).unwrap().uses.into_iter();
        uses.map(|(at, share)| (at, share * 1e9 / routes.copied(at).0 as f64)).collect()
    };
    gpus.iter().map(|from| gpus.iter().map(|to| between(*from, *to)).collect()).collect()
}

/// The seconds that the fullest channel takes for a gigabyte on each edge, both ways, by its definition.
fn seconds(paths: &Paths, pattern: &Pattern, gpus: &[usize]) -> f64 {
    let mut load = vec![0.0; 512];
    for (a, b) in pattern.edges() {
        for (from, to) in [(gpus[*a], gpus[*b]), (gpus[*b], gpus[*a])] {
            paths[from][to].iter().for_each(|(channel, time)| load[*channel] += time);
        }
    }
    load.into_iter().fold(0.0, f64::max)
}

/// Holds the rank of the best mapping on each set of GPUs.
type Bests = Vec<(GpuSet, (f64, u64))>;

fn bests(machine: &PreparedMachine, server: &Server, pattern: &Pattern) -> Bests {
    let paths = paths(server);
    let all: Vec<usize> = (0..machine.gpu_count()).collect();
    let mut bests: std::collections::BTreeMap<u128, (f64, u64)> = Default::default();
    for mapping in mappings(&all, pattern.size()) {
        let set: GpuSet = mapping.iter().copied().collect();
        let pair = |(a, b): &(usize, usize)| {
            machine.graph().pair(mapping[*a], mapping[*b]).unwrap().bandwidth.0
        };
        let aggregated = pattern.edges().iter().map(pair).sum();
        let value = match pattern.is_collective() {
            true => (machine.sound_bandwidth(set), aggregated),
            // Rounded, so that sums in another order are the same number.
            false => ((1e6 / seconds(&paths, pattern, &mapping)).round() / 1e6, aggregated),
        };
        let known = bests.entry(set.0).or_insert(value);
        if value > *known {
            *known = value;
        }
    }
    let mut bests: Bests = bests.into_iter().map(|(set, best)| (GpuSet(set), best)).collect();
    bests.sort_by_key(|(set, _)| set.lowest_ids_key());
    bests
}

fn expected(
    machine: &PreparedMachine,
    bests: &Bests,
    free: GpuSet,
) -> Option<(GpuSet, (f64, u64))> {
    let fitting = bests.iter().copied().filter(|(set, _)| set.is_subset_of(free));
    fitting.reduce(|known, other| {
        let nearness = |set: GpuSet| machine.nearness(set, free);
        let better =
            other.1 > known.1 || other.1 == known.1 && nearness(other.0) < nearness(known.0);
        if better { other } else { known }
    })
}

fn best(machine: &PreparedMachine, pattern: &Pattern, free: GpuSet) -> Option<Selection> {
    machine.best(pattern, free, Objective::Effective, &mut Effort::new())
}

/// Gives two hundred states of eight GPUs, some busy; they are the same on every machine.
fn states() -> impl Iterator<Item = GpuSet> {
    let mut word: u64 = 42;
    (0..200).map(move |_| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        GpuSet(u128::from(word >> 33 & 255))
    })
}

#[test]
fn every_decision_on_eight_gpus_is_the_best_of_all_mappings() {
    let eight = PRESETS.iter().map(|it| preset(it.name).unwrap()).filter(|it| it.gpus().len() == 8);
    let mut machines = 0;
    for server in eight {
        let machine = prepared(&server);
        machines += 1;
        for (shape, size) in
            SHAPES.into_iter().flat_map(|shape| (2..=5).map(move |size| (shape, size)))
        {
            let pattern = Pattern::new(shape, size).unwrap();
            let bests = bests(&machine, &server, &pattern);
            for free in states() {
                let found = best(&machine, &pattern, free);
                let expected = expected(&machine, &bests, free);
                let context = (server.name(), shape, size, free);
                let gpus = found.as_ref().map(|it| it.chosen.gpus());
                assert_eq!(gpus, expected.map(|(set, _)| set), "{context:?}");
                let Some((selection, (_, (bandwidth, aggregated)))) = found.zip(expected) else {
                    continue;
                };
                assert!(selection.optimal, "{context:?}");
                let ours = selection.chosen.effective_bandwidth.unwrap();
                assert!((ours / bandwidth - 1.0).abs() < 1e-5, "{context:?}: {ours} {bandwidth}");
                assert_eq!(selection.chosen.aggregated_bandwidth.0, aggregated, "{context:?}");
            }
        }
    }
    assert!(machines >= 5, "{machines}");
}

#[test]
fn what_was_asked_before_changes_no_decision() {
    let edges = [(0, 1, 1.0), (1, 2, 3.0), (2, 3, 2.0), (3, 4, 1.0), (1, 4, 2.0)];
    let edges = edges.map(|(a, b, share)| EdgeShare { a, b, forth: share, back: 1.0 });
    let pattern = Pattern::with_shares(5, &edges).unwrap();
    for name in ["dgx1-v100", "summit-node"] {
        let server = preset(name).unwrap();
        let known = prepared(&server);
        for free in states().take(20) {
            let free = free.intersection(GpuSet::first(server.gpus().len()));
            let again = best(&known, &pattern, free);
            assert_eq!(again, best(&prepared(&server), &pattern, free), "{name} {free}");
            assert!(again.is_none_or(|it| it.optimal), "{name} {free}");
        }
    }
}

fn nothing(_: &CollectiveCall) -> RankProgram {
    RankProgram::default()
}

const SIZE: Bytes = Bytes(256 << 20);

/// How long the copies of a pattern take in the runtime, in seconds: an edge of a larger share makes more of them.
fn played(server: &Server, pattern: &Pattern, gpus: &[usize], copies: &[[u32; 2]]) -> f64 {
    let mut ranks: Vec<(RankBuilder, u32)> = (0..gpus.len()).map(|_| Default::default()).collect();
    for ((a, b), copies) in pattern.edges().iter().zip(copies) {
        for (from, to, count) in [(*a, *b, copies[0]), (*b, *a, copies[1])] {
            for _ in 0..count {
                let (rank, stream) = &mut ranks[from];
                rank.on_stream(*stream);
                *stream += 1;
                let (direction, route) = (Peer(to as u32), RouteClass::Any);
                rank.run(Operation::Copy { direction, size: SIZE, route });
            }
        }
    }
    let ranks: Vec<RankProgram> = ranks.into_iter().map(|(rank, _)| rank.finish()).collect();
    let (name, regions) = ("copies".to_owned(), Vec::new());
    let world = (0..ranks.len() as u32).collect();
    let program = Arc::new(Program { name, communicators: vec![world], regions, ranks });
    let job = ProgramJob::new(&program, gpus.iter().map(|gpu| *gpu as u32).collect());
    let system = System::of_server(Arc::new(server.clone()));
    let routes = Routes::new(&system, Wire::reached_share).unwrap();
    let all: Vec<usize> = (0..server.gpus().len()).collect();
    // As many copies at once as there are.
    let sites = gpu_sites(&system, routes.wiring()).unwrap();
    let sites = sites.into_iter().map(|mut site| {
        site.copy_engines = 64;
        site
    });
    let mut network = Connections::over(&routes, &all).with_sites(sites.collect());
    let jobs = std::slice::from_ref(&job);
    let runtime =
        Runtime::new(&mut network, system.gpus(), jobs, MpiProtocol::default(), nothing).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let ends = outcome.jobs[0].ranks.iter().map(|rank| rank.end.as_seconds());
    ends.fold(0.0, f64::max)
}

#[test]
fn copies_that_are_played_take_the_time_of_the_bandwidth() {
    let sets: [&[usize]; 4] = [&[0, 1, 2, 3, 4], &[7, 0, 5, 2], &[1, 6, 3, 4, 0, 5], &[4, 7, 6]];
    let mut compared = 0;
    for name in ["dgx1-v100", "dgx1-p100", "hgx-h100", "mi300x-8", "pcie-tree-4", "4x-l40s-pcie"] {
        let server = preset(name).unwrap();
        let machine = prepared(&server);
        let there = |set: &&&[usize]| set.iter().all(|gpu| *gpu < machine.gpu_count());
        for set in sets.iter().filter(there) {
            for shape in [PatternShape::Star, PatternShape::Chain, PatternShape::AllToAll] {
                let pattern = Pattern::new(shape, set.len()).unwrap();
                if pattern.is_collective() {
                    continue;
                }
                let time = played(&server, &pattern, set, &vec![[1; 2]; pattern.edges().len()]);
                let bandwidth = machine.pattern_bandwidth(&pattern, set);
                let off = SIZE.0 as f64 / bandwidth / 1e9 / time - 1.0;
                assert!(off.abs() < 0.01, "{name} {shape:?} {set:?}: {bandwidth} {off}");
                compared += 1;
            }
            let copies: Vec<[u32; 2]> =
                (1..set.len() as u32).map(|at| [at, (at + 1) % 3]).collect();
            let edge = |(at, copies): (usize, &[u32; 2])| EdgeShare {
                a: at,
                b: at + 1,
                forth: copies[0].into(),
                back: copies[1].into(),
            };
            let edges: Vec<EdgeShare> = copies.iter().enumerate().map(edge).collect();
            let pattern = Pattern::with_shares(set.len(), &edges).unwrap();
            let most = copies.iter().flatten().max().unwrap();
            let bytes = f64::from(*most) * SIZE.0 as f64;
            let bandwidth = machine.pattern_bandwidth(&pattern, set);
            let off = bytes / bandwidth / 1e9 / played(&server, &pattern, set, &copies) - 1.0;
            assert!(off.abs() < 0.01, "{name} {set:?} with shares: {bandwidth} {off}");
        }
    }
    assert!(compared > 40, "{compared}");
}

/// Makes a server of eight GPUs below two sockets, some pairs with NVLinks.
fn eight(links: &[u32]) -> Server {
    let mut builder = ServerBuilder::new("eight", "test");
    let bridges = [0, 1]
        .map(|at| builder.device(&format!("bridge{at}"), DeviceKind::HostBridge, None).unwrap());
    builder.data_sheet_link(bridges[0], bridges[1], LinkKind::Upi, 1).unwrap();
    let ids = [0, 1, 2, 3, 4, 5, 6, 7].map(|gpu| {
        let id = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(id, bridges[gpu / 4], LinkKind::Pcie3, 1).unwrap();
        id
    });
    let pairs = (0..8).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), count) in pairs.zip(links) {
        if *count > 0 {
            builder.data_sheet_link(ids[a], ids[b], LinkKind::Nvlink2, *count).unwrap();
        }
    }
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_link_removed_or_a_share_raised_never_helps(
        mut links in proptest::collection::vec(0_u32..4, 28),
        removed: prop::sample::Index,
        raised: prop::sample::Index,
        free in 0_u128..256,
        shares in proptest::collection::vec(1_u32..9, 10),
    ) {
        let free = GpuSet(free | 0b1_0101);
        let patterns: Vec<Pattern> = SHAPES
            .into_iter()
            .map(|shape| Pattern::new(shape, 4).unwrap())
            .chain([Pattern::with_shares(4, &carried(&shares)).unwrap()])
            .collect();
        let bandwidth = |machine: &PreparedMachine, pattern: &Pattern| {
            best(machine, pattern, free).map(|it| it.chosen.effective_bandwidth.unwrap())
        };
        let before = prepared(&eight(&links));
        let with: Vec<_> = patterns.iter().map(|it| bandwidth(&before, it)).collect();
        // The bandwidth is that of the largest share; this is how long a unit of share takes.
        let time = |shares: &[u32]| {
            let pattern = Pattern::with_shares(4, &carried(shares)).unwrap();
            let largest = *shares[..6].iter().max().unwrap();
            bandwidth(&before, &pattern).map(|it| f64::from(largest) / it)
        };
        let mut more = shares.clone();
        more[raised.index(6)] += 1;
        prop_assert!(time(&more).map(|it| it * (1.0 + 1e-4)) >= time(&shares));
        links[removed.index(28)] = 0;
        let after = prepared(&eight(&links));
        for (pattern, with) in patterns.iter().zip(with) {
            prop_assert!(bandwidth(&after, pattern) <= with, "{pattern:?}");
        }
    }
}

/// Gives the complete graph of four vertices these shares.
fn carried(shares: &[u32]) -> Vec<EdgeShare> {
    let pairs = (0..4).flat_map(|b| (0..b).map(move |a| (a, b)));
    pairs.zip(shares).map(|((a, b), share)| EdgeShare::both(a, b, f64::from(*share))).collect()
}

#[test]
fn a_star_of_a_dgx1v_gets_its_spokes_on_nvlink() {
    let machine = prepared(&preset("dgx1-v100").unwrap());
    let pattern = Pattern::new(PatternShape::Star, 5).unwrap();
    let request = Request { pattern: &pattern, sensitive: true };
    let preserve = policy("preserve").unwrap();
    let found = preserve.choose(&machine, &request, GpuSet::first(8), &mut Effort::new()).unwrap();
    assert_eq!(found.chosen.links.pcie, 0, "{:?}", found.chosen);
    assert_eq!(found.chosen.gpus(), GpuSet::first(5));
}
