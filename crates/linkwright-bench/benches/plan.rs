//! Measures how long whole plans take, from a machine and GPUs to a schedule, and the timing of
//! one.
//!
//! `cargo bench --bench plan` runs it; docs/benchmarks.md quotes its figures. It first prints each
//! plan's rate on the ways that it takes, and the optimum.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use linkwright::collectives::Collective;
use linkwright::collectives::plan::{Packing, Plan, Question, plan};
use linkwright::collectives::time::{protocol_of, time};
use linkwright::system::System;
use linkwright::units::Bytes;
use linkwright_bench::systems::{alone, dgx_a100s};

fn packed(machine: &System, collective: Collective) -> Plan {
    let gpus: Vec<usize> = (0..machine.gpus() as usize).collect();
    plan(&Packing, &Question::new(machine, &gpus, collective)).unwrap()
}

fn plans(criterion: &mut Criterion) {
    let machines = [alone("dgx1-v100"), alone("dgx2"), dgx_a100s(2), dgx_a100s(4)];
    let mut group = criterion.benchmark_group("plan");
    for machine in &machines {
        for collective in [Collective::AllGather, Collective::AllReduce] {
            let name = format!("{}/{}", machine.name(), collective.name());
            let plan = packed(machine, collective);
            let reached = plan.rate.as_gigabytes_per_second();
            let optimum = plan.optimum.map_or(f64::NAN, |rate| rate.as_gigabytes_per_second());
            println!("{name}: {reached:.3} of {optimum:.3} GB/s, {} trees", plan.trees.len());
            group.bench_function(name, |bencher| {
                bencher.iter(|| packed(black_box(machine), collective));
            });
        }
    }
    group.finish();
}

fn timing(criterion: &mut Criterion) {
    let machine = alone("dgx1-v100");
    let schedule = packed(&machine, Collective::AllReduce).schedule;
    let costs = protocol_of(&schedule, &machine).unwrap();
    let (size, chunk) = (Bytes(64 << 20), Bytes(1 << 20));
    criterion.bench_function("time/dgx1-v100/all-reduce 64 MiB by 1 MiB", |bencher| {
        bencher.iter(|| time(black_box(&schedule), &machine, size, chunk, &costs));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(300));
    targets = plans, timing
}
criterion_main!(benches);
