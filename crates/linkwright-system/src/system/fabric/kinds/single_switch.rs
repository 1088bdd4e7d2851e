//! One switch, with as many ports as are needed where nobody says how many.

use super::{enough, fitting};
use crate::diagnostic::Registered;
use crate::system::fabric::{
    Fabric, FabricError, FabricKey, FabricKind, FabricParameters, FabricSpecification, FabricValue,
    single_switch,
};

/// Puts one switch between all nodes.
#[derive(Debug)]
pub struct SingleSwitchKind;

impl Registered for SingleSwitchKind {
    fn name(&self) -> &'static str {
        "single-switch"
    }
}

impl FabricKind for SingleSwitchKind {
    fn keys(&self) -> &'static [FabricKey] {
        const { &[FabricKey::count("ports", "a single switch, each for one node", "")] }
    }

    /// Of the size of a Mellanox SB7800, which has 36 ports of 100 Gb/s EDR InfiniBand. Bandwidth and
    /// latency are those that the data sheets give a link of its kind.
    fn preset(&self, given: &FabricSpecification) -> Vec<(&'static str, FabricValue)> {
        let links = given.links().unwrap_or_default();
        let sheet = links.link_kind().data_sheet();
        vec![
            ("ports", 36.into()),
            ("bandwidth", sheet.bandwidth.into()),
            ("latency", sheet.latency.into()),
            ("links", links.into()),
        ]
    }

    fn sizes(&self) -> &'static [&'static str] {
        &["ports"]
    }

    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64> {
        let has = given.count("ports").map_or(ports, u64::from);
        enough(has, ports)?;
        Ok(given.with("ports", fitting(has)))
    }

    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError> {
        single_switch(parameters.count("ports")?, parameters.node_rate()?)
    }
}
