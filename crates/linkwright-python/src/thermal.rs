//! Gives Python `linkwright.Floorplan` and `linkwright.ThermalMap`: the heat of packages.

use linkwright::thermal::{self, tables};
use pyo3::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::given;
use crate::errors;
use crate::table::Table;
use crate::worker;

/// Describes a package: layers on one another, blocks that make heat within them, and a sink.
///
/// Lengths are in mm, power in W, resistances in K/W, temperatures in degrees Celsius.
#[pyclass(frozen, eq, module = "linkwright.gpu")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Floorplan(thermal::Floorplan);

#[pymethods]
impl Floorplan {
    /// Reads a floorplan from its TOML text; `file` names the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no floorplan, or blocks overlap or leave the interposer, with
    ///         line and column.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        py.detach(|| thermal::Floorplan::read(file, text)).map(Self).map_err(errors::input)
    }

    /// Returns its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Where its numbers come from; empty where the file does not say.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// Lists the points that the source leaves open, and how they are taken.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumptions.clone()
    }

    /// Measures the interposer from left to right.
    #[getter]
    fn width(&self) -> f64 {
        self.0.width
    }

    /// Measures the interposer from front to back.
    #[getter]
    fn height(&self) -> f64 {
        self.0.height
    }

    /// Returns the temperature of the air.
    #[getter]
    fn ambient(&self) -> f64 {
        self.0.ambient
    }

    /// The heat of all blocks.
    #[getter]
    fn power(&self) -> f64 {
        self.0.power()
    }

    /// Returns the sink's resistance, from the topmost layer to the air.
    #[getter]
    fn sink(&self) -> f64 {
        self.0.sink
    }

    /// Returns the same by area, as a heat transfer coefficient in W/(m2 K).
    #[getter]
    fn sink_coefficient(&self) -> f64 {
        self.0.sink_coefficient()
    }

    /// The resistance from the lowest layer to the air; None where no heat goes that way.
    #[getter]
    fn board(&self) -> Option<f64> {
        self.0.board
    }

    /// Returns one row for each block.
    ///
    /// Columns are name, layer, x and y (its left and front edge), width, height, power,
    /// conductivity (sideways, in W/(m K)) and vertical_conductivity.
    fn blocks(&self) -> PyResult<Table> {
        Table::new(tables::blocks(&self.0))
    }

    /// Returns one row for each layer, from the board up.
    ///
    /// Columns: name, thickness, width, height, cells (that its thickness is divided into),
    /// conductivity (sideways, in W/(m K)), vertical_conductivity.
    fn layers(&self) -> PyResult<Table> {
        Table::new(tables::layers(&self.0))
    }

    /// Copies the package with another sink.
    ///
    /// Raises:
    ///     SimulationError: If no sink has that resistance.
    #[pyo3(signature = (resistance: "float"))]
    fn with_sink(&self, #[pyo3(from_py_with = given)] resistance: f64) -> PyResult<Self> {
        self.0.with_sink(resistance).map(Self).map_err(errors::range)
    }

    /// Copies the package into other air.
    ///
    /// Raises:
    ///     SimulationError: If no air has that temperature.
    #[pyo3(signature = (temperature: "float"))]
    fn with_ambient(&self, #[pyo3(from_py_with = given)] temperature: f64) -> PyResult<Self> {
        self.0.with_ambient(temperature).map(Self).map_err(errors::range)
    }

    /// The temperatures that the package comes to.
    ///
    /// Args:
    ///     cells: Of the interposer, each way.
    ///
    /// Raises:
    ///     SimulationError: If there are none, or more than memory holds.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (cells: "int" = 256))]
    fn solve(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] cells: i128,
    ) -> PyResult<ThermalMap> {
        let of = Of { plan: self.clone(), cells: usize::try_from(cells).unwrap_or(0) };
        ThermalMap::of(py, of)
    }

    /// The temperatures under the sink that lets the hottest place come to `temperature`; the
    /// sink is that of the map's floorplan.
    ///
    /// Args:
    ///     temperature: Of the hottest place.
    ///     cells: Of the interposer, each way.
    ///
    /// Raises:
    ///     SimulationError: If no sink does, or as for `solve`.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (temperature: "float", cells: "int" = 256))]
    fn sink_for(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] temperature: f64,
        #[pyo3(from_py_with = given)] cells: i128,
    ) -> PyResult<ThermalMap> {
        let (plan, cells) = (self.0.clone(), usize::try_from(cells).unwrap_or(0));
        let found = worker::interruptible(py, move || plan.sink_for(temperature, cells))?;
        Ok(ThermalMap::found(cells, found.map_err(errors::range)?))
    }

    fn __repr__(&self) -> String {
        let thermal::Floorplan { name, width, height, .. } = &self.0;
        format!("<Floorplan: {name}, {:.1} W on {width} x {height} mm>", self.0.power())
    }
}

/// Holds the inputs from which temperatures are found.
#[derive(Clone, Serialize, Deserialize)]
struct Of {
    plan: Floorplan,
    cells: usize,
}

/// Holds the temperatures of a package, in degrees Celsius.
///
/// It is pickled as what it was found from, and is found again when it is loaded.
#[pyclass(frozen, module = "linkwright.gpu")]
pub struct ThermalMap {
    of: Of,
    map: thermal::ThermalMap,
}

impl Serialize for ThermalMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.of.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ThermalMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of = Of::deserialize(deserializer)?;
        Python::attach(|py| Self::of(py, of)).map_err(D::Error::custom)
    }
}

impl ThermalMap {
    fn of(py: Python<'_>, of: Of) -> PyResult<Self> {
        let (plan, cells) = (of.plan.0.clone(), of.cells);
        let found = worker::interruptible(py, move || plan.solve(cells))?;
        Ok(Self { of, map: found.map_err(errors::range)? })
    }

    /// Holds the temperatures of a package that was cut into some cells each way.
    pub fn found(cells: usize, map: thermal::ThermalMap) -> Self {
        let of = Of { plan: Floorplan(map.floorplan().clone()), cells };
        Self { of, map }
    }
}

#[pymethods]
impl ThermalMap {
    /// Returns the package that it shows.
    #[getter]
    fn floorplan(&self) -> Floorplan {
        self.of.plan.clone()
    }

    /// Returns the temperature of the hottest cell.
    #[getter]
    fn maximum(&self) -> f64 {
        self.map.maximum()
    }

    /// The block that the hottest cell of all blocks is in; None where there are no blocks.
    #[getter]
    fn hottest_block(&self) -> Option<&str> {
        self.map.hottest_block().map(|block| block.name.as_str())
    }

    /// The heat that leaves by the sink, in W.
    #[getter]
    fn sink_heat(&self) -> f64 {
        self.map.heat().sink
    }

    /// The heat that leaves through the board, in W.
    #[getter]
    fn board_heat(&self) -> f64 {
        self.map.heat().board
    }

    /// Counts the cells of the interposer, each way.
    #[getter]
    fn cells(&self) -> usize {
        self.of.cells
    }

    /// Counts the cells of all layers, those beyond the interposer too.
    #[getter]
    fn cell_count(&self) -> usize {
        self.map.cells()
    }

    /// Counts the rounds of conjugate gradients that it took.
    #[getter]
    fn rounds(&self) -> usize {
        self.map.rounds()
    }

    /// The share of the heat that is unaccounted for in single cells, summed without signs.
    #[getter]
    fn unaccounted(&self) -> f64 {
        self.map.unaccounted()
    }

    /// Returns one row for each block.
    ///
    /// Columns are name, layer, power, power_density (in W/mm2), maximum, mean, minimum, x and y
    /// (the middle of its hottest cell, in mm).
    fn blocks(&self) -> PyResult<Table> {
        Table::new(tables::block_temperatures(&self.map))
    }

    /// Returns one row for each layer, from the board up.
    ///
    /// Columns are name, maximum, mean, minimum, x and y (the middle of its hottest cell, in mm).
    fn layers(&self) -> PyResult<Table> {
        Table::new(tables::layer_temperatures(&self.map))
    }

    /// Returns one row for each cell of a layer, from left to right, then from front to back.
    ///
    /// Columns are x and y (the middle, in mm), width, height and temperature (the highest of the
    /// cells that lie on one another there).
    ///
    /// Raises:
    ///     SimulationError: If there is no such layer.
    #[pyo3(signature = (layer: "str"))]
    fn temperatures(&self, #[pyo3(from_py_with = given)] layer: &str) -> PyResult<Table> {
        tables::cells(&self.map, layer).map_err(errors::range).and_then(Table::new)
    }

    fn __repr__(&self) -> String {
        let name = &self.of.plan.0.name;
        format!("<ThermalMap: {name}, at most {:.2} degrees>", self.map.maximum())
    }
}
