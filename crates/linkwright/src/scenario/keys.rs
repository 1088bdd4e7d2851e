//! The keys that a scenario may have, and earlier ones read into today's.

use std::borrow::Cow;

use super::registries::Registries;
use super::settings::{EARLIER, SETTINGS, settings_of};
use super::source::Source;
use super::tree::{Entry, Item, Node, Tree};
use crate::diagnostic::{InputError, closest, instead_of};
use crate::units::Bandwidth;

/// The most keys that an error lists beside the one that was probably meant.
const MOST_LISTED: usize = 20;

/// A text whose top is a network's table, with what a scenario has beside it.
pub(super) const NETWORK_ALONE: &str = "the settings";
/// Names a scenario in errors.
pub(super) const SCENARIO: &str = "a scenario";
/// Names the part of a scenario that may differ.
const DIFFERENCE: &str = "what differs";

/// Lists the keys that the table at `path` may have.
fn known(path: &str, registries: &Registries) -> Vec<Cow<'static, str>> {
    let (table, earlier) = match path {
        SCENARIO | DIFFERENCE => ("", ""),
        NETWORK_ALONE | "network" => ("system.network", "network"),
        other => (other, other),
    };
    let settings = settings_of(registries, Some(table)).into_iter().map(|it| it.key);
    let earlier = EARLIER.iter().filter(|it| it.0 == earlier).map(|it| it.1.into());
    let mut keys: Vec<Cow<'static, str>> = settings.chain(earlier).collect();
    match path {
        SCENARIO => keys.extend(["compare", "files"].map(Cow::Borrowed)),
        DIFFERENCE => keys.retain(|key| key != "name"),
        NETWORK_ALONE => {
            let beside = ["seed", "protocol", "collectives", "system", "pcie", "files"];
            keys.extend(beside.map(Cow::Borrowed));
        }
        _ => {}
    }
    keys
}

/// Whether the keys of a table are settings.
fn has_settings(path: &str) -> bool {
    matches!(path, "network" | "machine") || SETTINGS.iter().any(|it| it.table == path)
}

/// The same table with its keys spelt with underscores, as far as they are settings.
///
/// # Errors
/// A key that the table does not have, with the one that was probably meant; one that is given
/// in two spellings.
pub(super) fn checked(source: Source<'_>, path: &str, tree: Tree) -> Result<Tree, InputError> {
    let known = known(path, source.registries);
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let mut found = Tree::new();
    for (key, entry) in tree {
        let name = key.replace('-', "_");
        if !known.contains(&name.as_str()) {
            let list = format!("the keys of {path} are {}", known.join(", "));
            let remedy = match closest(&name, &known) {
                Some(key) if known.len() > MOST_LISTED => format!("did you mean `{key}`?"),
                Some(key) => format!("did you mean `{key}`? {list}"),
                None => list,
            };
            return Err(source.refuse(&entry.key, "unknown key", remedy));
        }
        let inside = match path {
            SCENARIO | DIFFERENCE | NETWORK_ALONE => name.clone(),
            _ => format!("{path}.{name}"),
        };
        let Entry { key, node } = entry;
        let span = node.span.clone();
        let node = checked_value(source, &inside, node)?;
        if found.insert(name.clone(), Entry { key, node }).is_some() {
            let remedy = "write it once, with underscores or with hyphens";
            return Err(source.refuse(&span, &format!("`{name}` is given twice"), remedy));
        }
    }
    Ok(found)
}

fn checked_value(source: Source<'_>, path: &str, node: Node) -> Result<Node, InputError> {
    let Node { span, item } = node;
    let item = match item {
        Item::Table(tree) if path == "compare" => Item::Table(checked_comparison(source, tree)?),
        // These are the differences of single jobs, by their names.
        Item::Table(tree) if path == "job" => Item::Table(checked_each(source, path, tree)?),
        Item::Table(tree) if has_settings(path) => Item::Table(checked(source, path, tree)?),
        Item::List(nodes) if has_settings(path) => {
            let each = nodes.into_iter().map(|node| match node {
                Node { span, item: Item::Table(tree) } => {
                    let tree = checked(source, path, tree)?;
                    Ok(Node { span, item: Item::Table(tree) })
                }
                other => Ok(other),
            });
            Item::List(each.collect::<Result<_, InputError>>()?)
        }
        other => other,
    };
    Ok(Node { span, item })
}

fn checked_each(source: Source<'_>, path: &str, tree: Tree) -> Result<Tree, InputError> {
    let each = tree.into_iter().map(|(name, mut entry)| {
        if let Item::Table(inner) = entry.node.item {
            entry.node.item = Item::Table(checked(source, path, inner)?);
        }
        Ok((name, entry))
    });
    each.collect()
}

/// Checks the differences under each name, and which of them is the reference.
fn checked_comparison(source: Source<'_>, tree: Tree) -> Result<Tree, InputError> {
    let each = tree.into_iter().map(|(name, mut entry)| match entry.node.item {
        Item::Table(inner) => {
            entry.node.item = Item::Table(settled(source, checked(source, DIFFERENCE, inner)?)?);
            Ok((name, entry))
        }
        Item::Plain(_) if [REFERENCE, SEEDS].contains(&name.as_str()) => Ok((name, entry)),
        _ => {
            let remedy = "write what differs below `[compare.NAME]`, by the scenario's keys, the name \
                          to compare with as `compare.reference`, and on how many seeds as \
                          `compare.seeds`";
            Err(source.refuse(&entry.key, "this is no table of what differs", remedy))
        }
    });
    each.collect()
}

/// The keys of a comparison that are no names.
pub(super) const REFERENCE: &str = "reference";
/// On how many seeds all variants are played.
pub(super) const SEEDS: &str = "seeds";

/// Returns the same scenario by today's keys alone. The place of each value stays known.
///
/// # Errors
/// Refuses a value that stands in two places.
pub(super) fn settled(source: Source<'_>, mut tree: Tree) -> Result<Tree, InputError> {
    let (machine, network) = (tree.remove("machine"), tree.remove("network"));
    let is_given = tree.contains_key("system") || machine.is_some() || network.is_some();
    let (mut span, mut system) = match tree.remove("system") {
        None => (0..0, Tree::new()),
        Some(Entry { node: Node { span, item: Item::Table(system) }, .. }) => (span, system),
        Some(Entry { node, .. }) => {
            let remedy = "write `[system]` above its keys";
            return Err(source.refuse(&node.span, "no table", remedy));
        }
    };
    let mut moved = Vec::new();
    for (name, entry) in [("machine", machine), ("network", network)] {
        let Some(mut entry) = entry else { continue };
        if span == (0..0) {
            span = entry.node.span.clone();
        }
        if let Item::Table(inner) = &mut entry.node.item {
            let of_table = EARLIER.iter().filter(|(table, ..)| *table == name);
            moved
                .extend(of_table.filter_map(|(_, key, today)| Some((*today, inner.remove(*key)?))));
        }
        if name == "network" {
            moved.insert(0, ("system.network", entry));
        } else if !matches!(&entry.node.item, Item::Table(_)) {
            let remedy = "write `[machine]` above `preset` or `file`";
            return Err(source.refuse(&entry.node.span, "no table", remedy));
        }
    }
    for (path, entry) in moved {
        match path.strip_prefix("system.") {
            None => put(source, &mut tree, path, entry)?,
            Some(of_system) => match of_system.strip_prefix("server.") {
                None if of_system == "server" && system.contains_key("server") => {
                    return Err(two_places(source, &entry));
                }
                None => put(source, &mut system, of_system, entry)?,
                Some(of_server) => put_in_server(source, &mut system, of_server, entry)?,
            },
        }
    }
    if let Some(network) = system.get_mut("network") {
        name_network(source, &mut network.node)?;
    }
    if is_given {
        let node = Node { span: span.clone(), item: Item::Table(system) };
        tree.insert("system".to_owned(), Entry { key: span, node });
    }
    Ok(tree)
}

fn put(source: Source<'_>, tree: &mut Tree, key: &str, entry: Entry) -> Result<(), InputError> {
    if tree.contains_key(key) {
        let problem = format!("`{}` is given twice", source.written(&entry.key));
        return Err(source.refuse(&entry.node.span, &problem, "write it once"));
    }
    tree.insert(key.to_owned(), entry);
    Ok(())
}

fn two_places(source: Source<'_>, entry: &Entry) -> InputError {
    let remedy = "write `system.server` once, or one `[[system.server]]` for each kind";
    source.refuse(&entry.node.span, "servers in two places", remedy)
}

/// Puts what says of a server what it is into its table.
fn put_in_server(
    source: Source<'_>,
    system: &mut Tree,
    key: &str,
    entry: Entry,
) -> Result<(), InputError> {
    let names = |key: &str| matches!(key, "preset" | "file");
    let server = system.entry("server".to_owned()).or_insert_with(|| {
        let node = Node { span: entry.node.span.clone(), item: Item::Table(Tree::new()) };
        Entry { key: entry.key.clone(), node }
    });
    match &mut server.node.item {
        Item::Table(tree) if tree.keys().all(|other| names(other) == names(key)) => {
            put(source, tree, key, entry)
        }
        _ if names(key) => Err(two_places(source, &entry)),
        _ => {
            let written = source.written(&entry.key);
            let remedy = format!("remove `{written}`, which is of abstract nodes");
            let problem = "the servers say what their GPUs are joined by";
            Err(source.refuse(&entry.node.span, problem, remedy))
        }
    }
}

/// A network that is named as its table: by its kind, its file or the speed of one switch's links.
fn name_network(source: Source<'_>, node: &mut Node) -> Result<(), InputError> {
    let Some(name) = node.as_text() else { return Ok(()) };
    let span = node.span.clone();
    let key = |key: &str, text: &str| {
        let node = Node::text(span.clone(), text);
        (key.to_owned(), Entry { key: span.clone(), node })
    };
    let speed: Option<Bandwidth> = name.parse().ok();
    let kinds = source.registries.fabrics.names();
    let table = match speed {
        _ if kinds.contains(&name) => Tree::from([key("kind", name)]),
        Some(_) => Tree::from([key("kind", "single-switch"), key("bandwidth", name)]),
        None if name.contains(['.', '/', '\\']) => Tree::from([key("file", name)]),
        None => {
            let known = instead_of(name, &kinds);
            let remedy = format!("{known}, files, and speeds such as \"100 Gb/s\"");
            return Err(source.refuse(&span, "unknown kind of network", remedy));
        }
    };
    node.item = Item::Table(table);
    Ok(())
}
