//! Runs first-level caches: the accesses that they serve, their requests below, and the answers.

use super::address::AddressMap;
use super::cache::NONE;
use super::levels::{Caches, Looked, Shape};
use super::protocol::{CachePath, CoherenceProtocol, Copied, Forward, Level, Meanwhile};
use super::requests::{First, Kind, Request, ServedBy, Stage};
use super::statistics::CacheCounts;
use super::system::{Counts, Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::Hierarchy;
use crate::units::Picoseconds;

/// Holds the first-level caches of data.
#[derive(Debug)]
pub(super) struct FirstLevel<P: CoherenceProtocol> {
    /// Holds those of vectors and those of scalars, by [`Kind`].
    kinds: [Caches<P>; 2],
}

impl<P: CoherenceProtocol> FirstLevel<P> {
    /// Makes empty caches of all GPUs.
    pub(super) fn new(hierarchy: &Hierarchy, counts: &Counts, with_data: bool) -> Self {
        let cycle = counts.cycle;
        let kinds = [(counts.units, &hierarchy.vector), (counts.scalars, &hierarchy.scalar)];
        Self {
            kinds: kinds.map(|(each, of)| {
                let shape = Shape {
                    size: of.size.0,
                    ways: of.ways,
                    mshrs: of.mshrs,
                    directory: u64::from(of.directory) * cycle,
                    bank: u64::from(of.bank) * cycle,
                    locks: true,
                };
                Caches::new(counts.gpus * each, shape, with_data)
            }),
        }
    }

    #[inline]
    fn of(&mut self, kind: Kind) -> &mut Caches<P> {
        &mut self.kinds[kind as usize]
    }

    /// Empties the caches of a compute unit for a fence; nor is what is under way to them kept.
    pub(super) fn empty(&mut self, vector: u32, scalar: u32) {
        self.of(Kind::Vector).empty(vector);
        self.of(Kind::Scalar).empty(scalar);
    }

    /// Empties all caches, to which nothing is under way.
    pub(super) fn forget_all(&mut self) {
        for caches in &mut self.kinds {
            for cache in 0..caches.states.len() as u32 {
                caches.lines.forget_all(cache);
            }
        }
    }

    /// Tells all caches of each other.
    pub(super) fn meet(&mut self, protocol: &P) {
        let mut all = P::Cache::default();
        for cache in self.kinds.iter().flat_map(|caches| &caches.states) {
            protocol.on_meeting(&mut all, cache);
        }
        for cache in self.kinds.iter_mut().flat_map(|caches| &mut caches.states) {
            protocol.on_meeting(cache, &all);
        }
    }

    /// Gives what the caches of vectors have answered, and those of scalars.
    pub(super) fn into_counts(self) -> [Vec<CacheCounts>; 2] {
        self.kinds.map(|caches| caches.counts)
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// An access is at its first-level cache.
    pub(super) fn at_first(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let First { kind, cache } = self.requests.get(index).first;
        if kind == Kind::Instruction {
            self.ask_for_code(index, scheduler);
            return;
        }
        if !self.first.kinds[kind as usize].waiting[cache as usize].is_empty()
            || self.stalls_first(index, false, scheduler)
        {
            self.first.kinds[kind as usize].waiting[cache as usize].push(&mut self.requests, index);
        }
    }

    /// Looks an access's line up, and says whether it stalls for lack of a register.
    fn stalls_first(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> bool {
        let Request { first: First { kind, cache }, physical, .. } = *self.requests.get(index);
        let caches = self.first.of(kind);
        let level = (&self.protocol, Level::L1);
        let now = scheduler.now().0;
        match caches.look_up(level, (cache, physical), &mut self.requests, index, again) {
            Looked::Joined => {}
            Looked::Stalled => return true,
            Looked::Allocate(..) => unreachable!("first levels are not filled by writes"),
            Looked::Hit(place, _) => {
                caches.lines.touch(place);
                let (bytes, served) = (caches.lines.bytes(place).copied(), caches.latency());
                if let Some(bytes) = bytes {
                    self.loads.bring(self.requests.get(index), &bytes);
                }
                self.answer_load(index, now + served, scheduler);
            }
            Looked::Forward(place, Forward { ask, stamp, copy, .. }) => {
                if let (Some(place), Meanwhile::Goes) = (place, copy) {
                    caches.lines.forget(place);
                }
                let asked = now + caches.directory;
                let epoch = caches.epochs[cache as usize];
                let request = self.requests.get_mut(index);
                (request.ask, request.first_ask, request.stamp) = (ask, ask, stamp);
                request.epoch = epoch;
                self.send_to_second(index, asked, scheduler);
            }
        }
        false
    }

    /// Whose second level serves a request.
    fn owner(&self, request: &Request<P::Stamp>) -> u32 {
        match self.path {
            CachePath::OwnL2 | CachePath::HomeL2 => u32::from(request.gpu),
            CachePath::LineL2 => AddressMap::memory(request.physical),
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
            self.links.count_remote();
            request.goes_to(ServedBy::Remote);
            let path = self.links.between(gpu, owner);
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            scheduler.schedule(Picoseconds(at), Event::Cross(index));
        }
    }

    /// The answer is at the first level.
    pub(super) fn back_at_first(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        let First { kind, cache } = request.first;
        if kind == Kind::Instruction {
            self.code_came(index, scheduler);
            return;
        }
        let caches = self.first.of(kind);
        let found = caches.lines.find(cache, request.physical, request.line);
        let copy = found.map(|place| *caches.lines.state(place));
        let outcome = self.protocol.on_response(
            Level::L1,
            &mut caches.states[cache as usize],
            copy.as_ref(),
            request.access,
            request.stamp,
        );
        let is_old = request.epoch != caches.epochs[cache as usize];
        match outcome.copy {
            Copied::Install(_) if is_old => {}
            Copied::Install(line) => {
                let place = found.unwrap_or_else(|| {
                    let of = (cache, request.physical);
                    let spares = self.hierarchy.leases.spared;
                    let place = caches.victim(&self.protocol, of, spares, P::Stamp::default());
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
                    if request.access.writes() {
                        let written = self.requests.written(index);
                        caches.lines.write(place, request.mask, false, written);
                    }
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
            self.loads.bring(self.requests.get(index), &bytes);
        }
        self.answer_load(index, scheduler.now().0, scheduler);
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            self.stalls_first(waiting, true, scheduler);
            waiting = next;
        }
        while !self.first.kinds[kind as usize].waiting[cache as usize].is_empty() {
            let head = self.first.kinds[kind as usize].waiting[cache as usize].first();
            let next = self.requests.get(head).next;
            if self.stalls_first(head, false, scheduler) {
                break;
            }
            self.first.kinds[kind as usize].waiting[cache as usize].advance(next);
        }
    }

    /// A line of a load or store is there at a time.
    fn answer_load(&mut self, index: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
        let Request { first, since, load, line, .. } = *self.requests.get(index);
        self.first.of(first.kind).answered(first.cache, since, at);
        if let Some(trace) = &mut self.accesses {
            trace.note(self.requests.get(index), at);
        }
        self.requests.remove(index);
        self.leave(line, scheduler);
        self.line_done(load, at, scheduler);
    }

    /// Takes one missing part off a load or store, whose last part is there at a time.
    pub(super) fn line_done(&mut self, load: u32, at: u64, scheduler: &mut impl Scheduler<Event>) {
        if let Some(ready) = self.loads.take_line(load, at) {
            if ready > scheduler.now().0 {
                scheduler.schedule(Picoseconds(ready), Event::Done(load));
            } else {
                self.load_done(load, scheduler);
            }
        }
    }
}
