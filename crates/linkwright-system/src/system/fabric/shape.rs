//! The parameters from which a regular fabric was made, and where its parts lie.

use super::{Dragonfly, FatTree, Torus};

/// What kind of network a fabric is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FabricShape {
    /// A fat-tree of two or three levels.
    FatTree(FatTree),
    /// A one-dimensional dragonfly.
    Dragonfly(Dragonfly),
    /// A torus of any number of dimensions.
    Torus(Torus),
    /// One switch that joins every node to every other.
    SingleSwitch,
    /// Anything else: the arbitrary graph model of the TraceR-CODES study (Section III.A).
    Graph,
}
