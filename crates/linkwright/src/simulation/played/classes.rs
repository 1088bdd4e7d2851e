//! Allocations that differ only in what their GPUs are called share a plan.
//!
//! Two allocations are of one class where a renumbering of the server, without the GPUs of others,
//! turns one into the other. It turns each GPU of the one into one of the other, and all that is
//! known of devices and wires agrees ([`renumbering`]). Things that a plan does not look at need
//! not agree: hosts, where no data crosses them ([`near_devices`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::near::near_devices;
use crate::system::views::isomorphism::{LabelledGraph, renumbering};
use crate::system::{DeviceKind, Server, Wiring};
use crate::units::{Bandwidth, Picoseconds};

/// Describes a wire as a plan sees it.
type WireKind = (Option<&'static str>, u32, Bandwidth, Picoseconds);

/// Lists the wires that join two devices, sorted.
type Joined = Vec<WireKind>;

/// Holds the allocations of one class.
#[derive(Debug)]
struct Class {
    kind: usize,
    /// It has no hosts.
    is_near: bool,
    gpus: usize,
    graph: LabelledGraph,
}

/// Gives an allocation's place in its class.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) class: usize,
    /// Lists its GPUs in the order of the class.
    pub(super) gpus: Arc<[usize]>,
    /// Lists the devices of its server, without the GPUs of others, in the order of the class.
    pub(super) devices: Arc<[usize]>,
}

/// The classes of allocations that have been met.
#[derive(Debug, Default)]
pub(super) struct Classes {
    classes: Vec<Class>,
    /// Finds it by the kind of server and the GPUs there, ascending.
    known: BTreeMap<(usize, Vec<usize>, bool), Placed>,
    /// These devices join GPUs without their hosts, where any do.
    near: BTreeMap<(usize, Vec<usize>), Option<BTreeSet<usize>>>,
    /// A number for whatever joins two devices.
    labels: BTreeMap<Joined, u64>,
}

impl Classes {
    /// Tells whether some GPUs of a server of that kind reach one another and a network without their hosts.
    pub(super) fn is_near(&mut self, kind: usize, server: &Arc<Server>, gpus: &[usize]) -> bool {
        let mut gpus = gpus.to_vec();
        gpus.sort_unstable();
        let find = |(_, gpus): &(usize, Vec<usize>)| near_devices(&Wiring::of_server(server), gpus);
        let key = (kind, gpus);
        if !self.near.contains_key(&key) {
            let found = find(&key);
            self.near.insert(key.clone(), found);
        }
        self.near[&key].is_some()
    }

    /// Returns the class of some GPUs of a server of that kind. The i-th in its order plays the
    /// part of the i-th of the first allocation of its class. Hosts count for nothing where GPUs
    /// that are near are wanted as such.
    pub(super) fn of(
        &mut self,
        (kind, is_near): (usize, bool),
        server: &Arc<Server>,
        gpus: &[usize],
    ) -> Placed {
        let mut gpus = gpus.to_vec();
        gpus.sort_unstable();
        let key = (kind, gpus, is_near);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let gpus = &key.1;
        let near = self.near.get(&(kind, gpus.clone())).filter(|_| is_near).cloned().flatten();
        let (graph, devices) = self.graph(server, gpus, near.as_ref());
        let alike = self
            .classes
            .iter()
            .enumerate()
            .filter(|(_, it)| (it.kind, it.gpus, it.is_near) == (kind, gpus.len(), is_near));
        let found = alike
            .filter_map(|(index, class)| Some((index, renumbering(&class.graph, &graph)?)))
            .next();
        let known = match found {
            Some((class, order)) => Placed {
                class,
                gpus: order[..gpus.len()].iter().map(|at| gpus[*at]).collect(),
                devices: order.iter().map(|at| devices[*at]).collect(),
            },
            None => {
                self.classes.push(Class { kind, is_near, gpus: gpus.len(), graph });
                let class = self.classes.len() - 1;
                Placed { class, gpus: gpus.as_slice().into(), devices: devices.into() }
            }
        };
        self.known.insert(key, known.clone());
        known
    }

    /// The GPUs, then every other device of the server that is no GPU, or those that are near; which device each
    /// vertex is.
    fn graph(
        &mut self,
        server: &Arc<Server>,
        gpus: &[usize],
        near: Option<&BTreeSet<usize>>,
    ) -> (LabelledGraph, Vec<usize>) {
        let wiring = Wiring::of_server(server);
        let own = gpus.iter().map(|gpu| wiring.gpu(*gpu));
        let others = (0..wiring.devices().len())
            .filter(|device| wiring.devices()[*device].kind != DeviceKind::Gpu)
            .filter(|device| near.is_none_or(|near| near.contains(device)));
        let vertices: Vec<usize> = own.chain(others).collect();
        let kinds = vertices.iter().map(|device| wiring.devices()[*device].kind as u64).collect();
        let mut joined: BTreeMap<(usize, usize), Joined> = BTreeMap::new();
        for wire in wiring.wires() {
            let name = wire.kind.map(|kind| kind.name());
            let ends = (wire.a.min(wire.b), wire.a.max(wire.b));
            let kind = (name, wire.count, wire.bandwidth, wire.latency);
            joined.entry(ends).or_default().push(kind);
        }
        let labels = &mut self.labels;
        let number = |mut of: Joined| {
            of.sort_unstable();
            let next = labels.len() as u64 + 1;
            *labels.entry(of).or_insert(next)
        };
        let numbers: Vec<((usize, usize), u64)> = {
            let mut number = number;
            joined.into_iter().map(|(ends, of)| (ends, number(of))).collect()
        };
        let numbers: BTreeMap<(usize, usize), u64> = numbers.into_iter().collect();
        let graph = LabelledGraph::new(kinds, |i, j| {
            let (a, b) = (vertices[i], vertices[j]);
            numbers.get(&(a.min(b), a.max(b))).copied().unwrap_or(0)
        });
        (graph, vertices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::preset;

    fn classes_of(name: &str, size: usize) -> usize {
        let server = Arc::new(preset(name).unwrap());
        let mut classes = Classes::default();
        let count = server.gpus().len();
        for set in 0_u32..1 << count {
            if set.count_ones() as usize == size {
                let gpus: Vec<usize> = (0..count).filter(|gpu| set >> gpu & 1 == 1).collect();
                let placed = classes.of((0, false), &server, &gpus);
                let mut sorted = placed.gpus.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, gpus);
                let of_gpus = placed.gpus.iter().map(|gpu| server.gpus()[*gpu]);
                assert!(of_gpus.eq(placed.devices[..size].iter().copied()));
            }
        }
        classes.classes.len()
    }

    /// The GPUs of an HGX H100 are all alike, but for their sockets.
    #[test]
    fn sets_that_differ_by_their_hosts_alone_are_one_class_without_these() {
        let server = Arc::new(preset("hgx-h100").unwrap());
        let mut classes = Classes::default();
        let mut class_of = |gpus: &[usize], is_near: bool| {
            assert!(classes.is_near(0, &server, gpus));
            classes.of((0, is_near), &server, gpus).class
        };
        assert_ne!(class_of(&[0, 1, 2], false), class_of(&[0, 1, 6], false));
        assert_eq!(class_of(&[0, 1, 2], true), class_of(&[0, 1, 6], true));
        assert_ne!(class_of(&[0, 1], true), class_of(&[0, 1, 6], true));
    }

    /// Of 255 sets of GPUs.
    #[test]
    fn a_server_has_few_classes() {
        let by_size: Vec<usize> = (1..=8).map(|size| classes_of("dgx1-v100", size)).collect();
        assert_eq!((by_size[0], by_size[7]), (1, 1));
        // Behind one PCIe switch, in one socket, across sockets: each by its links.
        assert!(by_size[1] < 8, "{by_size:?}");
        assert_eq!(by_size.iter().sum::<usize>(), 69, "{by_size:?}");
    }
}
