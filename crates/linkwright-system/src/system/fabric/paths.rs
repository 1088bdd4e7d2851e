//! Which links between a fabric's switches carry what goes from one port to another.
//!
//! Every switch divides data for a port over its links on the paths of fewest hops, by how much
//! they carry. Routings that spread do the same in the mean.
//!
//! The model leaves out routings that keep to one of the paths, and moments at which one of them
//! has more than another. A fabric whose switches pass on whatever all of its ports can send has
//! nothing to show: single switches, and fat-trees that are not tapered. Nor has a dragonfly, whose
//! default routing leads around links that are loaded: its paths depend on all that is under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{ChannelId, End, Fabric, FabricShape, FatTree, FatTreeLevel, NodeId, SwitchId};

/// Lists the channels between two switches, each with the part of the data that crosses it.
pub type FabricShares = Arc<[(ChannelId, f64)]>;

/// The links between the switches of a fabric that may hold up what its ports send.
#[derive(Debug, Clone)]
pub struct FabricPaths {
    fabric: Arc<Fabric>,
    /// Holds the shares by the switches of the two ports.
    known: Arc<Mutex<BTreeMap<(SwitchId, SwitchId), FabricShares>>>,
}

impl PartialEq for FabricPaths {
    fn eq(&self, other: &Self) -> bool {
        self.fabric == other.fabric
    }
}

impl Eq for FabricPaths {}

impl FabricPaths {
    /// Finds the paths of a fabric; None where its switches hold nothing up.
    #[must_use]
    pub fn of(fabric: &Arc<Fabric>) -> Option<Self> {
        let holds_up = match fabric.shape() {
            FabricShape::SingleSwitch | FabricShape::Dragonfly(_) => false,
            FabricShape::FatTree(tree) => is_tapered(fabric, tree),
            FabricShape::Torus(_) | FabricShape::Graph => true,
        };
        Self::of_shortest(fabric).filter(|_| holds_up)
    }

    /// Gives those of a fabric, even where its switches hold nothing up; None of a single switch, and of a dragonfly.
    #[must_use]
    pub fn of_shortest(fabric: &Arc<Fabric>) -> Option<Self> {
        let is_told = !matches!(fabric.shape(), FabricShape::Dragonfly(_));
        let has_links = fabric.channels().len() > Self::first(fabric) as usize;
        (is_told && has_links).then(|| Self { fabric: Arc::clone(fabric), known: Arc::default() })
    }

    /// Returns the first channel between switches.
    fn first(fabric: &Fabric) -> ChannelId {
        2 * fabric.nodes()
    }

    /// The first channel between switches; all from there on are.
    #[must_use]
    pub fn first_channel(&self) -> ChannelId {
        Self::first(&self.fabric)
    }

    /// Returns the channels between switches on the way from a port to another, by their ids. Each
    /// comes with the part of the sent data that crosses it. There are none where both are at one
    /// switch, or nothing joins them.
    #[must_use]
    pub fn shares(&self, from: NodeId, to: NodeId) -> FabricShares {
        let ends = (self.fabric.switch_of(from), self.fabric.switch_of(to));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(ends).or_insert_with(|| divided(&self.fabric, ends).into());
        Arc::clone(found)
    }
}

/// Whether a leaf or an aggregate of a fat-tree has more to send up than its links carry.
fn is_tapered(fabric: &Fabric, tree: &FatTree) -> bool {
    (0..fabric.switches()).any(|switch| {
        let level = tree.level(switch);
        let is_top =
            level == FatTreeLevel::Core || (level == FatTreeLevel::Aggregate && tree.cores == 0);
        let (mut up, mut down) = (0_u128, 0_u128);
        for channel in fabric.outgoing(switch) {
            let channel = &fabric.channels()[*channel as usize];
            let leads_up = matches!(channel.to, End::Switch(other) if tree.level(other) > level);
            *(if leads_up { &mut up } else { &mut down }) += u128::from(channel.bandwidth.0);
        }
        !is_top && up < down
    })
}

/// Where a channel between switches leads.
fn switch_behind(fabric: &Fabric, channel: ChannelId) -> Option<SwitchId> {
    match fabric.channels()[channel as usize].to {
        End::Switch(switch) => Some(switch),
        End::Node(_) => None,
    }
}

/// Divides data from one switch to another over the channels; returns the part of each, by their
/// ids.
fn divided(fabric: &Fabric, (from, to): (SwitchId, SwitchId)) -> Vec<(ChannelId, f64)> {
    // The hops to the end, nearest first, as far as the start.
    let mut hops = vec![u32::MAX; fabric.switches() as usize];
    hops[to as usize] = 0;
    let mut reached = vec![to];
    let mut at = 0;
    while hops[from as usize] == u32::MAX && at < reached.len() {
        let switch = reached[at];
        at += 1;
        for channel in fabric.outgoing(switch) {
            // A link has a channel each way.
            let Some(other) = switch_behind(fabric, *channel) else { continue };
            if hops[other as usize] == u32::MAX {
                hops[other as usize] = hops[switch as usize] + 1;
                reached.push(other);
            }
        }
    }
    if hops[from as usize] == u32::MAX {
        return Vec::new();
    }
    let mut parts: BTreeMap<ChannelId, f64> = BTreeMap::new();
    let mut arriving = BTreeMap::from([(from, 1.0_f64)]);
    for left in (0..hops[from as usize]).rev() {
        let mut next: BTreeMap<SwitchId, f64> = BTreeMap::new();
        for (switch, part) in arriving {
            let onward = fabric.outgoing(switch).iter().filter_map(|channel| {
                let behind = switch_behind(fabric, *channel)?;
                let width = fabric.channels()[*channel as usize].bandwidth.0 as f64;
                (hops[behind as usize] == left).then_some((*channel, behind, width))
            });
            let onward: Vec<_> = onward.collect();
            let total: f64 = onward.iter().map(|(.., width)| width).sum();
            for (channel, behind, width) in onward {
                let share = part * width / total;
                *parts.entry(channel).or_default() += share;
                *next.entry(behind).or_default() += share;
            }
        }
        arriving = next;
    }
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::fabric::{FabricSpecification, read_fabric};

    fn fabric(text: &str) -> Arc<Fabric> {
        Arc::new(read_fabric("fabric.toml", text).unwrap())
    }

    fn preset(kind: &str, ports: u32) -> Arc<Fabric> {
        Arc::new(FabricSpecification::preset(kind).unwrap().for_ports(ports).unwrap())
    }

    #[test]
    fn only_what_may_hold_ports_up_has_paths() {
        for kind in ["single-switch", "dragonfly"] {
            assert_eq!(FabricPaths::of(&preset(kind, 64)), None, "{kind}");
        }
        assert_eq!(FabricPaths::of(&preset("fat-tree", 64)), None);
        assert_eq!(FabricPaths::of(&preset("fat-tree", 2_048)), None);
        let tapered =
            fabric("kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 4\ntapering = 3\n");
        assert!(FabricPaths::of(&tapered).is_some());
        for kind in ["torus", "quartz"] {
            assert!(FabricPaths::of(&preset(kind, 200)).is_some(), "{kind}");
        }
    }

    #[test]
    fn a_leaf_divides_over_its_links_up() {
        let tree = fabric("kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 4\ntapering = 3\n");
        let paths = FabricPaths::of(&tree).unwrap();
        // Six ports a leaf, two links up, each to an aggregate of its own or both to one.
        let across = paths.shares(0, 6);
        assert!(across.len() == 4 && across.iter().all(|(_, part)| *part == 0.5), "{across:?}");
        assert!(paths.shares(0, 5).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// All that leaves the one switch comes to the other, and nothing is lost on the way.
        #[test]
        fn what_enters_leaves(
            kind in prop::sample::select(vec!["torus", "quartz"]),
            ends in (0_u32..200, 0_u32..200),
        ) {
            let fabric = preset(kind, 200);
            let paths = FabricPaths::of(&fabric).unwrap();
            let (from, to) = (fabric.switch_of(ends.0), fabric.switch_of(ends.1));
            let mut left: BTreeMap<SwitchId, f64> = BTreeMap::new();
            for (channel, part) in paths.shares(ends.0, ends.1).iter() {
                let channel = &fabric.channels()[*channel as usize];
                let (End::Switch(a), End::Switch(b)) = (channel.from, channel.to) else {
                    panic!("{channel:?} is a port's");
                };
                *left.entry(a).or_default() += part;
                *left.entry(b).or_default() -= part;
            }
            for (switch, left) in left {
                let expected = f64::from(switch == from) - f64::from(switch == to);
                prop_assert!((left - expected).abs() < 1e-9, "{switch}: {left}");
            }
        }
    }
}
