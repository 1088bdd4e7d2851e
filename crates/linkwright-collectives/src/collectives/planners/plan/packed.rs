//! The planner `packing` packs spanning trees at the optimum, and takes paths where these reach more.

use std::borrow::Cow;

use super::equal_servers::EqualServers;
use super::ground::Ground;
use super::packing::{self, Packed};
use super::planner::{Planner, Turn};
use super::sized::{Offer, with_two_channels};
use super::trees::{Lowered, lowered, plan_of_trees};
use super::uneven_servers::{CHAIN, SHALLOW, UnevenServers};
use super::{
    Links, MOST_PACKED, MOST_PACKED_AT_ONCE, Plan, PlanError, Question, all_to_all, answer,
    estimate, rate, scatter, three_phase,
};
use crate::collectives::nccl::baselines::{Messages, by_server, newest_dealing};
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::collectives::planners::lowering::schedule_of_paths;
use crate::collectives::schedule::collective::Collective;
use crate::diagnostic::Registered;
use crate::units::Bandwidth;

/// Names [`Packing`].
pub(super) const NAME: &str = "packing";

/// Takes trees that are packed at the optimum, exactly.
#[derive(Debug)]
pub struct Packing;

impl Registered for Packing {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Planner for Packing {
    fn description(&self) -> &'static str {
        "spanning trees packed at the optimum, exactly"
    }

    /// Plans many GPUs on servers that are all alike as one of these. The whole is planned, too, where
    /// that is not known to be the best.
    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        let Question { gpus, collective, links, .. } = *question;
        if gpus.len() <= MOST_PACKED_AT_ONCE || links != Links::Auto {
            return whole(question);
        }
        let equal = EqualServers::of(question.wiring(), gpus);
        let planned = equal.map(|servers| servers.plan(question));
        let Some(plan) = planned.transpose()?.flatten() else { return whole(question) };
        let is_alone = collective != Collective::AllReduce && gpus.len() > MOST_PACKED;
        if plan.optimum.is_some() || is_alone {
            return Ok(plan);
        }
        let other = whole(question)?;
        Ok(if plan.rate > other.rate { plan } else { other })
    }

    /// Offers few deep trees and many shallow ones that reach the same rate. Across servers an all-reduce
    /// may also be packed on each and exchanged between them.
    fn offer(&self, question: &Question<'_>) -> Result<Offer, PlanError> {
        let few = answer(self, question)?;
        if few.trees.is_empty() {
            return Ok(Offer::of_plans(vec![few]));
        }
        if is_of_uneven_servers(question, &few)? {
            // Trees of servers are few and shallow. Data enters each server once.
            let mut open = with_two_channels(vec![few]);
            open.drain(..open.len() - 1);
            if by_server(question.wiring(), question.gpus).len() == 2 {
                // Two servers exchange what they have in one hop.
                open.push(Plan { optimum: open[0].optimum, ..packed_by_server(question)? });
            }
            return Ok(Offer::of_plans(open));
        }
        let mut open = vec![few];
        let shallow = answer(self, &question.shallow())?;
        if shallow.trees != open[0].trees && shallow.rate >= open[0].rate {
            open.push(shallow);
        }
        let is_between_servers =
            open[0].links == LinkClass::Network && question.links == Links::Auto;
        if is_between_servers && question.collective == Collective::AllReduce {
            // Data that enters each server once takes fewer hops than trees through all GPUs.
            let by_server = packed_by_server(question)?;
            open.push(Plan { optimum: open[0].optimum, ..by_server });
        }
        Ok(Offer::of_plans(with_two_channels(open)))
    }

    fn has_trees(&self) -> bool {
        true
    }

    fn along_trees(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        along_trees(question)
    }

    fn turn(&self) -> Turn {
        Turn::First
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn looks_at_hosts(&self) -> bool {
        false
    }

    fn planning_seconds(&self, question: &Question<'_>) -> f64 {
        estimate::packing_seconds(question)
    }
}

/// As [`along_trees`], and where a scatter or gather reaches more by other paths, by these.
fn whole(question: &Question<'_>) -> Result<Plan, PlanError> {
    let Question { gpus, collective, links, .. } = *question;
    let wiring = question.wiring();
    let is_large = gpus.len() > MOST_PACKED_AT_ONCE && matches!(links, Links::Auto | Links::Every);
    if is_large && collective == Collective::AllReduce && by_server(wiring, gpus).len() > 1 {
        return packed_by_server(question);
    }
    let found = along_trees(question)?;
    let (Collective::Scatter { root } | Collective::Gather { root }) = collective else {
        return Ok(found);
    };
    if found.optimum.is_none_or(|optimum| found.rate >= optimum) {
        return Ok(found);
    }
    let Ground { class, graph, .. } = question.ground(&mut Vec::new())?;
    if graph.has_switches() || class != found.links {
        return Ok(found);
    }
    let (paths, chunks) = scatter::paths(&graph, collective, root);
    let name = &found.schedule.name;
    let schedule = schedule_of_paths(name, collective, gpus, &paths, chunks, class.transport());
    let rate = rate::steady_rate(&schedule, wiring)?;
    if rate <= found.rate {
        return Ok(found);
    }
    // Pairs of servers have their parts of the interfaces rounded down.
    let optimum = found.optimum.map(|optimum| optimum.max(rate));
    Ok(Plan { schedule, rate, optimum, trees: Vec::new(), ..found })
}

/// Takes the trees of servers that attain what no all-reduce passes, where they do.
fn on_uneven_servers(
    question: &Question<'_>,
    graph: &LinkGraph,
) -> Result<Option<Plan>, PlanError> {
    let Question { gpus, collective, .. } = *question;
    if collective != Collective::AllReduce {
        return Ok(None);
    }
    let Some(uneven) = UnevenServers::of(question.wiring(), gpus, graph) else { return Ok(None) };
    let name = format!("{NAME}-{}", collective.name());
    let class = LinkClass::Network;
    for below in [SHALLOW, CHAIN] {
        let trees = uneven.trees(class.transport(), below);
        let found = lowered(question, &name, trees, Vec::new())?;
        if uneven.is_bound(found.rate.0 as f64) {
            let optimum = Some(found.rate);
            let plan = plan_of_trees(question, NAME, class, found, Vec::new())?;
            return Ok(Some(Plan { optimum, ..plan }));
        }
    }
    Ok(None)
}

/// Tells whether a plan attains the bound of servers with different numbers of GPUs.
fn is_of_uneven_servers(question: &Question<'_>, plan: &Plan) -> Result<bool, PlanError> {
    let is_asked = question.collective == Collective::AllReduce && question.links == Links::Auto;
    if !is_asked || plan.links != LinkClass::Network {
        return Ok(false);
    }
    let Ground { graph, .. } = question.ground(&mut Vec::new())?;
    let uneven = UnevenServers::of(question.wiring(), question.gpus, &graph);
    Ok(uneven.is_some_and(|uneven| uneven.is_bound(plan.rate.0 as f64)))
}

/// Packs trees on each server, whose roots exchange what they have, as three phases do.
fn packed_by_server(question: &Question<'_>) -> Result<Plan, PlanError> {
    let mut plan = three_phase::phases(question)?;
    plan.algorithm = Cow::Borrowed(NAME);
    plan.schedule.name = format!("{NAME}-all-reduce");
    let most = MOST_PACKED_AT_ONCE;
    let extent = if question.gpus.len() > most {
        format!(", since no more than {most} GPUs on several servers are packed at once")
    } else {
        String::new()
    };
    plan.notes.push(format!("trees are packed on each server and exchanged between them{extent}"));
    Ok(plan)
}

/// Packs trees and lists each; an all-to-all takes paths.
fn along_trees(question: &Question<'_>) -> Result<Plan, PlanError> {
    let Question { gpus, collective, preference, .. } = *question;
    if gpus.len() > MOST_PACKED && collective != Collective::AllToAll {
        return Err(PlanError::TooMany(gpus.len()));
    }
    let wiring = question.wiring();
    let mut notes = Vec::new();
    let Ground { class, graph, is_whole } = question.ground(&mut notes)?;
    let transport = class.transport();
    let name = format!("{NAME}-{}", collective.name());
    if collective == Collective::AllToAll {
        let (paths, chunks, optimum) = all_to_all::paths(&graph, class)?;
        let mut schedule = schedule_of_paths(&name, collective, gpus, &paths, chunks, transport);
        if class == LinkClass::Network {
            let servers = by_server(wiring, gpus);
            let dealing = newest_dealing(wiring);
            let messages = Messages::new(wiring, gpus, &servers, dealing, false);
            messages.name(&mut schedule);
        }
        let rate = rate::steady_rate(&schedule, wiring)?;
        let optimum = optimum.map_or_else(
            || all_to_all::is_full(&graph, rate).then_some(rate),
            |optimum| Some(all_to_all::exact(optimum, rate)),
        );
        let (algorithm, trees) = (Cow::Borrowed(NAME), Vec::new());
        return Ok(Plan { schedule, algorithm, links: class, trees, rate, optimum, notes });
    }
    if class == LinkClass::Network
        && !is_whole
        && let Some(mut plan) = on_uneven_servers(question, &graph)?
    {
        plan.notes.splice(0..0, notes);
        return Ok(plan);
    }
    let Packed { trees, most, routes } = packing::pack(&graph, collective, transport, preference)?;
    let reach = Bandwidth(most.round() as u64);
    let is_own = class == LinkClass::Network && is_whole || question.has_helpers();
    let routes = if is_own { routes } else { Vec::new() };
    // Between switches, trees with as much from every root need not be the best.
    let is_proven = collective != Collective::AllReduce || !graph.has_switches();
    let fills_servers = || packing::fills_servers(&graph, wiring, most);
    let is_full =
        || packing::is_full(&graph, most) || class == LinkClass::Network && fills_servers();
    let optimum = (is_proven || is_full()).then_some(most);
    let mut best = lowered(question, &name, trees, routes)?;
    let is_open = optimum.is_none() && collective == Collective::AllReduce;
    if is_open && class == LinkClass::Network {
        // Servers of different sizes may do better with one root than with as much from each.
        for server in by_server(wiring, gpus) {
            let Packed { trees, routes, .. } =
                packing::to_root_and_back(&graph, server[0], transport, preference)?;
            let other = lowered(question, &name, trees, routes)?;
            if other.rate > best.rate {
                best = other;
            }
        }
    }
    let Lowered { rate, .. } = best;
    let mut plan = plan_of_trees(question, NAME, class, best, notes)?;
    // Pairs of servers have their parts of the interfaces rounded down.
    let least = if class == LinkClass::Network && !is_whole { rate.0 } else { 0 };
    plan.optimum = optimum.map(|most| Bandwidth((most.round() as u64).max(least)));
    if class == LinkClass::Network && rate < reach {
        let trees_only =
            matches!(collective, Collective::Gather { .. } | Collective::Scatter { .. });
        plan.notes.push(format!(
            "the schedule reaches {:.2} GB/s of the {:.2} GB/s that the links allow: shares are \
             whole chunks{}",
            rate.as_gigabytes_per_second(),
            reach.as_gigabytes_per_second(),
            if trees_only { " and go along packed trees" } else { "" }
        ));
    }
    Ok(plan)
}
