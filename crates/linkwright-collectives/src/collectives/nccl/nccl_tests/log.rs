//! Holds the contents of a log of nccl-tests.

use serde::{Deserialize, Serialize};

use super::stated::Stated;
use crate::collectives::nccl::baselines::{ElementType, ReduceOperation, Settings};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::Processes;
use crate::system::LaunchProcesses;
use crate::units::Bytes;

/// Holds the figures of one size and one way of using the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// One operation takes so long, in seconds.
    pub time: f64,
    /// This is size over time, in GB/s.
    pub algorithm_bandwidth: f64,
    /// This is nccl-tests' bus bandwidth, in GB/s.
    pub bus_bandwidth: f64,
    /// Wrong values; None where they were not checked.
    pub wrong: Option<u64>,
}

/// Holds a row of the log's table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The line has this number, from one.
    pub line: usize,
    /// The data has this size, as nccl-tests counts it.
    pub size: Bytes,
    /// The numbers are of this type, where the table names one that is known.
    pub numbers: Option<ElementType>,
    /// This is done with them, where a collective reduces.
    pub operation: Option<ReduceOperation>,
    /// These figures are for a result buffer of its own.
    pub out_of_place: Measured,
    /// With the result in the place of the data, where it was measured.
    pub in_place: Option<Measured>,
}

impl Row {
    /// How many values are wrong, of either way; None where none is.
    #[must_use]
    pub fn wrong(&self) -> Option<u64> {
        let both = [Some(self.out_of_place), self.in_place];
        both.into_iter().flatten().filter_map(|it| it.wrong).max().filter(|wrong| *wrong > 0)
    }
}

/// Something in the log that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogNote {
    /// The line has this number, from one.
    pub line: usize,
    /// The text says it.
    pub text: String,
}

/// Holds the contents of a log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NcclTestsLog {
    /// The log has this name in errors.
    pub file: String,
    /// The table has at least one row; they are in the log's order.
    pub rows: Vec<Row>,
    /// Each rank's GPU is of this model, as far as the log lists them.
    pub gpus: Vec<String>,
    /// The line of the last of them; zero where it lists none.
    pub gpus_line: usize,
    /// How many of them each host has, by the hosts' names.
    pub of_hosts: Vec<usize>,
    /// How ranks were processes, where the log tells: of several GPUs on a host.
    pub processes: Option<LaunchProcesses>,
    /// The test, such as `all_reduce_perf`, where the log names it.
    pub test: Option<String>,
    /// The line that does; zero where none does.
    pub test_line: usize,
    /// NCCL's version, where the log names it.
    pub version: Option<String>,
    /// The line that does; zero where none does.
    pub version_line: usize,
    /// Where and how the run failed, if it did.
    pub failed: Option<LogNote>,
    /// The first line whose size was measured before.
    pub repeated: Option<usize>,
    /// The log says this beside the table.
    pub stated: Stated,
    /// Each note tells of a line that was not read, or that looks wrong.
    pub notes: Vec<LogNote>,
}

impl NcclTestsLog {
    /// How many hosts its GPUs are on, as far as it lists them.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.of_hosts.len()
    }

    /// Fills settings that are open from the log: processes, the type of numbers and the operation.
    #[must_use]
    pub fn with_what_ran(&self, settings: &Settings) -> Settings {
        let of_log = self.processes.map(|it| match it {
            LaunchProcesses::Each => Processes::Each,
            LaunchProcesses::One => Processes::Shared,
        });
        let first = self.rows.first();
        Settings {
            processes: settings.processes.or(of_log),
            numbers: settings.numbers.or_else(|| first?.numbers),
            operation: settings.operation.or_else(|| first?.operation),
            ..*settings
        }
    }

    /// The collective that its test is of, by its name.
    #[must_use]
    pub fn collective(&self) -> Option<&'static str> {
        let test = self.test.as_deref()?.trim_end_matches("_mpi").trim_end_matches("_perf");
        let name = test.replace('_', "-").replace("alltoall", "all-to-all");
        Collective::NAMES.into_iter().find(|known| *known == name)
    }
}
