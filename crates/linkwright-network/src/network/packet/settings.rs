//! Sets the parameters of a packet network, besides its wiring.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, Named};
use crate::network::paths::PathError;
use crate::network::pcie::PcieSettings;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// When a switch may pass a packet on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// Once its last byte is there, as CODES' models do.
    #[default]
    StoreAndForward,
    /// Once its first byte is there: virtual cut-through, as InfiniBand's switches do.
    CutThrough,
}

impl Named for Switching {
    const WHAT: &'static str = "switching";
    const NAMED: &'static [(&'static str, Self)] =
        &[("store-and-forward", Self::StoreAndForward), ("cut-through", Self::CutThrough)];
}

/// Holds the parameters of a packet network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSettings {
    /// The most that one packet carries.
    pub packet_size: Bytes,
    /// How many packets the input buffer of a switch holds, per port and virtual channel; where
    /// nobody says, as many as its channel needs ([`Self::buffer_behind`]).
    pub buffer_packets: Option<u16>,
    /// The time from a packet's arrival at a switch to when it may leave.
    pub router_delay: Picoseconds,
    /// The time from a message's handing over to when its network interface may send it.
    pub nic_delay: Picoseconds,
    /// When a switch may pass a packet on.
    pub switching: Switching,
    /// Makes every choice by chance repeatable.
    pub seed: u64,
    /// Holds the PCIe bus of servers, with classes of traffic. Without it, host channels take
    /// packets of `packet_size` in turn, and carry as much as they are measured to.
    pub pcie: Option<PcieSettings>,
}

/// The most bytes of a packet: its serialisation time has to fit 64 bits on any link.
pub const MOST_PACKET_SIZE: u64 = 16 << 20;
/// The most packets of a buffer that somebody asks for.
pub const MOST_BUFFER_PACKETS: u16 = 1024;

/// Settings that no network can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum SettingsError {
    /// Refuses packets of nothing, or too large ones.
    PacketSize {
        /// Holds the size asked for.
        size: Bytes,
    },
    /// Refuses buffers of nothing, or too large ones.
    Buffer {
        /// Holds the size asked for.
        packets: u16,
    },
    /// A switch with more ports than the model keeps.
    Ports {
        /// Gives the number of the switch.
        switch: u32,
        /// How many ports it has.
        ports: usize,
    },
    /// Servers in which a message cannot get where it has to.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Refuses a setting of the PCIe bus out of its range.
    Pcie {
        /// Says which setting it is.
        setting: PcieSetting,
        /// Shows its value, as written.
        value: String,
        /// The least that is possible.
        least: String,
        /// Shows the largest possible value.
        most: String,
    },
    /// More virtual channels than the model keeps.
    VirtualChannels {
        /// How many the routing asks for.
        channels: u8,
    },
}

impl Diagnose for SettingsError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::PacketSize { size } => {
                Diagnosis::of(format!("a packet of {size} is not possible"))
                    .remedy(format!("use 1 B to {}", Bytes(MOST_PACKET_SIZE)))
            }
            Self::Buffer { packets } => {
                Diagnosis::of(format!("a buffer of {packets} packets is not possible"))
                    .remedy(format!("use 1 to {MOST_BUFFER_PACKETS} packets"))
            }
            Self::Ports { switch, ports } => {
                Diagnosis::of(format!("switch {switch} has {ports} ports, which is too many"))
                    .remedy("use at most 65,535 ports")
            }
            Self::Path(error) => error.diagnosis(),
            Self::VirtualChannels { channels } => {
                Diagnosis::of(format!("{channels} virtual channels are too many"))
                    .remedy("use at most 32 virtual channels")
            }
            Self::Pcie { setting, value, least, most } => {
                Diagnosis::of(format!("{} of {value} is not possible", setting.key()))
                    .remedy(format!("use {least} to {most}"))
            }
        }
    }
}

/// A setting of the PCIe bus that is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcieSetting {
    /// Stands for [`PcieSettings::payload`].
    Payload,
    /// Stands for [`PcieSettings::header`].
    Header,
    /// Stands for [`PcieSettings::read_request`].
    ReadRequest,
    /// Stands for [`PcieSettings::outstanding_reads`].
    OutstandingReads,
    /// Stands for [`PcieSettings::buffer`].
    Buffer,
    /// Stands for [`PcieSettings::bound`].
    Bound,
    /// Stands for [`PcieSettings::deadline`].
    Deadline,
}

impl PcieSetting {
    /// Returns its key in a scenario's `[pcie]`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Header => "header",
            Self::ReadRequest => "read_request",
            Self::OutstandingReads => "outstanding_reads",
            Self::Buffer => "buffer",
            Self::Bound => "bound",
            Self::Deadline => "deadline",
        }
    }
}

impl PacketSettings {
    /// Whether a network can have these settings.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.packet_size.0 == 0 || self.packet_size.0 > MOST_PACKET_SIZE {
            return Err(SettingsError::PacketSize { size: self.packet_size });
        }
        if let Some(packets) = self.buffer_packets
            && !(1..=MOST_BUFFER_PACKETS).contains(&packets)
        {
            return Err(SettingsError::Buffer { packets });
        }
        self.pcie.as_ref().map_or(Ok(()), PcieSettings::check)
    }
}

/// Returns the picoseconds that a link takes to carry `size` bytes, rounded up.
#[must_use]
pub fn serialisation(size: u64, bandwidth: Bandwidth) -> u64 {
    const SECOND: u64 = Picoseconds::SECOND.0;
    match size.checked_mul(SECOND) {
        Some(product) => product.div_ceil(bandwidth.0),
        None => {
            let exact = (u128::from(size) * u128::from(SECOND)).div_ceil(u128::from(bandwidth.0));
            u64::try_from(exact).unwrap_or(u64::MAX)
        }
    }
}
