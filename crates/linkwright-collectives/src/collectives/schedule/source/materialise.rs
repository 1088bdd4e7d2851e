//! From a rule to the schedule of all ranks.

use super::{Group, MOST_MATERIALISED, ScheduleSource, SourceStep, TooManyRanks};
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::{Channel, Schedule, StepId, StepOperation};

/// Writes down what all ranks do, on one channel.
///
/// # Errors
/// Refuses more than [`MOST_MATERIALISED`] ranks.
///
/// # Panics
/// Panics where the number of GPUs is not the number of ranks.
pub fn materialise(
    source: &impl ScheduleSource,
    name: &str,
    gpus: &[usize],
    channel: Channel,
) -> Result<Schedule, TooManyRanks> {
    let ranks = source.ranks();
    if ranks > MOST_MATERIALISED {
        return Err(TooManyRanks { ranks });
    }
    assert_eq!(gpus.len(), ranks, "a GPU for every rank");
    let mut builder =
        ScheduleBuilder::new(name, source.collective(), gpus.to_vec(), source.chunks());
    let channel = builder.channel(channel);
    for rank in 0..ranks {
        let scratch = source.scratch_chunks(rank as u32);
        if scratch > 0 {
            builder.scratch(rank, scratch);
        }
        let mut writer = Writer { builder: &mut builder, rank, channel, ended: Vec::new() };
        for number in 0..source.groups(rank as u32) {
            let mut group = Group::whole();
            source.group(rank as u32, number, &mut group);
            writer.group(&group.steps);
        }
    }
    Ok(builder.finish())
}

/// Writes one rank's steps.
struct Writer<'a> {
    builder: &'a mut ScheduleBuilder,
    rank: usize,
    channel: usize,
    /// The steps that must have ended before any other starts.
    ended: Vec<StepId>,
}

impl Writer<'_> {
    fn group(&mut self, steps: &[SourceStep]) {
        let is_message = |step: &SourceStep| step.peer.is_some();
        let first = steps.iter().position(is_message).unwrap_or(steps.len());
        let (before, rest) = steps.split_at(first);
        let behind = rest.iter().rposition(is_message).map_or(0, |last| last + 1);
        let (messages, behind) = rest.split_at(behind);
        self.copies(before);
        self.messages(messages);
        self.copies(behind);
    }

    fn copies(&mut self, steps: &[SourceStep]) {
        for step in steps {
            let last = self.step(step, &self.ended.clone());
            // Copies are steps of one block, one behind the other.
            self.ended = vec![last];
        }
    }

    fn messages(&mut self, steps: &[SourceStep]) {
        if steps.is_empty() {
            return;
        }
        if self.ended.len() > 1 {
            // One step that waits for all, so that not each of these waits for each of those.
            let all = std::mem::take(&mut self.ended);
            self.ended = vec![self.builder.wait(self.rank, self.channel, &all)];
        }
        let before = self.ended.clone();
        let reduces = |step: &&SourceStep| step.operation.reduces();
        let mut ended: Vec<StepId> = Vec::with_capacity(steps.len());
        for step in steps.iter().filter(|step| !reduces(step)) {
            ended.push(self.step(step, &before));
        }
        // A sum changes what may still be read for a message, or by the next sum.
        let sends: Vec<StepId> = steps
            .iter()
            .filter(|step| !reduces(step))
            .zip(&ended)
            .filter_map(|(step, id)| step.operation.sends().then_some(*id))
            .collect();
        let mut after = [&before[..], &sends].concat();
        for step in steps.iter().filter(reduces) {
            let id = self.step(step, &after);
            ended.push(id);
            after.push(id);
        }
        self.ended = ended;
    }

    fn step(&mut self, step: &SourceStep, after: &[StepId]) -> StepId {
        let (rank, channel, count) = (self.rank, self.channel, step.count);
        let source = || step.source.expect("what is read has a place");
        let destination = || step.destination.expect("what is written has a place");
        match (step.operation, step.peer) {
            (StepOperation::Send, Some(to)) => {
                self.builder.send(rank, channel, to as usize, source(), count, after)
            }
            (_, Some(from)) => {
                let (from, with) = (from as usize, step.source);
                self.builder.receive(rank, channel, from, with, destination(), count, after)
            }
            (_, None) => self.builder.copy(rank, channel, source(), destination(), count, after),
        }
    }
}
