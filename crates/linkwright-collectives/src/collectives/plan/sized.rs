//! The plan that is the fastest for data of one size.

use super::super::baselines::{
    BaselinePlan, ChoiceError, Chooser, ExpectedAlgorithm, NcclBaseline, Settings, by_pairs,
    plan_choice,
};
use super::super::collective::Collective;
use super::super::link_graph::{LinkClass, check_gpus};
use super::super::lowering::tree::MAX_CHANNELS;
use super::super::lowering::{RootedTree, schedule_of_trees};
use super::super::schedule::Schedule;
use super::super::time::{
    KnownTimes, NcclProtocol, Timing, choose_chunk_on, fastest_on, protocol_on,
};
use super::fastest::fastest_of;
use super::optimum::in_switch_rate;
use super::rate::steady_rate;
use super::{Algorithm, Links, Plan, PlanError, by_rule_alone, packed_by_server, plan_preferring};
use crate::graph::arborescences::Preference;
use crate::system::{System, Wiring};
use crate::units::{Bandwidth, Bytes, Picoseconds};

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
    Ok(timed_plan_for_size(system, gpus, collective, algorithm, links, size)?.0)
}

/// As [`plan_for_size`], and how long the plan takes while peer access need not be switched.
///
/// # Errors
/// As [`plan`](fn@super::plan).
pub fn timed_plan_for_size(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    size: Bytes,
) -> Result<(Plan, Timing), PlanError> {
    check_gpus(system, gpus)?;
    let wiring = Wiring::of_gpus(system, gpus);
    let open = candidates(&wiring, gpus, collective, algorithm, links)?;
    open.fastest(&wiring, size, &mut KnownTimes::default())
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
    let candidates = Candidates::new(system, gpus, collective, algorithm, links)?;
    sizes.iter().map(|size| Ok(candidates.fastest(*size)?.0)).collect()
}

/// The plans of an algorithm on a job's GPUs, of which one may be the fastest for some size: made once
/// for many sizes.
#[derive(Debug)]
pub struct Candidates {
    wiring: Wiring,
    open: Open,
}

/// What there is to choose from.
#[derive(Debug)]
enum Open {
    /// Plans, of which the fastest is taken.
    Plans(Vec<Plan>),
    /// NCCL, which chooses by its own model.
    Nccl {
        chooser: Box<Chooser>,
        gpus: Vec<usize>,
        collective: Collective,
        optimum: Option<Bandwidth>,
    },
}

impl Candidates {
    /// # Errors
    /// As [`plan`](fn@super::plan).
    pub fn new(
        system: &System,
        gpus: &[usize],
        collective: Collective,
        algorithm: Algorithm,
        links: Links,
    ) -> Result<Self, PlanError> {
        check_gpus(system, gpus)?;
        let wiring = Wiring::of_gpus(system, gpus);
        let open = candidates(&wiring, gpus, collective, algorithm, links)?;
        Ok(Self { wiring, open })
    }

    /// What NCCL, or RCCL, itself takes for each size.
    ///
    /// # Errors
    /// As [`plan`](fn@super::plan), and of a barrier or a scan.
    pub fn of_library(
        system: &System,
        gpus: &[usize],
        collective: Collective,
    ) -> Result<Self, PlanError> {
        check_gpus(system, gpus)?;
        let wiring = Wiring::of_gpus(system, gpus);
        let chooser = Chooser::new(&wiring, gpus, collective, &Settings::default());
        let chooser = Box::new(chooser.map_err(|error| match error {
            ChoiceError::Links(error) => error.into(),
            // All else is said of settings, and there are none.
            _ => by_rule_alone("nccl-ring", collective),
        })?);
        let open = Open::Nccl { chooser, gpus: gpus.to_vec(), collective, optimum: None };
        Ok(Self { wiring, open })
    }

    /// The one that moves so much the fastest, with its protocol, and how long it takes.
    ///
    /// # Errors
    /// A size that would take too many transfers.
    pub fn fastest(&self, size: Bytes) -> Result<(Plan, Timing), PlanError> {
        self.fastest_knowing(size, &mut KnownTimes::default())
    }

    /// Does as [`Self::fastest`], and plays nothing again that was played for other GPUs.
    ///
    /// # Errors
    /// As [`Self::fastest`].
    pub fn fastest_knowing(
        &self,
        size: Bytes,
        known: &mut KnownTimes,
    ) -> Result<(Plan, Timing), PlanError> {
        self.open.fastest(&self.wiring, size, known)
    }
}

impl Open {
    fn fastest(
        &self,
        wiring: &Wiring,
        size: Bytes,
        known: &mut KnownTimes,
    ) -> Result<(Plan, Timing), PlanError> {
        match self {
            Self::Plans(plans) => fastest_of(plans, wiring, size, Picoseconds(0), known),
            Self::Nccl { chooser, gpus, collective, optimum } => {
                let choice = chooser.choose(size.0);
                let chosen = plan_choice(wiring, gpus, *collective, chooser, &choice)?;
                let BaselinePlan { schedule, links, trees, notes } = chosen;
                let rate = steady_rate(&schedule, wiring)?;
                let costs = protocol_on(&schedule, wiring);
                let timing = fastest_on(&schedule, wiring, size, &costs, known)?;
                let (algorithm, optimum) = (algorithm_of(choice.algorithm), *optimum);
                let plan = Plan { schedule, algorithm, links, trees, rate, optimum, notes };
                Ok((plan, timing))
            }
        }
    }
}

/// Who plans what NCCL runs.
const fn algorithm_of(expected: ExpectedAlgorithm) -> Algorithm {
    match expected {
        ExpectedAlgorithm::Ring | ExpectedAlgorithm::Pairs => Algorithm::Nccl(NcclBaseline::Ring),
        ExpectedAlgorithm::Tree => Algorithm::Nccl(NcclBaseline::Tree),
        ExpectedAlgorithm::Nvls => Algorithm::Nvls,
    }
}

/// NCCL with an algorithm of its own, where it has it on these GPUs.
fn nccl(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
) -> Option<Open> {
    let wanted = match algorithm {
        Algorithm::Nccl(NcclBaseline::Ring) if by_pairs(collective) => ExpectedAlgorithm::Pairs,
        Algorithm::Nccl(NcclBaseline::Ring) => ExpectedAlgorithm::Ring,
        Algorithm::Nccl(NcclBaseline::Tree) => ExpectedAlgorithm::Tree,
        Algorithm::Nvls => ExpectedAlgorithm::Nvls,
        _ => return None,
    };
    let settings = Settings { algorithm: Some(wanted), ..Settings::default() };
    let chooser = Chooser::new(wiring, gpus, collective, &settings).ok()?;
    let optimum = (wanted == ExpectedAlgorithm::Nvls)
        .then(|| in_switch_rate(wiring, gpus, collective))
        .flatten();
    let (chooser, gpus) = (Box::new(chooser), gpus.to_vec());
    Some(Open::Nccl { chooser, gpus, collective, optimum })
}

/// As [`plan_for_size`], on GPUs that have been checked.
pub(super) fn plan_sized(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    size: Bytes,
) -> Result<Plan, PlanError> {
    let open = candidates(wiring, gpus, collective, algorithm, links)?;
    Ok(open.fastest(wiring, size, &mut KnownTimes::default())?.0)
}

/// The plans of which one may be the fastest for some size.
fn candidates(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
) -> Result<Open, PlanError> {
    if links == Links::Auto
        && let Some(open) = nccl(wiring, gpus, collective, algorithm)
    {
        return Ok(open);
    }
    let few_trees = Preference::FewTrees;
    let few = plan_preferring(wiring, gpus, collective, algorithm, links, few_trees)?;
    let is_packing = algorithm == Algorithm::Packing;
    let is_ours = matches!(algorithm, Algorithm::Packing | Algorithm::Blink);
    if !is_ours || few.trees.is_empty() {
        return Ok(Open::Plans(vec![few]));
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
    Ok(Open::Plans(with_two_channels(open)))
}

/// Of a plan on one channel for a tree or on two, the one that moves `size` the fastest.
pub(super) fn fastest(
    plan: Plan,
    wiring: &Wiring,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Plan, PlanError> {
    let (plans, known) = (with_two_channels(vec![plan]), &mut KnownTimes::default());
    Ok(fastest_of(&plans, wiring, size, peer_access_switch, known)?.0)
}

/// Plans as they are, and each also with its trees on two channels.
fn with_two_channels(mut plans: Vec<Plan>) -> Vec<Plan> {
    let is_narrow = |trees: usize| trees > 0 && 2 * trees <= MAX_CHANNELS;
    let narrow = plans.iter().filter(|plan| is_narrow(plan.trees.len()));
    let twice: Vec<Plan> = narrow.map(on_two_channels).collect();
    plans.extend(twice);
    plans
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

/// The plans among which an algorithm that packs trees chooses.
#[cfg(test)]
pub(super) fn plans_of(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
) -> Option<Vec<Plan>> {
    match candidates(wiring, gpus, collective, algorithm, links).ok()? {
        Open::Plans(plans) => Some(plans),
        Open::Nccl { .. } => None,
    }
}
