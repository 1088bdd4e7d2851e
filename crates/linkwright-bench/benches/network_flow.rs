//! How long the flow model takes: 1,000 transfers, 48 at a time, each followed by the next.
//!
//! `cargo bench --bench network_flow` runs it; divide by 2,000 for the time of one start or end.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use linkwright::network::{FlowNetwork, Route, RouteClass, Routes};
use linkwright::system::System;
use linkwright::units::{Bandwidth, Bytes, Picoseconds};
use linkwright_bench::systems::{alone, dgx_a100s};

const TRANSFERS: u64 = 1_000;
const CONCURRENT: u64 = 48;

/// The routes from each GPU to those `steps` ahead of it, where the class has one.
fn shifted(system: &System, class: RouteClass, steps: &[usize]) -> (Vec<Bandwidth>, Vec<Route>) {
    let routes = Routes::new(system, |_| 1.0).unwrap();
    let gpus: Vec<usize> = (0..system.gpus()).map(|gpu| system.gpu_device(gpu)).collect();
    let gpus = &gpus;
    let pairs = steps.iter().flat_map(|step| {
        (0..gpus.len()).map(move |index| (gpus[index], gpus[(index + step) % gpus.len()]))
    });
    let found = pairs.filter_map(|(from, to)| routes.route(from, to, class)).collect();
    (routes.capacities().to_vec(), found)
}

/// Plays the transfers; `step` makes each larger than the last, so that no two end together.
fn play(network: &mut FlowNetwork, routes: &[Route], step: u64) -> Picoseconds {
    let mut started = 0;
    let mut begin = |network: &mut FlowNetwork| {
        let route = &routes[started as usize % routes.len()];
        let bytes = Bytes((1 << 20) + started * step);
        network.start(&route.uses, bytes, None, network.now());
        started += 1;
    };
    for _ in 0..CONCURRENT {
        begin(network);
    }
    for ended in 1.. {
        if network.complete_next().is_none() {
            break;
        }
        if ended + CONCURRENT <= TRANSFERS {
            begin(network);
        }
    }
    network.now()
}

fn thousand_transfers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("thousand-transfers");
    group.throughput(Throughput::Elements(2 * TRANSFERS));
    let (dgx1, a100) = (alone("dgx1-v100"), alone("dgx-a100"));
    let pair = dgx_a100s(2);
    let every = [1, 2, 3, 4, 5, 6, 7];
    let cases = [
        ("dgx1-v100-nvlink", shifted(&dgx1, RouteClass::Fabric, &every)),
        ("dgx1-v100-host", shifted(&dgx1, RouteClass::Host, &every)),
        ("dgx-a100-all-to-all", shifted(&a100, RouteClass::Fabric, &every)),
        ("two-dgx-a100-ring", shifted(&pair, RouteClass::Any, &[1, 8])),
    ];
    for (name, (capacities, routes)) in cases {
        for (label, step) in [("in-step", 0), ("staggered", 4096)] {
            let mut network = FlowNetwork::new(&capacities);
            group.bench_function(BenchmarkId::new(name, label), |bencher| {
                bencher.iter(|| play(black_box(&mut network), &routes, step));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = thousand_transfers
}
criterion_main!(benches);
