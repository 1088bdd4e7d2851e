//! Results of a cluster as columns.
//!
//! Times are in seconds and bandwidths in GB/s, as people plot them; data is in bytes.

use super::stays::RegionInterval;
use super::watch::{MessageInterval, Watch};
use super::{Cluster, ClusterOutcome};
use crate::runtime::{Job, JobOutcome, RankOutcome};
use crate::system::composition::SystemChannel;
use crate::system::fabric::{End, Fabric};
use crate::system::kinds::LinkKind;
use crate::table::Table;
use crate::units::Picoseconds;

/// From time zero to the last job's end.
#[must_use]
pub fn makespan(outcome: &ClusterOutcome) -> Picoseconds {
    outcome.jobs.jobs.iter().map(|job| job.end).max().unwrap_or_default()
}

/// One row for each job, in their order.
///
/// `computing`, `communicating` and `exposed_communication` are means over the job's ranks.
#[must_use]
pub fn jobs(jobs: &[Job], outcome: &ClusterOutcome) -> Table {
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

/// One row for each rank of each job.
#[must_use]
pub fn ranks(cluster: &Cluster, jobs: &[Job], outcome: &ClusterOutcome) -> Table {
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

/// One row for each channel of the fabric, a direction of a link, and for each channel within a
/// server that carried something; those of abstract nodes are nobody's wires and have none.
///
/// `utilisation` is the share of the makespan in which the channel would carry its data at its
/// full bandwidth.
#[must_use]
pub fn links(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    let fabric = cluster.system.fabric();
    let channels = fabric.map_or(&[][..], Fabric::channels);
    let system = &cluster.system;
    let listed = !system.kinds()[0].server().nics_meet_gpus();
    let name = |end: End| match (end, fabric) {
        (End::Switch(switch), Some(fabric)) => fabric.switch_name(switch),
        (End::Node(port), _) if listed => match system.nic_of_port(port) {
            Some(nic) => system.device_name(system.nic_device(nic)),
            None => format!("port{port}"),
        },
        (End::Node(node) | End::Switch(node), _) => format!("node{node}"),
    };
    let kind = |from: End, to: End| match (from, to) {
        (End::Node(_), _) => "injection",
        (_, End::Node(_)) => "ejection",
        _ => "switch",
    };
    let seconds = makespan(outcome).as_seconds();
    let inside: Vec<_> = outcome
        .inside
        .iter()
        .map(|(channel, carried)| (*channel, system.channel(*channel), carried))
        .filter(|(_, data, _)| data.kind != LinkKind::Direct)
        .collect();
    let carried = || outcome.channels.iter().chain(inside.iter().map(|(.., carried)| *carried));
    let bandwidths = || {
        let fabric = channels.iter().map(|channel| channel.bandwidth);
        fabric.chain(inside.iter().map(|(_, data, _)| data.bandwidth))
    };
    let utilisation = bandwidths().zip(carried()).map(|(bandwidth, carried)| {
        let most = bandwidth.0 as f64 * seconds;
        if most > 0.0 { carried.data.0 as f64 / most } else { 0.0 }
    });
    let of_inside = |end: fn(&SystemChannel) -> usize| {
        inside.iter().map(move |(_, data, _)| system.device_name(end(data)))
    };
    let numbers = (0..channels.len() as u64).chain(inside.iter().map(|(at, ..)| u64::from(*at)));
    let from = channels.iter().map(|channel| name(channel.from)).chain(of_inside(|it| it.from));
    let to = channels.iter().map(|channel| name(channel.to)).chain(of_inside(|it| it.to));
    let kinds = channels.iter().map(|channel| kind(channel.from, channel.to).to_owned());
    let kinds = kinds.chain(inside.iter().map(|(_, data, _)| data.kind.name().to_owned()));
    Table::new()
        .with("link", "", numbers.collect::<Vec<_>>())
        .with("from", "", from.collect::<Vec<_>>())
        .with("to", "", to.collect::<Vec<_>>())
        .with("kind", "", kinds.collect::<Vec<_>>())
        .with(
            "bandwidth",
            "GB/s",
            bandwidths().map(|it| it.as_gigabytes_per_second()).collect::<Vec<_>>(),
        )
        .with("data", "B", carried().map(|carried| carried.data.0).collect::<Vec<_>>())
        .with("packets", "", carried().map(|carried| carried.packets).collect::<Vec<_>>())
        .with("utilisation", "", utilisation.collect::<Vec<_>>())
        .with(
            "longest_queue",
            "",
            carried().map(|it| u64::from(it.longest_queue)).collect::<Vec<_>>(),
        )
}

/// One row for each collective of a communicator that went by a plan, in the order of the jobs.
///
/// `rate` is what the plan reaches of the links' peak alone on the network, in the limit of long
/// data, counting the longest buffer; `root` is null where the collective has none.
#[must_use]
pub fn planned(jobs: &[Job], outcome: &ClusterOutcome) -> Table {
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
        .with("algorithm", "", all().map(|it| it.algorithm.to_owned()).collect::<Vec<_>>())
        .with("rate", "GB/s", all().map(|it| it.rate.as_gigabytes_per_second()).collect::<Vec<_>>())
        .with("notes", "", all().map(|it| it.notes.join("; ")).collect::<Vec<_>>())
}

/// One row for each stay of a rank in a region of its program that was kept, rank by rank.
///
/// A region that was never left lasts to its rank's end.
#[must_use]
pub fn regions(jobs: &[Job], outcome: &ClusterOutcome, watch: &Watch) -> Table {
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
