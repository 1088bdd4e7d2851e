//! How close two GPUs are over the host's wires, in the words of `nvidia-smi topo`.
//!
//! The model has the buses and bridges that a copy between two GPUs crosses when it takes no link
//! of the GPU fabric. It leaves out bandwidth, and how a driver treats a switch that shows itself
//! as several.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;

use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Link, Server};

/// Says which parts the best host path between two GPUs crosses, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Proximity {
    /// There is at most one PCIe switch on the path.
    Pix,
    /// There are several PCIe switches on the path, but no host bridge.
    Pxb,
    /// There is one PCIe host bridge on the path.
    Phb,
    /// There is one CPU on the path, or there are several host bridges of one.
    Node,
    /// The links between CPUs, or nothing, where no host path joins the GPUs.
    Sys,
}

impl Proximity {
    /// Lists every proximity, closest first.
    pub const ALL: [Self; 5] = [Self::Pix, Self::Pxb, Self::Phb, Self::Node, Self::Sys];

    /// The word that `nvidia-smi topo` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }
}

/// The GPUs of a machine, grouped by how close they are.
///
/// Every group has at least two children, ordered by their lowest GPU, and every level is
/// farther apart than those inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostTree {
    /// Holds one GPU, an index in [`Server::gpus`].
    Gpu(usize),
    /// Subtrees that are this far from each other.
    Group {
        /// How far the children are from each other.
        proximity: Proximity,
        /// Holds the subtrees, at least two.
        children: Vec<HostTree>,
    },
}

/// Counts the parts that a path crosses, worst first, so that comparing tuples ranks paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Crossed {
    cpus: u32,
    host_bridges: u32,
    switches: u32,
}

impl Crossed {
    /// The path that goes on through a device; none leads through a GPU or a NIC.
    const fn through(self, kind: DeviceKind) -> Option<Self> {
        let mut crossed = self;
        match kind {
            DeviceKind::Cpu => crossed.cpus += 1,
            DeviceKind::HostBridge => crossed.host_bridges += 1,
            DeviceKind::PcieSwitch => crossed.switches += 1,
            _ => return None,
        }
        Some(crossed)
    }

    const fn proximity(self) -> Proximity {
        match self {
            Self { cpus: 0, host_bridges: 0, switches: 0 | 1 } => Proximity::Pix,
            Self { cpus: 0, host_bridges: 0, .. } => Proximity::Pxb,
            Self { cpus: 0, host_bridges: 1, .. } => Proximity::Phb,
            Self { cpus: 0 | 1, .. } => Proximity::Node,
            _ => Proximity::Sys,
        }
    }
}

/// Whether a link is one of the host's. An NVLink is where it joins a GPU to a CPU, as on
/// POWER9, which gives the GPU no other way to the host.
pub(in crate::system) fn is_host_link(machine: &Server, link: &Link) -> bool {
    let kind = |id: DeviceId| machine.devices()[id].kind;
    if [link.a, link.b].iter().any(|end| kind(*end).is_shared_memory()) {
        return false;
    }
    match link.kind {
        LinkKind::OnDie
        | LinkKind::NvlinkC2c
        | LinkKind::Qpi
        | LinkKind::Upi
        | LinkKind::Xbus
        | LinkKind::InfinityFabric => true,
        other if other.is_gpu_fabric() => {
            kind(link.a) == DeviceKind::Cpu || kind(link.b) == DeviceKind::Cpu
        }
        other => other.is_pcie(),
    }
}

/// Counts, for each device, the parts that the best host path from `start` to it crosses in
/// between.
fn crossed_from(
    machine: &Server,
    neighbours: &[Vec<DeviceId>],
    start: DeviceId,
) -> Vec<Option<Crossed>> {
    let mut best: Vec<Option<Crossed>> = vec![None; machine.devices().len()];
    let mut pending = BinaryHeap::from([Reverse((Crossed::default(), start))]);
    while let Some(Reverse((crossed, device))) = pending.pop() {
        if best[device].is_some() {
            continue;
        }
        best[device] = Some(crossed);
        let onward = if device == start {
            Some(crossed)
        } else {
            crossed.through(machine.devices()[device].kind)
        };
        if let Some(onward) = onward {
            pending.extend(neighbours[device].iter().map(|next| Reverse((onward, *next))));
        }
    }
    best
}

/// Says how close each GPU is to each other over PCIe and host links. Row and column are indices in
/// [`Server::gpus`], and `None` stands on the diagonal. Where no host path joins two GPUs, as in a
/// machine of NVLinks alone, they are as far apart as can be: [`Proximity::Sys`].
#[must_use]
pub fn proximity(machine: &Server) -> Vec<Vec<Option<Proximity>>> {
    let rows = between(machine, machine.gpus(), machine.gpus()).into_iter().enumerate();
    let row = |(start, row): (usize, Vec<Proximity>)| {
        let cells = row.into_iter().enumerate();
        cells.map(|(end, proximity)| (end != start).then_some(proximity)).collect()
    };
    rows.map(row).collect()
}

/// Says how close each GPU is to each network interface. It has a row per GPU, in the order of
/// [`Server::gpus`]. It has a column per network interface, in the machine's order.
#[must_use]
pub fn nic_proximity(machine: &Server) -> Vec<Vec<Proximity>> {
    let devices = machine.devices().iter().enumerate();
    let nics = devices.filter(|(_, device)| device.kind == DeviceKind::Nic).map(|(id, _)| id);
    between(machine, machine.gpus(), &nics.collect::<Vec<DeviceId>>())
}

/// How close each of some devices is to each of others: a row for each start.
pub(in crate::system) fn between(
    machine: &Server,
    starts: &[DeviceId],
    ends: &[DeviceId],
) -> Vec<Vec<Proximity>> {
    let mut neighbours = vec![Vec::new(); machine.devices().len()];
    for link in machine.links().iter().filter(|link| is_host_link(machine, link)) {
        neighbours[link.a].push(link.b);
        neighbours[link.b].push(link.a);
    }
    let row = |start: &DeviceId| {
        let best = crossed_from(machine, &neighbours, *start);
        let cell = |end: &DeviceId| best[*end].map_or(Proximity::Sys, Crossed::proximity);
        ends.iter().map(cell).collect()
    };
    starts.iter().map(row).collect()
}

/// The GPUs as a tree of groups, from those behind one PCIe switch up to the whole machine.
/// GPUs that no host path joins share only the outermost group, [`Proximity::Sys`].
#[must_use]
pub fn host_tree(machine: &Server) -> HostTree {
    let matrix = proximity(machine);
    let everything = (0..matrix.len()).collect();
    group(&matrix, everything, &Proximity::ALL)
}

/// Groups GPUs that are within the last of `levels` of each other.
fn group(matrix: &[Vec<Option<Proximity>>], gpus: Vec<usize>, levels: &[Proximity]) -> HostTree {
    if let [gpu] = gpus.as_slice() {
        return HostTree::Gpu(*gpu);
    }
    let Some((level, inner)) = levels.split_last() else {
        unreachable!("GPUs that are PIX to each other are leaves one level above");
    };
    let parts = match inner.last() {
        Some(closer) => split(matrix, &gpus, *closer),
        None => gpus.iter().map(|gpu| vec![*gpu]).collect(),
    };
    if parts.len() == 1 {
        return group(matrix, gpus, inner);
    }
    let children = parts.into_iter().map(|part| group(matrix, part, inner)).collect();
    HostTree::Group { proximity: *level, children }
}

/// Splits GPUs into the sets that pairs no farther apart than `level` connect.
fn split(matrix: &[Vec<Option<Proximity>>], gpus: &[usize], level: Proximity) -> Vec<Vec<usize>> {
    let mut remaining = gpus.to_vec();
    let mut parts = Vec::new();
    while !remaining.is_empty() {
        let mut part = vec![remaining.remove(0)];
        let mut next = 0;
        while next < part.len() {
            let row = &matrix[part[next]];
            let near = |gpu: &mut usize| row[*gpu].is_some_and(|found| found <= level);
            part.extend(remaining.extract_if(.., near));
            next += 1;
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::ServerBuilder;
    use crate::system::presets::{NAMES, preset};

    /// The tree as people would write it.
    fn show(tree: &HostTree) -> String {
        match tree {
            HostTree::Gpu(gpu) => gpu.to_string(),
            HostTree::Group { proximity, children } => {
                let children: Vec<String> = children.iter().map(show).collect();
                format!("{}{{{}}}", proximity.name(), children.join(","))
            }
        }
    }

    #[test]
    fn presets_group_as_their_vendors_draw_them() {
        let cases = [
            ("dgx1-v100", "SYS{NODE{PIX{0,1},PIX{2,3}},NODE{PIX{4,5},PIX{6,7}}}"),
            (
                "dgx2",
                "SYS{NODE{PXB{PIX{0,1},PIX{2,3}},PXB{PIX{4,5},PIX{6,7}}},\
                 NODE{PXB{PIX{8,9},PIX{10,11}},PXB{PIX{12,13},PIX{14,15}}}}",
            ),
            ("hgx-h100", "SYS{NODE{0,1,2,3},NODE{4,5,6,7}}"),
            ("summit-node", "SYS{NODE{0,1,2},NODE{3,4,5}}"),
            ("titan-z", "PIX{0,1}"),
            ("kepler-pair", "PHB{0,1}"),
            ("k80", "SYS{NODE{PIX{0,1},PIX{2,3}},NODE{PIX{4,5},PIX{6,7}}}"),
            ("pcie-tree-4", "PHB{PIX{0,1},PIX{2,3}}"),
        ];
        for (name, expected) in cases {
            assert_eq!(show(&host_tree(&preset(name).unwrap())), expected, "{name}");
        }
    }

    #[test]
    fn the_matrix_is_symmetric_and_has_no_diagonal() {
        for name in NAMES {
            let matrix = proximity(&preset(name).unwrap());
            for (a, row) in matrix.iter().enumerate() {
                for (b, cell) in row.iter().enumerate() {
                    assert_eq!(*cell, matrix[b][a]);
                    assert_eq!(cell.is_none(), a == b, "{name}");
                }
            }
        }
    }

    #[test]
    fn gpus_without_a_host_path_are_far_apart() {
        let mut builder = ServerBuilder::new("two islands", "test");
        let ids = ["GPU0", "GPU1", "GPU2", "GPU3"]
            .map(|name| builder.device(name, DeviceKind::Gpu, None).unwrap());
        for pair in ids.windows(2) {
            builder.data_sheet_link(pair[0], pair[1], LinkKind::Nvlink2, 1).unwrap();
        }
        let alone = builder.clone().build().unwrap();
        assert_eq!(proximity(&alone)[0][1..], [Some(Proximity::Sys); 3]);
        assert_eq!(show(&host_tree(&alone)), "SYS{0,1,2,3}");
        builder.data_sheet_link(ids[1], ids[2], LinkKind::Pcie3, 1).unwrap();
        let partly = builder.build().unwrap();
        assert_eq!(show(&host_tree(&partly)), "SYS{0,PIX{1,2},3}");
    }

    #[test]
    fn no_path_leads_through_a_gpu() {
        let mut builder = ServerBuilder::new("chain", "test");
        let ids = ["GPU0", "GPU1", "GPU2"]
            .map(|name| builder.device(name, DeviceKind::Gpu, None).unwrap());
        builder.data_sheet_link(ids[0], ids[1], LinkKind::Pcie3, 1).unwrap();
        builder.data_sheet_link(ids[1], ids[2], LinkKind::Pcie3, 1).unwrap();
        let matrix = proximity(&builder.build().unwrap());
        assert_eq!(matrix[0], [None, Some(Proximity::Pix), Some(Proximity::Sys)]);
    }
}
