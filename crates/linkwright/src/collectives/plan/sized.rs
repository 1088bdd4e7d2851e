//! The plan that is the fastest for data of one size.

use super::super::collective::Collective;
use super::super::link_graph::{LinkClass, check_gpus};
use super::super::lowering::tree::MAX_CHANNELS;
use super::super::lowering::{RootedTree, schedule_of_trees};
use super::super::schedule::{Protocol, Schedule};
use super::super::time::{NcclProtocol, choose_chunk_on, protocol_for, protocol_on};
use super::{Algorithm, Links, Plan, PlanError, packed_by_server, plan_preferring};
use crate::graph::arborescences::Preference;
use crate::system::{System, Wiring};
use crate::units::{Bytes, Picoseconds};

/// As [`plan`](fn@super::plan), for data of that size: with the protocol that is the fastest of those that
/// the algorithm's executors have; of few deep trees and many shallow ones, each on one channel or
/// two, which reach the same rate, the fastest. Blink's own trees are taken as they are, on one
/// channel or two. Across servers an all-reduce may be packed on each server and exchanged between
/// them instead.
///
/// # Errors
/// As [`plan`](fn@super::plan).
pub fn plan_for_size(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    size: Bytes,
) -> Result<Plan, PlanError> {
    check_gpus(system, gpus)?;
    plan_sized(&Wiring::of_gpus(system, gpus), gpus, collective, algorithm, links, size)
}

/// As [`plan_for_size`] for each of several sizes, of which each may have another plan.
///
/// # Errors
/// As [`plan`](fn@super::plan).
pub fn plan_for_sizes(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    sizes: &[Bytes],
) -> Result<Vec<Plan>, PlanError> {
    check_gpus(system, gpus)?;
    let wiring = Wiring::of_gpus(system, gpus);
    let plans = candidates(&wiring, gpus, collective, algorithm, links)?;
    let of = |size: &Bytes| fastest_of(&plans, &wiring, *size, Picoseconds(0));
    sizes.iter().map(of).collect()
}

/// As [`plan_for_size`] on GPUs that have been checked.
pub(super) fn plan_sized(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    size: Bytes,
) -> Result<Plan, PlanError> {
    let plans = candidates(wiring, gpus, collective, algorithm, links)?;
    fastest_of(&plans, wiring, size, Picoseconds(0))
}

/// The plans of which one may be the fastest for some size.
fn candidates(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
) -> Result<Vec<Plan>, PlanError> {
    let few_trees = Preference::FewTrees;
    let few = plan_preferring(wiring, gpus, collective, algorithm, links, few_trees)?;
    let is_packing = algorithm == Algorithm::Packing;
    let is_ours = matches!(algorithm, Algorithm::Packing | Algorithm::Blink);
    if !is_ours || few.trees.is_empty() {
        return Ok(vec![few]);
    }
    let mut open = vec![few];
    if is_packing {
        let low = Preference::LowDepth;
        let shallow = plan_preferring(wiring, gpus, collective, algorithm, links, low)?;
        if shallow.trees != open[0].trees && shallow.rate >= open[0].rate {
            open.push(shallow);
        }
    }
    let is_between_servers = open[0].links == LinkClass::Network && links == Links::Auto;
    if is_packing && is_between_servers && collective == Collective::AllReduce {
        // Data that enters each server once takes fewer hops than trees through all GPUs.
        let by_server = packed_by_server(wiring, gpus, links)?;
        open.push(Plan { optimum: open[0].optimum, ..by_server });
    }
    Ok(with_two_channels(open))
}

/// Of a plan on one channel for a tree or on two, the one that moves `size` the fastest.
pub(super) fn fastest(
    plan: Plan,
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Plan, PlanError> {
    fastest_of(&with_two_channels(vec![plan]), wiring, size, peer_access_switch)
}

/// Plans as they are, and each also with its trees on two channels.
fn with_two_channels(mut plans: Vec<Plan>) -> Vec<Plan> {
    let is_narrow = |trees: usize| trees > 0 && 2 * trees <= MAX_CHANNELS;
    let narrow = plans.iter().filter(|plan| is_narrow(plan.trees.len()));
    let twice: Vec<Plan> = narrow.map(on_two_channels).collect();
    plans.extend(twice);
    plans
}

/// Of plans, each with the protocols that its executors have, the one that moves `size` the fastest;
/// the first of equals, with Simple before the others.
fn fastest_of(
    plans: &[Plan],
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Plan, PlanError> {
    let mut best: Option<(Picoseconds, &Plan, Protocol)> = None;
    for plan in plans {
        for protocol in plan.algorithm.protocols().iter().rev() {
            let usual = protocol_for(&plan.schedule, *protocol, wiring);
            let costs = NcclProtocol { peer_access_switch, ..usual };
            if best.is_some_and(|(time, ..)| time <= soonest(plan, size, &costs)) {
                continue;
            }
            let time = choose_chunk_on(&plan.schedule, wiring, size, &costs)?.0.time;
            if best.is_none_or(|(least, ..)| time < least) {
                best = Some((time, plan, *protocol));
            }
        }
    }
    let (_, plan, protocol) = best.expect("there is a plan, and a protocol for it");
    let mut plan = plan.clone();
    plan.schedule.protocol = protocol;
    Ok(plan)
}

/// No plan moves data sooner than its links could, had it been launched.
fn soonest(plan: &Plan, size: Bytes, costs: &NcclProtocol) -> Picoseconds {
    if plan.rate.0 == 0 {
        return costs.launch;
    }
    let seconds = size.0 as f64 / (plan.rate.0 as f64 * costs.data_share);
    Picoseconds(costs.launch.0.saturating_add((seconds * 1e12) as u64))
}

/// How long a plan takes with the chunk that suits it.
pub(super) fn time_of(
    plan: &Plan,
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Picoseconds, PlanError> {
    let costs = NcclProtocol { peer_access_switch, ..protocol_on(&plan.schedule, wiring) };
    Ok(choose_chunk_on(&plan.schedule, wiring, size, &costs)?.0.time)
}

/// The same trees, each on two channels with half of its data.
///
/// A connection holds few chunks, so that a GPU which passes them on lets its link rest while
/// the next is on its way; the other channel's chunks fill that gap.
fn on_two_channels(plan: &Plan) -> Plan {
    let Schedule { name, collective, gpus, .. } = &plan.schedule;
    let halves: Vec<RootedTree> =
        plan.trees.iter().flat_map(|tree| [tree.clone(), tree.clone()]).collect();
    let mut schedule = schedule_of_trees(name, *collective, gpus, &halves);
    schedule.routes.clone_from(&plan.schedule.routes);
    let mut whole = plan.trees.clone();
    whole.iter_mut().for_each(|tree| tree.chunks *= 2);
    Plan { schedule, trees: whole, ..plan.clone() }
}
