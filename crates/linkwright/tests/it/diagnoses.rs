//! Tests every error: it names the problem and the remedy, each by itself.
//!
//! Each error's variants stand here; those that are another error hand on what that says.

use std::fs;
use std::path::Path;

use linkwright::diagnostic::{Diagnose, Diagnosis};
use regex::Regex;

use crate::crates;

mod collectives;
mod models;
mod programs;
mod simulation;
mod system;

/// The source of the rows, in which each variant must be named.
const ROWS: [&str; 5] = [
    include_str!("diagnoses/collectives.rs"),
    include_str!("diagnoses/models.rs"),
    include_str!("diagnoses/programs.rs"),
    include_str!("diagnoses/simulation.rs"),
    include_str!("diagnoses/system.rs"),
];

/// A problem and a remedy as lines; the message is both, with a semicolon between.
fn lines(error: &dyn Diagnose) -> String {
    let Diagnosis { problem, remedy } = error.diagnosis();
    let message = remedy.as_ref().map_or(problem.clone(), |it| format!("{problem}; {it}"));
    assert_eq!(error.to_string(), message);
    format!("{problem}\n    {}\n", remedy.as_deref().unwrap_or("-"))
}

fn told(errors: &[&dyn Diagnose]) -> String {
    errors.iter().map(|error| lines(*error)).collect()
}

#[test]
fn every_error_says_problem_and_remedy_apart() {
    let found =
        [simulation::all(), collectives::all(), programs::all(), system::all(), models::all()];
    let found = found.concat();
    let known = include_str!("diagnoses.txt");
    assert!(found == known, "diagnoses.txt should be\n{found}");
}

/// Whatever of a file's errors must have a row: each variant that is not another error, and each
/// struct.
fn rows_of(source: &str) -> Vec<String> {
    let diagnosing = Regex::new(r"(?m)^impl Diagnose for (\w+)").unwrap();
    // A variant's attributes stand before it, and its fields are indented further or in brackets.
    let variant = Regex::new(r"(?m)((?:^    #\[.*\n)*)^    ([A-Z]\w*)\b").unwrap();
    let rows = |name: &str| {
        let body = Regex::new(&format!(r"(?ms)^pub enum {name} \{{\n(.*?)^\}}")).unwrap();
        let Some(body) = body.captures(source) else { return vec![name.to_owned()] };
        let own = variant.captures_iter(&body[1]).filter(|it| !it[1].contains("transparent"));
        own.map(|it| format!("{name}::{}", &it[2])).collect()
    };
    diagnosing.captures_iter(source).flat_map(|it| rows(&it[1])).collect()
}

/// Returns the rows of all files below a folder.
fn rows_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        if path.is_dir() {
            found.extend(rows_below(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.extend(rows_of(&fs::read_to_string(path).expect("source is text")));
        }
    }
    found
}

#[test]
fn every_variant_of_every_error_has_a_row() {
    let rows = ROWS.concat();
    let needed: Vec<_> = crates::core().iter().flat_map(|it| rows_below(&it.join("src"))).collect();
    // A search that finds few has missed most.
    assert!(needed.len() > 300, "only {} variants were found", needed.len());
    let missing: Vec<_> = needed.into_iter().filter(|it| !rows.contains(it.as_str())).collect();
    assert!(missing.is_empty(), "no row of `diagnoses` has {}", missing.join(", "));
}
