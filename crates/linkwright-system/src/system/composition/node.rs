//! Abstract nodes: servers of a few numbers, whose wiring nobody describes.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};
use crate::units::{Bandwidth, Picoseconds};

/// Describes GPUs that are all joined to each other and share a network interface, as in the nodes
/// of the TraceR-CODES study (Section V.B). Each pair and direction has a link of its own. GPU `i`
/// uses interface `i` modulo their number, where there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbstractNode {
    /// A node has as many GPUs, which share the interfaces.
    pub gpus: u32,
    /// It has as many interfaces, each at a port of its own: at most one for each GPU.
    pub nics: u32,
    /// Gives the bytes per second of a link between two of them, in each direction.
    pub bandwidth: Bandwidth,
    /// Gives its one-way latency.
    pub latency: Picoseconds,
}

/// The most GPUs of an abstract node: each pair has a link.
pub const MOST_NODE_GPUS: u32 = 1024;

/// A node that no system can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum NodeError {
    /// Refuses nodes without GPUs, or with too many.
    Gpus {
        /// Holds the number asked for.
        gpus: u32,
    },
    /// Nodes have no interfaces, or some that no GPU uses.
    Nics {
        /// A node is to have as many interfaces.
        nics: u32,
        /// A node has as many.
        gpus: u32,
    },
    /// Links between GPUs that carry nothing.
    Bandwidth,
}

impl Diagnose for NodeError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Gpus { gpus } => Diagnosis::of(format!("a node cannot have {gpus} GPUs"))
                .remedy(format!("use 1 to {MOST_NODE_GPUS}")),
            Self::Nics { nics, gpus } => Diagnosis::of(format!(
                "a node of {gpus} GPUs cannot have {nics} network interfaces"
            ))
            .remedy(format!("use 1 to {gpus}; GPU i takes interface i modulo their number")),
            Self::Bandwidth => {
                Diagnosis::of("the links between the GPUs of a node have a bandwidth of 0")
                    .remedy("give them a positive one")
            }
        }
    }
}

impl AbstractNode {
    /// Whether a system can have such nodes.
    ///
    /// # Errors
    /// The first number that is out of its range.
    pub const fn check(&self) -> Result<(), NodeError> {
        if self.gpus == 0 || self.gpus > MOST_NODE_GPUS {
            return Err(NodeError::Gpus { gpus: self.gpus });
        }
        if self.nics == 0 || self.nics > self.gpus {
            return Err(NodeError::Nics { nics: self.nics, gpus: self.gpus });
        }
        if self.gpus > 1 && self.bandwidth.0 == 0 {
            return Err(NodeError::Bandwidth);
        }
        Ok(())
    }
}
