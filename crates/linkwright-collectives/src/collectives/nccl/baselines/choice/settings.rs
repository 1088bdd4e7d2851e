//! Holds the values that a user sets, as NCCL's environment variables do, or has measured.

use super::numbers::{ElementType, ReduceOperation, switches_can};
use super::version::Version;
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::nccl::baselines::interfaces::CrossNic;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::Processes;

/// Holds the settings that the choice, and the machine under it, depend on beside the links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which release; the newest that is known where there is none.
    pub version: Option<Version>,
    /// Whether the switches may reduce (`NCCL_NVLS_ENABLE`).
    pub nvls: bool,
    /// Says whether GPUs reach each other directly (not `NCCL_P2P_DISABLE`).
    pub p2p: bool,
    /// Says whether rings and trees may change interfaces in a server (`NCCL_CROSS_NIC`).
    pub cross_nic: CrossNic,
    /// Lets GPUs far from an interface send by one that is near, from 2.12 on (not `NCCL_PXN_DISABLE`).
    pub pxn: bool,
    /// Lets interfaces read and write the memory of GPUs (not `NCCL_NET_GDR_LEVEL=LOC`).
    pub gpudirect: bool,
    /// Holds the only algorithm that may run (`NCCL_ALGO`).
    pub algorithm: Option<ExpectedAlgorithm>,
    /// Names the only protocol (`NCCL_PROTO`).
    pub protocol: Option<Protocol>,
    /// Limits the channels of rings and trees (`NCCL_MAX_NCHANNELS`, from 2.17 on `NCCL_MAX_CTAS`).
    pub most_channels: Option<u32>,
    /// The type of the numbers (nccl-tests' `-d`); single precision where nothing is said.
    pub numbers: Option<ElementType>,
    /// The operation of a collective that reduces (nccl-tests' `-o`); a sum where nothing is said.
    pub operation: Option<ReduceOperation>,
    /// How ranks are processes; as nccl-tests is usually run where nothing is said.
    pub processes: Option<Processes>,
    /// GB/s that one link between GPUs was measured to reach in a direction: of NVLink or xGMI,
    /// else of PCIe.
    pub link_bandwidth: Option<f64>,
    /// GB/s that a server's network interfaces were measured to reach together.
    pub network_bandwidth: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: None,
            nvls: true,
            p2p: true,
            cross_nic: CrossNic::default(),
            pxn: true,
            gpudirect: true,
            algorithm: None,
            protocol: None,
            most_channels: None,
            numbers: None,
            operation: None,
            processes: None,
            link_bandwidth: None,
            network_bandwidth: None,
        }
    }
}

impl Settings {
    /// Gives the type of the numbers, and the operation on them.
    pub(super) fn reduced(&self) -> (ElementType, ReduceOperation) {
        (self.numbers.unwrap_or(ElementType::Float), self.operation.unwrap_or(ReduceOperation::Sum))
    }

    /// Tells whether switches may do a collective, and can do it with its numbers.
    pub(super) fn in_switches(&self, collective: Collective) -> bool {
        let (numbers, operation) = self.reduced();
        self.nvls && switches_can(collective, numbers, operation)
    }
}
