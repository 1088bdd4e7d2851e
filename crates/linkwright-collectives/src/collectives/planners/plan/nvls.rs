//! Reductions and copies inside the switch, as NCCL's NVLS within one server.
//!
//! Every rank is the head of its own part. With more than 32 ranks, the first 32 are heads. A head
//! reads the part reduced over all ranks, and writes the result to all of them. NCCL's search makes
//! a channel for every GPU, with that GPU as its head, and so does this. NCCL runs 16 or 24 blocks
//! on each GPU. Here it is one block, in chunks that are as much longer.
//!
//! In an all-reduce of S bytes on n GPUs, every GPU has links to the switch. They carry its own
//! copy of all S and the S/n that it writes. The links from the switch carry the same the other way
//! round. This is S (n + 1) / n in each direction, where trees take 2 S (n - 1) / n. Over several
//! servers trees join the heads of one place (NVLSTree).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter;

use super::optimum::in_switch_rate;
use super::planner::Planner;
use super::sized::{Offer, offer_of_library};
use super::{Links, Plan, PlanError, Question, answer, rate};
use crate::collectives::nccl::baselines::double_tree::double_binary_tree;
use crate::collectives::nccl::baselines::{
    Dealing, ExpectedAlgorithm, Generation, Messages, by_server,
};
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{
    Channel, Pacing, Protocol, Schedule, Slice, StepId, StepOperation,
};
use crate::diagnostic::Registered;
use crate::system::{Wiring, reducing_switches};
use crate::units::Bytes;

/// The longest run that a block of NVLS moves at once (NCCL, `src/transport/nvls.cc`, `NVLS_CHUNKSIZE`).
const CHUNK: Bytes = Bytes(128 << 10);

/// Counts the blocks that run NVLS on each GPU of one server (in the same file,
/// `NVLS_NCHANNELS_SM90` and `NVLS_NCHANNELS_SM100_NVL`).
const fn blocks(generation: Generation) -> u64 {
    match generation {
        Generation::Blackwell => 24,
        _ => 16,
    }
}

/// These were the fewest GPUs for NCCL before 2.28.7 (`ncclNvlsInit`).
const LEAST_OF_NCCL: usize = 3;

/// No more GPUs of a server have a part of an all-reduce (NCCL, `src/include/device.h`, `NCCL_MAX_NVLS_ARITY`).
const MOST_HEADS: usize = 32;

/// Names [`NvlsPlanner`].
pub(in crate::collectives) const NAME: &str = "nvls";

/// Names NCCL's algorithm over several servers.
pub(super) const NAME_OF_TREES: &str = "nvls-tree";

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
        let Question { gpus, collective, links, .. } = *question;
        let wiring = question.wiring();
        // Of several servers the switches refuse, and their pairs of GPUs are many to look at.
        if by_server(wiring, gpus).len() < 2 {
            question.ground(&mut Vec::new())?;
        }
        plan(wiring, gpus, collective, links)
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
        Collective::AllReduce => (0..gpus.len().min(MOST_HEADS)).collect(),
        Collective::AllGather | Collective::ReduceScatter => (0..gpus.len()).collect(),
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
    schedule.pacing =
        Pacing::SideBySide { chunk: Bytes(CHUNK.0 * blocks), blocks: Some(blocks as u32) };
    let rate = rate::steady_rate(&schedule, wiring)?;
    let optimum = in_switch_rate(wiring, gpus, collective);
    let mut notes = Vec::new();
    if gpus.len() < LEAST_OF_NCCL {
        notes.push(format!("before 2.28.7 NCCL takes NVLS on {LEAST_OF_NCCL} GPUs or more"));
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
    let chunks = if collective == Collective::AllReduce { heads.len() as u32 } else { 1 };
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

/// Plans NCCL's NVLSTree, an all-reduce over several servers. Each server's switches reduce a part for each of its GPUs
/// that have an interface of their own.
/// Trees reduce a part over the GPUs that have it, and each multicasts the result in its server. Half of each part takes
/// the second tree, in which the leaves of the first are inner vertices. So every interface has as much to
/// do (`connectNvls`: every other channel). Two servers' trees are one link, which the halves take in opposite ways.
/// At most `most` GPUs of a server have a part: those at which its network is.
pub(in crate::collectives) fn schedule_of_head_trees(
    wiring: &Wiring,
    gpus: &[usize],
    most: usize,
    dealing: Dealing,
) -> Result<Schedule, PlanError> {
    let servers = by_server(wiring, gpus);
    for ranks in &servers {
        let own: Vec<usize> = ranks.iter().map(|rank| gpus[*rank]).collect();
        reducing_switches(wiring, &own)?;
    }
    let messages = Messages::new(wiring, gpus, &servers, dealing, false);
    let all_heads = messages.heads();
    let heads = all_heads[0].len().min(most).max(1);
    let name = format!("{NAME_OF_TREES}-{}", Collective::AllReduce.name());
    let parts = heads * TREES;
    let mut builder =
        ScheduleBuilder::new(&name, Collective::AllReduce, gpus.to_vec(), parts as u32);
    let trees = double_binary_tree(servers.len());
    for part in 0..parts {
        let place = part / TREES * all_heads[0].len() / heads;
        let part = part as u32;
        let switches: Vec<usize> = (servers.iter())
            .map(|ranks| builder.channel(Channel::through_switch(ranks.iter().copied())))
            .collect();
        let (tree, sum) = (&trees[part as usize % 2], Slice::output(part));
        let head = |server: usize| all_heads[server][place].0;
        let crossings = messages.between_heads(&all_heads, (place, tree));
        let between = builder.channel(Channel { crossings, ..Channel::default() });
        let mut reduced: Vec<StepId> = (servers.iter().zip(&switches).enumerate())
            .map(|(at, (ranks, channel))| reduce_to(&mut builder, ranks, *channel, head(at), part))
            .collect();
        for (server, parent) in leaves_first(tree) {
            let (from, to) = (head(server), head(parent));
            reduced[server] = builder.send(from, between, to, sum, 1, &[reduced[server]]);
            let after = [reduced[parent]];
            reduced[parent] = builder.receive(to, between, from, Some(sum), sum, 1, &after);
        }
        // A part is sent down before the multicast overwrites it.
        let mut sent: Vec<Vec<StepId>> = vec![Vec::new(); servers.len()];
        for (server, parent) in leaves_first(tree).into_iter().rev() {
            let (from, to) = (head(parent), head(server));
            sent[parent].push(builder.send(from, between, to, sum, 1, &[reduced[parent]]));
            // A sum that was sent up is overwritten once it is gone.
            let after = [reduced[server]];
            reduced[server] = builder.receive(to, between, from, None, sum, 1, &after);
        }
        for (server, (ranks, channel)) in servers.iter().zip(&switches).enumerate() {
            let after = [&sent[server][..], &[reduced[server]]].concat();
            multicast_from(&mut builder, ranks, *channel, head(server), part, &after);
        }
    }
    let mut schedule = builder.finish();
    let blocks = blocks(Generation::of(wiring, gpus));
    let chunk = Bytes(CHUNK.0 * blocks / TREES as u64);
    schedule.pacing = Pacing::SideBySide { chunk, blocks: Some(blocks as u32) };
    Ok(schedule)
}

/// As [`schedule_of_head_trees`], with the rate that it reaches.
pub(in crate::collectives) fn trees_of_heads(
    wiring: &Wiring,
    gpus: &[usize],
    most: usize,
    dealing: Dealing,
) -> Result<Plan, PlanError> {
    let schedule = schedule_of_head_trees(wiring, gpus, most, dealing)?;
    let rate = rate::steady_rate(&schedule, wiring)?;
    let algorithm = Cow::Borrowed(NAME_OF_TREES);
    let (links, trees, optimum, notes) = (LinkClass::Network, Vec::new(), None, Vec::new());
    Ok(Plan { schedule, algorithm, links, trees, rate, optimum, notes })
}

/// Counts the trees between servers that each part of NVLSTree is dealt to.
pub(in crate::collectives) const TREES: usize = 2;

/// Lists the vertices of a tree but its root, each with the one above it, the deepest first.
fn leaves_first(tree: &[Option<usize>]) -> Vec<(usize, usize)> {
    let depth = |vertex: usize| iter::successors(tree[vertex], |above| tree[*above]).count();
    let joined = tree.iter().enumerate();
    let mut found: Vec<(usize, usize)> =
        joined.filter_map(|(vertex, parent)| Some((vertex, (*parent)?))).collect();
    found.sort_by_key(|(vertex, _)| (Reverse(depth(*vertex)), *vertex));
    found
}

/// Lets the switches reduce a part over a server's ranks, for its head.
fn reduce_to(
    builder: &mut ScheduleBuilder,
    ranks: &[usize],
    channel: usize,
    head: usize,
    part: u32,
) -> StepId {
    for other in ranks.iter().filter(|rank| **rank != head) {
        builder.send(*other, channel, head, Slice::input(part), 1, &[]);
    }
    let (from, to) = (Slice::input(part), Slice::output(part));
    builder.in_switch(head, channel, StepOperation::SwitchReduce, from, to, 1, &[])
}

/// Lets the switches write a head's part to all ranks of its server.
fn multicast_from(
    builder: &mut ScheduleBuilder,
    ranks: &[usize],
    channel: usize,
    head: usize,
    part: u32,
    after: &[StepId],
) {
    let own = Slice::output(part);
    builder.in_switch(head, channel, StepOperation::Multicast, own, own, 1, after);
    for other in ranks.iter().filter(|rank| **rank != head) {
        builder.receive(*other, channel, head, None, own, 1, &[]);
    }
}

#[cfg(test)]
mod tests;
