//! Lists the failures of this layer.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, InputError, UnknownName, shown};
use crate::system::composition::NodeError;
use crate::system::fabric::FabricError;
use crate::system::server::ServerError;
use crate::system::views::gpu_graph::MOST_PAIRED;

/// Describes any failure of the system layer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum SystemError {
    /// A text that no importer accepts, with its place.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Refuses devices and links that make no machine.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A preset that does not exist.
    UnknownPreset {
        /// Holds the name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An import format that does not exist.
    UnknownFormat {
        /// Holds the name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An export format does not exist.
    UnknownExport(UnknownName),
    /// A format cannot express the machine.
    Inexpressible {
        /// Names the machine.
        machine: String,
        /// Names the format.
        format: &'static str,
        /// Says what is in the way.
        problem: String,
        /// Says what would work.
        remedy: String,
    },
    /// Two GPUs that no path of links joins.
    NotConnected {
        /// Names one GPU.
        a: String,
        /// Names the other GPU.
        b: String,
    },
    /// Two GPUs that only a network joins, where GPUs of one server are asked for.
    SeveralServers {
        /// Names one GPU.
        a: String,
        /// Names the other GPU.
        b: String,
    },
    /// A machine that cannot be one server of a cluster.
    NotAServer {
        /// Names the machine.
        machine: String,
        /// Says what is in the way.
        problem: &'static str,
        /// Says what would work.
        remedy: &'static str,
    },
    /// A machine that lists a network which joins its servers in no way that a system can have.
    NoNetwork {
        /// Names the machine.
        machine: String,
        /// The device that is to blame.
        device: String,
        /// Says what is wrong.
        problem: &'static str,
        /// Says what would work.
        remedy: &'static str,
    },
    /// Refuses parts that make no fabric.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// An abstract node that no system can have.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// Refuses a system of no server.
    NoServer,
    /// Refuses more GPUs, devices or channels than indices.
    TooManyParts,
    /// More GPUs than [`MOST_PAIRED`], where each pair is looked at.
    TooManyPairs {
        /// How many there are.
        gpus: usize,
    },
    /// Refuses a fabric too small for its servers.
    TooFewPorts {
        /// Counts the ports of the fabric.
        ports: u32,
        /// Counts the interfaces of all servers.
        nics: u32,
        /// How many interfaces have no port.
        missing: u32,
    },
    /// Nodes of several interfaces do not share the ports evenly.
    UnevenPorts {
        /// The fabric has as many.
        ports: u32,
        /// A node has as many interfaces.
        nics: u32,
    },
}

impl Diagnose for SystemError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Input(error) => error.diagnosis(),
            Self::Server(error) => error.diagnosis(),
            Self::UnknownPreset { name, known } => {
                Diagnosis::of(format!("there is no preset `{}`", shown(name)))
                    .remedy(format!("use one of {known}"))
            }
            Self::UnknownFormat { name, known } => {
                Diagnosis::of(format!("there is no import format `{}`", shown(name)))
                    .remedy(format!("use one of {known}"))
            }
            Self::UnknownExport(error) => error.diagnosis(),
            Self::Inexpressible { machine, format, problem, remedy } => Diagnosis::of(format!(
                "`{}` cannot be written as {format}: {problem}",
                shown(machine)
            ))
            .remedy(remedy.clone()),
            Self::NotConnected { a, b } => {
                Diagnosis::of(format!("no path of links joins `{}` and `{}`", shown(a), shown(b)))
                    .remedy("add the missing link")
            }
            Self::SeveralServers { a, b } => Diagnosis::of(format!(
                "`{}` and `{}` are on different servers, but this works on one server",
                shown(a),
                shown(b)
            ))
            .remedy("give the machine of one server"),
            Self::NotAServer { machine, problem, remedy } => {
                Diagnosis::of(format!("`{machine}` cannot be a server of a cluster: it {problem}"))
                    .remedy(*remedy)
            }
            Self::NoNetwork { machine, device, problem, remedy } => {
                Diagnosis::of(format!("`{}` of `{}` {problem}", shown(device), shown(machine)))
                    .remedy(*remedy)
            }
            Self::Fabric(error) => error.diagnosis(),
            Self::Node(error) => error.diagnosis(),
            Self::NoServer => {
                Diagnosis::of("the system has no servers").remedy("give at least one server")
            }
            Self::TooManyParts => Diagnosis::of(
                "the servers have more than 2^31 devices or channels together, which is too many",
            )
            .remedy("use fewer servers"),
            Self::TooManyPairs { gpus } => Diagnosis::of(format!(
                "the system has {gpus} GPUs, but pairs can be listed of at most {MOST_PAIRED}"
            ))
            .remedy("ask for one of its servers"),
            Self::TooFewPorts { ports, nics, missing } => Diagnosis::of(format!(
                "the network has {ports} ports, {missing} fewer than the servers' {nics} network \
                 interfaces"
            ))
            .remedy("use a larger network or fewer servers"),
            Self::UnevenPorts { ports, nics } => Diagnosis::of(format!(
                "nodes of {nics} network interfaces do not share {ports} ports evenly"
            ))
            .remedy(format!("use a network whose ports are a multiple of {nics}, or other nodes")),
        }
    }
}
