//! Reads a scenario as a tree of values that know their places, and puts one such tree over
//! another.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::network::keys_of_fabrics;
use super::source::{SETTINGS_FILE, Source};
use crate::diagnostic::{InputError, instead_of, toml_table};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub span: Range<usize>,
    pub item: Item,
}

/// Says which kind a value has.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// Holds a text, a number, a truth value or a date.
    Plain(Value),
    List(Vec<Node>),
    Table(Tree),
}

/// Holds a key's place and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub key: Range<usize>,
    pub node: Node,
}

/// Holds a table.
pub(super) type Tree = BTreeMap<String, Entry>;

impl Node {
    /// A text that stands for what is at a place.
    pub fn text(span: Range<usize>, text: &str) -> Self {
        Self { span, item: Item::Plain(Value::String(text.to_owned())) }
    }

    /// Returns the value without places.
    pub fn value(&self) -> Value {
        match &self.item {
            Item::Plain(value) => value.clone(),
            Item::List(nodes) => Value::Array(nodes.iter().map(Self::value).collect()),
            Item::Table(tree) => Value::Table(plain(tree)),
        }
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.item {
            Item::Plain(value) => value.as_str(),
            _ => None,
        }
    }

    /// The table, where it is one.
    pub const fn as_tree(&self) -> Option<&Tree> {
        match &self.item {
            Item::Table(tree) => Some(tree),
            _ => None,
        }
    }

    fn read(node: Spanned<DeValue<'_>>, offset: usize) -> Result<Self, toml::de::Error> {
        let span = node.span();
        let moved = span.start + offset..span.end + offset;
        let item = match node.into_inner() {
            DeValue::Table(table) => Item::Table(read(table, offset)?),
            DeValue::Array(items) => {
                let nodes = items.into_iter().map(|item| Self::read(item, offset));
                Item::List(nodes.collect::<Result<_, _>>()?)
            }
            plain => {
                let plain = ValueDeserializer::from(Spanned::new(span, plain));
                Item::Plain(Value::deserialize(plain)?)
            }
        };
        Ok(Self { span: moved, item })
    }
}

fn read(table: DeTable<'_>, offset: usize) -> Result<Tree, toml::de::Error> {
    let entries = table.into_iter().map(|(key, value)| {
        let place = key.span();
        let key_place = place.start + offset..place.end + offset;
        let node = Node::read(value, offset)?;
        Ok((key.into_inner().into_owned(), Entry { key: key_place, node }))
    });
    entries.collect()
}

/// Returns a table without places.
pub(super) fn plain(tree: &Tree) -> toml::Table {
    tree.iter().map(|(key, entry)| (key.clone(), entry.node.value())).collect()
}

/// Reads the tree of a scenario's file, or of the settings beside it.
pub(super) fn parse(source: Source<'_>, of_settings: bool) -> Result<Tree, InputError> {
    let (file, text, offset) = if of_settings {
        (SETTINGS_FILE, source.settings, source.text.len())
    } else {
        (source.file, source.text, 0)
    };
    let table = toml_table(file, text)?.into_inner();
    read(table, offset).map_err(|error| InputError::from_toml(file, text, &error))
}

/// Lists the keys of a network that say how it is joined, and the kind that each key belongs to.
const OF_SHAPE: [&str; 4] = ["kind", "preset", "file", "routing_table"];
/// The keys of a server that is described by name.
const OF_NAMED_SERVER: [&str; 2] = ["preset", "file"];

/// Puts what differs over what is there: tables key by key, all else whole. Of what excludes each
/// other, what is put on top takes the place of what was there.
///
/// # Errors
/// A job that is to differ, of a name that none has.
pub(super) fn put_over(source: Source<'_>, base: &mut Tree, over: Tree) -> Result<(), InputError> {
    put_at(source, "", base, over)
}

fn put_at(source: Source<'_>, path: &str, base: &mut Tree, over: Tree) -> Result<(), InputError> {
    give_way(source, path, base, &over);
    for (key, entry) in over {
        let inside = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (base.get_mut(&key), entry) {
            (Some(there), Entry { node: Node { item: Item::Table(over), span }, key: at }) => {
                match &mut there.node.item {
                    Item::Table(table) => put_at(source, &inside, table, over)?,
                    Item::List(list) if inside == "job" => put_over_jobs(source, list, over)?,
                    _ => there.node = Node { span, item: Item::Table(over) },
                }
                let _ = at;
            }
            (_, entry) => {
                base.insert(key, entry);
            }
        }
    }
    Ok(())
}

/// Removes what the keys on top exclude.
fn give_way(source: Source<'_>, path: &str, base: &mut Tree, over: &Tree) {
    let has = |keys: &[&str]| keys.iter().any(|key| over.contains_key(*key));
    let is_named = |tree: &Tree| OF_NAMED_SERVER.iter().any(|key| tree.contains_key(*key));
    match path {
        "system.server" if is_named(base) || is_named(over) => base.clear(),
        "system.network" if has(&OF_SHAPE[..3]) => {
            let of_kind = keys_of_fabrics(&source.registries.fabrics);
            base.retain(|key, _| !of_kind.contains(key) && !OF_SHAPE.contains(&key.as_str()));
        }
        "jobs" if has(&["file"]) => drop(base.remove("generate")),
        "jobs" if has(&["generate"]) => drop(base.remove("file")),
        "" if has(&["jobs"]) => drop(base.remove("job")),
        "" if has(&["job"]) => drop(base.remove("jobs")),
        _ => {}
    }
}

/// Puts what differs of single jobs, by their names, over a list of them.
fn put_over_jobs(source: Source<'_>, jobs: &mut [Node], over: Tree) -> Result<(), InputError> {
    let name_of = |job: &Node| {
        let named = job.as_tree().and_then(|job| job.get("name"));
        named.and_then(|entry| entry.node.as_text().map(str::to_owned))
    };
    for (name, Entry { key, node }) in over {
        let Item::Table(of_job) = node.item else {
            let remedy = "write what differs of a job as `job.NAME.KEY`, or a list of `[[job]]`";
            return Err(source.refuse(&node.span, "no table of a job's keys", remedy));
        };
        let names: Vec<String> = jobs.iter().filter_map(name_of).collect();
        let found = jobs.iter_mut().find(|job| name_of(job).as_ref() == Some(&name));
        let Some(Node { item: Item::Table(job), .. }) = found else {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let remedy = match known[..] {
                [] => "give the job a `name`".to_owned(),
                _ => instead_of(&name, &known),
            };
            return Err(source.refuse(&key, "no job has this name", remedy));
        };
        put_at(source, "job.NAME", job, of_job)?;
    }
    Ok(())
}
