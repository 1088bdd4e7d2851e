//! Lists the events of a runtime that a caller may watch.

use crate::program::{CollectiveKind, CopyDirection, Tag};
use crate::units::{Bytes, Picoseconds};

use super::call::RankId;

/// A message as an observer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRecord {
    /// Who sends it.
    pub source: RankId,
    /// Who receives it.
    pub destination: RankId,
    /// Gives its tag; in a collective the phase.
    pub tag: Tag,
    /// How much it carries.
    pub size: Bytes,
    /// Whether it belongs to a collective.
    pub collective: bool,
    /// Says when the library of its sender handed it, or the request to send it, to the network.
    pub sent: Picoseconds,
}

/// A copy as an observer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRecord {
    /// Whose it is.
    pub rank: RankId,
    /// Says from where to where; a peer by its rank in the program.
    pub direction: CopyDirection,
    /// How much it carries.
    pub size: Bytes,
    /// Says when a copy engine took it.
    pub start: Picoseconds,
}

/// A rank's part in a collective that ran as a kernel, as an observer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelRecord {
    /// Whose it is.
    pub rank: RankId,
    /// Says which collective it is.
    pub kind: CollectiveKind,
    /// Counts the bytes that the rank contributes, as the program says.
    pub size: Bytes,
    /// Says when the rank called it.
    pub start: Picoseconds,
}

/// Sees what happens, in the order of time, and changes nothing.
///
/// Every method does nothing unless it is written, and costs nothing then.
pub trait Observer {
    /// A rank has computed, from one time to another.
    fn computed(&mut self, rank: RankId, start: Picoseconds, end: Picoseconds) {
        let _ = (rank, start, end);
    }

    /// A message has been handed to the network.
    fn sent(&mut self, message: &MessageRecord) {
        let _ = message;
    }

    /// A message's data has arrived at its receiver.
    fn delivered(&mut self, message: &MessageRecord, time: Picoseconds) {
        let _ = (message, time);
    }

    /// A copy's data is there.
    fn copied(&mut self, copy: &CopyRecord, end: Picoseconds) {
        let _ = (copy, end);
    }

    /// A rank's kernel has ended.
    fn ran(&mut self, kernel: &KernelRecord, end: Picoseconds) {
        let _ = (kernel, end);
    }

    /// A rank has entered a region of its program.
    fn entered(&mut self, rank: RankId, region: u32, time: Picoseconds) {
        let _ = (rank, region, time);
    }

    /// A rank has left a region of its program.
    fn left(&mut self, rank: RankId, region: u32, time: Picoseconds) {
        let _ = (rank, region, time);
    }
}

/// Watches nothing.
impl Observer for () {}

impl<O: Observer> Observer for &mut O {
    fn computed(&mut self, rank: RankId, start: Picoseconds, end: Picoseconds) {
        (**self).computed(rank, start, end);
    }

    fn sent(&mut self, message: &MessageRecord) {
        (**self).sent(message);
    }

    fn delivered(&mut self, message: &MessageRecord, time: Picoseconds) {
        (**self).delivered(message, time);
    }

    fn copied(&mut self, copy: &CopyRecord, end: Picoseconds) {
        (**self).copied(copy, end);
    }

    fn ran(&mut self, kernel: &KernelRecord, end: Picoseconds) {
        (**self).ran(kernel, end);
    }

    fn entered(&mut self, rank: RankId, region: u32, time: Picoseconds) {
        (**self).entered(rank, region, time);
    }

    fn left(&mut self, rank: RankId, region: u32, time: Picoseconds) {
        (**self).left(rank, region, time);
    }
}
