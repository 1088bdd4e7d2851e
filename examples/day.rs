//! Plays a scenario of jobs of GPUs in Rust alone, and prints its jobs as CSV.
//!
//!     cargo run --release --example day -- examples/shared-server.toml > jobs.csv
//!
//! The rows are those of `jobs.parquet` that `linkwright run examples/shared-server.toml -o FOLDER` writes.

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::{env, fs, io};

use linkwright::scenario::{Asked, Given, PlayedScenario, ReadyJobs, Run, Scenario, play};
use linkwright::simulation::tables;
use linkwright::table::{Column, Table};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a scenario's TOML file")?;
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
    for (place, policy) in mix.policies.iter().enumerate() {
        let run = Run { policy: Some(policy), ..Run::default() };
        let played = play(&scenario, &built, run, &mut |_| ControlFlow::Continue(()))?;
        let PlayedScenario::Day(day) = played else { unreachable!("a mix is a day") };
        let rows = tables::jobs(jobs, &day.records, &built.cluster.system.first_gpus());
        print(&rows, policy, place == 0);
    }
    Ok(())
}

/// Prints a table under a policy, with a head if it is the first.
fn print(table: &Table, policy: &str, has_head: bool) {
    if has_head {
        let names = table.columns().iter().map(|column| column.name);
        println!("policy,{}", names.collect::<Vec<_>>().join(","));
    }
    for row in 0..table.row_count() {
        let cells = table.columns().iter().map(|column| cell(&column.values, row));
        println!("{policy},{}", cells.collect::<Vec<_>>().join(","));
    }
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
        Column::Utf8(values) => values[row].clone(),
        Column::Boolean(values) => values[row].to_string(),
    }
}
