//! A scenario's text: where a value stands in it, and which keys its tables have.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::diagnostic::{InputError, Position, closest};

/// The keys of each table by its path; the empty path is the document.
pub(super) type Tables = &'static [(&'static str, &'static [&'static str])];

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
        let Some((_, known)) = tables.iter().find(|(name, _)| *name == path) else { return Ok(()) };
        for (key, value) in table {
            let name = key.get_ref().replace('-', "_");
            if !known.contains(&name.as_str()) {
                let meant = closest(&name, known);
                let advice = meant.map_or(String::new(), |key| format!("did you mean `{key}`? "));
                let of = if path.is_empty() { "a scenario" } else { path };
                let remedy = format!("{advice}the keys of {of} are {}", known.join(", "));
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
