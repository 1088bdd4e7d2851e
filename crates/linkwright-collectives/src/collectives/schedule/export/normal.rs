//! Makes a schedule as the exporters want it: sound, without `nop` steps, with the dependencies
//! that matter.
//!
//! A `nop` waits and does nothing, so its waits are left to the next step of its block. A step that
//! waits for a `nop` waits for the same steps as the `nop`, and for the step before it. Of several
//! steps of one block only the last need be waited for. Even that is needed only where an earlier
//! step of the waiting block has not waited for it already.

use std::collections::{BTreeMap, BTreeSet};

use super::ExportError;
use crate::collectives::schedule::walk::{self, WalkedBlock, WalkedStep};
use crate::collectives::schedule::{
    RankSchedule, Schedule, ScheduleStep, Slice, StepId, StepOperation, ThreadBlock,
};

/// Names a connection: channel, sending rank, receiving rank.
pub(super) type Connection = (usize, usize, usize);

/// Holds the block, and its steps in order, at one end of every connection.
pub(super) type Ends = BTreeMap<Connection, (usize, Vec<usize>)>;

/// Both ends of every connection over which something is sent.
pub(super) struct Connections {
    /// The sending ends.
    pub(super) sends: Ends,
    /// The receiving ends.
    pub(super) receives: Ends,
}

/// Returns the schedule without `nop` steps and without dependencies that say nothing.
///
/// # Errors
/// Returns [`ExportError::Broken`] where a step, a block or a dependency breaks a rule of
/// [`Schedule`]. The faults are an index that does not exist, and a missing peer or place. A place
/// outside of its buffer is a fault, too, and so is a block that waits for itself.
pub fn normalise(schedule: &Schedule) -> Result<Schedule, ExportError> {
    if schedule.programs.len() != schedule.gpus.len() || schedule.gpus.is_empty() {
        return Err(broken("it", "needs one program for each GPU, and at least one"));
    }
    if schedule.chunks == 0 {
        return Err(broken("it", "cuts a shard into no chunks"));
    }
    let mut programs = Vec::with_capacity(schedule.programs.len());
    for rank in 0..schedule.programs.len() {
        check_rank(schedule, rank)?;
        programs.push(normal_program(schedule, rank)?);
    }
    Ok(Schedule { programs, ..schedule.clone() })
}

/// Both ends of every connection of a normal schedule.
///
/// # Errors
/// [`ExportError::Broken`] where two blocks hold one end, or the two ends do not move the
/// same counts in the same order.
pub(super) fn connections(schedule: &Schedule) -> Result<Connections, ExportError> {
    let mut sends = Ends::new();
    let mut receives = Ends::new();
    for WalkedBlock { rank, index, block, .. } in walk::blocks(schedule) {
        let ends = [
            (&mut sends, block.send.map(|to| (block.channel, rank, to)), true),
            (&mut receives, block.receive.map(|from| (block.channel, from, rank)), false),
        ];
        for (ends, connection, sending) in ends {
            let Some(connection) = connection else { continue };
            let uses = |operation: StepOperation| {
                if sending { operation.sends() } else { operation.receives() }
            };
            let steps =
                (0..block.steps.len()).filter(|step| uses(block.steps[*step].operation)).collect();
            if ends.insert(connection, (index, steps)).is_some() {
                let problem = "holds a connection that another block of the rank holds, too";
                return Err(broken(&place(rank, index, None), problem));
            }
        }
    }
    for ends in [&mut sends, &mut receives] {
        ends.retain(|_, (_, steps)| !steps.is_empty());
    }
    let known: BTreeSet<Connection> = sends.keys().chain(receives.keys()).copied().collect();
    for connection in known {
        let counts = |ends: &Ends, rank: usize| -> Vec<u32> {
            let Some((block, steps)) = ends.get(&connection) else { return Vec::new() };
            let block = &schedule.programs[rank].blocks[*block];
            steps.iter().map(|step| block.steps[*step].count).collect()
        };
        let (channel, from, to) = connection;
        if counts(&sends, from) != counts(&receives, to) {
            let problem = "sends other counts than are received";
            return Err(broken(&format!("channel {channel} from rank {from} to {to}"), problem));
        }
    }
    Ok(Connections { sends, receives })
}

pub(super) fn broken(place: &str, problem: impl Into<String>) -> ExportError {
    ExportError::Broken { place: place.to_owned(), problem: problem.into() }
}

/// Returns the words that people use for a step.
pub(super) fn place(rank: usize, block: usize, step: Option<usize>) -> String {
    let block = format!("rank {rank}, block {block}");
    step.map_or(block.clone(), |step| format!("{block}, step {step}"))
}

fn check_rank(schedule: &Schedule, rank: usize) -> Result<(), ExportError> {
    let blocks = &schedule.programs[rank].blocks;
    for (index, block) in blocks.iter().enumerate() {
        if block.channel >= schedule.channels.len() {
            return Err(broken(&place(rank, index, None), "uses a channel that is not there"));
        }
        for peer in [block.send, block.receive].into_iter().flatten() {
            if peer >= schedule.gpus.len() || peer == rank {
                let problem = format!("has rank {peer} as its peer");
                return Err(broken(&place(rank, index, None), problem));
            }
        }
        for (number, step) in block.steps.iter().enumerate() {
            check_step(schedule, rank, block, step)
                .map_err(|problem| broken(&place(rank, index, Some(number)), problem))?;
            for earlier in &step.after {
                let there = blocks
                    .get(earlier.block as usize)
                    .is_some_and(|block| (earlier.step as usize) < block.steps.len());
                if !there {
                    let problem = "waits for a step that is not there";
                    return Err(broken(&place(rank, index, Some(number)), problem));
                }
            }
        }
    }
    Ok(())
}

fn check_step(
    schedule: &Schedule,
    rank: usize,
    block: &ThreadBlock,
    step: &ScheduleStep,
) -> Result<(), String> {
    let operation = step.operation;
    if operation == StepOperation::Nop {
        return Ok(());
    }
    if step.count == 0 {
        return Err("moves no chunk".to_owned());
    }
    if operation.sends() && block.send.is_none() {
        return Err("sends, and its block has no rank to send to".to_owned());
    }
    if operation.receives() && block.receive.is_none() {
        return Err("receives, and its block has no rank to receive from".to_owned());
    }
    let uses = [
        (operation.reads_source(), step.source, "source"),
        (operation.writes_destination(), step.destination, "destination"),
    ];
    for (used, slice, name) in uses {
        if !used {
            continue;
        }
        let Some(slice) = slice else { return Err(format!("has no {name}")) };
        let room = schedule.buffer_chunks(rank, slice.buffer);
        if slice.offset as usize + step.count as usize > room {
            return Err(format!("has a {name} outside of its buffer of {room} chunks"));
        }
    }
    Ok(())
}

/// The steps that have ended once this one has: itself, or for a `nop` what it stands for.
fn real_steps(program: &RankSchedule, step: StepId) -> BTreeSet<StepId> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![step];
    while let Some(id) = open.pop() {
        let step = &program.blocks[id.block as usize].steps[id.step as usize];
        if step.operation != StepOperation::Nop {
            found.insert(id);
        } else if seen.insert(id) {
            open.extend(&step.after);
            if id.step > 0 {
                open.push(StepId { block: id.block, step: id.step - 1 });
            }
        }
    }
    found
}

fn normal_program(schedule: &Schedule, rank: usize) -> Result<RankSchedule, ExportError> {
    let program = &schedule.programs[rank];
    let numbers: Vec<Vec<u32>> = program
        .blocks
        .iter()
        .map(|block| {
            let mut next = 0;
            let number = |step: &ScheduleStep| {
                let number = next;
                next += u32::from(step.operation != StepOperation::Nop);
                number
            };
            block.steps.iter().map(number).collect()
        })
        .collect();
    let mut blocks = Vec::with_capacity(program.blocks.len());
    for walked in walk::blocks_of(schedule, rank) {
        let WalkedBlock { index, block, .. } = walked;
        let mut steps = Vec::with_capacity(block.steps.len());
        // The last step of each other block that has been waited for, and those to wait for
        // before the next step.
        let mut waited: BTreeMap<u32, u32> = BTreeMap::new();
        let mut pending: BTreeMap<u32, u32> = BTreeMap::new();
        for reached in walked.steps() {
            let WalkedStep { index: number, step, .. } = reached;
            for id in reached.waits_for().flat_map(|id| real_steps(program, id)) {
                if id.block as usize == index {
                    if id.step as usize >= number {
                        let problem = "waits for itself or a later step of its block";
                        return Err(broken(&place(rank, index, Some(number)), problem));
                    }
                    continue;
                }
                let last = numbers[id.block as usize][id.step as usize];
                let entry = pending.entry(id.block).or_insert(last);
                *entry = last.max(*entry);
            }
            if step.operation == StepOperation::Nop {
                continue;
            }
            let mut after = Vec::new();
            for (other, last) in std::mem::take(&mut pending) {
                if waited.get(&other).is_none_or(|known| *known < last) {
                    waited.insert(other, last);
                    after.push(StepId { block: other, step: last });
                }
            }
            let kept = |used: bool, slice: Option<Slice>| slice.filter(|_| used);
            steps.push(ScheduleStep {
                operation: step.operation,
                source: kept(step.operation.reads_source(), step.source),
                destination: kept(step.operation.writes_destination(), step.destination),
                count: step.count,
                after,
            });
        }
        blocks.push(ThreadBlock { steps, ..*block });
    }
    Ok(RankSchedule { scratch_chunks: program.scratch_chunks, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::schedule::export::test_support::ring_all_reduce;
    use crate::collectives::{Buffer, Channel, Collective, ScheduleBuilder};

    /// Holds a change that breaks a schedule, and the words of its error.
    type Case<'a> = (&'a dyn Fn(&mut Schedule), &'a str);

    fn id(block: u32, step: u32) -> StepId {
        StepId { block, step }
    }

    fn nop(after: Vec<StepId>) -> ScheduleStep {
        ScheduleStep {
            operation: StepOperation::Nop,
            source: None,
            destination: None,
            count: 0,
            after,
        }
    }

    #[test]
    fn what_a_nop_waits_for_falls_to_the_next_step() {
        let mut builder = ScheduleBuilder::new("n", Collective::AllReduce, vec![0], 4);
        let channels: Vec<usize> = (0..3).map(|_| builder.channel(Channel::default())).collect();
        for channel in &channels {
            for chunk in 0..2 {
                let (from, to) = (Slice::input(chunk), Slice::output(chunk));
                builder.copy(0, *channel, from, to, 1, &[]);
            }
        }
        let mut schedule = builder.finish();
        let blocks = &mut schedule.programs[0].blocks;
        blocks[0].steps.insert(0, nop(vec![id(1, 0), id(1, 1)]));
        blocks[0].steps.push(nop(vec![id(2, 0)]));
        // This waits for the same steps as the first block's two `nop` steps, and for the steps
        // before.
        blocks[2].steps[1].after = vec![id(0, 3)];
        let normal = normalise(&schedule).unwrap();
        let blocks = &normal.programs[0].blocks;
        assert_eq!(blocks[0].steps.len(), 2);
        assert_eq!(blocks[0].steps[0].after, [id(1, 1)]);
        assert_eq!(blocks[2].steps[1].after, [id(0, 1)]);
        assert_eq!(normalise(&normal).unwrap(), normal);
    }

    #[test]
    fn waiting_twice_is_waiting_once() {
        let mut schedule = ring_all_reduce(3, 1);
        let again = schedule.programs[0].blocks[0].clone();
        schedule.programs[0].blocks.push(again);
        let copies = &mut schedule.programs[0].blocks[1];
        (copies.send, copies.receive) = (None, None);
        copies.steps.truncate(3);
        for step in &mut copies.steps {
            let (source, destination) = (Some(Slice::input(0)), Some(Slice::output(0)));
            let after = vec![id(0, 2), id(0, 1)];
            *step = ScheduleStep {
                operation: StepOperation::Copy,
                source,
                destination,
                count: 1,
                after,
            };
        }
        copies.steps[2].after = vec![id(0, 3)];
        let normal = normalise(&schedule).unwrap();
        let after = |step: usize| normal.programs[0].blocks[1].steps[step].after.clone();
        assert_eq!([after(0), after(1), after(2)], [vec![id(0, 2)], vec![], vec![id(0, 3)]]);
    }

    #[test]
    fn broken_schedules_say_where() {
        let sound = ring_all_reduce(3, 1);
        let problem = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = sound.clone();
            change(&mut schedule);
            let normal = normalise(&schedule);
            normal.and_then(|normal| connections(&normal).map(|_| ())).unwrap_err().to_string()
        };
        let step = |schedule: &mut Schedule, change: &dyn Fn(&mut ScheduleStep)| {
            change(&mut schedule.programs[1].blocks[0].steps[1]);
        };
        let cases: [Case; 12] = [
            (&|s| s.programs.truncate(2), "needs one program for each GPU"),
            (&|s| s.chunks = 0, "no chunks"),
            (&|s| s.channels.clear(), "rank 0, block 0 uses a channel"),
            (&|s| s.programs[2].blocks[0].send = Some(9), "rank 2, block 0 has rank 9"),
            (&|s| s.programs[2].blocks[0].send = Some(2), "has rank 2 as its peer"),
            (&|s| s.programs[1].blocks[0].receive = None, "no rank to receive from"),
            (&|s| s.programs[1].blocks[0].send = None, "no rank to send to"),
            (&|s| step(s, &|step| step.count = 0), "rank 1, block 0, step 1 moves no chunk"),
            (&|s| step(s, &|step| step.source = None), "has no source"),
            (&|s| step(s, &|step| step.after = vec![id(7, 0)]), "not there"),
            (&|s| step(s, &|step| step.after = vec![id(0, 1)]), "waits for itself"),
            (
                &|s| step(s, &|step| step.source = Some(Slice::input(u32::MAX))),
                "outside of its buffer of 3 chunks",
            ),
        ];
        for (change, expected) in cases {
            let found = problem(change);
            assert!(found.contains(expected), "{found}: {expected}");
        }
        let found = problem(&|s| {
            let again = s.programs[0].blocks[0].clone();
            s.programs[0].blocks.push(again);
        });
        assert!(found.contains("another block of the rank holds"), "{found}");
        let found = problem(&|s| {
            s.programs[0].blocks[0].steps.pop();
        });
        assert!(found.contains("channel 0 from rank 2 to 0 sends other counts"), "{found}");
        assert_eq!(sound.buffer_chunks(0, Buffer::Input), 3);
    }
}
