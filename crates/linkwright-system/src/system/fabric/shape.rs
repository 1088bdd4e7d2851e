//! The parameters from which a regular fabric was made, and where its parts lie.

use super::{Dragonfly, FatTree, Torus};

/// Says which kind of network a fabric is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FabricShape {
    /// Is a fat-tree of two or three levels.
    FatTree(FatTree),
    /// Is a one-dimensional dragonfly.
    Dragonfly(Dragonfly),
    /// Is a torus of any number of dimensions.
    Torus(Torus),
    /// One switch that joins every node to every other.
    SingleSwitch,
    /// Is anything else: the arbitrary graph model of the TraceR-CODES study (Section III.A).
    Graph,
}
