//! Each recipe's example is chosen by its name from a scenario, and has only the places that
//! CONTRIBUTING names.

mod accounting;
mod allocation;
mod application;
mod arbitration;
mod fabric;
mod memory;
mod nic;
mod planner;
mod protocol;
mod routing;
mod server;
mod trace;
mod workload;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use linkwright::scenario::{Files, Given, PlayedScenario, Run, Scenario, play};
use linkwright_recipes::registries;

/// Reads a scenario that may name the examples.
fn scenario(text: &str) -> Scenario {
    let (file, text) = ("recipe.toml".to_owned(), text.to_owned());
    let given = Given { file, text, registries: registries(), ..Given::default() };
    Scenario::read(&given).unwrap_or_else(|error| panic!("{error}"))
}

/// Plays one run of a scenario that may name the examples.
fn played(text: &str) -> PlayedScenario {
    played_with(text, &Files::new())
}

/// Plays one run of a scenario that may name the examples and files.
/// The same with the files that it names.
fn played_with(text: &str, files: &Files) -> PlayedScenario {
    let scenario = scenario(text);
    let built = scenario.build(files).unwrap_or_else(|error| panic!("{error}"));
    play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(()))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// An example stands in one file, is a module, and is registered by one line; nothing else names it.
fn stands_in_one_file_and_one_line(module: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let own = source.join(format!("{module}.rs"));
    assert!(own.is_file(), "{module} is no file");
    let text = fs::read_to_string(source.join("lib.rs")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(module)).collect();
    assert_eq!(lines.len(), 2, "{module} has other places: {lines:#?}");
    assert_eq!(lines[0], format!("pub mod {module};"));
    for other in fs::read_dir(&source).unwrap() {
        let other = other.unwrap().path();
        let knows = other != own && other.file_name().is_some_and(|name| name != "lib.rs");
        assert!(!knows || !fs::read_to_string(&other).unwrap().contains(module), "{other:?}");
    }
}
