//! Sends between neighbours in a ring or a chain: reduce-scatter, all-gather and scan.

use super::{ONE, Source};
use crate::collectives::schedule::Slice;
use crate::collectives::schedule::source::Group;
use crate::program::CollectiveKind;

impl Source {
    /// Returns the block this many before one, around the first.
    fn block_before(&self, of: u32, by: u32) -> u32 {
        (of + (self.ranks - by % self.ranks)) % self.ranks
    }

    /// Returns the neighbours before and behind a rank.
    fn neighbours(&self, me: u32) -> (u32, u32) {
        (self.block_before(me, 1), (me + 1) % self.ranks)
    }

    /// Each block's sum travels once around and ends at its rank. A reduce-scatter keeps what
    /// passes in one of two places, so that it can be sent while the next comes.
    pub(super) fn ring_reduce_scatter(&self, me: u32, phase: u32, group: &mut Group) {
        let (left, right) = self.neighbours(me);
        let block = |by: u32| self.block_before(me, 1 + by);
        let (sent, came) = (block(phase), block(phase + 1));
        let is_last = phase + 2 == self.ranks;
        let kept = |phase: u32, block: u32, is_last: bool| match self.kind {
            CollectiveKind::ReduceScatter if is_last => Slice::output(0),
            CollectiveKind::ReduceScatter => Slice::scratch(phase % 2),
            _ => Slice::output(block),
        };
        let source = match phase.checked_sub(1) {
            None => Slice::input(sent),
            Some(before) => kept(before, sent, false),
        };
        let places = (Slice::input(came), kept(phase, came, is_last));
        group.reduce(left, places, 1, came..came + 1);
        group.send(right, source, 1, sent..sent + 1);
    }

    /// Sends each rank's block once around.
    pub(super) fn ring_all_gather(&self, me: u32, phase: u32, group: &mut Group) {
        let (left, right) = self.neighbours(me);
        let block = |by: u32| self.block_before(me, by);
        let (sent, came) = (block(phase), block(phase + 1));
        if phase == 0 && self.kind == CollectiveKind::AllGather {
            group.copy(Slice::input(0), Slice::output(me), 1);
        }
        group.receive(left, Slice::output(came), 1, came..came + 1);
        group.send(right, Slice::output(sent), 1, sent..sent + 1);
    }

    /// Each rank adds its own to the sum of those before it: receive, then send.
    pub(super) fn scan_linear(&self, me: u32, step: u32, group: &mut Group) {
        let sum = Slice::output(0);
        if step == 0 {
            match me.checked_sub(1) {
                Some(before) => group.reduce(before, (Slice::input(0), sum), 1, ONE),
                None => group.copy(Slice::input(0), sum, 1),
            }
            group.tag = me.saturating_sub(1);
        } else {
            if me + 1 < self.ranks {
                group.send(me + 1, sum, 1, ONE);
            }
            group.tag = me;
        }
    }
}
