//! What a user sets, as NCCL's environment variables do, or has measured.

use super::version::Version;
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::time::Processes;

/// What the choice, and the machine under it, depend on beside the links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which release; the newest that is known where there is none.
    pub version: Option<Version>,
    /// Whether the switches may reduce (`NCCL_NVLS_ENABLE`).
    pub nvls: bool,
    /// Whether GPUs reach each other directly (not `NCCL_P2P_DISABLE`).
    pub p2p: bool,
    /// The only algorithm (`NCCL_ALGO`).
    pub algorithm: Option<ExpectedAlgorithm>,
    /// The only protocol (`NCCL_PROTO`).
    pub protocol: Option<Protocol>,
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
            algorithm: None,
            protocol: None,
            processes: None,
            link_bandwidth: None,
            network_bandwidth: None,
        }
    }
}
