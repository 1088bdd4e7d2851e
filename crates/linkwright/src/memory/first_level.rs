//! First-level caches: what they serve, what they ask, and what comes back.

use super::address::AddressMap;
use super::cache::NONE;
use super::consistency::Consistency;
use super::levels::{Caches, Looked};
use super::protocol::{Copied, Forward, Level, Lookup, Meanwhile, Path, Protocol};
use super::requests::{First, Request, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

impl<P: Protocol, C: Consistency> Gpus<'_, P, C> {
    pub(super) fn level(&mut self, first: First) -> (&mut Caches<P>, u32) {
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

    pub(super) fn stalls_first(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> bool {
        matches!(self.look_up_first(index, again, scheduler), Looked::Stalled)
    }

    pub(super) fn look_up_first(
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
                            caches.lines.write(
                                place,
                                request.mask,
                                false,
                                self.requests.written(index),
                            );
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
    pub(super) fn owner(&self, request: &Request<P::Stamp>) -> u32 {
        match self.path {
            Path::OwnL2 | Path::HomeL2 => u32::from(request.gpu),
            Path::LineL2 => AddressMap::memory(request.physical),
        }
    }

    pub(super) fn send_to_second(
        &mut self,
        index: u32,
        at: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
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
                    caches.lines.write(place, request.mask, false, self.requests.written(index));
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
    pub(super) fn take_words(&mut self, index: u32, bytes: &[u8; 64]) {
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
    pub(super) fn answer_load(
        &mut self,
        index: u32,
        at: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let Request { first, since, load, .. } = *self.requests.get(index);
        let (caches, cache) = self.level(first);
        caches.answered(cache, since, at);
        self.requests.remove(index);
        self.line_done(load, at, scheduler);
    }

    /// One part less is missing of a load or store, the last of which is there at a time.
    pub(super) fn line_done(&mut self, load: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
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
}
