//! Tells how fast two GPUs without peer access copy to each other.
//!
//! It represents copies that go up to the memory of the host and down from there
//! ([`Wiring::has_peer_access`](crate::system::Wiring::has_peer_access)). Both directions at once cross each link
//! twice that leads up from both GPUs. So two GPUs of one switch have half of its way to the host. It leaves out the
//! bandwidth of the memory.

use crate::system::kinds::DeviceKind;
use crate::system::server::{DeviceId, Server};
use crate::system::views::proximity::is_host_link;
use crate::units::Bandwidth;

/// Knows the way of each GPU to its host, where a machine has GPUs without peer access.
pub(super) struct Staged<'a> {
    machine: &'a Server,
    /// For each GPU whether it lacks peer access, and its links up to the nearest CPU.
    ways: Vec<(bool, Vec<usize>)>,
}

impl<'a> Staged<'a> {
    /// Finds the ways; None where all GPUs reach each other.
    pub(super) fn new(machine: &'a Server, adjacency: &[Vec<usize>]) -> Option<Self> {
        let lacks = |gpu: DeviceId| {
            let model = machine.devices()[gpu].gpu_model();
            model.and_then(|it| it.peer_access().ok()).is_some_and(|access| !access.pcie)
        };
        let gpus = machine.gpus();
        if !gpus.iter().any(|gpu| lacks(*gpu)) {
            return None;
        }
        let way = |gpu: &DeviceId| (lacks(*gpu), way_up(machine, adjacency, *gpu));
        Some(Self { machine, ways: gpus.iter().map(way).collect() })
    }

    /// The most that each of two GPUs, by their ids, copies to the other while that copies, too. None where they
    /// reach each other's memory, or share nothing.
    pub(super) fn most(&self, a: usize, b: usize) -> Option<Bandwidth> {
        let ((lacks, way), (other_lacks, other)) = (&self.ways[a], &self.ways[b]);
        let shared = way.iter().filter(|link| (*lacks || *other_lacks) && other.contains(link));
        let half = |link: &usize| Bandwidth(self.machine.links()[*link].total_bandwidth().0 / 2);
        shared.map(half).min()
    }
}

/// The links from a GPU up to the nearest CPU, of equally near ones to the first; none where no host is.
fn way_up(machine: &Server, adjacency: &[Vec<usize>], gpu: DeviceId) -> Vec<usize> {
    let mut came_by: Vec<Option<usize>> = vec![None; machine.devices().len()];
    let mut layer = vec![gpu];
    while !layer.is_empty() {
        let mut next_layer = Vec::new();
        for at in layer {
            for index in adjacency[at].iter().copied() {
                let link = &machine.links()[index];
                let next = link.other_end(at);
                let kind = machine.devices()[next].kind;
                let forwards = !matches!(kind, DeviceKind::Gpu | DeviceKind::Nic);
                if forwards && came_by[next].is_none() && is_host_link(machine, link) {
                    came_by[next] = Some(index);
                    next_layer.push(next);
                }
            }
        }
        next_layer.sort_unstable();
        let is_cpu = |device: &&DeviceId| machine.devices()[**device].kind == DeviceKind::Cpu;
        if let Some(cpu) = next_layer.iter().find(is_cpu) {
            let (mut at, mut way) = (*cpu, Vec::new());
            while at != gpu {
                let index = came_by[at].expect("the search came here");
                way.push(index);
                at = machine.links()[index].other_end(at);
            }
            return way;
        }
        layer = next_layer;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use crate::system::import::{ImportOptions, import};
    use crate::system::views::gpu_graph::{BandwidthProfile, GpuGraph};
    use crate::units::Bandwidth;

    /// Makes four GPUs of a model, in pairs on two switches of one socket.
    fn pairs_of(model: &str) -> GpuGraph {
        let text = format!(
            "name = 'pairs'\n[[device]]\nkind = 'gpu'\nmodel = '{model}'\n\
             names = ['GPU0', 'GPU1', 'GPU2', 'GPU3']\n[[device]]\nkind = 'cpu'\nnames = ['CPU0']\n\
             [[device]]\nkind = 'pcie-switch'\nnames = ['PCIE0', 'PCIE1']\n[[link]]\nkind = 'pcie4'\n\
             between = [['GPU0', 'PCIE0'], ['GPU1', 'PCIE0'], ['GPU2', 'PCIE1'], ['GPU3', 'PCIE1'],\n\
             ['PCIE0', 'CPU0'], ['PCIE1', 'CPU0']]\n"
        );
        let machine = import("pairs.toml", &text, None, &ImportOptions::default()).unwrap();
        GpuGraph::new(&machine, BandwidthProfile::DataSheet).unwrap()
    }

    #[test]
    fn gpus_of_one_switch_share_its_way_to_the_host_where_they_lack_peer_access() {
        let of = |graph: &GpuGraph, a, b| graph.pair(a, b).unwrap().bandwidth;
        let whole = Bandwidth(31_508_000_000);
        let (geforce, professional) = (pairs_of("RTX 4090"), pairs_of("RTX 6000 Ada"));
        assert_eq!(of(&geforce, 0, 1), Bandwidth(whole.0 / 2));
        assert_eq!(of(&geforce, 0, 2), whole);
        assert_eq!([of(&professional, 0, 1), of(&professional, 0, 2)], [whole; 2]);
    }
}
