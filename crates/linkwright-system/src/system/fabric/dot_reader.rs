//! Reads the arbitrary graph model from Graphviz' DOT language.
//!
//! ```dot
//! graph pair {
//!   edge [bandwidth="11.9 GB/s", latency="50 ns"]
//!   left [nodes=16]
//!   right
//!   left -- right [count=2]
//!   host [kind=node]
//!   host -- right [latency="10 ns"]
//! }
//! ```
//!
//! A vertex is a switch or a node. `kind=node` and `kind=switch` say which. Of the others, those
//! with one edge to one neighbour can be nodes. They are if no vertex is said to be one and none
//! has `nodes`, which attaches that many nodes to a switch. Edges carry `bandwidth`, `latency` and
//! `count` of parallel links. The links of `nodes` take `node_bandwidth` and `node_latency` of the
//! switch. `links=ethernet` of the graph says what all links are. Defaults are given as always in
//! DOT, by `edge [...]`, `node [...]`.
//!
//! Links are full duplex. In a directed graph an edge and its opposite are one link, and an edge
//! without its opposite is one too. Nodes are numbered in the order in which the text first names
//! them, those of `nodes` at the place of their switch. Ports, other attributes, and the look of
//! clusters are left aside.

use std::collections::BTreeMap;
use std::ops::Range;

use super::dot_statements::{Edge, Parsed, Vertex, parse};
use super::graph::{GraphParts, Room, input_error};
use super::links::LinkRate;
use super::{Fabric, NodeLink, SwitchId};
use crate::diagnostic::{InputError, Named as _};
use crate::system::NetworkKind;
use crate::units::{Bandwidth, Picoseconds};

/// Holds each attribute's value with its place.
pub(super) type Attributes = BTreeMap<String, (String, Range<usize>)>;

/// Says whether a vertex is a switch or a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Switch,
    Node,
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

/// Reads a graph from its DOT text; `file` names it in errors.
///
/// # Errors
/// Refuses text that is not DOT, values of no unit, and links without bandwidth or latency. Refuses
/// a node with other than one link, and nodes that no path of links joins. Each error has file,
/// line and column.
pub fn read_dot(file: &str, text: &str) -> Result<Fabric, InputError> {
    fabric_of(file, text, parse(file, text)?)
}

/// Makes the network of a text's vertices and edges.
///
/// # Errors
/// Fails as [`read_dot`] does, but for the text's own grammar.
pub(super) fn fabric_of(file: &str, text: &str, mut parsed: Parsed) -> Result<Fabric, InputError> {
    let reader = Reader { file, text };
    let edges = reader.links(&mut parsed)?;
    let roles = reader.roles(&parsed.vertices, &edges)?;
    let room = Room { file, text };
    let mut parts = GraphParts { name: parsed.name, ..GraphParts::default() };
    if let Some((value, span)) = &parsed.links {
        parts.kind = NetworkKind::from_name(value).map_err(|_| {
            reader.refuse(span, "no kind of links", "write links=infiniband or links=ethernet")
        })?;
    }
    if parts.name.is_empty() {
        file.clone_into(&mut parts.name);
    }
    let mut ids: Vec<SwitchId> = Vec::with_capacity(roles.len());
    for (vertex, role) in parsed.vertices.iter().zip(&roles) {
        ids.push(parts.switches.len() as SwitchId);
        if *role == Role::Switch {
            parts.switches.push((vertex.name.clone(), vertex.span.clone()));
        }
    }
    let mut of_node: Vec<Option<NodeLink>> = vec![None; roles.len()];
    for edge in &edges {
        let (a, b) = (edge.from, edge.to);
        let count = reader.count(&edge.attributes, "count")?.unwrap_or(1);
        let rate = LinkRate {
            bandwidth: reader.bandwidth(&edge.attributes, "bandwidth", "edge", &edge.span)?,
            latency: reader.latency(&edge.attributes, "latency", "edge", &edge.span)?,
        };
        let (node, switch) = match (roles[a], roles[b]) {
            (Role::Switch, Role::Switch) => {
                room.check(parts.links.len(), count, edge.span.clone())?;
                let link = rate.between(ids[a], ids[b]);
                parts.links.extend(std::iter::repeat_n(link, count as usize));
                continue;
            }
            (Role::Node, Role::Switch) => (a, b),
            (Role::Switch, Role::Node) => (b, a),
            (Role::Node, Role::Node) => {
                return Err(reader.refuse(
                    &edge.span,
                    "a link joins two nodes",
                    "put a switch between, or mark one with kind=switch",
                ));
            }
        };
        if count != 1 || of_node[node].replace(rate.to_node(ids[switch])).is_some() {
            let remedy = "a node has one link to one switch; mark a switch with kind=switch";
            return Err(reader.refuse(&edge.span, "another link of one node", remedy));
        }
    }
    for (index, vertex) in parsed.vertices.iter().enumerate() {
        if roles[index] == Role::Node {
            let link = of_node[index].ok_or_else(|| {
                reader.refuse(&vertex.span, "a node without a link", "join it to a switch")
            })?;
            parts.nodes.push(link);
            continue;
        }
        let count = reader.count(&vertex.attributes, "nodes")?.unwrap_or(0);
        if count > 0 {
            let rate = reader.rate_of_nodes(vertex, &parsed.edge_defaults)?;
            room.check(parts.nodes.len(), count, vertex.span.clone())?;
            parts.nodes.extend(std::iter::repeat_n(rate.to_node(ids[index]), count as usize));
        }
    }
    parts.build(file, text)
}

impl Reader<'_> {
    fn refuse(&self, span: &Range<usize>, problem: &str, remedy: &str) -> InputError {
        input_error(self.file, self.text, span.clone(), problem, remedy)
    }

    /// The links: every edge but the opposites of edges in a directed graph, and the copies of
    /// edges in a strict one.
    fn links(&self, parsed: &mut Parsed) -> Result<Vec<Edge>, InputError> {
        let mut links: Vec<Edge> = Vec::new();
        // Edges of a directed graph that still lack an opposite, by their ends.
        let mut single: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let mut seen = std::collections::BTreeSet::new();
        for edge in std::mem::take(&mut parsed.edges) {
            let (from, to) = (edge.from, edge.to);
            if from == to {
                return Err(self.refuse(
                    &edge.span,
                    "a link joins a vertex to itself",
                    "remove it",
                ));
            }
            let ends = if parsed.is_directed { (from, to) } else { (from.min(to), from.max(to)) };
            if parsed.is_strict && !seen.insert(ends) {
                continue;
            }
            if parsed.is_directed {
                if let Some(opposite) = single.get_mut(&(to, from)).and_then(Vec::pop) {
                    for key in ["bandwidth", "latency", "count"] {
                        let value = |edge: &Edge| edge.attributes.get(key).map(|(v, _)| v.clone());
                        if value(&edge) != value(&links[opposite]) {
                            let problem = format!("a {key} unlike that of the opposite edge");
                            let remedy = "give both directions of a link the same";
                            return Err(self.refuse(&edge.span, &problem, remedy));
                        }
                    }
                    continue;
                }
                single.entry((from, to)).or_default().push(links.len());
            }
            links.push(edge);
        }
        Ok(links)
    }

    fn roles(&self, vertices: &[Vertex], links: &[Edge]) -> Result<Vec<Role>, InputError> {
        let mut said: Vec<Option<Role>> = Vec::with_capacity(vertices.len());
        let mut nodes_are_marked = false;
        for vertex in vertices {
            let role = match vertex.attributes.get("kind") {
                None => None,
                Some((kind, _)) if kind == "node" => Some(Role::Node),
                Some((kind, _)) if kind == "switch" => Some(Role::Switch),
                Some((_, span)) => {
                    let remedy = "write kind=node or kind=switch";
                    return Err(self.refuse(span, "no kind of vertex", remedy));
                }
            };
            let with_nodes = vertex.attributes.get("nodes");
            if let (Some(Role::Node), Some((_, span))) = (role, with_nodes) {
                return Err(self.refuse(span, "nodes of a node", "give them to a switch"));
            }
            nodes_are_marked |= role == Some(Role::Node) || with_nodes.is_some();
            said.push(role);
        }
        let mut degree = vec![0_usize; vertices.len()];
        for link in links {
            degree[link.from] += 1;
            degree[link.to] += 1;
        }
        let guess = |degree: usize| {
            if degree == 1 && !nodes_are_marked { Role::Node } else { Role::Switch }
        };
        Ok(said.into_iter().zip(degree).map(|(role, d)| role.unwrap_or(guess(d))).collect())
    }

    /// Returns the rate of the nodes that a switch's `nodes` attaches.
    fn rate_of_nodes(
        &self,
        vertex: &Vertex,
        edge_defaults: &Attributes,
    ) -> Result<LinkRate, InputError> {
        let attributes = &vertex.attributes;
        let given = |own: &'static str, shared: &'static str| {
            let both = [(attributes, own), (edge_defaults, shared)];
            both.into_iter().find(|(given, key)| given.contains_key(*key)).unwrap_or(both[0])
        };
        let (of, key) = given("node_bandwidth", "bandwidth");
        let bandwidth = self.bandwidth(of, key, "node", &vertex.span)?;
        let (of, key) = given("node_latency", "latency");
        let latency = self.latency(of, key, "node", &vertex.span)?;
        Ok(LinkRate { bandwidth, latency })
    }

    fn count(&self, attributes: &Attributes, key: &str) -> Result<Option<u32>, InputError> {
        let Some((value, span)) = attributes.get(key) else { return Ok(None) };
        match value.parse() {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(self.refuse(span, "no count", "write a whole number such as 2")),
        }
    }

    fn bandwidth(
        &self,
        attributes: &Attributes,
        key: &str,
        of: &str,
        at: &Range<usize>,
    ) -> Result<Bandwidth, InputError> {
        self.quantity(attributes, key, of, at, "11.9 GB/s")
    }

    fn latency(
        &self,
        attributes: &Attributes,
        key: &str,
        of: &str,
        at: &Range<usize>,
    ) -> Result<Picoseconds, InputError> {
        self.quantity(attributes, key, of, at, "50 ns")
    }

    fn quantity<T: std::str::FromStr>(
        &self,
        attributes: &Attributes,
        key: &str,
        of: &str,
        at: &Range<usize>,
        example: &str,
    ) -> Result<T, InputError> {
        let Some((value, span)) = attributes.get(key) else {
            let remedy = format!("give it, or all of them by {of} [{key}=\"{example}\"]");
            return Err(self.refuse(at, &format!("no {key} for"), &remedy));
        };
        let remedy = format!("write a number and a unit such as \"{example}\"");
        value.parse().map_err(|_| self.refuse(span, &format!("no {key}"), &remedy))
    }
}
