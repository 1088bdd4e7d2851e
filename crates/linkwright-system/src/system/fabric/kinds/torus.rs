//! Makes tori a kind: with their keys, their preset, and the sizes that nobody gave.
//!
//! A torus has three dimensions, the longest at most twice the shortest. It is the one of the fewest
//! switches, then of the shortest longest side. Where the dimensions are given, it has as few nodes to a
//! switch as are enough.

use super::{enough, fitting, links_of_study};
use crate::diagnostic::Registered;
use crate::system::fabric::{
    Fabric, FabricError, FabricKey, FabricKind, FabricParameters, FabricSpecification, FabricValue,
    FabricValueType, Torus, TorusRates, torus,
};

/// Makes grids of switches that wrap around.
#[derive(Debug)]
pub struct TorusKind;

impl Registered for TorusKind {
    fn name(&self) -> &'static str {
        "torus"
    }
}

impl FabricKind for TorusKind {
    fn keys(&self) -> &'static [FabricKey] {
        const {
            &[
                FabricKey::new("dimensions", FabricValueType::Counts, "a torus", "its sizes"),
                FabricKey::count("nodes-per-switch", "a torus", ""),
            ]
        }
    }

    /// Has as many nodes as the paper's largest fat-tree, in the shape of a small Blue Gene; the paper
    /// has no torus.
    fn preset(&self, _: &FabricSpecification) -> Vec<(&'static str, FabricValue)> {
        let own = [("dimensions", vec![8, 16, 16].into()), ("nodes-per-switch", 1.into())];
        own.into_iter().chain(links_of_study()).collect()
    }

    fn sizes(&self) -> &'static [&'static str] {
        &["nodes-per-switch", "dimensions"]
    }

    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64> {
        if let Some(dimensions) = given.counts("dimensions") {
            let sizes = dimensions.iter().map(|size| u64::from(*size));
            let switches = sizes.fold(1, u64::saturating_mul);
            if switches == 0 {
                return Err(0);
            }
            let said = given.count("nodes-per-switch");
            let nodes = said.map_or(ports.div_ceil(switches), u64::from);
            enough(nodes.saturating_mul(switches), ports)?;
            return Ok(given.with("nodes-per-switch", fitting(nodes)));
        }
        let nodes = u64::from(given.whole().count("nodes-per-switch").unwrap_or(1));
        if nodes == 0 {
            return Err(0);
        }
        let dimensions = near_cube(ports.div_ceil(nodes)).map(fitting).to_vec();
        Ok(given.with("dimensions", dimensions).with("nodes-per-switch", fitting(nodes)))
    }

    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError> {
        let shape = Torus {
            dimensions: parameters.counts("dimensions")?,
            nodes_per_switch: parameters.count("nodes-per-switch")?,
        };
        let rates = TorusRates { node: parameters.node_rate()?, switch: parameters.switch_rate()? };
        torus(&shape, &rates)
    }
}

/// Finds the sides of the smallest box that has the places, in rising order. The longest is at most
/// twice the shortest. Of equal boxes it takes the shortest longest side.
fn near_cube(places: u64) -> [u64; 3] {
    let mut best = (u64::MAX, u64::MAX, [0; 3]);
    for low in (1_u64..).take_while(|low| (low - 1).pow(3) < places) {
        for middle in low..=2 * low {
            let high = places.div_ceil(low * middle).max(middle);
            let found = (low * middle * high, high, [low, middle, high]);
            if high <= 2 * low && found < best {
                best = found;
            }
        }
    }
    best.2
}
