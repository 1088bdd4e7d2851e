//! Plays a scenario of jobs of GPUs in Rust alone, and writes the tables of its results as CSV.
//!
//!     cargo run --example day -- examples/shared-server.toml FOLDER
//!
//! The files of `FOLDER` have the rows of the tables of the same names that `linkwright run
//! examples/shared-server.toml -o FOLDER` writes as Parquet.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::{env, fs, io};

use linkwright::scenario::{Asked, Given, PlayedScenario, ReadyJobs, Run, Scenario, play};
use linkwright::simulation::cluster::{links, parts};
use linkwright::simulation::power::{gpu_energy, held_by_day, powers};
use linkwright::simulation::tables;
use linkwright::table::{Column, Table};

fn main() -> Result<(), Box<dyn Error>> {
    let (path, into) = match (env::args().nth(1), env::args().nth(2)) {
        (Some(path), Some(into)) => (path, into),
        _ => return Err("name a scenario's TOML file, and a folder for its tables".into()),
    };
    let text = fs::read_to_string(&path)?;
    let given = Given { file: path.clone(), text, ..Given::default() };
    let scenario = Scenario::read(&given)?;
    let Asked::Mix(mix) = &scenario.asked else { return Err("it has no `[jobs]`".into()) };
    // A scenario names files that lie beside it.
    let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
    let named = scenario.files().into_iter().map(|file| file.name.clone());
    let files: io::Result<BTreeMap<String, Vec<u8>>> =
        named.map(|name| fs::read(folder.join(&name)).map(|bytes| (name, bytes))).collect();
    let built = scenario.build(&files?)?;
    let ReadyJobs::Mix(jobs) = &built.work else { unreachable!("jobs of a mix") };
    let mut written: BTreeMap<&str, String> = BTreeMap::new();
    for policy in &mix.policies {
        let run = Run { policy: Some(policy), ..Run::default() };
        let played = play(&scenario, &built, run, &mut |_| ControlFlow::Continue(()))?;
        let PlayedScenario::Day(day) = played else { unreachable!("a mix is a day") };
        let system = &built.cluster.system;
        let powers = powers(system, &BTreeMap::new(), &BTreeMap::new());
        let energy = gpu_energy(&powers, &held_by_day(system, &day.records));
        let rows = tables::jobs(jobs, &day.records, &system.first_gpus());
        let rows = rows.with("gpu_energy", "kWh", energy.jobs);
        let mut of_day = vec![("jobs", rows), ("fragments", tables::fragments(&day.records))];
        if let Some(loads) = &day.loads {
            let end = day.records.iter().map(|record| record.finish).max().unwrap_or_default();
            of_day.push(("links", links::links_of_day(system, loads, end)));
            of_day.push(("devices", parts::devices_of_day(system, loads, end)));
            of_day.push(("link_times", parts::link_times(system, loads, end)));
        }
        for (name, table) in &of_day {
            add(written.entry(name).or_default(), table, policy)?;
        }
    }
    fs::create_dir_all(&into)?;
    for (name, csv) in &written {
        fs::write(Path::new(&into).join(format!("{name}.csv")), csv)?;
    }
    Ok(())
}

/// Adds the rows of a table under a policy, with a head if they are the first.
fn add(csv: &mut String, table: &Table, policy: &str) -> std::fmt::Result {
    if csv.is_empty() {
        let names = table.columns().iter().map(|column| column.name);
        writeln!(csv, "policy,{}", names.collect::<Vec<_>>().join(","))?;
    }
    for row in 0..table.row_count() {
        let cells = table.columns().iter().map(|column| cell(&column.values, row));
        writeln!(csv, "{},{}", quoted(policy), cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// Writes a value; a list with spaces, and nothing where there is none.
fn cell(column: &Column, row: usize) -> String {
    match column {
        Column::Float64(values) => values[row].to_string(),
        Column::OptionalFloat64(values) => values[row].map(|it| it.to_string()).unwrap_or_default(),
        Column::UInt64(values) => values[row].to_string(),
        Column::OptionalUInt64(values) => values[row].map(|it| it.to_string()).unwrap_or_default(),
        Column::UInt32List(values) => {
            let each = values[row].iter().map(u32::to_string);
            each.collect::<Vec<_>>().join(" ")
        }
        Column::Utf8(values) => quoted(&values[row]),
        Column::Boolean(values) => values[row].to_string(),
    }
}

/// Puts a text in quotes where it has what parts cells.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
