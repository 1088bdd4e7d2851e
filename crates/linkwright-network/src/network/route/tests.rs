//! Tests routes on real machines, and conditions that hold for every route.

use super::*;
use crate::system::presets::NAMES;
use crate::system::test_support::{alone, on_one_switch};

const CLASSES: [RouteClass; 4] =
    [RouteClass::Fabric, RouteClass::Host, RouteClass::Network, RouteClass::Any];

/// Ways, hops, GB/s and nanoseconds of a route between two named devices; ways are counted
/// on the first hop.
fn summary(
    system: &System,
    from: &str,
    to: &str,
    class: RouteClass,
) -> Option<(usize, u32, f64, u64)> {
    let routes = Routes::new(system, |_| 1.0).unwrap();
    let named = |name| (0..system.devices()).find(|device| system.device_name(*device) == name);
    let [from, to] = [from, to].map(|name| named(name).unwrap());
    let route = routes.route(from, to, class)?;
    let first = route.uses.iter().filter(|(resource, _)| routes.wire(*resource).1 == from);
    let rate = route.bandwidth.as_gigabytes_per_second();
    Some((first.count(), route.hops, rate, route.latency.0 / 1000))
}

#[test]
fn known_machines_have_their_known_routes() {
    use RouteClass::{Any, Fabric, Host, Network};
    let cases = [
        ("dgx1-v100", "GPU0", "GPU3", Fabric, Some((1, 1, 50.0, 500))),
        ("dgx1-v100", "GPU0", "GPU1", Any, Some((1, 1, 25.0, 500))),
        ("dgx1-v100", "GPU0", "GPU5", Fabric, None),
        ("dgx1-v100", "GPU0", "GPU1", Host, Some((1, 2, 15.754, 500))),
        ("dgx1-v100", "GPU0", "GPU5", Any, Some((1, 5, 15.754, 1100))),
        ("dgx1-v100", "GPU0", "GPU5", Network, None),
        ("dgx1-v100", "GPU0", "mlx5_0", Host, Some((1, 2, 15.754, 500))),
        ("dgx2", "GPU0", "GPU7", Fabric, Some((6, 2, 150.0, 1000))),
        ("dgx2", "GPU0", "GPU8", Fabric, Some((6, 3, 150.0, 1500))),
        ("dgx2", "GPU0", "GPU2", Host, Some((1, 4, 15.754, 1000))),
        ("dgx2", "GPU0", "GPU8", Host, Some((1, 7, 15.754, 1600))),
        ("dgx-a100", "GPU0", "GPU7", Fabric, Some((6, 2, 300.0, 1000))),
        ("dgx-a100", "GPU0", "GPU7", Any, Some((6, 2, 300.0, 1000))),
        ("hgx-h100", "GPU3", "GPU5", Fabric, Some((4, 2, 450.0, 1000))),
        ("summit-node", "GPU0", "GPU1", Any, Some((1, 1, 50.0, 500))),
        ("summit-node", "GPU0", "GPU3", Fabric, None),
        ("summit-node", "GPU0", "GPU3", Host, Some((1, 3, 50.0, 1100))),
        ("pcie-tree-4", "GPU0", "GPU1", Any, Some((1, 2, 15.754, 500))),
        ("pcie-tree-4", "GPU0", "GPU2", Any, Some((1, 4, 15.754, 1000))),
        ("pcie-tree-4", "GPU0", "GPU2", Fabric, None),
    ];
    for (name, from, to, class, expected) in cases {
        let machine = alone(name);
        assert_eq!(summary(&machine, from, to, class), expected, "{name} {from} {to} {class:?}");
    }
}

#[test]
fn the_network_is_as_wide_as_its_narrowest_part() {
    let cases = [
        ("dgx1-v100", 40, (1, 6, 5.0, 2200)),
        ("dgx1-v100", 100, (1, 6, 12.5, 2200)),
        ("dgx1-v100", 400, (1, 6, 15.754, 2200)),
        // Two interfaces share a PCIe switch with two GPUs.
        ("dgx-a100", 40, (1, 6, 10.0, 2200)),
        ("dgx-a100", 100, (1, 6, 25.0, 2200)),
        ("dgx-a100", 200, (1, 6, 31.508, 2200)),
        ("pcie-tree-4", 100, (1, 10, 12.5, 2800)),
    ];
    for (name, gigabits, expected) in cases {
        for count in [2, 4] {
            let whole = on_one_switch(name, count, gigabits);
            let far = format!("node{}/GPU3", count - 1);
            for class in [RouteClass::Network, RouteClass::Any] {
                assert_eq!(summary(&whole, "node0/GPU1", &far, class), Some(expected), "{name}");
            }
            assert_eq!(summary(&whole, "node0/GPU1", &far, RouteClass::Host), None);
            assert_eq!(summary(&whole, "node0/GPU1", "node0/GPU3", RouteClass::Network), None);
            assert_conserving(&whole);
        }
    }
}

/// Asserts four things of every route. All that enters a device leaves it, and all reaches the end.
/// Nothing crosses another GPU. The bandwidth is set by the resource that is full first.
fn assert_conserving(system: &System) {
    let routes = Routes::new(system, |_| 1.0).unwrap();
    let gpus: Vec<usize> = (0..system.gpus()).map(|gpu| system.gpu_device(gpu)).collect();
    for (from, to) in gpus.iter().flat_map(|a| gpus.iter().map(|b| (*a, *b))) {
        for class in CLASSES {
            let Some(route) = routes.route(from, to, class) else { continue };
            let mut surplus = vec![0.0; system.devices()];
            let mut narrowest = f64::INFINITY;
            for (resource, share) in &route.uses {
                let (wire, sender) = routes.wire(*resource);
                // A memory is written and read.
                let most = if wire.a == wire.b { 2.0 } else { 1.0 };
                assert!(*share > 0.0 && *share <= most);
                surplus[sender] -= share;
                surplus[wire.other_end(sender)] += share;
                narrowest = narrowest.min(routes.capacities()[*resource].0 as f64 / share);
                let is_gpu = |id: WiredId| system.device_kind(id) == DeviceKind::Gpu;
                assert!(!is_gpu(sender) || sender == from);
            }
            if from != to {
                surplus[from] += 1.0;
                surplus[to] -= 1.0;
            }
            assert!(surplus.iter().all(|sum: &f64| sum.abs() < 1e-12));
            assert_eq!(route.bandwidth, Bandwidth(narrowest.round() as u64));
            assert_eq!(route.uses.is_empty(), from == to);
        }
    }
}

#[test]
fn every_preset_has_sound_routes() {
    for name in NAMES {
        let machine = alone(name);
        assert_conserving(&machine);
        let routes = Routes::new(&machine, |_| 1.0).unwrap();
        for gpu in 1..machine.gpus() {
            let [before, at] = [gpu - 1, gpu].map(|gpu| machine.gpu_device(gpu));
            assert!(routes.route(before, at, RouteClass::Any).is_some(), "{name}");
        }
    }
}

/// A copy through the host's memory loads all that leads there and back. It is no faster than one that goes straight.
#[test]
fn copies_through_memory_load_every_link_on_their_way() {
    for name in NAMES {
        let machine = alone(name);
        let routes = Routes::new(&machine, |_| 1.0).unwrap();
        let gpus: Vec<WiredId> =
            (0..machine.gpus().min(16)).map(|at| machine.gpu_device(at)).collect();
        for (from, to) in gpus.iter().flat_map(|from| gpus.iter().map(move |to| (*from, *to))) {
            let Some(straight) = routes.route(from, to, RouteClass::Host) else { continue };
            if from == to {
                continue;
            }
            let staged = routes.through_memory(from, to).unwrap();
            let host = routes.host_of(to).unwrap();
            let legs = [(from, host), (host, to)]
                .map(|(from, to)| routes.route(from, to, RouteClass::Host).unwrap().uses);
            let loaded = |at: ResourceId| -> f64 {
                let parts = legs.iter().flatten().filter(|(resource, _)| *resource == at);
                parts.map(|(_, part)| part).sum()
            };
            assert!(
                staged.uses.iter().all(|(at, part)| (loaded(*at) - part).abs() < 1e-12),
                "{name}"
            );
            assert!(legs.iter().flatten().all(|(at, _)| staged.uses.iter().any(|it| it.0 == *at)));
            assert!(staged.bandwidth <= straight.bandwidth, "{name}");
        }
    }
}

#[test]
fn efficiency_scales_capacities_by_kind() {
    let machine = alone("dgx1-v100");
    let nvlink = |wire: &Wire| if wire.is_gpu_fabric() { 0.8 } else { 1.0 };
    let routes = Routes::new(&machine, nvlink).unwrap();
    let route =
        routes.route(machine.gpu_device(0), machine.gpu_device(3), RouteClass::Any).unwrap();
    assert_eq!(route.bandwidth, Bandwidth::gigabytes_per_second(40));
    for value in [0.0, -1.0, 1.01, f64::NAN] {
        let error = Routes::new(&machine, |_| value).unwrap_err().to_string();
        assert!(error.contains("nvlink2"), "{error}");
    }
}
