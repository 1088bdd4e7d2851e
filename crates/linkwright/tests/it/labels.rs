//! Tests the label of two GPUs, where a fabric and the host both join them.

use linkwright::system::{
    BandwidthProfile, DeviceKind, GpuGraph, LinkKind, PairLink, Server, ServerBuilder,
};
use linkwright::units::Bandwidth;

/// Returns the label of two GPUs with a given number of links each to one NVSwitch, and to one host
/// bridge.
fn label(nvlinks: (LinkKind, u32), pcie: LinkKind) -> (PairLink, Bandwidth) {
    let mut builder = ServerBuilder::new("two", "test");
    let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
    let switch = builder.device("switch", DeviceKind::NvSwitch, None).unwrap();
    for name in ["GPU0", "GPU1"] {
        let gpu = builder.device(name, DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(gpu, bridge, pcie, 1).unwrap();
        builder.data_sheet_link(gpu, switch, nvlinks.0, nvlinks.1).unwrap();
    }
    let machine = builder.build().unwrap();
    let graph = GpuGraph::new(&machine, BandwidthProfile::DataSheet).unwrap();
    let pair = graph.pair(0, 1).unwrap();
    (pair.link, pair.bandwidth)
}

#[test]
fn of_nvswitches_and_the_host_the_wider_way_is_the_label() {
    let (nvlink, pcie5) = (LinkKind::Nvlink1, LinkKind::Pcie5);
    let host = pcie5.data_sheet().bandwidth;
    let link = nvlink.data_sheet().bandwidth;
    assert!(link < host && Bandwidth(4 * link.0) > host);
    assert_eq!(label((nvlink, 1), pcie5), (PairLink::Host { pcie: Some(pcie5) }, host));
    let wide = PairLink::Switched { kind: nvlink, count: 4 };
    assert_eq!(label((nvlink, 4), pcie5), (wide, Bandwidth(4 * link.0)));
}

#[test]
fn links_of_their_own_are_the_label_whatever_the_host_is() {
    let (xgmi, pcie5) = (LinkKind::Xgmi, LinkKind::Pcie5);
    let mut builder = ServerBuilder::new("two", "test");
    let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
    let gpus = ["GPU0", "GPU1"].map(|name| builder.device(name, DeviceKind::Gpu, None).unwrap());
    builder.data_sheet_link(gpus[0], gpus[1], xgmi, 1).unwrap();
    for gpu in gpus {
        builder.data_sheet_link(gpu, bridge, pcie5, 1).unwrap();
    }
    let machine = builder.build().unwrap();
    for profile in [BandwidthProfile::Mapa, BandwidthProfile::DataSheet] {
        let graph = GpuGraph::new(&machine, profile).unwrap();
        let pair = graph.pair(0, 1).unwrap();
        assert!(pair.bandwidth < pair.host, "{pair:?}");
        assert_eq!(pair.link, PairLink::Direct { kind: xgmi, count: 1 });
        assert_eq!(pair.link.label(), "XGMI1");
    }
}

/// Builds two GPUs on two sockets, joined by NVLinks of a kind, and a NIC.
fn two_sockets(direct: Option<LinkKind>, pcie: LinkKind, nic: LinkKind) -> Server {
    let mut builder = ServerBuilder::new("two", "test");
    let mut gpus = Vec::new();
    let mut sockets = Vec::new();
    for name in ["0", "1"] {
        let cpu = builder.device(&format!("CPU{name}"), DeviceKind::Cpu, None).unwrap();
        let gpu = builder.device(&format!("GPU{name}"), DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(cpu, gpu, pcie, 1).unwrap();
        gpus.push(gpu);
        sockets.push(cpu);
    }
    builder.data_sheet_link(sockets[0], sockets[1], LinkKind::Upi, 1).unwrap();
    let interface = builder.device("NIC0", DeviceKind::Nic, None).unwrap();
    builder.data_sheet_link(sockets[0], interface, nic, 1).unwrap();
    if let Some(kind) = direct {
        builder.data_sheet_link(gpus[0], gpus[1], kind, 1).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn mapas_table_is_the_default_only_where_it_covers_the_machine() {
    use BandwidthProfile::{DataSheet, Mapa};
    use LinkKind::{Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Pcie3, Pcie4, Pcie5, Xgmi};
    for direct in [None, Some(Nvlink1), Some(Nvlink2)] {
        let machine = two_sockets(direct, Pcie3, Pcie3);
        assert_eq!(BandwidthProfile::default_of(&machine), Mapa, "{direct:?}");
        // The link of a NIC says nothing of the GPUs; their own links do.
        let machine = two_sockets(direct, Pcie3, Pcie5);
        assert_eq!(BandwidthProfile::default_of(&machine), Mapa, "{direct:?}");
        let machine = two_sockets(direct, Pcie4, Pcie3);
        assert_eq!(BandwidthProfile::default_of(&machine), DataSheet, "{direct:?}");
    }
    for direct in [Nvlink3, Nvlink4, Nvlink5, Xgmi] {
        let machine = two_sockets(Some(direct), Pcie3, Pcie3);
        assert_eq!(BandwidthProfile::default_of(&machine), DataSheet, "{direct:?}");
    }
}
