//! Describes systems: the devices of servers, the fabrics between servers, and the links that join
//! them.
//!
//! A [`Server`] comes from a [`presets::preset`], from Linkwright's own [`toml_format`], or from an
//! importer of files that people already have ([`mod@import`]). A [`Fabric`] comes from a generator
//! or a file ([`mod@fabric`]). [`mod@export`] writes the output that other tools would print of a
//! server. [`gpus`] says what a GPU is, by model. A view ([`views`]) tells something of either.
//! Views tell how the GPUs are joined, how far apart they are on the host side, and whether two
//! servers wire them alike. Drawings and tables are views, too.

pub mod adapters;
pub mod calibration;
pub mod composition;
pub mod error;
pub mod export;
pub mod fabric;
pub mod gpus;
pub mod identity;
pub mod import;
pub mod kinds;
pub mod locality;
pub mod movement;
pub mod packet_format;
pub mod presets;
pub mod server;
#[doc(hidden)]
pub mod test_support;
pub mod toml_format;
pub mod views;

pub use calibration::{
    Calibration, Deviation, LaunchProcesses, MeasuredLaunch, PeakShare, Residual,
};
pub use composition::{
    AbstractNode, InterfaceRule, NodeError, PartError, PortOrder, ServerKind, ServerPlace, System,
    SystemChannel, SystemDevice, SystemPart,
};
pub use error::SystemError;
pub use export::{ExportFormat, Exported, export};
pub use fabric::{Fabric, FabricError};
pub use gpus::{GpuError, GpuFile, GpuModel};
pub use identity::Identity;
pub use import::{ImportFormat, ImportOptions, import, importer, importers};
pub use kinds::{DeviceKind, Discipline, LinkKind, NetworkKind};
pub use locality::{Affinity, Locality};
pub use packet_format::{LinkFlits, PacketFormat};
pub use server::{Device, DeviceId, HostMemory, Link, Server, ServerBuilder, ServerError};
pub use views::gpu_graph::{BandwidthProfile, FabricPath, GpuGraph, GpuPair, PairLink};
pub use views::in_switch::{NoReducingSwitch, SwitchWire, reducing_switches};
pub use views::places::{GpuPlace, cpuset, gpu_places, numa_nodes};
pub use views::proximity::{HostTree, Proximity, host_tree, nic_proximity, proximity};
pub use views::wiring::{Wire, WiredDevice, Wiring};
