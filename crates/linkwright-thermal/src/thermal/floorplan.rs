//! A package as it is described: layers, blocks that make heat, and what carries it away.

use serde::{Deserialize, Serialize};

/// A package: layers on one another, blocks within them, and what carries their heat away.
///
/// Lengths are in millimetres; `x` counts from the left edge of the interposer and `y` from its
/// front edge. All layers are centred on the interposer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floorplan {
    /// What it is called.
    pub name: String,
    /// Where its numbers come from; empty where the file does not say.
    pub source: String,
    /// What the source leaves open, and how it is taken here.
    pub assumptions: Vec<String>,
    /// Of the interposer, from left to right, in mm.
    pub width: f64,
    /// Of the interposer, from front to back, in mm.
    pub height: f64,
    /// The temperature of the air, in degrees Celsius.
    pub ambient: f64,
    /// From the board up.
    pub layers: Vec<PackageLayer>,
    /// In the order of the file.
    pub blocks: Vec<Block>,
    /// From the topmost layer to the air, in K/W.
    pub sink: f64,
    /// From the lowest layer to the air, in K/W; none where no heat goes that way.
    pub board: Option<f64>,
}

/// How well something conducts heat, in W/(m K).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Conductivity {
    /// From left to right and from front to back.
    pub lateral: f64,
    /// Up and down.
    pub vertical: f64,
}

/// One layer of a package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackageLayer {
    /// Its name, which no other layer has.
    pub name: String,
    /// In mm.
    pub thickness: f64,
    /// From left to right, in mm.
    pub width: f64,
    /// From front to back, in mm.
    pub height: f64,
    /// Of what is between its blocks.
    pub conductivity: Conductivity,
    /// Into how many cells its thickness is divided.
    pub cells: u32,
    /// Of what lies under or over the blocks of another layer, as bumps do: that layer's number,
    /// and how it conducts there.
    pub beside: Option<(usize, Conductivity)>,
}

/// A chip, or a part of one: a rectangle of a layer, whose heat arises evenly in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Its name, which no other block has.
    pub name: String,
    /// The number of its layer, from the board up.
    pub layer: usize,
    /// Its left edge, in mm.
    pub x: f64,
    /// Its front edge, in mm.
    pub y: f64,
    /// From left to right, in mm.
    pub width: f64,
    /// From front to back, in mm.
    pub height: f64,
    /// In W.
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

    /// The heat transfer coefficient of the sink, in W/(m2 K): one over its resistance and area.
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

    /// The layer of a name.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.name == name)
    }
}

impl PackageLayer {
    /// Its area in square metres.
    #[must_use]
    pub fn area(&self) -> f64 {
        self.width * self.height * 1e-6
    }
}

impl Block {
    /// Its right edge, in mm.
    #[must_use]
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Its rear edge, in mm.
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

/// What sums of decimal fractions may be off by, in mm: far below what any machine places.
pub(super) const SLACK: f64 = 1e-9;
