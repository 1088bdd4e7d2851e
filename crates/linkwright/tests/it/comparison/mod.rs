//! Scenarios are compared without Python, and come to what its tables said when Python listed and summed up.
//!
//! The tables beside this file are of that time, but for the times of collectives, which have moved since (decision 0067). Every number
//! comes out again to the last bit.

use std::ops::ControlFlow;

use linkwright::scenario::comparison::{
    ComparedMachine, ComparedOutcome, ComparedRun, Comparison, ComparisonError, ComparisonOptions,
    OverSeeds,
};
use linkwright::scenario::{Files, Given};
use linkwright::table::{Column, Table};

fn compared(text: &str, options: ComparisonOptions) -> Result<Comparison, ComparisonError> {
    let (file, text) = ("s.toml".to_owned(), text.to_owned());
    Comparison::new(Given { file, text, ..Given::default() }, options)
}

fn played(comparison: &Comparison, run: ComparedRun, files: &Files) -> ComparedOutcome {
    comparison.play(run, files, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn summed_up(text: &str, files: &Files) -> OverSeeds {
    let comparison = compared(text, ComparisonOptions::default()).unwrap();
    let days = comparison.runs().map(|run| match played(&comparison, run, files) {
        ComparedOutcome::Day(day) => day,
        other => panic!("no day: {other:?}"),
    });
    comparison.sum_up(days.collect())
}

/// Tells a measure that Python's tables had not.
fn is_newer(name: &str) -> bool {
    name.starts_with("gpu_energy")
}

/// Tells a measure of links, whose loads are counted in whole bytes while a run goes on, and no more from plans after it.
fn is_of_links(name: &str) -> bool {
    ["nvlink_use", "pcie_use", "network_use"].contains(&name)
}

/// Whether a table has the cells of a text, whose numbers are those to the last bit, but for the loads of links.
fn check(table: &Table, text: &str) {
    let mut lines = text.lines();
    let columns = || table.columns().iter().filter(|column| !is_newer(column.name));
    let names: Vec<&str> = columns().map(|column| column.name).collect();
    assert_eq!(lines.next().unwrap(), names.join(","));
    let measures = table.columns().iter().find_map(|column| match &column.values {
        Column::Utf8(values) if column.name == "measure" => Some(values),
        _ => None,
    });
    let is_kept = |row: &usize| measures.is_none_or(|measures| !is_newer(&measures[*row]));
    let rows: Vec<usize> = (0..table.row_count()).filter(is_kept).collect();
    assert_eq!(rows.len(), text.lines().count() - 1);
    for (row, line) in rows.into_iter().zip(lines) {
        for (column, cell) in columns().zip(line.split(',')) {
            let number = |value: Option<f64>| {
                let wanted = (!cell.is_empty()).then(|| cell.parse::<f64>().unwrap());
                let of_row = measures.is_some_and(|measures| is_of_links(&measures[row]));
                match (value, wanted) {
                    (Some(value), Some(wanted)) if of_row || is_of_links(column.name) => {
                        assert!((value - wanted).abs() <= 1e-9 * wanted.abs(), "{line}");
                    }
                    _ => assert_eq!(value.map(f64::to_bits), wanted.map(f64::to_bits), "{line}"),
                }
            };
            match &column.values {
                Column::Utf8(values) => assert_eq!(values[row], cell),
                Column::UInt64(values) => assert_eq!(values[row].to_string(), cell),
                Column::OptionalUInt64(values) => {
                    assert_eq!(values[row].unwrap().to_string(), cell);
                }
                Column::OptionalFloat64(values) => number(values[row]),
                other => panic!("a column of {other:?}"),
            }
        }
    }
}

#[test]
fn choices_over_seeds_come_to_what_python_s_tables_said() {
    let found = summed_up(include_str!("day.toml"), &Files::new());
    let names: Vec<&str> = found.variants.iter().map(|(name, _)| name.as_str()).collect();
    let alone = ["allocation.policies = preserve", "collectives.planner = packing"];
    assert_eq!(names, ["as-written", alone[0], alone[1], "default", "backfilled"]);
    assert_eq!(found.seeds, [3, 4, 5]);
    check(&found.runs_table(), include_str!("day-runs.csv"));
    check(&found.gains_table(), include_str!("day-gains.csv"));
    check(&found.held_table(), include_str!("day-held.csv"));
}

#[test]
fn days_that_are_drawn_of_a_file_come_to_what_python_s_tables_said() {
    let jobs = include_bytes!("recorded.csv").to_vec();
    let files = Files::from([("recorded.csv".to_owned(), jobs)]);
    let found = summed_up(include_str!("recorded.toml"), &files);
    check(&found.runs_table(), include_str!("recorded-runs.csv"));
    check(&found.gains_table(), include_str!("recorded-gains.csv"));
    check(&found.held_table(), include_str!("recorded-held.csv"));
}

fn machine(name: &str, servers: Option<u32>) -> ComparedMachine {
    ComparedMachine { name: name.to_owned(), written: name.to_owned(), servers }
}

#[test]
fn each_machine_has_its_own_number_of_servers() {
    let few = include_str!("day.toml").split("[compare]").next().unwrap();
    let machines =
        vec![machine("dgx1-v100", Some(1)), machine("dgx1-v100", Some(3)), machine("dgx2", None)];
    let options = ComparisonOptions { machines, ..ComparisonOptions::default() };
    let comparison = compared(few, options).unwrap();
    let names: Vec<_> = comparison.variants.iter().map(|it| it.variant.as_str()).collect();
    assert_eq!(names, ["preserve", "machine-2", "machine-3"]);
    let servers = comparison.runs().map(|run| {
        let scenario = comparison.scenario_of(run).unwrap();
        scenario.network.servers.iter().map(|it| it.count).sum::<u32>()
    });
    assert_eq!(servers.collect::<Vec<_>>(), [1, 3, 1]);
}

#[test]
fn machines_take_the_place_of_variants() {
    let machines = ["dgx1-v100", "dgx2"].map(|name| machine(name, None)).to_vec();
    let options = ComparisonOptions { machines, ..ComparisonOptions::default() };
    let few = include_str!("day.toml").split("[compare]").next().unwrap();
    let comparison = compared(few, options).unwrap();
    let names: Vec<_> = comparison.variants.iter().map(|it| it.variant.as_str()).collect();
    assert_eq!((names, comparison.reference), (vec!["preserve", "machine-2"], 0));
    let runs: Vec<ComparedRun> = comparison.runs().collect();
    assert_eq!(runs, [0, 1].map(|variant| ComparedRun { variant, seed: Some(3), draw: 0 }));
    let servers = runs.iter().map(|run| {
        let scenario = comparison.scenario_of(*run).unwrap();
        scenario.network.servers[0].kind.name.clone()
    });
    assert_eq!(servers.collect::<Vec<_>>(), ["dgx1-v100", "dgx2"]);
}

#[test]
fn programs_are_compared_on_their_own_seed() {
    let text = "[[job]]\nprogram = \"stencil4d\"\nranks = 16\n[compare.a]\nseed = 4\n";
    let comparison = compared(text, ComparisonOptions::default()).unwrap();
    let runs: Vec<ComparedRun> = comparison.runs().collect();
    assert_eq!(runs, [0, 1].map(|variant| ComparedRun { variant, seed: None, draw: 0 }));
    let ComparedOutcome::Programs(times) = played(&comparison, runs[0], &Files::new()) else {
        panic!("no programs")
    };
    assert_eq!(times.jobs.len(), 1);
    assert!(times.makespan > 0.0 && times.makespan == times.jobs[0].1);
    let seeds = ComparisonOptions { seeds: Some(2), ..ComparisonOptions::default() };
    assert!(matches!(compared(text, seeds), Err(ComparisonError::OfPrograms)));
    let reference = Some("none".to_owned());
    let unknown = ComparisonOptions { reference, ..ComparisonOptions::default() };
    let refused = compared(text, unknown).unwrap_err().to_string();
    assert_eq!(refused, "there is no variant `none`; use one of as-written, a");
}
