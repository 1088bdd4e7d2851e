//! Keeps a run's messages and computation as they happen.

use super::latencies::Latencies;
use super::stays::Stays;
use crate::runtime::{CopyRecord, KernelRecord, MessageRecord, Observer, ProgramJob, RankId};
use crate::system::System;
use crate::units::Picoseconds;

/// Describes a message from its sending to its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageInterval {
    /// Holds the message as it was sent, and when.
    pub message: MessageRecord,
    /// When its data had arrived.
    pub delivered: Picoseconds,
}

/// Describes a span in which a rank computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputationInterval {
    /// Names the rank.
    pub rank: RankId,
    /// Says when it began.
    pub start: Picoseconds,
    /// Says when it ended.
    pub end: Picoseconds,
}

/// Describes a copy from the time when an engine took it to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyInterval {
    /// Holds the copy, and when it began.
    pub copy: CopyRecord,
    /// When its data was there.
    pub end: Picoseconds,
}

/// Describes a rank's part in a collective that ran as a kernel, from its call to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelInterval {
    /// Holds the kernel, and when it began.
    pub kernel: KernelRecord,
    /// When the rank's last block had ended.
    pub end: Picoseconds,
}

/// Counts how long messages took, as an observer, and keeps the first intervals of each kind. A
/// bound limits them, so that no run can fill the memory with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Gives the server of each rank of each job.
    nodes: Vec<Vec<u32>>,
    most: usize,
    /// Messages that were sent then are kept and counted.
    span: (Picoseconds, Picoseconds),
    /// Says how long messages took.
    pub latencies: Latencies,
    /// Lists the first messages, in the order of their arrival.
    pub messages: Vec<MessageInterval>,
    /// The first spans of computation, in the order of their ends.
    pub computation: Vec<ComputationInterval>,
    /// The first copies, in the order of their ends.
    pub copies: Vec<CopyInterval>,
    /// The first kernels, in the order of their ends.
    pub kernels: Vec<KernelInterval>,
    /// The first stays in regions.
    pub stays: Stays,
    /// Counts the messages of the span that arrived in all.
    pub message_count: u64,
    /// How many spans of computation there were in all.
    pub computation_count: u64,
    /// How many copies were made in all.
    pub copy_count: u64,
    /// Counts the kernels that ranks ran in all.
    pub kernel_count: u64,
}

impl Watch {
    /// Watches jobs. Of messages, spans of computation, copies, kernels and stays in regions, it
    /// keeps at most `most` each.
    #[must_use]
    pub fn new(jobs: &[ProgramJob], system: &System, most: usize) -> Self {
        let node = |gpu: &u32| system.gpu(*gpu).server;
        Self {
            nodes: jobs.iter().map(|job| job.mapping.iter().map(node).collect()).collect(),
            most,
            span: (Picoseconds(0), Picoseconds(u64::MAX)),
            latencies: Latencies::default(),
            messages: Vec::new(),
            computation: Vec::new(),
            copies: Vec::new(),
            kernels: Vec::new(),
            stays: Stays::new(jobs, most),
            message_count: 0,
            computation_count: 0,
            copy_count: 0,
            kernel_count: 0,
        }
    }

    /// Keeps and counts the messages alone that are sent from one time to another.
    #[must_use]
    pub fn between(self, from: Picoseconds, until: Picoseconds) -> Self {
        Self { span: (from, until), ..self }
    }

    fn node(&self, rank: RankId) -> u32 {
        self.nodes[rank.job as usize][rank.rank as usize]
    }
}

impl Observer for Watch {
    fn computed(&mut self, rank: RankId, start: Picoseconds, end: Picoseconds) {
        self.computation_count += 1;
        if self.computation.len() < self.most {
            self.computation.push(ComputationInterval { rank, start, end });
        }
    }

    fn copied(&mut self, copy: &CopyRecord, end: Picoseconds) {
        self.copy_count += 1;
        if self.copies.len() < self.most {
            self.copies.push(CopyInterval { copy: *copy, end });
        }
    }

    fn ran(&mut self, kernel: &KernelRecord, end: Picoseconds) {
        self.kernel_count += 1;
        if self.kernels.len() < self.most {
            self.kernels.push(KernelInterval { kernel: *kernel, end });
        }
    }

    fn delivered(&mut self, message: &MessageRecord, time: Picoseconds) {
        let within = self.node(message.source) == self.node(message.destination);
        self.latencies.add(message.size, within, Picoseconds(time.0 - message.sent.0));
        if message.sent < self.span.0 || message.sent > self.span.1 {
            return;
        }
        self.message_count += 1;
        if self.messages.len() < self.most {
            self.messages.push(MessageInterval { message: *message, delivered: time });
        }
    }

    fn entered(&mut self, rank: RankId, region: u32, time: Picoseconds) {
        self.stays.enter(rank, region, time);
    }

    fn left(&mut self, rank: RankId, region: u32, time: Picoseconds) {
        self.stays.leave(rank, region, time);
    }
}
