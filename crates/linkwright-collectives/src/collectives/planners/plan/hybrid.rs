//! Uses NVLink and PCIe side by side (Blink, "hybrid communication").
//!
//! A transfer goes over PCIe only while peer access is off, and switching it takes T_dpa. The
//! data is cut in two such that both ends come at once, `T_PCIe + T_dpa = T_NVL`:
//!
//! The part is `D_PCIe = (D BW_PCIe - T_dpa BW_PCIe BW_NVL) / (BW_PCIe + BW_NVL)`
//!
//! where the bandwidths are those that the plan over each class reaches with long data. It leaves
//! out the time that trees take to fill, which is longer over PCIe.

use std::borrow::Cow;

use crate::graph::greatest_common_divisor;
use crate::units::{Bytes, Picoseconds};

use super::rate::{reached_rate, steady_rate};
use super::shares::chunks_of;
use super::sized::{fastest, plan_sized, time_of};
use super::{Links, Plan, PlanError, Planner, Question};
use crate::collectives::planners::lowering::{RootedTree, schedule_of_trees};
use crate::collectives::schedule::ChannelTransport;
use crate::collectives::schedule::collective::Collective;

/// How finely the data is cut in two.
const PARTS: f64 = 1_024.0;

/// Returns the assumed cost of switching peer access off where nobody measured it: 0.25 ms for
/// every other GPU of the job. The figure is assumed. Blink observed that it grows with the number
/// of GPUs, since every GPU switches its access to each of the others.
#[must_use]
pub const fn assumed_peer_access_switch(gpus: usize) -> Picoseconds {
    Picoseconds(gpus.saturating_sub(1) as u64 * 250_000_000)
}

/// Plans a collective of `size` bytes (as nccl-tests counts them) over NVLink and PCIe at once.
///
/// All data goes over NVLink, with a note, where PCIe does not join the GPUs or would not be done
/// in time. Where NVLink does not join them, or each pair for one-hop, the plan is
/// [`plan_for_size`](super::plan_for_size)'s own choice. Across servers it takes all links at once,
/// PCIe beside NVLink on the same GPUs included, without T_dpa. The times hold when
/// `peer_access_switch` is also the timing's
/// ([`NcclProtocol::peer_access_switch`](crate::collectives::schedule::time::NcclProtocol)).
///
/// # Errors
/// As [`plan`](fn@super::plan), and [`PlanError::Unsupported`] for algorithms and collectives that do not go
/// along trees.
pub fn plan_hybrid(
    planner: &dyn Planner,
    question: &Question<'_>,
    size: Bytes,
    peer_access_switch: Picoseconds,
) -> Result<Plan, PlanError> {
    question.check()?;
    let Question { gpus, collective, .. } = *question;
    let wiring = question.wiring();
    let has_trees = planner.has_trees();
    if !has_trees || collective == Collective::AllToAll {
        return Err(PlanError::Unsupported {
            algorithm: "a hybrid of NVLink and PCIe",
            collective: if has_trees { collective.name() } else { planner.name() },
            remedy: "packing, blink or one-hop, with any collective but all-to-all".into(),
        });
    }
    let over = |links: Links| {
        question.check_for(planner)?;
        planner.along_trees(&question.over(links))
    };
    let alone = |links: Links| plan_sized(planner, &question.over(links), size);
    let all_over_fabric = |note: String| {
        let mut plan = alone(Links::Fabric)?;
        plan.notes.push(note);
        Ok(plan)
    };
    let fabric = match over(Links::Fabric) {
        // Across servers every link at once is what a hybrid is.
        Err(PlanError::Links(_)) => return alone(Links::Every),
        Err(PlanError::NotDirect { .. }) => return alone(Links::Auto),
        found => found?,
    };
    let host = match over(Links::Host) {
        Err(error @ (PlanError::Links(_) | PlanError::Route(_))) => {
            return all_over_fabric(format!("{error}; all data goes over NVLink"));
        }
        found => found?,
    };
    let fast = reached_rate(&fabric.schedule, wiring)?.0 as f64;
    let slow = reached_rate(&host.schedule, wiring)?.0 as f64;
    let (total, switch) = (size.0 as f64, peer_access_switch.as_seconds());
    let over_host = (total * slow - switch * slow * fast) / (slow + fast);
    let trees = merged(&fabric, &host, (over_host / total.max(1.0)).max(0.0));
    let given = part_over_host(&trees);
    let end = f64::max(total * (1.0 - given) / fast, total * given / slow + switch);
    if over_host <= 0.0 || end >= total / fast {
        return all_over_fabric(format!(
            "{size} is too little for PCIe to help within {peer_access_switch} of switching peer \
             access; all data goes over NVLink"
        ));
    }
    let name = format!("{}-hybrid-{}", planner.name(), collective.name());
    let schedule = schedule_of_trees(&name, collective, gpus, &trees);
    let rate = steady_rate(&schedule, wiring)?;
    let mut notes = fabric.notes;
    notes.extend(host.notes);
    let lost = end / ((total - over_host) / fast) - 1.0;
    notes.push(format!(
        "PCIe carries {:.2} % of the data, {:.2} % being best for {size}; rounding to whole \
         chunks costs {:.2} % of the time",
        given * 100.0,
        over_host / total * 100.0,
        lost * 100.0
    ));
    let (algorithm, links) = (Cow::Borrowed(planner.name()), fabric.links);
    let mut hybrid = Plan { schedule, algorithm, links, trees, rate, optimum: None, notes };
    question.pace(&mut hybrid);
    let hybrid = fastest(hybrid, planner.protocols(), wiring, size, peer_access_switch)?;
    // The equation leaves out how long trees take to fill, and gathers and scatters may go by
    // better ways than trees on NVLink.
    let time = |plan: &Plan| time_of(plan, wiring, size, peer_access_switch);
    let by_fabric = time(&alone(Links::Fabric)?)?;
    if time(&hybrid)? < by_fabric {
        return Ok(hybrid);
    }
    all_over_fabric(format!("{size} is no faster with PCIe's help; all data goes over NVLink"))
}

/// Returns the trees of both plans, by root where each root has its own shard. Their chunks send
/// about `part` of the data over the second one's.
fn merged(fabric: &Plan, host: &Plan, part: f64) -> Vec<RootedTree> {
    let collective = fabric.schedule.collective;
    let per_root = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
    let chunks = |plan: &Plan| u128::from(plan.schedule.chunks);
    let over_host = ((part * PARTS).round() as u128).clamp(1, PARTS as u128 - 1);
    // A chunk of one plan against one of the other.
    let weigh = ((PARTS as u128 - over_host) * chunks(host), over_host * chunks(fabric));
    let unit = greatest_common_divisor(weigh.0, weigh.1);
    let mut trees: Vec<RootedTree> = Vec::new();
    let mut groups = Vec::new();
    for root in 0..if per_root { fabric.schedule.ranks() } else { 1 } {
        let mut group = Vec::new();
        for (plan, weight) in [(fabric, weigh.0 / unit), (host, weigh.1 / unit)] {
            for tree in plan.trees.iter().filter(|tree| !per_root || tree.root() == root) {
                group.push(u128::from(tree.chunks) * weight);
                trees.push(tree.clone());
            }
        }
        groups.push(group);
    }
    for (tree, chunks) in trees.iter_mut().zip(chunks_of(&groups).into_iter().flatten()) {
        tree.chunks = chunks;
    }
    trees
}

/// The part of the data that goes over PCIe.
fn part_over_host(trees: &[RootedTree]) -> f64 {
    let chunks = |host: bool| -> f64 {
        let of_kind =
            trees.iter().filter(|tree| host == (tree.channel.transport == ChannelTransport::Host));
        of_kind.map(|tree| f64::from(tree.chunks)).sum()
    };
    chunks(true) / (chunks(true) + chunks(false))
}

#[cfg(test)]
mod tests;
