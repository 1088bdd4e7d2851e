//! A scenario's text: where a value stands in it, and which keys its tables have.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::diagnostic::{InputError, Position, closest};

/// The keys that a text may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables {
    /// What the text is, as errors call it: `a scenario`.
    pub what: &'static str,
    /// The keys of each table by its path; the empty path is the document.
    pub keys: &'static [(&'static str, &'static [&'static str])],
}

/// The most keys that an error lists beside the one that was probably meant.
const MOST_LISTED: usize = 20;

/// A text, which places its errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// The line and column of a span's start.
    pub fn position(self, span: &Range<usize>) -> Position {
        Position::of_offset(self.text, span.start)
    }

    /// An error at a span, which is the value.
    pub fn refuse(
        self,
        span: &Range<usize>,
        problem: &str,
        remedy: impl Into<String>,
    ) -> InputError {
        let value = self.text.get(span.clone()).unwrap_or_default();
        InputError::at(self.file, self.position(span), problem, value, remedy)
    }

    /// An error of another layer, written as `problem; remedy`, at a span.
    pub fn refuse_as(
        self,
        span: &Range<usize>,
        error: &dyn std::fmt::Display,
        remedy: &str,
    ) -> InputError {
        let message = error.to_string();
        let (problem, remedy) = message.split_once("; ").unwrap_or((&message, remedy));
        self.refuse(span, problem, remedy)
    }

    /// Refuses keys that no table of a scenario has, with the one that was probably meant. A
    /// path without keys of its own is free to have any.
    pub fn check_keys(self, tables: Tables, document: &DeTable) -> Result<(), InputError> {
        self.check_table(tables, "", document)
    }

    fn check_table(self, tables: Tables, path: &str, table: &DeTable) -> Result<(), InputError> {
        let Some((_, known)) = tables.keys.iter().find(|(name, _)| *name == path) else {
            return Ok(());
        };
        for (key, value) in table {
            let name = key.get_ref().replace('-', "_");
            if !known.contains(&name.as_str()) {
                let of = if path.is_empty() { tables.what } else { path };
                let list = format!("the keys of {of} are {}", known.join(", "));
                let remedy = match closest(&name, known) {
                    Some(key) if known.len() > MOST_LISTED => format!("did you mean `{key}`?"),
                    Some(key) => format!("did you mean `{key}`? {list}"),
                    None => list,
                };
                return Err(self.refuse(&key.span(), "unknown key", remedy));
            }
            let inside = if path.is_empty() { name } else { format!("{path}.{name}") };
            match value.get_ref() {
                DeValue::Table(inner) => self.check_table(tables, &inside, inner)?,
                DeValue::Array(items) => {
                    for item in items {
                        if let DeValue::Table(inner) = item.get_ref() {
                            self.check_table(tables, &inside, inner)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
