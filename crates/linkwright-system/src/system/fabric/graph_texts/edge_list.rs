//! Reads edge lists: two vertices a line, with what the link has.
//!
//! ```text
//! # bandwidth="12.5 GB/s" latency="50 ns" nodes=4
//! north east
//! east south bandwidth="25 GB/s"
//! south north {'count': 2}
//! ```
//!
//! The first line says by its `bandwidth` that this is a network. Behind the two vertices stand
//! attributes as here, or a dictionary as NetworkX' `write_edgelist` writes it. Other lines that begin
//! with `#` are comments.

use std::ops::Range;

use super::super::dot_reader::Attributes;
use super::super::dot_statements::Parsed;
use super::Graph;
use crate::diagnostic::InputError;

const REMEDY: &str = "write two vertices and attributes, such as `left right count=2`";

/// Tells whether the first line states a bandwidth behind `#`.
pub(super) fn is_one(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with('#')
        && text.lines().next().is_some_and(|line| line.replace(' ', "").contains("bandwidth="))
}

pub(super) fn read(file: &str, text: &str) -> Result<Parsed, InputError> {
    let mut graph = Graph::new(file, text);
    let mut offset = 0;
    let mut is_first = true;
    for whole in text.split_inclusive('\n') {
        let start =
            offset + (whole.len() - whole.trim_start_matches(['\u{feff}', ' ', '\t']).len());
        offset += whole.len();
        let line = text[start..offset].trim_end();
        if line.is_empty() {
            continue;
        }
        if let Some(comment) = line.strip_prefix('#') {
            if is_first {
                for (key, (value, span)) in attributes(&graph, comment, start + 1)? {
                    graph.of_graph(&key, value, span);
                }
            }
            is_first = false;
            continue;
        }
        is_first = false;
        let (from, rest) = word(line, start);
        let (to, rest) = word(rest.0, rest.1);
        if to.0.is_empty() {
            return Err(graph.refuse(start..start + line.len(), "one vertex is no edge", REMEDY));
        }
        let own = attributes(&graph, rest.0, rest.1)?;
        let ends = (graph.vertex(from.0, from.1), graph.vertex(to.0, to.1));
        graph.edge(ends, start..start + line.len(), own)?;
    }
    Ok(graph.finish())
}

/// A part of the text and where it begins.
type Rest<'t> = (&'t str, usize);

/// Takes a word off the front of a text.
fn word(text: &str, at: usize) -> ((&str, Range<usize>), Rest<'_>) {
    let trimmed = text.trim_start();
    let at = at + text.len() - trimmed.len();
    let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
    ((&trimmed[..end], at..at + end), (&trimmed[end..], at + end))
}

/// Reads `key=value` and `'key': value` behind one another; values with blanks stand in quotes.
fn attributes(graph: &Graph<'_>, text: &str, at: usize) -> Result<Attributes, InputError> {
    let mut found = Attributes::new();
    let mut rest = text;
    let place = |rest: &str| at + text.len() - rest.len();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "{},".contains(c));
        if rest.is_empty() {
            return Ok(found);
        }
        let begin = place(rest);
        let refuse = || graph.refuse(begin..at + text.len(), "no attribute", REMEDY);
        let Some(sign) = rest.find(['=', ':']) else { return Err(refuse()) };
        let key = rest[..sign].trim().trim_matches(['\'', '"']).to_owned();
        rest = rest[sign + 1..].trim_start();
        let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c));
        let value_at = place(rest);
        let (value, behind) = match quote {
            Some(quote) => rest[1..].split_once(quote).ok_or_else(refuse)?,
            None => {
                let end = rest.find(|c: char| c.is_whitespace() || "},".contains(c));
                rest.split_at(end.unwrap_or(rest.len()))
            }
        };
        if key.is_empty() || value.is_empty() {
            return Err(refuse());
        }
        rest = behind;
        found.insert(key, (value.to_owned(), value_at..place(rest)));
    }
}
