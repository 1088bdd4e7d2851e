//! Cuts a floorplan into cells, and builds the network of conductances that these make.

use super::floorplan::{Block, Conductivity, Floorplan, SLACK};
use super::network::Network;

/// By how much each cell outside the interposer is wider than the one before it.
const GROWTH: f64 = 1.4;
/// Gives the conductance to the air of a cell without matter, in W/K. It is small enough to change
/// nothing in a coarser grid, where such a cell and others become one.
const HARDLY: f32 = 1e-12;
/// Converts millimetres to metres.
const METRE: f64 = 1e-3;

/// Holds cells from left to right, or from front to back.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Where each cell starts, and where the last one ends, in mm from the interposer's edge.
    pub edges: Vec<f64>,
}

/// The cells that an interval covers, each with the share of it that is covered.
pub(super) type Covered = Vec<(usize, f64)>;

impl Axis {
    /// Makes `cells` equal cells on an interposer of this length, and growing ones to the ends of
    /// layers that are longer. All layers have the same middle.
    fn new(length: f64, cells: usize, layers: impl Iterator<Item = f64>) -> Self {
        let mut beyond: Vec<f64> = layers.map(|layer| (layer - length) / 2.0).collect();
        beyond.retain(|beyond| *beyond > SLACK);
        beyond.sort_by(f64::total_cmp);
        beyond.dedup_by(|a, b| (*a - *b).abs() <= SLACK);
        let mut outer = vec![0.0];
        let mut width = length / cells as f64;
        for end in beyond {
            let start = outer[outer.len() - 1];
            // As many as reach the end when each grows, all of them then scaled to end there.
            let mut widths = Vec::new();
            let mut reached = 0.0;
            while start + reached < end {
                width *= GROWTH;
                widths.push(width);
                reached += width;
            }
            let scale = (end - start) / reached;
            let mut at = start;
            for width in &widths {
                at += width * scale;
                outer.push(at);
            }
            let last = outer.len() - 1;
            outer[last] = end;
            width *= scale;
        }
        let mut edges: Vec<f64> = outer[1..].iter().rev().map(|beyond| -beyond).collect();
        edges.extend((0..=cells).map(|at| length * at as f64 / cells as f64));
        edges.extend(outer[1..].iter().map(|beyond| length + beyond));
        Self { edges }
    }

    /// How many cells there are.
    pub const fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns the cells' widths in metres.
    fn widths(&self) -> Vec<f64> {
        self.edges.windows(2).map(|ends| (ends[1] - ends[0]) * METRE).collect()
    }

    /// Returns the part of each cell that an interval covers.
    pub fn covered(&self, start: f64, end: f64) -> Covered {
        let first = self.edges.partition_point(|edge| *edge <= start).saturating_sub(1);
        let mut covered = Vec::new();
        for at in first..self.len() {
            let (left, right) = (self.edges[at], self.edges[at + 1]);
            if left >= end {
                break;
            }
            let share = (end.min(right) - start.max(left)) / (right - left);
            // Sums of decimal fractions leave a hair of a cell.
            if share > SLACK {
                covered.push((at, if share > 1.0 - SLACK { 1.0 } else { share }));
            }
        }
        covered
    }
}

/// Holds the cells of a floorplan.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub across: Axis,
    pub along: Axis,
    /// Gives the layer of each plane of cells, from the board up.
    pub layers: Vec<usize>,
}

/// A floorplan as a network, with what is asked of it afterwards.
#[derive(Debug)]
pub(super) struct Assembled {
    pub network: Network,
    /// Gives the heat that arises in each cell, in W.
    pub heat: Vec<f64>,
    /// Gives the conductance from each column's topmost cell to the air through the sink, in W/K.
    pub sink: Vec<f64>,
    /// Gives the conductance from each column's lowest cell to the air through the board, in W/K.
    pub board: Vec<f64>,
}

/// Says which part of a plane's columns is matter, and how it conducts.
struct Plane {
    lateral: Vec<f64>,
    vertical: Vec<f64>,
    thickness: f64,
}

impl Grid {
    /// Cuts a floorplan's interposer into `cells` cells each way.
    pub fn new(plan: &Floorplan, cells: usize) -> Self {
        let layers = plan.layers.iter().enumerate();
        Self {
            across: Axis::new(plan.width, cells, plan.layers.iter().map(|it| it.width)),
            along: Axis::new(plan.height, cells, plan.layers.iter().map(|it| it.height)),
            layers: layers.flat_map(|(at, it)| vec![at; it.cells as usize]).collect(),
        }
    }

    /// How many columns there are.
    pub const fn columns(&self) -> usize {
        self.across.len() * self.along.len()
    }

    /// Returns the cells of a rectangle: across and along.
    pub fn rectangle(&self, block: &Block) -> (Covered, Covered) {
        (self.across.covered(block.x, block.right()), self.along.covered(block.y, block.back()))
    }

    /// Returns the cells of a layer: across and along.
    pub fn extent(&self, plan: &Floorplan, layer: usize) -> (Covered, Covered) {
        let layer = &plan.layers[layer];
        let ends = |whole: f64, own: f64| ((whole - own) / 2.0, (whole + own) / 2.0);
        let ((left, right), (front, back)) =
            (ends(plan.width, layer.width), ends(plan.height, layer.height));
        (self.across.covered(left, right), self.along.covered(front, back))
    }

    /// Builds the network of a floorplan.
    pub fn assemble(&self, plan: &Floorplan) -> Assembled {
        let (widths, depths) = (self.across.widths(), self.along.widths());
        let mut network = Network::new(widths.clone(), depths.clone(), self.layers.len());
        let shape = network.shape;
        let mut below: Option<Plane> = None;
        let mut sink = vec![0.0; self.columns()];
        let mut board = sink.clone();
        for z in 0..shape.z {
            let plane = self.plane(plan, self.layers[z]);
            for y in 0..shape.y {
                for x in 0..shape.x {
                    let (at, column) = (shape.at(x, y, z), y * shape.x + x);
                    let (width, depth) = (widths[x], depths[y]);
                    let area = width * depth;
                    let own = plane.lateral[column];
                    if own == 0.0 {
                        network.ambient[at] = HARDLY;
                    }
                    if x + 1 < shape.x {
                        let next = (widths[x + 1], plane.lateral[column + 1]);
                        let face = depth * plane.thickness;
                        network.right[at] = between(face, (width, own), next) as f32;
                    }
                    if y + 1 < shape.y {
                        let next = (depths[y + 1], plane.lateral[column + shape.x]);
                        let face = width * plane.thickness;
                        network.behind[at] = between(face, (depth, own), next) as f32;
                    }
                    let upright = (plane.thickness, plane.vertical[column]);
                    match &below {
                        Some(below) => {
                            let lower = (below.thickness, below.vertical[column]);
                            network.above[at - shape.x] = between(area, lower, upright) as f32;
                        }
                        None => board[column] = to_air(area, upright, plan.board_coefficient()),
                    }
                    if z + 1 == shape.z {
                        sink[column] = to_air(area, upright, plan.sink_coefficient());
                    }
                }
            }
            below = Some(plane);
        }
        for y in 0..shape.y {
            for x in 0..shape.x {
                let column = y * shape.x + x;
                network.ambient[shape.at(x, y, 0)] += board[column] as f32;
                network.ambient[shape.at(x, y, shape.z - 1)] += sink[column] as f32;
            }
        }
        Assembled { heat: self.heat(plan), network, sink, board }
    }

    /// How one layer conducts, column by column. Where a cell holds several materials, it conducts
    /// as their mean by area.
    fn plane(&self, plan: &Floorplan, layer: usize) -> Plane {
        let described = &plan.layers[layer];
        let row = self.across.len();
        let (mut lateral, mut vertical) = (vec![0.0; self.columns()], vec![0.0; self.columns()]);
        let mut fill = |(across, along): (Covered, Covered), by: Conductivity| {
            for (y, along) in along {
                for (x, across) in &across {
                    let (at, share) = (y * row + x, across * along);
                    lateral[at] += share * by.lateral;
                    vertical[at] += share * by.vertical;
                }
            }
        };
        let filler = described.conductivity;
        fill(self.extent(plan, layer), filler);
        // A block takes the place of what is between blocks.
        let instead = |own: Conductivity| Conductivity {
            lateral: own.lateral - filler.lateral,
            vertical: own.vertical - filler.vertical,
        };
        for block in &plan.blocks {
            let conductivity = match described.beside {
                _ if block.layer == layer => block.conductivity,
                Some((other, conductivity)) if block.layer == other => conductivity,
                _ => continue,
            };
            fill(self.rectangle(block), instead(conductivity));
        }
        // Equal numbers that are added and subtracted may leave a rest. It is no matter.
        let least = 1e-12 * filler.lateral.min(filler.vertical);
        for value in lateral.iter_mut().chain(&mut vertical) {
            *value = if *value > least { *value } else { 0.0 };
        }
        let thickness = described.thickness * METRE / f64::from(described.cells);
        Plane { lateral, vertical, thickness }
    }

    /// Returns the heat that arises in each cell, in W. A block's heat spreads evenly over its
    /// volume.
    fn heat(&self, plan: &Floorplan) -> Vec<f64> {
        let (row, planes) = (self.across.len(), self.layers.len());
        let mut heat = vec![0.0; self.columns() * planes];
        for block in &plan.blocks {
            let (across, along) = self.rectangle(block);
            let density = block.power
                / (block.width * block.height * f64::from(plan.layers[block.layer].cells));
            for (y, along) in along {
                let depth = along * (self.along.edges[y + 1] - self.along.edges[y]);
                for (x, across) in &across {
                    let width = across * (self.across.edges[x + 1] - self.across.edges[*x]);
                    for (z, layer) in self.layers.iter().enumerate() {
                        if *layer == block.layer {
                            heat[(y * planes + z) * row + x] += density * width * depth;
                        }
                    }
                }
            }
        }
        heat
    }
}

/// Returns the conductance between the middles of two cells through a face of this area. Each cell
/// comes with its extent and conductivity. The conductance is zero where one of them is no matter.
fn between(area: f64, (extent, own): (f64, f64), (next_extent, next): (f64, f64)) -> f64 {
    if own == 0.0 || next == 0.0 {
        return 0.0;
    }
    area / (extent / 2.0 / own + next_extent / 2.0 / next)
}

/// Returns the conductance from the middle of a cell to the air, by a heat transfer coefficient.
fn to_air(area: f64, (extent, own): (f64, f64), coefficient: f64) -> f64 {
    if own == 0.0 || coefficient == 0.0 {
        return 0.0;
    }
    // As the network keeps it, so that what is added up leaves the network.
    f64::from((area / (extent / 2.0 / own + 1.0 / coefficient)) as f32)
}
