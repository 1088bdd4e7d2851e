//! Reads attributes of MSCCL's elements.

use roxmltree::Node;

use crate::diagnostic::InputError;

pub(super) use crate::xml::Source;

/// Reads what MSCCL's elements say.
pub(super) trait MscclAttributes<'a> {
    /// A whole number that must be there and lie between two bounds.
    fn number_between(
        &self,
        node: Node,
        name: &str,
        least: i64,
        most: i64,
    ) -> Result<i64, InputError>;

    /// A number that counts from zero and lies below a bound.
    fn index(&self, node: Node, name: &str, below: usize) -> Result<usize, InputError>;

    /// A 0 or 1 that must be there.
    fn flag(&self, node: Node, name: &str) -> Result<bool, InputError>;

    /// The elements inside of another, which must all have this name.
    fn children(&self, node: Node<'a, 'a>, name: &str) -> Result<Vec<Node<'a, 'a>>, InputError>;
}

impl<'a> MscclAttributes<'a> for Source<'a> {
    fn number_between(
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

    fn index(&self, node: Node, name: &str, below: usize) -> Result<usize, InputError> {
        Ok(self.number_between(node, name, 0, below as i64 - 1)? as usize)
    }

    fn flag(&self, node: Node, name: &str) -> Result<bool, InputError> {
        Ok(self.number_between(node, name, 0, 1)? == 1)
    }

    fn children(&self, node: Node<'a, 'a>, name: &str) -> Result<Vec<Node<'a, 'a>>, InputError> {
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
