//! Cuts a schedule into pieces that follow one another, for executors that run it only once.
//!
//! Data that moves in one piece fills no pipeline: each rank waits for all of it before it sends
//! anything on. Here the buffers are cut into equal pieces, each with all of the schedule's chunks.
//! Every block does its steps for the first piece, then for the second, as the time model's blocks
//! do. Data in the scratch buffer lies there once for each piece.

use crate::collectives::schedule::{Buffer, RankSchedule, Schedule, ScheduleStep, Slice, StepId};

/// Returns the schedule that does `pieces` times as many steps, each on a piece of the data. It is
/// None where a step moves a run of chunks that lies in several shards.
#[must_use]
pub fn in_pieces(schedule: &Schedule, pieces: u32) -> Option<Schedule> {
    let chunks = schedule.chunks.checked_mul(pieces).filter(|chunks| *chunks > 0)?;
    let in_program = |program: &RankSchedule| cut_program(schedule.chunks, program, pieces);
    let programs: Option<Vec<RankSchedule>> = schedule.programs.iter().map(in_program).collect();
    Some(Schedule { chunks, programs: programs?, ..schedule.clone() })
}

fn cut_program(chunks: u32, program: &RankSchedule, pieces: u32) -> Option<RankSchedule> {
    let scratch_chunks = program.scratch_chunks.checked_mul(pieces)?;
    let lengths: Vec<u32> = program.blocks.iter().map(|block| block.steps.len() as u32).collect();
    // Where a run of a piece starts; in a shard the pieces follow one another.
    let moved = |slice: Slice, count: u32, piece: u32| {
        if slice.buffer == Buffer::Scratch {
            return Some(Slice { offset: piece * program.scratch_chunks + slice.offset, ..slice });
        }
        let (shard, within) = (slice.offset / chunks, slice.offset % chunks);
        let offset = (shard * pieces + piece) * chunks + within;
        (within + count <= chunks).then_some(Slice { offset, ..slice })
    };
    let mut blocks = program.blocks.clone();
    for block in &mut blocks {
        let once = std::mem::take(&mut block.steps);
        for piece in 0..pieces {
            for step in &once {
                let place = |slice: Option<Slice>| match slice {
                    None => Some(None),
                    Some(slice) => moved(slice, step.count, piece).map(Some),
                };
                let after = |id: &StepId| StepId {
                    step: piece * lengths[id.block as usize] + id.step,
                    ..*id
                };
                block.steps.push(ScheduleStep {
                    source: place(step.source)?,
                    destination: place(step.destination)?,
                    after: step.after.iter().map(after).collect(),
                    ..*step
                });
            }
        }
    }
    Some(RankSchedule { scratch_chunks, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::planners::plan::{PlanError, Question, plan, planners};
    use crate::collectives::schedule::time::{protocol_of, time};
    use crate::collectives::{Collective, check};
    use crate::system::test_support::alone;
    use crate::units::Bytes;

    #[test]
    fn every_plan_in_pieces_is_sound_and_takes_about_as_long_as_the_model_says() {
        let machine = alone("dgx1-v100");
        let known = Collective::NAMES.iter().filter_map(|name| Collective::named(name, 1));
        // Signals are empty, in pieces too.
        let collectives = known.filter(|collective| !collective.may_repeat());
        for collective in collectives {
            for algorithm in planners().iter() {
                let gpus = [0, 1, 4, 5, 6];
                let plan = match plan(algorithm, &Question::new(&machine, &gpus, collective)) {
                    Ok(plan) => plan,
                    Err(
                        PlanError::Unsupported { .. }
                        | PlanError::OneServer
                        | PlanError::OtherServers { .. }
                        | PlanError::NoReducingSwitch(_),
                    ) => continue,
                    Err(error) => panic!("{collective} {}: {error}", algorithm.name()),
                };
                let Some(cut) = in_pieces(&plan.schedule, 3) else { continue };
                check(&cut).unwrap_or_else(|fault| panic!("{}: {fault}", cut.name));
                assert_eq!(cut.step_count(), 3 * plan.schedule.step_count());
                let costs = protocol_of(&plan.schedule, &machine).unwrap();
                let size = Bytes((60 * u64::from(cut.chunks)) << 10);
                let whole = time(&cut, &machine, size, size, &costs).unwrap();
                assert_eq!(whole.pieces, 1);
                // The model cuts the data into as many pieces itself.
                let longest = |schedule: &Schedule| {
                    let blocks = schedule.programs.iter().flat_map(|program| &program.blocks);
                    blocks.flat_map(|block| &block.steps).map(|step| step.count).max().unwrap()
                };
                let chunk = size.0 * u64::from(longest(&plan.schedule))
                    / (3 * plan.schedule.longest_buffer() as u64);
                let modelled = time(&plan.schedule, &machine, size, Bytes(chunk), &costs).unwrap();
                assert_eq!(modelled.pieces, 3);
                // Of trees that share a link another may go first.
                let ratio = whole.time.0 as f64 / modelled.time.0 as f64;
                assert!((0.67..1.5).contains(&ratio), "{}: {ratio}", cut.name);
            }
        }
    }
}
