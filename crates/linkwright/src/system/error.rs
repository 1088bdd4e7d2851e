//! What can go wrong in this layer.

use thiserror::Error;

use crate::diagnostic::{InputError, shown};
use crate::system::composition::NodeError;
use crate::system::fabric::FabricError;
use crate::system::server::ServerError;

/// Any failure of the system layer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SystemError {
    /// A text that no importer accepts, with its place.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Devices and links that make no machine.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A preset that does not exist.
    #[error("there is no preset `{}`; the presets are {known}", shown(.name))]
    UnknownPreset {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An import format that does not exist.
    #[error("there is no import format `{}`; the formats are {known}", shown(.name))]
    UnknownFormat {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Two GPUs that no path of links joins.
    #[error(
        "no path of links joins `{}` and `{}`; add the link that is missing", shown(.a), shown(.b)
    )]
    NotConnected {
        /// One GPU.
        a: String,
        /// The other GPU.
        b: String,
    },
    /// Two GPUs that only a network joins, where GPUs of one server are asked for.
    #[error(
        "`{}` and `{}` are on different servers, which a network joins; GPUs are allocated and \
         labelled on one server, so give the machine of one",
        shown(.a),
        shown(.b)
    )]
    SeveralServers {
        /// One GPU.
        a: String,
        /// The other GPU.
        b: String,
    },
    /// A machine that cannot be one server of a cluster.
    #[error("`{machine}` cannot be a server of a cluster: it {problem}; {remedy}")]
    NotAServer {
        /// The machine's name.
        machine: String,
        /// What is in the way.
        problem: &'static str,
        /// What would work.
        remedy: &'static str,
    },
    /// A machine that lists a network which joins its servers in no way that a system can have.
    #[error("`{}` of `{}` {problem}; {remedy}", shown(.device), shown(.machine))]
    NoNetwork {
        /// The machine's name.
        machine: String,
        /// The device that is to blame.
        device: String,
        /// What is wrong.
        problem: &'static str,
        /// What would work.
        remedy: &'static str,
    },
    /// Parts that make no fabric.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// An abstract node that no system can have.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A system of no server.
    #[error("a system needs at least one server; give one or more")]
    NoServer,
    /// More GPUs, devices or channels than indices.
    #[error(
        "so many servers have more than 2^31 devices or channels, which cannot be numbered; give \
         fewer"
    )]
    TooManyParts,
    /// A fabric too small for its servers.
    #[error(
        "the fabric has {ports} ports and the servers have {nics} network interfaces: {missing} \
         ports are missing; give a larger fabric or fewer servers"
    )]
    TooFewPorts {
        /// Ports of the fabric.
        ports: u32,
        /// Interfaces of all servers.
        nics: u32,
        /// How many interfaces have no port.
        missing: u32,
    },
}
