//! The keys and values of one table of a scenario, each with its place.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::{Spanned, Value};

use crate::diagnostic::{InputError, Position};
use crate::simulation::source::Source;

/// A table as the TOML reader gives it, with the place of each value.
pub(super) type SpannedTable = BTreeMap<String, Spanned<Value>>;

/// A file that a scenario names, and where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The name as written.
    pub name: String,
    /// Where the scenario names it.
    pub position: Position,
}

impl FileName {
    /// The name without its folders and an ending.
    pub(super) fn stem(&self, ending: &str) -> &str {
        let last = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        last.strip_suffix(ending).unwrap_or(last)
    }
}

/// One table of a scenario; keys are spelt with underscores here, however the text spells them.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub source: Source<'a>,
    /// Where the table starts.
    pub span: Range<usize>,
    values: SpannedTable,
}

impl<'a> Fields<'a> {
    /// The table's fields.
    ///
    /// # Errors
    /// A key that is given in both spellings.
    pub fn new(
        source: Source<'a>,
        span: Range<usize>,
        table: SpannedTable,
    ) -> Result<Self, InputError> {
        let mut values = SpannedTable::new();
        for (key, value) in table {
            let place = value.span();
            if values.insert(key.replace('-', "_"), value).is_some() {
                let remedy = "write it once, with underscores or with hyphens";
                return Err(source.refuse(&place, &format!("`{key}` is given twice"), remedy));
            }
        }
        Ok(Self { source, span, values })
    }

    /// The place of a key's value; the table's where it is absent.
    pub fn place(&self, key: &str) -> Range<usize> {
        self.values.get(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Whether the table has the key.
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The value of a key, as it is.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).map(Spanned::get_ref)
    }

    /// The value of a key, as a type.
    pub fn optional<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, InputError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.clone().try_into().map(Some).map_err(|error: toml::de::Error| {
            let problem = error.message().trim_end().replace('\n', ", ");
            let remedy = "see the file format in the reference";
            self.source.refuse_as(&self.place(key), &problem, remedy)
        })
    }

    /// The value of a key, as a type, or what stands for its absence.
    pub fn or<T: DeserializeOwned>(&self, key: &str, absent: T) -> Result<T, InputError> {
        self.optional(key).map(|value| value.unwrap_or(absent))
    }

    /// What a key's text names.
    pub fn named<T, E: Display>(
        &self,
        key: &str,
        from_name: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, InputError> {
        let Some(name) = self.optional::<String>(key)? else { return Ok(None) };
        from_name(&name).map(Some).map_err(|error| self.refuse_as(key, &error, "write another"))
    }

    /// The file that a key names.
    pub fn file(&self, key: &str) -> Result<Option<FileName>, InputError> {
        let name = self.optional::<String>(key)?;
        let position = self.source.position(&self.place(key));
        Ok(name.map(|name| FileName { name, position }))
    }

    /// An error at a key's value.
    pub fn refuse(&self, key: &str, problem: &str, remedy: impl Into<String>) -> InputError {
        self.source.refuse(&self.place(key), problem, remedy)
    }

    /// An error of another layer at a key's value, written as `problem; remedy`.
    pub fn refuse_as(&self, key: &str, error: &dyn Display, remedy: &str) -> InputError {
        self.source.refuse_as(&self.place(key), error, remedy)
    }
}
