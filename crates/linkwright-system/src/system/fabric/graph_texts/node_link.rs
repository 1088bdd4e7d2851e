//! Node-link JSON, as NetworkX' `node_link_data` and D3 have it.
//!
//! ```json
//! {"graph": {"bandwidth": "12.5 GB/s", "latency": "50 ns", "nodes": 4},
//!  "nodes": [{"id": "north"}, {"id": "east"}],
//!  "links": [{"source": "north", "target": "east", "count": 2}]}
//! ```
//!
//! `edges` is read as `links` is.

use std::ops::Range;

use serde_json::{Map, Value};

use super::super::dot_reader::Attributes;
use super::super::dot_statements::Parsed;
use super::Graph;
use crate::diagnostic::{InputError, Position};

const REMEDY: &str = "write {\"nodes\": [{\"id\": \"left\"}], \"links\": [{\"source\": \"left\", \
    \"target\": \"right\"}]}";

/// Tells whether a text is JSON that names nodes and links.
pub(super) fn is_one(text: &str) -> bool {
    let has = |key: &str| text.contains(key);
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
        && has("\"nodes\"")
        && (has("\"links\"") || has("\"edges\""))
}

pub(super) fn read(file: &str, text: &str) -> Result<Parsed, InputError> {
    let bare = text.trim_start_matches('\u{feff}');
    let whole: Value = serde_json::from_str(bare).map_err(|error| {
        let position = Position { line: error.line().max(1), column: error.column().max(1) };
        let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
        InputError::at(file, position, format!("this is not JSON ({error})"), line, REMEDY)
    })?;
    let mut graph = Graph::new(file, text);
    graph.parsed.is_directed = whole.get("directed") == Some(&Value::Bool(true));
    if let Some(Value::Object(own)) = whole.get("graph") {
        for (key, (value, span)) in attributes(text, own, &[]) {
            graph.of_graph(&key, value, span);
        }
    }
    for vertex in objects(&graph, &whole, &["nodes"])? {
        let (name, span) = named(&graph, vertex, "id")?;
        let at = graph.vertex(&name, span);
        graph.parsed.vertices[at].attributes = attributes(text, vertex, &["id"]);
    }
    for edge in objects(&graph, &whole, &["links", "edges"])? {
        let ends = ["source", "target"].map(|key| named(&graph, edge, key));
        let [(from, span), (to, behind)] = match ends {
            [Ok(from), Ok(to)] => [from, to],
            [Err(error), _] | [_, Err(error)] => return Err(error),
        };
        for (name, span) in [(&from, &span), (&to, &behind)] {
            if !graph.ids.contains_key(name) {
                return Err(graph.refuse(span.clone(), "no vertex", "list it in `nodes`"));
            }
        }
        let places = (graph.vertex(&from, span.clone()), graph.vertex(&to, behind));
        graph.edge(places, span, attributes(text, edge, &["source", "target", "key"]))?;
    }
    Ok(graph.finish())
}

/// Returns the objects of the first list of these names.
fn objects<'v>(
    graph: &Graph<'_>,
    whole: &'v Value,
    keys: &[&str],
) -> Result<Vec<&'v Map<String, Value>>, InputError> {
    let list = keys.iter().find_map(|key| whole.get(*key)).and_then(Value::as_array);
    let refuse = || graph.refuse(0..0, &format!("`{}` is no list of objects", keys[0]), REMEDY);
    let list = list.ok_or_else(refuse)?;
    list.iter().map(|item| item.as_object().ok_or_else(refuse)).collect()
}

/// Returns the text of a name or a number.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn named(
    graph: &Graph<'_>,
    object: &Map<String, Value>,
    key: &str,
) -> Result<(String, Range<usize>), InputError> {
    let name = object.get(key).and_then(text_of);
    let name = name
        .ok_or_else(|| graph.refuse(0..0, &format!("a vertex or link without `{key}`"), REMEDY))?;
    let span = place(graph.text, &name);
    Ok((name, span))
}

/// Finds where a value stands first: the parser keeps no places.
fn place(text: &str, value: &str) -> Range<usize> {
    text.find(value).map_or(0..0, |start| start..start + value.len())
}

fn attributes(text: &str, object: &Map<String, Value>, left_out: &[&str]) -> Attributes {
    let own = object.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
    own.filter_map(|(key, value)| {
        let value = text_of(value)?;
        let span = place(text, &value);
        Some((key.clone(), (value, span)))
    })
    .collect()
}
