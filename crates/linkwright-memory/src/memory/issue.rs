//! An access leaves its wavefront: line by line, each with its page.

use super::cache::NONE;
use super::compute_unit::Waits;
use super::kernel::{AtomicOperation, WavefrontOperation};
use super::protocol::{Access, CoherenceProtocol};
use super::requests::{First, Kind, Request};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// A wavefront issues the next line of the access that it is at.
    pub(super) fn issue_line(&mut self, wavefront: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = &mut self.running[wavefront as usize] else { return };
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
        if access != Access::Read
            && self.watched.is_some_and(|(watched, bit)| watched == line && mask & bit != 0)
        {
            self.stored_by = Some(unit);
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
        self.loads[load as usize].pending += 1;
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
        if self.translation.knows(buffer, page) {
            self.enter(index, scheduler);
        } else if let Some(last) = self.translation.waiting.join(buffer, page, index) {
            self.requests.link(last, index);
        } else {
            let found = Picoseconds(self.translation.ask(scheduler.now().0, buffer, page));
            if self.translation.waiting.is_full(buffer) {
                scheduler.schedule(found, Event::TranslatedOne(index));
            } else {
                self.translation.waiting.take(buffer, page);
                self.translation.waiting.join(buffer, page, index);
                scheduler.schedule(found, Event::Translated { buffer, page });
            }
        }
    }

    pub(super) fn translated(
        &mut self,
        buffer: u32,
        page: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        self.translation.fill(buffer, page);
        let mut waiting = self.translation.waiting.free(buffer, page);
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            self.enter(waiting, scheduler);
            waiting = next;
        }
    }
}
