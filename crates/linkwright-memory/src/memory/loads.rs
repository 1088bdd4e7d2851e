//! Loads and stores of wavefronts that are under way.

use super::kernel::{Lanes, LoadTimes, Values, WavefrontOperation};
use super::protocol::Access;
use super::requests::Request;
use crate::units::Picoseconds;

/// A load or store that a wavefront has begun.
#[derive(Debug, Clone, Default)]
struct Load {
    wavefront: u32,
    /// Lines that are under way, and one more while lines are issued.
    pending: u32,
    /// Says when its wavefront gave the instruction.
    since: u64,
    /// When the last of the lines that were here is read.
    ready: u64,
    done: bool,
    operation: WavefrontOperation,
    /// Holds in a run with data which words it touches, and those up to now.
    words: Option<Box<(Lanes, Values)>>,
}

/// All loads and stores that are not over; numbers are given again.
#[derive(Debug, Default)]
pub(super) struct Loads {
    all: Vec<Load>,
    free: Vec<u32>,
}

impl Loads {
    /// Begins one of a wavefront at a time, whose lines are yet to be issued; with what it touches in a
    /// run with data.
    #[inline]
    pub(super) fn begin(
        &mut self,
        (wavefront, since): (u32, u64),
        operation: WavefrontOperation,
        words: Option<Box<(Lanes, Values)>>,
    ) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.all.push(Load::default());
            (self.all.len() - 1) as u32
        });
        let (pending, ready, done) = (1, since, false);
        let load = Load { wavefront, pending, since, ready, done, operation, words };
        self.all[slot as usize] = load;
        slot
    }

    /// One line more is under way.
    #[inline]
    pub(super) fn add_line(&mut self, load: u32) {
        self.all[load as usize].pending += 1;
    }

    /// One part less is missing, which is there at a time. Gives when all are, after the last.
    #[inline]
    pub(super) fn take_line(&mut self, load: u32, at: u64) -> Option<u64> {
        let load = &mut self.all[load as usize];
        load.ready = load.ready.max(at);
        load.pending -= 1;
        (load.pending == 0).then_some(load.ready)
    }

    /// All of it is there: gives its wavefront. Nobody asks for a store again.
    #[inline]
    pub(super) fn finish(&mut self, load: u32) -> u32 {
        let state = &mut self.all[load as usize];
        state.done = true;
        let wavefront = state.wavefront;
        if state.operation == WavefrontOperation::Store {
            self.free.push(load);
        }
        wavefront
    }

    /// Whether all of it is there.
    #[inline]
    pub(super) fn is_done(&self, load: u32) -> bool {
        self.all[load as usize].done
    }

    /// Its wavefront takes the words, where the run has data, and when it was given and there; the load
    /// is over.
    #[inline]
    pub(super) fn take(&mut self, load: u32) -> (Option<Values>, LoadTimes) {
        let state = &mut self.all[load as usize];
        let (words, span) = (state.words.take(), [state.since, state.ready].map(Picoseconds));
        self.free.push(load);
        (words.map(|words| words.1), span)
    }

    /// Brings the words that a load gets of a line; each work-item of an atomic gets what those
    /// before it have made of its word.
    pub(super) fn bring<S>(&mut self, request: &Request<S>, bytes: &[u8; 64]) {
        if request.access.writes() {
            return;
        }
        if let Some(words) = &mut self.all[request.load as usize].words {
            let (lanes, values) = &mut **words;
            let mut bytes = *bytes;
            for (lane, word, byte) in lanes.words_in(request.line) {
                let slot = &mut bytes[byte..byte + 4];
                let before = u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
                if request.access == Access::Atomic {
                    let after = request.operation.of(before, values.word(lane, word));
                    slot.copy_from_slice(&after.to_le_bytes());
                }
                values.set(lane, word, before);
            }
        }
    }
}
