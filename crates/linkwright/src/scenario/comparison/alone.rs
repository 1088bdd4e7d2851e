//! Lists the variants of one choice alone.
//!
//! A scenario makes some choices, and the variant that it is compared with differs from it in some keys. Each of these
//! keys is a choice. Played alone, the variant is the reference with that one key as the scenario has it. So what is
//! to be played follows from the scenario, and nothing has to be written twice.

use toml::{Table, Value};

use super::{ComparedVariant, put};
use crate::diagnostic::Named;
use crate::scenario::read::{Asked, Given, Scenario};

/// Gives the reference with each choice alone; nothing where there are not several choices.
///
/// `first` is the scenario under the first of its policies.
pub(super) fn alone(
    given: &Given,
    scenario: &Scenario,
    first: &Scenario,
    reference: &str,
) -> Vec<ComparedVariant> {
    let found = scenario.differences.iter().find(|(name, _)| name == reference);
    let different = found.map(|(_, table)| paths(table)).unwrap_or_default();
    let choices = choices(&different);
    if choices.len() < 2 {
        return Vec::new();
    }
    let of_choice = |(at, path): (usize, &String)| {
        let mut rest = Table::new();
        for (other, value) in
            different.iter().filter(|(other, _)| choice_of(other, &choices) != path)
        {
            put(&mut rest, other, (*value).clone());
        }
        let variant = format!("alone-{}", at + 1);
        let name = if *path == TOGETHER {
            path.clone()
        } else {
            format!("{path} = {}", written(given, first, path))
        };
        ComparedVariant {
            name,
            settings: Some((format!("compare.{variant}"), Value::Table(rest))),
            variant,
            choice: Some(path.clone()),
        }
    };
    choices.iter().enumerate().map(of_choice).collect()
}

/// Keys below it make one network. None has a meaning without the others.
const TOGETHER: &str = "system.network";

/// Lists the choices that keys are: each its own, but for those of one network.
fn choices(different: &[(String, &Value)]) -> Vec<String> {
    let of_network =
        |path: &str| path.strip_prefix(TOGETHER).is_some_and(|rest| rest.starts_with('.'));
    let is_network = different.iter().filter(|(path, _)| of_network(path)).count() > 1;
    let mut choices: Vec<String> = Vec::new();
    for (path, _) in different {
        let choice = if is_network && of_network(path) { TOGETHER } else { path };
        if choices.last().is_none_or(|last| last != choice) {
            choices.push(choice.to_owned());
        }
    }
    choices
}

/// The choice that a key is part of.
fn choice_of<'a>(path: &'a str, choices: &'a [String]) -> &'a str {
    let whole = choices.iter().find(|choice| *choice == TOGETHER);
    whole.filter(|_| path.starts_with(TOGETHER)).map_or(path, String::as_str)
}

/// Lists the keys of a table and of all within it, with dots, each with its value.
fn paths(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                let within = paths(inner).into_iter();
                found.extend(within.map(|(path, value)| (format!("{key}.{path}"), value)));
            }
            _ => found.push((key.clone(), value)),
        }
    }
    found
}

/// Tells what the scenario has for a key, as people read it.
fn written(given: &Given, first: &Scenario, path: &str) -> String {
    if let Asked::Mix(mix) = &first.asked {
        let choices = &mix.choices;
        match path {
            "allocation.policies" => return mix.policies[0].clone(),
            "allocation.bandwidth_model" => return choices.bandwidth_model.name().to_owned(),
            "allocation.servers" => return choices.server_choice.name().to_owned(),
            "allocation.ties" => return choices.ties.name().to_owned(),
            "collectives.planner" => return choices.planner.name().to_owned(),
            "fidelity" => return choices.fidelity.name().to_owned(),
            "queue.discipline" => return choices.discipline.name().to_owned(),
            _ => {}
        }
    }
    let told = |text: &str| {
        let table: Table = text.parse().ok()?;
        let known = paths(&table);
        let (_, value) = known.iter().rev().find(|(key, _)| key.replace('-', "_") == path)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let known = told(&given.settings).or_else(|| told(&given.text));
    known.unwrap_or_else(|| "as it is where nobody says".to_owned())
}
