//! Whether two machines wire their GPUs alike, whatever the GPUs are called.
//!
//! Vendors, drivers and papers number the same server differently, so comparing links by index says
//! nothing. This module compares the graphs. It starts with colour refinement, which settles nearly
//! every real machine. Then it makes individual choices with backtracking, so that the answer is
//! exact. It leaves out the host side, bandwidths and latencies.

use std::collections::{BTreeMap, BTreeSet};

use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Link, Server};

/// An undirected graph in which every vertex and every pair of vertices has a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledGraph {
    n: usize,
    label: Vec<u64>,
    vertex: Vec<u64>,
}

impl LabelledGraph {
    /// Builds a graph with these vertex labels and, for each pair `i < j`, the label `pair(i, j)`.
    #[must_use]
    pub fn new(vertex: Vec<u64>, pair: impl Fn(usize, usize) -> u64) -> Self {
        let n = vertex.len();
        let mut label = vec![0; n * n];
        for i in 0..n {
            for j in i + 1..n {
                label[i * n + j] = pair(i, j);
                label[j * n + i] = label[i * n + j];
            }
        }
        Self { n, label, vertex }
    }

    /// The GPUs of a machine, all alike, with a label for what joins each pair.
    ///
    /// The label holds the count of direct links of each kind of GPU fabric (up to 63 of each). It
    /// also holds the count of NVSwitch planes that both GPUs reach (up to 1,023). It is zero where
    /// there is neither. A plane is a set of NVSwitches linked to one another.
    #[must_use]
    pub fn of_gpu_links(machine: &Server) -> Self {
        let gpus = machine.gpus();
        let planes = planes_of_gpus(machine);
        let mut direct: BTreeMap<(DeviceId, DeviceId), u64> = BTreeMap::new();
        for link in machine.links() {
            if let Some(position) = FABRICS.iter().position(|kind| *kind == link.kind) {
                let count = u64::from(link.count.min(0x3f)) << (10 + 6 * position);
                *direct.entry((link.a.min(link.b), link.a.max(link.b))).or_default() |= count;
            }
        }
        Self::new(vec![0; gpus.len()], |i, j| {
            let pair = (gpus[i].min(gpus[j]), gpus[i].max(gpus[j]));
            let shared = planes[i].intersection(&planes[j]).count().min(0x3ff);
            direct.get(&pair).copied().unwrap_or(0) | shared as u64
        })
    }

    /// How many vertices it has.
    #[must_use]
    pub const fn vertices(&self) -> usize {
        self.n
    }

    /// Returns the label of a pair of vertices, in either order; zero for a vertex with itself.
    ///
    /// # Panics
    /// If either is not below [`Self::vertices`].
    #[must_use]
    pub fn label(&self, i: usize, j: usize) -> u64 {
        assert!(j < self.n, "vertex {j} of {}", self.n);
        self.label[i * self.n + j]
    }
}

/// Lists the link kinds that a label counts, in the order of their places in it.
const FABRICS: [LinkKind; 10] = [
    LinkKind::Nvlink1,
    LinkKind::Nvlink2,
    LinkKind::Nvlink3,
    LinkKind::Nvlink4,
    LinkKind::Nvlink5,
    LinkKind::Xgmi,
    LinkKind::XgmiMi100,
    LinkKind::XgmiMi300,
    LinkKind::XgmiMi350,
    LinkKind::Direct,
];

/// For each GPU, the NVSwitch planes that it reaches, each named by its lowest switch.
fn planes_of_gpus(machine: &Server) -> Vec<BTreeSet<DeviceId>> {
    let is_switch = |id: DeviceId| machine.devices()[id].kind == DeviceKind::NvSwitch;
    let mut plane: Vec<DeviceId> = (0..machine.devices().len()).collect();
    let trunks = machine.links().iter().filter(|link| is_switch(link.a) && is_switch(link.b));
    for Link { a, b, .. } in trunks {
        let (kept, lost) = (plane[*a].min(plane[*b]), plane[*a].max(plane[*b]));
        plane.iter_mut().filter(|plane| **plane == lost).for_each(|plane| *plane = kept);
    }
    let adjacency = machine.adjacency();
    let reached = |gpu: &DeviceId| {
        let ends = adjacency[*gpu].iter().map(|link| machine.links()[*link].other_end(*gpu));
        ends.filter(|end| is_switch(*end)).map(|end| plane[end]).collect()
    };
    machine.gpus().iter().map(reached).collect()
}

/// The renumbering that turns `a` into `b`, or `None` where they differ: vertex `i` of `a`
/// is vertex `result[i]` of `b`, and all labels agree.
///
/// The answer is exact for every graph. Where refinement distinguishes the vertices, it takes a few
/// passes over all pairs. A highly regular pair that differs can take exponential time.
#[must_use]
pub fn renumbering(a: &LabelledGraph, b: &LabelledGraph) -> Option<Vec<usize>> {
    if a.n != b.n {
        return None;
    }
    search([a, b], [a.vertex.clone(), b.vertex.clone()])
}

/// Refines; where vertices still look alike, tells one of `a` apart and tries each of `b`.
fn search(graphs: [&LabelledGraph; 2], colours: [Vec<u64>; 2]) -> Option<Vec<usize>> {
    let colours = refine(graphs, colours);
    let [classes, others] = [members(&colours[0]), members(&colours[1])];
    let sizes = |classes: &BTreeMap<u64, Vec<usize>>| -> Vec<(u64, usize)> {
        classes.iter().map(|(colour, members)| (*colour, members.len())).collect()
    };
    if sizes(&classes) != sizes(&others) {
        return None;
    }
    let unsettled = classes.iter().filter(|(_, members)| members.len() > 1);
    let Some((colour, alike)) = unsettled.min_by_key(|(_, members)| members.len()) else {
        return Some(colours[0].iter().map(|colour| others[colour][0]).collect());
    };
    others[colour].iter().find_map(|candidate| {
        let mut colours = colours.clone();
        colours[0][alike[0]] = u64::MAX;
        colours[1][*candidate] = u64::MAX;
        search(graphs, colours)
    })
}

/// Splits the colours until vertices of one colour see the same labels to the same colours.
/// A colour means the same in both graphs.
fn refine(graphs: [&LabelledGraph; 2], mut colours: [Vec<u64>; 2]) -> [Vec<u64>; 2] {
    let mut known = 0;
    loop {
        let signatures = [0, 1].map(|side: usize| {
            let (graph, colours) = (graphs[side], &colours[side]);
            let signature = |i: usize| {
                let others = (0..graph.n).filter(|j| *j != i);
                let mut seen: Vec<(u64, u64)> =
                    others.map(|j| (graph.label(i, j), colours[j])).collect();
                seen.sort_unstable();
                (colours[i], seen)
            };
            (0..graph.n).map(signature).collect::<Vec<_>>()
        });
        let distinct: BTreeSet<_> = signatures.iter().flatten().collect();
        let number: BTreeMap<_, u64> = distinct.into_iter().zip(0..).collect();
        colours = [0, 1].map(|side: usize| signatures[side].iter().map(|s| number[s]).collect());
        if number.len() == known {
            return colours;
        }
        known = number.len();
    }
}

/// Returns the vertices of each colour, in ascending order.
fn members(colours: &[u64]) -> BTreeMap<u64, Vec<usize>> {
    let mut members: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (vertex, colour) in colours.iter().enumerate() {
        members.entry(*colour).or_default().push(vertex);
    }
    members
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::ServerBuilder;
    use crate::system::presets::{NAMES, preset};

    fn agrees(a: &LabelledGraph, b: &LabelledGraph, order: &[usize]) -> bool {
        (0..a.n).all(|i| {
            a.vertex[i] == b.vertex[order[i]]
                && (0..a.n).all(|j| a.label(i, j) == b.label(order[i], order[j]))
        })
    }

    /// Whether any completion of `order` agrees, by trying them all.
    fn any_order_agrees(a: &LabelledGraph, b: &LabelledGraph, order: &mut Vec<usize>) -> bool {
        if order.len() == a.n {
            return agrees(a, b, order);
        }
        (0..b.n).filter(|next| !order.contains(next)).collect::<Vec<_>>().into_iter().any(|next| {
            order.push(next);
            let found = any_order_agrees(a, b, order);
            order.pop();
            found
        })
    }

    /// Whether the search and brute force agree, and a renumbering found is one.
    fn check(a: &LabelledGraph, b: &LabelledGraph) {
        let found = renumbering(a, b);
        assert_eq!(found.is_some(), any_order_agrees(a, b, &mut Vec::new()));
        if let Some(order) = found {
            assert!(agrees(a, b, &order));
        }
    }

    fn renumbered(graph: &LabelledGraph, order: &[usize]) -> LabelledGraph {
        let vertex = order.iter().map(|i| graph.vertex[*i]).collect();
        LabelledGraph::new(vertex, |i, j| graph.label(order[i], order[j]))
    }

    /// Returns the machine with its GPUs listed in another order, and `extra` links more in its
    /// first bundle between GPUs.
    fn rewired(machine: &Server, order: &[usize], extra: u32) -> Server {
        let mut builder = ServerBuilder::new(machine.name(), "test");
        for gpu in order {
            let device = &machine.devices()[machine.gpus()[*gpu]];
            builder.device(&device.name, device.kind, None).unwrap();
        }
        for device in machine.devices().iter().filter(|device| device.kind != DeviceKind::Gpu) {
            builder.device(&device.name, device.kind, None).unwrap();
        }
        let is_direct = |link: &Link| {
            [link.a, link.b].iter().all(|end| machine.gpus().contains(end))
                && link.kind.is_gpu_fabric()
        };
        let first = machine.links().iter().position(is_direct);
        for (index, link) in machine.links().iter().enumerate() {
            let end = |id: DeviceId| builder.find(&machine.devices()[id].name).unwrap();
            let mut link = Link { a: end(link.a), b: end(link.b), ..link.clone() };
            link.count += if Some(index) == first { extra } else { 0 };
            builder.link(link).unwrap();
        }
        builder.build().unwrap()
    }

    fn graphs() -> impl Strategy<Value = (LabelledGraph, LabelledGraph, Vec<usize>)> {
        (0..=6_usize, 1..=3_u64, 1..=2_u64).prop_flat_map(|(n, labels, colours)| {
            let graph =
                (prop::collection::vec(0..colours, n), prop::collection::vec(0..=labels, n * n));
            let graph = graph.prop_map(move |(vertex, label)| {
                LabelledGraph::new(vertex, |i, j| label[i * n + j])
            });
            (graph.clone(), graph, Just((0..n).collect::<Vec<_>>()).prop_shuffle())
        })
    }

    proptest! {
        #[test]
        fn brute_force_agrees(
            (graph, other, order) in graphs(),
            change in any::<prop::sample::Index>(),
        ) {
            check(&graph, &other);
            let same = renumbered(&graph, &order);
            prop_assert!(renumbering(&graph, &same).is_some());
            check(&graph, &same);
            if graph.n > 0 {
                let changed = change.index(graph.n);
                let nearly = LabelledGraph::new(same.vertex.clone(), |i, j| {
                    if j == changed { same.label(i, j) ^ 1 } else { same.label(i, j) }
                });
                check(&graph, &nearly);
            }
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn gpus_of_a_preset_may_be_listed_in_any_order(
            orders in NAMES.map(|name| {
                let count = preset(name).unwrap().gpus().len();
                Just((0..count).collect::<Vec<_>>()).prop_shuffle()
            }),
        ) {
            for (name, order) in NAMES.into_iter().zip(orders) {
                let machine = preset(name).unwrap();
                let graph = LabelledGraph::of_gpu_links(&machine);
                let same = LabelledGraph::of_gpu_links(&rewired(&machine, &order, 0));
                let found = renumbering(&graph, &same);
                prop_assert!(found.is_some_and(|found| agrees(&graph, &same, &found)), "{}", name);
                let changed = LabelledGraph::of_gpu_links(&rewired(&machine, &order, 1));
                let has_direct_links = changed != same;
                prop_assert_eq!(renumbering(&graph, &changed).is_none(), has_direct_links);
            }
        }
    }

    #[test]
    fn equal_degrees_are_not_enough() {
        let ring = |length: usize| {
            move |i: usize, j: usize| {
                u64::from(i / length == j / length && matches!((j - i) % length, 1))
                    | u64::from(i / length == j / length && j - i == length - 1)
            }
        };
        let one = LabelledGraph::new(vec![0; 6], ring(6));
        let two = LabelledGraph::new(vec![0; 6], ring(3));
        assert!(renumbering(&one, &two).is_none());
        assert!(renumbering(&two, &two).is_some());
    }

    #[test]
    fn switched_gpus_share_their_planes() {
        let cases = [("dgx2", 6), ("dgx-a100", 6), ("hgx-h100", 4), ("titan-z", 0)];
        for (name, planes) in cases {
            let graph = LabelledGraph::of_gpu_links(&preset(name).unwrap());
            assert_eq!(graph.label(0, graph.vertices() - 1), planes, "{name}");
        }
        let [old, new] = ["dgx1-p100", "dgx1-v100"]
            .map(|name| LabelledGraph::of_gpu_links(&preset(name).unwrap()));
        assert!(renumbering(&old, &new).is_none());
    }
}
