//! Turns floorplans and temperatures into columns.

use super::error::ThermalError;
use super::floorplan::{Conductivity, Floorplan};
use super::map::{Extremes, ThermalMap};
use crate::table::Table;

/// Gives one row for each block of a floorplan: its properties and its place.
#[must_use]
pub fn blocks(plan: &Floorplan) -> Table {
    let blocks = || plan.blocks.iter();
    let table = Table::new()
        .with("name", "", blocks().map(|it| it.name.clone()).collect::<Vec<_>>())
        .with(
            "layer",
            "",
            blocks().map(|it| plan.layers[it.layer].name.clone()).collect::<Vec<_>>(),
        )
        .with("x", "mm", blocks().map(|it| it.x).collect::<Vec<_>>())
        .with("y", "mm", blocks().map(|it| it.y).collect::<Vec<_>>())
        .with("width", "mm", blocks().map(|it| it.width).collect::<Vec<_>>())
        .with("height", "mm", blocks().map(|it| it.height).collect::<Vec<_>>())
        .with("power", "W", blocks().map(|it| it.power).collect::<Vec<_>>());
    conductivities(table, blocks().map(|it| it.conductivity))
}

/// Gives one row for each layer of a floorplan, from the board up.
#[must_use]
pub fn layers(plan: &Floorplan) -> Table {
    let layers = || plan.layers.iter();
    let table = Table::new()
        .with("name", "", layers().map(|it| it.name.clone()).collect::<Vec<_>>())
        .with("thickness", "mm", layers().map(|it| it.thickness).collect::<Vec<_>>())
        .with("width", "mm", layers().map(|it| it.width).collect::<Vec<_>>())
        .with("height", "mm", layers().map(|it| it.height).collect::<Vec<_>>())
        .with("cells", "", layers().map(|it| u64::from(it.cells)).collect::<Vec<_>>());
    conductivities(table, layers().map(|it| it.conductivity))
}

fn conductivities(table: Table, each: impl Iterator<Item = Conductivity> + Clone) -> Table {
    let lateral: Vec<f64> = each.clone().map(|it| it.lateral).collect();
    let vertical: Vec<f64> = each.map(|it| it.vertical).collect();
    table.with("conductivity", "W/(m K)", lateral).with(
        "vertical_conductivity",
        "W/(m K)",
        vertical,
    )
}

/// One row for each block: its temperatures, and where its hottest cell is.
#[must_use]
pub fn block_temperatures(map: &ThermalMap) -> Table {
    let plan = map.floorplan();
    let blocks = || plan.blocks.iter();
    let table = Table::new()
        .with("name", "", blocks().map(|it| it.name.clone()).collect::<Vec<_>>())
        .with(
            "layer",
            "",
            blocks().map(|it| plan.layers[it.layer].name.clone()).collect::<Vec<_>>(),
        )
        .with("power", "W", blocks().map(|it| it.power).collect::<Vec<_>>())
        .with(
            "power_density",
            "W/mm²",
            blocks().map(|it| it.power / (it.width * it.height)).collect::<Vec<_>>(),
        );
    extremes(table, &map.blocks())
}

/// One row for each layer, from the board up: its temperatures, and where its hottest cell is.
#[must_use]
pub fn layer_temperatures(map: &ThermalMap) -> Table {
    let layers = map.floorplan().layers.iter();
    let table = Table::new().with("name", "", layers.map(|it| it.name.clone()).collect::<Vec<_>>());
    extremes(table, &map.layers())
}

fn extremes(table: Table, each: &[Extremes]) -> Table {
    let column = |of: fn(&Extremes) -> f64| each.iter().map(of).collect::<Vec<f64>>();
    table
        .with("maximum", "°C", column(|it| it.maximum))
        .with("mean", "°C", column(|it| it.mean))
        .with("minimum", "°C", column(|it| it.minimum))
        .with("x", "mm", column(|it| it.hottest.0))
        .with("y", "mm", column(|it| it.hottest.1))
}

/// Gives one row for each cell of a layer: its middle, its size and its temperature. The
/// temperature is the highest of the cells that lie on one another.
///
/// # Errors
/// Returns [`ThermalError::Layer`].
pub fn cells(map: &ThermalMap, layer: &str) -> Result<Table, ThermalError> {
    let at = map.floorplan().layer(layer).ok_or_else(|| ThermalError::Layer {
        name: layer.to_owned(),
        known: map.floorplan().layers.iter().map(|layer| layer.name.clone()).collect(),
    })?;
    let (across, along) = map.grid.extent(map.floorplan(), at);
    let (mut xs, mut ys, mut widths, mut heights, mut temperatures) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (y, _) in &along {
        for (x, _) in &across {
            let (middle, size) = map.column(*x, *y);
            xs.push(middle.0);
            ys.push(middle.1);
            widths.push(size.0);
            heights.push(size.1);
            let planes = map.planes(at);
            let hottest = planes.map(|z| map.temperature(*x, *y, z)).fold(f64::MIN, f64::max);
            temperatures.push(hottest);
        }
    }
    Ok(Table::new()
        .with("x", "mm", xs)
        .with("y", "mm", ys)
        .with("width", "mm", widths)
        .with("height", "mm", heights)
        .with("temperature", "°C", temperatures))
}
