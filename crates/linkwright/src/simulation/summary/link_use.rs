//! Tells how much of each family of links the jobs of a day took.
//!
//! It leaves out jobs by a formula and MPI's algorithms: they have no plans that say what links carry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::simulation::day::DayChoices;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::played::{IterationSettings, PlannerChoice, carried};
use crate::simulation::queue::JobRecord;
use crate::system::System;
use crate::system::views::tables::links;
use crate::table::{Column, Table};
use crate::units::Picoseconds;

/// One direction of a link: where it begins, where it ends, and its kind.
type Direction = (String, String, String);

/// Holds the mean use of each family of links, weighted by bandwidth, as shares of what they could have carried until
/// the last job ended. None of a family that the system does not have, and of days without plans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// It is of NVLink and xGMI.
    pub nvlink_use: Option<f64>,
    /// It is of PCIe.
    pub pcie_use: Option<f64>,
    /// It is of InfiniBand and Ethernet.
    pub network_use: Option<f64>,
}

/// Gives the index of a kind's family, in the order of [`LinkUse`].
fn family(kind: &str) -> Option<usize> {
    const FAMILIES: [(&str, usize); 5] =
        [("nvlink", 0), ("xgmi", 0), ("pcie", 1), ("infiniband", 2), ("ethernet", 2)];
    FAMILIES.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, family)| *family)
}

impl LinkUse {
    /// Gives what a day's jobs took of a system's links until the last one ended.
    ///
    /// # Errors
    /// As [`carried`].
    pub fn of(
        system: &System,
        choices: &DayChoices,
        jobs: &[Job],
        records: &[JobRecord],
    ) -> Result<Self, SimulationError> {
        let makespan = records.iter().map(|record| record.finish).max().unwrap_or_default();
        if choices.run_time.is_formula()
            || choices.planner == PlannerChoice::Mpi
            || makespan == Picoseconds(0)
        {
            return Ok(Self::default());
        }
        let IterationSettings { host_copies, bucket, .. } = choices.iteration;
        let settings = IterationSettings { host_copies, bucket, ..IterationSettings::default() };
        let of_links = carried(system, (choices.planner, settings), jobs, records)?;
        let data: BTreeMap<Direction, f64> = of_links
            .iter()
            .map(|link| {
                let name = |device| system.device_name(device);
                ((name(link.from), name(link.to), link.kind.name().to_owned()), link.bytes)
            })
            .collect();
        let (mut moved, mut whole) = ([0.0; 3], [0.0; 3]);
        for (direction, could) in could_carry(system) {
            if let Some(family) = family(&direction.2) {
                let bytes = data.get(&direction).copied().unwrap_or_default();
                moved[family] += bytes / (could * makespan.as_seconds()) * could;
                whole[family] += could;
            }
        }
        let share = |family: usize| (whole[family] > 0.0).then(|| moved[family] / whole[family]);
        Ok(Self { nvlink_use: share(0), pcie_use: share(1), network_use: share(2) })
    }
}

/// Gives the bandwidth of each direction of a system's links, in bytes per second.
fn could_carry(system: &System) -> BTreeMap<Direction, f64> {
    let table = links(system);
    let (begins, ends, kinds) = (texts(&table, "a"), texts(&table, "b"), texts(&table, "kind"));
    let (counts, bandwidths) = (wholes(&table, "count"), wholes(&table, "bandwidth"));
    let mut could: BTreeMap<Direction, u64> = BTreeMap::new();
    for row in 0..table.row_count() {
        let most = counts[row] * bandwidths[row];
        for (begin, end) in [(&begins[row], &ends[row]), (&ends[row], &begins[row])] {
            *could.entry((begin.clone(), end.clone(), kinds[row].clone())).or_default() += most;
        }
    }
    could.into_iter().map(|(direction, most)| (direction, most as f64)).collect()
}

fn texts<'a>(table: &'a Table, name: &str) -> &'a [String] {
    match table.column(name).map(|column| &column.values) {
        Some(Column::Utf8(values)) => values,
        _ => unreachable!("links have names and kinds"),
    }
}

fn wholes<'a>(table: &'a Table, name: &str) -> &'a [u64] {
    match table.column(name).map(|column| &column.values) {
        Some(Column::UInt64(values)) => values,
        _ => unreachable!("links have counts and bandwidths"),
    }
}
