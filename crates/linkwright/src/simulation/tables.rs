//! Results as columns.

use super::job::Job;
use super::queue::JobRecord;
use crate::allocation::GpuSet;
use crate::table::{Column, Table};
use crate::units::{Bandwidth, Picoseconds};

/// One row per record: the job, when it waited and ran, its GPUs and their scores.
///
/// Times are in seconds and bandwidths in GB/s, as people plot them. GPUs have the ids that they
/// have in the system, of which `first_gpus` names that of each server's first; of several servers a
/// last column says in which a job ran.
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
    let gpus = |record: &JobRecord| {
        let first = first_gpus[record.server as usize];
        let set: GpuSet = record.chosen.gpus();
        set.iter().map(|gpu| first + gpu as u32).collect::<Vec<u32>>()
    };
    let sensitive: Vec<bool> = records.iter().map(|record| jobs[record.job].sensitive).collect();
    let between = |from: Picoseconds, to: Picoseconds| Picoseconds(to.0 - from.0);
    let table = Table::new()
        .with("job", "", of_job(&|job| job.name.clone()))
        .with("workload", "", of_job(&|job| job.workload.clone()))
        .with("gpu_count", "", counts(&|record| record.chosen.placement.len()))
        .with("pattern", "", of_job(&|job| job.pattern.name().to_owned()))
        .with("sensitive", "", sensitive)
        .with("arrival", "s", seconds(&|job, _| job.arrival))
        .with("start", "s", seconds(&|_, record| record.start))
        .with("finish", "s", seconds(&|_, record| record.finish))
        .with("wait", "s", seconds(&|job, record| between(job.arrival, record.start)))
        .with("run_time", "s", seconds(&|_, record| between(record.start, record.finish)))
        .with("gpus", "", records.iter().map(gpus).collect::<Vec<_>>())
        .with("double_links", "", counts(&|record| record.chosen.links.double))
        .with("single_links", "", counts(&|record| record.chosen.links.single))
        .with("pcie_links", "", counts(&|record| record.chosen.links.pcie))
        .with("aggregated_bandwidth", "GB/s", gigabytes(&|r| r.chosen.aggregated_bandwidth))
        .with("ideal_aggregated_bandwidth", "GB/s", gigabytes(&|r| r.ideal_aggregated_bandwidth))
        .with("effective_bandwidth", "GB/s", optional(&|r| r.chosen.effective_bandwidth))
        .with("sound_bandwidth", "GB/s", optional(&|r| r.sound_bandwidth))
        .with("preserved_bandwidth", "GB/s", gigabytes(&|r| r.chosen.preserved_bandwidth))
        .with("candidates", "", records.iter().map(|r| r.candidates).collect::<Vec<u64>>())
        .with("optimal", "", records.iter().map(|r| r.optimal).collect::<Vec<bool>>());
    if first_gpus.len() < 2 {
        return table;
    }
    let server = records.iter().map(|record| u64::from(record.server));
    table.with("server", "", server.collect::<Vec<u64>>())
}
