//! GraphML: vertices, edges and `<data>` whose `<key>` names the attribute and its default.

use std::collections::BTreeMap;
use std::ops::Range;

use roxmltree::Node;

use super::super::dot_reader::Attributes;
use super::super::dot_statements::Parsed;
use super::Graph;
use crate::diagnostic::InputError;
use crate::xml;

const REMEDY: &str = "give what a library of graphs writes, such as NetworkX' `write_graphml`";
/// Limits the elements; a vertex and its attributes take a few.
const MOST_ELEMENTS: u32 = 1 << 24;

/// Tells whether a text is XML whose element is `graphml`.
pub(super) fn is_one(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<') && text.contains("<graphml")
}

pub(super) fn read(file: &str, text: &str) -> Result<Parsed, InputError> {
    let document = xml::parse(file, text, MOST_ELEMENTS, REMEDY)?;
    let mut graph = Graph::new(file, text);
    let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
    let all = || document.root_element().descendants().filter(Node::is_element);
    for key in all().filter(|node| node.tag_name().name() == "key") {
        let (Some(id), Some(name)) = (key.attribute("id"), key.attribute("attr.name")) else {
            continue;
        };
        keys.insert(id, name);
        let default = key.children().find(|node| node.tag_name().name() == "default");
        if let Some((value, span)) = default.and_then(content) {
            graph.of_graph(name, value, span);
        }
    }
    let Some(whole) = all().find(|node| node.tag_name().name() == "graph") else {
        return Err(graph.refuse(0..0, "there is no <graph>", REMEDY));
    };
    graph.parsed.is_directed = whole.attribute("edgedefault") == Some("directed");
    if let Some(id) = whole.attribute("id") {
        id.clone_into(&mut graph.parsed.name);
    }
    for (key, (value, span)) in data(&keys, whole) {
        graph.of_graph(&key, value, span);
    }
    let parts = || whole.children().filter(Node::is_element);
    for vertex in parts().filter(|node| node.tag_name().name() == "node") {
        let name = required(&graph, vertex, "id")?;
        let at = graph.vertex(name, head(vertex));
        graph.parsed.vertices[at].attributes = data(&keys, vertex);
    }
    for edge in parts().filter(|node| node.tag_name().name() == "edge") {
        let ends = (required(&graph, edge, "source")?, required(&graph, edge, "target")?);
        for name in [ends.0, ends.1] {
            if !graph.ids.contains_key(name) {
                let remedy = format!("give the graph a <node id=\"{name}\"/>");
                return Err(graph.refuse(head(edge), "no vertex", &remedy));
            }
        }
        let places = (graph.vertex(ends.0, head(edge)), graph.vertex(ends.1, head(edge)));
        graph.edge(places, head(edge), data(&keys, edge))?;
    }
    Ok(graph.finish())
}

/// Returns the place of an element's tag.
fn head(node: Node<'_, '_>) -> Range<usize> {
    let range = node.range();
    let length = node.document().input_text()[range.clone()].find('>').map_or(1, |end| end + 1);
    range.start..range.start + length
}

fn required<'n>(graph: &Graph<'_>, node: Node<'n, '_>, key: &str) -> Result<&'n str, InputError> {
    let value = node.attribute(key);
    value.ok_or_else(|| graph.refuse(head(node), &format!("there is no `{key}`"), REMEDY))
}

fn content(node: Node<'_, '_>) -> Option<(String, Range<usize>)> {
    let text = node.text()?.trim();
    (!text.is_empty()).then(|| (text.to_owned(), node.range()))
}

/// Returns the attributes that the `<data>` of an element give; a key that none declares names itself.
fn data(keys: &BTreeMap<&str, &str>, node: Node<'_, '_>) -> Attributes {
    let given = node.children().filter(|child| child.tag_name().name() == "data");
    given
        .filter_map(|child| {
            let key = child.attribute("key")?;
            let name = keys.get(key).copied().unwrap_or(key);
            content(child).map(|value| (name.to_owned(), value))
        })
        .collect()
}
