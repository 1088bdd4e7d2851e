//! The statements of a DOT text: which vertices and edges it names, with which attributes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::dot_reader::Attributes;
use super::dot_tokens::{Placed, Token, tokens};
use super::graph::input_error;
use crate::diagnostic::InputError;

/// A vertex that the text names.
pub(super) struct Vertex {
    pub name: String,
    /// Where it is named first.
    pub span: Range<usize>,
    pub attributes: Attributes,
}

/// Joins two vertices, by index.
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    pub span: Range<usize>,
    /// Shared by all edges of one statement, which may join two large sets.
    pub attributes: Rc<Attributes>,
}

/// Holds a whole graph.
#[derive(Default)]
pub(super) struct Parsed {
    pub name: String,
    pub is_strict: bool,
    pub is_directed: bool,
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
    /// Holds the graph's own attribute `links`, with its place.
    pub links: Option<(String, Range<usize>)>,
    /// Holds the attributes of edges at the end of the graph.
    pub edge_defaults: Attributes,
}

/// Holds the defaults in a pair of braces, and the vertices named in it.
#[derive(Default, Clone)]
struct Scope {
    node: Attributes,
    edge: Attributes,
    members: Vec<usize>,
}

/// Holds one side of an edge: vertices, and where they stand.
struct Operand {
    vertices: Vec<usize>,
    span: Range<usize>,
}

struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    tokens: Vec<Placed>,
    at: usize,
    ids: BTreeMap<String, usize>,
    parsed: Parsed,
    scopes: Vec<Scope>,
}

/// The deepest that subgraphs may nest, so that no text exhausts the stack.
const DEEPEST: usize = 64;
/// The most edges, so that short texts which join sets of vertices cannot fill the memory.
const MOST_EDGES: usize = 1 << 20;

/// Reads the statements of a text.
pub(super) fn parse(file: &str, text: &str) -> Result<Parsed, InputError> {
    let tokens = tokens(file, text)?;
    let mut parser = Parser {
        file,
        text,
        tokens,
        at: 0,
        ids: BTreeMap::new(),
        parsed: Parsed::default(),
        scopes: vec![Scope::default()],
    };
    parser.parsed.is_strict = parser.takes_keyword("strict");
    if parser.takes_keyword("digraph") {
        parser.parsed.is_directed = true;
    } else if !parser.takes_keyword("graph") {
        return Err(parser.unexpected("start with graph or digraph"));
    }
    if let Some((name, _)) = parser.takes_text() {
        parser.parsed.name = name;
    }
    parser.expect('{', "open the graph with {")?;
    parser.statements()?;
    parser.expect('}', "close the graph with }")?;
    if parser.at < parser.tokens.len() {
        return Err(parser.unexpected("keep one graph to a file"));
    }
    let mut parsed = parser.parsed;
    parsed.edge_defaults = parser.scopes.swap_remove(0).edge;
    Ok(parsed)
}

impl Parser<'_> {
    /// An error at the token that comes next.
    fn unexpected(&self, remedy: &str) -> InputError {
        let end = self.text.len();
        let (problem, span) = match self.tokens.get(self.at) {
            Some(placed) => ("not expected here", placed.span.clone()),
            None => ("the text ends too early", end..end),
        };
        input_error(self.file, self.text, span, problem, remedy)
    }

    fn next_is(&self, mark: char) -> bool {
        self.tokens.get(self.at).is_some_and(|placed| placed.token == Token::Mark(mark))
    }

    fn takes(&mut self, mark: char) -> bool {
        let is_next = self.next_is(mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, mark: char, remedy: &str) -> Result<(), InputError> {
        if self.takes(mark) { Ok(()) } else { Err(self.unexpected(remedy)) }
    }

    /// Whether the next token is this keyword, in letters of any case; takes it then.
    fn takes_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.tokens.get(self.at).is_some_and(|placed| match &placed.token {
            Token::Text(text) => placed.is_bare && text.eq_ignore_ascii_case(keyword),
            _ => false,
        });
        self.at += usize::from(is_next);
        is_next
    }

    /// A name or value, whose quoted parts `+` may join.
    fn takes_text(&mut self) -> Option<(String, Range<usize>)> {
        let Token::Text(text) = &self.tokens.get(self.at)?.token else { return None };
        let (mut text, mut span) = (text.clone(), self.tokens[self.at].span.clone());
        self.at += 1;
        while self.next_is('+') {
            let Some(Placed { token: Token::Text(more), span: end, .. }) =
                self.tokens.get(self.at + 1)
            else {
                break;
            };
            text.push_str(more);
            span.end = end.end;
            self.at += 2;
        }
        Some((text, span))
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("the graph's own scope stays until the end")
    }

    fn statements(&mut self) -> Result<(), InputError> {
        while self.at < self.tokens.len() && !self.next_is('}') {
            if !self.takes(';') {
                self.statement()?;
            }
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), InputError> {
        if self.takes_keyword("graph") {
            let mut attributes = self.attributes()?;
            self.is_of_graph(attributes.remove("links"));
        } else if self.takes_keyword("node") {
            let attributes = self.attributes()?;
            self.scope().node.extend(attributes);
        } else if self.takes_keyword("edge") {
            let attributes = self.attributes()?;
            self.scope().edge.extend(attributes);
        } else if matches!(self.tokens.get(self.at + 1), Some(p) if p.token == Token::Mark('=')) {
            // An attribute of the graph itself.
            let key = self.takes_text();
            self.at += 1;
            let (Some((key, _)), Some(value)) = (key, self.takes_text()) else {
                return Err(self.unexpected("write key = value"));
            };
            self.is_of_graph((key == "links").then_some(value));
        } else {
            self.chain()?;
        }
        Ok(())
    }

    /// Keeps what the whole graph says its links are; a subgraph says nothing of them.
    fn is_of_graph(&mut self, links: Option<(String, Range<usize>)>) {
        if links.is_some() && self.scopes.len() == 1 {
            self.parsed.links = links;
        }
    }

    /// Reads a vertex or a subgraph, and the edges from it to the next and so on.
    fn chain(&mut self) -> Result<(), InputError> {
        let mut operands = vec![self.operand()?];
        while let Some(Placed { token: Token::Edge(is_directed), .. }) = self.tokens.get(self.at) {
            if *is_directed != self.parsed.is_directed {
                return Err(self.unexpected("write -- in a graph and -> in a digraph"));
            }
            self.at += 1;
            operands.push(self.operand()?);
        }
        let is_subgraph = operands.len() == 1 && operands[0].span.is_empty();
        let given = if is_subgraph { Attributes::new() } else { self.attributes()? };
        if let [only] = operands.as_slice() {
            for vertex in &only.vertices {
                let given = given.iter().map(|(key, value)| (key.clone(), value.clone()));
                self.parsed.vertices[*vertex].attributes.extend(given);
            }
            return Ok(());
        }
        let mut attributes = self.scope().edge.clone();
        attributes.extend(given);
        let attributes = Rc::new(attributes);
        for pair in operands.windows(2) {
            let span = pair[0].span.start..pair[1].span.end.max(pair[0].span.end);
            let more = pair[0].vertices.len().saturating_mul(pair[1].vertices.len());
            if self.parsed.edges.len().saturating_add(more) > MOST_EDGES {
                let problem = format!("more than {MOST_EDGES} edges");
                return Err(input_error(self.file, self.text, span, problem, "give fewer"));
            }
            for from in &pair[0].vertices {
                for to in &pair[1].vertices {
                    let (attributes, span) = (Rc::clone(&attributes), span.clone());
                    self.parsed.edges.push(Edge { from: *from, to: *to, span, attributes });
                }
            }
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Operand, InputError> {
        let is_named = self.takes_keyword("subgraph");
        if is_named && !self.next_is('{') {
            self.takes_text();
        }
        let start = self.tokens.get(self.at).map_or(self.text.len(), |placed| placed.span.start);
        if self.takes('{') {
            if self.scopes.len() == DEEPEST {
                self.at -= 1;
                return Err(self.unexpected("nest subgraphs less deeply"));
            }
            let outer = self.scope();
            let inner = Scope { members: Vec::new(), ..outer.clone() };
            self.scopes.push(inner);
            self.statements()?;
            self.expect('}', "close the subgraph with }")?;
            let mut members = self.scopes.pop().unwrap_or_default().members;
            members.sort_unstable();
            members.dedup();
            self.scope().members.extend(&members);
            return Ok(Operand { vertices: members, span: start..start });
        }
        if is_named {
            return Err(self.unexpected("open the subgraph with {"));
        }
        let Some((name, span)) = self.takes_text() else {
            return Err(self.unexpected("write a vertex, an edge or an attribute"));
        };
        // A port and a compass point say where a line ends, not what it joins.
        for _ in 0..2 {
            if self.takes(':') && self.takes_text().is_none() {
                return Err(self.unexpected("name the port"));
            }
        }
        let vertex = self.vertex(name, span.clone());
        Ok(Operand { vertices: vec![vertex], span })
    }

    /// The vertex of a name, which is new where nothing named it before.
    fn vertex(&mut self, name: String, span: Range<usize>) -> usize {
        let next = self.parsed.vertices.len();
        let index = *self.ids.entry(name.clone()).or_insert(next);
        if index == next {
            let attributes = self.scope().node.clone();
            self.parsed.vertices.push(Vertex { name, span, attributes });
        }
        self.scope().members.push(index);
        index
    }

    /// Lists of attributes in brackets, if any follow.
    fn attributes(&mut self) -> Result<Attributes, InputError> {
        let mut found = Attributes::new();
        while self.takes('[') {
            while !self.takes(']') {
                let Some((key, at)) = self.takes_text() else {
                    return Err(self.unexpected("write key=value, and close the list with ]"));
                };
                let value = match self.takes('=') {
                    true => self.takes_text(),
                    false => Some(("true".to_owned(), at)),
                };
                let value = value.ok_or_else(|| self.unexpected("write key=value"))?;
                found.insert(key, value);
                let _ = self.takes(',') || self.takes(';');
            }
        }
        Ok(found)
    }
}
