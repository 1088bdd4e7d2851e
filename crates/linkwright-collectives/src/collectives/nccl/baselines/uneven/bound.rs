//! Bounds what any way of exchanging can reach.
//!
//! The bytes that some ranks have for the others must cross the links between, whichever way they
//! take and whoever relays them. So they take at least their number over the narrowest cut between
//! (Ford and Fulkerson, 1956). Links count with what long transfers reach of them, as where
//! schedules are played. Hosts make the groups that are looked at. These are each GPU, the GPUs
//! under one PCIe switch, under one CPU, and those of one server.

use std::collections::{BTreeMap, BTreeSet};

use super::matrix::ByteMatrix;
use crate::graph::max_flow::FlowGraph;
use crate::network::Routes;
use crate::system::kinds::DeviceKind;
use crate::system::views::wiring::WiredId;
use crate::system::{System, Wire, Wiring};
use crate::units::{Bandwidth, Picoseconds};

/// Holds the least time of an exchange, with the links that set it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExchangeBound {
    /// No way of exchanging takes less.
    pub time: Picoseconds,
    /// Counts the bytes that have to cross.
    pub bytes: u128,
    /// Says what the links of the cut carry together.
    pub bandwidth: Bandwidth,
    /// Lists the ranks on one side.
    pub ranks: Vec<usize>,
    /// Tells whether the bytes leave these ranks; else they enter.
    pub leaves: bool,
    /// Names the links of the cut, each by its two ends, in the direction of the bytes.
    pub links: Vec<(String, String)>,
}

/// The greatest of all bounds; None where there is no message.
pub(super) fn bound(
    system: &System,
    wiring: &Wiring,
    gpus: &[usize],
    matrix: &ByteMatrix,
    routes: &Routes<'_>,
) -> Option<ExchangeBound> {
    let mut best: Option<(Cut, Vec<usize>, bool)> = None;
    for group in groups(wiring, gpus) {
        for leaves in [true, false] {
            let Some(cut) = Cut::of(wiring, gpus, matrix, routes, &group, leaves) else { continue };
            if best.as_ref().is_none_or(|(known, ..)| cut.seconds() > known.seconds()) {
                best = Some((cut, group.iter().copied().collect(), leaves));
            }
        }
    }
    let (cut, ranks, leaves) = best?;
    let name = |device: WiredId| system.device_name(wiring.devices()[device].id);
    let links = cut.links.iter().map(|(from, to)| (name(*from), name(*to))).collect();
    // It is rounded down, and so is what rounding might have added.
    let time = Picoseconds((cut.seconds() * (1.0 - 1e-9) * 1e12) as u64);
    let bandwidth = Bandwidth(cut.capacity.min(u128::from(u64::MAX)) as u64);
    Some(ExchangeBound { time, bytes: cut.bytes, bandwidth, ranks, leaves, links })
}

/// Holds bytes that cross from some devices to others, and the narrowest links between.
struct Cut {
    bytes: u128,
    /// Is in bytes a second.
    capacity: u128,
    links: Vec<(WiredId, WiredId)>,
}

impl Cut {
    /// Finds the cut of a group; None where nothing crosses.
    fn of(
        wiring: &Wiring,
        gpus: &[usize],
        matrix: &ByteMatrix,
        routes: &Routes<'_>,
        group: &BTreeSet<usize>,
        leaves: bool,
    ) -> Option<Self> {
        let crosses = |(from, to): (usize, usize)| {
            group.contains(&from) == leaves && group.contains(&to) != leaves
        };
        let messages = matrix.messages().filter(|(pair, _)| crosses(*pair));
        let bytes: u128 = messages.map(|(_, bytes)| u128::from(bytes.0)).sum();
        if bytes == 0 {
            return None;
        }
        let devices = wiring.devices().len();
        let (source, sink) = (devices, devices + 1);
        let mut network = FlowGraph::new(devices + 2);
        for (index, wire) in wiring.wires().iter().enumerate() {
            let [there, back] = [2 * index, 2 * index + 1].map(|it| routes.capacities()[it].0);
            network.add_arc(wire.a, wire.b, there.into());
            network.add_arc(wire.b, wire.a, back.into());
        }
        for (rank, gpu) in gpus.iter().enumerate() {
            let device = wiring.gpu(*gpu);
            if group.contains(&rank) == leaves {
                network.add_arc(source, device, 1 << 100);
            } else {
                network.add_arc(device, sink, 1 << 100);
            }
        }
        let capacity = network.send(source, sink);
        let near = network.reached_from(source);
        let ends = |wire: &Wire| [(wire.a, wire.b), (wire.b, wire.a)];
        let links = wiring.wires().iter().flat_map(ends).filter(|(a, b)| near[*a] && !near[*b]);
        let links = links.collect();
        // GPUs that no link joins have no time either.
        (capacity > 0).then_some(Self { bytes, capacity, links })
    }

    fn seconds(&self) -> f64 {
        self.bytes as f64 / self.capacity as f64
    }
}

/// Groups of ranks by what their GPUs hang on, each once; never all of them.
fn groups(wiring: &Wiring, gpus: &[usize]) -> BTreeSet<BTreeSet<usize>> {
    let mut of_device: BTreeMap<(DeviceKind, WiredId), BTreeSet<usize>> = BTreeMap::new();
    let mut of_server: BTreeMap<Option<usize>, BTreeSet<usize>> = BTreeMap::new();
    let mut groups: BTreeSet<BTreeSet<usize>> =
        (0..gpus.len()).map(|rank| BTreeSet::from([rank])).collect();
    for (rank, gpu) in gpus.iter().enumerate() {
        of_server.entry(wiring.server_of(*gpu)).or_default().insert(rank);
        for device in above(wiring, wiring.gpu(*gpu)) {
            let kind = wiring.devices()[device].kind;
            of_device.entry((kind, device)).or_default().insert(rank);
        }
    }
    groups.extend(of_device.into_values().chain(of_server.into_values()));
    groups.retain(|group| group.len() < gpus.len());
    groups
}

/// Lists the PCIe switches and CPUs over a GPU, up to the first CPUs.
fn above(wiring: &Wiring, gpu: WiredId) -> Vec<WiredId> {
    let mut found: Vec<WiredId> = Vec::new();
    let mut pending = vec![gpu];
    while let Some(device) = pending.pop() {
        for wire in wiring.wires().iter().filter(|wire| wire.is_pcie()) {
            let next = match device {
                it if it == wire.a => wire.b,
                it if it == wire.b => wire.a,
                _ => continue,
            };
            let kind = wiring.devices()[next].kind;
            let is_above =
                matches!(kind, DeviceKind::PcieSwitch | DeviceKind::HostBridge | DeviceKind::Cpu);
            if is_above && !found.contains(&next) {
                found.push(next);
                if kind != DeviceKind::Cpu {
                    pending.push(next);
                }
            }
        }
    }
    found
}
