//! A rank as it runs.

use crate::network::DeviceIndex;
use crate::units::{Bytes, Picoseconds};

use crate::runtime::copies::RankGpu;
use crate::runtime::diagnosis::call::RankId;
use crate::runtime::jobs::outcome::RankOutcome;
use crate::runtime::ranks::lane::Lane;

/// The lane of computation.
pub(in crate::runtime) const PROCESSOR: usize = 0;
/// The lane of the messaging library's calls.
pub(in crate::runtime) const LIBRARY: usize = 1;

/// A rank as it runs, and what it has done so far.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct RankState {
    pub(in crate::runtime) id: RankId,
    pub(in crate::runtime) device: DeviceIndex,
    pub(in crate::runtime) lanes: [Lane; 2],
    /// Its GPU, where its program copies or reduces.
    pub(in crate::runtime) gpu: Option<Box<RankGpu>>,
    /// The classes of receives that its program uses.
    pub(in crate::runtime) classes: u8,
    /// Where its program runs.
    pub(in crate::runtime) frame: u32,
    pub(in crate::runtime) outcome: RankOutcome,
    /// How many communications of its program are under way, and since when any is.
    under_way: u32,
    since: u64,
}

impl RankState {
    pub(in crate::runtime) fn new(
        id: RankId,
        device: DeviceIndex,
        classes: u8,
        frame: u32,
    ) -> Self {
        Self {
            id,
            device,
            lanes: [Lane::EMPTY; 2],
            gpu: None,
            classes,
            frame,
            outcome: RankOutcome::default(),
            under_way: 0,
            since: 0,
        }
    }

    /// A communication of its program starts.
    pub(in crate::runtime) fn begin_communication(&mut self, now: u64) {
        if self.under_way == 0 {
            self.since = now;
        }
        self.under_way += 1;
    }

    /// A communication of its program is complete.
    pub(in crate::runtime) fn end_communication(&mut self, now: u64) {
        self.under_way -= 1;
        if self.under_way == 0 {
            self.outcome.communicating.0 += now - self.since;
        }
    }

    /// Counts a message sent.
    pub(in crate::runtime) fn count_message(&mut self, size: u64) {
        self.outcome.messages += 1;
        self.outcome.bytes = Bytes(self.outcome.bytes.0.saturating_add(size));
    }

    /// Counts what a kernel has sent.
    pub(in crate::runtime) fn count_messages(&mut self, messages: u64, bytes: u64) {
        self.outcome.messages += messages;
        self.outcome.bytes = Bytes(self.outcome.bytes.0.saturating_add(bytes));
    }

    /// Its last operation is complete.
    pub(in crate::runtime) fn finish(&mut self, job_start: Picoseconds, now: Picoseconds) {
        self.outcome.end = now;
        let computing = self.outcome.computing.0;
        self.outcome.exposed_communication = Picoseconds(now.0 - job_start.0 - computing);
    }
}
