//! Where files once hung together in circles, none imports itself by way of others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::layers::rust_files;

/// A folder of a crate's source, and its files that hang together because they must.
const PLACES: [(&str, &str, &[&str]); 2] = [
    ("linkwright-collectives", "collectives/nccl/baselines", &[]),
    // A system is made from other systems, and a run that is replayed on it holds it.
    ("linkwright-python", "", &["cluster_run", "system", "system_origin"]),
];

/// Names a module by its path from the crate's root.
type Module = Vec<String>;

/// The module of each file of a crate, with its text, without tests and comments.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let mut files = Vec::new();
    rust_files(source, &mut files);
    let comment = Regex::new("//[^\n]*").expect("a valid pattern");
    let module = |file: &Path| -> Module {
        let inside = file.strip_prefix(source).expect("the file lies in the source folder");
        let names = inside.with_extension("");
        let mut names: Module =
            names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        names.pop_if(|last| last == "mod" || last == "lib");
        names
    };
    let text = |file: &Path| {
        let text = fs::read_to_string(file).expect("a source file is text");
        let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        comment.replace_all(own, "").into_owned()
    };
    let is_test = |module: &Module| module.iter().any(|name| name.starts_with("test"));
    let all = files.iter().map(|file| (module(file), text(file)));
    all.filter(|(module, _)| !is_test(module) && !module.is_empty()).collect()
}

/// The paths of an import, one for each name: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(import: &str) -> Vec<String> {
    let Some((head, rest)) = import.split_once('{') else {
        return vec![import.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut parts) = (0_i32, vec![String::new()]);
    for character in inner.chars() {
        depth += i32::from(character == '{') - i32::from(character == '}');
        match character {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().expect("there is a part").push(character),
        }
    }
    let whole = |part: &String| paths(&format!("{}{}", head.trim(), part.trim()));
    parts.iter().filter(|part| !part.trim().is_empty()).flat_map(whole).collect()
}

/// The module that a path of an import in `from` leads into.
fn target(from: &Module, path: &str, known: &BTreeMap<Module, String>) -> Module {
    let names: Vec<&str> = path.split("::").map(str::trim).collect();
    let mut at = if names[0] == "crate" { Module::new() } else { from.clone() };
    for name in names {
        match name {
            "crate" | "self" => {}
            "super" => _ = at.pop(),
            name => {
                at.push(name.to_owned());
                if !known.contains_key(&at) {
                    at.pop();
                    break;
                }
            }
        }
    }
    at
}

/// Leaves out, again and again, files that import none of the others.
fn without_leaves(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut left: BTreeSet<Module> = imports.keys().cloned().collect();
    loop {
        let is_leaf = |module: &&Module| imports[*module].is_disjoint(&left);
        let leaves: Vec<Module> = left.iter().filter(is_leaf).cloned().collect();
        if leaves.is_empty() {
            return left;
        }
        leaves.iter().for_each(|leaf| _ = left.remove(leaf));
    }
}

/// Finds the files of a folder that import themselves by way of others, or stand between such files.
fn in_circles(source: &Path, folder: &str) -> Vec<String> {
    let known = modules(source);
    let import = Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]*);").expect("valid");
    let is_own = |module: &Module| module.join("/").starts_with(folder);
    let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in known.iter().filter(|(module, _)| is_own(module)) {
        let found = import.captures_iter(text).flat_map(|found| paths(&found[1]));
        let found = found.map(|path| target(module, &path, &known));
        let others = found.filter(|other| other != module && is_own(other));
        imports.insert(module.clone(), others.collect());
    }
    let upward = without_leaves(&imports);
    let mut importers: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for module in &upward {
        let by = upward.iter().filter(|other| imports[*other].contains(module)).cloned();
        importers.insert(module.clone(), by.collect());
    }
    without_leaves(&importers).iter().map(|module| module.join("/")).collect()
}

#[test]
fn no_file_imports_itself_by_way_of_others() {
    for (name, folder, meant) in PLACES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        assert_eq!(in_circles(&source, folder), meant, "in circles in {name}/src/{folder}");
    }
}

#[test]
fn a_circle_is_seen() {
    let module = |name: &str| -> Module { name.split('/').map(str::to_owned).collect() };
    let known: BTreeMap<Module, String> =
        ["a", "a/b", "c"].map(|name| (module(name), String::new())).into();
    assert_eq!(target(&module("a/b"), "super::Thing", &known), module("a"));
    assert_eq!(target(&module("c"), "crate::a::b::Thing", &known), module("a/b"));
    assert_eq!(paths("a::{b, c::{d, e}}"), ["a::b", "a::c::d", "a::c::e"]);
    let imports = [("a", vec!["a/b"]), ("a/b", vec!["a"]), ("c", vec!["a"])];
    let imports = imports.map(|(from, to)| (module(from), to.into_iter().map(module).collect()));
    assert_eq!(without_leaves(&imports.into()).len(), 3);
}
