//! An access leaves its wavefront: line by line, each with its page.

use super::address::LINE;
use super::cache::NONE;
use super::compute_unit::Waits;
use super::kernel::{AtomicOperation, WavefrontOperation};
use super::protocol::{Access, CoherenceProtocol};
use super::requests::{First, Kind, Request};
use super::system::{Event, Gpus};
use super::tlb::Found;
use crate::engine::Scheduler;
use crate::units::Picoseconds;

/// Tells who stored a byte last.
#[derive(Debug)]
pub(super) struct Watch {
    /// Gives its line, and its bit in a mask.
    byte: Option<(u64, u64)>,
    stored_by: Option<u32>,
}

impl Watch {
    /// Watches a byte, or none.
    pub(super) fn new(byte: Option<u64>) -> Self {
        Self { byte: byte.map(|byte| (byte / LINE, 1 << (byte % LINE))), stored_by: None }
    }

    /// A compute unit stores bytes of a line.
    #[inline]
    fn stored(&mut self, unit: u32, line: u64, mask: u64) {
        if self.byte.is_some_and(|(watched, bit)| watched == line && mask & bit != 0) {
            self.stored_by = Some(unit);
        }
    }

    /// Gives the compute unit that stored the byte last.
    pub(super) fn stored_by(&self) -> Option<u32> {
        self.stored_by
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// A wavefront issues the next line of the access that it is at.
    pub(super) fn issue_line(&mut self, wavefront: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.wavefronts.get_mut(wavefront) else { return };
        let (load, line_number) = running.issuing;
        let Waits::ToAccess(operation) = running.waits else { return };
        let posted = running.state.posted();
        let lines = posted.lanes.lines();
        let (line, mask) = lines[line_number as usize];
        let is_last = line_number as usize + 1 == lines.len();
        let unit = running.unit;
        let gpu = unit / self.counts.units;
        let first = match operation {
            WavefrontOperation::LoadScalar => {
                First { kind: Kind::Scalar, cache: self.counts.scalar_cache(unit) }
            }
            _ => First { kind: Kind::Vector, cache: unit },
        };
        let (access, atomic) = match operation {
            WavefrontOperation::Store if mask == u64::MAX => {
                (Access::Overwrite, AtomicOperation::Add)
            }
            WavefrontOperation::Store => (Access::Write, AtomicOperation::Add),
            WavefrontOperation::Atomic(atomic) => (Access::Atomic, atomic),
            _ => (Access::Read, AtomicOperation::Add),
        };
        if access != Access::Read {
            self.watch.stored(unit, line, mask);
        }
        let now = scheduler.now().0;
        let request = self.requests.add(Request {
            mask,
            load,
            first,
            access,
            operation: atomic,
            ..Request::new(line, self.map.physical(line), now, gpu)
        });
        if access != Access::Read
            && let Some(payload) = self.requests.payload_mut(request)
        {
            let mut seen = 0_u64;
            for (lane, word, byte) in posted.lanes.words_in(line) {
                let mut value = posted.values.word(lane, word);
                let slot = &mut payload.write[byte..byte + 4];
                // Work-items that change one word take their turns, at its home.
                if access == Access::Atomic && seen >> byte & 1 == 1 {
                    let earlier = [slot[0], slot[1], slot[2], slot[3]];
                    value = atomic.of(u32::from_le_bytes(earlier), value);
                }
                seen |= 1 << byte;
                slot.copy_from_slice(&value.to_le_bytes());
            }
        }
        drop(posted);
        self.loads.add_line(load);
        if is_last {
            running.waits = Waits::ForItself;
            scheduler.schedule_in(Picoseconds(self.counts.cycle), Event::Resume(wavefront));
        } else {
            running.issuing.1 += 1;
            scheduler.schedule_in(Picoseconds(self.counts.cycle), Event::Issue(wavefront));
        }
        self.translate(request, scheduler);
        if is_last {
            self.line_done(load, now, scheduler);
        }
    }

    fn buffer_of(&self, request: &Request<P::Stamp>) -> u32 {
        let counts = &self.counts;
        let within = match request.first {
            First { kind: Kind::Vector, cache: unit } => {
                unit % counts.units * counts.vector_buffers / counts.units
            }
            First { kind: Kind::Scalar, cache } => {
                (counts.vector_buffers + cache % counts.scalars).min(counts.buffers - 1)
            }
            First { kind: Kind::Instruction, cache } => {
                let others = counts.vector_buffers + counts.scalars;
                (others + cache % counts.instructions).min(counts.buffers - 1)
            }
        };
        u32::from(request.gpu) * counts.buffers + within
    }

    /// A request finds its page, or waits for it.
    pub(super) fn translate(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get(index);
        let (buffer, page) = (self.buffer_of(request), self.map.page(request.line));
        match self.translation.look_up(scheduler.now().0, (buffer, page), index) {
            Found::Here => self.enter(index, scheduler),
            Found::Behind(last) => self.requests.link(last, index),
            Found::At(at) => {
                scheduler.schedule(Picoseconds(at), Event::Translated { buffer, page });
            }
            Found::Alone(at) => {
                scheduler.schedule(Picoseconds(at), Event::TranslatedOne(index));
            }
        }
    }

    pub(super) fn translated(
        &mut self,
        buffer: u32,
        page: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let mut waiting = self.translation.came(buffer, page);
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            self.enter(waiting, scheduler);
            waiting = next;
        }
    }
}
