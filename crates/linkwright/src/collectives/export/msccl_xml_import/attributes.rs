//! Attributes of MSCCL's elements, and errors with their places.

use roxmltree::{Attribute, Document, Node};

use crate::diagnostic::{InputError, Position};

/// A parsed text and its name.
pub(super) struct Source<'a> {
    /// The file's name in errors.
    pub(super) file: &'a str,
    /// The text.
    pub(super) document: &'a Document<'a>,
}

impl<'a> Source<'a> {
    fn position(&self, offset: usize) -> Position {
        let place = self.document.text_pos_at(offset);
        Position { line: place.row as usize, column: place.col as usize }
    }

    /// The error that an element is wrong.
    pub(super) fn refuse(
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
    pub(super) fn refuse_value(
        &self,
        attribute: &Attribute,
        problem: impl Into<String>,
        remedy: &str,
    ) -> InputError {
        let position = self.position(attribute.range_value().start);
        InputError::at(self.file, position, problem, attribute.value(), remedy)
    }

    /// An attribute that must be there.
    pub(super) fn required<'n>(
        &self,
        node: Node<'n, '_>,
        name: &str,
    ) -> Result<Attribute<'n, 'n>, InputError> {
        node.attribute_node(name).ok_or_else(|| {
            let problem = format!("<{}> has no attribute `{name}`", node.tag_name().name());
            self.refuse(node, problem, "add the attribute; MSCCL needs it")
        })
    }

    /// A whole number that must be there and lie between two bounds.
    pub(super) fn number(
        &self,
        node: Node,
        name: &str,
        least: i64,
        most: i64,
    ) -> Result<i64, InputError> {
        let attribute = self.required(node, name)?;
        let number: Option<i64> = attribute.value().trim().parse().ok();
        let Some(number) = number else {
            let problem = format!("`{name}` is no whole number");
            return Err(self.refuse_value(&attribute, problem, "write such as 0 or 16"));
        };
        if (least..=most).contains(&number) {
            return Ok(number);
        }
        let problem = format!("`{name}` is out of range");
        Err(self.refuse_value(&attribute, problem, &format!("write {least} to {most}")))
    }

    /// A number that counts from zero and lies below a bound.
    pub(super) fn index(&self, node: Node, name: &str, below: usize) -> Result<usize, InputError> {
        Ok(self.number(node, name, 0, below as i64 - 1)? as usize)
    }

    /// A 0 or 1 that must be there.
    pub(super) fn flag(&self, node: Node, name: &str) -> Result<bool, InputError> {
        Ok(self.number(node, name, 0, 1)? == 1)
    }

    /// The elements inside of another, which must all have this name.
    pub(super) fn children(
        &self,
        node: Node<'a, 'a>,
        name: &str,
    ) -> Result<Vec<Node<'a, 'a>>, InputError> {
        let mut found = Vec::new();
        for child in node.children().filter(|child| !child.is_comment()) {
            if child.is_text() && child.text().unwrap_or_default().trim().is_empty() {
                continue;
            }
            if !child.is_element() || child.tag_name().name() != name {
                let outer = node.tag_name().name();
                let problem = format!("<{outer}> may hold <{name}> elements only");
                return Err(self.refuse(child, problem, "take this out"));
            }
            found.push(child);
        }
        Ok(found)
    }
}
