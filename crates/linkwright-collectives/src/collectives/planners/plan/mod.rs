//! Leads from a job's GPUs and a collective to a schedule.
//!
//! [`plan`] asks a [`Planner`]. This takes the links that the job was given
//! ([`link_graph`](super::link_graph)), chooses trees, rings or paths, and lowers them. The reported rate is the share of the links'
//! peak that the schedule reaches in the limit of long data. No schedule of its kind could pass
//! [`Plan::optimum`].

mod all_to_all;
mod auto;
mod between;
mod blink;
mod equal_servers;
mod error;
mod estimate;
mod fastest;
mod ground;
mod helpers;
mod hybrid;
mod mpi;
mod nccl;
pub(in crate::collectives) mod nvls;
mod one_hop;
mod optimum;
mod packed;
mod packing;
mod planner;
mod question;
mod rails;
mod rate;
mod scatter;
mod shares;
mod sized;
mod three_phase;
mod trees;
mod uneven_servers;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use auto::{ASSUMED_SIZE, AllCandidates, MOST_TIMED, MOST_TRIED, Trial, Tried, plan_fastest};
pub use between::BetweenServers;
pub use blink::Blink;
pub use error::PlanError;
pub use estimate::planning_seconds;
pub use fastest::Attempt;
pub use helpers::{Taken, plan_with_helpers};
pub use hybrid::{assumed_peer_access_switch, plan_hybrid};
pub use mpi::{MpiRule, RULES};
pub use nvls::NvlsPlanner;
pub use one_hop::OneHop;
pub use packed::Packing;
pub use planner::{PLANNERS, Planner, RingBound, Turn, planners};
pub use question::{Links, Question};
pub use sized::{
    Candidates, Offer, plan_for_size, plan_for_sizes, timed_plan_for_size, timed_plan_within,
};
pub use three_phase::ThreePhase;

use self::ground::{Ground, choose_links};
pub(in crate::collectives) use self::mpi::by_rule_alone;
use crate::collectives::planners::link_graph::{LinkClass, check_gpus};
use crate::collectives::planners::lowering::RootedTree;
use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::time::TimeError;
use crate::system::{System, Wiring};
use crate::units::Bandwidth;

/// Limits the GPUs on several servers through which the trees of an all-reduce are packed at once.
/// Above it, they are packed on each server and exchanged between them.
pub const MOST_PACKED_AT_ONCE: usize = 64;

/// Limits the GPUs that trees are packed through. The data of each arc for each tree takes 8 bytes,
/// or a gigabyte in all.
pub const MOST_PACKED: usize = 512;

/// Holds a schedule and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Holds the steps to do.
    pub schedule: Schedule,
    /// Names the planner that found it.
    pub algorithm: Cow<'static, str>,
    /// Names the links that carry it.
    pub links: LinkClass,
    /// Holds the trees behind it, in the order of their chunks. It is empty for rings and paths.
    pub trees: Vec<RootedTree>,
    /// Gives the rate that the schedule reaches at the links' peak: size over time in the limit of
    /// long data.
    pub rate: Bandwidth,
    /// The most that any schedule of this kind could, where that is known.
    pub optimum: Option<Bandwidth>,
    /// Tells a person of links that could not be used, or of weights that were rounded.
    pub notes: Vec<String>,
}

impl Plan {
    /// Whether PCIe carries a part of a plan over NVLink: of a hybrid, or where two GPUs that
    /// exchange data have no NVLink between them. `system` is what it was planned for.
    ///
    /// # Errors
    /// As the timing, where a connection has no route.
    pub fn has_host_beside_fabric(&self, system: &System) -> Result<bool, TimeError> {
        let wiring = || Wiring::of_gpus(system, &self.schedule.gpus);
        Ok(self.links == LinkClass::Fabric && rate::loads_host(&self.schedule, &wiring())?)
    }
}

/// Plans a collective for data of any size.
///
/// # Errors
/// [`PlanError`] where the GPUs, their links or the collective do not allow it.
pub fn plan(planner: &dyn Planner, question: &Question<'_>) -> Result<Plan, PlanError> {
    question.check()?;
    answer(planner, question)
}

/// Plans on GPUs that have been checked. Cuts tell the optimum of a fabric that passes on all that its
/// ports send; of another none is known.
fn answer(planner: &(impl Planner + ?Sized), question: &Question<'_>) -> Result<Plan, PlanError> {
    question.check_for(planner)?;
    let mut plan = planner.plan(question)?;
    question.pace(&mut plan);
    let is_held_up = question.wiring().fabric_paths().is_some();
    if plan.links == LinkClass::Network && is_held_up && plan.optimum.is_some() {
        plan.optimum = None;
        let told = "links between the fabric's switches may hold up what servers send, so that \
                    which rate would be the best is not known";
        plan.notes.push(told.to_owned());
    }
    Ok(plan)
}

/// The rate of the best all-reduce on these GPUs, and the links that it takes.
///
/// It is the optimum of [`Packing`] in bytes of the data's size per second. Cuts alone find it, so
/// that many sets of GPUs can be told apart in little time.
///
/// # Errors
/// As [`fn@plan`], where the GPUs or their links do not allow a plan.
pub fn packing_rate(
    system: &System,
    gpus: &[usize],
    links: Links,
) -> Result<(LinkClass, Bandwidth), PlanError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let Ground { class, graph, .. } = choose_links(wiring, gpus, links, &mut Vec::new())?;
    let rate = packing::all_reduce_rate(&graph)?;
    Ok((class, Bandwidth(rate.round() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::schedule::collective::Collective;
    use crate::system::test_support::alone;

    #[test]
    fn one_hop_between_gpus_without_nvlink_says_that_it_takes_pcie() {
        let machine = alone("dgx1-v100");
        let plan = |gpus: &[usize], links| {
            plan(&OneHop, &Question::new(&machine, gpus, Collective::AllReduce).over(links))
        };
        let apart = plan(&[1, 4, 5, 6], Links::Auto).unwrap();
        assert!(apart.has_host_beside_fabric(&machine).unwrap());
        assert!(apart.notes.iter().any(|note| note.contains("over PCIe")), "{:?}", apart.notes);
        let refused = plan(&[1, 4, 5, 6], Links::Fabric).unwrap_err();
        assert_eq!(refused, PlanError::NotDirect { algorithm: "one-hop" });
        let joined = plan(&[0, 1, 2, 3], Links::Fabric).unwrap();
        assert!(!joined.has_host_beside_fabric(&machine).unwrap());
        assert_eq!(joined.notes, Vec::<String>::new());
    }

    #[test]
    fn messages_have_no_gaps() {
        assert!(!PlanError::Unsolved.to_string().contains("  "), "{}", PlanError::Unsolved);
    }

    #[test]
    fn the_rate_alone_is_that_of_the_plan() {
        for (name, sets) in [
            ("dgx1-v100", [&[1, 4, 5, 6][..], &[1, 4, 6], &[0, 1, 2, 3, 4, 5, 6, 7]]),
            ("dgx2", [&[0, 1], &[0, 3, 9, 15], &[1, 2, 3, 4, 5]]),
            ("summit-node", [&[0, 1, 2], &[0, 5], &[0, 1, 3, 4]]),
        ] {
            let machine = alone(name);
            for gpus in sets {
                let question = Question::new(&machine, gpus, Collective::AllReduce);
                let plan = plan(&Packing, &question).unwrap();
                let found = packing_rate(&machine, gpus, Links::Auto).unwrap();
                assert_eq!(found, (plan.links, plan.optimum.unwrap()), "{name} {gpus:?}");
            }
        }
    }
}
