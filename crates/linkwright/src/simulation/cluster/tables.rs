//! Results of a cluster as columns.
//!
//! Times are in seconds and bandwidths in GB/s, as people plot them; data is in bytes.

use super::stays::RegionInterval;
use super::watch::{CopyInterval, MessageInterval, Watch};
use super::{Cluster, ClusterOutcome};
use crate::network::packet::PacketTrace;
use crate::program::CopyDirection;
use crate::runtime::{JobOutcome, ProgramJob, RankOutcome};
use crate::table::Table;
use crate::units::Picoseconds;

/// Returns the time from zero to the last job's end.
#[must_use]
pub fn makespan(outcome: &ClusterOutcome) -> Picoseconds {
    outcome.jobs.jobs.iter().map(|job| job.end).max().unwrap_or_default()
}

/// Gives one row for each job, in their order.
///
/// `computing`, `communicating` and `exposed_communication` are means over the job's ranks.
#[must_use]
pub fn jobs(jobs: &[ProgramJob], outcome: &ClusterOutcome) -> Table {
    let all = &outcome.jobs.jobs;
    let seconds = |time: fn(&JobOutcome) -> Picoseconds| -> Vec<f64> {
        all.iter().map(|job| time(job).as_seconds()).collect()
    };
    let mean = |time: fn(&RankOutcome) -> Picoseconds| -> Vec<f64> {
        all.iter().map(|job| mean_seconds(&job.ranks, time)).collect()
    };
    let sum = |count: fn(&RankOutcome) -> u64| -> Vec<u64> {
        all.iter().map(|job| job.ranks.iter().map(count).sum()).collect()
    };
    Table::new()
        .with("job", "", (0..all.len() as u64).collect::<Vec<_>>())
        .with("name", "", all.iter().map(|job| job.name.clone()).collect::<Vec<_>>())
        .with("program", "", jobs.iter().map(|job| job.program.name.clone()).collect::<Vec<_>>())
        .with("ranks", "", all.iter().map(|job| job.ranks.len() as u64).collect::<Vec<_>>())
        .with("arrival", "s", seconds(|job| job.arrival))
        .with("start", "s", seconds(|job| job.start))
        .with("end", "s", seconds(|job| job.end))
        .with("time", "s", seconds(JobOutcome::time))
        .with("computing", "s", mean(|rank| rank.computing))
        .with("communicating", "s", mean(|rank| rank.communicating))
        .with("exposed_communication", "s", mean(|rank| rank.exposed_communication))
        .with("messages", "", sum(|rank| rank.messages))
        .with("data", "B", sum(|rank| rank.bytes.0))
}

fn mean_seconds(ranks: &[RankOutcome], time: fn(&RankOutcome) -> Picoseconds) -> f64 {
    if ranks.is_empty() {
        return 0.0;
    }
    // The sum is exact, so that the mean does not depend on an order.
    let sum: u128 = ranks.iter().map(|rank| u128::from(time(rank).0)).sum();
    sum as f64 / ranks.len() as f64 / 1e12
}

/// Gives one row for each rank of each job.
#[must_use]
pub fn ranks(cluster: &Cluster, jobs: &[ProgramJob], outcome: &ClusterOutcome) -> Table {
    let all = || outcome.jobs.jobs.iter().flat_map(|job| &job.ranks);
    let seconds = |time: fn(&RankOutcome) -> Picoseconds| -> Vec<f64> {
        all().map(|rank| time(rank).as_seconds()).collect()
    };
    let of_job = (0_u64..).zip(&outcome.jobs.jobs);
    let job: Vec<u64> =
        of_job.flat_map(|(index, job)| std::iter::repeat_n(index, job.ranks.len())).collect();
    let rank: Vec<u64> =
        outcome.jobs.jobs.iter().flat_map(|job| 0..job.ranks.len() as u64).collect();
    let gpu: Vec<u64> =
        jobs.iter().flat_map(|job| job.mapping.iter().map(|gpu| u64::from(*gpu))).collect();
    let node: Vec<u64> =
        gpu.iter().map(|gpu| u64::from(cluster.system.gpu(*gpu as u32).server)).collect();
    Table::new()
        .with("job", "", job)
        .with("rank", "", rank)
        .with("gpu", "", gpu)
        .with("node", "", node)
        .with("end", "s", seconds(|rank| rank.end))
        .with("computing", "s", seconds(|rank| rank.computing))
        .with("communicating", "s", seconds(|rank| rank.communicating))
        .with("exposed_communication", "s", seconds(|rank| rank.exposed_communication))
        .with("messages", "", all().map(|rank| rank.messages).collect::<Vec<_>>())
        .with("data", "B", all().map(|rank| rank.bytes.0).collect::<Vec<_>>())
}

/// Gives one row for each collective of a communicator that went by a plan, in the order of the
/// jobs.
///
/// `rate` is the rate that the plan reaches at the links' peak alone on the network, in the limit
/// of long data. It counts the longest buffer. `root` is null where the collective has none.
#[must_use]
pub fn planned(jobs: &[ProgramJob], outcome: &ClusterOutcome) -> Table {
    let all = || outcome.planned.iter();
    let names = all().map(|it| jobs[it.job as usize].name.clone());
    let roots = all().map(|it| it.root.map(u64::from));
    Table::new()
        .with("job", "", all().map(|it| u64::from(it.job)).collect::<Vec<_>>())
        .with("name", "", names.collect::<Vec<_>>())
        .with("communicator", "", all().map(|it| u64::from(it.communicator)).collect::<Vec<_>>())
        .with("collective", "", all().map(|it| it.kind.name().to_owned()).collect::<Vec<_>>())
        .with("root", "", roots.collect::<Vec<_>>())
        .with("ranks", "", all().map(|it| it.ranks as u64).collect::<Vec<_>>())
        .with("nodes", "", all().map(|it| it.nodes as u64).collect::<Vec<_>>())
        .with(
            "algorithm",
            "",
            all().map(|it| it.algorithm.clone().into_owned()).collect::<Vec<_>>(),
        )
        .with("rate", "GB/s", all().map(|it| it.rate.as_gigabytes_per_second()).collect::<Vec<_>>())
        .with("notes", "", all().map(|it| it.notes.join("; ")).collect::<Vec<_>>())
}

/// One row for each stay of a rank in a region of its program that was kept, rank by rank.
///
/// A region that was never left lasts to its rank's end.
#[must_use]
pub fn regions(jobs: &[ProgramJob], outcome: &ClusterOutcome, watch: &Watch) -> Table {
    let mut stays = watch.stays.kept().to_vec();
    // A stable order: each rank's stays remain in the order in which it entered.
    stays.sort_by_key(|stay| (stay.rank.job, stay.rank.rank));
    let end = |stay: &RegionInterval| {
        let rank = &outcome.jobs.jobs[stay.rank.job as usize].ranks[stay.rank.rank as usize];
        stay.end.unwrap_or(rank.end).as_seconds()
    };
    let name = |stay: &RegionInterval| {
        jobs[stay.rank.job as usize].program.regions[stay.region as usize].clone()
    };
    let count = |of: fn(&RegionInterval) -> u32| -> Vec<u64> {
        stays.iter().map(|stay| u64::from(of(stay))).collect()
    };
    Table::new()
        .with("job", "", count(|stay| stay.rank.job))
        .with("rank", "", count(|stay| stay.rank.rank))
        .with("region", "", stays.iter().map(name).collect::<Vec<_>>())
        .with("depth", "", count(|stay| stay.depth))
        .with("start", "s", stays.iter().map(|stay| stay.start.as_seconds()).collect::<Vec<_>>())
        .with("end", "s", stays.iter().map(end).collect::<Vec<_>>())
}

/// One row for each span of computation that was kept, in the order of their ends.
#[must_use]
pub fn computation(watch: &Watch) -> Table {
    let kept = || watch.computation.iter();
    Table::new()
        .with("job", "", kept().map(|span| u64::from(span.rank.job)).collect::<Vec<_>>())
        .with("rank", "", kept().map(|span| u64::from(span.rank.rank)).collect::<Vec<_>>())
        .with("start", "s", kept().map(|span| span.start.as_seconds()).collect::<Vec<_>>())
        .with("end", "s", kept().map(|span| span.end.as_seconds()).collect::<Vec<_>>())
}

/// One row for each copy that was kept, in the order of their ends.
#[must_use]
pub fn copies(watch: &Watch) -> Table {
    let kept = || watch.copies.iter();
    let peer = |it: &CopyInterval| match it.copy.direction {
        CopyDirection::Peer(peer) => Some(u64::from(peer)),
        CopyDirection::HostToDevice | CopyDirection::DeviceToHost => None,
    };
    let name = |it: &CopyInterval| it.copy.direction.name().to_owned();
    Table::new()
        .with("job", "", kept().map(|it| u64::from(it.copy.rank.job)).collect::<Vec<_>>())
        .with("rank", "", kept().map(|it| u64::from(it.copy.rank.rank)).collect::<Vec<_>>())
        .with("direction", "", kept().map(name).collect::<Vec<_>>())
        .with("peer", "", kept().map(peer).collect::<Vec<_>>())
        .with("size", "B", kept().map(|it| it.copy.size.0).collect::<Vec<_>>())
        .with("start", "s", kept().map(|it| it.copy.start.as_seconds()).collect::<Vec<_>>())
        .with("end", "s", kept().map(|it| it.end.as_seconds()).collect::<Vec<_>>())
}

/// One row for each kernel of a rank that was kept, in the order of their ends.
#[must_use]
pub fn kernels(watch: &Watch) -> Table {
    let kept = || watch.kernels.iter();
    Table::new()
        .with("job", "", kept().map(|it| u64::from(it.kernel.rank.job)).collect::<Vec<_>>())
        .with("rank", "", kept().map(|it| u64::from(it.kernel.rank.rank)).collect::<Vec<_>>())
        .with(
            "collective",
            "",
            kept().map(|it| it.kernel.kind.name().to_owned()).collect::<Vec<_>>(),
        )
        .with("size", "B", kept().map(|it| it.kernel.size.0).collect::<Vec<_>>())
        .with("start", "s", kept().map(|it| it.kernel.start.as_seconds()).collect::<Vec<_>>())
        .with("end", "s", kept().map(|it| it.end.as_seconds()).collect::<Vec<_>>())
}

/// One row for each message that was kept, in the order of their arrival.
#[must_use]
pub fn messages(watch: &Watch) -> Table {
    let kept = || watch.messages.iter();
    let count = |of: fn(&MessageInterval) -> u32| -> Vec<u64> {
        kept().map(|interval| u64::from(of(interval))).collect()
    };
    Table::new()
        .with("job", "", count(|it| it.message.source.job))
        .with("source", "", count(|it| it.message.source.rank))
        .with("destination", "", count(|it| it.message.destination.rank))
        .with("tag", "", count(|it| it.message.tag))
        .with("size", "B", kept().map(|it| it.message.size.0).collect::<Vec<_>>())
        .with("collective", "", kept().map(|it| it.message.collective).collect::<Vec<_>>())
        .with("sent", "s", kept().map(|it| it.message.sent.as_seconds()).collect::<Vec<_>>())
        .with("delivered", "s", kept().map(|it| it.delivered.as_seconds()).collect::<Vec<_>>())
}

/// Gives one row for each step of a packet that a trace kept, in the order of their times.
///
/// `kind` is `wait`, where a packet joins the queue of a link, or `cross`, where it goes onto it.
/// `queue` counts those that then wait for the link, `hops` the switches that the packet has left.
#[must_use]
pub fn packets(cluster: &Cluster, trace: &PacketTrace) -> Table {
    let names = super::links::channel_names(&cluster.system);
    let kept = || trace.records.iter();
    Table::new()
        .with("time", "s", kept().map(|it| it.time.as_seconds()).collect::<Vec<_>>())
        .with("place", "", kept().map(|it| names[it.channel as usize].clone()).collect::<Vec<_>>())
        .with("kind", "", kept().map(|it| it.step.name().to_owned()).collect::<Vec<_>>())
        .with("size", "B", kept().map(|it| u64::from(it.size)).collect::<Vec<_>>())
        .with("hops", "", kept().map(|it| u64::from(it.hops)).collect::<Vec<_>>())
        .with("queue", "", kept().map(|it| u64::from(it.queue)).collect::<Vec<_>>())
}

/// Gives one row for each window of time in which packets waited for a link, in the order of their ends.
///
/// `mean` and `most` count the packets that wait; the mean is over the window.
#[must_use]
pub fn queues(cluster: &Cluster, trace: &PacketTrace) -> Table {
    let names = super::links::channel_names(&cluster.system);
    let kept = || trace.queues.iter();
    let mean = |area: u128| area as f64 / trace.window.0 as f64;
    Table::new()
        .with("start", "s", kept().map(|it| it.start.as_seconds()).collect::<Vec<_>>())
        .with("place", "", kept().map(|it| names[it.channel as usize].clone()).collect::<Vec<_>>())
        .with("mean", "", kept().map(|it| mean(it.area)).collect::<Vec<_>>())
        .with("most", "", kept().map(|it| it.most).collect::<Vec<_>>())
}
