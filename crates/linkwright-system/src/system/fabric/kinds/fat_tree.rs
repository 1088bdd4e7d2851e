//! Makes fat-trees a kind: with their keys, their preset, and the sizes that nobody gave.
//!
//! A tree has the smallest switches of 4, 8, 16, 32, … ports whose full tree is large enough. A full
//! tree has as many pods, or leaves, as a switch has ports. Up to 16 ports a tree is always full. Beyond
//! it has as few pods as are enough, a power of two; where the radix is given, any number. So a tree
//! without a given size has 16, 128 or 1,024 ports, or a power of two from 2,048 on. The preset has
//! 2,048.

use super::{LARGEST, fitting, links_of_study};
use crate::diagnostic::Registered;
use crate::system::fabric::{
    Fabric, FabricError, FabricKey, FabricKind, FabricParameters, FabricSpecification, FabricValue,
    FatTree, FatTreeRates, fat_tree, refuse,
};

/// Makes pods of leaf and aggregate switches, and the core switches that join them.
#[derive(Debug)]
pub struct FatTreeKind;

/// Bounds the switches that make only full trees where no size is given.
const ALWAYS_FULL: u64 = 16;

impl Registered for FatTreeKind {
    fn name(&self) -> &'static str {
        "fat-tree"
    }
}

impl FabricKind for FatTreeKind {
    fn keys(&self) -> &'static [FabricKey] {
        const {
            &[
                FabricKey::count("levels", "a fat-tree", "levels of switches, 2 or 3"),
                FabricKey::count("radix", "a fat-tree", "ports of a switch"),
                FabricKey::count("pods", "a fat-tree of three levels", ""),
                FabricKey::count("leaves", "a fat-tree of two levels", "leaf switches"),
                FabricKey::count("tapering", "a fat-tree", "nodes for each link up of a leaf"),
            ]
        }
    }

    fn preset(&self, _: &FabricSpecification) -> Vec<(&'static str, FabricValue)> {
        let sizes = [("levels", 3), ("radix", 32), ("pods", 8), ("tapering", 1)];
        sizes.map(|(key, value)| (key, value.into())).into_iter().chain(links_of_study()).collect()
    }

    fn sizes(&self) -> &'static [&'static str] {
        &["pods", "leaves", "radix"]
    }

    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64> {
        let whole = given.whole();
        let (size, said) = match whole.count("levels") {
            Some(2) => ("leaves", given.count("leaves")),
            Some(3) => ("pods", given.count("pods")),
            _ => return Err(0),
        };
        let tapering = u64::from(whole.count("tapering").unwrap_or(1));
        let radices = match given.count("radix") {
            Some(radix) => vec![u64::from(radix)],
            None => doublings(4, LARGEST).collect(),
        };
        let mut most = 0;
        for radix in radices {
            // Nodes of a leaf; a pod has half as many leaves as a switch has ports.
            let of_leaf = radix / (tapering + 1) * tapering;
            let each = if size == "leaves" { of_leaf } else { radix / 2 * of_leaf };
            let wanted = match (said, given.count("radix")) {
                _ if each == 0 => continue,
                (Some(said), _) if u64::from(said) > radix => continue,
                (Some(said), _) => u64::from(said),
                (None, Some(_)) => ports.div_ceil(each).min(radix),
                (None, None) if radix <= ALWAYS_FULL => radix,
                (None, None) => ports.div_ceil(each).next_power_of_two().min(radix),
            };
            most = most.max(wanted.saturating_mul(each));
            if most >= ports {
                return Ok(given.with("radix", fitting(radix)).with(size, fitting(wanted)));
            }
        }
        Err(most)
    }

    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError> {
        let between = parameters.switch_rate()?;
        let rates = FatTreeRates { node: parameters.node_rate()?, leaf: between, core: between };
        fat_tree(&shape(parameters)?, &rates)
    }
}

fn shape(parameters: &FabricParameters<'_>) -> Result<FatTree, FabricError> {
    let radix = parameters.count("radix")?;
    let tapering = parameters.count("tapering")?;
    match parameters.count("levels")? {
        2 => {
            if let Some(pods) = parameters.given.count("pods") {
                return refuse("pods", pods, "a tree of 2 levels has `leaves` instead");
            }
            let leaves = parameters.whole.count("leaves").unwrap_or(radix);
            FatTree::two_levels(radix, leaves, tapering)
        }
        3 => {
            if let Some(leaves) = parameters.given.count("leaves") {
                return refuse("leaves", leaves, "a tree of 3 levels has `pods` instead");
            }
            FatTree::three_levels(radix, parameters.count("pods")?, tapering)
        }
        other => refuse("levels", other, "give 2 or 3"),
    }
}

/// Gives a number, its double, and so on up to another.
fn doublings(first: u64, last: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(first), move |radix| (2 * radix <= last).then_some(2 * radix))
}
