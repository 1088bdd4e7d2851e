//! The links of a cluster's run as columns: where each stands, and what it carried.
//!
//! A link's level says where in the network it is. What joins two levels of switches is named
//! after these, from where its data comes to where it goes; within a level it is `local` or
//! `global` in a dragonfly, and elsewhere `between switches`. Levels follow the wiring, not names.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::tables::makespan;
use super::{Cluster, ClusterOutcome};
use crate::network::packet::ChannelStatistics;
use crate::system::composition::System;
use crate::system::fabric::{End, Fabric, FabricChannel, FabricShape, SwitchId};
use crate::system::kinds::LinkKind;
use crate::system::views::fabric_facts::{heights, level_names};
use crate::table::Table;
use crate::units::Bandwidth;

/// Where levels stand in a list, from where messages enter the network to where they leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Injection,
    /// Upwards, by the heights of both ends.
    Up(u32, u32),
    Local,
    Global,
    /// Downwards: the deepest come last.
    Down(std::cmp::Reverse<u32>, std::cmp::Reverse<u32>),
    BetweenSwitches,
    /// Within servers.
    Inside,
    Ejection,
}

/// One direction of a link.
struct Row {
    number: u64,
    from: String,
    to: String,
    kind: &'static str,
    rank: Rank,
    level: String,
    /// The device that it is counted at: the lower switch, else where it starts.
    at: String,
    at_level: String,
    /// Of a dragonfly's switch: its group, and its number there.
    group: Option<(u64, u64)>,
    bandwidth: Bandwidth,
    carried: ChannelStatistics,
}

impl Row {
    /// The share of a time in which it would carry its data at its full bandwidth.
    fn utilisation(&self, seconds: f64) -> f64 {
        let most = self.bandwidth.0 as f64 * seconds;
        if most > 0.0 { self.carried.data.0 as f64 / most } else { 0.0 }
    }
}

/// What tells the place of a fabric's channels.
struct Places<'a> {
    system: &'a System,
    fabric: &'a Fabric,
    heights: Vec<u32>,
    levels: Vec<String>,
    /// Whether the nodes are described servers, whose interfaces have names.
    listed: bool,
}

/// Names an end of a fabric's channel; `listed` says whether nodes are described servers.
fn end_name(system: &System, fabric: &Fabric, listed: bool, end: End) -> String {
    match end {
        End::Switch(switch) => fabric.switch_name(switch),
        End::Node(port) if listed => match system.nic_of_port(port) {
            Some(nic) => system.device_name(system.nic_device(nic)),
            None => format!("port{port}"),
        },
        End::Node(node) => format!("node{node}"),
    }
}

/// Names every channel of the fabric, as `leaf0 to node3`, by its index.
#[must_use]
pub fn channel_names(system: &System) -> Vec<String> {
    let Some(fabric) = system.fabric() else { return Vec::new() };
    let listed = !system.kinds()[0].server().nics_meet_gpus();
    let name = |end| end_name(system, fabric, listed, end);
    let channels = fabric.channels().iter();
    channels.map(|channel| format!("{} to {}", name(channel.from), name(channel.to))).collect()
}

impl Places<'_> {
    fn name(&self, end: End) -> String {
        end_name(self.system, self.fabric, self.listed, end)
    }

    fn between(&self, from: SwitchId, to: SwitchId) -> (Rank, String) {
        let [a, b] = [from, to].map(|switch| self.heights[switch as usize]);
        let name = |height: u32| &self.levels[height as usize];
        let rank = match (a.cmp(&b), self.fabric.shape()) {
            (Ordering::Less, _) => Rank::Up(a, b),
            (Ordering::Greater, _) => Rank::Down(std::cmp::Reverse(a), std::cmp::Reverse(b)),
            (_, FabricShape::Dragonfly(shape)) if shape.group_of(from) == shape.group_of(to) => {
                return (Rank::Local, "local".to_owned());
            }
            (_, FabricShape::Dragonfly(_)) => return (Rank::Global, "global".to_owned()),
            _ => return (Rank::BetweenSwitches, "between switches".to_owned()),
        };
        (rank, format!("{} to {}", name(a), name(b)))
    }

    fn row(&self, number: u64, channel: &FabricChannel, carried: ChannelStatistics) -> Row {
        let (kind, rank, level, at) = match (channel.from, channel.to) {
            (End::Node(_), End::Switch(to)) => ("injection", Rank::Injection, None, to),
            (End::Switch(from), End::Node(_)) => ("ejection", Rank::Ejection, None, from),
            (End::Switch(from), End::Switch(to)) => {
                let (rank, level) = self.between(from, to);
                let down = matches!(rank, Rank::Down(..));
                ("switch", rank, Some(level), if down { to } else { from })
            }
            (End::Node(_), End::Node(_)) => unreachable!("a fabric's links end at a switch"),
        };
        let group = match self.fabric.shape() {
            FabricShape::Dragonfly(shape) => {
                let (group, size) = (shape.group_of(at), shape.switches_per_group);
                Some((u64::from(group), u64::from(at - group * size)))
            }
            _ => None,
        };
        Row {
            number,
            from: self.name(channel.from),
            to: self.name(channel.to),
            kind,
            rank,
            level: level.unwrap_or_else(|| kind.to_owned()),
            at: self.fabric.switch_name(at),
            at_level: self.levels[self.heights[at as usize] as usize].clone(),
            group,
            bandwidth: channel.bandwidth,
            carried,
        }
    }
}

/// Every direction of a link of the fabric, then those within servers that carried something;
/// those of abstract nodes are nobody's wires and have none.
fn rows(cluster: &Cluster, outcome: &ClusterOutcome) -> Vec<Row> {
    let system = &cluster.system;
    let mut rows = Vec::new();
    if let Some(fabric) = system.fabric() {
        let heights = heights(fabric);
        let levels = level_names(fabric, &heights);
        let listed = !system.kinds()[0].server().nics_meet_gpus();
        let places = Places { system, fabric, heights, levels, listed };
        let channels = (0..).zip(fabric.channels()).zip(&outcome.channels);
        rows.extend(channels.map(|((at, channel), carried)| places.row(at, channel, *carried)));
    }
    let inside = outcome.inside.iter().map(|(at, carried)| (*at, system.channel(*at), *carried));
    rows.extend(inside.filter(|(_, channel, _)| channel.kind != LinkKind::Direct).map(
        |(number, channel, carried)| Row {
            number: u64::from(number),
            from: system.device_name(channel.from),
            to: system.device_name(channel.to),
            kind: channel.kind.name(),
            rank: Rank::Inside,
            level: channel.kind.name().to_owned(),
            at: system.device_name(channel.from),
            at_level: "device".to_owned(),
            group: None,
            bandwidth: channel.bandwidth,
            carried,
        },
    ));
    rows
}

/// One row for each channel of the fabric, a direction of a link, and for each channel within a
/// server that carried something; those of abstract nodes are nobody's wires and have none.
///
/// `utilisation` is the share of the makespan in which the channel would carry its data at its
/// full bandwidth. `level` is one of [`levels`]; `at` is the device that the link is counted at,
/// the lower of two switches or else where it starts, and `at_level` what that is called in its
/// level, `device` within a server; `group` and `member` are those of a dragonfly's switch.
#[must_use]
pub fn links(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    let rows = rows(cluster, outcome);
    let seconds = makespan(outcome).as_seconds();
    let text = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).to_owned()).collect::<Vec<_>>();
    let count = |of: fn(&Row) -> u64| rows.iter().map(of).collect::<Vec<_>>();
    let bandwidths = rows.iter().map(|row| row.bandwidth.as_gigabytes_per_second());
    let utilisation = rows.iter().map(|row| row.utilisation(seconds));
    let group = |of: fn((u64, u64)) -> u64| {
        rows.iter().map(|row| row.group.map(of)).collect::<Vec<Option<u64>>>()
    };
    Table::new()
        .with("link", "", count(|row| row.number))
        .with("from", "", text(|row| &row.from))
        .with("to", "", text(|row| &row.to))
        .with("kind", "", text(|row| row.kind))
        .with("bandwidth", "GB/s", bandwidths.collect::<Vec<_>>())
        .with("data", "B", count(|row| row.carried.data.0))
        .with("packets", "", count(|row| row.carried.packets))
        .with("utilisation", "", utilisation.collect::<Vec<_>>())
        .with("longest_queue", "", count(|row| u64::from(row.carried.longest_queue)))
        .with("level", "", text(|row| &row.level))
        .with("at", "", text(|row| &row.at))
        .with("at_level", "", text(|row| &row.at_level))
        .with("group", "", group(|(group, _)| group))
        .with("member", "", group(|(_, member)| member))
}

/// One row for each level of links, from where messages enter the network to where they leave it.
///
/// Columns: `level`, `links` (its channels), `mean` and `most` (of their utilisation).
#[must_use]
pub fn levels(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    let seconds = makespan(outcome).as_seconds();
    let mut found: BTreeMap<(Rank, String), (u64, f64, f64)> = BTreeMap::new();
    for row in rows(cluster, outcome) {
        let utilisation = row.utilisation(seconds);
        let (links, sum, most) = found.entry((row.rank, row.level)).or_default();
        (*links, *sum, *most) = (*links + 1, *sum + utilisation, most.max(utilisation));
    }
    let column = |of: fn(&(u64, f64, f64)) -> f64| found.values().map(of).collect::<Vec<_>>();
    Table::new()
        .with("level", "", found.keys().map(|(_, level)| level.clone()).collect::<Vec<_>>())
        .with("links", "", found.values().map(|(links, ..)| *links).collect::<Vec<_>>())
        .with("mean", "", column(|(links, sum, _)| sum / *links as f64))
        .with("most", "", column(|(.., most)| *most))
}
