//! Adds a kind of fabric: a hypercube, with a key for its dimensions, and one that its own routing heeds.

use linkwright::diagnostic::Registered;
use linkwright::system::fabric::{
    Fabric, FabricError, FabricKey, FabricKind, FabricParameters, FabricShape, FabricSpecification,
    FabricValue, FabricValueType, numberable, refuse,
};
use linkwright::units::{Bandwidth, Picoseconds};

/// Makes a switch with one node for each number; a link joins two whose numbers differ in one bit.
#[derive(Debug)]
pub struct Hypercube;

impl Registered for Hypercube {
    fn name(&self) -> &'static str {
        "hypercube"
    }
}

impl FabricKind for Hypercube {
    fn keys(&self) -> &'static [FabricKey] {
        const {
            &[
                FabricKey::count("order", "a hypercube", "its dimensions"),
                FabricKey::new(
                    "highest-first",
                    FabricValueType::Truth,
                    "a hypercube",
                    "whether `e-cube` corrects the highest bit of a packet's place first",
                )
                .or("false")
                .of_packets(),
            ]
        }
    }

    fn preset(&self, _: &FabricSpecification) -> Vec<(&'static str, FabricValue)> {
        vec![
            ("order", 5.into()),
            ("highest-first", false.into()),
            ("bandwidth", Bandwidth::gigabytes_per_second(25).into()),
            ("latency", Picoseconds(50_000).into()),
        ]
    }

    fn sizes(&self) -> &'static [&'static str] {
        &["order"]
    }

    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64> {
        let order = given.count("order").unwrap_or(ports.next_power_of_two().ilog2());
        let most = 1_u64.checked_shl(order).unwrap_or(0);
        if most < ports { Err(most) } else { Ok(given.with("order", order)) }
    }

    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError> {
        let order = parameters.count("order")?;
        let Some(nodes) = 1_u32.checked_shl(order) else {
            return refuse("order", order, "give at most 15");
        };
        numberable(u64::from(nodes).checked_mul(u64::from(order) + 1))?;
        let (to_node, between) = (parameters.node_rate()?, parameters.switch_rate()?);
        let of_nodes: Vec<_> = (0..nodes).map(|switch| to_node.to_node(switch)).collect();
        let pairs = (0..order).flat_map(|bit| (0..nodes).map(move |low| (low, low | 1 << bit)));
        let links: Vec<_> =
            pairs.filter(|(a, b)| a != b).map(|(a, b)| between.between(a, b)).collect();
        let name = format!("hypercube-{nodes}");
        Fabric::new(&name, FabricShape::Graph, nodes, &of_nodes, &links)
    }
}
