//! Reads networks as libraries of graphs write them: edge lists, GraphML, node-link JSON.
//!
//! Each format is read into the vertices and edges that a DOT text has, with the same attributes, and
//! goes on as such ([`super::read_dot`]). Attributes of the whole graph stand for all vertices and edges
//! that give none of their own.

mod edge_list;
mod graphml;
mod node_link;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::Fabric;
use super::dot_reader::{Attributes, fabric_of};
use super::dot_statements::{Edge, Parsed, Vertex};
use super::graph::input_error;
use crate::diagnostic::InputError;

/// Names what each vertex has that gives none of its own.
const OF_VERTICES: [&str; 3] = ["nodes", "node_bandwidth", "node_latency"];
/// The most edges, so that no text fills the memory.
const MOST_EDGES: usize = 1 << 20;

/// Reads a network in one of these formats; None where the text is in none of them.
///
/// # Errors
/// As [`super::read_dot`], and texts that their format does not allow, each with its place.
pub(super) fn read(file: &str, text: &str) -> Option<Result<Fabric, InputError>> {
    let read = if node_link::is_one(text) {
        node_link::read
    } else if graphml::is_one(text) {
        graphml::read
    } else if edge_list::is_one(text) {
        edge_list::read
    } else {
        return None;
    };
    Some(read(file, text).and_then(|parsed| fabric_of(file, text, parsed)))
}

/// Gets its vertices and edges one by one.
struct Graph<'a> {
    file: &'a str,
    text: &'a str,
    parsed: Parsed,
    ids: BTreeMap<String, usize>,
    /// Stands for all vertices, and `of_edges` for all edges.
    of_vertices: Attributes,
    of_edges: Attributes,
}

impl<'a> Graph<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            parsed: Parsed::default(),
            ids: BTreeMap::new(),
            of_vertices: Attributes::new(),
            of_edges: Attributes::new(),
        }
    }

    fn refuse(&self, span: Range<usize>, problem: &str, remedy: &str) -> InputError {
        input_error(self.file, self.text, span, problem, remedy)
    }

    /// Keeps an attribute of the whole graph.
    fn of_graph(&mut self, key: &str, value: String, span: Range<usize>) {
        match key {
            "name" => self.parsed.name = value,
            "links" => self.parsed.links = Some((value, span)),
            _ if OF_VERTICES.contains(&key) => {
                self.of_vertices.insert(key.to_owned(), (value, span));
            }
            _ => {
                self.of_edges.insert(key.to_owned(), (value, span));
            }
        }
    }

    /// Returns the place of a vertex, which is new where nobody named it.
    fn vertex(&mut self, name: &str, span: Range<usize>) -> usize {
        if let Some(known) = self.ids.get(name) {
            return *known;
        }
        let at = self.parsed.vertices.len();
        self.ids.insert(name.to_owned(), at);
        let attributes = Attributes::new();
        self.parsed.vertices.push(Vertex { name: name.to_owned(), span, attributes });
        at
    }

    /// Adds an edge between two vertices.
    fn edge(
        &mut self,
        (from, to): (usize, usize),
        span: Range<usize>,
        own: Attributes,
    ) -> Result<(), InputError> {
        if self.parsed.edges.len() == MOST_EDGES {
            return Err(self.refuse(span, "more than 1,048,576 edges", "give a smaller network"));
        }
        self.parsed.edges.push(Edge { from, to, span, attributes: Rc::new(own) });
        Ok(())
    }

    /// Gives every vertex and edge what stands for all of them.
    fn finish(mut self) -> Parsed {
        for vertex in &mut self.parsed.vertices {
            let is_node = vertex.attributes.get("kind").is_some_and(|(kind, _)| kind == "node");
            for (key, value) in &self.of_vertices {
                if !is_node {
                    vertex.attributes.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        for edge in &mut self.parsed.edges {
            if self.of_edges.keys().any(|key| !edge.attributes.contains_key(key)) {
                let all = self.of_edges.clone().into_iter().chain((*edge.attributes).clone());
                edge.attributes = Rc::new(all.collect());
            }
        }
        self.parsed.edge_defaults = self.of_edges;
        self.parsed
    }
}
