//! Reductions and copies inside the switch, as NCCL's NVLS within one server.
//!
//! Every rank is the head of its own part: it reads the part reduced over all ranks, and writes the
//! result to all of them. NCCL's search makes a channel for every GPU, with that GPU as its head, and so
//! does this; what NCCL runs as 16 or 24 blocks on each GPU is one here, in chunks that are as much
//! longer.
//!
//! Of an all-reduce of S bytes on n GPUs every GPU's links to the switch carry its own copy of all S and
//! the S/n that it writes, and those from it the other way round: S (n + 1) / n in each direction, where
//! trees take 2 S (n - 1) / n. What it leaves out: NVLS between servers.

use std::borrow::Cow;

use super::optimum::in_switch_rate;
use super::planner::Planner;
use super::sized::{Offer, offer_of_library};
use super::{Links, Plan, PlanError, Question, answer, rate};
use crate::collectives::nccl::baselines::{ExpectedAlgorithm, Generation};
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Pacing, Protocol, Schedule, Slice, StepOperation};
use crate::diagnostic::Registered;
use crate::system::{Wiring, reducing_switches};
use crate::units::Bytes;

/// The longest run that a block of NVLS moves at once (NCCL, `src/transport/nvls.cc`, `NVLS_CHUNKSIZE`).
const CHUNK: Bytes = Bytes(128 << 10);

/// How many blocks run NVLS on each GPU of one server (in the same file, `NVLS_NCHANNELS_SM90` and
/// `NVLS_NCHANNELS_SM100_NVL`).
const fn blocks(generation: Generation) -> u64 {
    match generation {
        Generation::Blackwell => 24,
        _ => 16,
    }
}

/// The least GPUs on which NCCL takes it (`ncclNvlsInit`).
const LEAST_OF_NCCL: usize = 3;

/// Names [`NvlsPlanner`].
pub(super) const NAME: &str = "nvls";

/// Lets the switch reduce and copy (NCCL's NVLS).
#[derive(Debug)]
pub struct NvlsPlanner;

impl Registered for NvlsPlanner {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Planner for NvlsPlanner {
    fn description(&self) -> &'static str {
        "NCCL's NVLS: each GPU's part reduced and copied by the switch"
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Simple]
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        question.ground(&mut Vec::new())?;
        let Question { gpus, collective, links, .. } = *question;
        plan(question.wiring(), gpus, collective, links)
    }

    fn offer(&self, question: &Question<'_>) -> Result<Offer, PlanError> {
        match offer_of_library(question, ExpectedAlgorithm::Nvls) {
            Some(offer) => Ok(offer),
            None => Ok(Offer::of_plans(vec![answer(self, question)?])),
        }
    }

    fn is_quick(&self) -> bool {
        true
    }
}

/// The plan on GPUs that have been checked.
pub(in crate::collectives) fn plan(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    links: Links,
) -> Result<Plan, PlanError> {
    let heads: Vec<usize> = match collective {
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => {
            (0..gpus.len()).collect()
        }
        Collective::Broadcast { root } | Collective::Reduce { root } => vec![root],
        _ => {
            return Err(PlanError::Unsupported {
                algorithm: NAME,
                collective: collective.name(),
                remedy: "packing, nccl-ring".into(),
            });
        }
    };
    if links == Links::Host {
        return Err(PlanError::InSwitchOverHost);
    }
    reducing_switches(wiring, gpus)?;
    let mut schedule = schedule_of_heads(gpus, collective, &heads);
    let blocks = blocks(Generation::of(wiring, gpus));
    schedule.pacing = Pacing::SideBySide { chunk: Bytes(CHUNK.0 * blocks) };
    let rate = rate::steady_rate(&schedule, wiring)?;
    let optimum = in_switch_rate(wiring, gpus, collective);
    let mut notes = Vec::new();
    if gpus.len() < LEAST_OF_NCCL {
        notes.push(format!("NCCL takes NVLS on {LEAST_OF_NCCL} GPUs or more"));
    }
    let (algorithm, links, trees) = (Cow::Borrowed(NAME), LinkClass::Fabric, Vec::new());
    Ok(Plan { schedule, algorithm, links, trees, rate, optimum, notes })
}

/// A channel for each head, which reduces, multicasts or does both for its part.
fn schedule_of_heads(gpus: &[usize], collective: Collective, heads: &[usize]) -> Schedule {
    let operation = match collective {
        Collective::AllReduce => StepOperation::SwitchReduceMulticast,
        Collective::AllGather | Collective::Broadcast { .. } => StepOperation::Multicast,
        _ => StepOperation::SwitchReduce,
    };
    let ranks = gpus.len();
    let chunks = if collective == Collective::AllReduce { ranks as u32 } else { 1 };
    let name = format!("{NAME}-{}", collective.name());
    let mut builder = ScheduleBuilder::new(&name, collective, gpus.to_vec(), chunks);
    for head in heads {
        let channel = builder.channel(Channel::through_switch(0..ranks));
        let part = *head as u32;
        // Where ranks have one shard each, it is the only one of its buffer.
        let (from, to) = match collective {
            Collective::AllReduce => (Slice::input(part), Slice::output(part)),
            Collective::AllGather => (Slice::input(0), Slice::output(part)),
            Collective::ReduceScatter => (Slice::input(part), Slice::output(0)),
            _ => (Slice::input(0), Slice::output(0)),
        };
        builder.in_switch(*head, channel, operation, from, to, 1, &[]);
        for other in (0..ranks).filter(|other| other != head) {
            if operation.switch_reduces() {
                builder.send(other, channel, *head, from, 1, &[]);
            }
            if operation.multicasts() {
                builder.receive(other, channel, *head, None, to, 1, &[]);
            }
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
