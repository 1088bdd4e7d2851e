//! Holds the connections of a communicator, counted by their way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::Line;

/// Data takes one of these ways from one rank to the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LoggedTransport {
    /// It goes straight to the other GPU, over NVLink, xGMI or PCIe (`P2P/...`).
    Peer,
    /// It goes through another GPU (`P2P/indirect/...`).
    Indirect,
    /// It goes through the host's memory (`SHM/...`).
    SharedMemory,
    /// It goes through a network interface (`NET/NAME/DEVICE...`).
    Network {
        /// The network has this name: `IB`, `Socket` or a plug-in's.
        network: String,
        /// The interface has this number.
        interface: u32,
        /// Another GPU of this rank sends in its place (`NET/IB/0(3)`), under PXN.
        through: Option<u32>,
        /// Tells whether interfaces read and write the memory of GPUs (`GDRDMA`).
        gpudirect: bool,
    },
    /// The network reduces (`COLLNET/...`).
    CollNet,
}

/// Names a way of one rank's connections.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Connection {
    /// This rank printed it: the sender, or the receiver of a connection that comes over a network.
    pub rank: u32,
    /// Whether data leaves the rank.
    pub sends: bool,
    /// Data takes this way.
    pub transport: LoggedTransport,
}

/// The connections of a communicator: how many channels take each, and the first line that says so.
pub type LoggedConnections = BTreeMap<Connection, (u32, Line)>;
