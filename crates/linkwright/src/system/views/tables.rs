//! A machine as tables: one row per device, one per bundle of links.

use crate::system::kinds::DeviceKind;
use crate::system::locality::{Affinity, Locality};
use crate::system::server::{Device, DeviceId, Server};
use crate::table::Table;

/// One row per device, in the machine's order.
///
/// Columns: `name`, `kind`, `model` (empty where unknown), `is_gpu`, `links` (rows of
/// [`links`]), `gpu_fabric_bandwidth` (the sum over a GPU's NVLink or xGMI links, in one
/// direction; none for what is no GPU), `cpu_affinity`, `numa_affinity` and `pci_address` (empty
/// where unknown), `vendor_id` (of a GPU without, that of its model), `device_id` and
/// `subsystem_id` (likewise), `cores` (how many `cpu_affinity` of a CPU names; none of what is no
/// CPU, and where unknown) and `memory` (of a GPU that of its model; none where unknown).
#[must_use]
pub fn devices(machine: &Server) -> Table {
    let devices = machine.devices();
    let adjacency = machine.adjacency();
    let fabric_bandwidth = |id: DeviceId| {
        let links = adjacency[id].iter().map(|link| &machine.links()[*link]);
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
    let links: Vec<Vec<u32>> =
        adjacency.iter().map(|links| links.iter().map(|link| *link as u32).collect()).collect();
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
    Table::new()
        .with("name", "", names)
        .with("kind", "", kinds)
        .with("model", "", models)
        .with("is_gpu", "", is_gpu)
        .with("links", "", links)
        .with("gpu_fabric_bandwidth", "GB/s", fabric_bandwidths)
        .with("cpu_affinity", "", place(|at| at.cpu_affinity.as_ref().map(Affinity::to_string)))
        .with("numa_affinity", "", place(|at| at.numa_affinity.as_ref().map(Affinity::to_string)))
        .with("pci_address", "", place(|at| at.pci_address.clone()))
        .with("vendor_id", "", text(|it| it.vendor_id().map(str::to_owned)))
        .with("device_id", "", text(|it| it.identity.device_id.clone()))
        .with("subsystem_id", "", text(|it| it.identity.subsystem_id.map(String::from)))
        .with("cores", "", cores)
        .with("memory", "B", memory)
}

/// One row per bundle of links, in the machine's order.
///
/// Columns: `a` and `b` (the names of its ends), `kind`, `count`, `bandwidth` and `latency`
/// of one link in one direction, and `discipline` (`pipe` or `packets`).
#[must_use]
pub fn links(machine: &Server) -> Table {
    let links = machine.links();
    let name = |id: DeviceId| machine.devices()[id].name.clone();
    let column =
        |of: fn(&crate::system::server::Link) -> u64| links.iter().map(of).collect::<Vec<u64>>();
    let kinds: Vec<String> = links.iter().map(|link| link.kind.name().to_owned()).collect();
    let disciplines: Vec<String> =
        links.iter().map(|link| machine.discipline(link).name().to_owned()).collect();
    Table::new()
        .with("a", "", links.iter().map(|link| name(link.a)).collect::<Vec<_>>())
        .with("b", "", links.iter().map(|link| name(link.b)).collect::<Vec<_>>())
        .with("kind", "", kinds)
        .with("count", "", column(|link| u64::from(link.count)))
        .with("bandwidth", "B/s", column(|link| link.bandwidth.0))
        .with("latency", "ps", column(|link| link.latency.0))
        .with("discipline", "", disciplines)
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
        let machine = builder.build().unwrap();

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
