//! Makes dragonflies a kind: with their keys, their preset, and the sizes that nobody gave.
//!
//! A balanced one (Kim et al., ISCA 2008) has k nodes and k global links to a switch, and a = 2k
//! switches to a group. The number k is the smallest for which a·h + 1 groups are enough. There are as few groups
//! as are enough.

use super::{LARGEST, fitting, links_of_study};
use crate::diagnostic::Registered;
use crate::system::fabric::{
    Dragonfly, DragonflyRates, Fabric, FabricError, FabricKey, FabricKind, FabricParameters,
    FabricSpecification, FabricValue, FabricValueType, LinkRate, dragonfly,
};
use crate::units::Picoseconds;

/// Makes groups of switches that are joined all to all, and links between every two groups.
#[derive(Debug)]
pub struct DragonflyKind;

impl Registered for DragonflyKind {
    fn name(&self) -> &'static str {
        "dragonfly"
    }
}

const OF_GROUPS: &str = "a dragonfly's links between groups";

impl FabricKind for DragonflyKind {
    fn keys(&self) -> &'static [FabricKey] {
        const {
            &[
                FabricKey::count("nodes-per-switch", "a dragonfly", ""),
                FabricKey::count("switches-per-group", "a dragonfly", ""),
                FabricKey::count("global-links-per-switch", "a dragonfly", ""),
                FabricKey::count("groups", "a dragonfly", ""),
                FabricKey::new("global-bandwidth", FabricValueType::Bandwidth, OF_GROUPS, ""),
                FabricKey::new("global-latency", FabricValueType::Latency, OF_GROUPS, ""),
                FabricKey::new(
                    "intra-group-detours",
                    FabricValueType::Truth,
                    "a dragonfly",
                    "whether `valiant`, `ugal` and `progressive` may lead a packet over a third \
                     switch of its group",
                )
                .or("false")
                .of_packets(),
                FabricKey::new(
                    "hop-weights",
                    FabricValueType::Truth,
                    "a dragonfly",
                    "whether `ugal` and `progressive` multiply queues by the links of the paths \
                     behind them",
                )
                .or("as `intra_group_detours`")
                .of_packets(),
            ]
        }
    }

    /// Packets go the direct way within a group, as in CODES, by which the paper's figures were made.
    fn preset(&self, _: &FabricSpecification) -> Vec<(&'static str, FabricValue)> {
        let own = [
            ("nodes-per-switch", 8.into()),
            ("switches-per-group", 16.into()),
            ("global-links-per-switch", 8.into()),
            ("groups", 16.into()),
            ("intra-group-detours", false.into()),
            ("global-latency", Picoseconds(100_000).into()),
        ];
        own.into_iter().chain(links_of_study()).collect()
    }

    fn sizes(&self) -> &'static [&'static str] {
        &["groups", "switches-per-group", "nodes-per-switch", "global-links-per-switch"]
    }

    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64> {
        let said = |key| given.count(key).map(u64::from);
        let of_group =
            ["nodes-per-switch", "switches-per-group", "global-links-per-switch"].map(said);
        let sizes = if of_group.iter().all(Option::is_some) { 1..=1 } else { 1..=LARGEST };
        let mut most = 0;
        for size in sizes {
            let nodes = of_group[0].unwrap_or(size);
            let switches = of_group[1].unwrap_or(2 * size);
            let global = of_group[2].unwrap_or(size);
            let (each, largest) =
                (nodes.saturating_mul(switches), switches.saturating_mul(global).saturating_add(1));
            if each == 0 {
                return Err(0);
            }
            let groups = said("groups").unwrap_or_else(|| ports.div_ceil(each).min(largest));
            if groups > largest {
                continue;
            }
            most = most.max(groups.saturating_mul(each));
            if most >= ports {
                return Ok(given
                    .with("nodes-per-switch", fitting(nodes))
                    .with("switches-per-group", fitting(switches))
                    .with("global-links-per-switch", fitting(global))
                    .with("groups", fitting(groups)));
            }
        }
        Err(most)
    }

    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError> {
        let intra_group_detours = parameters.truth("intra-group-detours")?;
        let shape = Dragonfly {
            nodes_per_switch: parameters.count("nodes-per-switch")?,
            switches_per_group: parameters.count("switches-per-group")?,
            global_links_per_switch: parameters.count("global-links-per-switch")?,
            groups: parameters.count("groups")?,
            intra_group_detours,
            hop_weights: parameters.whole.truth("hop-weights").unwrap_or(intra_group_detours),
        };
        let local = parameters.switch_rate()?;
        let global = LinkRate {
            bandwidth: parameters.whole.bandwidth("global-bandwidth").unwrap_or(local.bandwidth),
            latency: parameters.whole.latency("global-latency").unwrap_or(local.latency),
        };
        dragonfly(&shape, &DragonflyRates { node: parameters.node_rate()?, local, global })
    }
}
