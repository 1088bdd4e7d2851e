//! Describes the links that join the GPUs of one server's part of a job: lanes, switches, relays,
//! host paths.

use crate::network::RouteClass;
use crate::network::Routes;
use crate::system::{DeviceKind, LinkKind, Proximity, Wiring, proximity};

/// Holds the NVLinks between GPUs of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fabric {
    /// Counts the GPUs.
    pub(super) gpus: usize,
    /// Counts, row by row, the links that join each pair directly, the same in both directions.
    pub(super) lanes: Vec<u32>,
    /// Links of each GPU to `NVSwitches`, the least of all GPUs; zero where they do not join all.
    pub(super) switched: u32,
    /// The kind of the links, where there are any.
    pub(super) kind: Option<LinkKind>,
}

impl Fabric {
    /// Finds the NVLinks between these GPUs, by their ids in the system.
    pub(super) fn new(wiring: &Wiring, gpus: &[usize]) -> Self {
        let count = gpus.len();
        let devices: Vec<usize> = gpus.iter().map(|gpu| wiring.gpu(*gpu)).collect();
        let position = |device: usize| devices.iter().position(|own| *own == device);
        let is_switch = |device: usize| wiring.devices()[device].kind == DeviceKind::NvSwitch;
        let (mut lanes, mut to_switches, mut kind) = (vec![0; count * count], vec![0; count], None);
        for wire in wiring.wires().iter().filter(|wire| wire.is_gpu_fabric()) {
            for (near, far) in [(wire.a, wire.b), (wire.b, wire.a)] {
                let Some(at) = position(near) else { continue };
                if let Some(other) = position(far) {
                    lanes[at * count + other] += wire.count;
                    kind = wire.kind;
                } else if is_switch(far) {
                    to_switches[at] += wire.count;
                    kind = wire.kind;
                }
            }
        }
        let routes = Routes::at_peak(wiring);
        let joined = |device: &usize| routes.route(devices[0], *device, RouteClass::Fabric);
        let all = devices.iter().all(|device| joined(device).is_some());
        let least = to_switches.into_iter().min().unwrap_or(0);
        Self { gpus: count, lanes, switched: if all { least } else { 0 }, kind }
    }

    /// Counts the links that join two GPUs directly.
    pub(super) fn lanes(&self, a: usize, b: usize) -> u32 {
        self.lanes[a * self.gpus + b]
    }

    /// Counts the links that join any two of the GPUs, at the fewest. With `NVSwitches` it counts
    /// those of a GPU.
    pub(super) fn fewest(&self) -> u32 {
        let pairs = (0..self.gpus).flat_map(|a| (0..self.gpus).map(move |b| (a, b)));
        let direct = pairs.filter(|(a, b)| a != b).map(|(a, b)| self.lanes(a, b)).min();
        self.switched.max(direct.unwrap_or(0))
    }

    /// Returns the GPU of the job through which NCCL sends from one to another that no NVLink
    /// joins. It has the widest way, and is the first among equal ones. NCCL keeps one path for
    /// each pair (`paths.cc`). The GPU between them is a rank: its process owns the buffer
    /// (`ncclTopoCheckP2p`).
    pub(super) fn relay(&self, from: usize, to: usize) -> Option<usize> {
        if from == to || self.lanes(from, to) > 0 || self.switched > 0 {
            return None;
        }
        let width = |through: usize| self.lanes(from, through).min(self.lanes(through, to));
        let others = (0..self.gpus).filter(|gpu| ![from, to].contains(gpu) && width(*gpu) > 0);
        others.rev().max_by_key(|gpu| width(*gpu))
    }
}

/// Returns an order of the GPUs in which neighbours are near on the host side. It begins with the
/// first and always adds the nearest that is left, the first among equally near ones. Where a ring
/// is mixed, a GPU that NVLink joins is nearer than all others. The order lists positions, not ids.
pub(super) fn host_order(wiring: &Wiring, gpus: &[usize], is_mixed: bool) -> Vec<usize> {
    let (near, fabric) = (distances(wiring, gpus), Fabric::new(wiring, gpus));
    let is_apart = |a: usize, b: usize| !is_mixed || fabric.lanes(a, b) == 0;
    let mut left: Vec<usize> = (1..gpus.len()).collect();
    let mut order = vec![0];
    while !left.is_empty() {
        let last = order[order.len() - 1];
        let distance = |index: &usize| (is_apart(last, left[*index]), near(last, left[*index]));
        let nearest = (0..left.len()).min_by_key(distance);
        order.push(left.remove(nearest.expect("some are left")));
    }
    order
}

/// The farthest that neighbours around a ring are apart on the host side.
pub(super) fn farthest_hop(wiring: &Wiring, gpus: &[usize], order: &[usize]) -> Proximity {
    let near = distances(wiring, gpus);
    let next = |at: usize| order[(at + 1) % order.len()];
    let hops = (0..order.len()).filter_map(|at| near(order[at], next(at)));
    hops.max().unwrap_or(Proximity::Pix)
}

/// How far apart GPUs of one server are on the host side, by their positions.
fn distances(wiring: &Wiring, gpus: &[usize]) -> impl Fn(usize, usize) -> Option<Proximity> {
    let places: Vec<usize> = gpus.iter().map(|gpu| wiring.in_template(*gpu).1).collect();
    let near = proximity(wiring.in_template(gpus[0]).0);
    move |a, b| near[places[a]][places[b]]
}

/// The ranks of each server that the job has, in the order of the servers' first ranks.
pub(in crate::collectives) fn by_server(wiring: &Wiring, gpus: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    for (rank, gpu) in gpus.iter().enumerate() {
        let server = wiring.server_of(*gpu);
        match groups.iter_mut().find(|(known, _)| *known == server) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((server, vec![rank])),
        }
    }
    groups.into_iter().map(|(_, ranks)| ranks).collect()
}
