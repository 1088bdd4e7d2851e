//! Reads MSCCL++ execution plans into a [`Schedule`], so that what a job would load can be checked and
//! timed.
//!
//! It represents the plan as the executor of microsoft/mscclpp v0.9.0 runs it. Plans are refused
//! that the executor refuses, or where it reads past its arrays. Its source tells that.
//! `src/core/executor/execution_plan.cc` has keys, names of operations and message sizes.
//! `src/core/executor/executor.cc` has channels, semaphores and 64 operations.
//! `src/core/include/execution_common.hpp` has how many of what an operation and a thread block
//! hold, and offsets of 32 bits. `execution_kernel.hpp` has what operations do, and which threads
//! do it. Nothing was run on a GPU.
//!
//! - The nth channel of a rank to a peer goes with the nth of the peer to that rank.
//! - A `put` and the signal behind it are a message; its wait receives it. A signal without data in
//!   front only keeps runs apart. Waits that could never end are refused, and signals that are not
//!   waited for.
//! - Blocks that another, on the same channels, follows by a semaphore of their own are one.
//! - A `pipeline` is its operations, once: how data is cut the time model chooses itself.
//!
//! It leaves some out, each refused by name. These are packets with flags (protocol `LL`), reads of
//! others' memory (`get`, `rre`, `rres`) and barriers. They are groups of blocks that divide other
//! operations than `glres`, and scratch that is reused by its size. They are also places that are
//! received into twice in a run.

mod blocks;
mod in_switch;
mod json;
mod landings;
mod operations;
mod raw;
mod steps;
#[cfg(test)]
mod tests;
mod woven;

use self::blocks::Joined;
use self::json::Source;
use self::raw::Plan;
use super::mscclpp_json::TakenSizes;
use super::normalise;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Pacing, Protocol, RankSchedule, Schedule};
use crate::diagnostic::{InputError, Position};
use crate::units::Bytes;

/// More text than the largest plan has, many times over.
const MOST_BYTES: usize = 256 << 20;
/// The longest name that is kept.
const LONGEST_NAME: usize = 200;

/// A plan that was read.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MscclppPlan {
    /// Says what it does.
    pub schedule: Schedule,
    /// At which messages the executor takes it.
    pub sizes: TakenSizes,
}

/// Reads a plan of MSCCL++; `file` names it in errors.
///
/// # Errors
/// A text that is no JSON or out of all proportion is an error. So is what the executor would
/// refuse, hang on or read past its arrays on. So is what the module leaves out. Each has its
/// place.
pub fn read_mscclpp_json(file: &str, text: &str) -> Result<MscclppPlan, InputError> {
    if text.len() > MOST_BYTES {
        let problem = format!("the text has {} bytes", text.len());
        let at = Position { line: 1, column: 1 };
        return Err(InputError::at(file, at, problem, "", "give a plan of at most 256 MiB"));
    }
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source { file, text: bare };
    let root = source.parse()?;
    let plan = raw::read(&source, &root)?;
    let joined = Joined::of(&source, &plan)?;
    let collective = collective(&source, &plan, &joined)?;
    let chunks = chunks(&source, &plan, collective)?;
    landings::check(&source, &plan, &joined, collective)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = plan.name.chars().take(LONGEST_NAME).map(plain).collect();
    let schedule = Schedule {
        name: if name.is_empty() { "mscclpp".to_owned() } else { name },
        collective,
        protocol: Protocol::Simple,
        pacing: Pacing::InTurns,
        gpus: (0..plan.gpus.len()).collect(),
        chunks,
        in_place: plan.in_place,
        out_of_place: !plan.in_place,
        channels: vec![Channel::default()],
        routes: Vec::new(),
        programs: vec![RankSchedule::default(); plan.gpus.len()],
    };
    let schedule = if in_switch::is_in_switch(&joined) {
        in_switch::read(&source, &plan, &joined, schedule)?
    } else {
        woven::read(&source, &plan, &joined, schedule)?
    };
    let schedule = normalise(&schedule).map_err(|error| {
        source.refuse(&root, format!("this makes no schedule ({error})"), "plan it again")
    })?;
    Ok(MscclppPlan { sizes: sizes(&plan), schedule })
}

/// The collective, and its root where it has one.
fn collective(source: &Source, plan: &Plan, joined: &Joined) -> Result<Collective, InputError> {
    let word = source.words(plan.collective)?;
    Ok(match word {
        "allreduce" => Collective::AllReduce,
        "allgather" => Collective::AllGather,
        "reducescatter" => Collective::ReduceScatter,
        "alltoall" if plan.in_place => {
            let problem = "all-to-all has no in-place form";
            return Err(source.refuse(plan.collective, problem, "write `inplace` false"));
        }
        "alltoall" => Collective::AllToAll,
        "broadcast" => {
            let mut received = vec![false; plan.gpus.len()];
            for (channel, messages) in &joined.messages {
                let to = joined.ends.get(channel).map(|end| end.0);
                if let Some(to) = to.filter(|_| messages.iter().any(|it| !it.is_empty())) {
                    received[to] = true;
                }
            }
            let mut roots = (0..received.len()).filter(|rank| !received[*rank]);
            match (roots.next(), roots.next()) {
                (Some(root), None) => Collective::Broadcast { root },
                _ => {
                    let problem = "not one rank alone receives nothing, so that none is the root";
                    let remedy = "let the root alone receive nothing";
                    return Err(source.refuse(plan.collective, problem, remedy));
                }
            }
        }
        _ => {
            let remedy = "write allreduce, allgather, reducescatter, alltoall or broadcast";
            return Err(source.refuse(plan.collective, "no such collective is read", remedy));
        }
    })
}

/// Counts the chunks of a shard; all ranks' buffers must have whole shards.
fn chunks(source: &Source, plan: &Plan, collective: Collective) -> Result<u32, InputError> {
    let ranks = plan.gpus.len();
    let shards = |of: usize| of.max(1) as u32;
    let first = &plan.gpus[0];
    let chunks = first.input_chunks / shards(collective.input_shards(ranks, 0));
    for (rank, gpu) in plan.gpus.iter().enumerate() {
        let input = chunks.checked_mul(shards(collective.input_shards(ranks, rank)));
        let output = chunks.checked_mul(shards(collective.output_shards(ranks, rank)));
        if (Some(gpu.input_chunks), Some(gpu.output_chunks)) != (input, output) || chunks == 0 {
            let problem = format!(
                "{} chunks of input and {} of output are no whole shards of {} of {ranks} ranks",
                gpu.input_chunks,
                gpu.output_chunks,
                collective.name()
            );
            let remedy = "give all ranks alike `input_chunks` and `output_chunks`";
            return Err(source.refuse(gpu.node, problem, remedy));
        }
    }
    Ok(chunks)
}

/// At which messages the executor takes it.
fn sizes(plan: &Plan) -> TakenSizes {
    let all = plan.gpus.iter();
    let longest = all.clone().map(|gpu| gpu.input_chunks.max(gpu.output_chunks)).max();
    let scratch = all.map(|gpu| gpu.scratch_chunks).max();
    let (longest, scratch) = (u64::from(longest.unwrap_or(1)), u64::from(scratch.unwrap_or(0)));
    let found = TakenSizes::of(longest, scratch, plan.alignment);
    TakenSizes { least: Bytes(plan.least), most: Bytes(found.most.0.min(plan.most)), ..found }
}
