//! The plan that is the fastest for data of one size.

use super::super::collective::Collective;
use super::super::link_graph::{LinkClass, check_gpus};
use super::super::lowering::tree::MAX_CHANNELS;
use super::super::lowering::{RootedTree, schedule_of_trees};
use super::super::schedule::Schedule;
use super::super::time::{NcclProtocol, choose_chunk_on, protocol_on};
use super::{Algorithm, Links, Plan, PlanError, packed_by_server, plan_preferring};
use crate::graph::arborescences::Preference;
use crate::system::{System, Wiring};
use crate::units::{Bytes, Picoseconds};

/// As [`plan`](fn@super::plan), for data of that size: of few deep trees and many shallow ones, each on one
/// channel or two, which reach the same rate, the fastest. Blink's own trees are taken as they
/// are, on one channel or two, and other algorithms' plans unchanged. Across servers an
/// all-reduce may be packed on each server and exchanged between them instead.
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

/// As [`plan_for_size`] on GPUs that have been checked.
pub(super) fn plan_sized(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    size: Bytes,
) -> Result<Plan, PlanError> {
    let few_trees = Preference::FewTrees;
    let few = plan_preferring(wiring, gpus, collective, algorithm, links, few_trees)?;
    let is_packing = algorithm == Algorithm::Packing;
    let is_ours = matches!(algorithm, Algorithm::Packing | Algorithm::Blink);
    if !is_ours || few.trees.is_empty() {
        return Ok(few);
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
    fastest(open, wiring, size, Picoseconds(0))
}

/// Of plans, each on one channel for a tree or on two, the one that moves `size` the fastest;
/// the first of equals.
pub(super) fn fastest(
    mut plans: Vec<Plan>,
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Plan, PlanError> {
    let is_narrow = |trees: usize| trees > 0 && 2 * trees <= MAX_CHANNELS;
    let narrow = plans.iter().filter(|plan| is_narrow(plan.trees.len()));
    let twice: Vec<Plan> = narrow.map(on_two_channels).collect();
    plans.extend(twice);
    let mut times = Vec::with_capacity(plans.len());
    for plan in &plans {
        times.push(time_of(plan, wiring, size, peer_access_switch)?);
    }
    let best = (0..times.len()).min_by_key(|at| times[*at]).unwrap_or(0);
    Ok(plans.swap_remove(best))
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
