//! The way of an access: from its wavefront through translation and the caches, and back.

use super::address::AddressMap;
use super::cache::{NONE, copy_masked};
use super::compute_unit::Waits;
use super::consistency::Consistency;
use super::kernel::{AtomicOperation, Operation};
use super::levels::Caches;
use super::protocol::{
    Access, Ask, Copied, Eviction, Forward, Level, Lookup, Meanwhile, Path, Protocol,
};
use super::requests::{First, Request, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

/// What became of a lookup.
enum Looked {
    /// It is dealt with.
    Settled,
    /// A register is missing.
    Stalled,
}

impl<P: Protocol, C: Consistency> Gpus<'_, P, C> {
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
            Operation::LoadScalar => First::Scalar(self.counts.scalar_cache(unit)),
            _ => First::Vector(unit),
        };
        let (access, atomic) = match operation {
            Operation::Store if mask == u64::MAX => (Access::Overwrite, AtomicOperation::Add),
            Operation::Store => (Access::Write, AtomicOperation::Add),
            Operation::Atomic(atomic) => (Access::Atomic, atomic),
            _ => (Access::Read, AtomicOperation::Add),
        };
        let now = scheduler.now().0;
        let request = self.requests.add(Request {
            line,
            physical: self.map.physical(line),
            mask,
            since: now,
            since_second: now,
            stamp: P::Stamp::default(),
            load,
            next: NONE,
            bank: 0,
            first,
            gpu: gpu as u16,
            access,
            ask: Ask::Read,
            operation: atomic,
            stage: Stage::Second,
            path: 0,
            crossed: 0,
            bytes: 0,
        });
        if access != Access::Read
            && let Some(payload) = self.requests.payload_mut(request)
        {
            for (lane, word, byte) in posted.lanes.words_in(line) {
                let value = posted.values.word(lane, word).to_le_bytes();
                payload.write[byte..byte + 4].copy_from_slice(&value);
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
            First::Vector(unit) => unit % counts.units * counts.vector_buffers / counts.units,
            First::Scalar(cache) => {
                (counts.vector_buffers + cache % counts.scalars).min(counts.buffers - 1)
            }
        };
        u32::from(request.gpu) * counts.buffers + within
    }

    /// A request finds its page, or waits for it.
    fn translate(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get(index);
        let (buffer, page) = (self.buffer_of(request), self.map.page(request.line));
        if self.translation.knows(buffer, page) {
            self.at_first(index, scheduler);
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
            self.at_first(waiting, scheduler);
            waiting = next;
        }
    }

    fn level(&mut self, first: First) -> (&mut Caches<P>, u32) {
        match first {
            First::Vector(cache) => (&mut self.vector, cache),
            First::Scalar(cache) => (&mut self.scalar, cache),
        }
    }

    /// An access is at its first-level cache.
    pub(super) fn at_first(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let first = self.requests.get(index).first;
        let (caches, cache) = self.level(first);
        if !caches.waiting[cache as usize].is_empty() || self.stalls_first(index, false, scheduler)
        {
            let requests = &mut self.requests;
            let caches = match first {
                First::Vector(_) => &mut self.vector,
                First::Scalar(_) => &mut self.scalar,
            };
            caches.waiting[cache as usize].push(requests, index);
        }
    }

    fn stalls_first(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> bool {
        matches!(self.look_up_first(index, again, scheduler), Looked::Stalled)
    }

    fn look_up_first(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Looked {
        let request = *self.requests.get(index);
        let caches = match request.first {
            First::Vector(_) => &mut self.vector,
            First::Scalar(_) => &mut self.scalar,
        };
        let (First::Vector(cache) | First::Scalar(cache)) = request.first;
        if let Some(last) = caches.mshrs.join(cache, request.line, index) {
            self.requests.link(last, index);
            caches.counts[cache as usize].merged += u64::from(!again);
            return Looked::Settled;
        }
        let place = caches.lines.find(cache, request.physical, request.line);
        let mut line = place.map(|place| *caches.lines.state(place));
        let mut state = caches.states[cache as usize];
        let lookup = self.protocol.on_access(
            Level::L1,
            &mut state,
            line.as_mut(),
            request.access,
            P::Stamp::default(),
        );
        let now = scheduler.now().0;
        let (directory, bank) = (caches.directory, caches.bank);
        match lookup {
            Lookup::Hit(_) => {
                caches.states[cache as usize] = state;
                caches.counts[cache as usize].hits += u64::from(!again);
                if let (Some(place), Some(line)) = (place, line) {
                    *caches.lines.state(place) = line;
                    caches.lines.touch(place);
                    if let Some(bytes) = caches.lines.bytes(place) {
                        let bytes = *bytes;
                        self.take_words(index, &bytes);
                    }
                }
                self.answer_load(index, now + directory + bank, scheduler);
            }
            Lookup::Allocate(..) => unreachable!("first levels are not filled by writes"),
            Lookup::Forward(Forward { ask, stamp, copy, .. }) => {
                if caches.mshrs.is_full(cache) {
                    return Looked::Stalled;
                }
                caches.states[cache as usize] = state;
                caches.mshrs.take(cache, request.line);
                caches.counts[cache as usize].misses += u64::from(!again);
                if let (Some(place), Some(line)) = (place, line) {
                    *caches.lines.state(place) = line;
                    match copy {
                        Meanwhile::Stays => {}
                        Meanwhile::Merges => {
                            let payload = self.requests.payload(index);
                            let bytes = payload.map(|payload| &payload.write);
                            caches.lines.write(place, request.mask, false, bytes);
                        }
                        Meanwhile::Goes => caches.lines.forget(place),
                    }
                }
                let request = self.requests.get_mut(index);
                (request.ask, request.stamp) = (ask, stamp);
                self.send_to_second(index, now + directory, scheduler);
            }
        }
        Looked::Settled
    }

    /// Whose second level serves a request.
    fn owner(&self, request: &Request<P::Stamp>) -> u32 {
        match self.path {
            Path::OwnL2 | Path::HomeL2 => u32::from(request.gpu),
            Path::LineL2 => AddressMap::memory(request.physical),
        }
    }

    fn send_to_second(&mut self, index: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        let owner = self.owner(&request);
        let bank = owner * self.counts.banks + self.map.bank(request.physical);
        let bytes = self.request_bytes(request.ask);
        let gpu = u32::from(request.gpu);
        let request = self.requests.get_mut(index);
        (request.bank, request.stage) = (bank, Stage::Second);
        if owner == gpu {
            scheduler.schedule(Picoseconds(at + self.counts.crossbar), Event::Arrive(index));
        } else {
            self.done.remote += 1;
            let path = super::fabric::pcie_path(self.counts.gpus, gpu, owner);
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            scheduler.schedule(Picoseconds(at), Event::Cross(index));
        }
    }

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

    fn look_up_second(
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
                            let payload = self.requests.payload(index);
                            let bytes = payload.map(|payload| &payload.write);
                            caches.lines.write(place, request.mask, false, bytes);
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
                    payload.write = atomic(&before, payload.write, request);
                }
            }
        }
        if request.access != Access::Read {
            let is_dirty = self.protocol.on_evict(lines.state(place)) == Eviction::WriteBack;
            let payload = self.requests.payload(index);
            lines.write(place, request.mask, is_dirty, payload.map(|payload| &payload.write));
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
    fn back_to_first(&mut self, index: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        self.second.answered(request.bank, request.since_second, at);
        let bytes = self.response_bytes(request.ask, request.access);
        let (owner, gpu) = (request.bank / self.counts.banks, u32::from(request.gpu));
        let request = self.requests.get_mut(index);
        request.stage = Stage::BackAtFirst;
        if owner == gpu {
            scheduler.schedule(Picoseconds(at + self.counts.crossbar), Event::Arrive(index));
        } else {
            let path = super::fabric::pcie_path(self.counts.gpus, owner, gpu);
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            scheduler.schedule(Picoseconds(at), Event::Cross(index));
        }
    }

    /// The answer is at the first level.
    pub(super) fn back_at_first(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        let caches = match request.first {
            First::Vector(_) => &mut self.vector,
            First::Scalar(_) => &mut self.scalar,
        };
        let (First::Vector(cache) | First::Scalar(cache)) = request.first;
        let found = caches.lines.find(cache, request.physical, request.line);
        let copy = found.map(|place| *caches.lines.state(place));
        let outcome = self.protocol.on_response(
            Level::L1,
            &mut caches.states[cache as usize],
            copy.as_ref(),
            request.access,
            request.stamp,
        );
        match outcome.copy {
            Copied::Install(line) => {
                let place = found.unwrap_or_else(|| {
                    let place = caches.lines.oldest(cache, request.physical);
                    let gone = caches.lines.line(place).is_some();
                    caches.counts[cache as usize].evictions += u64::from(gone);
                    caches.lines.put(place, request.line);
                    place
                });
                *caches.lines.state(place) = line;
                caches.lines.touch(place);
                caches.lines.fill(place, self.requests.merged(index).as_ref());
            }
            Copied::Merge(line) => {
                if let Some(place) = found {
                    *caches.lines.state(place) = line;
                    let payload = self.requests.payload(index);
                    let bytes = payload.map(|payload| &payload.write);
                    caches.lines.write(place, request.mask, false, bytes);
                }
            }
            Copied::Leave => {}
            Copied::Drop => {
                if let Some(place) = found {
                    caches.lines.forget(place);
                }
            }
        }
        let mut waiting = caches.mshrs.free(cache, request.line);
        if let Some(payload) = self.requests.payload(index) {
            let bytes = payload.answer;
            self.take_words(index, &bytes);
        }
        self.answer_load(index, scheduler.now().0, scheduler);
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            self.look_up_first(waiting, true, scheduler);
            waiting = next;
        }
        loop {
            let (caches, cache) = self.level(request.first);
            if caches.waiting[cache as usize].is_empty() {
                break;
            }
            let head = caches.waiting[cache as usize].first();
            let next = self.requests.get(head).next;
            if self.stalls_first(head, false, scheduler) {
                break;
            }
            let (caches, cache) = self.level(request.first);
            caches.waiting[cache as usize].advance(next);
        }
    }

    /// The words that a load gets of a line.
    fn take_words(&mut self, index: u32, bytes: &[u8; 64]) {
        let request = self.requests.get(index);
        if request.access.writes() {
            return;
        }
        if let Some(words) = &mut self.loads[request.load as usize].words {
            let (lanes, values) = &mut **words;
            for (lane, word, byte) in lanes.words_in(request.line) {
                let value = [bytes[byte], bytes[byte + 1], bytes[byte + 2], bytes[byte + 3]];
                values.set(lane, word, u32::from_le_bytes(value));
            }
        }
    }

    /// A line of a load or store is there at a time.
    fn answer_load(&mut self, index: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
        let Request { first, since, load, .. } = *self.requests.get(index);
        let (caches, cache) = self.level(first);
        caches.answered(cache, since, at);
        self.requests.remove(index);
        self.line_done(load, at, scheduler);
    }

    /// One part less is missing of a load or store, the last of which is there at a time.
    fn line_done(&mut self, load: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
        let state = &mut self.loads[load as usize];
        state.ready = state.ready.max(at);
        state.pending -= 1;
        if state.pending == 0 {
            let ready = state.ready;
            if ready > scheduler.now().0 {
                scheduler.schedule(Picoseconds(ready), Event::Done(load));
            } else {
                self.load_done(load, scheduler);
            }
        }
    }

    /// A request crosses its next link.
    pub(super) fn cross(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get_mut(index);
        let links = match (request.stage, self.path) {
            (Stage::Memory, Path::OwnL2) => &mut self.shared[0],
            (Stage::BackAtSecond, Path::OwnL2) => &mut self.shared[1],
            _ => &mut self.pcie,
        };
        let now = scheduler.now().0;
        let (at, last) = links.cross(now, request.path, request.crossed, request.bytes.into());
        request.crossed += 1;
        let event = if last { Event::Arrive(index) } else { Event::Cross(index) };
        scheduler.schedule(Picoseconds(at), event);
    }

    /// A request is where it goes.
    pub(super) fn arrive(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        match self.requests.get(index).stage {
            Stage::Second => self.at_second(index, scheduler),
            Stage::Memory => self.at_memory(index, scheduler),
            Stage::BackAtSecond => self.back_at_second(index, scheduler),
            Stage::BackAtFirst => self.back_at_first(index, scheduler),
            Stage::Copied => self.copied(index, scheduler),
        }
    }
}

/// The words of a line after an atomic operation on those of a mask.
pub(super) fn atomic<S>(before: &[u8; 64], operands: [u8; 64], request: Request<S>) -> [u8; 64] {
    let mut after = *before;
    for word in (0..64).step_by(4).filter(|byte| request.mask >> byte & 1 == 1) {
        let read = |bytes: &[u8; 64]| {
            u32::from_le_bytes([bytes[word], bytes[word + 1], bytes[word + 2], bytes[word + 3]])
        };
        let result = request.operation.of(read(before), read(&operands));
        after[word..word + 4].copy_from_slice(&result.to_le_bytes());
    }
    after
}

/// Puts the bytes of a mask into a line.
pub(super) fn put(line: &mut [u8], bytes: &[u8; 64], mask: u64) {
    copy_masked(line, bytes, mask);
}
