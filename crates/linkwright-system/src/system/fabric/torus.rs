//! Makes tori of any number of dimensions.
//!
//! Switches stand on a grid that wraps around in every dimension, each with the same number of
//! nodes. The model leaves out several links between two neighbours.

use super::links::{LinkRate, numberable, positive, product, refuse};
use super::{ChannelId, Fabric, FabricError, FabricShape, NodeId, SwitchId};

/// A torus: each switch has two neighbours in each dimension (one, where the dimension is 2;
/// none, where it is 1).
///
/// Switches are numbered with the first dimension varying fastest, nodes switch by switch. Behind
/// the channels of nodes follow those of dimension 0, dimension 1 and so on. In each dimension they
/// are sorted by the switch below the link. Its first channel leads up, to the next higher
/// coordinate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torus {
    /// Gives the size of each dimension, the first varying fastest.
    pub dimensions: Vec<u32>,
    /// Counts the nodes of a switch.
    pub nodes_per_switch: u32,
}

/// Names a way along a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Leads to the next lower coordinate, or from 0 to the highest.
    Down,
    /// Leads to the next higher coordinate, or from the highest to 0.
    Up,
}

/// Holds the rates of a torus's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TorusRates {
    /// Gives the rate between a node and its switch.
    pub node: LinkRate,
    /// Gives the rate between two switches.
    pub switch: LinkRate,
}

impl Torus {
    /// How many switches there are.
    #[must_use]
    pub fn switches(&self) -> u32 {
        self.dimensions.iter().product()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.switches() * self.nodes_per_switch
    }

    /// Returns the switch of a node.
    #[must_use]
    pub const fn switch_of(&self, node: NodeId) -> SwitchId {
        node / self.nodes_per_switch
    }

    /// How far apart two switches are whose coordinates differ by one in a dimension.
    fn stride(&self, dimension: usize) -> u32 {
        self.dimensions[..dimension].iter().product()
    }

    /// Returns the coordinate of a switch in a dimension.
    ///
    /// # Panics
    /// For a dimension that is not there.
    #[must_use]
    pub fn coordinate(&self, switch: SwitchId, dimension: usize) -> u32 {
        switch / self.stride(dimension) % self.dimensions[dimension]
    }

    /// The neighbour of a switch, which is itself where the dimension is 1.
    ///
    /// # Panics
    /// For a dimension that is not there.
    #[must_use]
    pub fn neighbour(&self, switch: SwitchId, dimension: usize, direction: Direction) -> SwitchId {
        let (size, stride) = (self.dimensions[dimension], self.stride(dimension));
        let at = self.coordinate(switch, dimension);
        let to = match direction {
            Direction::Up if at + 1 == size => 0,
            Direction::Up => at + 1,
            Direction::Down if at == 0 => size - 1,
            Direction::Down => at - 1,
        };
        switch - at * stride + to * stride
    }

    /// Links of a dimension.
    fn links(&self, dimension: usize) -> u32 {
        match self.dimensions[dimension] {
            1 => 0,
            2 => self.switches() / 2,
            _ => self.switches(),
        }
    }

    /// The channel from a switch to its neighbour; None where the dimension is 1. Where it is
    /// 2, both directions are the one link there is.
    ///
    /// # Panics
    /// For a dimension that is not there.
    #[must_use]
    pub fn channel(
        &self,
        switch: SwitchId,
        dimension: usize,
        direction: Direction,
    ) -> Option<ChannelId> {
        let size = self.dimensions[dimension];
        let neighbour = self.neighbour(switch, dimension, direction);
        let before = self.nodes() + (0..dimension).map(|lower| self.links(lower)).sum::<u32>();
        let (link, down) = match size {
            1 => return None,
            2 => {
                // Of the two coordinates only the lower owns a link: leave this one out.
                let stride = self.stride(dimension);
                let low = switch.min(neighbour);
                (low / (2 * stride) * stride + low % stride, switch > neighbour)
            }
            _ if direction == Direction::Up => (switch, false),
            _ => (neighbour, true),
        };
        Some(2 * (before + link) + u32::from(down))
    }

    /// Refuses counts of zero and tori too large to number.
    fn check(&self) -> Result<(), FabricError> {
        positive("nodes-per-switch", self.nodes_per_switch)?;
        if self.dimensions.is_empty() {
            return refuse("dimensions", "[]", "give at least one, such as [4, 4, 4]");
        }
        for size in &self.dimensions {
            positive("dimensions", *size)?;
        }
        let switches = product(&self.dimensions);
        let each = (self.dimensions.len() as u64).checked_add(self.nodes_per_switch.into());
        numberable(switches.and_then(|switches| switches.checked_mul(each?)))
    }
}

/// Makes the fabric of a torus.
///
/// # Errors
/// Refuses no dimension, counts of zero, links without bandwidth, and more than 2^24 links.
pub fn torus(shape: &Torus, rates: &TorusRates) -> Result<Fabric, FabricError> {
    shape.check()?;
    let nodes: Vec<_> =
        (0..shape.nodes()).map(|node| rates.node.to_node(shape.switch_of(node))).collect();
    let mut links = Vec::new();
    for (dimension, size) in shape.dimensions.iter().enumerate() {
        for switch in 0..shape.switches() {
            let at = shape.coordinate(switch, dimension);
            if *size > 2 || (*size == 2 && at == 0) {
                let above = shape.neighbour(switch, dimension, Direction::Up);
                links.push(rates.switch.between(switch, above));
            }
        }
    }
    let sizes: Vec<_> = shape.dimensions.iter().map(ToString::to_string).collect();
    let name = format!("torus-{}", sizes.join("x"));
    Fabric::new(&name, FabricShape::Torus(shape.clone()), shape.switches(), &nodes, &links)
}
