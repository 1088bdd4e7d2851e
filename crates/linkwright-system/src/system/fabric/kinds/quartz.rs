//! Makes trees like LLNL's Quartz a kind: with their keys, their preset, and the sizes that nobody
//! gave.
//!
//! A tree has as few leaves as are enough. It has as few cores as leave each an eighth of its ports
//! spare, as Quartz' have. A full pod reaches all cores, which bounds the leaves.

use super::{LARGEST, enough, fitting, links_of_study};
use crate::diagnostic::Registered;
use crate::system::fabric::{
    Fabric, FabricError, FabricKey, FabricKind, FabricParameters, FabricSpecification, FabricValue,
    FatTreeRates, PodTree, pod_tree,
};

/// Makes pods of leaves and aggregates, and cores. The last pod may be smaller.
#[derive(Debug)]
pub struct QuartzKind;

impl Registered for QuartzKind {
    fn name(&self) -> &'static str {
        "quartz"
    }
}

impl FabricKind for QuartzKind {
    fn keys(&self) -> &'static [FabricKey] {
        const {
            &[
                FabricKey::count("radix", "Quartz", "ports of a switch"),
                FabricKey::count("leaves", "Quartz", "leaf switches"),
                FabricKey::count("leaves-per-pod", "Quartz", ""),
                FabricKey::count("nodes-per-leaf", "Quartz", ""),
                FabricKey::count("uplinks", "Quartz", "links up of a leaf and of an aggregate"),
                FabricKey::count("cores", "Quartz", "core switches"),
            ]
        }
    }

    fn preset(&self, _: &FabricSpecification) -> Vec<(&'static str, FabricValue)> {
        let sizes = [
            ("radix", 48),
            ("leaves", 84),
            ("leaves-per-pod", 8),
            ("nodes-per-leaf", 32),
            ("uplinks", 16),
            ("cores", 32),
        ];
        sizes.map(|(key, value)| (key, value.into())).into_iter().chain(links_of_study()).collect()
    }

    fn sizes(&self) -> &'static [&'static str] {
        &["leaves", "cores"]
    }

    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64> {
        let whole = given.whole();
        let value = |key| u64::from(whole.count(key).unwrap_or(0));
        let (said_leaves, said_cores) = (given.count("leaves"), given.count("cores"));
        let of_leaf = value("nodes-per-leaf");
        // No pod has more leaves than there are.
        let leaves = said_leaves.map_or(u64::MAX, |leaves| u64::from(leaves.max(1)));
        let of_pod = value("leaves-per-pod").min(leaves);
        let (uplinks, radix) = (value("uplinks"), value("radix"));
        // Links that a core takes where nobody says how many cores there are.
        let of_core = (radix * 7 / 8).max(1);
        if of_leaf == 0 || of_pod == 0 || uplinks == 0 || said_cores == Some(0) {
            return Err(0);
        }
        if radix > LARGEST || of_leaf.max(uplinks) + uplinks > radix || of_pod > uplinks {
            return Err(0);
        }
        let links = said_cores.map_or(of_pod * uplinks * of_core, |cores| u64::from(cores) * radix);
        let divides = |leaves: u64| {
            let last = (leaves - 1) % of_pod + 1;
            uplinks.is_multiple_of(last) && uplinks.is_multiple_of(of_pod.min(leaves))
        };
        let largest = (1..=links / uplinks).rev().find(|leaves| divides(*leaves)).unwrap_or(0);
        let leaves = match said_leaves {
            Some(leaves) => u64::from(leaves).min(links / uplinks),
            None => {
                let wanted = ports.div_ceil(of_leaf);
                (wanted..=largest).find(|leaves| divides(*leaves)).unwrap_or(largest)
            }
        };
        enough(leaves * of_leaf, ports)?;
        if said_leaves.is_some_and(|said| u64::from(said) > leaves) {
            return Err(0);
        }
        let cores = said_cores.map_or((leaves * uplinks).div_ceil(of_core), u64::from);
        Ok(given.with("leaves", fitting(leaves)).with("cores", fitting(cores)))
    }

    fn limit(&self, given: &FabricSpecification) -> (&'static str, &'static str) {
        let blamed = if given.gives("radix") { "radix" } else { "kind" };
        (blamed, "raise `radix`")
    }

    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError> {
        let shape = PodTree {
            leaves: parameters.count("leaves")?,
            leaves_per_pod: parameters.count("leaves-per-pod")?,
            nodes_per_leaf: parameters.count("nodes-per-leaf")?,
            uplinks: parameters.count("uplinks")?,
            cores: parameters.count("cores")?,
            radix: parameters.count("radix")?,
        };
        let between = parameters.switch_rate()?;
        let rates = FatTreeRates { node: parameters.node_rate()?, leaf: between, core: between };
        pod_tree("quartz", &shape, &rates)
    }
}
