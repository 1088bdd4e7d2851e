//! Names the kinds of device and link, and holds the facts of each link kind. These are its peak
//! and latency by data sheets, and the share of that peak that long transfers are measured to
//! reach.
//!
//! Bandwidths are those of one link in one direction as the vendor states them; for PCIe
//! that is 16 lanes after line coding. Latencies are the one-way time of the wire and its
//! two ends. Vendors do not publish them, so they are orders of magnitude, good for
//! ranking paths and no more.

use serde::{Deserialize, Serialize};

use crate::units::{Bandwidth, Picoseconds};

/// Says of what kind a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// An accelerator; the only kind that a job can be given.
    Gpu,
    /// A CPU socket (or a NUMA node where the firmware splits a socket).
    Cpu,
    /// Is a PCIe host bridge: the root of one PCIe tree inside a socket.
    HostBridge,
    /// Is a PCIe switch.
    PcieSwitch,
    /// Is an NVLink switch.
    #[serde(rename = "nvswitch")]
    NvSwitch,
    /// Is a network interface.
    Nic,
    /// Is a switch of the network between servers.
    NetworkSwitch,
    /// It is a switch between GPUs and a memory that they share.
    MemorySwitch,
    /// It is a memory that GPUs share.
    Memory,
}

impl DeviceKind {
    /// Lists every kind, in the order in which machines list their devices.
    pub const ALL: [Self; 9] = [
        Self::Gpu,
        Self::Cpu,
        Self::HostBridge,
        Self::PcieSwitch,
        Self::NvSwitch,
        Self::Nic,
        Self::NetworkSwitch,
        Self::MemorySwitch,
        Self::Memory,
    ];

    /// Gives the kind's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::HostBridge => "host-bridge",
            Self::PcieSwitch => "pcie-switch",
            Self::NvSwitch => "nvswitch",
            Self::Nic => "nic",
            Self::NetworkSwitch => "network-switch",
            Self::MemorySwitch => "memory-switch",
            Self::Memory => "memory",
        }
    }

    /// Whether it is of a memory that GPUs share. Messages between other devices take no way over it.
    #[must_use]
    pub const fn is_shared_memory(self) -> bool {
        matches!(self, Self::MemorySwitch | Self::Memory)
    }

    /// Whether it is a switch or a bridge, which hands on what comes to it.
    #[must_use]
    pub const fn hands_on(self) -> bool {
        !matches!(self, Self::Gpu | Self::Cpu | Self::Nic | Self::Memory)
    }
}

/// Says of what kind a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Is NVLink of Pascal.
    Nvlink1,
    /// Is NVLink of Volta.
    Nvlink2,
    /// Is NVLink of Ampere.
    Nvlink3,
    /// Is NVLink of Hopper.
    Nvlink4,
    /// Is NVLink of Blackwell.
    Nvlink5,
    /// Is NVLink between the chips of a superchip: a Grace CPU and its GPUs.
    NvlinkC2c,
    /// Is AMD Infinity Fabric between GPUs of the MI200 series.
    Xgmi,
    /// Is AMD Infinity Fabric between GPUs up to the MI100.
    XgmiMi100,
    /// Is AMD Infinity Fabric between GPUs of the MI300 series.
    XgmiMi300,
    /// Is AMD Infinity Fabric between GPUs of the MI350 series.
    XgmiMi350,
    /// A link of its own between two GPUs of an abstract server, whatever it is made of.
    Direct,
    /// Is PCIe 1, 16 lanes.
    Pcie1,
    /// Is PCIe 2, 16 lanes.
    Pcie2,
    /// Is PCIe 3, 16 lanes.
    Pcie3,
    /// Is PCIe 4, 16 lanes.
    Pcie4,
    /// Is PCIe 5, 16 lanes.
    Pcie5,
    /// Is PCIe 6, 16 lanes.
    Pcie6,
    /// Is Intel `QuickPath` between sockets.
    Qpi,
    /// Is Intel Ultra Path between sockets.
    Upi,
    /// Is IBM X-Bus between sockets.
    Xbus,
    /// Is AMD Infinity Fabric between sockets.
    InfinityFabric,
    /// Is the fabric inside a socket, between its cores, memory and host bridges.
    OnDie,
    /// Is InfiniBand.
    Infiniband,
    /// Is Ethernet.
    Ethernet,
}

/// How a channel carries what is sent over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// Carries whole messages, one after another: a message costs one event, not one per packet.
    Pipe,
    /// Packets, which those of other messages may come between.
    Packets,
}

impl Discipline {
    /// Lists every discipline.
    pub const ALL: [Self; 2] = [Self::Pipe, Self::Packets];

    /// Returns the discipline's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Packets => "packets",
        }
    }
}

/// Holds a data sheet's facts of one link kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSheet {
    /// Gives the kind's name in files.
    pub name: &'static str,
    /// Gives the bandwidth of one link in one direction.
    pub bandwidth: Bandwidth,
    /// One-way latency of the wire and its two ends.
    pub latency: Picoseconds,
    /// Where the bandwidth comes from.
    pub source: &'static str,
}

/// Says which share of the peak of one link kind long transfers reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReachedShare {
    /// Lies above 0 and is at most 1.
    pub share: f64,
    /// The measurement, or what is assumed for want of one.
    pub source: &'static str,
}

const fn sheet(
    name: &'static str,
    megabytes_per_second: u64,
    nanoseconds: u64,
    source: &'static str,
) -> DataSheet {
    DataSheet {
        name,
        bandwidth: Bandwidth(megabytes_per_second * 1_000_000),
        latency: Picoseconds(nanoseconds * 1_000),
        source,
    }
}

linkwright_ground::named_by_all!(LinkKind, "link kind");

impl LinkKind {
    /// Lists every kind.
    pub const ALL: [Self; 24] = [
        Self::Nvlink1,
        Self::Nvlink2,
        Self::Nvlink3,
        Self::Nvlink4,
        Self::Nvlink5,
        Self::NvlinkC2c,
        Self::Xgmi,
        Self::XgmiMi100,
        Self::XgmiMi300,
        Self::XgmiMi350,
        Self::Direct,
        Self::Pcie1,
        Self::Pcie2,
        Self::Pcie3,
        Self::Pcie4,
        Self::Pcie5,
        Self::Pcie6,
        Self::Qpi,
        Self::Upi,
        Self::Xbus,
        Self::InfinityFabric,
        Self::OnDie,
        Self::Infiniband,
        Self::Ethernet,
    ];

    /// Returns the data-sheet values of one link of this kind.
    #[must_use]
    pub const fn data_sheet(self) -> DataSheet {
        match self {
            Self::Nvlink1 => sheet("nvlink1", 20_000, 500, "NVIDIA Tesla P100 whitepaper"),
            Self::Nvlink2 => sheet("nvlink2", 25_000, 500, "NVIDIA Tesla V100 whitepaper"),
            Self::Nvlink3 => sheet("nvlink3", 25_000, 500, "NVIDIA A100 whitepaper"),
            Self::Nvlink4 => sheet("nvlink4", 25_000, 500, "NVIDIA H100 whitepaper"),
            Self::Nvlink5 => sheet("nvlink5", 50_000, 500, "NVIDIA Blackwell architecture brief"),
            Self::NvlinkC2c => sheet("nvlink-c2c", 450_000, 250, "NVIDIA Grace Hopper whitepaper"),
            Self::Xgmi => sheet("xgmi", 50_000, 500, "AMD CDNA 2 whitepaper"),
            Self::XgmiMi100 => sheet("xgmi-mi100", 46_000, 500, "AMD Instinct MI100 data sheet"),
            Self::XgmiMi300 => sheet("xgmi-mi300", 64_000, 500, "AMD Instinct MI300X data sheet"),
            Self::XgmiMi350 => sheet("xgmi-mi350", 76_800, 500, "AMD Instinct MI355X data sheet"),
            Self::Direct => sheet("direct", 25_000, 500, "an abstract link; give it a bandwidth"),
            Self::Pcie1 => sheet("pcie1", 4_000, 250, "2.5 GT/s, 8b/10b, 16 lanes"),
            Self::Pcie2 => sheet("pcie2", 8_000, 250, "5 GT/s, 8b/10b, 16 lanes"),
            Self::Pcie3 => sheet("pcie3", 15_754, 250, "8 GT/s, 128b/130b, 16 lanes"),
            Self::Pcie4 => sheet("pcie4", 31_508, 250, "16 GT/s, 128b/130b, 16 lanes"),
            Self::Pcie5 => sheet("pcie5", 63_015, 250, "32 GT/s, 128b/130b, 16 lanes"),
            Self::Pcie6 => sheet("pcie6", 121_000, 250, "64 GT/s, 242B/256B flits, 16 lanes"),
            Self::Qpi => sheet("qpi", 19_200, 100, "9.6 GT/s, 2 bytes a transfer"),
            Self::Upi => sheet("upi", 20_800, 100, "10.4 GT/s, 2 bytes a transfer"),
            Self::Xbus => sheet("xbus", 64_000, 100, "IBM Power System AC922 Redpaper"),
            Self::InfinityFabric => sheet("infinity-fabric", 36_000, 100, "18 GT/s, 16 lanes"),
            Self::OnDie => sheet("on-die", 100_000, 50, "assumed wider than any PCIe root port"),
            Self::Infiniband => sheet("infiniband", 12_500, 600, "EDR, 100 Gb/s"),
            Self::Ethernet => sheet("ethernet", 12_500, 1_000, "100 Gb/s"),
        }
    }

    /// Gives the kind's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.data_sheet().name
    }

    /// Returns the share of its peak that long transfers reach, with the measurement that says so.
    /// (The links of a [`Fabric`](super::Fabric) are no such links: they carry the bandwidth that
    /// its file says.)
    #[must_use]
    pub const fn reached(self) -> ReachedShare {
        let (share, source) = match self {
            Self::Nvlink2 => (
                0.916,
                "nccl-tests: a broadcast of 1 GiB over one NVLink of a DGX-1V, 22.9 of 25 GB/s",
            ),
            Self::Pcie3 => (
                0.71,
                "nccl-tests: an all-reduce of four V100 below one switch, 11.2 of 15.754 GB/s",
            ),
            Self::Nvlink3 => (
                0.785,
                "fitted: nccl-tests reached 0.769 in an all-reduce of 1 GiB on eight A100, launch and hops included",
            ),
            Self::Nvlink4 => (0.824, "NCCL counts on 20.6 of 25 GB/s (src/graph/topo.h)"),
            Self::Nvlink5 => (0.802, "NCCL counts on 40.1 of 50 GB/s (src/graph/topo.h)"),
            Self::XgmiMi300 => (
                0.71,
                "fitted: rccl-tests reached 0.705 in an all-reduce of 8 GiB on eight MI300X, launch and hops included",
            ),
            Self::XgmiMi350 => (0.71, "assumed as of the MI300 series"),
            _ if self.is_nvlink() || self.is_xgmi() => (0.916, "assumed as of NVLink 2"),
            _ if self.is_pcie() => (0.71, "assumed as of PCIe 3"),
            _ if self.is_network() => (0.92, "assumed"),
            Self::Direct => (1.0, "assumed: an abstract link carries what it is given"),
            _ => (1.0, "assumed to lose nothing: the PCIe beside it does"),
        };
        ReachedShare { share, source }
    }

    /// Returns the share of its peak that long transfers reach, above 0 and at most 1.
    #[must_use]
    pub const fn reached_share(self) -> f64 {
        self.reached().share
    }

    /// Gives the share of its peak that a GPU's copy engine reaches, in long copies from and to pinned memory of the host.
    ///
    /// A copy engine keeps more requests on PCIe than a kernel's blocks, which is what [`Self::reached`] is measured of. Other
    /// links give both the same. The rates are those of `validation/accuracy/pcie-copies.csv`.
    #[must_use]
    pub const fn reached_by_copies(self) -> ReachedShare {
        let (share, source) = match self {
            Self::Pcie3 => (
                0.81,
                "bandwidthTest: pinned copies of 1 GB to and from a P100, 12.4 and 13.1 of 15.754 GB/s",
            ),
            Self::Pcie4 => (
                0.82,
                "bandwidthTest: pinned copies of 1 GB to and from an A100, 25.8 and 25.7 of 31.508 GB/s",
            ),
            Self::Pcie5 => (
                0.825,
                "nvbandwidth: pinned copies of 512 MiB to and from an H200, 52 and 52 of 63.015 GB/s",
            ),
            Self::Pcie6 => (0.825, "assumed as of PCIe 5"),
            _ if self.is_pcie() => (0.81, "assumed as of PCIe 3"),
            _ => return self.reached(),
        };
        ReachedShare { share, source }
    }

    /// Returns the share of its peak at each GPU that long reductions and multicasts inside the
    /// NVSwitches of this kind of link reach. None where they cannot reduce: NVLink SHARP came with
    /// the third generation of NVSwitch, on Hopper's NVLink 4.
    #[must_use]
    pub const fn reached_in_switch(self) -> Option<ReachedShare> {
        let (efficiency, source) = match self {
            Self::Nvlink4 => (0.85, "NCCL takes 0.85 of what links reach (src/graph/tuning.cc)"),
            Self::Nvlink5 => (0.74, "NCCL takes 0.74 of what links reach (src/graph/tuning.cc)"),
            _ => return None,
        };
        Some(ReachedShare { share: self.reached_share() * efficiency, source })
    }

    /// How channels of this kind may carry messages; first how they do where nothing is said.
    ///
    /// A link between GPUs is held by the few that it joins, whose copies mostly follow one
    /// another. So messages as wholes lose little: it is a [`Discipline::Pipe`]. Where one
    /// message's packets are to come between another's, it can be [`Discipline::Packets`]. Links of
    /// PCIe, through sockets and superchips, and between servers carry packets only. They are
    /// shared by strangers, and network interfaces pull packets over them. The links of an abstract
    /// node are pipes only, as the study's are.
    #[must_use]
    pub const fn disciplines(self) -> &'static [Discipline] {
        match self {
            Self::Direct => &[Discipline::Pipe],
            _ if self.is_gpu_fabric() => &[Discipline::Pipe, Discipline::Packets],
            _ => &[Discipline::Packets],
        }
    }

    /// Says whether GPUs speak to each other over it without a host: NVLink or xGMI.
    #[must_use]
    pub const fn is_gpu_fabric(self) -> bool {
        self.is_nvlink() || self.is_xgmi() || matches!(self, Self::Direct)
    }

    /// Whether it is NVLink of any generation; that between chips leads to a host, and is not.
    #[must_use]
    pub const fn is_nvlink(self) -> bool {
        matches!(
            self,
            Self::Nvlink1 | Self::Nvlink2 | Self::Nvlink3 | Self::Nvlink4 | Self::Nvlink5
        )
    }

    /// Whether it is AMD's Infinity Fabric between GPUs, of any generation.
    #[must_use]
    pub const fn is_xgmi(self) -> bool {
        matches!(self, Self::Xgmi | Self::XgmiMi100 | Self::XgmiMi300 | Self::XgmiMi350)
    }

    /// Whether it is PCIe of any generation.
    #[must_use]
    pub const fn is_pcie(self) -> bool {
        matches!(
            self,
            Self::Pcie1 | Self::Pcie2 | Self::Pcie3 | Self::Pcie4 | Self::Pcie5 | Self::Pcie6
        )
    }

    /// Says whether data crosses it as transactions of PCIe. It does on PCIe itself, and on links
    /// through and between the sockets that its trees hang from.
    #[must_use]
    pub const fn is_host_bus(self) -> bool {
        self.is_pcie()
            || matches!(
                self,
                Self::OnDie | Self::Qpi | Self::Upi | Self::Xbus | Self::InfinityFabric
            )
    }

    /// Whether it joins servers.
    #[must_use]
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Infiniband | Self::Ethernet)
    }
}

/// Says of what kind a network between servers is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// Is InfiniBand.
    #[default]
    Infiniband,
    /// Is Ethernet.
    Ethernet,
}

linkwright_ground::named_by_all!(NetworkKind, "kind of network");

impl NetworkKind {
    /// Lists both.
    pub const ALL: [Self; 2] = [Self::Infiniband, Self::Ethernet];

    /// Gives the kind's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.link_kind().name()
    }

    /// Returns the kind of its links.
    #[must_use]
    pub const fn link_kind(self) -> LinkKind {
        match self {
            Self::Infiniband => LinkKind::Infiniband,
            Self::Ethernet => LinkKind::Ethernet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_those_of_serde() {
        for kind in LinkKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        for kind in DeviceKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        for kind in NetworkKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        for discipline in Discipline::ALL {
            assert_eq!(serde_json::to_value(discipline).unwrap(), discipline.name());
        }
    }

    #[test]
    fn shares_are_those_that_were_measured() {
        let measured = [(LinkKind::Nvlink2, 22.9), (LinkKind::Pcie3, 11.2)];
        for (kind, reached) in measured {
            let peak = kind.data_sheet().bandwidth.as_gigabytes_per_second();
            let ReachedShare { share, source } = kind.reached();
            assert!((share * peak - reached).abs() < 0.02, "{}", kind.name());
            assert!(source.contains("nccl-tests") && source.contains(&reached.to_string()));
        }
        for kind in LinkKind::ALL {
            let ReachedShare { share, source } = kind.reached_by_copies();
            assert!(share >= kind.reached_share() && share <= 1.0 && !source.is_empty());
            let ReachedShare { share, source } = kind.reached();
            assert!(share > 0.0 && share <= 1.0, "{}", kind.name());
            let is_measured = measured.iter().any(|(it, _)| *it == kind);
            let others = ["assumed", "fitted", "NCCL counts on"];
            let is_believed = others.iter().any(|it| source.starts_with(it));
            assert_eq!(is_believed, !is_measured, "{}", kind.name());
        }
    }

    #[test]
    fn switches_reduce_from_hopper_on() {
        for kind in LinkKind::ALL {
            let expected = matches!(kind, LinkKind::Nvlink4 | LinkKind::Nvlink5);
            let reached = kind.reached_in_switch();
            assert_eq!(reached.is_some(), expected, "{}", kind.name());
            assert!(
                reached.is_none_or(|it| it.share > 0.0 && it.share <= 1.0 && !it.source.is_empty())
            );
        }
    }

    #[test]
    fn what_joins_gpus_is_a_pipe_and_all_else_carries_packets() {
        use LinkKind::{
            Direct, Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Xgmi, XgmiMi100, XgmiMi300,
            XgmiMi350,
        };
        let pipes = [
            Direct, Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Xgmi, XgmiMi100, XgmiMi300,
            XgmiMi350,
        ];
        for kind in LinkKind::ALL {
            let expected: &[Discipline] = match kind {
                Direct => &[Discipline::Pipe],
                _ if pipes.contains(&kind) => &[Discipline::Pipe, Discipline::Packets],
                _ => &[Discipline::Packets],
            };
            assert_eq!(kind.disciplines(), expected, "{}", kind.name());
        }
    }
}
