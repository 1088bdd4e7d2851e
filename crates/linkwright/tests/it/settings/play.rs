//! Plays a scenario, and gives the tables of its results and its notes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::program::{CollectiveKind, Operation, Program, RankBuilder, WORLD};
use linkwright::scenario::{
    Built, Given, PlayedScenario, ReadyJobs, Run, Scenario, play as play_scenario,
};
use linkwright::simulation::cluster::{links, tables as of_programs};
use linkwright::simulation::power::{held_by_day, held_by_programs, powers};
use linkwright::simulation::tables as of_days;
use linkwright::table::Table;
use linkwright::units::Bytes;

/// Files by the names that scenarios give them.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Holds what a run came to.
pub struct Played {
    /// They are all tables of results.
    pub tables: Vec<Table>,
    /// The scenario's builder says them.
    pub notes: Vec<String>,
}

/// Makes a program whose ranks call a collective once, with 64 KiB.
fn calling(name: &str, ranks: u32) -> Program {
    let kind = CollectiveKind::ALL.into_iter().find(|kind| kind.name() == name);
    let kind = kind.unwrap_or_else(|| panic!("no collective `{name}`"));
    let size = Bytes(if kind == CollectiveKind::Barrier { 0 } else { 64 << 10 });
    let part = |_| {
        let mut rank = RankBuilder::default();
        rank.run(Operation::Collective { kind, root: 0, communicator: WORLD, size });
        rank.finish()
    };
    Program {
        name: name.to_owned(),
        communicators: vec![(0..ranks).collect()],
        regions: Vec::new(),
        ranks: (0..ranks).map(part).collect(),
    }
}

/// Plays a scenario with settings over it, its jobs with another program if they are to call a collective.
///
/// # Errors
/// Passes on refusals of reading, building or playing it.
pub fn played(
    text: &str,
    settings: &str,
    calls: Option<&str>,
    files: &Files,
) -> Result<Played, String> {
    let (file, text, settings) = ("s.toml".to_owned(), text.to_owned(), settings.to_owned());
    let given = Given { file, text, settings, ..Given::default() };
    let scenario = Scenario::read(&given).map_err(|error| error.to_string())?;
    let mut built = scenario.build(files).map_err(|error| error.to_string())?;
    if let (Some(calls), ReadyJobs::Programs(jobs)) = (calls, &mut built.work) {
        for job in jobs {
            job.program = Arc::new(calling(calls, job.program.ranks.len() as u32));
        }
    }
    let run = Run { policy: None, intervals: 10_000 };
    let found = play_scenario(&scenario, &built, run, &mut |_| ControlFlow::Continue(()));
    let found = found.map_err(|error| error.to_string())?;
    let mut tables = tables(&built, &found);
    tables.extend(heat(&built, &found));
    Ok(Played { tables, notes: built.notes })
}

/// The table of a package's heat, where one is observed.
fn heat(Built { cluster, package, .. }: &Built, played: &PlayedScenario) -> Option<Table> {
    let (system, package) = (&cluster.system, package.as_ref()?);
    let held = match played {
        PlayedScenario::Day(day) => held_by_day(system, &day.records),
        PlayedScenario::Programs(played) => held_by_programs(&played.jobs, &played.outcome.jobs),
    };
    let powers = powers(system, &BTreeMap::new(), &package.powers);
    Some(package.observe(&powers, &held).expect("it becomes warm").table(system))
}

/// The tables that a run of this kind writes.
fn tables(Built { cluster, work, .. }: &Built, played: &PlayedScenario) -> Vec<Table> {
    match (played, work) {
        (PlayedScenario::Day(day), ReadyJobs::Mix(jobs)) => {
            let system = &cluster.system;
            let mut found = vec![
                of_days::jobs(jobs, &day.records, &system.first_gpus()),
                of_days::gpus_per_server(&day.records),
            ];
            if let Some(loads) = &day.loads {
                let end = day.records.iter().map(|record| record.finish).max().unwrap_or_default();
                found.push(links::links_of_day(system, loads, end));
            }
            found
        }
        (PlayedScenario::Programs(played), _) => {
            let (jobs, outcome, watch) = (&played.jobs, &played.outcome, &played.watch);
            vec![
                of_programs::jobs(jobs, outcome),
                of_programs::ranks(cluster, jobs, outcome),
                of_programs::planned(jobs, outcome),
                of_programs::regions(jobs, outcome, watch),
                of_programs::computation(watch),
                of_programs::copies(watch),
                of_programs::kernels(watch),
                of_programs::messages(watch),
                links::links(cluster, outcome),
            ]
        }
        _ => unreachable!("a day of programs"),
    }
}
