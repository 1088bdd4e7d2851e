//! Reads the arbitrary graph model: switches and links by name, in a TOML file.
//!
//! ```toml
//! name = "pair"
//! links = "infiniband"               # or "ethernet"; infiniband where absent
//!
//! [defaults]
//! bandwidth = "11.9 GB/s"            # of every link that gives none of its own
//! latency = "50 ns"                  # likewise
//! node-bandwidth = "25 GB/s"         # of the links of nodes; as above where absent
//! node-latency = "10 ns"             # likewise
//!
//! [[switch]]
//! names = ["left", "right"]
//! nodes = 16                         # of each of them; none where absent
//!
//! [[link]]
//! between = [["left", "right"]]
//! count = 2                          # parallel links, one where absent
//! bandwidth = "50 GB/s"              # of each; the default's where absent
//! latency = "100 ns"                 # likewise
//! ```
//!
//! Nodes are numbered in the order of the switches, links in that of the file. Unknown keys
//! are refused, and so are nodes that no path of links joins. Real networks have pods of
//! unequal size and spare ports, which is why the TraceR-CODES study added such a model
//! (Section III.A).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::links::LinkRate;
use super::{Fabric, FabricError, FabricShape, NodeLink, SwitchId, SwitchLink};
use crate::diagnostic::{Diagnose, Diagnosis, InputError, Position, closest, from_toml, shown};
use crate::system::NetworkKind;
use crate::units::{Bandwidth, Picoseconds};

/// Holds the lists of a graph's file, before it is a fabric: the common ground of its formats.
#[derive(Debug, Default)]
pub(super) struct GraphParts {
    pub name: String,
    /// Names of switches, each with the place that named it first.
    pub switches: Vec<(String, Range<usize>)>,
    pub nodes: Vec<NodeLink>,
    pub links: Vec<SwitchLink>,
    /// Gives the kind of all links.
    pub kind: NetworkKind,
}

impl GraphParts {
    /// The fabric, if its nodes are joined; `file` and `text` serve errors.
    pub fn build(self, file: &str, text: &str) -> Result<Fabric, InputError> {
        let spans: Vec<Range<usize>> = self.switches.iter().map(|(_, span)| span.clone()).collect();
        if let Some((_, span)) =
            self.switches.iter().find(|(name, _)| name.contains(char::is_control))
        {
            let remedy = "name switches without tabs, line breaks and the like";
            return Err(input_error(file, text, span.clone(), "no name of a switch", remedy));
        }
        let names = self.switches.into_iter().map(|(name, _)| name).collect();
        let count = spans.len() as u32;
        let refuse = |error: &FabricError, span: Range<usize>| {
            let Diagnosis { problem, remedy } = error.diagnosis();
            let remedy = remedy.unwrap_or_else(|| "mend the graph".to_owned());
            input_error(file, text, span, problem, remedy)
        };
        let built = Fabric::new(&self.name, FabricShape::Graph, count, &self.nodes, &self.links)
            .map_err(|error| refuse(&error, 0..0))?
            .with_switch_names(names)
            .with_links(self.kind.link_kind());
        built.check_connected().map_err(|error| {
            let place = match &error {
                FabricError::NotConnected { b, .. } => built.switch_of(*b),
                _ => 0,
            };
            refuse(&error, spans[place as usize].clone())
        })?;
        Ok(built)
    }
}

/// An error at a span of the text, whose first line is the value.
pub(super) fn input_error(
    file: &str,
    text: &str,
    span: Range<usize>,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> InputError {
    let position = Position::of_offset(text, span.start);
    InputError::at(file, position, problem, text.get(span).unwrap_or_default(), remedy)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default)]
    links: NetworkKind,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    switch: Vec<SwitchGroup>,
    #[serde(default)]
    link: Vec<LinkGroup>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Defaults {
    bandwidth: Option<Bandwidth>,
    latency: Option<Picoseconds>,
    node_bandwidth: Option<Bandwidth>,
    node_latency: Option<Picoseconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SwitchGroup {
    names: Vec<Spanned<String>>,
    #[serde(default)]
    nodes: u32,
    node_bandwidth: Option<Bandwidth>,
    node_latency: Option<Picoseconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkGroup {
    between: Vec<Spanned<(String, String)>>,
    #[serde(default = "one")]
    count: u32,
    bandwidth: Option<Bandwidth>,
    latency: Option<Picoseconds>,
}

const fn one() -> u32 {
    1
}

/// Reads a graph from its TOML text; `file` names it in errors.
///
/// # Errors
/// Refuses text that is not TOML, unknown keys, and switches named twice or not at all. Refuses
/// links without bandwidth or latency, and nodes that no path of links joins. Each error has file,
/// line and column.
pub fn read_graph(file: &str, text: &str) -> Result<Fabric, InputError> {
    let parsed: File = from_toml(file, text)?;
    let refuse =
        |span, problem: &str, remedy: String| input_error(file, text, span, problem, remedy);
    let absent = |span, key: &str| {
        let remedy =
            format!("give it here or under [defaults], as in `{key} = \"{}\"`", example(key));
        refuse(span, &format!("no {key} for"), remedy)
    };
    let room = Room { file, text };
    let mut ids: BTreeMap<&str, SwitchId> = BTreeMap::new();
    let name = if parsed.name.is_empty() { file.to_owned() } else { parsed.name.clone() };
    let mut parts = GraphParts { name, kind: parsed.links, ..GraphParts::default() };
    let defaults = &parsed.defaults;
    for group in &parsed.switch {
        for name in &group.names {
            let id = parts.switches.len() as SwitchId;
            if ids.insert(name.get_ref(), id).is_some() {
                return Err(refuse(
                    name.span(),
                    "a switch has this name already",
                    "rename it".into(),
                ));
            }
            parts.switches.push((name.get_ref().clone(), name.span()));
            if group.nodes == 0 {
                continue;
            }
            let bandwidth = group.node_bandwidth.or(defaults.node_bandwidth).or(defaults.bandwidth);
            let latency = group.node_latency.or(defaults.node_latency).or(defaults.latency);
            let rate = LinkRate {
                bandwidth: bandwidth.ok_or_else(|| absent(name.span(), "node-bandwidth"))?,
                latency: latency.ok_or_else(|| absent(name.span(), "node-latency"))?,
            };
            room.check(parts.nodes.len(), group.nodes, name.span())?;
            parts.nodes.extend(std::iter::repeat_n(rate.to_node(id), group.nodes as usize));
        }
    }
    let known: Vec<&str> = ids.keys().copied().collect();
    for group in &parsed.link {
        for pair in &group.between {
            let (a, b) = pair.get_ref();
            let unknown = |name: &str| {
                let remedy = closest(name, &known).map_or_else(
                    || "list it under a [[switch]]'s names".to_owned(),
                    |meant| format!("did you mean `{}`?", shown(meant)),
                );
                let problem = format!("there is no switch `{}`", shown(name));
                refuse(pair.span(), &problem, remedy)
            };
            let find = |name: &str| ids.get(name).copied().ok_or_else(|| unknown(name));
            let rate = LinkRate {
                bandwidth: group
                    .bandwidth
                    .or(defaults.bandwidth)
                    .ok_or_else(|| absent(pair.span(), "bandwidth"))?,
                latency: group
                    .latency
                    .or(defaults.latency)
                    .ok_or_else(|| absent(pair.span(), "latency"))?,
            };
            let link = rate.between(find(a)?, find(b)?);
            if link.a == link.b {
                let remedy = "remove it".to_owned();
                return Err(refuse(pair.span(), "a link joins a switch to itself", remedy));
            }
            room.check(parts.links.len(), group.count, pair.span())?;
            parts.links.extend(std::iter::repeat_n(link, group.count as usize));
        }
    }
    parts.build(file, text)
}

fn example(key: &str) -> &'static str {
    if key.ends_with("bandwidth") { "11.9 GB/s" } else { "50 ns" }
}

/// The most links of nodes that a file gives, and the most of switches.
const MOST_LISTED: usize = 1 << 20;

/// Refuses counts whose links would fill the memory, before there is any taken for them.
pub(super) struct Room<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Room<'_> {
    pub fn check(&self, there: usize, more: u32, span: Range<usize>) -> Result<(), InputError> {
        if there + more as usize <= MOST_LISTED {
            return Ok(());
        }
        let problem = format!("more than {MOST_LISTED} links");
        Err(input_error(self.file, self.text, span, problem, "give smaller counts"))
    }
}
