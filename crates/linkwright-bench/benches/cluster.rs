//! Whole runs of a cluster: the loads by which the open simulators of the field were measured.
//!
//! Packet model: four jobs of 512 ranks (two of stencil4d, two of subcomm3d) on the study's
//! fat-tree and dragonfly of 2,048 GPUs. Flow model: one iteration of stencil4d on 512 and on
//! 2,048 ranks, the latter also with all messages of a node at once. Both: AMG, whose messages are
//! many and small. `cargo bench --bench cluster`; the throughput is hops of packets, or messages.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use linkwright::network::packet::NicPolicy;
use linkwright::program::Program;
use linkwright::program::skeletons::skeleton;
use linkwright::runtime::ProgramJob;
use linkwright::scenario::{Files, read_network};
use linkwright::simulation::cluster::{Cluster, ClusterOutcome};

/// Builds the study's cluster: a scenario's defaults with this fabric and routing.
fn cluster(preset: &str, routing: &str, fidelity: &str) -> Cluster {
    let text = format!(
        "preset = \"{preset}\"\nrouting = \"{routing}\"\nfidelity = \"{fidelity}\"\nseed = 1\n"
    );
    let network = read_network("<bench>", &text).expect("the settings are right");
    network.build("<bench>", &Files::default()).expect("the preset is right")
}

fn program(name: &str, ranks: u32) -> Arc<Program> {
    Arc::new(skeleton(name, ranks, &toml::Table::new()).expect("a skeleton of that size"))
}

/// All-to-all along all three axes of a cube, as the loads of the open simulators have it.
fn subcomm3d_of_a_cube() -> Arc<Program> {
    let messages = r#"message_x = "128 KiB", message_y = "128 KiB", message_z = "128 KiB""#;
    let options = format!("options = {{ sides = [8, 8, 8], {messages} }}");
    let options: toml::Table = toml::from_str(&options).expect("a table");
    let options = options["options"].as_table().expect("a table");
    Arc::new(skeleton("subcomm3d", 512, options).expect("a cube"))
}

fn play(cluster: &Cluster, programs: &[&Arc<Program>], iterations: u32) -> ClusterOutcome {
    let mut first = 0;
    let jobs: Vec<_> = programs
        .iter()
        .map(|program| {
            let ranks = program.ranks.len() as u32;
            let mut job = ProgramJob::new(program, (first..first + ranks).collect());
            first += ranks;
            job.iterations = NonZeroU32::new(iterations).expect("some iterations");
            job.computation_scale = 1.0 / 15.0;
            job
        })
        .collect();
    let mut hook = |_| ControlFlow::Continue(());
    cluster.replay(&jobs, &mut (), &mut hook).expect("the jobs end")
}

fn benchmark(criterion: &mut Criterion) {
    let stencil = program("stencil4d", 512);
    let subcomm = subcomm3d_of_a_cube();
    let four = [&stencil, &subcomm, &stencil, &subcomm];
    let mut group = criterion.benchmark_group("cluster");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    for (name, preset, routing) in [
        ("four jobs, fat-tree static", "fat-tree", "static"),
        ("four jobs, fat-tree adaptive", "fat-tree", "adaptive"),
        ("four jobs, dragonfly progressive", "dragonfly", "progressive"),
    ] {
        let cluster = cluster(preset, routing, "packet");
        let hops = play(&cluster, &four, 1).packet_hops;
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(play(&cluster, &four, 1)));
        });
    }
    for (ranks, nic, name) in [
        (512, NicPolicy::FCFS, "stencil4d of 512, flow"),
        (2048, NicPolicy::FCFS, "stencil4d of 2048, flow"),
        (2048, NicPolicy::ROUND_ROBIN, "stencil4d of 2048, flow, rr"),
    ] {
        let stencil = program("stencil4d", ranks);
        let mut cluster = cluster("fat-tree", "static", "flow");
        cluster.nic = nic;
        group.throughput(Throughput::Elements(u64::from(ranks) * 8));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(play(&cluster, &[&stencil], 1)));
        });
    }
    let amg = program("amg", 512);
    for (name, fidelity) in
        [("amg of 512, packets, rr", "packet"), ("amg of 512, flow, rr", "flow")]
    {
        let mut cluster = cluster("fat-tree", "adaptive", fidelity);
        cluster.nic = NicPolicy::ROUND_ROBIN;
        let played = play(&cluster, &[&amg], 1);
        let messages = played.jobs.jobs[0].ranks.iter().map(|rank| rank.messages).sum();
        group.throughput(Throughput::Elements(messages));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(play(&cluster, &[&amg], 1)));
        });
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
