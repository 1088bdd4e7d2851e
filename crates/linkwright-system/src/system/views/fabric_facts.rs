//! Lists the parts of a fabric: its levels of switches and its classes of links.

use std::collections::BTreeMap;

use crate::system::fabric::{End, Fabric, SwitchId};
use crate::table::Table;

/// Of each switch, how many links it is from the nearest switch that has nodes.
#[must_use]
pub fn heights(fabric: &Fabric) -> Vec<u32> {
    let mut heights = vec![u32::MAX; fabric.switches() as usize];
    let mut row: Vec<SwitchId> = (0..fabric.nodes()).map(|node| fabric.switch_of(node)).collect();
    for height in 0.. {
        row.sort_unstable();
        row.dedup();
        row.retain(|switch| heights[*switch as usize] == u32::MAX);
        if row.is_empty() {
            break;
        }
        row.iter().for_each(|switch| heights[*switch as usize] = height);
        let ends = row.iter().flat_map(|switch| fabric.outgoing(*switch));
        let ends = ends.map(|channel| fabric.channels()[*channel as usize].to);
        row = ends
            .filter_map(|end| match end {
                End::Switch(switch) => Some(switch),
                End::Node(_) => None,
            })
            .collect();
    }
    // A switch that no node can reach takes part in nothing, and stands highest.
    let highest = heights.iter().filter(|height| **height < u32::MAX).max().copied().unwrap_or(0);
    heights.iter().map(|height| if *height == u32::MAX { highest + 1 } else { *height }).collect()
}

/// Names each level, from the lowest. The name is its switches' name without their numbers.
#[must_use]
pub fn level_names(fabric: &Fabric, heights: &[u32]) -> Vec<String> {
    let mut names: Vec<Option<String>> = Vec::new();
    for (switch, height) in heights.iter().enumerate() {
        let name = fabric.switch_name(switch as SwitchId);
        let bare = name.rsplit('-').next().unwrap_or_default();
        let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit());
        let level = *height as usize;
        names.resize(names.len().max(level + 1), None);
        match &names[level] {
            None => names[level] = Some(bare.to_owned()),
            Some(known) if known != bare => names[level] = Some(String::new()),
            Some(_) => {}
        }
    }
    let named = names.iter().enumerate().map(|(height, name)| match name {
        Some(name) if !name.is_empty() => name.clone(),
        _ if height == 0 => "switch".to_owned(),
        _ => format!("switch {height} above"),
    });
    named.collect()
}

/// Gives one row per level of switches, from the level next to the nodes upwards.
///
/// Columns: `level` (what its switches are called), `switches`, `least_ports` and `most_ports` (that
/// are in use at one of them).
#[must_use]
pub fn levels(fabric: &Fabric) -> Table {
    let heights = heights(fabric);
    let mut rows: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for (switch, height) in heights.iter().enumerate() {
        let ports = fabric.outgoing(switch as SwitchId).len() as u64;
        let row = rows.entry(*height).or_insert((0, u64::MAX, 0));
        *row = (row.0 + 1, row.1.min(ports), row.2.max(ports));
    }
    let column = |of: fn(&(u64, u64, u64)) -> u64| rows.values().map(of).collect::<Vec<u64>>();
    Table::new()
        .with("level", "", level_names(fabric, &heights))
        .with("switches", "", column(|row| row.0))
        .with("least_ports", "", column(|row| row.1))
        .with("most_ports", "", column(|row| row.2))
}

/// Gives one row per class of links. Links of one class join the same levels at the same rate.
///
/// Columns: `from` and `to` (a level, or `node`), `links`, `bandwidth` of one in one direction,
/// `latency`. A link within a level has it at both ends.
#[must_use]
pub fn links(fabric: &Fabric) -> Table {
    let heights = heights(fabric);
    let names = level_names(fabric, &heights);
    let level = |end: End| match end {
        End::Node(_) => 0,
        End::Switch(switch) => heights[switch as usize] as usize + 1,
    };
    let name = |level: usize| if level == 0 { "node" } else { names[level - 1].as_str() };
    let mut rows: BTreeMap<(usize, usize, u64, u64), u64> = BTreeMap::new();
    for channel in fabric.channels().iter().step_by(2) {
        let (a, b) = (level(channel.from), level(channel.to));
        let class = (a.min(b), a.max(b), channel.bandwidth.0, channel.latency.0);
        *rows.entry(class).or_insert(0) += 1;
    }
    let ends = |of: fn(&(usize, usize, u64, u64)) -> usize| {
        rows.keys().map(|class| name(of(class)).to_owned()).collect::<Vec<_>>()
    };
    Table::new()
        .with("from", "", ends(|class| class.0))
        .with("to", "", ends(|class| class.1))
        .with("links", "", rows.values().copied().collect::<Vec<u64>>())
        .with("bandwidth", "B/s", rows.keys().map(|class| class.2).collect::<Vec<u64>>())
        .with("latency", "ps", rows.keys().map(|class| class.3).collect::<Vec<u64>>())
}
