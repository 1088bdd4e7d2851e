//! Walks over a schedule, for its check, its execution, its play and its exports alike.
//!
//! It comes to the ranks in their order, to the blocks of each, and to the steps of each block. It
//! tells which steps of its rank each step waits for, and which connections each reads and writes.

use crate::collectives::schedule::{
    ChannelTransport, Schedule, ScheduleStep, StepId, StepOperation, ThreadBlock,
};

/// Names what runs of chunks travel over, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::collectives) struct Connection {
    pub(in crate::collectives) from: usize,
    pub(in crate::collectives) to: usize,
    /// Counts in [`Schedule::channels`].
    pub(in crate::collectives) channel: usize,
    /// Says that a switch copies what is sent to each of a group.
    pub(in crate::collectives) is_copied: bool,
}

/// Holds the connections of a block. On a switch channel a rank sends what another reduces there, and
/// receives what another multicasts.
#[derive(Debug, Clone)]
pub(in crate::collectives) struct Ends<Of> {
    send: Option<Of>,
    receive: Option<Of>,
    /// The switch reduces these for it, in the order of the ranks.
    reduced: Vec<Of>,
    /// The switch copies to these.
    copied: Vec<Of>,
}

impl<Of: Copy> Ends<Of> {
    /// Gives the connections that an operation reads.
    pub(in crate::collectives) fn read(
        &self,
        operation: StepOperation,
    ) -> impl Iterator<Item = Of> {
        let reduced = self.reduced.iter().filter(move |_| operation.switch_reduces());
        self.receive.iter().filter(move |_| operation.receives()).chain(reduced).copied()
    }

    /// Gives the connections that an operation writes.
    pub(in crate::collectives) fn written(
        &self,
        operation: StepOperation,
    ) -> impl Iterator<Item = Of> {
        let copied = self.copied.iter().filter(move |_| operation.multicasts());
        self.send.iter().filter(move |_| operation.sends()).chain(copied).copied()
    }

    /// Gives all of them, whether a step uses them or not.
    pub(in crate::collectives) fn all(&self) -> impl Iterator<Item = Of> {
        let peers = self.send.iter().chain(&self.receive);
        peers.chain(&self.reduced).chain(&self.copied).copied()
    }

    /// Puts something else in the place of each.
    pub(in crate::collectives) fn map<To>(&self, to: impl Fn(Of) -> To) -> Ends<To> {
        Ends {
            send: self.send.map(&to),
            receive: self.receive.map(&to),
            reduced: self.reduced.iter().map(|end| to(*end)).collect(),
            copied: self.copied.iter().map(|end| to(*end)).collect(),
        }
    }
}

/// A block that the walk has come to.
#[derive(Debug, Clone, Copy)]
pub(in crate::collectives) struct WalkedBlock<'a> {
    schedule: &'a Schedule,
    pub(in crate::collectives) rank: usize,
    /// Counts among the blocks of its rank.
    pub(in crate::collectives) index: usize,
    pub(in crate::collectives) block: &'a ThreadBlock,
}

impl<'a> WalkedBlock<'a> {
    /// Gives its connections.
    pub(in crate::collectives) fn ends(&self) -> Ends<Connection> {
        let Self { rank, block, .. } = *self;
        let (number, channel) = (block.channel, &self.schedule.channels[block.channel]);
        let is_switched = channel.transport == ChannelTransport::Switch;
        let does = |what: fn(StepOperation) -> bool| {
            let wanted = block.steps.iter().any(|step| what(step.operation));
            channel.others(rank).filter(move |_| wanted)
        };
        let over = |from, to, is_copied| Connection { from, to, channel: number, is_copied };
        Ends {
            send: block.send.map(|to| over(rank, to, false)),
            receive: block.receive.map(|from| over(from, rank, is_switched)),
            reduced: does(StepOperation::switch_reduces).map(|it| over(it, rank, false)).collect(),
            copied: does(StepOperation::multicasts).map(|it| over(rank, it, true)).collect(),
        }
    }

    /// Walks its steps.
    pub(in crate::collectives) fn steps(&self) -> impl Iterator<Item = WalkedStep<'a>> + use<'a> {
        let Self { rank, index: block, block: of, .. } = *self;
        let walked = move |(index, step)| WalkedStep { rank, block, index, step };
        of.steps.iter().enumerate().map(walked)
    }

    /// Goes to one of its steps; None behind the last.
    pub(in crate::collectives) fn step(&self, index: usize) -> Option<WalkedStep<'a>> {
        let step = self.block.steps.get(index)?;
        Some(WalkedStep { rank: self.rank, block: self.index, index, step })
    }
}

/// A step that the walk has come to.
#[derive(Debug, Clone, Copy)]
pub(in crate::collectives) struct WalkedStep<'a> {
    pub(in crate::collectives) rank: usize,
    pub(in crate::collectives) block: usize,
    /// Counts among the steps of its block.
    pub(in crate::collectives) index: usize,
    pub(in crate::collectives) step: &'a ScheduleStep,
}

impl<'a> WalkedStep<'a> {
    /// Names it among the steps of its rank.
    pub(in crate::collectives) fn id(&self) -> StepId {
        StepId { block: self.block as u32, step: self.index as u32 }
    }

    /// Gives the steps of other blocks of its rank that it waits for. It also waits for the one before it
    /// in its own block, and for what it receives.
    pub(in crate::collectives) fn waits_for(&self) -> impl Iterator<Item = StepId> + use<'a> {
        self.step.after.iter().copied()
    }
}

/// Walks all blocks.
pub(in crate::collectives) fn blocks(schedule: &Schedule) -> impl Iterator<Item = WalkedBlock<'_>> {
    (0..schedule.programs.len()).flat_map(|rank| blocks_of(schedule, rank))
}

/// Walks the blocks of one rank.
pub(in crate::collectives) fn blocks_of(
    schedule: &Schedule,
    rank: usize,
) -> impl Iterator<Item = WalkedBlock<'_>> {
    let walked = move |(index, block)| WalkedBlock { schedule, rank, index, block };
    schedule.programs[rank].blocks.iter().enumerate().map(walked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::{Channel, Collective, ScheduleBuilder, Slice};

    #[test]
    fn a_step_reads_and_writes_the_connections_of_its_operation() {
        let mut builder = ScheduleBuilder::new("w", Collective::AllReduce, vec![0, 1, 2], 3);
        let through = builder.channel(Channel::through_switch(0..3));
        let operation = StepOperation::SwitchReduceMulticast;
        builder.in_switch(0, through, operation, Slice::input(0), Slice::output(0), 1, &[]);
        for other in 1..3 {
            builder.send(other, through, 0, Slice::input(0), 1, &[]);
            builder.receive(other, through, 0, None, Slice::output(0), 1, &[]);
        }
        let schedule = builder.finish();
        let head = blocks_of(&schedule, 0).next().unwrap();
        let peers = |ends: Vec<Connection>| -> Vec<_> {
            ends.into_iter().map(|it| (it.from, it.to, it.is_copied)).collect()
        };
        let read = peers(head.ends().read(operation).collect());
        assert_eq!(read, [(1, 0, false), (2, 0, false)]);
        let written = peers(head.ends().written(operation).collect());
        assert_eq!(written, [(0, 1, true), (0, 2, true)]);
        let other = |what: fn(StepOperation) -> bool| -> Vec<_> {
            let steps = blocks_of(&schedule, 2).flat_map(|block| {
                let ends = block.ends();
                block.steps().filter(|it| what(it.step.operation)).flat_map(move |it| {
                    let operation = it.step.operation;
                    ends.read(operation).chain(ends.written(operation)).collect::<Vec<_>>()
                })
            });
            peers(steps.collect())
        };
        assert_eq!(other(StepOperation::sends), [(2, 0, false)]);
        assert_eq!(other(StepOperation::receives), [(0, 2, true)]);
        assert_eq!(blocks(&schedule).map(|it| it.steps().count()).sum::<usize>(), 5);
    }
}
