//! Results as columns.

use super::failures::Endured;
use super::job::Job;
use super::queue::{JobRecord, Try, gpus_of};
use crate::table::{Column, Table};
use crate::units::{Bandwidth, Picoseconds};

/// Gives one row per record: the job, when it waited and ran, its GPUs and their scores.
///
/// Times are in seconds and bandwidths in GB/s, as people plot them. GPUs have the ids that they
/// have in the system; `first_gpus` gives the id of each server's first. Where there are several
/// servers, a last column says in which a job ran. Links and bandwidths are those within servers.
///
/// # Panics
/// If a record's job is not in the list.
#[must_use]
pub fn jobs(jobs: &[Job], records: &[JobRecord], first_gpus: &[u32]) -> Table {
    let of_job = |column: &dyn Fn(&Job) -> String| -> Vec<String> {
        records.iter().map(|record| column(&jobs[record.job])).collect()
    };
    let seconds = |time: &dyn Fn(&Job, &JobRecord) -> Picoseconds| -> Vec<f64> {
        let each = records.iter().map(|record| time(&jobs[record.job], record));
        each.map(Picoseconds::as_seconds).collect()
    };
    let gigabytes = |rate: &dyn Fn(&JobRecord) -> Bandwidth| -> Vec<f64> {
        records.iter().map(|record| rate(record).as_gigabytes_per_second()).collect()
    };
    let counts = |count: &dyn Fn(&JobRecord) -> usize| -> Vec<u64> {
        records.iter().map(|record| count(record) as u64).collect()
    };
    let optional = |value: &dyn Fn(&JobRecord) -> Option<f64>| -> Column {
        records.iter().map(value).collect::<Vec<_>>().into()
    };
    let gpus = |record: &JobRecord| record.gpus(first_gpus);
    let sensitive: Vec<bool> = records.iter().map(|record| jobs[record.job].sensitive).collect();
    let between = |from: Picoseconds, to: Picoseconds| Picoseconds(to.0 - from.0);
    let table = Table::new()
        .with("job", "", of_job(&|job| job.name.clone()))
        .with("workload", "", of_job(&|job| job.workload.clone()))
        .with("gpu_count", "", counts(&JobRecord::gpu_count))
        .with("pattern", "", of_job(&|job| job.pattern.name().to_owned()))
        .with("sensitive", "", sensitive)
        .with("arrival", "s", seconds(&|job, _| job.arrival))
        .with("start", "s", seconds(&|_, record| record.start))
        .with("finish", "s", seconds(&|_, record| record.finish))
        .with("wait", "s", seconds(&|job, record| between(job.arrival, record.start)))
        .with("run_time", "s", seconds(&|_, record| between(record.start, record.finish)))
        .with("gpus", "", records.iter().map(gpus).collect::<Vec<_>>())
        .with("double_links", "", counts(&|record| record.links().double))
        .with("single_links", "", counts(&|record| record.links().single))
        .with("pcie_links", "", counts(&|record| record.links().pcie))
        .with("aggregated_bandwidth", "GB/s", gigabytes(&JobRecord::aggregated_bandwidth))
        .with("ideal_aggregated_bandwidth", "GB/s", gigabytes(&|r| r.ideal_aggregated_bandwidth))
        .with("effective_bandwidth", "GB/s", optional(&JobRecord::effective_bandwidth))
        .with("sound_bandwidth", "GB/s", optional(&|r| r.sound_bandwidth))
        .with("preserved_bandwidth", "GB/s", gigabytes(&JobRecord::preserved_bandwidth))
        .with("candidates", "", records.iter().map(|r| r.candidates).collect::<Vec<u64>>())
        .with("optimal", "", records.iter().map(|r| r.optimal).collect::<Vec<bool>>());
    if first_gpus.len() < 2 {
        return table;
    }
    let servers = records.iter().map(|record| record.servers().collect::<Vec<u32>>());
    table.with("servers", "", servers.collect::<Vec<_>>())
}

/// Gives a row for each time in which a job held GPUs: one for each job that lost none.
///
/// # Panics
/// If a record's job is not in the list.
#[must_use]
pub fn tries(jobs: &[Job], records: &[JobRecord], first_gpus: &[u32]) -> Table {
    let each = records.iter().flat_map(|it| it.tries().map(move |tried| (it.job, tried)));
    let each: Vec<(usize, Try<'_>)> = each.collect();
    let times = |of: fn(&Try<'_>) -> Picoseconds| -> Vec<f64> {
        each.iter().map(|(_, tried)| of(tried).as_seconds()).collect()
    };
    let gpus = each.iter().map(|(_, (.., parts))| gpus_of(parts, first_gpus));
    Table::new()
        .with("job", "", each.iter().map(|(job, _)| jobs[*job].name.clone()).collect::<Vec<_>>())
        .with("start", "s", times(|it| it.0))
        .with("finish", "s", times(|it| it.1))
        .with("gpus", "", gpus.collect::<Vec<_>>())
}

/// Adds what failures cost each job: how often it began anew, and the seconds that it lost. Nothing where nothing failed.
///
/// # Panics
/// If a record's job is not in the list.
#[must_use]
pub fn with_failures(table: Table, records: &[JobRecord], endured: &[Endured]) -> Table {
    if endured.is_empty() {
        return table;
    }
    let of = |record: &JobRecord| &endured[record.job];
    table
        .with(
            "restarts",
            "",
            records.iter().map(|it| u64::from(of(it).restarts)).collect::<Vec<_>>(),
        )
        .with("lost", "s", records.iter().map(|it| of(it).lost.as_seconds()).collect::<Vec<_>>())
}

/// Counts the GPUs that jobs of several servers held in a server. It has a row for each number from
/// one to the largest held. The histogram of Blink (Wang et al., MLSys 2020) has it so, of a
/// cloud's jobs on servers of eight GPUs.
///
/// Parts are counted: a job of 8 and 4 GPUs is one of each. Without such jobs there are no rows.
#[must_use]
pub fn gpus_per_server(records: &[JobRecord]) -> Table {
    let several = records.iter().filter(|record| record.parts.len() > 1);
    let sizes = several.flat_map(|record| &record.parts).map(|part| part.chosen.placement.len());
    let mut counts: Vec<u64> = Vec::new();
    for size in sizes {
        counts.resize(counts.len().max(size), 0);
        counts[size - 1] += 1;
    }
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let shares: Vec<f64> = counts.iter().map(|count| *count as f64 / all).collect();
    Table::new()
        .with("gpu_count", "", (1..=counts.len() as u64).collect::<Vec<u64>>())
        .with("parts", "", counts)
        .with("share", "", shares)
}

/// Counts by GPUs in a server the jobs that had no others, and the parts of jobs that had.
///
/// The rows go up to the most that was held. A share is of all jobs and parts. Jobs of one GPU do not count.
#[must_use]
pub fn fragments(records: &[JobRecord]) -> Table {
    let mut held: Vec<[u64; 2]> = Vec::new();
    for record in records.iter().filter(|record| record.gpu_count() > 1) {
        let is_split = record.parts.len() > 1;
        for part in &record.parts {
            let count = part.chosen.gpus().len();
            held.resize(held.len().max(count), [0; 2]);
            held[count - 1][usize::from(is_split)] += 1;
        }
    }
    let total = held.iter().flatten().sum::<u64>().max(1) as f64;
    let share = |[whole, parts]: &[u64; 2]| (whole + parts) as f64 / total;
    Table::new()
        .with("gpu_count", "", (1..=held.len() as u64).collect::<Vec<_>>())
        .with("whole", "", held.iter().map(|[whole, _]| *whole).collect::<Vec<_>>())
        .with("parts", "", held.iter().map(|[_, parts]| *parts).collect::<Vec<_>>())
        .with("share", "", held.iter().map(share).collect::<Vec<_>>())
}
