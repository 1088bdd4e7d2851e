use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::system::composition::PortOrder;
use crate::system::fabric::{FabricPaths, FabricSpecification, LinkRate, single_switch};
use crate::system::presets::preset;
use crate::units::{Bandwidth, Picoseconds};

fn pair() -> System {
    let rate =
        LinkRate { bandwidth: Bandwidth::gigabytes_per_second(12), latency: Picoseconds(600_000) };
    let server = Arc::new(preset("dgx1-v100").unwrap());
    System::new(&[(server, 2)], single_switch(8, rate).unwrap(), PortOrder::Plain).unwrap()
}

/// Puts four DGX-1s on a fat-tree of two levels.
fn tree() -> System {
    let text = "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 4\n";
    let fabric = FabricSpecification::read("fabric.toml", text).unwrap().build().unwrap();
    System::new(&[(Arc::new(preset("dgx1-v100").unwrap()), 4)], fabric, PortOrder::Plain).unwrap()
}

fn losing(system: &System, names: &[&str]) -> Losses {
    let parts = names.iter().flat_map(|name| system.parts_named(name).unwrap());
    system.losing(&parts.collect::<Vec<_>>()).unwrap()
}

/// All else keeps its number and its name.
#[test]
fn an_absent_part_has_no_links_and_stays_in_its_place() {
    let whole = pair();
    let system = whole.without(&["node1/mlx5_3", "GPU0-GPU3"]).unwrap();
    assert_eq!(system.devices(), whole.devices());
    assert_eq!(system.channels(), whole.channels() - 2 * 2 - 2);
    for device in 0..whole.devices() {
        assert_eq!(system.device_name(device), whole.device_name(device));
    }
    for nic in 0..whole.nics() {
        assert_eq!(system.port_of(nic), whole.port_of(nic));
    }
    let links = |system: &System, of: &str| {
        let channels = (0..system.channels() as u32).map(|at| system.channel(at));
        channels.filter(|it| system.device_name(it.from) == of).count()
    };
    assert_eq!(links(&system, "node0/mlx5_3"), links(&whole, "node0/mlx5_3"));
    // Its link to the network is the fabric's.
    assert_eq!(links(&system, "node1/mlx5_3"), 1);
    assert_eq!(links(&system, "node1/GPU0"), links(&whole, "node1/GPU0") - 1);
    assert_eq!(whole.without(&[""; 0]).unwrap(), whole);
}

#[test]
fn equal_servers_stay_one_kind() {
    let system = pair().without(&["mlx5_3"]).unwrap();
    assert_eq!(system.kinds().len(), 1);
    assert_eq!(pair().without(&["node0/GPU7"]).unwrap().kinds().len(), 2);
    // Without the same parts in another order it is the same.
    let [one, other] = [["GPU7", "mlx5_0"], ["mlx5_0", "GPU7"]].map(|it| pair().without(&it));
    assert_eq!(one, other);
}

#[test]
fn with_a_server_go_its_gpus_and_its_interfaces() {
    let losses = losing(&tree(), &["node1"]);
    assert_eq!(losses.gpus, (8..16).collect());
    assert_eq!(losses.system.lost_gpus(), (8..16).collect::<Vec<_>>());
    assert!(tree().lost_gpus().is_empty());
    assert_eq!(losses.cut_off, BTreeSet::from([1]));
}

/// Nothing drives it: its PCIe switch has no other way to a CPU.
#[test]
fn a_gpu_without_a_cpu_is_lost() {
    let losses = losing(&pair(), &["node0/PCIE0"]);
    assert_eq!(losses.gpus, BTreeSet::from([0, 1]));
    assert!(losses.cut_off.is_empty());
}

#[test]
fn with_a_leaf_go_the_interfaces_on_it() {
    let system = tree();
    let leaf = system.fabric().unwrap().switch_of(system.port_of(system.nic_at(2, 0)));
    let name = system.fabric().unwrap().switch_name(leaf);
    let losses = losing(&system, &[&name]);
    let gone = |nic: u32| system.fabric().unwrap().switch_of(system.port_of(nic)) == leaf;
    for nic in 0..system.nics() {
        let at = losses.system.nic(nic);
        let kind = losses.system.kind_of(at.server);
        let device = kind.nics()[at.index as usize];
        let has_links = kind.server().links().iter().any(|link| link.joins(device));
        assert_eq!(has_links, !gone(nic), "interface {nic}");
    }
    assert!(losses.gpus.is_empty());
    assert_eq!(losses.system.devices(), system.devices());
}

/// Behind the last link of a leaf nobody can be reached, and nothing crosses for nothing.
#[test]
fn a_leaf_without_links_up_is_cut_off() {
    let system = tree();
    let fabric = system.fabric().unwrap();
    let leaf = fabric.switch_of(system.port_of(system.nic_at(0, 0)));
    let up = fabric.outgoing(leaf).iter().filter(|it| system.is_inner(**it));
    let parts: Vec<SystemPart> = up.map(|it| SystemPart::FabricLink { channel: *it }).collect();
    let losses = system.losing(&parts).unwrap();
    let at_leaf = |server: &u32| {
        let nics = 0..system.kind_of(*server).nics().len() as u32;
        nics.map(|nic| fabric.switch_of(system.port_of(system.nic_at(*server, nic))))
            .all(|switch| switch == leaf)
    };
    assert_eq!(losses.cut_off, (0..4).filter(at_leaf).collect());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is lost, interfaces that are left reach one another over links that are left.
    #[test]
    fn what_is_left_is_joined(gone in prop::collection::btree_set(0_usize..96, 1..12)) {
        let system = tree();
        let fabric = system.fabric().unwrap();
        let links = fabric.channels().len() / 2;
        let parts: Vec<SystemPart> = gone
            .iter()
            .map(|at| SystemPart::FabricLink { channel: 2 * (at % links) as u32 })
            .collect();
        let losses = system.losing(&parts).unwrap();
        let left = losses.system.shared_fabric().unwrap();
        let paths = FabricPaths::of(left).unwrap();
        let is_left = |nic: &u32| {
            !losses.channels.contains(&Fabric::injection(system.port_of(*nic)))
        };
        let nics: Vec<u32> = (0..system.nics()).filter(is_left).collect();
        for a in &nics {
            for b in &nics {
                let [a, b] = [a, b].map(|nic| system.port_of(*nic));
                let shares = paths.shares(a, b);
                prop_assert_eq!(shares.is_empty(), left.switch_of(a) == left.switch_of(b));
                prop_assert!(shares.iter().all(|(channel, _)| !losses.channels.contains(channel)));
            }
        }
        // The order of losses does not matter.
        let mut backwards = parts.clone();
        backwards.reverse();
        prop_assert_eq!(system.losing(&backwards).unwrap(), losses);
    }
}
