//! Holds the temperatures of a package, and answers questions about them.

use super::error::{MOST_CELLS, MOST_CELLS_IN_ALL, ThermalError};
use super::floorplan::{Block, Floorplan};
use super::grid::{Covered, Grid};
use super::reader::{AIR, RESISTANCE};
use super::solve::{Found, solve};

/// Bounds the share of the heat that may be unaccounted for where rounding keeps it from becoming
/// less.
const ENOUGH: f64 = 1e-6;
/// How near the temperature comes to the one that a sink is sought for, in K.
const NEAR: f64 = 1e-5;
/// Far more sinks than are ever tried; each at least halves what is left.
const MOST_SINKS: usize = 100;

/// Holds the temperatures of a package, and the ways of its heat.
#[derive(Debug, Clone)]
pub struct ThermalMap {
    floorplan: Floorplan,
    pub(super) grid: Grid,
    found: Found,
    heat: Heat,
}

/// Where a package's heat goes, in W.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heat {
    /// Gives the heat that the blocks make.
    pub power: f64,
    /// Gives the heat that leaves by the sink.
    pub sink: f64,
    /// Gives the heat that leaves through the board.
    pub board: f64,
}

impl Heat {
    /// Returns the heat that is made and does not leave, over the heat that is made; zero where
    /// none is made.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        if self.power == 0.0 { 0.0 } else { (self.power - self.sink - self.board) / self.power }
    }
}

/// Holds the temperatures of a block or a layer, in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes {
    /// Belongs to its hottest cell.
    pub maximum: f64,
    /// Weighs all its cells by their volume.
    pub mean: f64,
    /// Belongs to its coolest cell.
    pub minimum: f64,
    /// Gives the middle of its hottest cell, in mm from the interposer's left and front edges.
    pub hottest: (f64, f64),
}

impl Floorplan {
    /// The temperatures that the package comes to.
    ///
    /// # Errors
    /// [`ThermalError::Cells`] where `cells`, those of the interposer each way, are none or too
    /// many, and [`ThermalError::Unsettled`].
    pub fn solve(&self, cells: usize) -> Result<ThermalMap, ThermalError> {
        let planes: usize = self.layers.iter().map(|layer| layer.cells as usize).sum();
        let in_all = cells.saturating_mul(cells).saturating_mul(planes);
        if !(1..=MOST_CELLS).contains(&cells) || in_all > MOST_CELLS_IN_ALL {
            return Err(ThermalError::Cells { cells, in_all });
        }
        let grid = Grid::new(self, cells);
        let in_all = grid.columns() * planes;
        if in_all > MOST_CELLS_IN_ALL {
            return Err(ThermalError::Cells { cells, in_all });
        }
        let assembled = grid.assemble(self);
        let shape = assembled.network.shape;
        let found = solve(assembled.network, assembled.heat);
        if found.unaccounted.is_nan() || found.unaccounted > ENOUGH {
            return Err(ThermalError::Unsettled { unaccounted: found.unaccounted });
        }
        let leaves = |conductances: &[f64], z: usize| {
            let columns = conductances.iter().enumerate();
            let at = |column: usize| shape.at(column % shape.x, column / shape.x, z);
            columns.map(|(column, conductance)| conductance * found.rise[at(column)]).sum()
        };
        let heat = Heat {
            power: self.power(),
            sink: leaves(&assembled.sink, shape.z - 1),
            board: leaves(&assembled.board, 0),
        };
        Ok(ThermalMap { floorplan: self.clone(), grid, found, heat })
    }

    /// Returns the same package with another sink, in K/W.
    ///
    /// # Errors
    /// [`ThermalError::OutOfRange`] for a resistance that no sink has.
    pub fn with_sink(&self, resistance: f64) -> Result<Self, ThermalError> {
        let what = "a sink's resistance (K/W)";
        in_range(what, resistance, RESISTANCE)?;
        Ok(Self { sink: resistance, ..self.clone() })
    }

    /// Returns the same package in other air, in degrees Celsius.
    ///
    /// # Errors
    /// [`ThermalError::OutOfRange`] for a temperature that no air has.
    pub fn with_ambient(&self, ambient: f64) -> Result<Self, ThermalError> {
        in_range("a temperature of the air (degrees Celsius)", ambient, AIR)?;
        Ok(Self { ambient, ..self.clone() })
    }

    /// The temperatures under the sink that lets the hottest place come to `target`, in degrees
    /// Celsius; the sink's resistance is that of the map's floorplan.
    ///
    /// The hottest place grows hotter with the sink's resistance, nearly in a straight line. The
    /// search therefore tries only a few sinks. It takes secants, held between a sink that is too
    /// good and one that is too bad (the Illinois rule).
    ///
    /// # Errors
    /// Fails as [`Self::solve`] does, and with [`ThermalError::NoSink`].
    pub fn sink_for(&self, target: f64, cells: usize) -> Result<ThermalMap, ThermalError> {
        let tried = |resistance: f64| {
            let map = Self { sink: resistance, ..self.clone() }.solve(cells)?;
            Ok::<_, ThermalError>((map.maximum() - target, map))
        };
        let (least, most) = RESISTANCE;
        let (mut low, (mut below, best)) = (least, tried(least)?);
        // The guess takes all heat to leave by the sink, and to warm the package evenly.
        let guess = if self.power() > 0.0 { -below / self.power() } else { most };
        let mut high = guess.clamp(10.0 * least, most);
        let (mut above, mut map) = tried(high)?;
        while below <= 0.0 && above < 0.0 && high < most {
            (low, below) = (high, above);
            high = (high * 4.0).min(most);
            (above, map) = tried(high)?;
        }
        if below > NEAR || above < -NEAR {
            let (coolest, hottest) = (best.maximum(), map.maximum().max(best.maximum()));
            return Err(ThermalError::NoSink { target, coolest, hottest });
        }
        let mut off = above;
        for _ in 0..MOST_SINKS {
            if off.abs() <= NEAR {
                break;
            }
            let middle = low + (high - low) * below / (below - above);
            let stays_low = off > 0.0;
            (off, map) = tried(middle.clamp(least, most))?;
            // An end that stays twice counts half, or the other would creep.
            if off < 0.0 {
                (low, below) = (middle, off);
                above /= if stays_low { 1.0 } else { 2.0 };
            } else {
                (high, above) = (middle, off);
                below /= if stays_low { 2.0 } else { 1.0 };
            }
        }
        Ok(map)
    }
}

fn in_range(what: &'static str, value: f64, bounds: (f64, f64)) -> Result<(), ThermalError> {
    if (bounds.0..=bounds.1).contains(&value) {
        return Ok(());
    }
    Err(ThermalError::OutOfRange { what, value, bounds })
}

impl ThermalMap {
    /// Returns the floorplan whose heat was computed.
    #[must_use]
    pub const fn floorplan(&self) -> &Floorplan {
        &self.floorplan
    }

    /// Says where the heat went.
    #[must_use]
    pub const fn heat(&self) -> Heat {
        self.heat
    }

    /// Returns the temperature of the hottest cell, in degrees Celsius.
    #[must_use]
    pub fn maximum(&self) -> f64 {
        self.floorplan.ambient + self.found.rise.iter().copied().fold(0.0, f64::max)
    }

    /// Counts the cells, including those beyond the interposer.
    #[must_use]
    pub const fn cells(&self) -> usize {
        self.grid.columns() * self.grid.layers.len()
    }

    /// Says how many rounds of conjugate gradients it took.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        self.found.rounds
    }

    /// The share of the heat that is unaccounted for in single cells, summed without signs.
    #[must_use]
    pub const fn unaccounted(&self) -> f64 {
        self.found.unaccounted
    }

    /// Returns the temperatures of each block, in the floorplan's order.
    #[must_use]
    pub fn blocks(&self) -> Vec<Extremes> {
        let blocks = self.floorplan.blocks.iter();
        blocks.map(|block| self.extremes(block.layer, &self.grid.rectangle(block))).collect()
    }

    /// The block that the hottest cell of all blocks is in; none where there are no blocks.
    #[must_use]
    pub fn hottest_block(&self) -> Option<&Block> {
        let blocks = self.blocks();
        let hottest = (0..blocks.len())
            .reduce(|best, at| if blocks[at].maximum > blocks[best].maximum { at } else { best });
        hottest.map(|at| &self.floorplan.blocks[at])
    }

    /// Returns the temperatures of each layer, from the board up.
    #[must_use]
    pub fn layers(&self) -> Vec<Extremes> {
        let layers = 0..self.floorplan.layers.len();
        layers.map(|at| self.extremes(at, &self.grid.extent(&self.floorplan, at))).collect()
    }

    /// Lists the planes of a layer.
    pub(super) fn planes(&self, layer: usize) -> impl Iterator<Item = usize> + '_ {
        let layers = self.grid.layers.iter().enumerate();
        layers.filter(move |(_, of)| **of == layer).map(|(z, _)| z)
    }

    pub(super) fn temperature(&self, x: usize, y: usize, z: usize) -> f64 {
        let (row, planes) = (self.grid.across.len(), self.grid.layers.len());
        self.floorplan.ambient + self.found.rise[(y * planes + z) * row + x]
    }

    /// Returns the middle and the size of a column, in mm.
    pub(super) fn column(&self, x: usize, y: usize) -> ((f64, f64), (f64, f64)) {
        let of = |edges: &[f64], at: usize| {
            ((edges[at] + edges[at + 1]) / 2.0, edges[at + 1] - edges[at])
        };
        let (across, along) = (of(&self.grid.across.edges, x), of(&self.grid.along.edges, y));
        ((across.0, along.0), (across.1, along.1))
    }

    /// Returns the temperatures of a rectangle of a layer. A cell that lies in it by less than half
    /// is not asked for extremes, where the rectangle has others.
    fn extremes(&self, layer: usize, (across, along): &(Covered, Covered)) -> Extremes {
        let most = |covered: &[(usize, f64)]| covered.iter().map(|it| it.1).fold(0.0, f64::max);
        let enough = |covered: &[(usize, f64)]| most(covered).min(0.5);
        let (least_across, least_along) = (enough(across), enough(along));
        let (mut maximum, mut minimum) = (f64::MIN, f64::MAX);
        let (mut sum, mut volume, mut hottest) = (0.0, 0.0, (0.0, 0.0));
        for (y, of_along) in along {
            for (x, of_across) in across {
                let (middle, (width, height)) = self.column(*x, *y);
                let own = of_across * of_along * width * height;
                for z in self.planes(layer) {
                    let temperature = self.temperature(*x, *y, z);
                    sum += own * temperature;
                    volume += own;
                    if *of_across < least_across || *of_along < least_along {
                        continue;
                    }
                    minimum = minimum.min(temperature);
                    if temperature > maximum {
                        (maximum, hottest) = (temperature, middle);
                    }
                }
            }
        }
        Extremes { maximum, mean: sum / volume, minimum, hottest }
    }
}
