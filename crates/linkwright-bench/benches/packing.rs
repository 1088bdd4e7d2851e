//! How long the exact packing of spanning trees takes.
//!
//! `cargo bench --bench packing` runs it.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use linkwright::graph::spanning_trees::{Search, pack_spanning_trees};

const DOUBLE: [(usize, usize); 8] =
    [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
const SINGLE: [(usize, usize); 8] =
    [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];

fn matrix(count: usize, edges: impl Iterator<Item = (usize, usize, u64)>) -> Vec<u64> {
    let mut capacity = vec![0; count * count];
    for (a, b, value) in edges {
        capacity[a * count + b] = value;
        capacity[b * count + a] = value;
    }
    capacity
}

/// Measures a packing of the NVLink graph of a DGX-1V, in links.
fn dgx1v(criterion: &mut Criterion) {
    let double = DOUBLE.into_iter().map(|(a, b)| (a, b, 2));
    let capacity = matrix(8, double.chain(SINGLE.into_iter().map(|(a, b)| (a, b, 1))));
    criterion.bench_function("spanning-trees/dgx1-v100", |bencher| {
        bencher.iter(|| pack_spanning_trees(8, black_box(&capacity), Search::default()));
    });
}

/// Measures a packing of a hypercube of 16 vertices with a slower path through all of them, in
/// bytes per second.
fn hypercube(criterion: &mut Criterion) {
    let pairs = (0..16_usize).flat_map(|b| (0..b).map(move |a| (a, b)));
    let edges = pairs.filter_map(|(a, b)| match (a ^ b).is_power_of_two() {
        true => Some((a, b, 25_000_000_000)),
        false => (a + 1 == b).then_some((a, b, 15_754_000_000)),
    });
    let capacity = matrix(16, edges);
    criterion.bench_function("spanning-trees/hypercube-16", |bencher| {
        bencher.iter(|| pack_spanning_trees(16, black_box(&capacity), Search::default()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = dgx1v, hypercube
}
criterion_main!(benches);
