//! XML from strangers: parsed within limits, with the place of every fault.

use roxmltree::{Attribute, Document, Node, ParsingOptions};

use crate::diagnostic::{InputError, Position};

/// The most elements within one another: real files have up to six. Readers go down the tree by
/// calls of their own, and a program's stack ends.
const DEEPEST: usize = 64;

/// The most attributes of an element: real ones have up to a dozen. A parser compares each with
/// all before it.
const MOST_ATTRIBUTES: usize = 64;

/// Refuses a text that would take a reader's time or stack.
fn check(file: &str, text: &str) -> Result<(), InputError> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        let passed_over = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
        if let Some((_, end)) = passed_over.iter().find(|(mark, _)| rest.starts_with(mark)) {
            at = rest.find(end).map_or(text.len(), |length| start + length + end.len());
            continue;
        }
        let (length, attributes, empty) = tag(rest.as_bytes());
        at = start + length;
        if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if !empty {
            depth += 1;
        }
        let problem = if depth > DEEPEST {
            format!("more than {DEEPEST} elements within one another")
        } else if attributes > MOST_ATTRIBUTES {
            format!("more than {MOST_ATTRIBUTES} attributes of one element")
        } else {
            continue;
        };
        let position = Position::of_offset(text, start);
        return Err(InputError::at(file, position, problem, rest, "give a simpler text"));
    }
    Ok(())
}

/// How long a tag is, how many values it has in quotes, and whether it ends its element itself.
fn tag(bytes: &[u8]) -> (usize, usize, bool) {
    let mut quotes = 0;
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'>' {
        if matches!(bytes[at], b'"' | b'\'') {
            quotes += 1;
            let end = bytes[at + 1..].iter().position(|byte| *byte == bytes[at]);
            at = end.map_or(bytes.len(), |length| at + 1 + length);
        }
        at += 1;
    }
    let end = at.min(bytes.len());
    ((end + 1).min(bytes.len()), quotes, bytes[end - 1] == b'/')
}

/// Parses a text of at most a given number of nodes; `file` names it in errors.
///
/// # Errors
/// Refuses a text that is no XML, has a document type, or goes deeper or has more attributes than a
/// sound file. The error has its place and `remedy`.
pub fn parse<'t>(
    file: &str,
    text: &'t str,
    most_nodes: u32,
    remedy: &str,
) -> Result<Document<'t>, InputError> {
    check(file, text)?;
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

/// Holds a parsed text and its name. The formats add the parts that their own attributes need.
pub struct Source<'a> {
    /// Names the file in errors.
    pub file: &'a str,
    /// Holds the text.
    pub document: &'a Document<'a>,
    /// Tells how to mend an attribute that is missing.
    pub remedy: &'static str,
}

impl Source<'_> {
    fn position(&self, offset: usize) -> Position {
        let place = self.document.text_pos_at(offset);
        Position { line: place.row as usize, column: place.col as usize }
    }

    /// The error that an element is wrong.
    pub fn refuse(&self, node: Node, problem: impl Into<String>, remedy: &str) -> InputError {
        let range = node.range();
        let value = &self.document.input_text()[range.clone()];
        InputError::at(self.file, self.position(range.start), problem, value, remedy)
    }

    /// The error that an attribute's value is wrong.
    pub fn refuse_value(
        &self,
        attribute: &Attribute,
        problem: impl Into<String>,
        remedy: &str,
    ) -> InputError {
        let position = self.position(attribute.range_value().start);
        InputError::at(self.file, position, problem, attribute.value(), remedy)
    }

    /// An attribute that must be there.
    pub fn required<'n>(
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(text: &str) -> String {
        parse("a.xml", text, 100_000, "mend it").unwrap_err().to_string()
    }

    #[test]
    fn what_is_too_deep_or_too_wide_is_refused_before_it_is_parsed() {
        let many = 200_000;
        let deep = "<pci busid=\"0>\">".repeat(many);
        assert!(problem(&deep).starts_with("a.xml:1:1025: more than 64 elements within one"));
        let attributes: String = (0..many).map(|at| format!(" a{at}='1'")).collect();
        let wide = problem(&format!("<a>\n<b{attributes}/></a>"));
        assert!(wide.starts_with("a.xml:2:1: more than 64 attributes of one element"), "{wide}");
    }

    #[test]
    fn siblings_and_remarks_are_not_deep() {
        let remarks = "<!-- <a> --><![CDATA[<a><a>]]><?x <a> ?><b c='<>\"' d=\"/>'\"/><e></e>";
        let text = format!("<a>{}</a>", remarks.repeat(100));
        // An attribute's value holds no `<`, which the parser says; the guard lets it through.
        assert!(problem(&text).contains("this is not XML"));
        let text = text.replace("'<>\"'", "'>\"'");
        assert!(parse("a.xml", &text, 100_000, "mend it").is_ok());
    }

    proptest! {
        /// The guard ends on any text, and the parser on any that it lets through.
        #[test]
        fn any_text_is_read_or_refused(text in "[<>/!\\[\\]?'\"=a\\- \n\u{e9}]{0,200}") {
            let _ = parse("a.xml", &text, 100, "mend it");
        }
    }
}
