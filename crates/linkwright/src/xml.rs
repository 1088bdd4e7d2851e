//! XML from strangers: parsed within limits, with the place of every fault.

use roxmltree::{Attribute, Document, Node, ParsingOptions};

use crate::diagnostic::{InputError, Position};

/// Parses a text of at most so many nodes; `file` names it in errors.
///
/// # Errors
/// What is no XML or has a document type, with its place and `remedy`.
pub(crate) fn parse<'t>(
    file: &str,
    text: &'t str,
    most_nodes: u32,
    remedy: &str,
) -> Result<Document<'t>, InputError> {
    let limits = ParsingOptions { allow_dtd: false, nodes_limit: most_nodes, ..Default::default() };
    Document::parse_with_options(text, limits).map_err(|error| {
        let place = error.pos();
        let position = match error {
            roxmltree::Error::UnclosedRootNode => Position::of_offset(text, text.trim_end().len()),
            _ => Position { line: place.row as usize, column: place.col as usize },
        };
        let line = text.lines().nth(position.line.saturating_sub(1)).unwrap_or_default();
        if matches!(error, roxmltree::Error::DtdDetected) {
            let remedy = "remove the <!DOCTYPE>; entities of a file's own are refused";
            return InputError::at(
                file,
                position,
                "this is not XML without a document type",
                line,
                remedy,
            );
        }
        InputError::at(file, position, format!("this is not XML ({error})"), line, remedy)
    })
}

/// A parsed text and its name. The formats add what their own attributes need.
pub(crate) struct Source<'a> {
    /// The file's name in errors.
    pub(crate) file: &'a str,
    /// The text.
    pub(crate) document: &'a Document<'a>,
    /// What to do about an attribute that is missing.
    pub(crate) remedy: &'static str,
}

impl Source<'_> {
    fn position(&self, offset: usize) -> Position {
        let place = self.document.text_pos_at(offset);
        Position { line: place.row as usize, column: place.col as usize }
    }

    /// The error that an element is wrong.
    pub(crate) fn refuse(
        &self,
        node: Node,
        problem: impl Into<String>,
        remedy: &str,
    ) -> InputError {
        let range = node.range();
        let value = &self.document.input_text()[range.clone()];
        InputError::at(self.file, self.position(range.start), problem, value, remedy)
    }

    /// The error that an attribute's value is wrong.
    pub(crate) fn refuse_value(
        &self,
        attribute: &Attribute,
        problem: impl Into<String>,
        remedy: &str,
    ) -> InputError {
        let position = self.position(attribute.range_value().start);
        InputError::at(self.file, position, problem, attribute.value(), remedy)
    }

    /// An attribute that must be there.
    pub(crate) fn required<'n>(
        &self,
        node: Node<'n, '_>,
        name: &str,
    ) -> Result<Attribute<'n, 'n>, InputError> {
        node.attribute_node(name).ok_or_else(|| {
            let problem = format!("<{}> has no attribute `{name}`", node.tag_name().name());
            self.refuse(node, problem, self.remedy)
        })
    }
}
