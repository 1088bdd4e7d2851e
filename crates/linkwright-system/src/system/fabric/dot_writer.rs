//! A fabric as a Graphviz graph, which [`super::read_dot`] reads back.

use std::fmt::Write as _;

use super::{End, Fabric, FabricChannel, FabricShape, FatTreeLevel, SwitchId};
use crate::system::kinds::LinkKind;
use crate::system::views::dot::quote;

/// Returns the fill of a switch: its level's in a fat-tree, its group's in turn in a dragonfly.
fn fill(fabric: &Fabric, switch: SwitchId) -> &'static str {
    const COLOURS: [&str; 4] = ["#dbe7f6", "#e3f1c8", "#fbd5a5", "#f3d9e6"];
    let index = match fabric.shape() {
        FabricShape::FatTree(tree) => match tree.level(switch) {
            FatTreeLevel::Leaf => 0,
            FatTreeLevel::Aggregate => 1,
            FatTreeLevel::Core => 2,
        },
        FabricShape::Dragonfly(fly) => fly.group_of(switch) as usize % COLOURS.len(),
        FabricShape::Torus(_) | FabricShape::SingleSwitch | FabricShape::Graph => 0,
    };
    COLOURS[index]
}

/// Writes the fabric in the DOT language, for `dot -Tsvg` or `sfdp -Tsvg`.
///
/// Every switch and node is a vertex with its `kind`. Every bundle of equal links next to each
/// other in number is an edge with its `count`, `bandwidth` and `latency`. [`super::read_dot`]
/// makes the same nodes, switches and channels of it.
#[must_use]
pub fn fabric_dot(fabric: &Fabric) -> String {
    // InfiniBand is what links are where nothing else is said.
    let links = match fabric.link_kind() {
        LinkKind::Infiniband => String::new(),
        kind => format!(", links={}", kind.name()),
    };
    let mut text = format!(
        "graph {} {{\n  graph [layout=sfdp, overlap=prism, outputorder=edgesfirst{links}]\n  \
         node [fontname=\"Helvetica\", style=filled]\n",
        quote(fabric.name())
    );
    let names: Vec<String> =
        (0..fabric.switches()).map(|switch| quote(&fabric.switch_name(switch))).collect();
    // Nodes need names that no switch has.
    let is_free = |prefix: &str| !names.iter().any(|name| name[1..].starts_with(prefix));
    let mut prefix = "node".to_owned();
    while !is_free(&prefix) {
        prefix.push('_');
    }
    for (switch, name) in names.iter().enumerate() {
        let colour = fill(fabric, switch as SwitchId);
        let _ = writeln!(text, "  {name} [kind=switch, shape=box, fillcolor=\"{colour}\"]");
    }
    let vertex = |end: End| match end {
        End::Switch(switch) => names[switch as usize].clone(),
        End::Node(node) => format!("{prefix}{node}"),
    };
    for node in 0..fabric.nodes() {
        let name = vertex(End::Node(node));
        let _ = writeln!(text, "  {name} [kind=node, shape=point, fillcolor=\"#6b7683\"]");
    }
    // The first of each link's two channels.
    let links: Vec<&FabricChannel> = fabric.channels().iter().step_by(2).collect();
    for bundle in links.chunk_by(|a, b| a == b) {
        let (channel, count) = (bundle[0], bundle.len());
        let (from, to) = (vertex(channel.from), vertex(channel.to));
        let (bandwidth, latency) = (channel.bandwidth, channel.latency);
        let counted = if count == 1 { String::new() } else { format!(", count={count}") };
        let _ = writeln!(
            text,
            "  {from} -- {to} [bandwidth=\"{bandwidth}\", latency=\"{latency}\"{counted}]"
        );
    }
    text.push_str("}\n");
    text
}
