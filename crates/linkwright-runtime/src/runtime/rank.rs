//! A rank as it runs.

use crate::network::DeviceIndex;
use crate::units::{Bytes, Picoseconds};

use super::call::RankId;
use super::copies::RankGpu;
use super::lane::Lane;
use super::outcome::RankOutcome;

/// The lane of computation.
pub(super) const PROCESSOR: usize = 0;
/// The lane of the messaging library's calls.
pub(super) const LIBRARY: usize = 1;

/// A rank as it runs, and what it has done so far.
#[derive(Debug, Clone)]
pub(super) struct RankState {
    pub(super) id: RankId,
    pub(super) device: DeviceIndex,
    pub(super) lanes: [Lane; 2],
    /// Its GPU, where its program copies or reduces.
    pub(super) gpu: Option<Box<RankGpu>>,
    /// The classes of receives that its program uses.
    pub(super) classes: u8,
    /// Where its program runs.
    pub(super) frame: u32,
    pub(super) outcome: RankOutcome,
    /// When the first work of its processor is done.
    pub(super) computes_until: u64,
    /// How many works of processors had begun before that: of those that are done at one time, the earlier is first.
    pub(super) computes_since: u64,
    /// How much later than its event says that is.
    pub(super) postponed: u64,
    /// How many communications of its program are under way, and since when any is.
    under_way: u32,
    since: u64,
}

impl RankState {
    pub(super) fn new(id: RankId, device: DeviceIndex, classes: u8, frame: u32) -> Self {
        Self {
            id,
            device,
            lanes: [Lane::EMPTY; 2],
            gpu: None,
            classes,
            frame,
            outcome: RankOutcome::default(),
            computes_until: 0,
            computes_since: 0,
            postponed: 0,
            under_way: 0,
            since: 0,
        }
    }

    /// A communication of its program starts.
    pub(super) fn begin_communication(&mut self, now: u64) {
        if self.under_way == 0 {
            self.since = now;
        }
        self.under_way += 1;
    }

    /// Whether any communication of its program is under way.
    pub(super) const fn communicates(&self) -> bool {
        self.under_way > 0
    }

    /// A communication of its program is complete.
    pub(super) fn end_communication(&mut self, now: u64) {
        self.under_way -= 1;
        if self.under_way == 0 {
            self.outcome.communicating.0 += now - self.since;
        }
    }

    /// Counts a message sent.
    pub(super) fn count_message(&mut self, size: u64) {
        self.outcome.messages += 1;
        self.outcome.bytes = Bytes(self.outcome.bytes.0.saturating_add(size));
    }

    /// Counts what a kernel has sent.
    pub(super) fn count_messages(&mut self, messages: u64, bytes: u64) {
        self.outcome.messages += messages;
        self.outcome.bytes = Bytes(self.outcome.bytes.0.saturating_add(bytes));
    }

    /// Its last operation is complete.
    pub(super) fn finish(&mut self, job_start: Picoseconds, now: Picoseconds) {
        self.outcome.end = now;
        let computing = self.outcome.computing.0;
        self.outcome.exposed_communication = Picoseconds(now.0 - job_start.0 - computing);
    }
}
