//! Turns networks and steps into columns.

use super::footprint::Footprint;
use super::kernel_time::{KernelShape, KernelTime};
use super::network::Network;
use super::roofline::LayerTime;
use crate::table::Table;
use crate::units::{Bytes, Picoseconds};

/// Gives one row for each layer: its kind and the work of one sample.
#[must_use]
pub fn layers(network: &Network) -> Table {
    let layers = || network.layers.iter();
    let named = |place: &Option<usize>| {
        place.map_or("input", |at| network.layers[at].name.as_str()).to_owned()
    };
    let inputs = layers().map(|it| it.inputs.iter().map(named).collect::<Vec<_>>().join(" "));
    Table::new()
        .with("name", "", layers().map(|it| it.name.clone()).collect::<Vec<_>>())
        .with("kind", "", layers().map(|it| it.kind.name().to_owned()).collect::<Vec<_>>())
        .with("inputs", "", inputs.collect::<Vec<_>>())
        .with("output", "", layers().map(|it| it.output.to_string()).collect::<Vec<_>>())
        .with("block", "", layers().map(|it| u64::from(it.unit)).collect::<Vec<_>>())
        .with("parameters", "", layers().map(|it| it.parameters).collect::<Vec<_>>())
        .with("multiply_adds", "", layers().map(|it| it.multiply_adds).collect::<Vec<_>>())
        .with("elementwise", "", layers().map(|it| it.elementwise).collect::<Vec<_>>())
        .with("activations", "", layers().map(|it| it.output.elements()).collect::<Vec<_>>())
        .with("saved", "", layers().map(|it| it.saved).collect::<Vec<_>>())
}

/// One row for each GPU: its memory during training, by what it is for.
#[must_use]
pub fn memory(gpus: &[u32], footprints: &[Footprint]) -> Table {
    let bytes = |of: fn(&Footprint) -> Bytes| {
        footprints.iter().map(|footprint| of(footprint).0).collect::<Vec<u64>>()
    };
    Table::new()
        .with("gpu", "", gpus.iter().map(|gpu| u64::from(*gpu)).collect::<Vec<_>>())
        .with("context", "B", bytes(|it| it.context))
        .with("weights", "B", bytes(|it| it.weights))
        .with("gradients", "B", bytes(|it| it.gradients))
        .with("optimizer", "B", bytes(|it| it.optimizer))
        .with("aggregation", "B", bytes(|it| it.aggregation))
        .with("gathered", "B", bytes(|it| it.gathered))
        .with("samples", "B", bytes(|it| it.samples))
        .with("activations", "B", bytes(|it| it.activations))
        .with("workspace", "B", bytes(|it| it.workspace))
        .with("before", "B", bytes(Footprint::before))
        .with("total", "B", bytes(Footprint::total))
}

/// One row for each layer: how long it takes in a step on one GPU.
#[must_use]
pub fn times(network: &Network, times: &[LayerTime]) -> Table {
    let layers = || network.layers.iter();
    let seconds = |of: fn(&LayerTime) -> Picoseconds| {
        times.iter().map(|time| of(time).as_seconds()).collect::<Vec<f64>>()
    };
    Table::new()
        .with("name", "", layers().map(|it| it.name.clone()).collect::<Vec<_>>())
        .with("kind", "", layers().map(|it| it.kind.name().to_owned()).collect::<Vec<_>>())
        .with("forward", "s", seconds(|time| time.forward))
        .with("backward", "s", seconds(|time| time.backward))
        .with("update", "s", seconds(|time| time.update))
}

/// One row for each kernel that was asked alone: its operations, and how long it takes.
#[must_use]
pub fn kernels(kernels: &[(KernelShape, KernelTime)]) -> Table {
    let seconds = |of: fn(&KernelTime) -> Picoseconds| {
        kernels.iter().map(|(_, time)| of(time).as_seconds()).collect::<Vec<f64>>()
    };
    let operations = kernels.iter().map(|(shape, _)| 2.0 * shape.multiply_adds());
    Table::new()
        .with("operations", "", operations.collect::<Vec<_>>())
        .with("kernel", "s", seconds(|time| time.kernel))
        .with("cast", "s", seconds(|time| time.cast))
        .with("host", "s", seconds(|time| time.host))
        .with("time", "s", seconds(KernelTime::total))
}
