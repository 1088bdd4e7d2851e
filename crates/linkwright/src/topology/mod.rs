//! Machines: what devices a server has and what joins them.
//!
//! [`Machine`] is the data; it comes from a [`presets::preset`], from Linkwright's own
//! [`toml_format`], or from an importer of what people already have. [`export`] hands it on,
//! [`proximity`] tells how far apart its GPUs are on the host side, and [`isomorphism`]
//! whether two machines wire their GPUs alike.

mod dot;
pub mod error;
pub mod export;
pub mod gpu_graph;
pub mod isomorphism;
pub mod kinds;
mod layout;
pub mod machine;
pub mod presets;
pub mod proximity;
pub mod toml_format;

pub use error::TopologyError;
pub use gpu_graph::{BandwidthProfile, GpuGraph, GpuPair, PairLink};
pub use kinds::{DeviceKind, LinkKind};
pub use machine::{Device, DeviceId, Link, Machine, MachineBuilder, MachineError};
pub use proximity::{HostTree, Proximity, host_tree};
