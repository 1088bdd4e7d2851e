//! Names causes of a low bandwidth.

use serde::{Deserialize, Serialize};

use super::change::Change;
use crate::doctor::evidence::Line;

/// Why a collective may be slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlowCause {
    /// Says that servers exchange over TCP.
    Tcp,
    /// Says that some network interfaces carry nothing.
    InterfaceUnused,
    /// GPUs use interfaces that are far from them.
    WrongInterface,
    /// Interfaces do not reach the memory of GPUs.
    GpudirectOff,
    /// GPUs do not reach each other's memory.
    PeerOff,
    /// NVSwitches do not reduce.
    NvlsOff,
    /// An algorithm is forced.
    AlgorithmForced,
    /// A protocol is forced.
    ProtocolForced,
    /// GPUs do not send through others that are near an interface.
    PxnOff,
    /// Rings and trees may not change interfaces, or must.
    CrossNic,
    /// The number or the size of channels is limited.
    ChannelsLimited,
    /// A PCIe link has fewer lanes, or slower ones, than its like.
    PcieNarrow,
    /// A release of NCCL is old.
    OldVersion,
    /// The links of one GPU carry less than they should.
    SlowGpu,
    /// The network of one server carries less than it should.
    SlowServer,
    /// The network of every server carries less than it should.
    SlowNetwork,
    /// All links between GPUs carry less than they should.
    SlowLinks,
}

impl SlowCause {
    /// Lists every cause.
    pub const ALL: [Self; 17] = [
        Self::Tcp,
        Self::InterfaceUnused,
        Self::WrongInterface,
        Self::GpudirectOff,
        Self::PeerOff,
        Self::NvlsOff,
        Self::AlgorithmForced,
        Self::ProtocolForced,
        Self::PxnOff,
        Self::CrossNic,
        Self::ChannelsLimited,
        Self::PcieNarrow,
        Self::OldVersion,
        Self::SlowGpu,
        Self::SlowServer,
        Self::SlowNetwork,
        Self::SlowLinks,
    ];

    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::InterfaceUnused => "interface-unused",
            Self::WrongInterface => "wrong-interface",
            Self::GpudirectOff => "gpudirect-off",
            Self::PeerOff => "p2p-off",
            Self::NvlsOff => "nvls-off",
            Self::AlgorithmForced => "algorithm-forced",
            Self::ProtocolForced => "protocol-forced",
            Self::PxnOff => "pxn-off",
            Self::CrossNic => "cross-nic",
            Self::ChannelsLimited => "channels-limited",
            Self::PcieNarrow => "pcie-narrow",
            Self::OldVersion => "old-version",
            Self::SlowGpu => "slow-gpu",
            Self::SlowServer => "slow-server",
            Self::SlowNetwork => "slow-network",
            Self::SlowLinks => "slow-links",
        }
    }
}

/// Holds a cause that may be at work, with its change.
#[derive(Debug, Clone)]
pub struct CauseCandidate {
    /// Says what it is.
    pub cause: SlowCause,
    /// A sentence says what is at work.
    pub text: String,
    /// The line that states it; None where only times can tell.
    pub line: Option<Line>,
    /// Says what it changes; None where the model lacks it.
    pub change: Option<Change>,
    /// Whether what it changes was fitted to the times.
    pub is_fitted: bool,
    /// Names the setting or the part to look at.
    pub look: String,
    /// The command that shows it.
    pub command: String,
}
