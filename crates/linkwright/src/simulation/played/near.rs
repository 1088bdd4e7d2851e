//! Finds the devices that join a job's GPUs to each other and to a network without their hosts.
//!
//! Where a fabric joins the GPUs of a server, and each reaches an interface over its own PCIe switch, data
//! between GPUs crosses no host. A plan that looks at no host is then the same for sets of GPUs that differ
//! by their sockets alone.

use std::collections::BTreeSet;

use crate::system::{DeviceKind, Wiring};

/// Gives the devices between GPUs of a server and their nearest interfaces, and the fabric's switches. None says
/// that a host is on the way, or that no fabric joins the GPUs.
pub(super) fn near_devices(wiring: &Wiring, gpus: &[usize]) -> Option<BTreeSet<usize>> {
    if !are_joined(wiring, gpus) {
        return None;
    }
    let kind = |device: usize| wiring.devices()[device].kind;
    let switches = (0..wiring.devices().len()).filter(|at| kind(*at) == DeviceKind::NvSwitch);
    let mut near: BTreeSet<usize> = switches.collect();
    for gpu in gpus {
        near.extend(to_interfaces(wiring, wiring.gpu(*gpu)));
    }
    near.iter().all(|device| kind(*device) != DeviceKind::Cpu).then_some(near)
}

/// Whether a fabric joins GPUs, through each other and its switches.
fn are_joined(wiring: &Wiring, gpus: &[usize]) -> bool {
    let own: BTreeSet<usize> = gpus.iter().map(|gpu| wiring.gpu(*gpu)).collect();
    let mut known: BTreeSet<usize> = own.first().copied().into_iter().collect();
    let mut open: Vec<usize> = known.iter().copied().collect();
    while let Some(device) = open.pop() {
        for wire in wiring.adjacency()[device].iter().map(|wire| &wiring.wires()[*wire]) {
            let next = wire.other_end(device);
            let passes = wiring.devices()[next].kind == DeviceKind::NvSwitch || own.contains(&next);
            if wire.is_gpu_fabric() && passes && known.insert(next) {
                open.push(next);
            }
        }
    }
    own.is_subset(&known)
}

/// The devices on ways of fewest hops from a GPU to the interfaces that are nearest to it.
fn to_interfaces(wiring: &Wiring, gpu: usize) -> BTreeSet<usize> {
    let kind = |device: usize| wiring.devices()[device].kind;
    let beside = |device: usize| {
        let wires = wiring.adjacency()[device].iter();
        wires.map(move |wire| wiring.wires()[*wire].other_end(device))
    };
    let mut layers: Vec<BTreeSet<usize>> = vec![BTreeSet::from([gpu])];
    let mut known = BTreeSet::from([gpu]);
    loop {
        let last = layers.last().expect("the first is the GPU's own");
        let next = last.iter().flat_map(|device| beside(*device));
        let passes =
            |device: &usize| !matches!(kind(*device), DeviceKind::Gpu | DeviceKind::NvSwitch);
        let next: BTreeSet<usize> =
            next.filter(passes).filter(|device| !known.contains(device)).collect();
        if next.is_empty() {
            return BTreeSet::new();
        }
        known.extend(&next);
        let nics: BTreeSet<usize> =
            next.iter().copied().filter(|device| kind(*device) == DeviceKind::Nic).collect();
        if !nics.is_empty() {
            let (mut on_way, mut ends) = (nics.clone(), nics);
            for layer in layers[1..].iter().rev() {
                let leads = |device: &usize| beside(*device).any(|next| ends.contains(&next));
                ends = layer.iter().copied().filter(leads).collect();
                on_way.extend(&ends);
            }
            return on_way;
        }
        layers.push(next);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::presets::preset;

    #[test]
    fn hosts_count_where_data_crosses_them() {
        let near = |name: &str, gpus: &[usize]| {
            let server = Arc::new(preset(name).unwrap());
            near_devices(&Wiring::of_server(&server), gpus)
        };
        // Each GPU has an interface beneath its own PCIe switch.
        assert!(near("hgx-h100", &[0, 1, 6]).is_some());
        assert!(near("hgx-h100", &[3]).is_some());
        // No NVLink joins GPUs 1, 4 and 6, and these have no fabric at all.
        assert_eq!(near("dgx1-v100", &[1, 4, 6]), None);
        assert_eq!(near("4x-l40s-pcie", &[0, 1]), None);
        let gpus = |of: &BTreeSet<usize>, server: &str| {
            let server = Arc::new(preset(server).unwrap());
            let wiring = Wiring::of_server(&server);
            of.iter().filter(|device| wiring.devices()[**device].kind == DeviceKind::Nic).count()
        };
        let found = near("hgx-h100", &[0, 5]).unwrap();
        assert_eq!(gpus(&found, "hgx-h100"), 2, "one of each GPU");
    }
}
