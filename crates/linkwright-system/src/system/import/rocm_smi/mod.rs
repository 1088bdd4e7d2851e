//! Reads what `rocm-smi --showtopo` prints, as people paste it. Its successor's is
//! [`amd_smi`](super::amd_smi).
//!
//! The result holds Infinity Fabric (xGMI) links between GPUs and the host tree behind them. PCIe
//! switches are left out, which the output does not show. A pair counts as directly joined if it is
//! one hop apart and no xGMI pair weighs less. The driver reports one hop for indirect xGMI pairs
//! too, and adds weight for each further hop.

mod blocks;
pub(super) mod machine;
#[cfg(test)]
mod tests;

use self::machine::{Tool, is_of};
use crate::diagnostic::{InputError, Position, Registered};
use crate::system::error::SystemError;
use crate::system::import::{ImportFormat, ImportOptions};
use crate::system::kinds::LinkKind;
use crate::system::locality::is_pci_address;
use crate::system::server::Server;

const TOOL: Tool =
    Tool { name: "rocm-smi", command: "rocm-smi --showtopo", names: "rocm-smi --showproductname" };

/// Reads what `rocm-smi --showtopo` prints.
#[derive(Debug)]
pub struct RocmSmi;

impl Registered for RocmSmi {
    fn name(&self) -> &'static str {
        "rocm-smi"
    }
}

impl ImportFormat for RocmSmi {
    fn looks_like(&self, text: &str) -> bool {
        text.contains("between two GPUs") || text.contains("ROCm")
    }

    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        read(file, text, &RocmSmiOptions::of(options))
    }
}

/// Holds facts that the paste does not say and its owner may know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RocmSmiOptions {
    /// Names the machine; where absent, the tool's name holds.
    pub name: Option<String>,
    /// Gives the PCIe generation; PCIe 4 where absent.
    pub pcie: Option<LinkKind>,
    /// Counts the xGMI links that join a pair. Where absent, the bandwidths of `amd-smi` tell it,
    /// or it is one.
    pub xgmi_links: Option<u32>,
}

impl RocmSmiOptions {
    /// Takes what is of use here of all that an owner may know.
    pub(super) fn of(options: &ImportOptions) -> Self {
        let ImportOptions { name, pcie, xgmi_links, .. } = options.clone();
        Self { name, pcie, xgmi_links }
    }
}

/// Reads a machine from the text of `rocm-smi --showtopo`; `file` names it in errors.
///
/// # Errors
/// Refuses a text without a whole link type block, and cells that rocm-smi does not print. Refuses
/// blocks that contradict each other and pastes that were cut. Each error has file, line, column
/// and remedy.
pub fn read(file: &str, text: &str, options: &RocmSmiOptions) -> Result<Server, SystemError> {
    check_options(file, options)?;
    let topology = blocks::read(file, text)?;
    TOOL.machine(file, text, &topology, options)
}

/// Reads a GPU's address in the output of `rocm-smi --showbus`: `GPU[0] : PCI Bus: 0000:29:00.0`.
fn pci_address(text: &str, gpu: &str) -> Option<String> {
    let said = text.lines().filter(|line| is_of(line, gpu));
    let addresses = said.filter_map(|line| Some(line.split_once("PCI Bus:")?.1.trim()));
    let sound = |address: &&str| is_pci_address(address);
    addresses.filter(sound).map(str::to_ascii_lowercase).next()
}

/// Checks what the owner knows.
///
/// # Errors
/// Refuses a generation of another bus, and pairs of no link.
pub(super) fn check_options(file: &str, options: &RocmSmiOptions) -> Result<(), InputError> {
    let refuse = |problem: &str, value: &str, remedy: &str| {
        Err(InputError::at(file, Position { line: 1, column: 1 }, problem, value, remedy))
    };
    match options {
        RocmSmiOptions { pcie: Some(kind), .. } if !kind.is_pcie() => refuse(
            "the option `pcie` is no generation of pcie",
            kind.name(),
            "choose such as pcie4, or leave the option out",
        ),
        RocmSmiOptions { xgmi_links: Some(0), .. } => {
            refuse("the option `xgmi_links` is zero", "0", "choose at least 1")
        }
        _ => Ok(()),
    }
}
