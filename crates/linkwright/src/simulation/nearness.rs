//! How near to one another the GPUs of jobs were.
//!
//! Parts of a model's layers exchange data between all kernels. `NVLink` carries it where they lie within a server.
//! Data that leaves a server goes by its interfaces; data that leaves its leaf goes by the network's upper links. It
//! leaves out how loaded any of these were.

use std::collections::BTreeSet;

use super::job::Job;
use super::queue::JobRecord;
use super::written::Task;
use crate::allocation::cluster::leaves;
use crate::system::System;
use crate::table::Table;
use crate::training::RankGroup;

/// Gives one row per job of several GPUs. It says on how many servers and leaves the job was. It counts the groups
/// that have parts of layers, and those of them within a server. Without a network there are no leaves; jobs that
/// train no model have no such groups.
///
/// # Panics
/// If a record's job is not in the list, or was on another system.
#[must_use]
pub fn nearness(system: &System, jobs: &[Job], records: &[JobRecord]) -> Table {
    let leaves = leaves(system);
    let each: Vec<&JobRecord> = records.iter().filter(|it| it.gpu_count() > 1).collect();
    let servers = each.iter().map(|it| it.servers().count() as u64);
    let of_leaves = each.iter().map(|record| {
        let own = record.servers().filter_map(|server| leaves[server as usize]);
        own.collect::<BTreeSet<_>>().len() as u64
    });
    let groups: Vec<(u64, u64)> = each.iter().map(|it| tensor_groups(&jobs[it.job], it)).collect();
    Table::new()
        .with("job", "", each.iter().map(|it| jobs[it.job].name.clone()).collect::<Vec<_>>())
        .with(
            "workload",
            "",
            each.iter().map(|it| jobs[it.job].workload.clone()).collect::<Vec<_>>(),
        )
        .with("gpu_count", "", each.iter().map(|it| it.gpu_count() as u64).collect::<Vec<_>>())
        .with("servers", "", servers.collect::<Vec<_>>())
        .with("leaves", "", of_leaves.collect::<Vec<_>>())
        .with("tensor_groups", "", groups.iter().map(|it| it.0).collect::<Vec<_>>())
        .with("tensor_within", "", groups.iter().map(|it| it.1).collect::<Vec<_>>())
}

/// The groups of a job that have parts of the same layers, and those within a server.
fn tensor_groups(job: &Job, record: &JobRecord) -> (u64, u64) {
    let Some(Task::Model(task)) = job.task() else { return (0, 0) };
    let layout = &task.choices.layout;
    if layout.tp < 2 {
        return (0, 0);
    }
    let parts = record.parts.iter();
    let servers: Vec<u32> = parts
        .flat_map(|part| std::iter::repeat_n(part.server, part.chosen.placement.len()))
        .collect();
    let groups = task.choices.order.ranks_of(layout, RankGroup::Tensor);
    let server = |rank: &u64| servers[*rank as usize];
    let is_within = |ranks: &&Vec<u64>| ranks.iter().all(|rank| server(rank) == server(&ranks[0]));
    (groups.len() as u64, groups.iter().filter(is_within).count() as u64)
}
