//! Turns a system into tables: one row per device, one per bundle of links, one per network
//! interface.

use crate::system::composition::System;
use crate::system::fabric::Fabric;
use crate::system::kinds::{DeviceKind, Discipline};
use crate::system::locality::{Affinity, Locality};
use crate::system::server::{Device, DeviceId, Link};
use crate::system::views::layout::places;
use crate::system::views::parts::parts;
use crate::table::Table;

/// Gives one row per device, by its number.
///
/// Columns: `name`, `kind`, `model` (empty where unknown) and `is_gpu` name the device. `links`
/// lists its rows in [`links`]. `gpu_fabric_bandwidth` is the sum over a GPU's NVLink or xGMI
/// links, in one direction; other devices have none. `cpu_affinity`, `numa_affinity` and
/// `pci_address` are empty where unknown. `vendor_id` of a GPU without one is its model's.
/// `device_id` and `subsystem_id` are empty where unknown. `cores` counts the cores that
/// `cpu_affinity` of a CPU names; other devices and unknown CPUs have none. `memory` and
/// `memory_bandwidth` of a GPU come from its model; they are none where unknown. `x` and `y` say
/// where it stands on a drawing, in inches to the right and up.
#[must_use]
pub fn devices(system: &System) -> Table {
    let (devices, bundles) = parts(system);
    let mut adjacency: Vec<Vec<u32>> = vec![Vec::new(); devices.len()];
    for (row, link) in (0..).zip(&bundles) {
        adjacency[link.a].push(row);
        adjacency[link.b].push(row);
    }
    let fabric_bandwidth = |id: DeviceId| {
        let links = adjacency[id].iter().map(|link| &bundles[*link as usize]);
        let fabric = links.filter(|link| link.kind.is_gpu_fabric());
        fabric.map(|link| link.total_bandwidth().as_gigabytes_per_second()).sum()
    };
    let fabric_bandwidths: Vec<Option<f64>> = (0..devices.len())
        .map(|id| (devices[id].kind == DeviceKind::Gpu).then(|| fabric_bandwidth(id)))
        .collect();
    let is_gpu: Vec<bool> = devices.iter().map(|d| d.kind == DeviceKind::Gpu).collect();
    let names: Vec<String> = devices.iter().map(|d| d.name.clone()).collect();
    let kinds: Vec<String> = devices.iter().map(|d| d.kind.name().to_owned()).collect();
    let models: Vec<String> = devices.iter().map(|d| d.model.clone().unwrap_or_default()).collect();
    let place = |of: fn(&Locality) -> Option<String>| -> Vec<String> {
        devices.iter().map(|device| of(&device.locality).unwrap_or_default()).collect()
    };
    let text = |of: fn(&Device) -> Option<String>| -> Vec<String> {
        devices.iter().map(|device| of(device).unwrap_or_default()).collect()
    };
    let cores: Vec<Option<u64>> =
        devices.iter().map(|device| device.cores().map(|count| count as u64)).collect();
    let memory: Vec<Option<u64>> =
        devices.iter().map(|device| device.memory().map(|size| size.0)).collect();
    let bandwidths: Vec<Option<u64>> =
        devices.iter().map(|device| device.memory_bandwidth().map(|rate| rate.0)).collect();
    let points = places(system);
    Table::new()
        .with("name", "", names)
        .with("kind", "", kinds)
        .with("model", "", models)
        .with("is_gpu", "", is_gpu)
        .with("links", "", adjacency)
        .with("gpu_fabric_bandwidth", "GB/s", fabric_bandwidths)
        .with("cpu_affinity", "", place(|at| at.cpu_affinity.as_ref().map(Affinity::to_string)))
        .with("numa_affinity", "", place(|at| at.numa_affinity.as_ref().map(Affinity::to_string)))
        .with("pci_address", "", place(|at| at.pci_address.clone()))
        .with("vendor_id", "", text(|it| it.vendor_id().map(str::to_owned)))
        .with("device_id", "", text(|it| it.identity.device_id.clone()))
        .with("subsystem_id", "", text(|it| it.identity.subsystem_id.map(String::from)))
        .with("cores", "", cores)
        .with("memory", "B", memory)
        .with("memory_bandwidth", "B/s", bandwidths)
        .with("x", "in", points.iter().map(|point| point.x).collect::<Vec<_>>())
        .with("y", "in", points.iter().map(|point| point.y).collect::<Vec<_>>())
}

/// Gives one row per bundle of links: those of the first server, of the second, ..., of the fabric.
///
/// Columns: `a` and `b` (the names of its ends), `kind`, `count`, `bandwidth` and `latency`
/// of one link in one direction, and `discipline` (`pipe` or `packets`).
#[must_use]
pub fn links(system: &System) -> Table {
    let (devices, links) = parts(system);
    let name = |id: DeviceId| devices[id].name.clone();
    let column = |of: fn(&Link) -> u64| links.iter().map(of).collect::<Vec<u64>>();
    let kinds: Vec<String> = links.iter().map(|link| link.kind.name().to_owned()).collect();
    let disciplines: Vec<String> =
        links.iter().map(|link| link.discipline.map_or("", Discipline::name).to_owned()).collect();
    Table::new()
        .with("a", "", links.iter().map(|link| name(link.a)).collect::<Vec<_>>())
        .with("b", "", links.iter().map(|link| name(link.b)).collect::<Vec<_>>())
        .with("kind", "", kinds)
        .with("count", "", column(|link| u64::from(link.count)))
        .with("bandwidth", "B/s", column(|link| link.bandwidth.0))
        .with("latency", "ps", column(|link| link.latency.0))
        .with("discipline", "", disciplines)
}

/// One row per network interface, in the order of the ports that they take; empty of a server
/// that stands alone.
///
/// Columns: `port` (of the fabric), `interface` (its name), `server`, `switch` (where the port
/// is), `bandwidth` and `latency` of its link in one direction.
#[must_use]
pub fn ports(system: &System) -> Table {
    let nics = if system.fabric().is_some() { system.nics() } else { 0 };
    let channel = |port: u32| {
        let fabric = system.fabric().expect("without a fabric there are no ports");
        (fabric, fabric.channels()[Fabric::injection(port) as usize])
    };
    let nic = |port: u32| system.nic_of_port(port).expect("interfaces take the first ports");
    let names = (0..nics).map(|port| system.device_name(system.nic_device(nic(port))));
    let servers = (0..nics).map(|port| u64::from(system.nic(nic(port)).server));
    let switches = (0..nics).map(|port| {
        let (fabric, _) = channel(port);
        fabric.switch_name(fabric.switch_of(port))
    });
    let bandwidths = (0..nics).map(|port| channel(port).1.bandwidth.0);
    let latencies = (0..nics).map(|port| channel(port).1.latency.0);
    Table::new()
        .with("port", "", (0..u64::from(nics)).collect::<Vec<_>>())
        .with("interface", "", names.collect::<Vec<_>>())
        .with("server", "", servers.collect::<Vec<_>>())
        .with("switch", "", switches.collect::<Vec<_>>())
        .with("bandwidth", "B/s", bandwidths.collect::<Vec<_>>())
        .with("latency", "ps", latencies.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Identity, LinkKind, ServerBuilder};
    use crate::table::Column;
    use crate::units::Bytes;

    #[test]
    fn a_gpu_and_its_host_fill_both_tables() {
        let mut builder = ServerBuilder::new("small", "test");
        let gpu = builder.device("GPU0", DeviceKind::Gpu, Some("V100-SXM2-16GB")).unwrap();
        let other = builder.device("GPU1", DeviceKind::Gpu, None).unwrap();
        let mut cpu = Device::new("CPU0", DeviceKind::Cpu, None);
        cpu.locality.cpu_affinity = Affinity::parse("0-11,24-35");
        cpu.identity = Identity::of_vendor("GenuineIntel");
        cpu.host_memory = Some(Bytes(256 << 30));
        let cpu = builder.add(cpu).unwrap();
        builder.data_sheet_link(gpu, other, LinkKind::Nvlink2, 2).unwrap();
        builder.data_sheet_link(gpu, cpu, LinkKind::Pcie3, 1).unwrap();
        let machine = System::of_server(builder.build().unwrap().into());

        let devices = devices(&machine);
        let of = |table: &Table, name| table.column(name).unwrap().values.clone();
        assert_eq!(of(&devices, "links"), vec![vec![0, 1], vec![0], vec![1]].into());
        let bandwidths = vec![Some(50.0), Some(50.0), None];
        assert_eq!(of(&devices, "gpu_fabric_bandwidth"), Column::OptionalFloat64(bandwidths));
        let vendors = ["10de", "", "GenuineIntel"].map(str::to_owned);
        assert_eq!(of(&devices, "vendor_id"), vendors.to_vec().into(), "a GPU's by its model");
        let memory = vec![Some(16 << 30), None, Some(256 << 30)];
        assert_eq!(of(&devices, "memory"), Column::OptionalUInt64(memory));
        assert_eq!(of(&devices, "cores"), Column::OptionalUInt64(vec![None, None, Some(24)]));
        assert_eq!(of(&links(&machine), "bandwidth"), vec![25_000_000_000, 15_754_000_000].into());
    }
}
