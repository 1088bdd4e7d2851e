//! The order of the layers: a module names only the modules below it, and a crate only the crates
//! that hold such modules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::crates;

/// Lists each module with those that it may name besides itself and the ground (`diagnostic`,
/// `units`, `table`, `xml`). The table in the crate's first lines says the same.
const MAY_USE: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("units", &[]),
    ("table", &[]),
    ("xml", &[]),
    ("engine", &[]),
    ("graph", &[]),
    ("system", &[]),
    ("network", &["engine", "system"]),
    ("program", &["engine", "network"]),
    ("runtime", &["engine", "system", "network", "program"]),
    ("allocation", &["engine", "graph", "system", "network", "program"]),
    ("collectives", &["engine", "graph", "system", "network", "program", "runtime"]),
    ("doctor", &["system", "collectives"]),
    ("memory", &["engine", "system", "network"]),
    ("thermal", &[]),
    ("training", &["engine", "system", "network", "program"]),
    (
        "simulation",
        &[
            "engine",
            "graph",
            "system",
            "network",
            "program",
            "allocation",
            "collectives",
            "runtime",
            "memory",
            "thermal",
            "training",
        ],
    ),
    (
        "scenario",
        &[
            "engine",
            "system",
            "network",
            "program",
            "allocation",
            "collectives",
            "doctor",
            "runtime",
            "memory",
            "thermal",
            "training",
            "simulation",
        ],
    ),
];

/// The modules that hold no model, lowest first; any other module may use them.
const GROUND: [&str; 4] = ["diagnostic", "units", "table", "xml"];

fn may_use(module: &str, used: &str) -> bool {
    if module == used {
        return true;
    }
    if let Some(height) = GROUND.iter().position(|ground| *ground == module) {
        return GROUND[..height].contains(&used);
    }
    let allowed: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    GROUND.contains(&used) || allowed.get(module).is_some_and(|below| below.contains(&used))
}

/// The modules that one file's text names by `crate::` paths, each with its line from one.
///
/// A grouped import may run over several lines, so the text is read whole. Comments and texts that
/// name a module count too, which errs on the strict side.
fn modules_named(text: &str) -> Vec<(usize, String)> {
    let path = Regex::new(r"\bcrate::(\{[^;]*\}|[a-z_]+)").expect("a valid pattern");
    let head = Regex::new(r"(?:^|[{,])\s*([a-z_]+)").expect("a valid pattern");
    let code: String = text
        .split_inclusive('\n')
        .map(|line| if line.trim_start().starts_with("//") { "\n" } else { line })
        .collect();
    let mut found = Vec::new();
    for capture in path.captures_iter(&code) {
        let what = capture.get(1).expect("the pattern has one group");
        let line = code[..what.start()].matches('\n').count() + 1;
        let outer = outermost(what.as_str());
        for module in head.captures_iter(&outer) {
            found.push((line, module[1].to_owned()));
        }
    }
    found
}

/// A grouped import without its inner groups: `{a::{b, c}, d}` becomes `{a::, d}`.
fn outermost(group: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for character in group.chars() {
        if character == '}' {
            depth -= 1;
        }
        if depth < 2 && !(depth == 1 && character == '}') {
            kept.push(character);
        }
        if character == '{' {
            depth += 1;
        }
    }
    kept
}

pub fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_module_names_only_the_modules_below_it() {
    let mut faults = Vec::new();
    for folder in crates::core() {
        let source = folder.join("src");
        let mut files = Vec::new();
        rust_files(&source, &mut files);
        files.sort();
        for file in files {
            let inside = file.strip_prefix(&source).expect("the file lies in the source folder");
            let module = module_of(inside);
            if module == "lib" {
                continue;
            }
            let place = format!("{}/src/{}", crates::name(&folder), inside.display());
            if !MAY_USE.iter().any(|(known, _)| *known == module) {
                faults.push(format!("{place}:1: `{module}` is no known layer"));
            }
            let text = fs::read_to_string(&file).expect("the source is readable");
            for (line, used) in modules_named(&text) {
                if !may_use(&module, &used) {
                    faults.push(format!("{place}:{line}: `{module}` may not use `{used}`"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "layers out of order:\n{}", faults.join("\n"));
}

/// The layer that a file of a source folder belongs to.
fn module_of(inside: &Path) -> String {
    let first = inside.iter().next().expect("a file has a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Lists the layers that stand in a crate.
fn layers_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("src")).expect("the source folder is readable");
    let names = entries.map(|entry| entry.expect("the source folder is readable").file_name());
    let mut found: Vec<String> = names.map(|name| module_of(Path::new(&name))).collect();
    found.retain(|module| module != "lib");
    found
}

#[test]
fn a_crate_depends_on_crates_of_layers_below_it_alone() {
    let all = crates::core();
    assert!(all.len() > 1, "the crates are found");
    let mut faults = Vec::new();
    for folder in &all {
        let layers = layers_of(folder);
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a crate has a manifest");
        let manifest: toml::Table = text.parse().expect("a manifest is TOML");
        for table in ["dependencies", "dev-dependencies"] {
            let Some(named) = manifest.get(table).and_then(|named| named.as_table()) else {
                continue;
            };
            for below in all.iter().filter(|below| named.contains_key(crates::name(below))) {
                let used = layers_of(below);
                let is_used = |layer: &String| used.iter().any(|used| may_use(layer, used));
                if !layers.iter().any(is_used) {
                    let (name, below) = (crates::name(folder), crates::name(below));
                    faults.push(format!("{name}: none of its layers may use one of {below}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "crates out of order:\n{}", faults.join("\n"));
}

#[test]
fn the_guard_sees_every_form_of_path() {
    let text = "use crate::units::Bytes;\n// crate::simulation\nuse crate::{\n    \
        system::{Server, kinds},\n    engine,\n};\nlet x = crate::table::Table::new();\n";
    let names: Vec<_> = modules_named(text);
    let expected = [(1, "units"), (3, "system"), (3, "engine"), (7, "table")];
    assert_eq!(names, expected.map(|(line, name)| (line, name.to_owned())));
    assert!(may_use("simulation", "allocation") && !may_use("allocation", "simulation"));
    assert!(may_use("table", "units") && !may_use("units", "table"));
}
