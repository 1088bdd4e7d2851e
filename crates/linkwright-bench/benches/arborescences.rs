//! Measures how long exact plans for one root and for every root take, by machine.
//!
//! `cargo bench --bench arborescences` runs it; docs/benchmarks.md quotes its figures. It first
//! prints each plan's rate, its trees and their depth.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use linkwright::graph::arborescences::{
    ArborescencePacking, DirectedGraph, Preference, pack_from_every_root, pack_from_root,
};
use linkwright::system::presets::preset;
use linkwright::system::{DeviceKind, LinkKind};

/// Returns the GPUs and NVSwitches of a preset, in bytes per second.
fn fabric(name: &str) -> DirectedGraph {
    let machine = preset(name).unwrap();
    let is_fabric = |kind| matches!(kind, DeviceKind::Gpu | DeviceKind::NvSwitch);
    let devices = machine.devices().iter().enumerate();
    let kept: Vec<usize> =
        devices.filter(|(_, device)| is_fabric(device.kind)).map(|(id, _)| id).collect();
    let place = |id: usize| kept.binary_search(&id).ok();
    let mut arcs = Vec::new();
    for link in machine.links() {
        if let (Some(a), Some(b)) = (place(link.a), place(link.b)) {
            let bandwidth = link.total_bandwidth().0;
            arcs.extend([(a, b, bandwidth), (b, a, bandwidth)]);
        }
    }
    let terminals = machine.gpus().iter().filter_map(|gpu| place(*gpu)).collect();
    DirectedGraph { vertices: kept.len(), terminals, arcs }
}

/// Builds DGX A100s of eight GPUs each. Each GPU has two links to each of six NVSwitches. Each of
/// four PCIe switches has two GPUs and two 200 Gb/s interfaces. All interfaces lead to one network
/// switch.
fn dgx_a100s(servers: usize) -> DirectedGraph {
    let nvlink = 2 * LinkKind::Nvlink3.data_sheet().bandwidth.0;
    let pcie = LinkKind::Pcie4.data_sheet().bandwidth.0;
    let network_link = 25_000_000_000;
    let gpus = 8 * servers;
    let network = gpus;
    let mut vertices = gpus + 1;
    let mut add = || {
        vertices += 1;
        vertices - 1
    };
    let mut links = Vec::new();
    for server in 0..servers {
        for _ in 0..6 {
            let switch = add();
            links.extend((0..8).map(|gpu| (8 * server + gpu, switch, nvlink)));
        }
        for pair in 0..4 {
            let host = add();
            for side in 0..2 {
                let interface = add();
                links.push((8 * server + 2 * pair + side, host, pcie));
                links.push((host, interface, pcie));
                links.push((interface, network, network_link));
            }
        }
    }
    let arcs = links.iter().flat_map(|(a, b, value)| [(*a, *b, *value), (*b, *a, *value)]);
    DirectedGraph { vertices, terminals: (0..gpus).collect(), arcs: arcs.collect() }
}

fn describe(name: &str, packing: &ArborescencePacking) {
    let depth = packing.trees.iter().map(|tree| {
        let mut depth = BTreeMap::from([(tree.root, 0)]);
        for (parent, child) in &tree.arcs {
            depth.insert(*child, depth[parent] + 1);
        }
        depth.into_values().max().unwrap_or(0)
    });
    let depth = depth.max().unwrap_or(0);
    let rate = packing.rate.numerator as f64 / packing.rate.denominator as f64 / 1e9;
    let routes: usize = packing.logical_arcs.iter().map(|arc| arc.routes.len()).sum();
    let trees = packing.trees.len();
    println!("{name}: {rate:.3} GB/s per root, {trees} trees, depth {depth}, {routes} routes");
}

fn plans(criterion: &mut Criterion) {
    let machines = [
        ("dgx1-v100", fabric("dgx1-v100")),
        ("dgx2", fabric("dgx2")),
        ("dgx-a100", fabric("dgx-a100")),
        ("2-dgx-a100", dgx_a100s(2)),
        ("4-dgx-a100", dgx_a100s(4)),
    ];
    let mut group = criterion.benchmark_group("arborescences");
    for (name, graph) in &machines {
        for preference in [Preference::FewTrees, Preference::LowDepth] {
            let label = format!("{name} from one root, {preference:?}");
            describe(&label, &pack_from_root(graph, 0, preference).unwrap());
            let label = format!("{name} from every root, {preference:?}");
            describe(&label, &pack_from_every_root(graph, preference).unwrap());
        }
        // Both preferences choose among the same plans, so that one of them is timed.
        group.bench_function(format!("{name}/one-root"), |bencher| {
            bencher.iter(|| pack_from_root(black_box(graph), 0, Preference::FewTrees));
        });
        group.bench_function(format!("{name}/every-root"), |bencher| {
            bencher.iter(|| pack_from_every_root(black_box(graph), Preference::FewTrees));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(300));
    targets = plans
}
criterion_main!(benches);
