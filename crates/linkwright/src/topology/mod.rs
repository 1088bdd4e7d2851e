//! Machines: what devices a server has and what joins them.
//!
//! [`Machine`] is the data; it comes from a [`presets::preset`], from Linkwright's own
//! [`toml_format`], or from an importer of what people already have; [`fn@import`] finds
//! the reader:
//!
//! - [`nvidia_smi`]: what `nvidia-smi topo -m` prints
//! - [`rocm_smi`]: what `rocm-smi --showtopo` prints
//! - [`nccl_xml`]: the topology file of NCCL and RCCL
//!
//! [`fn@cluster`] joins several of them by a network into one; [`mod@interconnect`] is that
//! network itself, switch by switch.
//!
//! [`export`] hands a machine on, [`gpu_graph`] labels what joins each pair of its GPUs,
//! [`proximity`] tells how far apart they are on the host side, and [`isomorphism`] whether
//! two machines wire their GPUs alike.

pub mod cluster;
pub(crate) mod dot;
pub mod error;
pub mod export;
pub mod gpu_graph;
mod gpu_models;
mod host_tree;
pub mod import;
pub mod interconnect;
pub mod isomorphism;
pub mod kinds;
mod layout;
pub mod locality;
pub mod machine;
pub mod nccl_xml;
pub mod nvidia_smi;
mod paste;
pub mod places;
pub mod presets;
pub mod proximity;
pub mod rocm_smi;
mod sockets;
pub mod tables;
#[cfg(test)]
mod test_support;
pub mod toml_format;

pub use cluster::{ClusterNetwork, NetworkKind, cluster, cluster_of};
pub use error::TopologyError;
pub use gpu_graph::{BandwidthProfile, FabricPath, GpuGraph, GpuPair, PairLink};
pub use import::{ImportFormat, ImportOptions, import};
pub use interconnect::{Interconnect, InterconnectError};
pub use kinds::{DeviceKind, LinkKind};
pub use locality::{Affinity, Locality};
pub use machine::{Device, DeviceId, Link, Machine, MachineBuilder, MachineError};
pub use places::{GpuPlace, cpuset, gpu_places, numa_nodes};
pub use proximity::{HostTree, Proximity, host_tree, nic_proximity, proximity};
