//! Measures how long decisions take: preparation, one decision, a whole mix, an import.
//!
//! `cargo bench --bench allocation` runs it; docs/benchmarks.md quotes its figures.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use linkwright::allocation::cluster::{ClusterAllocator, ClusterRequest, ServerChoice, Servers};
use linkwright::allocation::{
    BandwidthModel, Effort, GpuSet, POLICIES, Pattern, PatternShape, PreparedMachine, Request,
    policy,
};
use linkwright::diagnostic::Named;
use linkwright::scenario::{Files, read_network};
use linkwright::simulation::{MixOptions, QueueDiscipline, generate, simulate};
use linkwright::system::presets::preset;
use linkwright::system::{BandwidthProfile, ImportOptions, import};

fn prepared(name: &str, model: BandwidthModel) -> PreparedMachine {
    PreparedMachine::new(&preset(name).unwrap(), BandwidthProfile::Mapa, model).unwrap()
}

/// Measures the machine's one-time work.
fn prepare(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prepare");
    for name in ["dgx1-v100", "dgx2", "torus2d-16", "cubemesh-16"] {
        for model in [BandwidthModel::Sound, BandwidthModel::Published] {
            let id = BenchmarkId::new(name, format!("{model:?}").to_lowercase());
            group.bench_function(id, |bencher| bencher.iter(|| prepared(name, model)));
        }
    }
    group.finish();
}

/// Measures one decision for a ring, on the idle machine, at every size.
fn decide_rings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide-ring");
    for name in ["dgx1-v100", "torus2d-16"] {
        for model in [BandwidthModel::Sound, BandwidthModel::Published] {
            let machine = prepared(name, model);
            let free = GpuSet::first(machine.gpu_count());
            for policy in POLICIES {
                let label =
                    format!("{name}/{}/{}", policy.name(), format!("{model:?}").to_lowercase());
                for size in 1..=machine.gpu_count() {
                    let pattern = Pattern::new(PatternShape::Ring, size).unwrap();
                    let request = Request { pattern: &pattern, sensitive: true };
                    group.bench_function(BenchmarkId::new(&label, size), |bencher| {
                        bencher.iter(|| {
                            let effort = &mut Effort::new();
                            policy.choose(&machine, black_box(&request), free, effort)
                        });
                    });
                }
            }
        }
    }
    group.finish();
}

/// Times one decision on idle servers of eight GPUs, by each choice of servers.
fn decide_on_servers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide-servers");
    let network = "machine = \"hgx-h100\"\nservers = 64\nkind = \"fat-tree\"\n";
    let cluster = read_network("bench", network).unwrap().build("bench", &Files::new()).unwrap();
    let system = &*cluster.system;
    for (name, choice) in ServerChoice::NAMED {
        let machines = vec![prepared("hgx-h100", BandwidthModel::Sound)];
        let policy = policy("preserve").unwrap();
        let servers = Servers { system, machines, policy, choice: *choice };
        let allocator = ClusterAllocator::new(servers);
        for size in [4, 16, 512] {
            let pattern = Pattern::new(PatternShape::Ring, size).unwrap();
            let (sensitive, servers, exclusive) = (true, None, false);
            let request = ClusterRequest { pattern: &pattern, sensitive, servers, exclusive };
            group.bench_function(BenchmarkId::new(*name, size), |bencher| {
                bencher.iter(|| allocator.decide("job", black_box(&request), &mut Effort::new()));
            });
        }
    }
    group.finish();
}

/// One decision for patterns that are searched, on the idle machine, by greedy.
fn decide_others(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide-searched");
    let greedy = POLICIES.into_iter().find(|policy| policy.name() == "greedy").unwrap();
    for name in ["dgx1-v100", "torus2d-16"] {
        let machine = prepared(name, BandwidthModel::Sound);
        let free = GpuSet::first(machine.gpu_count());
        for shape in [
            PatternShape::Chain,
            PatternShape::Tree,
            PatternShape::Star,
            PatternShape::AllToAll,
            PatternShape::RingTree,
        ] {
            for size in [4, 8] {
                let pattern = Pattern::new(shape, size).unwrap();
                let request = Request { pattern: &pattern, sensitive: true };
                let id = BenchmarkId::new(format!("{name}/{}", shape.name()), size);
                group.bench_function(id, |bencher| {
                    bencher.iter(|| {
                        let effort = &mut Effort::new();
                        greedy.choose(&machine, black_box(&request), free, effort)
                    });
                });
            }
        }
    }
    group.finish();
}

/// Times one decision by preserve for a sensitive job, whose pattern is judged by its edges. The
/// machine is prepared before and was asked for the pattern. It is idle, or every third GPU is busy.
fn decide_by_edges(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide-by-edges");
    let preserve = POLICIES.into_iter().find(|policy| policy.name() == "preserve").unwrap();
    for name in ["dgx1-v100", "hgx-h100", "dgx2", "torus2d-16", "cubemesh-16"] {
        let machine = prepared(name, BandwidthModel::Sound);
        let idle = GpuSet::first(machine.gpu_count());
        let third = (0..machine.gpu_count()).step_by(3).collect();
        for (state, free) in [("idle", idle), ("busy", idle.without(third))] {
            for shape in [PatternShape::Chain, PatternShape::Star, PatternShape::AllToAll] {
                for size in [4, 5, 8, 12].into_iter().filter(|size| *size <= free.len()) {
                    let pattern = Pattern::new(shape, size).unwrap();
                    let request = Request { pattern: &pattern, sensitive: true };
                    let id = BenchmarkId::new(format!("{name}/{state}/{}", shape.name()), size);
                    group.bench_function(id, |bencher| {
                        bencher.iter(|| {
                            let effort = &mut Effort::new();
                            preserve.choose(&machine, black_box(&request), free, effort)
                        });
                    });
                }
            }
        }
    }
    group.finish();
}

/// Measures the paper's mix of 300 jobs under all four policies, preparation included.
fn mix(criterion: &mut Criterion) {
    let jobs = generate(&MixOptions { seed: 7, ..MixOptions::default() }).unwrap();
    criterion.bench_function("mix/300-jobs-4-policies", |bencher| {
        bencher.iter(|| {
            let machine = prepared("dgx1-v100", BandwidthModel::Sound);
            for policy in POLICIES {
                let go_on = &mut |_| ControlFlow::Continue(());
                let fifo = QueueDiscipline::Fifo;
                black_box(simulate(&machine, &jobs, policy, fifo, GpuSet::EMPTY, go_on)).unwrap();
            }
        });
    });
}

fn import_paste(criterion: &mut Criterion) {
    let text = include_str!("../../../examples/topologies/dgx-a100-12-nics.nvidia-smi-topo-m.txt");
    criterion.bench_function("import/dgx-a100-12-nics", |bencher| {
        bencher.iter(|| import("dgx-a100.txt", text, None, &ImportOptions::default()).unwrap());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(300));
    targets = prepare, decide_rings, decide_on_servers, decide_others, decide_by_edges, mix, import_paste
}
criterion_main!(benches);
