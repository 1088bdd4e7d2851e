//! Lays what a run left beside the system that it should have run on.

use super::evidence::{Line, Run};
use super::judge::{Case, MeasuredRow, MendedLink, mended};
use crate::collectives::Collective;
use crate::collectives::baselines::{Settings, Version};
use crate::collectives::nccl_tests::NcclTestsLog;
use crate::system::System;

/// A system by its own description, and as it should be.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its PCIe links are as fast as their like.
    pub system: System,
    /// These links differ from the description.
    pub narrow: Vec<MendedLink>,
    /// It is as described.
    pub described: System,
}

impl Machine {
    /// Mends what its own description has slower than its like.
    #[must_use]
    pub fn of(described: System) -> Self {
        let (system, narrow) = mended(&described);
        Self { system, narrow, described }
    }
}

/// Asks about a run of a collective on GPUs of a machine, by their ids. The release, the processes and the numbers are
/// the run's, as far as it says them.
#[must_use]
pub fn case_of<'a>(
    run: &'a Run,
    machine: &'a Machine,
    gpus: &'a [usize],
    collective: Collective,
) -> Case<'a> {
    let table = run.tests.as_ref();
    let of_log = run.debug.version.as_ref().map(|(version, _)| version);
    let named = of_log.or_else(|| table?.version.as_ref());
    let version: Option<Version> = named.and_then(|version| version.parse().ok());
    let settings = Settings { version, ..Settings::default() };
    Case {
        system: &machine.system,
        narrow: &machine.narrow,
        described: &machine.described,
        gpus,
        collective,
        settings: table.map_or(settings, |table| table.with_what_ran(&settings)),
        rows: table.map_or_else(Vec::new, rows),
        log: &run.debug,
        threshold: None,
    }
}

/// Takes a table's rows, by the times for a result of its own.
fn rows(table: &NcclTestsLog) -> Vec<MeasuredRow> {
    let row = |row: &crate::collectives::nccl_tests::Row| MeasuredRow {
        size: row.size,
        time: row.out_of_place.time,
        line: Line::new(&table.file, row.line as u64, &format!("{}", row.size)),
    };
    table.rows.iter().map(row).collect()
}
