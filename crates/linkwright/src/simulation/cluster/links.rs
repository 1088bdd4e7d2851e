//! Turns the links of a cluster's run into columns: the place of each, and its load.
//!
//! A link's level says where in the network it is. A link that joins two levels of switches is
//! named after these, from where its data comes to where it goes. Within a level it is `local` or
//! `global` in a dragonfly, and elsewhere `between switches`. Levels follow the wiring, not names.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::tables::makespan;
use super::{Cluster, ClusterOutcome};
use crate::network::packet::ChannelStatistics;
use crate::network::{InnerCounts, LinkLoads};
use crate::system::composition::System;
use crate::system::fabric::{ChannelId, End, Fabric, FabricChannel, FabricShape, SwitchId};
use crate::system::kinds::LinkKind;
use crate::system::views::fabric_facts::{heights, level_names};
use crate::table::{Column, Table};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Orders levels in a list, from where messages enter the network to where they leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Injection,
    /// Upwards, by the heights of both ends.
    Up(u32, u32),
    Local,
    Global,
    /// It leads downwards: the deepest come last.
    Down(std::cmp::Reverse<u32>, std::cmp::Reverse<u32>),
    BetweenSwitches,
    /// It lies within servers.
    Inside,
    Ejection,
}

/// Describes one direction of a link.
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
    /// Gives the group of a dragonfly's switch, and its number there.
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

/// Tells the place of a fabric's channels.
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

/// Holds the loads of channels until the last job ended.
pub(super) struct Carried<'a> {
    pub(super) system: &'a System,
    /// Is by the fabric's channels.
    pub(super) across: Cow<'a, [ChannelStatistics]>,
    /// Is by number, of channels within servers that carried something.
    pub(super) inside: Cow<'a, [(ChannelId, ChannelStatistics)]>,
    pub(super) inner: InnerCounts,
    pub(super) seconds: f64,
}

impl<'a> Carried<'a> {
    /// Gives those of programs.
    pub(super) fn of(cluster: &'a Cluster, outcome: &'a ClusterOutcome) -> Self {
        Self {
            system: &cluster.system,
            across: Cow::Borrowed(&outcome.channels),
            inside: Cow::Borrowed(&outcome.inside),
            inner: outcome.loads.inner,
            seconds: makespan(outcome).as_seconds(),
        }
    }

    /// Gives those of a day, whose last job ended at a time.
    pub(super) fn of_day(system: &'a System, loads: &LinkLoads, end: Picoseconds) -> Self {
        let of = |bytes: u64| ChannelStatistics { data: Bytes(bytes), ..Default::default() };
        let fabric = system.fabric_channels();
        let mut across = vec![ChannelStatistics::default(); fabric];
        let mut inside = Vec::new();
        for (channel, bytes) in &loads.channels {
            let carried = of(bytes.iter().sum());
            match across.get_mut(*channel as usize) {
                Some(known) => *known = carried,
                None => inside.push((*channel, carried)),
            }
        }
        let (across, inside) = (Cow::Owned(across), Cow::Owned(inside));
        Self { system, across, inside, inner: loads.inner, seconds: end.as_seconds() }
    }

    /// Tells whether nobody knows the load of a row's link.
    fn is_unknown(&self, row: &Row) -> bool {
        self.inner == InnerCounts::Nothing && row.kind == "switch"
    }

    /// Tells whether only the data of a row's link is counted.
    fn is_data_alone(&self, row: &Row) -> bool {
        self.inner != InnerCounts::All && row.kind == "switch"
    }
}

/// Every direction of a link of the fabric, then those within servers that carried something;
/// those of abstract nodes are nobody's wires and have none.
fn rows(carried: &Carried<'_>) -> Vec<Row> {
    let system = carried.system;
    let mut rows = Vec::new();
    if let Some(fabric) = system.fabric() {
        let heights = heights(fabric);
        let levels = level_names(fabric, &heights);
        let listed = !system.kinds()[0].server().nics_meet_gpus();
        let places = Places { system, fabric, heights, levels, listed };
        let channels = (0..).zip(fabric.channels()).zip(carried.across.iter());
        rows.extend(channels.map(|((at, channel), carried)| places.row(at, channel, *carried)));
    }
    let inside = carried.inside.iter().map(|(at, carried)| (*at, system.channel(*at), *carried));
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

/// Gives one row for each channel of the fabric, a direction of a link, and for each channel within
/// a server that carried something. Channels of abstract nodes are nobody's wires and have no row.
///
/// `utilisation` is the share of the makespan in which the channel would carry its data at its full
/// bandwidth. `level` is one of [`levels`]. `at` is the device that the link is counted at: the
/// lower of two switches, or else where it starts. `at_level` is the name of that device's level,
/// `device` within a server. `group` and `member` belong to a dragonfly's switch. Counts of links
/// between switches that nobody knows are null.
#[must_use]
pub fn links(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    let carried = Carried::of(cluster, outcome);
    let rows = rows(&carried);
    let transfers = |of: fn(&Row) -> u64| -> Column {
        if carried.inner == InnerCounts::All {
            return rows.iter().map(of).collect::<Vec<_>>().into();
        }
        let of = |row: &Row| (!carried.is_data_alone(row)).then(|| of(row));
        rows.iter().map(of).collect::<Vec<Option<u64>>>().into()
    };
    let table = with_data(
        with_ends(&rows),
        &carried,
        &rows,
        &[("packets", transfers(|row| row.carried.packets))],
    );
    let longest = transfers(|row| u64::from(row.carried.longest_queue));
    with_places(table.with("longest_queue", "", longest), &rows)
}

/// Gives the same of a day, whose last job ended at a time, without packets and queues.
///
/// `link_kind` is the kind of link, as InfiniBand, also of the network's.
#[must_use]
pub fn links_of_day(system: &System, loads: &LinkLoads, end: Picoseconds) -> Table {
    let carried = Carried::of_day(system, loads, end);
    let rows = rows(&carried);
    let kind = |row: &Row| system.channel(row.number as ChannelId).kind.name().to_owned();
    let kinds: Vec<String> = rows.iter().map(kind).collect();
    let table = with_places(with_data(with_ends(&rows), &carried, &rows, &[]), &rows);
    table.with("link_kind", "", kinds)
}

/// Adds columns of the ends of links.
fn with_ends(rows: &[Row]) -> Table {
    let text = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).to_owned()).collect::<Vec<_>>();
    let bandwidths = rows.iter().map(|row| row.bandwidth.as_gigabytes_per_second());
    Table::new()
        .with("link", "", rows.iter().map(|row| row.number).collect::<Vec<_>>())
        .with("from", "", text(|row| &row.from))
        .with("to", "", text(|row| &row.to))
        .with("kind", "", text(|row| row.kind))
        .with("bandwidth", "GB/s", bandwidths.collect::<Vec<_>>())
}

/// Adds columns of the data of links; null where nobody knows.
fn with_data(
    table: Table,
    carried: &Carried<'_>,
    rows: &[Row],
    between: &[(&'static str, Column)],
) -> Table {
    let is_known = |row: &&Row| !carried.is_unknown(row);
    let (data, utilisation): (Column, Column) = if rows.iter().all(|row| is_known(&row)) {
        let used = rows.iter().map(|row| row.utilisation(carried.seconds));
        let data = rows.iter().map(|row| row.carried.data.0);
        (data.collect::<Vec<_>>().into(), used.collect::<Vec<_>>().into())
    } else {
        let known = || rows.iter().map(|row| Some(row).filter(is_known));
        let used = known().map(|row| Some(row?.utilisation(carried.seconds)));
        let data = known().map(|row| Some(row?.carried.data.0));
        (data.collect::<Vec<_>>().into(), used.collect::<Vec<_>>().into())
    };
    let table = table.with("data", "B", data);
    let with = |table: Table, (name, column): &(&'static str, Column)| {
        table.with(name, "", column.clone())
    };
    between.iter().fold(table, with).with("utilisation", "", utilisation)
}

/// Adds columns of where links are in the network.
fn with_places(table: Table, rows: &[Row]) -> Table {
    let text = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).to_owned()).collect::<Vec<_>>();
    let group = |of: fn((u64, u64)) -> u64| {
        rows.iter().map(|row| row.group.map(of)).collect::<Vec<Option<u64>>>()
    };
    table
        .with("level", "", text(|row| &row.level))
        .with("at", "", text(|row| &row.at))
        .with("at_level", "", text(|row| &row.at_level))
        .with("group", "", group(|(group, _)| group))
        .with("member", "", group(|(_, member)| member))
}

/// Gives one row for each level of links, from where messages enter the network to where they leave
/// it.
///
/// Columns: `level`, `links` (its channels), `mean` and `most` (of their utilisation; null where nobody knows it).
#[must_use]
pub fn levels(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    levels_of(&Carried::of(cluster, outcome))
}

/// Gives the same of a day, whose last job ended at a time.
#[must_use]
pub fn levels_of_day(system: &System, loads: &LinkLoads, end: Picoseconds) -> Table {
    levels_of(&Carried::of_day(system, loads, end))
}

fn levels_of(carried: &Carried<'_>) -> Table {
    let mut found: BTreeMap<(Rank, String), (u64, f64, f64, bool)> = BTreeMap::new();
    for row in rows(carried) {
        let (utilisation, is_unknown) =
            (row.utilisation(carried.seconds), carried.is_unknown(&row));
        let (links, sum, most, unknown) = found.entry((row.rank, row.level)).or_default();
        (*links, *sum, *most) = (*links + 1, *sum + utilisation, most.max(utilisation));
        *unknown |= is_unknown;
    }
    let column = |of: fn(&(u64, f64, f64, bool)) -> f64| -> Column {
        if found.values().all(|level| !level.3) {
            return found.values().map(of).collect::<Vec<f64>>().into();
        }
        let known = found.values().map(|level| (!level.3).then(|| of(level)));
        known.collect::<Vec<Option<f64>>>().into()
    };
    Table::new()
        .with("level", "", found.keys().map(|(_, level)| level.clone()).collect::<Vec<_>>())
        .with("links", "", found.values().map(|(links, ..)| *links).collect::<Vec<_>>())
        .with("mean", "", column(|(links, sum, ..)| sum / *links as f64))
        .with("most", "", column(|(_, _, most, _)| *most))
}
