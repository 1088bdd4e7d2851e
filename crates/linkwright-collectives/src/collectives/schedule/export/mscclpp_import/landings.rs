//! Tells where data lands in the memory of others. It tells what else touches it there.
//!
//! A step that receives writes when its block comes to it; a `put` writes when its sender does, which
//! may be long before. Both are the same where nothing else writes there, in the whole run: then what
//! reads too early reads nothing, which the check finds. Plans that write such a place twice are
//! refused, whatever signals keep the writes apart.

use std::collections::BTreeMap;

use super::blocks::{Joined, far};
use super::json::Source;
use super::raw::{Plan, Side};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Buffer, Slice};
use crate::diagnostic::InputError;

/// Holds a run of a buffer: from, up to, and how many operations touch exactly this.
type Run = (u32, u32, usize);

/// Counts what touches a rank's buffers.
#[derive(Default)]
pub(super) struct Touched {
    /// Counts, for each run that overlaps no other one, the operations that touch it.
    alone: BTreeMap<(Buffer, u32, u32), usize>,
}

impl Touched {
    /// Counts the touched runs of every rank.
    pub(super) fn of(plan: &Plan, joined: &Joined) -> Vec<Self> {
        let mut all: Vec<BTreeMap<(Buffer, u32, u32), usize>> =
            vec![BTreeMap::new(); plan.gpus.len()];
        for line in &joined.lines {
            for op in &line.ops {
                let mut runs: Vec<(usize, Buffer, u32, u32)> = op
                    .sources
                    .iter()
                    .chain(&op.destinations)
                    .filter_map(|run| match run.side {
                        Side::Own(buffer) => Some((line.rank, buffer, run.index, run.size)),
                        Side::Far(rank, buffer) => Some((rank, buffer, run.index, run.size)),
                        Side::Switch(_) => None,
                    })
                    .collect();
                runs.sort_unstable();
                runs.dedup();
                for (rank, buffer, index, size) in runs {
                    *all[rank].entry((buffer, index, index + size)).or_default() += 1;
                }
            }
        }
        let alone = |runs: BTreeMap<(Buffer, u32, u32), usize>| {
            let listed: Vec<(&(Buffer, u32, u32), &usize)> = runs.iter().collect();
            let mut alone = BTreeMap::new();
            let mut furthest = (None, 0);
            for (at, ((buffer, from, to), times)) in listed.iter().enumerate() {
                if furthest.0 != Some(*buffer) {
                    furthest = (Some(*buffer), 0);
                }
                let next = listed.get(at + 1).map(|(run, _)| **run);
                let meets_next =
                    next.is_some_and(|(other, start, _)| other == *buffer && start < *to);
                if furthest.1 <= *from && !meets_next {
                    alone.insert((*buffer, *from, *to), **times);
                }
                furthest.1 = furthest.1.max(*to);
            }
            Self { alone }
        };
        all.into_iter().map(alone).collect()
    }

    /// Counts the operations that touch a run; None where some touch a part of it.
    pub(super) fn times(&self, place: Slice, count: u32) -> Option<usize> {
        let end = place.offset.checked_add(count)?;
        self.alone.get(&(place.buffer, place.offset, end)).copied()
    }
}

/// Refuses data that lands where something else is written, or where calls in place have input.
pub(super) fn check(
    source: &Source,
    plan: &Plan,
    joined: &Joined,
    collective: Collective,
) -> Result<(), InputError> {
    let mut written: Vec<Vec<(Buffer, Run, bool)>> = vec![Vec::new(); plan.gpus.len()];
    let mut nodes = Vec::new();
    for line in &joined.lines {
        for op in &line.ops {
            for run in &op.destinations {
                let end = run.index + run.size;
                let (rank, buffer) = match run.side {
                    Side::Own(buffer) => (line.rank, buffer),
                    Side::Far(rank, buffer) => (rank, buffer),
                    Side::Switch(_) => continue,
                };
                let is_far = far(run).is_some();
                // An operation that writes back to where it read stands behind the wait for that.
                let reads_it = |it: &super::raw::Run| {
                    (it.side, it.index, it.size) == (run.side, run.index, run.size)
                };
                if !is_far && buffer == Buffer::Scratch && op.sources.iter().any(reads_it) {
                    continue;
                }
                let own = match collective {
                    Collective::AllGather => {
                        let chunks = plan.gpus[rank].input_chunks;
                        let start = rank as u32 * chunks;
                        run.index < start + chunks && start < end
                    }
                    _ => true,
                };
                let is_shared = buffer == Buffer::Input || (buffer == Buffer::Output && own);
                if is_far && plan.in_place && is_shared {
                    let problem = "it lands where a call in place may still have input";
                    return Err(source.refuse(op.node, problem, "let it land in scratch"));
                }
                written[rank].push((buffer, (run.index, end, nodes.len()), is_far));
                nodes.push(op.node);
            }
        }
    }
    for runs in &mut written {
        runs.sort_unstable();
        // The furthest end of any run, and of one that lands, with its operation.
        let (mut of_buffer, mut any, mut landed) = (None, 0, 0);
        for (buffer, (from, to, node), is_far) in runs.iter() {
            if of_buffer != Some(*buffer) {
                (of_buffer, any, landed) = (Some(*buffer), 0, 0);
            }
            if (*is_far && *from < any) || *from < landed {
                let problem = "this overlaps what another operation writes";
                let remedy = "let all that is received land in places of its own";
                return Err(source.refuse(nodes[*node], problem, remedy));
            }
            any = any.max(*to);
            landed = landed.max(if *is_far { *to } else { 0 });
        }
    }
    Ok(())
}
