//! Reads the keys and values of one table of a scenario, each with its place.

use std::num::NonZeroU32;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Value;

use super::settings::Setting;
use super::source::{Place, Source};
use super::tree::{Item, Node, Tree};
use crate::diagnostic::{Diagnosis, InputError, Named, Registered, Registry, in_plain_words};
use crate::network::pcie::thousandths;

/// A file that a scenario names, and where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// Gives the name as written.
    pub name: String,
    /// Where the scenario names it.
    pub place: Place,
}

impl FileName {
    /// Returns the name without its folders and an ending.
    pub(super) fn stem(&self, ending: &str) -> &str {
        let last = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        last.strip_suffix(ending).unwrap_or(last)
    }
}

/// Holds a value with its place in the text.
pub(super) type Placed<T> = (T, Range<usize>);

/// Reads one table of a scenario.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    pub source: Source<'a>,
    /// Where the table starts.
    pub span: Range<usize>,
    tree: &'a Tree,
}

/// Stands for a table of no keys.
static NOTHING: Tree = Tree::new();

impl<'a> Fields<'a> {
    /// Returns the fields of a table.
    pub const fn new(source: Source<'a>, span: Range<usize>, tree: &'a Tree) -> Self {
        Self { source, span, tree }
    }

    /// The fields of a table that is absent.
    pub const fn none(source: Source<'a>) -> Self {
        Self::new(source, 0..0, &NOTHING)
    }

    /// The table that a key holds; one without keys where it is absent.
    ///
    /// # Errors
    /// A value that is no table.
    pub fn table(&self, key: &str) -> Result<Self, InputError> {
        match self.node(key) {
            None => Ok(Self::none(self.source)),
            Some(node) => self.of(key, node),
        }
    }

    /// Returns the tables that a key lists.
    ///
    /// # Errors
    /// A value that is no list of tables.
    pub fn tables(&self, key: &str) -> Result<Vec<Self>, InputError> {
        let Some(node) = self.node(key) else { return Ok(Vec::new()) };
        let Item::List(nodes) = &node.item else {
            let remedy = format!("write `[[{key}]]` above each");
            return Err(self.refuse(key, "no list of tables", remedy));
        };
        nodes.iter().map(|node| self.of(key, node)).collect()
    }

    fn of(&self, key: &str, node: &'a Node) -> Result<Self, InputError> {
        let Item::Table(tree) = &node.item else {
            let remedy = format!("write `[{key}]` above its keys, or {{ key = value }}");
            return Err(self.source.refuse(&node.span, "no table", remedy));
        };
        Ok(Self::new(self.source, node.span.clone(), tree))
    }

    /// Returns the value of a key with its places.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        self.tree.get(key).map(|entry| &entry.node)
    }

    /// The span of a key's value; the table's where it is absent.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.node(key).map_or_else(|| self.span.clone(), |node| node.span.clone())
    }

    /// The place of a key's value; the table's where it is absent.
    pub fn place(&self, key: &str) -> Place {
        self.source.place(&self.span_of(key))
    }

    /// Whether the table has the key.
    pub fn has(&self, key: &str) -> bool {
        self.tree.contains_key(key)
    }

    /// Lists its keys.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.tree.keys().map(String::as_str)
    }

    /// Whether it has any.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The name under which the text has a key: older spellings are read into today's.
    pub fn key(&self, key: &'a str) -> &'a str {
        let written = self.tree.get(key).map(|entry| self.source.written(&entry.key));
        written.filter(|key| !key.is_empty()).unwrap_or(key)
    }

    /// The value of a key, as it is.
    pub fn value(&self, key: &str) -> Option<Value> {
        self.node(key).map(Node::value)
    }

    /// Returns the value of a key, as a type.
    pub fn optional<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, InputError> {
        self.node(key).map(|node| read(self.source, node)).transpose()
    }

    /// The value of a key, as a type, or what stands for its absence.
    pub fn or<T: DeserializeOwned>(&self, key: &str, absent: T) -> Result<T, InputError> {
        self.optional(key).map(|value| value.unwrap_or(absent))
    }

    /// Returns the value of a setting, as a type; its default where the table lacks it.
    ///
    /// # Errors
    /// Refuses a value of another type.
    pub fn setting<T: DeserializeOwned>(&self, path: &str) -> Result<T, InputError> {
        let setting = Setting::of(path);
        Ok(self.optional(&setting.key)?.unwrap_or_else(|| setting.default()))
    }

    /// Returns the named value of a key.
    ///
    /// # Errors
    /// A value that is no text, or that names nothing.
    pub fn choice<T: Named>(&self, key: &str) -> Result<Option<T>, InputError> {
        let Some(name) = self.optional::<String>(key)? else { return Ok(None) };
        T::from_name(&name)
            .map(Some)
            .map_err(|error| self.refuse(key, &format!("unknown {}", error.what), error.instead))
    }

    /// Returns the named value of a setting; its default where the table lacks it.
    ///
    /// # Errors
    /// A value that is no text, or that names nothing.
    pub fn chosen<T: Named>(&self, path: &str) -> Result<T, InputError> {
        let setting = Setting::of(path);
        let absent = || T::from_name(setting.absent).expect("the tests read every default");
        Ok(self.choice(&setting.key)?.unwrap_or_else(absent))
    }

    /// The entry that a setting names; where the table lacks it, the one that stands for it.
    ///
    /// # Errors
    /// A value that is no text, or that names nothing.
    pub fn registered<T: Registered + ?Sized>(
        &self,
        path: &str,
        registry: &Registry<T>,
    ) -> Result<&'static T, InputError> {
        let setting = Setting::of(path);
        let name = self.optional::<String>(&setting.key)?;
        let name = name.as_deref().unwrap_or(setting.absent);
        registry.get(name).map_err(|error| {
            self.refuse(&setting.key, &format!("unknown {}", error.what), error.instead)
        })
    }

    /// A number of things from one to `most`; `too_many` is the problem of more.
    ///
    /// # Errors
    /// No whole number, or one out of that range, which every error names.
    pub fn count(
        &self,
        key: &str,
        absent: u32,
        most: u32,
        too_many: &str,
    ) -> Result<u32, InputError> {
        let problem = match self.value(key).map(|value| value.as_integer()) {
            None => return Ok(absent),
            Some(None) => "no whole number",
            Some(Some(0)) => "this cannot be zero",
            Some(Some(count)) => match u32::try_from(count) {
                Ok(count) if count <= most => return Ok(count),
                _ if count < 0 => "this cannot be below zero",
                _ => too_many,
            },
        };
        Err(self.refuse(key, problem, format!("write a whole number from 1 to {most}")))
    }

    /// Returns the thing that a key's text names.
    pub fn named<T, E: Into<Diagnosis>>(
        &self,
        key: &str,
        from_name: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, InputError> {
        let Some(name) = self.optional::<String>(key)? else { return Ok(None) };
        from_name(&name).map(Some).map_err(|error| self.refuse_as(key, error, "write another"))
    }

    /// The file that a key names.
    pub fn file(&self, key: &str) -> Result<Option<FileName>, InputError> {
        let name = self.optional::<String>(key)?;
        Ok(name.map(|name| FileName { name, place: self.place(key) }))
    }

    /// Returns the values of a list, each with its place.
    pub fn list<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<Vec<Placed<T>>>, InputError> {
        let Some(node) = self.node(key) else { return Ok(None) };
        let Item::List(nodes) = &node.item else {
            // A value that is no list is refused as one.
            return read::<Vec<T>>(self.source, node).map(|_| None);
        };
        let each = nodes.iter().map(|node| Ok((read(self.source, node)?, node.span.clone())));
        each.collect::<Result<_, _>>().map(Some)
    }

    /// Makes an error at a key's value.
    pub fn refuse(&self, key: &str, problem: &str, remedy: impl Into<String>) -> InputError {
        self.source.refuse(&self.span_of(key), problem, remedy)
    }

    /// An error of another layer at a key's value; `remedy` is for one that knows none.
    pub fn refuse_as(&self, key: &str, error: impl Into<Diagnosis>, remedy: &str) -> InputError {
        self.source.refuse_as(&self.span_of(key), error, remedy)
    }
}

/// How long a copy may take, in thousandths of its time on an idle bus.
///
/// # Errors
/// Refuses a number that is not above zero, or more than a thousand times.
pub(super) fn deadline(fields: &Fields<'_>) -> Result<Option<NonZeroU32>, InputError> {
    let times = match fields.value("deadline") {
        None => return Ok(None),
        Some(Value::Integer(whole)) => Some(whole as f64),
        Some(Value::Float(times)) => Some(times),
        Some(_) => None,
    };
    times.and_then(thousandths).map(Some).ok_or_else(|| {
        let remedy =
            "write how many times a copy's time alone it may take, 0.001 to 1000, such as 3";
        fields.refuse("deadline", "no deadline", remedy)
    })
}

/// Reads a value as a type.
fn read<T: DeserializeOwned>(source: Source<'_>, node: &Node) -> Result<T, InputError> {
    node.value().try_into().map_err(|error: toml::de::Error| {
        let told = in_plain_words(error.message());
        source.refuse_as(&node.span, told, "see the file format in the reference")
    })
}
