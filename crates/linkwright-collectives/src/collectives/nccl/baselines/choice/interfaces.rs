//! Finds the network interfaces that are near a job's GPUs, with their bandwidths.

use std::collections::VecDeque;

use super::found::{Interface, Reach};
use super::rules::Search;
use crate::collectives::nccl::baselines::constants::host_bandwidth;
use crate::system::views::wiring::WiredId;
use crate::system::{DeviceKind, LinkKind, Proximity, Wiring};

/// Finds those that the search takes: the nearest of a server. Farther ones add nothing once channels were found
/// (`ncclTopoSelectNets`, `ncclTopoCompute`). One without a way to the GPUs counts as far.
pub fn near_interfaces(search: &Search, wiring: &Wiring, gpus: &[usize]) -> Vec<Interface> {
    let own = wiring.server_of(gpus[0]);
    let devices = wiring.devices().iter().enumerate();
    let nics = devices.filter(|(_, it)| it.kind == DeviceKind::Nic && it.server == own);
    let found: Vec<Interface> = nics.map(|(nic, _)| interface(search, wiring, gpus, nic)).collect();
    let nearest = found.iter().map(|it| it.reach.max(Reach::Pxb)).min();
    found.into_iter().filter(|it| Some(it.reach.max(Reach::Pxb)) == nearest).collect()
}

fn interface(search: &Search, wiring: &Wiring, gpus: &[usize], nic: WiredId) -> Interface {
    let gigabytes = |wire: &usize| wiring.wires()[*wire].bandwidth.as_gigabytes_per_second();
    let of = |is_it: fn(&LinkKind) -> bool| {
        let own = wiring.adjacency()[nic].iter();
        own.filter(move |wire| wiring.wires()[**wire].kind.as_ref().is_some_and(is_it))
    };
    let port: f64 = of(|kind| kind.is_network()).map(gigabytes).sum();
    let slot =
        of(|kind| kind.is_pcie()).map(|wire| Search::of_pcie(wiring.wires()[*wire].bandwidth.0));
    let slot = slot.fold(f64::INFINITY, f64::min);
    let (near, reach) = nearest_gpus(wiring, gpus, nic);
    let has_slot = gpus.iter().any(|gpu| {
        wiring.adjacency()[wiring.gpu(*gpu)].iter().any(|wire| wiring.wires()[*wire].is_pcie())
    });
    let to_gpu = if has_slot {
        let farthest = if reach <= Reach::Pxb { Proximity::Pix } else { Proximity::Phb };
        host_bandwidth(search, wiring, gpus, farthest)
    } else {
        f64::INFINITY
    };
    Interface { bandwidth: port.min(slot).min(to_gpu), near, reach }
}

/// Counts the GPUs that an interface is nearest to, and says how near. A way through a CPU is farther than any through PCIe
/// switches, and one from CPU to CPU is the farthest.
fn nearest_gpus(wiring: &Wiring, gpus: &[usize], nic: WiredId) -> (usize, Reach) {
    let targets: Vec<WiredId> = gpus.iter().map(|gpu| wiring.gpu(*gpu)).collect();
    let kind = |device: WiredId| wiring.devices()[device].kind;
    let mut steps = vec![None; wiring.devices().len()];
    steps[nic] = Some((0_u32, 0_u32));
    // Ways with fewer CPUs come first: a deque whose front has the fewest.
    let mut open = VecDeque::from([nic]);
    while let Some(device) = open.pop_front() {
        let Some((cpus, switches)) = steps[device] else { continue };
        if device != nic && matches!(kind(device), DeviceKind::Gpu | DeviceKind::Nic) {
            continue;
        }
        for wire in &wiring.adjacency()[device] {
            let wire = &wiring.wires()[*wire];
            let next = wire.other_end(device);
            let is_apart = wire.is_network() || wire.is_gpu_fabric();
            if is_apart || matches!(kind(next), DeviceKind::NetworkSwitch | DeviceKind::NvSwitch) {
                continue;
            }
            let is_cpu = kind(next) == DeviceKind::Cpu;
            let is_switch = kind(next) == DeviceKind::PcieSwitch;
            let found = (cpus + u32::from(is_cpu), switches + u32::from(is_switch));
            if steps[next].is_none_or(|known| found < known) {
                steps[next] = Some(found);
                if is_cpu { open.push_back(next) } else { open.push_front(next) }
            }
        }
    }
    let ways = || targets.iter().filter_map(|gpu| steps[*gpu]);
    let Some(least) = ways().map(|(cpus, _)| cpus).min() else {
        return (targets.len(), Reach::Sys);
    };
    let near = ways().filter(|(cpus, _)| *cpus == least);
    let switches = near.clone().map(|(_, switches)| switches).min().unwrap_or(0);
    let reach = match (least, switches) {
        (0, 0 | 1) => Reach::Pix,
        (0, _) => Reach::Pxb,
        (1, _) => Reach::Phb,
        _ => Reach::Sys,
    };
    (near.count(), reach)
}
