//! No two public types have one name, wherever in the crate they stand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::crates;

/// A module by its names from the crate's root.
type ModulePath = Vec<String>;

/// Holds the names in a module's file.
#[derive(Default)]
struct Module {
    /// Whether it can be named from outside, by its own path.
    is_public: bool,
    /// Lists the public types and traits that it declares.
    declared: BTreeSet<String>,
    /// Lists the names that it offers as its own: the path that is named, its last part, and the
    /// name offered.
    offered: Vec<(Vec<String>, String, String)>,
}

/// Reads a module's file and those of the modules that it declares.
fn read(file: &Path, path: &[String], is_public: bool, found: &mut BTreeMap<ModulePath, Module>) {
    let comment = Regex::new(r"//[^\n]*").expect("a valid pattern");
    let item = Regex::new(r"(?m)^pub (?:unsafe )?(?:struct|enum|union|trait|type) (\w+)")
        .expect("a valid pattern");
    let child = Regex::new(r"(?m)^(pub )?(?:pub\([^)]*\) )?mod (\w+);").expect("a valid pattern");
    let offer = Regex::new(r"(?m)^pub use ([^;]+);").expect("a valid pattern");
    let text = fs::read_to_string(file).expect("a readable file");
    let text = comment.replace_all(&text, "");
    let mut module = Module { is_public, ..Module::default() };
    module.declared.extend(item.captures_iter(&text).map(|found| found[1].to_owned()));
    for found in offer.captures_iter(&text) {
        flatten(&[], &found[1], &mut module.offered);
    }
    found.insert(path.to_vec(), module);
    let is_folder = ["lib.rs", "mod.rs"].iter().any(|name| file.ends_with(name));
    let folder = if is_folder { file.with_file_name("") } else { file.with_extension("") };
    for declared in child.captures_iter(&text) {
        let name = &declared[2];
        let alone = folder.join(format!("{name}.rs"));
        let file = if alone.exists() { alone } else { folder.join(name).join("mod.rs") };
        let path = [path, &[name.to_owned()]].concat();
        read(&file, &path, is_public && declared.get(1).is_some(), found);
    }
}

/// The single names of a `use`, with braces or without.
fn flatten(above: &[String], tree: &str, offered: &mut Vec<(Vec<String>, String, String)>) {
    let parts = |text: &str| -> Vec<String> {
        text.split("::")
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect()
    };
    let Some((before, inside)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path = [above, &parts(path)].concat();
        let Some(last) = path.pop() else { return };
        let name = if alias.is_empty() { last.clone() } else { alias.trim().to_owned() };
        return offered.push((path, last, name));
    };
    let above = [above, &parts(before)].concat();
    let inside = inside.rsplit_once('}').expect("a closed brace").0;
    let (mut depth, mut start) = (0, 0);
    for (at, character) in inside.char_indices().chain([(inside.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[start..at].trim().is_empty() {
                    flatten(&above, &inside[start..at], offered);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns every public name, with the modules that declare a type of that name.
fn public_types(modules: &BTreeMap<ModulePath, Module>) -> BTreeMap<&str, BTreeSet<&ModulePath>> {
    let mut types: BTreeMap<&str, BTreeSet<&ModulePath>> = BTreeMap::new();
    for (path, module) in modules.iter().filter(|(_, module)| module.is_public) {
        for name in &module.declared {
            types.entry(name).or_default().insert(path);
        }
        for (named, last, name) in &module.offered {
            let mut from = path.clone();
            for part in named {
                match part.as_str() {
                    "crate" => from.clear(),
                    "self" => {}
                    "super" => _ = from.pop(),
                    inner => from.push(inner.to_owned()),
                }
            }
            // A name that a module in between offers is declared below it.
            let declaring = modules
                .iter()
                .filter(|(path, module)| path.starts_with(&from) && module.declared.contains(last));
            types.entry(name).or_default().extend(declaring.map(|(path, _)| path));
        }
    }
    types
}

/// The modules of all crates of the core; those that the crate `linkwright` does not offer are not public.
fn modules_of_the_core() -> BTreeMap<ModulePath, Module> {
    let is_facade = |folder: &PathBuf| crates::name(folder) == "linkwright";
    let (facade, below): (Vec<PathBuf>, Vec<PathBuf>) =
        crates::core().into_iter().partition(is_facade);
    let mut modules = BTreeMap::new();
    read(&facade[0].join("src/lib.rs"), &[], true, &mut modules);
    let root = &modules[&ModulePath::new()];
    let offered: BTreeSet<String> = root.offered.iter().map(|(_, _, name)| name.clone()).collect();
    for folder in below {
        let mut of_one = BTreeMap::new();
        read(&folder.join("src/lib.rs"), &[], true, &mut of_one);
        of_one.remove(&ModulePath::new());
        for (path, module) in &mut of_one {
            module.is_public &= offered.contains(&path[0]);
        }
        modules.extend(of_one);
    }
    modules
}

#[test]
fn no_two_public_types_have_one_name() {
    let modules = modules_of_the_core();
    let types = public_types(&modules);
    assert!(types.len() > 500, "the source is read: {}", types.len());
    let twins: Vec<String> = types
        .iter()
        .filter(|(_, modules)| modules.len() > 1)
        .map(|(name, modules)| {
            let modules: Vec<String> = modules.iter().map(|path| path.join("::")).collect();
            format!("{name}: {}", modules.join(", "))
        })
        .collect();
    assert!(twins.is_empty(), "say in each name what it is of:\n{}", twins.join("\n"));
}

#[test]
fn names_offered_from_several_modules_are_found() {
    let modules: BTreeMap<ModulePath, Module> = [
        ("a", true, "Shape", ""),
        ("a::hidden", false, "Step", ""),
        ("b", true, "", "crate::a::{hidden::Step, Shape as Other}"),
        ("b::c", true, "Shape", "super::super::a::hidden::Step"),
        ("d", false, "Shape", ""),
    ]
    .into_iter()
    .map(|(path, is_public, declared, offers)| {
        let mut offered = Vec::new();
        if !offers.is_empty() {
            flatten(&[], offers, &mut offered);
        }
        let declared = [declared].into_iter().filter(|name| !name.is_empty()).map(str::to_owned);
        let path = path.split("::").map(str::to_owned).collect();
        (path, Module { is_public, declared: declared.collect(), offered })
    })
    .collect();
    let types = public_types(&modules);
    let counts: Vec<_> = types.iter().map(|(name, modules)| (*name, modules.len())).collect();
    assert_eq!(counts, [("Other", 1), ("Shape", 2), ("Step", 1)]);
}
