//! Opens one door to every writer of the texts that a server's own tools print.
//!
//! - [`nvidia_smi`] writes the output of `nvidia-smi topo -m`.
//! - [`rocm_smi`] writes the output of `rocm-smi --showtopo`.
//! - [`nccl_xml`] writes the topology file that NCCL and RCCL read.
//!
//! The readers of [`mod@super::import`] read each back, as far as the format can say a machine. The
//! tests here list what each cannot say.

mod host;
mod nccl_xml;
mod nvidia_smi;
mod rocm_smi;
#[cfg(test)]
mod tests;

use std::fmt;

use super::import::{self, ImportFormat};
use crate::system::error::SystemError;
use crate::system::server::Server;

/// Names a format that other tools print and that machines are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExportFormat {
    /// Names the matrix that `nvidia-smi topo -m` prints.
    NvidiaSmi,
    /// Names the blocks that `rocm-smi --showtopo` prints.
    RocmSmi,
    /// Names the XML file that NCCL and RCCL write and read.
    NcclXml,
}

/// Holds a machine as another tool's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Holds the whole text.
    pub text: String,
    /// Says in one sentence each what the text leaves out of this machine or had to make up.
    pub notes: Vec<String>,
}

linkwright_ground::named_by_all!(ExportFormat, "format of servers");

impl ExportFormat {
    /// Lists every format.
    pub const ALL: [Self; 3] = [Self::NvidiaSmi, Self::RocmSmi, Self::NcclXml];

    /// Gives the format that reads it back.
    #[must_use]
    pub fn reader(self) -> &'static dyn ImportFormat {
        match self {
            Self::NvidiaSmi => &import::nvidia_smi::NvidiaSmi,
            Self::RocmSmi => &import::rocm_smi::RocmSmi,
            Self::NcclXml => &import::nccl_xml::NcclXml,
        }
    }

    /// Gives the format's name. Its reader has the same name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvidiaSmi => "nvidia-smi",
            Self::RocmSmi => "rocm-smi",
            Self::NcclXml => "nccl-xml",
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Writes a machine as such a server would print it.
///
/// # Errors
/// [`SystemError::Inexpressible`] where the format cannot say the machine, with one that can.
/// Refuses GPUs that nothing joins, too.
pub fn export(machine: &Server, format: ExportFormat) -> Result<Exported, SystemError> {
    match format {
        ExportFormat::NvidiaSmi => nvidia_smi::write(machine),
        ExportFormat::RocmSmi => rocm_smi::write(machine),
        ExportFormat::NcclXml => nccl_xml::write(machine),
    }
}
