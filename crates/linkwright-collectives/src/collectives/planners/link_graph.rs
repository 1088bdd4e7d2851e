//! The links that a job was given, as a graph of its GPUs and the switches between them.
//!
//! It represents the peak bandwidth in each direction of every link that the job's GPUs can reach
//! without another job's GPU. It leaves out protocol overhead, which the timing adds, and GPUs that
//! relay (NCCL's NVB), which the baselines add.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use thiserror::Error;

use crate::collectives::schedule::ChannelTransport;
use crate::diagnostic::{Diagnose, Diagnosis, Named};
use crate::system::views::wiring::WiredId;
use crate::system::{DeviceId, DeviceKind, LinkKind, System, Wire, Wiring};

/// Which links a graph may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LinkClass {
    /// Stands for NVLink or xGMI, direct or through NVSwitches.
    Fabric,
    /// PCIe and what joins the sockets of one server.
    Host,
    /// Stands for all of them, with NICs and the network between servers.
    Network,
}

impl Named for LinkClass {
    const WHAT: &'static str = "class of links";
    const NAMED: &'static [(&'static str, Self)] =
        &[("nvlink", Self::Fabric), ("pcie", Self::Host), ("network", Self::Network)];
}

impl LinkClass {
    /// Whether a wire is of the class; NVLink between a GPU and a CPU counts as the host's.
    fn admits(self, wiring: &Wiring, wire: &Wire) -> bool {
        let is_cpu = |id: WiredId| wiring.devices()[id].kind == DeviceKind::Cpu;
        let fabric = wire.is_gpu_fabric() && !is_cpu(wire.a) && !is_cpu(wire.b);
        match self {
            Self::Fabric => fabric,
            Self::Host => !fabric && !wire.is_network(),
            Self::Network => true,
        }
    }

    /// Says which transport channels over such links have.
    pub(in crate::collectives) const fn transport(self) -> ChannelTransport {
        match self {
            Self::Host => ChannelTransport::Host,
            Self::Fabric | Self::Network => ChannelTransport::Best,
        }
    }
}

/// Returns the name that people give the links between the GPUs of a system's servers, `NVLink` or
/// `xGMI`. It is none where there are no links beside PCIe. Where servers differ, it names the
/// links of the first that has some.
#[must_use]
pub fn fabric_name(system: &System) -> Option<&'static str> {
    let kinds = system.kinds().iter();
    kinds.map(|kind| Wiring::of_server(kind.server())).find_map(|wiring| fabric_of(&wiring))
}

/// The same of the servers that a job is on.
pub(in crate::collectives) fn fabric_of(wiring: &Wiring) -> Option<&'static str> {
    let mut fabric = wiring.wires().iter().filter(|wire| LinkClass::Fabric.admits(wiring, wire));
    let is_xgmi = |wire: &Wire| wire.kind.is_some_and(LinkKind::is_xgmi);
    fabric.next().map(|wire| if is_xgmi(wire) { "xGMI" } else { "NVLink" })
}

/// Holds GPUs, the switches between them, and the capacity of each link in each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkGraph {
    /// Names the device of each vertex, by its number in the system: the GPUs in the job's order,
    /// then everything that forwards.
    pub devices: Vec<DeviceId>,
    /// How many of the vertices are GPUs.
    pub gpus: usize,
    /// Lists joined vertices with the bandwidth in each direction, B/s. Every pair stands once,
    /// lower first.
    pub links: Vec<(usize, usize, u64)>,
}

/// Why a set of GPUs is none that a collective can run on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum LinkGraphError {
    /// An id that the machine does not have.
    UnknownGpu {
        /// Is the id.
        gpu: usize,
        /// Names the machine.
        machine: String,
        /// Gives the largest id.
        last: usize,
    },
    /// An id that is given twice.
    DuplicateGpu(usize),
    /// Names fewer than two GPUs.
    TooFewGpus(usize),
    /// GPUs that the admitted links do not join.
    Apart {
        /// Names the links, in words.
        links: &'static str,
        /// Names the first GPU.
        from: usize,
        /// Names the GPUs out of its reach, in words.
        apart: String,
    },
}

impl Diagnose for LinkGraphError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::UnknownGpu { gpu, machine, last } => {
                Diagnosis::of(format!("there is no GPU {gpu} on `{machine}`"))
                    .remedy(format!("use GPUs 0 to {last}"))
            }
            Self::DuplicateGpu(gpu) => {
                Diagnosis::of(format!("GPU {gpu} is given twice")).remedy("name each GPU once")
            }
            Self::TooFewGpus(count) => Diagnosis::of(format!(
                "a collective needs at least two GPUs, but the job has {count}"
            ))
            .remedy("name at least two GPUs"),
            Self::Apart { links, from, apart } => Diagnosis::of(format!(
                "{links} does not join these GPUs: {apart} cannot be reached from GPU {from}"
            )),
        }
    }
}

/// Checks that a job's GPUs exist, are named once and are at least two.
///
/// # Errors
/// The first of them that does not fit.
pub fn check_gpus(system: &System, gpus: &[usize]) -> Result<(), LinkGraphError> {
    let count = system.gpus() as usize;
    for (index, gpu) in gpus.iter().enumerate() {
        if *gpu >= count {
            let machine = system.name().to_owned();
            return Err(LinkGraphError::UnknownGpu { gpu: *gpu, machine, last: count - 1 });
        }
        if gpus[..index].contains(gpu) {
            return Err(LinkGraphError::DuplicateGpu(*gpu));
        }
    }
    if gpus.len() < 2 { Err(LinkGraphError::TooFewGpus(gpus.len())) } else { Ok(()) }
}

impl LinkGraph {
    /// Builds the graph of these GPUs, by their ids, over links of one class.
    ///
    /// # Errors
    /// As [`check_gpus`], and [`LinkGraphError::Apart`] where the links do not join the GPUs.
    pub fn new(system: &System, gpus: &[usize], class: LinkClass) -> Result<Self, LinkGraphError> {
        check_gpus(system, gpus)?;
        Self::on(&Wiring::of_gpus(system, gpus), gpus, class)
    }

    /// As [`Self::new`] of GPUs that have been checked.
    pub(in crate::collectives) fn on(
        wiring: &Wiring,
        gpus: &[usize],
        class: LinkClass,
    ) -> Result<Self, LinkGraphError> {
        let graph = Self::unjoined(wiring, gpus, class);
        graph.joined(wiring, gpus, class)?;
        Ok(graph)
    }

    /// Works as [`Self::on`], whether the links join the GPUs or not.
    pub(in crate::collectives) fn unjoined(
        wiring: &Wiring,
        gpus: &[usize],
        class: LinkClass,
    ) -> Self {
        Self::whole(wiring, gpus, &[], class).without_dead_ends()
    }

    /// Builds the graph with everything that the links lead to, and with GPUs beside the job's that
    /// forward.
    pub(in crate::collectives) fn whole(
        wiring: &Wiring,
        gpus: &[usize],
        helpers: &[usize],
        class: LinkClass,
    ) -> Self {
        let devices = wiring.devices();
        let own: Vec<WiredId> = gpus.iter().map(|gpu| wiring.gpu(*gpu)).collect();
        let forwards = |id: &WiredId| devices[*id].kind != DeviceKind::Gpu;
        let mut vertices = own.clone();
        vertices.extend(helpers.iter().map(|gpu| wiring.gpu(*gpu)));
        vertices.extend((0..devices.len()).filter(forwards));
        let mut vertex_of = vec![None; devices.len()];
        for (vertex, device) in vertices.iter().enumerate() {
            vertex_of[*device] = Some(vertex);
        }
        let mut capacity: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for wire in wiring.wires().iter().filter(|wire| class.admits(wiring, wire)) {
            let (Some(a), Some(b)) = (vertex_of[wire.a], vertex_of[wire.b]) else { continue };
            let known = capacity.entry((a.min(b), a.max(b))).or_default();
            *known = known.saturating_add(wire.bandwidth.0);
        }
        let links = capacity.into_iter().map(|((a, b), value)| (a, b, value)).collect();
        let devices = vertices.into_iter().map(|device| devices[device].id).collect();
        Self { devices, gpus: own.len(), links }
    }

    /// Whether anything but GPUs is part of it.
    #[must_use]
    pub fn has_switches(&self) -> bool {
        self.devices.len() > self.gpus
    }

    /// Returns the symmetric matrix of the capacities between GPUs, row by row, B/s.
    #[must_use]
    pub fn direct_capacity(&self) -> Vec<u64> {
        let mut matrix = vec![0; self.gpus * self.gpus];
        for (a, b, capacity) in self.links.iter().filter(|(_, b, _)| *b < self.gpus) {
            matrix[a * self.gpus + b] = *capacity;
            matrix[b * self.gpus + a] = *capacity;
        }
        matrix
    }

    /// Drops what forwards to nobody: a switch with one neighbour, and then the next.
    pub(in crate::collectives) fn without_dead_ends(self) -> Self {
        let Self { devices, gpus, links } = self;
        let mut kept = vec![true; devices.len()];
        loop {
            let mut degree = vec![0; devices.len()];
            for (a, b, _) in links.iter().filter(|(a, b, _)| kept[*a] && kept[*b]) {
                degree[*a] += 1;
                degree[*b] += 1;
            }
            let dead = (gpus..devices.len()).filter(|at| kept[*at] && degree[*at] < 2);
            let dead: Vec<usize> = dead.collect();
            if dead.is_empty() {
                break;
            }
            dead.into_iter().for_each(|at| kept[at] = false);
        }
        let mut renumbered = vec![0; devices.len()];
        let mut next = 0;
        for (at, is_kept) in kept.iter().enumerate() {
            renumbered[at] = next;
            next += usize::from(*is_kept);
        }
        let inside = links.into_iter().filter(|(a, b, _)| kept[*a] && kept[*b]);
        let links = inside.map(|(a, b, value)| (renumbered[a], renumbered[b], value)).collect();
        let devices = devices.into_iter().zip(kept).filter(|(_, kept)| *kept);
        Self { devices: devices.map(|(device, _)| device).collect(), gpus, links }
    }

    pub(in crate::collectives) fn joined(
        &self,
        wiring: &Wiring,
        gpus: &[usize],
        class: LinkClass,
    ) -> Result<(), LinkGraphError> {
        let mut reached = vec![false; self.devices.len()];
        let mut open = vec![0];
        reached[0] = true;
        while let Some(at) = open.pop() {
            for (a, b, _) in &self.links {
                for (from, to) in [(*a, *b), (*b, *a)] {
                    if from == at && !reached[to] {
                        reached[to] = true;
                        open.push(to);
                    }
                }
            }
        }
        let apart: Vec<usize> =
            (0..self.gpus).filter(|vertex| !reached[*vertex]).map(|vertex| gpus[vertex]).collect();
        if apart.is_empty() {
            return Ok(());
        }
        let links = match class {
            LinkClass::Fabric => fabric_of(wiring).unwrap_or("NVLink"),
            LinkClass::Host => "PCIe",
            LinkClass::Network => "the network",
        };
        let plural = if apart.len() > 1 { "GPUs" } else { "GPU" };
        let apart = format!("{plural} {}", in_words(&apart));
        Err(LinkGraphError::Apart { links, from: gpus[0], apart })
    }
}

/// Writes ids with those that follow one another as a run: `4, 6, 8 to 31`.
fn in_words(ids: &[usize]) -> String {
    let runs = ids.chunk_by(|id, next| *next == id + 1);
    let words = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(usize::to_string).collect(),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_support::alone;

    fn graph(gpus: &[usize], class: LinkClass) -> Result<LinkGraph, LinkGraphError> {
        LinkGraph::new(&alone("dgx1-v100"), gpus, class)
    }

    #[test]
    fn many_ids_are_told_as_runs() {
        assert_eq!(in_words(&[4, 6]), "4, 6");
        assert_eq!(in_words(&[4, 5]), "4, 5");
        assert_eq!(in_words(&[1, 4, 5, 6, 8, 31, 32, 33]), "1, 4 to 6, 8, 31 to 33");
    }

    #[test]
    fn a_dgx1v_without_the_other_gpus_has_no_switch_in_its_fabric() {
        let fabric = graph(&[1, 4, 5, 6], LinkClass::Fabric).unwrap();
        assert!(!fabric.has_switches());
        let doubled = 50_000_000_000;
        let expected = [(0, 2, doubled), (1, 2, doubled / 2), (1, 3, doubled / 2), (2, 3, doubled)];
        assert_eq!(fabric.links, expected);
    }

    #[test]
    fn the_host_keeps_only_the_switches_between_the_gpus() {
        let host = graph(&[0, 1, 2], LinkClass::Host).unwrap();
        assert_eq!((host.gpus, host.devices.len()), (3, 6), "two PCIe switches and a socket");
    }

    #[test]
    fn what_cannot_be_reached_is_named() {
        let error = graph(&[1, 4, 6], LinkClass::Fabric).unwrap_err().to_string();
        assert!(error.contains("NVLink does not join") && error.contains("GPUs 4, 6"), "{error}");
        assert_eq!(graph(&[1, 1], LinkClass::Host), Err(LinkGraphError::DuplicateGpu(1)));
        assert_eq!(graph(&[1], LinkClass::Host), Err(LinkGraphError::TooFewGpus(1)));
        assert!(graph(&[1, 8], LinkClass::Host).unwrap_err().to_string().contains("0 to 7"));
    }
}
