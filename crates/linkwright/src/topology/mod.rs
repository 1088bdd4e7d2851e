//! Machines: what devices a server has and what joins them.
//!
//! [`Machine`] is the data; it comes from a [`presets::preset`], from Linkwright's own
//! [`toml_format`], or from an importer of what people already have.

pub mod error;
pub mod kinds;
pub mod machine;
pub mod tables;
pub mod toml_format;

pub use error::TopologyError;
pub use kinds::{DeviceKind, LinkKind};
pub use machine::{Device, DeviceId, Link, Machine, MachineBuilder, MachineError};
