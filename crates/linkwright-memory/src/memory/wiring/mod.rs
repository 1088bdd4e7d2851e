//! Joins caches and memory where a GPU's file says so: by PCIe, or by a switch of shared memory.
//!
//! Both are [`Wires`], as are a machine's own links
//! ([`wires::between`](crate::network::wires::between)). PCIe switches join GPUs and the host
//! ([`pcie`]). A switch, or another wiring, joins second-level caches and unified controllers of truly
//! shared memory ([`shared`]).

mod shared;

pub use shared::{shared, shared_of, shared_path};

use crate::network::wires::{WireRate, Wires};
use crate::system::gpus::Hierarchy;
use crate::units::Bandwidth;

/// Builds PCIe between GPUs and to the host: two GPUs on a switch, the switches on one root.
///
/// Ends are the GPUs and, after the last, the host; the path between two is
/// [`pair_path`](crate::network::wires::pair_path).
#[must_use]
pub fn pcie(hierarchy: &Hierarchy, gpus: u32) -> Wires {
    let flits = &hierarchy.pcie;
    let cycle = hierarchy.cycle.0;
    let encoding = u64::from(flits.encoding);
    let rate = WireRate::Flits { bytes: flits.flit.0, encoding, cycle };
    let mut links = Wires::new();
    let hop = u64::from(flits.switch) * cycle;
    let mut both = |from: &str, to: &str| {
        // Behind a link towards a GPU or the host there is no switch.
        let up = links.channel(format!("{from} to {to}"), rate, hop);
        [up, links.channel(format!("{to} to {from}"), rate, 0)]
    };
    let ends: Vec<_> =
        (0..gpus).map(|gpu| both(&format!("GPU{gpu}"), &format!("switch{}", gpu / 2))).collect();
    let switches: Vec<_> =
        (0..gpus.div_ceil(2)).map(|switch| both(&format!("switch{switch}"), "root")).collect();
    let host = both("host", "root");
    // Down from the root there is a switch too.
    for [_, down] in &switches {
        links.set_latency(*down, hop);
    }
    let switch = |gpu: u32| switches[gpu as usize / 2];
    for from in 0..=gpus {
        for to in 0..=gpus {
            let path = match (from == gpus, to == gpus) {
                (true, true) => vec![],
                (true, false) => vec![host[0], switch(to)[1], ends[to as usize][1]],
                (false, true) => vec![ends[from as usize][0], switch(from)[0], host[1]],
                (false, false) if from == to => vec![],
                (false, false) if from / 2 == to / 2 => {
                    vec![ends[from as usize][0], ends[to as usize][1]]
                }
                (false, false) => vec![
                    ends[from as usize][0],
                    switch(from)[0],
                    switch(to)[1],
                    ends[to as usize][1],
                ],
            };
            links.path(&path);
        }
    }
    links
}

/// Gives the bandwidth of the link of one bank, from that of all banks of a GPU.
fn of_bank(hierarchy: &Hierarchy, bandwidth: Bandwidth) -> u64 {
    (bandwidth.0 / u64::from(hierarchy.second.banks)).max(1)
}

/// Gives the picoseconds that a message keeps the link of a bank to the switch of [`shared`], or from it.
#[must_use]
pub fn shared_time(hierarchy: &Hierarchy, bandwidth: Bandwidth, bytes: u64) -> u64 {
    let (bandwidth, cycle) = (of_bank(hierarchy, bandwidth), hierarchy.cycle.0);
    WireRate::Bytes { bandwidth, cycle }.time(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::wires::pair_path;
    use crate::system::gpus;

    fn r9_nano() -> &'static Hierarchy {
        gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
    }

    #[test]
    fn a_message_waits_for_those_before_it() {
        let mut links = pcie(r9_nano(), 4);
        // 68 bytes and a quarter make 85: three flits.
        let path = pair_path(5, 0, 1);
        assert_eq!(links.cross(0, path, 0, 68), (143_000, false));
        assert_eq!(links.cross(0, path, 0, 12), (144_000, false));
        assert_eq!(links.cross(143_000, path, 1, 68), (146_000, true));
    }

    #[test]
    fn far_gpus_are_three_switches_away() {
        let mut links = pcie(r9_nano(), 4);
        let path = pair_path(5, 0, 3);
        let mut at = (0, false);
        for crossed in 0..4 {
            assert!(!at.1);
            at = links.cross(at.0, path, crossed, 12);
        }
        assert_eq!(at, (3 * 140_000 + 4_000, true));
    }
}
