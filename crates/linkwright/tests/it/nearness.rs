//! Compares the third key of the policies with a naive definition, and tests its purpose.

use linkwright::allocation::nearness::{HostDistances, NearnessTable};
use linkwright::allocation::{
    BandwidthModel, Effort, GpuSet, POLICIES, Pattern, PatternShape, PreparedMachine, Request,
    Ties, policy,
};
use linkwright::system::presets::{NAMES, preset};
use linkwright::system::{
    BandwidthProfile, DeviceKind, Proximity, Server, nic_proximity, proximity,
};

/// The key as the documentation states it, counted pair by pair; less is better.
type Naive = ([usize; 5], [usize; 4], usize, [usize; 5]);

fn naive(machine: &Server, gpus: GpuSet, free: GpuSet) -> Naive {
    let apart = proximity(machine);
    let node = |gpu: usize| {
        let place = &machine.devices()[machine.gpus()[gpu]].locality;
        place.numa_affinity.clone().or(place.cpu_affinity.clone())
    };
    let spread = |set: GpuSet| {
        let mut counts = [0; 5];
        for (a, b) in set.iter().flat_map(|a| set.iter().map(move |b| (a, b))) {
            if a >= b {
                continue;
            }
            match apart[a][b].unwrap() {
                Proximity::Sys => counts[0] += 1,
                Proximity::Node => counts[2] += 1,
                Proximity::Phb => counts[3] += 1,
                Proximity::Pxb => counts[4] += 1,
                Proximity::Pix => {}
            }
            counts[1] += usize::from(node(a) != node(b));
        }
        counts
    };
    let nics = nic_proximity(machine);
    let nearest = |gpu: usize| nics[gpu].iter().min().copied();
    let has = |gpu: usize, nic: usize| Some(nics[gpu][nic]) == nearest(gpu);
    let far = [Proximity::Sys, Proximity::Node, Proximity::Phb, Proximity::Pxb]
        .map(|level| gpus.iter().filter(|gpu| nearest(*gpu) == Some(level)).count());
    let columns = 0..machine.devices().iter().filter(|d| d.kind == DeviceKind::Nic).count();
    let shares = |other: usize| {
        columns.clone().any(|nic| has(other, nic) && gpus.iter().any(|gpu| has(gpu, nic)))
    };
    let others = (0..machine.gpus().len()).filter(|gpu| !gpus.contains(*gpu));
    (spread(gpus), far, others.filter(|gpu| shares(*gpu)).count(), spread(free.without(gpus)))
}

#[test]
fn every_two_subsets_of_small_machines_compare_as_the_naive_key_does() {
    let small = NAMES.into_iter().map(|name| preset(name).unwrap());
    for machine in small.filter(|machine| machine.gpus().len() <= 8) {
        let count = machine.gpus().len();
        let distances = HostDistances::new(&machine);
        let table: NearnessTable = distances.tabulate();
        let everything = (1_u128 << count) - 1;
        for free in [everything, everything & !1, everything & !0b100_1010].map(GpuSet) {
            let sets: Vec<GpuSet> =
                (0..=everything).map(GpuSet).filter(|set| set.is_subset_of(free)).collect();
            let keys: Vec<Naive> = sets.iter().map(|set| naive(&machine, *set, free)).collect();
            let fast: Vec<_> = sets.iter().map(|set| distances.nearness(*set, free)).collect();
            for (a, b) in (0..sets.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                if sets[a].len() != sets[b].len() {
                    continue;
                }
                let expected = keys[a].cmp(&keys[b]);
                let context = (machine.name(), sets[a], sets[b], free);
                assert_eq!(fast[a].cmp(&fast[b]), expected, "{context:?}");
                let tabulated = table.compare(sets[a].0 as u16, sets[b].0 as u16, free);
                assert_eq!(tabulated, expected, "{context:?}");
                let difference = fast[a].difference(&fast[b]).map(|found| found.counts);
                assert_eq!(difference.map(|(a, b)| a.cmp(&b)).unwrap_or(expected), expected);
            }
        }
    }
}

fn prepared(machine: &Server, ties: Ties) -> PreparedMachine {
    let profile = BandwidthProfile::default_of(machine);
    PreparedMachine::new(machine, profile, BandwidthModel::Sound).unwrap().with_ties(ties)
}

fn chosen(
    machine: &PreparedMachine,
    name: &str,
    pattern: &Pattern,
    sensitive: bool,
    free: GpuSet,
) -> GpuSet {
    let request = Request { pattern, sensitive };
    let found = policy(name).unwrap().choose(machine, &request, free, &mut Effort::new());
    found.unwrap().chosen.gpus()
}

#[test]
fn no_decision_behind_switches_straddles_sockets_for_nothing() {
    for (name, masks) in [("hgx-h100", 256), ("dgx-a100", 256), ("dgx2", 1 << 16)] {
        let machine = preset(name).unwrap();
        let prepared = prepared(&machine, Ties::Nearest);
        let count = machine.gpus().len();
        let apart = proximity(&machine);
        let socket = |gpu: usize| -> GpuSet {
            (0..count).filter(|other| apart[gpu][*other] != Some(Proximity::Sys)).collect()
        };
        let patterns: Vec<Pattern> =
            (1..=count).map(|size| Pattern::new(PatternShape::Ring, size).unwrap()).collect();
        // Every set of busy GPUs, on 16 GPUs every 37th, which keeps all bits changing.
        let step = if count > 8 { 37 } else { 1 };
        for free in (0..masks).step_by(step).map(GpuSet) {
            for pattern in &patterns[..free.len()] {
                let fits = |gpu| socket(gpu).intersection(free).len() >= pattern.size();
                if !(0..count).any(fits) {
                    continue;
                }
                for (policy, sensitive) in
                    [("greedy", true), ("preserve", true), ("preserve", false)]
                {
                    let gpus = chosen(&prepared, policy, pattern, sensitive, free);
                    let first = gpus.iter().next().unwrap();
                    assert!(gpus.is_subset_of(socket(first)), "{name} {policy} {free}: {gpus}");
                }
            }
        }
    }
}

#[test]
fn an_h100_with_gpu_0_busy_gives_the_other_socket() {
    let machine = preset("hgx-h100").unwrap();
    let four = Pattern::new(PatternShape::Ring, 4).unwrap();
    let free = GpuSet::first(8).without(GpuSet::first(1));
    for name in ["greedy", "preserve"] {
        let nearest = chosen(&prepared(&machine, Ties::Nearest), name, &four, true, free);
        assert_eq!(nearest.to_string(), "4,5,6,7", "{name}");
        let published = chosen(&prepared(&machine, Ties::Published), name, &four, true, free);
        assert_eq!(published.to_string(), "1,2,3,4", "{name}");
    }
}

#[test]
fn a_pcie_server_with_gpu_0_busy_gives_a_whole_pair() {
    let machine = preset("4x-l40s-pcie").unwrap();
    let two = Pattern::new(PatternShape::Ring, 2).unwrap();
    let free = GpuSet::first(4).without(GpuSet::first(1));
    for name in ["greedy", "preserve", "topology-aware"] {
        let gpus = chosen(&prepared(&machine, Ties::Nearest), name, &two, true, free);
        assert_eq!(gpus.to_string(), "2,3", "{name}");
    }
}

#[test]
fn the_published_rule_gives_the_lowest_ids_of_equals() {
    let machine = preset("dgx-a100").unwrap();
    let prepared = prepared(&machine, Ties::Published);
    for free in (0..256).map(GpuSet) {
        for size in 1..=free.len() {
            let pattern = Pattern::new(PatternShape::Ring, size).unwrap();
            let lowest: GpuSet = free.iter().take(size).collect();
            for name in ["baseline", "greedy", "preserve"] {
                assert_eq!(chosen(&prepared, name, &pattern, true, free), lowest, "{name}");
            }
        }
    }
}

#[test]
fn searched_patterns_break_ties_as_rings_do() {
    let machine = preset("hgx-h100").unwrap();
    let prepared = prepared(&machine, Ties::Nearest);
    for free in (0..256).step_by(3).map(GpuSet) {
        for size in 2..=free.len().min(5) {
            let ring = Pattern::new(PatternShape::Ring, size).unwrap();
            for shape in [PatternShape::Chain, PatternShape::AllToAll] {
                let pattern = Pattern::new(shape, size).unwrap();
                for policy in POLICIES {
                    let (name, of) =
                        (policy.name(), |p| chosen(&prepared, policy.name(), p, true, free));
                    assert_eq!(of(&pattern), of(&ring), "{name} {} {free}", shape.name());
                }
            }
        }
    }
}
