//! The order of the layers: a module names only the modules below it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Each module with those that it may name besides itself and the ground (`diagnostic`,
/// `units`, `table`, `xml`), as the table in the crate's first lines says.
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
    ("allocation", &["graph", "system", "program"]),
    ("collectives", &["engine", "graph", "system", "network", "program", "runtime"]),
    ("memory", &["engine", "system", "network"]),
    ("thermal", &[]),
    ("training", &["system", "network", "program"]),
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
            "runtime",
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
/// A grouped import may run over several lines, so the text is read whole; comments and texts
/// that name a module count too, which errs on the strict side.
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

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
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
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    files.sort();
    let mut faults = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&source).expect("the file lies in the source folder");
        let first = inside.iter().next().expect("a file has a name").to_string_lossy();
        let module = first.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        if !MAY_USE.iter().any(|(known, _)| *known == module) {
            faults.push(format!("src/{}:1: `{module}` is no known layer", inside.display()));
        }
        let text = fs::read_to_string(&file).expect("the source is readable");
        for (line, used) in modules_named(&text) {
            if !may_use(module, &used) {
                let place = format!("src/{}:{line}", inside.display());
                faults.push(format!("{place}: `{module}` may not use `{used}`"));
            }
        }
    }
    assert!(faults.is_empty(), "layers out of order:\n{}", faults.join("\n"));
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
