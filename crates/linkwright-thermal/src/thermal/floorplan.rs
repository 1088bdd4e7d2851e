//! Describes a package: layers, blocks that make heat, and the ways by which heat leaves.

use serde::{Deserialize, Serialize};

/// Describes a package: layers on one another, blocks within them, and the ways by which their heat
/// leaves.
///
/// Lengths are in millimetres; `x` counts from the left edge of the interposer and `y` from its
/// front edge. All layers are centred on the interposer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floorplan {
    /// Names the package.
    pub name: String,
    /// Where its numbers come from; empty where the file does not say.
    pub source: String,
    /// Lists the points that the source leaves open, and how they are taken here.
    pub assumptions: Vec<String>,
    /// Gives the interposer's width, from left to right, in mm.
    pub width: f64,
    /// Gives the interposer's height, from front to back, in mm.
    pub height: f64,
    /// Gives the temperature of the air, in degrees Celsius.
    pub ambient: f64,
    /// Lists the layers from the board up.
    pub layers: Vec<PackageLayer>,
    /// Lists the blocks in the order of the file.
    pub blocks: Vec<Block>,
    /// Gives the resistance from the topmost layer to the air, in K/W.
    pub sink: f64,
    /// From the lowest layer to the air, in K/W; none where no heat goes that way.
    pub board: Option<f64>,
}

/// Says how well something conducts heat, in W/(m K).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Conductivity {
    /// Holds from left to right and from front to back.
    pub lateral: f64,
    /// Holds up and down.
    pub vertical: f64,
}

/// Describes one layer of a package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackageLayer {
    /// Its name, which no other layer has.
    pub name: String,
    /// Measures from bottom to top, in mm.
    pub thickness: f64,
    /// Measures from left to right, in mm.
    pub width: f64,
    /// Measures from front to back, in mm.
    pub height: f64,
    /// Of what is between its blocks.
    pub conductivity: Conductivity,
    /// Into how many cells its thickness is divided.
    pub cells: u32,
    /// Of what lies under or over the blocks of another layer, as bumps do: that layer's number,
    /// and how it conducts there.
    pub beside: Option<(usize, Conductivity)>,
}

/// Describes a chip, or a part of one. It is a rectangle of a layer, and its heat arises evenly in
/// it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Its name, which no other block has.
    pub name: String,
    /// Gives the number of its layer, from the board up.
    pub layer: usize,
    /// Gives its left edge, in mm.
    pub x: f64,
    /// Gives its front edge, in mm.
    pub y: f64,
    /// Measures from left to right, in mm.
    pub width: f64,
    /// Measures from front to back, in mm.
    pub height: f64,
    /// Gives the heat that it makes, in W.
    pub power: f64,
    /// Of what it is made of.
    pub conductivity: Conductivity,
}

impl Floorplan {
    /// The heat of all blocks, in W.
    #[must_use]
    pub fn power(&self) -> f64 {
        self.blocks.iter().map(|block| block.power).sum()
    }

    /// Returns the heat transfer coefficient of the sink, in W/(m2 K): one over its resistance and
    /// area.
    #[must_use]
    pub fn sink_coefficient(&self) -> f64 {
        self.layers.last().map_or(0.0, |top| 1.0 / (self.sink * top.area()))
    }

    /// The same of the board's side; zero where no heat goes that way.
    #[must_use]
    pub fn board_coefficient(&self) -> f64 {
        let lowest = self.layers.first().zip(self.board);
        lowest.map_or(0.0, |(layer, resistance)| 1.0 / (resistance * layer.area()))
    }

    /// Finds the layer of a name.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.name == name)
    }
}

impl PackageLayer {
    /// Returns its area in square metres.
    #[must_use]
    pub fn area(&self) -> f64 {
        self.width * self.height * 1e-6
    }
}

impl Block {
    /// Returns its right edge, in mm.
    #[must_use]
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Returns the y coordinate of its rear edge, in mm.
    #[must_use]
    pub fn back(&self) -> f64 {
        self.y + self.height
    }

    /// How far two blocks lie over one another both ways, in mm; none where they do not.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> Option<(f64, f64)> {
        let across = self.right().min(other.right()) - self.x.max(other.x);
        let along = self.back().min(other.back()) - self.y.max(other.y);
        (self.layer == other.layer && across > SLACK && along > SLACK).then_some((across, along))
    }
}

/// Bounds the error of sums of decimal fractions, in mm. It is far below the accuracy of any
/// machine that places chips.
pub(super) const SLACK: f64 = 1e-9;
