//! Homes that ask caches before they serve, or are caches themselves.
//!
//! It represents a directory with an entry for each line. This stands beside the controller of a
//! shared memory or beside the bank of the second level that is a line's home. A home serves one
//! request a line at a time. It asks the caches that the protocol names
//! ([`CoherenceProtocol::before_request`]), waits for their answers ([`probing`](super::probing)),
//! and serves. It leaves out directories that are full.

use super::address::AddressMap;
use super::cache::{Mshrs, NONE};
use super::protocol::{Access, Ask, CachePath, CoherenceProtocol, TimestampStorageUnit};
use super::requests::{Fifo, Request, ServedBy, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

/// Holds the memory of homes, and the requests that they are busy with.
#[derive(Debug)]
pub(super) struct Homes<P: CoherenceProtocol> {
    /// Holds the state of each line.
    lines: Vec<P::Home>,
    /// Holds the state that each home keeps for all its lines.
    controllers: Vec<P::Controller>,
    /// Lines that each home is busy with.
    busy: Mshrs,
    /// Queues the requests that wait for a register of each.
    waiting: Vec<Fifo>,
    /// Holds the timestamps beside the controllers of shared memory, which serve at once.
    stamps: Vec<TimestampStorageUnit<P>>,
}

impl<P: CoherenceProtocol> Homes<P> {
    /// Makes homes of `lines` lines all together, each busy with at most `mshrs` of them. There are
    /// none where there are no lines. `units` controllers keep timestamps, in `sets` sets of `ways`
    /// each.
    pub(super) fn new(
        lines: u64,
        homes: u32,
        mshrs: u32,
        (units, sets, ways): (u32, usize, usize),
    ) -> Self {
        let homes = if lines == 0 { 0 } else { homes };
        Self {
            lines: vec![P::Home::default(); lines as usize],
            controllers: vec![P::Controller::default(); homes as usize],
            busy: Mshrs::new(homes, mshrs),
            waiting: vec![Fifo::default(); homes as usize],
            stamps: (0..units).map(|_| TimestampStorageUnit::new(sets, ways)).collect(),
        }
    }

    /// Gives how many timestamps each controller of shared memory has forgotten for lack of room.
    pub(super) fn evictions(&self) -> impl Iterator<Item = u64> {
        self.stamps.iter().map(TimestampStorageUnit::evictions)
    }

    /// Serves a request for a line, numbered within its controller of shared memory, and gives the
    /// protocol's answer.
    #[inline]
    pub(super) fn stamp(
        &mut self,
        protocol: &P,
        (controller, line): (u32, u64),
        request: &Request<P::Stamp>,
    ) -> P::Stamp {
        let (own, home) = self.stamps[controller as usize].entry(protocol, line);
        protocol.on_request(own, home, Some(request.gpu as u8), request.ask, request.stamp)
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Whether a bank of the second level is the home of a line.
    #[inline]
    pub(super) fn is_home(&self, bank: u32, physical: u64) -> bool {
        self.path == CachePath::HomeL2 && AddressMap::memory(physical) == bank / self.counts.banks
    }

    /// The GPU whose second level asks a home, or none where a first level does.
    fn asker(&self, request: &Request<P::Stamp>) -> Option<u8> {
        let is_here = self.is_home(request.bank, request.physical);
        (!is_here).then_some(request.gpu as u8)
    }

    /// A request is at its home.
    pub(super) fn at_home(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Request { load, physical, .. } = *self.requests.get(index);
        if load == NONE || !(P::CONFIRMS || self.path == CachePath::HomeL2) {
            self.at_controller(index, scheduler);
            return;
        }
        let home = self.channel(physical) as usize;
        if !self.homes.waiting[home].is_empty() || self.stalls_at_home(index, scheduler) {
            self.homes.waiting[home].push(&mut self.requests, index);
        }
    }

    /// A home begins with a request, or lets it wait for another of the line. Whether it stalls,
    /// for lack of a register.
    fn stalls_at_home(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) -> bool {
        let request = *self.requests.get(index);
        let home = self.channel(request.physical);
        if let Some(last) = self.homes.busy.join(home, request.line, index) {
            self.requests.link(last, index);
            return false;
        }
        let from = self.asker(&request);
        let entry = &self.homes.lines[request.line as usize];
        let probes = self.protocol.before_request(entry, from, request.ask);
        if probes.gpus == 0 && self.serves_at_once(index, scheduler) {
            return false;
        }
        if self.homes.busy.is_full(home) {
            return true;
        }
        self.homes.busy.take(home, request.line);
        if probes.gpus == 0 {
            self.ask_memory(index, scheduler);
        } else {
            self.probe(index, probes, scheduler);
        }
        false
    }

    /// Whether the second level that is a request's home has the line, or is given the whole of
    /// it: then the request is served.
    pub(super) fn serves_at_once(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<Event>,
    ) -> bool {
        if self.path != CachePath::HomeL2 {
            return false;
        }
        let request = *self.requests.get(index);
        let bank = self.channel(request.physical);
        let set = self.map.within_bank(request.physical);
        let found = self.second.find(bank, set, request.line);
        let place = match found {
            Some(place) => place,
            None if request.access == Access::Overwrite => self.take_in(&request, scheduler),
            None => return false,
        };
        self.second.count(bank, found.is_some());
        let at = scheduler.now().0 + self.second.latency();
        self.serve_at_home(index, place, at, scheduler);
        true
    }

    /// A place in the second level that is a line's home, for the line.
    fn take_in(
        &mut self,
        request: &Request<P::Stamp>,
        scheduler: &mut impl Scheduler<Event>,
    ) -> usize {
        let bank = self.channel(request.physical);
        if !P::CONFIRMS {
            let controller = &self.homes.controllers[bank as usize];
            self.homes.lines[request.line as usize] = self.protocol.remember(controller);
        }
        self.make_room(bank, self.map.within_bank(request.physical), request.line, scheduler)
    }

    /// A bank of the second level drops a line. Where it is the home and remembers no longer than
    /// it holds, it forgets.
    pub(super) fn forget_home(&mut self, bank: u32, line: u64) {
        if !P::CONFIRMS && self.is_home(bank, self.map.physical(line)) {
            let controller = &mut self.homes.controllers[bank as usize];
            let probes = self.protocol.forget(controller, &self.homes.lines[line as usize]);
            debug_assert_eq!(probes.gpus, 0, "who forgets at once asks nobody");
        }
    }

    /// A home that lacks a line, or is no cache, goes to memory.
    pub(super) fn ask_memory(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        if self.path == CachePath::OwnL2 {
            self.take_turn(index);
            self.at_memory(index, scheduler);
            return;
        }
        let bank = self.channel(self.requests.get(index).physical);
        self.second.count(bank, false);
        let request = self.requests.get_mut(index);
        request.goes_to(ServedBy::Memory);
        (request.is_fetch, request.stage) = (true, Stage::Memory);
        let at = scheduler.now().0 + self.second.directory();
        scheduler.schedule(Picoseconds(at), Event::Arrive(index));
    }

    /// Goes on with a home whose missing data is there.
    pub(super) fn fetched(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        self.requests.get_mut(index).is_fetch = false;
        let request = *self.requests.get(index);
        let place = self.take_in(&request, scheduler);
        let answer = self.requests.payload(index).map(|payload| payload.answer);
        self.second.fill(place, answer.as_ref());
        self.serve_at_home(index, place, scheduler.now().0, scheduler);
        self.release_home(&request, scheduler);
    }

    /// A copy in the second level that is the home serves a request, and the answer leaves at a
    /// time.
    fn serve_at_home(
        &mut self,
        index: u32,
        place: usize,
        at: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        self.take_turn(index);
        self.serve_in_second(index, place, true);
        self.answer_from_home(index, at, scheduler);
    }

    /// Gives a request its turn among all of its line: the home updates its memory and answers.
    fn take_turn(&mut self, index: u32) {
        let request = *self.requests.get(index);
        let from = self.asker(&request);
        let home = self.channel(request.physical);
        let controller = &mut self.homes.controllers[home as usize];
        let entry = &mut self.homes.lines[request.line as usize];
        let stamp = self.protocol.on_request(controller, entry, from, request.ask, request.stamp);
        let has_data = self.protocol.has_data(request.ask, request.stamp, stamp);
        let request = self.requests.get_mut(index);
        (request.stamp, request.has_data) = (stamp, has_data);
    }

    /// Whether a home takes what a second level writes back.
    pub(super) fn takes_write_back(&mut self, request: &Request<P::Stamp>) -> bool {
        let entry = &mut self.homes.lines[request.line as usize];
        self.protocol.on_write_back(entry, request.gpu as u8)
    }

    /// A home's answer leaves at a time.
    pub(super) fn answer_from_home(
        &mut self,
        index: u32,
        at: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let request = *self.requests.get(index);
        if self.is_home(request.bank, request.physical) {
            self.back_to_first(index, at, scheduler);
            return;
        }
        let path = self.links.path(request.bank, request.physical, false);
        let bytes = match (request.ask, request.has_data) {
            (Ask::Renew, false) => {
                let added = self.protocol.overhead().read_response;
                self.hierarchy.messages.acknowledgement + added
            }
            _ => self.response_bytes(request.ask, request.access),
        };
        let request = self.requests.get_mut(index);
        request.stage = Stage::BackAtSecond;
        (request.path, request.crossed, request.bytes) = (path, 0, bytes);
        scheduler.schedule(Picoseconds(at), Event::Cross(index));
    }

    /// A home is done with a request: those that waited for it go on.
    pub(super) fn release_home(
        &mut self,
        request: &Request<P::Stamp>,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let home = self.channel(request.physical);
        let mut waiting = self.homes.busy.free(home, request.line);
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            let stalls = self.stalls_at_home(waiting, scheduler);
            debug_assert!(!stalls, "a register has just been freed");
            waiting = next;
        }
        let home = home as usize;
        while !self.homes.waiting[home].is_empty() {
            let head = self.homes.waiting[home].first();
            let next = self.requests.get(head).next;
            if self.stalls_at_home(head, scheduler) {
                break;
            }
            self.homes.waiting[home].advance(next);
        }
    }
}
