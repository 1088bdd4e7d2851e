//! Plays a network packet by packet.
//!
//! Messages become packets at a network interface, one at a time, in the order that a
//! [`nic::NicScheduler`] chooses. Switches keep arriving packets in input buffers, one for each
//! port and virtual channel. A buffer holds a fixed number of packets, and a sender sends only
//! where it has a credit for a free place. A [`crate::network::Routing`] decides at each switch
//! where a packet goes. An [`arbitration::Arbitration`] decides which of those that wait for a
//! channel goes first. Within servers, messages go over NVLink as wholes, and over the host as
//! packets. A network interface pulls those that leave a server over the host.
//!
//! The model leaves out errors and retries. It leaves out the width of a switch's crossbar: any
//! number of packets may leave one buffer at once, by different channels. It leaves out the
//! receiver's side, too, which takes everything that comes.
//!
//! The source of parameters and policies is the TraceR-CODES study, Sections III and IV.

pub mod arbitration;
mod buffers;
mod byte_credits;
#[cfg(test)]
mod class_contract;
mod credits;
mod network;
pub mod nic;
mod packets;
mod queues;
mod settings;
mod statistics;
#[cfg(test)]
mod tests;
mod trace;
mod watchdog;

pub use arbitration::{Arbitration, OldestFirst, TurnByTurn, arbiters};
pub use buffers::{LEAST_BUFFER_PACKETS, NarrowBuffer};
pub use network::{PacketEvent, PacketNetwork};
pub use nic::{NicPolicy, NicRule, nic_rules};
pub use settings::{
    MOST_BUFFER_PACKETS, MOST_PACKET_SIZE, PacketSettings, PcieSetting, SettingsError, Switching,
    serialisation,
};
pub use statistics::ChannelStatistics;
pub use trace::{PacketRecord, PacketStep, PacketTrace, QueueRecord};
