//! Reads routing tables from a file.
//!
//! ```toml
//! [[route]]
//! at = ["leaf0", "leaf1"]        # switches
//! to = ["leaf2"]                 # destinations: all nodes of these switches
//! to-nodes = [5]                 # and single nodes, before what `to` says of their switch
//! next = ["core0", "core1"]      # neighbours, of which routing chooses one
//! ```
//!
//! Every parallel link to a next switch is allowed. Several routes of one switch and one
//! destination add up. The reader checks the ways from every switch with nodes. All end at the
//! destination, none in a switch without a route, and none in a circle. Unknown keys are refused.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::graph::input_error;
use super::routing_tables::{RoutingTables, check_entries, neighbours, rows};
use super::{ChannelId, End, Fabric, NodeId, SwitchId};
use crate::diagnostic::{InputError, closest, from_toml, shown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    route: Vec<Route>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Route {
    at: Vec<Spanned<String>>,
    #[serde(default)]
    to: Vec<Spanned<String>>,
    #[serde(default)]
    to_nodes: Vec<Spanned<u32>>,
    next: Vec<Spanned<String>>,
}

/// Where a switch's packets for one destination go, and where the file says so.
#[derive(Clone)]
struct Entry {
    channels: Vec<ChannelId>,
    span: Range<usize>,
}

/// Holds the entries of one destination, by switch.
type Row = BTreeMap<SwitchId, Entry>;

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    fabric: &'a Fabric,
    ids: BTreeMap<String, SwitchId>,
}

/// Reads routing tables for a fabric from their TOML text; `file` names it in errors.
///
/// # Errors
/// Refuses text that is not TOML, and unknown keys, switches and nodes. Refuses a next switch that
/// no link joins. Refuses ways that end elsewhere or in a circle, which the error names. Each error
/// has file, line and column.
pub fn read_routing(file: &str, text: &str, fabric: &Fabric) -> Result<RoutingTables, InputError> {
    let parsed: File = from_toml(file, text)?;
    let named = (0..fabric.switches()).map(|id| (fabric.switch_name(id), id));
    let reader = Reader { file, text, fabric, ids: named.collect() };
    let (mut row_of_node, destinations) = rows(fabric);
    let mut table: Vec<Row> = vec![Row::new(); destinations.len()];
    let row_of_switch: BTreeMap<SwitchId, usize> =
        destinations.iter().enumerate().map(|(row, switch)| (*switch, row)).collect();
    let mut single: BTreeMap<NodeId, Row> = BTreeMap::new();
    for route in &parsed.route {
        for at in &route.at {
            let from = reader.switch(at)?;
            let mut channels = Vec::new();
            for next in &route.next {
                channels.extend(reader.channels(from, at.get_ref(), next)?);
            }
            for to in &route.to {
                let row = row_of_switch.get(&reader.switch(to)?).ok_or_else(|| {
                    reader.refuse(to.span(), "a destination without nodes", "name one with nodes")
                })?;
                add(&mut table[*row], from, &channels, at.span());
            }
            for node in &route.to_nodes {
                if *node.get_ref() >= fabric.nodes() {
                    let remedy = format!("nodes are 0 to {}", fabric.nodes() - 1);
                    return Err(reader.refuse(node.span(), "there is no such node", remedy));
                }
                let row = single.entry(*node.get_ref()).or_default();
                add(row, from, &channels, at.span());
            }
        }
    }
    // A node with routes of its own has a row of its own: its switch's, overridden.
    let mut ends = destinations.clone();
    for (node, own) in single {
        let shared = row_of_node[node as usize];
        let mut row = table[shared as usize].clone();
        row.extend(own);
        row_of_node[node as usize] = table.len() as u32;
        ends.push(fabric.switch_of(node));
        table.push(row);
    }
    let entries = table.len() as u64 * u64::from(fabric.switches());
    let too_large = |error: super::FabricError| {
        reader.refuse(0..0, error.to_string(), "give fewer routes to single nodes")
    };
    check_entries(entries).map_err(too_large)?;
    let mut tables = RoutingTables::with_room(fabric.switches(), row_of_node, table.len());
    for (row, end) in table.iter().zip(ends) {
        tables.note_length(reader.check(row, end, &destinations)?);
        for switch in 0..fabric.switches() {
            let entry = row.get(&switch).filter(|_| switch != end);
            let channels = entry.map_or(&[][..], |entry| &entry.channels);
            tables.push(channels).map_err(too_large)?;
        }
    }
    Ok(tables)
}

/// Adds ways to a row, each channel once, by index.
fn add(row: &mut Row, at: SwitchId, channels: &[ChannelId], span: Range<usize>) {
    let entry = row.entry(at).or_insert_with(|| Entry { channels: Vec::new(), span });
    entry.channels.extend(channels);
    entry.channels.sort_unstable();
    entry.channels.dedup();
}

impl Reader<'_> {
    fn refuse(
        &self,
        span: Range<usize>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> InputError {
        input_error(self.file, self.text, span, problem, remedy)
    }

    fn switch(&self, name: &Spanned<String>) -> Result<SwitchId, InputError> {
        self.ids.get(name.get_ref()).copied().ok_or_else(|| {
            let known: Vec<&str> = self.ids.keys().map(String::as_str).collect();
            let remedy = closest(name.get_ref(), &known).map_or_else(
                || "name a switch of the fabric".to_owned(),
                |meant| format!("did you mean `{}`?", shown(meant)),
            );
            self.refuse(name.span(), "there is no such switch", remedy)
        })
    }

    /// Lists the channels from a switch to a neighbour.
    fn channels(
        &self,
        from: SwitchId,
        from_name: &str,
        next: &Spanned<String>,
    ) -> Result<Vec<ChannelId>, InputError> {
        let to = self.switch(next)?;
        let all = neighbours(self.fabric, from);
        let channels: Vec<ChannelId> =
            all.filter(|(_, end)| *end == to).map(|(channel, _)| channel).collect();
        if channels.is_empty() {
            let problem = format!("no link leads there from `{}`", shown(from_name));
            let remedy = "name a neighbour, or add the link to the fabric";
            return Err(self.refuse(next.span(), problem, remedy));
        }
        Ok(channels)
    }

    /// Follows every way of a row from every switch with nodes and from every switch that has an
    /// entry. It goes depth first with a stack of its own; returns the links of the longest.
    fn check(&self, row: &Row, end: SwitchId, sources: &[SwitchId]) -> Result<u32, InputError> {
        const UNSEEN: u32 = u32::MAX;
        const OPEN: u32 = u32::MAX - 1;
        // How many links the longest way from each switch has.
        let mut length = vec![UNSEEN; self.fabric.switches() as usize];
        length[end as usize] = 0;
        let mut longest = 0;
        for first in sources.iter().chain(row.keys()) {
            if length[*first as usize] != UNSEEN {
                continue;
            }
            let mut way: Vec<(SwitchId, usize)> = vec![(*first, 0)];
            length[*first as usize] = OPEN;
            while let Some((at, tried)) = way.last_mut() {
                let at = *at;
                let Some(entry) = row.get(&at).filter(|entry| !entry.channels.is_empty()) else {
                    return Err(self.dead_end(row, &way, end));
                };
                let Some(channel) = entry.channels.get(*tried) else {
                    let next = entry.channels.iter().map(|id| self.head(*id) as usize);
                    let links = 1 + next.map(|next| length[next]).max().unwrap_or(0);
                    length[at as usize] = links;
                    longest = longest.max(links);
                    way.pop();
                    continue;
                };
                *tried += 1;
                let next = self.head(*channel);
                match length[next as usize] {
                    OPEN => return Err(self.circle(&way, next, end, entry)),
                    UNSEEN => {
                        length[next as usize] = OPEN;
                        way.push((next, 0));
                    }
                    _ => {}
                }
            }
        }
        Ok(longest)
    }

    /// The switch that a channel leads to.
    fn head(&self, channel: ChannelId) -> SwitchId {
        match self.fabric.channels()[channel as usize].to {
            End::Switch(switch) => switch,
            End::Node(_) => unreachable!("routes lead along links between switches"),
        }
    }

    fn name(&self, switch: SwitchId) -> String {
        shown(&self.fabric.switch_name(switch))
    }

    fn dead_end(&self, row: &Row, way: &[(SwitchId, usize)], end: SwitchId) -> InputError {
        let at = way.last().map_or(end, |(at, _)| *at);
        // The route that led here, or the start of the file where the first switch has none.
        let before = way.iter().rev().nth(1).and_then(|(switch, _)| row.get(switch));
        let span = before.map_or(0..0, |entry| entry.span.clone());
        let (at, end) = (self.name(at), self.name(end));
        let problem = format!("no route leads from {at} on to {end}");
        let remedy = format!("add a [[route]] with at = [\"{at}\"] and to = [\"{end}\"]");
        self.refuse(span, problem, remedy)
    }

    fn circle(
        &self,
        way: &[(SwitchId, usize)],
        again: SwitchId,
        end: SwitchId,
        entry: &Entry,
    ) -> InputError {
        let start = way.iter().position(|(switch, _)| *switch == again).unwrap_or(0);
        let mut names: Vec<String> =
            way[start..].iter().take(8).map(|(switch, _)| self.name(*switch)).collect();
        if way.len() - start > 8 {
            names.push("…".to_owned());
        }
        names.push(self.name(again));
        let problem = format!(
            "routes to {} run in a circle, {}, by that of",
            self.name(end),
            names.join(" → ")
        );
        self.refuse(entry.span.clone(), problem, "take one of these steps out")
    }
}
