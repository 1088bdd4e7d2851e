//! Machines: what devices a server has and what joins them.
//!
//! [`Machine`] is the data; it comes from a [`presets::preset`], from Linkwright's own
//! [`toml_format`], or from an importer of what people already have; [`fn@import`] finds
//! the reader:
//!
//! - [`nvidia_smi`]: what `nvidia-smi topo -m` prints
//! - [`rocm_smi`]: what `rocm-smi --showtopo` prints
//! - [`nccl_xml`]: the topology file of NCCL and RCCL

pub mod error;
mod host_tree;
pub mod import;
pub mod kinds;
pub mod machine;
pub mod nccl_xml;
pub mod nvidia_smi;
mod paste;
pub mod rocm_smi;
mod sockets;
#[cfg(test)]
mod test_support;
pub mod toml_format;

pub use error::TopologyError;
pub use import::{ImportFormat, ImportOptions, import};
pub use kinds::{DeviceKind, LinkKind};
pub use machine::{Device, DeviceId, Link, Machine, MachineBuilder, MachineError};
