//! How long planning takes, so that a person can be told before it starts.

use super::equal_servers::EqualServers;
use super::{MOST_PACKED, MOST_PACKED_AT_ONCE, Planner, Question};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::schedule::collective::Collective;

/// Gives the time of packing through 128 GPUs on 16 servers, in seconds of one core, for few trees
/// and for shallow ones. It was measured on all-gathers and broadcasts. Each of these packs twice.
const AT_128: f64 = 10.0;

/// How the time grows with the number of GPUs: measured from 64 to 128.
const POWER: f64 = 3.0;

/// About how many seconds [`fn@super::plan_for_size`] takes on GPUs of several servers, on one
/// core; 0 for what takes a second or so, or is refused. It is an estimate, good to a factor of three.
#[must_use]
pub fn planning_seconds(planner: &dyn Planner, question: &Question<'_>) -> f64 {
    let is_known = question.gpus.iter().all(|gpu| *gpu < question.system.gpus() as usize);
    if is_known { planner.planning_seconds(question) } else { 0.0 }
}

/// Tells the same of packing, for GPUs that the system has.
pub(super) fn packing_seconds(question: &Question<'_>) -> f64 {
    let Question { gpus, collective, .. } = *question;
    let is_packed_at_once = (MOST_PACKED_AT_ONCE + 1..=MOST_PACKED).contains(&gpus.len());
    let by_rule = matches!(collective, Collective::AllReduce | Collective::AllToAll);
    if !is_packed_at_once || by_rule {
        return 0.0;
    }
    let wiring = question.wiring();
    // Equal servers are planned as one.
    if by_server(wiring, gpus).len() < 2 || EqualServers::of(wiring, gpus).is_some() {
        return 0.0;
    }
    AT_128 * (gpus.len() as f64 / 128.0).powf(POWER)
}
