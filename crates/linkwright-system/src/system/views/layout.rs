//! Places the devices of a machine on a drawing.
//!
//! The host side is a tree and is drawn as one. CPUs stand on top, bridges and PCIe switches below,
//! GPUs and NICs as leaves in slots of their own. Where GPUs are wired to each other, those of one
//! CPU stand on an ellipse and all at different heights. Then a wire between two of them, or to the
//! same GPU of the next CPU, runs through no third. NVSwitches stand below the GPUs, network
//! switches above the CPUs.

use std::collections::BTreeMap;

use crate::system::composition::System;
use crate::system::kinds::DeviceKind;
use crate::system::server::{DeviceId, Server};
use crate::system::views::fabric_facts::heights;
use crate::system::views::proximity::is_host_link;

/// Gives a place in inches, to the right and up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::system) struct Point {
    pub(in crate::system) x: f64,
    pub(in crate::system) y: f64,
}

/// Gives the height of one row of the host tree, in inches.
const ROW: f64 = 1.2;

/// Holds a device of the host tree and the one above it.
struct Placed {
    device: DeviceId,
    parent: Option<DeviceId>,
}

/// Gives the space between two servers, in inches.
const BETWEEN_SERVERS: f64 = 1.5;

/// Gives a place for each device of a system, by its number. The devices of a server stand as if it
/// were alone, and servers stand side by side. The fabric's switches stand above them, higher the
/// further they are from nodes.
pub(in crate::system) fn places(system: &System) -> Vec<Point> {
    let layouts: Vec<Vec<Point>> =
        system.kinds().iter().map(|kind| layout(kind.server())).collect();
    let mut points: Vec<Point> = Vec::with_capacity(system.devices());
    let mut right = 0.0;
    for server in 0..system.servers() {
        let own = &layouts[system.kind_index_of(server)];
        let first = own.iter().map(|point| point.x).fold(f64::MAX, f64::min);
        let last = own.iter().map(|point| point.x).fold(f64::MIN, f64::max);
        points.extend(own.iter().map(|point| Point { x: point.x - first + right, y: point.y }));
        right += last - first + BETWEEN_SERVERS;
    }
    let Some(fabric) = system.fabric() else { return layouts.into_iter().flatten().collect() };
    let top = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let heights = heights(fabric);
    let of_level = |height: u32| heights.iter().filter(|it| **it == height).count() as f64;
    let mut placed: BTreeMap<u32, u32> = BTreeMap::new();
    points.extend(heights.iter().map(|height| {
        let at = placed.entry(*height).or_default();
        *at += 1;
        let x = (right - BETWEEN_SERVERS) * (f64::from(*at) - 0.5) / of_level(*height);
        Point { x, y: top + ROW * (1.5 + 1.5 * f64::from(*height)) }
    }));
    points
}

/// Gives a place for each device, by id.
pub(in crate::system) fn layout(machine: &Server) -> Vec<Point> {
    let mut points = vec![Point::default(); machine.devices().len()];
    let tree = host_forest(machine);
    let top = place_host(machine, &tree, &mut points);
    let of_kind = |kind: DeviceKind| -> Vec<DeviceId> {
        let ids = 0..machine.devices().len();
        ids.filter(|id| machine.devices()[*id].kind == kind).collect()
    };
    let is_wired = |kind: DeviceKind| {
        machine.links().iter().any(|link| {
            let ends = [link.a, link.b].map(|end| machine.devices()[end].kind);
            ends == [kind; 2] && !link.kind.is_pcie()
        })
    };
    let (left, right) = span(machine.gpus(), &points);
    let width = (right - left).max(ROW);
    if is_wired(DeviceKind::Gpu) {
        for (root, gpus) in gpus_by_root(machine, &tree) {
            circle(&gpus, points[root].x, &mut points);
        }
    }
    let cpus = of_kind(DeviceKind::Cpu);
    if cpus.len() > 2 {
        bend(&cpus, -ROW, &mut points);
    }
    let lowest = points.iter().map(|point| point.y).fold(0.0, f64::min);
    let switches = of_kind(DeviceKind::NvSwitch);
    spread(&switches, (left, right), lowest - ROW - 0.12 * width, &mut points);
    if is_wired(DeviceKind::NvSwitch) {
        bend(&switches, 0.12 * width, &mut points);
    }
    let above = points.iter().map(|point| point.y).fold(0.0, f64::min);
    for (kind, row) in [(DeviceKind::MemorySwitch, 1.0), (DeviceKind::Memory, 2.0)] {
        spread(&of_kind(kind), (left, right), above - row * ROW, &mut points);
    }
    let network = of_kind(DeviceKind::NetworkSwitch);
    spread(&network, (left, right), top + 2.0 * ROW, &mut points);
    points
}

/// Lists the devices of the host side as a forest, each before those below it.
fn host_forest(machine: &Server) -> Vec<Placed> {
    let kind = |id: DeviceId| machine.devices()[id].kind;
    let mut neighbours = vec![Vec::new(); machine.devices().len()];
    for link in machine.links().iter().filter(|link| is_host_link(machine, link)) {
        neighbours[link.a].push(link.b);
        neighbours[link.b].push(link.a);
    }
    let rank = |id: DeviceId| match kind(id) {
        DeviceKind::Gpu => 0,
        DeviceKind::HostBridge | DeviceKind::PcieSwitch => 1,
        _ => 2,
    };
    for below in &mut neighbours {
        below.sort_by_key(|id| rank(*id));
    }
    let roots = [
        DeviceKind::Cpu,
        DeviceKind::HostBridge,
        DeviceKind::PcieSwitch,
        DeviceKind::Gpu,
        DeviceKind::Nic,
    ];
    let mut seen: Vec<bool> = (0..neighbours.len()).map(|id| kind(id) == DeviceKind::Cpu).collect();
    let mut forest = Vec::new();
    for root_kind in roots {
        for root in (0..neighbours.len()).filter(|id| kind(*id) == root_kind) {
            if seen[root] && root_kind != DeviceKind::Cpu {
                continue;
            }
            let mut pending = vec![Placed { device: root, parent: None }];
            while let Some(placed) = pending.pop() {
                let device = placed.device;
                if std::mem::replace(&mut seen[device], true) && placed.parent.is_some() {
                    continue;
                }
                forest.push(placed);
                if matches!(kind(device), DeviceKind::Gpu | DeviceKind::Nic) {
                    continue;
                }
                let below = neighbours[device].iter().rev().filter(|id| !seen[**id]);
                pending.extend(below.map(|id| Placed { device: *id, parent: Some(device) }));
            }
        }
    }
    forest
}

/// The root of each tree of the forest and its GPUs; GPUs that are roots make one tree.
fn gpus_by_root(machine: &Server, forest: &[Placed]) -> Vec<(DeviceId, Vec<DeviceId>)> {
    let kind = |id: DeviceId| machine.devices()[id].kind;
    let mut trees: Vec<(DeviceId, Vec<DeviceId>)> = Vec::new();
    for Placed { device, parent } in forest {
        let continues = trees.last().is_some_and(|(root, _)| kind(*root) == DeviceKind::Gpu);
        if parent.is_none() && !(continues && kind(*device) == DeviceKind::Gpu) {
            trees.push((*device, Vec::new()));
        }
        if let (DeviceKind::Gpu, Some((_, gpus))) = (kind(*device), trees.last_mut()) {
            gpus.push(*device);
        }
    }
    trees.retain(|(_, gpus)| !gpus.is_empty());
    trees
}

/// Gives the host tree its places and returns the height of its highest row.
fn place_host(machine: &Server, forest: &[Placed], points: &mut [Point]) -> f64 {
    let kind = |id: DeviceId| machine.devices()[id].kind;
    let is_leaf = |id: DeviceId| matches!(kind(id), DeviceKind::Gpu | DeviceKind::Nic);
    let mut row = vec![0_u32; points.len()];
    let mut extent: Vec<Option<(f64, f64)>> = vec![None; points.len()];
    let mut parent_of_last = None;
    let mut next = 0.0;
    for (index, Placed { device, parent }) in forest.iter().enumerate() {
        let has_children = forest.get(index + 1).is_some_and(|next| next.parent == Some(*device));
        if !has_children {
            let half = if kind(*device) == DeviceKind::Nic { 0.5 } else { 0.7 };
            let gap = if parent_of_last == Some(*parent) { 0.0 } else { 0.3 };
            let x = next + gap + half;
            extent[*device] = Some((x, x));
            next = x + half;
            parent_of_last = Some(*parent);
        }
    }
    for Placed { device, parent } in forest.iter().rev() {
        if !is_leaf(*device) {
            row[*device] = row[*device].max(1);
        }
        let (left, right) = extent[*device].unwrap_or_default();
        points[*device].x = f64::midpoint(left, right);
        if let Some(parent) = *parent {
            row[parent] = row[parent].max(row[*device] + 1);
            let around = extent[parent].unwrap_or((left, right));
            extent[parent] = Some((around.0.min(left), around.1.max(right)));
        }
    }
    let top = row.iter().copied().max().unwrap_or_default();
    for Placed { device, parent } in forest {
        let height = match (kind(*device), parent) {
            (DeviceKind::Cpu, _) => f64::from(top),
            (DeviceKind::Nic, Some(parent)) => f64::from(row[*parent]) - 0.6,
            _ => f64::from(row[*device]),
        };
        points[*device].y = height * ROW;
    }
    f64::from(top) * ROW
}

/// Returns the leftmost and rightmost place of some devices, in inches.
fn span(devices: &[DeviceId], points: &[Point]) -> (f64, f64) {
    let xs = devices.iter().map(|id| points[*id].x);
    (xs.clone().fold(f64::INFINITY, f64::min), xs.fold(f64::NEG_INFINITY, f64::max))
}

/// Sets devices side by side at one height.
fn spread(devices: &[DeviceId], (left, right): (f64, f64), y: f64, points: &mut [Point]) {
    let step = ((right - left) / devices.len().max(1) as f64).max(1.2);
    let first = f64::midpoint(left, right) - step * (devices.len() as f64 - 1.0) / 2.0;
    for (index, device) in devices.iter().enumerate() {
        points[*device] = Point { x: first + step * index as f64, y };
    }
}

/// Sets devices on an ellipse about `middle`, below the place that they had. The first half goes
/// down its left side, the others down its right. Each stands a step lower than its opposite.
fn circle(devices: &[DeviceId], middle: f64, points: &mut [Point]) {
    let (left, right) = span(devices, points);
    let half_width = 0.22 * (right - left) + 0.6;
    let on_left = devices.len().div_ceil(2);
    for (index, device) in devices.iter().enumerate() {
        let (side, rank) =
            if index < on_left { (-1.0, 2 * index) } else { (1.0, 2 * (index - on_left) + 1) };
        let height = 1.0 - (2 * rank + 1) as f64 / devices.len() as f64;
        points[*device].x = middle + side * half_width * (1.0 - height * height).sqrt();
        points[*device].y -= 0.3 + 0.8 * rank as f64;
    }
}

/// Lowers devices the more the farther they stand from their middle, by `depth` at the ends.
fn bend(devices: &[DeviceId], depth: f64, points: &mut [Point]) {
    let (left, right) = span(devices, points);
    let (middle, half) = (f64::midpoint(left, right), (right - left) / 2.0);
    for device in devices.iter().filter(|_| half > 0.0) {
        let from_middle = (points[*device].x - middle) / half;
        points[*device].y -= depth * from_middle * from_middle;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::presets::{NAMES, preset};
    use crate::system::{LinkKind, ServerBuilder};

    #[test]
    fn no_two_devices_of_a_preset_overlap() {
        for name in NAMES {
            let points = layout(&preset(name).unwrap());
            for (index, a) in points.iter().enumerate() {
                for b in &points[..index] {
                    let apart = (a.x - b.x).abs() >= 0.9 || (a.y - b.y).abs() >= 0.45;
                    assert!(apart, "{name}: {a:?} {b:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_machine_has_finite_places(
            kinds in prop::collection::vec(0..DeviceKind::ALL.len(), 0..12),
            links in prop::collection::vec(
                (0..13_usize, 0..13_usize, 0..LinkKind::ALL.len()),
                0..30,
            ),
        ) {
            let mut builder = ServerBuilder::new("any", "test");
            builder.device("0", DeviceKind::Gpu, None).unwrap();
            for (index, kind) in kinds.iter().enumerate() {
                builder.device(&(index + 1).to_string(), DeviceKind::ALL[*kind], None).unwrap();
            }
            for (a, b, kind) in links {
                if a.max(b) <= kinds.len() && a != b {
                    let _ = builder.data_sheet_link(a, b, LinkKind::ALL[kind], 1);
                }
            }
            let points = layout(&builder.build().unwrap());
            prop_assert!(points.iter().all(|point| point.x.is_finite() && point.y.is_finite()));
        }
    }

    #[test]
    fn wired_gpus_of_one_cpu_stand_at_different_heights() {
        let machine = preset("dgx1-v100").unwrap();
        let points = layout(&machine);
        let heights = machine.gpus().iter().map(|gpu| points[*gpu].y);
        let (first, second): (Vec<_>, Vec<_>) =
            (heights.clone().take(4).collect(), heights.skip(4).collect());
        assert!(first.is_sorted_by(|a, b| a != b));
        assert_eq!(first, second);
    }
}
