//! The second level: what its banks serve, write back and ask, and what comes back.

use super::cache::NONE;
use super::consistency::Consistency;
use super::fabric::pcie_path;
use super::kernel::AtomicOperation;
use super::levels::Looked;
use super::protocol::{Access, Ask, Copied, Eviction, Forward, Level, Lookup, Meanwhile, Protocol};
use super::requests::{First, Request, Stage, atomic};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

impl<P: Protocol, C: Consistency> Gpus<'_, P, C> {
    /// An access is at its bank of the second level.
    pub(super) fn at_second(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get_mut(index);
        request.since_second = scheduler.now().0;
        let bank = request.bank;
        if !self.second.waiting[bank as usize].is_empty()
            || matches!(self.look_up_second(index, false, scheduler), Looked::Stalled)
        {
            self.second.waiting[bank as usize].push(&mut self.requests, index);
        }
    }

    pub(super) fn look_up_second(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Looked {
        let request = *self.requests.get(index);
        let (bank, caches) = (request.bank, &mut self.second);
        if let Some(last) = caches.mshrs.join(bank, request.line, index) {
            self.requests.link(last, index);
            caches.counts[bank as usize].merged += u64::from(!again);
            return Looked::Settled;
        }
        let set = self.map.within_bank(request.physical);
        let place = caches.lines.find(bank, set, request.line);
        let mut line = place.map(|place| *caches.lines.state(place));
        let mut state = caches.states[bank as usize];
        let access = request.access;
        let lookup =
            self.protocol.on_access(Level::L2, &mut state, line.as_mut(), access, request.stamp);
        let now = scheduler.now().0;
        let (directory, latency) = (caches.directory, caches.bank);
        match lookup {
            Lookup::Hit(stamp) => {
                caches.states[bank as usize] = state;
                caches.counts[bank as usize].hits += u64::from(!again);
                if let (Some(place), Some(line)) = (place, line) {
                    *caches.lines.state(place) = line;
                    self.serve_in_second(index, place);
                }
                self.requests.get_mut(index).stamp = stamp;
                self.back_to_first(index, now + directory + latency, scheduler);
            }
            Lookup::Allocate(line, stamp) => {
                caches.states[bank as usize] = state;
                caches.counts[bank as usize].misses += u64::from(!again);
                let place = self.make_room(bank, set, request.line, scheduler);
                *self.second.lines.state(place) = line;
                self.serve_in_second(index, place);
                self.requests.get_mut(index).stamp = stamp;
                self.back_to_first(index, now + directory + latency, scheduler);
            }
            Lookup::Forward(Forward { ask, stamp, copy, .. }) => {
                if caches.mshrs.is_full(bank) {
                    return Looked::Stalled;
                }
                caches.states[bank as usize] = state;
                caches.mshrs.take(bank, request.line);
                caches.counts[bank as usize].misses += u64::from(!again);
                if let (Some(place), Some(line)) = (place, line) {
                    *caches.lines.state(place) = line;
                    match copy {
                        Meanwhile::Stays => {}
                        Meanwhile::Merges => {
                            caches.lines.write(
                                place,
                                request.mask,
                                false,
                                self.requests.written(index),
                            );
                        }
                        Meanwhile::Goes => {
                            self.write_back(bank, place, scheduler);
                            self.second.lines.forget(place);
                        }
                    }
                }
                let request = self.requests.get_mut(index);
                (request.ask, request.stamp) = (ask, stamp);
                self.send_to_memory(index, now + directory, scheduler);
            }
        }
        Looked::Settled
    }

    /// A copy in the second level is read or changed by an access.
    fn serve_in_second(&mut self, index: u32, place: usize) {
        let request = *self.requests.get(index);
        let lines = &mut self.second.lines;
        lines.touch(place);
        if let Some(bytes) = lines.bytes(place) {
            let before = *bytes;
            if let Some(payload) = self.requests.payload_mut(index) {
                payload.answer = before;
                if request.access == Access::Atomic {
                    payload.write = atomic(&before, &payload.write, &request);
                }
            }
        }
        if request.access != Access::Read {
            let is_dirty = self.protocol.on_evict(lines.state(place)) == Eviction::WriteBack;
            lines.write(place, request.mask, is_dirty, self.requests.written(index));
        }
    }

    /// A place in a bank for a line; what was there is written back if memory lacks it.
    fn make_room(
        &mut self,
        bank: u32,
        set: u64,
        line: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) -> usize {
        let place = self.second.lines.oldest(bank, set);
        if self.second.lines.line(place).is_some() {
            self.second.counts[bank as usize].evictions += 1;
            self.write_back(bank, place, scheduler);
        }
        self.second.lines.put(place, line);
        place
    }

    /// Sends what memory lacks of a line in a bank.
    pub(super) fn write_back(
        &mut self,
        bank: u32,
        place: usize,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let lines = &mut self.second.lines;
        let Some(line) = lines.line(place) else { return };
        if self.protocol.on_evict(lines.state(place)) == Eviction::Nothing {
            return;
        }
        let mask = lines.clean(place);
        let physical = self.map.physical(line);
        let now = scheduler.now().0;
        self.second.counts[bank as usize].write_backs += 1;
        let index = self.requests.add(Request {
            line,
            physical,
            mask,
            since: now,
            since_second: now,
            stamp: P::Stamp::default(),
            load: NONE,
            next: NONE,
            bank,
            first: First::Vector(NONE),
            gpu: (bank / self.counts.banks) as u16,
            access: Access::Write,
            ask: Ask::Write,
            operation: AtomicOperation::Add,
            stage: Stage::Memory,
            path: 0,
            crossed: 0,
            bytes: 0,
        });
        let bytes = self.second.lines.bytes(place).copied();
        if let (Some(payload), Some(bytes)) = (self.requests.payload_mut(index), bytes) {
            payload.write = bytes;
        }
        self.phases.write_backs += 1;
        self.send_to_memory(index, now, scheduler);
    }

    /// The answer of memory is at the bank that asked.
    pub(super) fn back_at_second(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        let bank = request.bank;
        let set = self.map.within_bank(request.physical);
        let found = self.second.lines.find(bank, set, request.line);
        let copy = found.map(|place| *self.second.lines.state(place));
        let outcome = self.protocol.on_response(
            Level::L2,
            &mut self.second.states[bank as usize],
            copy.as_ref(),
            request.access,
            request.stamp,
        );
        match outcome.copy {
            Copied::Install(line) => {
                let place = match found {
                    Some(place) => place,
                    None => self.make_room(bank, set, request.line, scheduler),
                };
                *self.second.lines.state(place) = line;
                let answer = self.requests.payload(index).map(|payload| payload.answer);
                self.second.lines.fill(place, answer.as_ref());
                self.serve_in_second(index, place);
            }
            Copied::Merge(line) => {
                if let Some(place) = found {
                    *self.second.lines.state(place) = line;
                    self.serve_in_second(index, place);
                }
            }
            Copied::Leave => {}
            Copied::Drop => {
                if let Some(place) = found {
                    self.second.lines.forget(place);
                }
            }
        }
        self.requests.get_mut(index).stamp = outcome.stamp;
        let mut waiting = self.second.mshrs.free(bank, request.line);
        self.back_to_first(index, scheduler.now().0, scheduler);
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            self.look_up_second(waiting, true, scheduler);
            waiting = next;
        }
        while !self.second.waiting[bank as usize].is_empty() {
            let head = self.second.waiting[bank as usize].first();
            let next = self.requests.get(head).next;
            if matches!(self.look_up_second(head, false, scheduler), Looked::Stalled) {
                break;
            }
            self.second.waiting[bank as usize].advance(next);
        }
    }

    /// The second level has answered; the answer leaves at a time.
    pub(super) fn back_to_first(
        &mut self,
        index: u32,
        at: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let request = *self.requests.get(index);
        self.second.answered(request.bank, request.since_second, at);
        let bytes = self.response_bytes(request.ask, request.access);
        let (owner, gpu) = (request.bank / self.counts.banks, u32::from(request.gpu));
        let request = self.requests.get_mut(index);
        request.stage = Stage::BackAtFirst;
        if owner == gpu {
            scheduler.schedule(Picoseconds(at + self.counts.crossbar), Event::Arrive(index));
        } else {
            let path = pcie_path(self.counts.gpus, owner, gpu);
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            scheduler.schedule(Picoseconds(at), Event::Cross(index));
        }
    }
}
