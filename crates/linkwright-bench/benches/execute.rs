//! How fast schedules are checked and executed, beside a plain copy of memory.
//!
//! `cargo bench --bench execute`. The throughput of a group is the algorithm bandwidth of
//! nccl-tests: bytes of one rank's buffer over the time of the whole operation.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use linkwright::collectives::{ExecuteOptions, Placement, Reduction, Schedule, check, execute};

#[allow(dead_code, reason = "the tests use more of them")]
#[path = "../../linkwright/tests/it/collectives/schedules.rs"]
mod schedules;

/// Counts the elements of a rank's buffer: 32 MiB of `f32`, more than a core's caches.
const ELEMENTS: usize = 8 << 20;

/// Measures a copy to memory in use, and one to memory that the system has yet to hand out. A run
/// out of place pays the second price for its outputs.
fn memcpy(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memcpy");
    group.throughput(Throughput::Bytes(4 * ELEMENTS as u64));
    let source = vec![1.0_f32; ELEMENTS];
    let mut destination = vec![0.0_f32; ELEMENTS];
    group.bench_function("used", |bencher| {
        bencher.iter(|| destination.copy_from_slice(black_box(&source)));
    });
    group.bench_function("fresh", |bencher| bencher.iter_with_large_drop(|| source.clone()));
    group.finish();
}

fn execution(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("execute");
    group.throughput(Throughput::Bytes(4 * ELEMENTS as u64));
    let mut run = |name: &str, schedule: &Schedule, placement| {
        let ranks = schedule.ranks();
        let input = |rank| vec![1.0_f32; ELEMENTS * schedule.collective.input_shards(ranks, rank)];
        let inputs: Vec<_> = (0..ranks).map(input).collect();
        group.bench_function(BenchmarkId::new(name, ranks), |bencher| {
            let options =
                ExecuteOptions { placement: Some(placement), ..ExecuteOptions::default() };
            let run = |inputs| execute(schedule, inputs, Reduction::Sum, &options).unwrap();
            bencher.iter_batched(|| inputs.clone(), run, BatchSize::PerIteration);
        });
    };
    for ranks in [2, 4, 8] {
        let ring = schedules::ring_all_reduce(ranks, 1);
        run("ring-all-reduce/in-place", &ring, Placement::InPlace);
        // The elements do not divide into chunks, as with most plans.
        let uneven = schedules::ring_all_reduce(ranks, 3);
        run("ring-all-reduce/in-place-uneven", &uneven, Placement::InPlace);
        run("ring-all-reduce/out-of-place", &ring, Placement::OutOfPlace);
        let chain = schedules::chain_broadcast(ranks, 8);
        run("chain-broadcast/out-of-place", &chain, Placement::OutOfPlace);
    }
    group.finish();
}

fn checks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    for loops in [1, 64, 840] {
        let schedule = schedules::ring_all_reduce(8, loops);
        let id = BenchmarkId::new("ring-of-8", schedule.step_count());
        group.bench_function(id, |bencher| bencher.iter(|| check(black_box(&schedule)).unwrap()));
    }
    let wide = schedules::one_hop_all_to_all(64, 8);
    let id = BenchmarkId::new("all-to-all-of-64", wide.step_count());
    group.bench_function(id, |bencher| bencher.iter(|| check(black_box(&wide)).unwrap()));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(600));
    targets = memcpy, execution, checks
}
criterion_main!(benches);
