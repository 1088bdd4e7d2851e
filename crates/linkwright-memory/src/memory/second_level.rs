//! Runs the second level: the accesses that its banks serve, their write-backs and requests, and
//! the answers.

use super::cache::{NONE, copy_masked};
use super::evicting::EvictsForWrite;
use super::kernel::Image;
use super::levels::{Caches, Looked, Shape};
use super::protocol::{
    Access, Ask, CoherenceProtocol, Copied, Eviction, Flush, Forward, Level, Meanwhile, Probe,
};
use super::requests::{Payload, Request, ServedBy, Stage, atomic};
use super::statistics::CacheCounts;
use super::system::{Counts, Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::Hierarchy;
use crate::units::Picoseconds;

/// The banks that are the second level of all GPUs.
#[derive(Debug)]
pub(super) struct SecondLevel<P: CoherenceProtocol> {
    pub(super) banks: Caches<P>,
    /// Keeps the stamp of the last access to each bank.
    asked: Vec<P::Stamp>,
}

impl<P: CoherenceProtocol> SecondLevel<P> {
    /// Makes empty banks of all GPUs.
    pub(super) fn new(hierarchy: &Hierarchy, counts: &Counts, with_data: bool) -> Self {
        let (of, cycle) = (&hierarchy.second, counts.cycle);
        let shape = Shape {
            size: of.size.0,
            ways: of.ways,
            mshrs: of.mshrs,
            directory: u64::from(of.directory) * cycle,
            bank: u64::from(of.bank) * cycle,
            locks: hierarchy.leases.locked,
        };
        let banks = counts.gpus * counts.banks;
        Self {
            banks: Caches::new(banks, shape, with_data),
            asked: vec![P::Stamp::default(); banks as usize],
        }
    }

    /// Gives the picoseconds in which a bank looks a line up.
    #[inline]
    pub(super) fn directory(&self) -> u64 {
        self.banks.directory
    }

    /// Gives the picoseconds from a hit's lookup to its answer.
    #[inline]
    pub(super) fn latency(&self) -> u64 {
        self.banks.latency()
    }

    /// Finds the place of a line in a bank's set.
    #[inline]
    pub(super) fn find(&self, bank: u32, set: u64, line: u64) -> Option<usize> {
        self.banks.lines.find(bank, set, line)
    }

    /// Fills a place with what memory answers, but for what has been written there.
    #[inline]
    pub(super) fn fill(&mut self, place: usize, bytes: Option<&[u8; 64]>) {
        self.banks.lines.fill(place, bytes);
    }

    /// Counts what a bank that is a line's home found.
    #[inline]
    pub(super) fn count(&mut self, bank: u32, is_hit: bool) {
        let counts = &mut self.banks.counts[bank as usize];
        counts.hits += u64::from(is_hit);
        counts.misses += u64::from(!is_hit);
    }

    /// A bank gives up of a line what a home wants, and puts its bytes into the answer. Gives the
    /// mask of those that memory lacks.
    pub(super) fn probe(
        &mut self,
        protocol: &P,
        (bank, set, line): (u32, u64, u64),
        probe: Probe,
        answer: Option<&mut Payload>,
    ) -> u64 {
        let lines = &mut self.banks.lines;
        let Some(place) = lines.find(bank, set, line) else { return 0 };
        let dirty = lines.clean(place);
        if let (Some(bytes), Some(answer)) = (lines.bytes(place), answer) {
            answer.write = *bytes;
        }
        match protocol.on_probe(*lines.state(place), probe) {
            Some(state) => *lines.state(place) = state,
            None => lines.forget(place),
        }
        dirty
    }

    /// Writes into memory all that it lacks, as a reader of memory would see it in the end.
    pub(super) fn settle(&mut self, image: &mut Image) {
        let lines = &mut self.banks.lines;
        for bank in 0..self.banks.states.len() as u32 {
            for place in lines.places(bank) {
                let Some(line) = lines.line(place) else { continue };
                let dirty = lines.clean(place);
                if let Some(bytes) = lines.bytes(place) {
                    copy_masked(image.line(line), bytes, dirty);
                }
            }
        }
    }

    /// Gives what each bank has answered.
    pub(super) fn into_counts(self) -> Vec<CacheCounts> {
        self.banks.counts
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// An access is at its bank of the second level.
    pub(super) fn at_second(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get_mut(index);
        request.since_second = scheduler.now().0;
        request.goes_to(ServedBy::Second);
        let Request { bank, physical, .. } = *request;
        if self.is_home(bank, physical) {
            self.at_home(index, scheduler);
            return;
        }
        if !self.second.banks.waiting[bank as usize].is_empty()
            || self.stalls_second(index, false, scheduler)
        {
            self.second.banks.waiting[bank as usize].push(&mut self.requests, index);
        }
    }

    /// Looks an access's line up, and says whether it stalls for lack of a register.
    pub(super) fn stalls_second(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> bool {
        let Request { bank, physical, stamp, .. } = *self.requests.get(index);
        let set = self.map.within_bank(physical);
        self.second.asked[bank as usize] = stamp;
        let caches = &mut self.second.banks;
        let level = (&self.protocol, Level::L2);
        let now = scheduler.now().0;
        let (asked, served) = (now + caches.directory, now + caches.latency());
        match caches.look_up(level, (bank, set), &mut self.requests, index, again) {
            Looked::Joined => {}
            Looked::Stalled => return true,
            Looked::Hit(place, stamp) => {
                self.serve_in_second(index, place, false);
                self.requests.get_mut(index).stamp = stamp;
                self.back_to_first(index, served, scheduler);
            }
            Looked::Allocate(state, stamp) => {
                match self.evicts_for_write(index, again, scheduler) {
                    EvictsForWrite::Not => {}
                    EvictsForWrite::Waits => return false,
                    EvictsForWrite::Stalls => return true,
                }
                let place = self.place_for(index, scheduler);
                *self.second.banks.lines.state(place) = state;
                self.serve_in_second(index, place, false);
                self.requests.get_mut(index).stamp = stamp;
                self.back_to_first(index, served, scheduler);
            }
            Looked::Forward(place, Forward { ask, stamp, copy, .. }) => {
                if let (Some(place), Meanwhile::Goes) = (place, copy) {
                    self.write_back(bank, place, scheduler);
                    self.second.banks.lines.forget(place);
                }
                let request = self.requests.get_mut(index);
                (request.ask, request.stamp) = (ask, stamp);
                let victim = match ask {
                    Ask::Read | Ask::Own if place.is_none() => self.first_victim(bank, set),
                    _ => None,
                };
                match victim {
                    Some(victim) => self.evict_first(index, victim, scheduler),
                    None => self.send_below(index, asked, scheduler),
                }
            }
        }
        false
    }

    /// A copy in the second level is read or changed by an access; one in a line's home keeps what
    /// memory lacks.
    pub(super) fn serve_in_second(&mut self, index: u32, place: usize, is_home: bool) {
        let request = *self.requests.get(index);
        let lines = &mut self.second.banks.lines;
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
            let is_dirty =
                is_home || self.protocol.on_evict(lines.state(place)) == Eviction::WriteBack;
            lines.write(place, request.mask, is_dirty, self.requests.written(index));
        }
    }

    /// Makes a place in a bank for a line. The old line is written back if memory lacks it.
    pub(super) fn make_room(
        &mut self,
        bank: u32,
        set: u64,
        line: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) -> usize {
        let SecondLevel { banks, asked } = &mut self.second;
        let (spares, asked) = (self.hierarchy.leases.spared, asked[bank as usize]);
        let place = banks.victim(&self.protocol, (bank, set), spares, asked);
        if let Some(gone) = self.second.banks.lines.line(place) {
            self.second.banks.counts[bank as usize].evictions += 1;
            self.forget_home(bank, gone);
            self.write_back(bank, place, scheduler);
        }
        self.second.banks.lines.put(place, line);
        place
    }

    /// Sends what memory lacks of a line in a bank.
    fn write_back(&mut self, bank: u32, place: usize, scheduler: &mut impl Scheduler<Event>) {
        self.write_back_for(NONE, (bank, place), scheduler);
    }

    /// Sends what memory lacks of a line in a bank, for which a miss may wait.
    pub(super) fn write_back_for(
        &mut self,
        waiter: u32,
        (bank, place): (u32, usize),
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let lines = &mut self.second.banks.lines;
        let Some(line) = lines.line(place) else { return };
        let mask = lines.clean(place);
        if mask == 0 {
            return;
        }
        let physical = self.map.physical(line);
        let now = scheduler.now().0;
        self.second.banks.counts[bank as usize].write_backs += 1;
        let index = self.requests.add(Request {
            mask,
            bank,
            waiter,
            access: Access::Write,
            ask: Ask::Write,
            ..Request::new(line, physical, now, bank / self.counts.banks)
        });
        let bytes = self.second.banks.lines.bytes(place).copied();
        if let (Some(payload), Some(bytes)) = (self.requests.payload_mut(index), bytes) {
            payload.write = bytes;
        }
        self.phases.write_back_left();
        self.send_below(index, now, scheduler);
    }

    /// A bank gives up a line, and writes back the bytes that memory lacks.
    pub(super) fn give_up(
        &mut self,
        bank: u32,
        (set, line): (u64, u64),
        scheduler: &mut impl Scheduler<Event>,
    ) {
        if let Some(place) = self.second.find(bank, set, line) {
            self.write_back(bank, place, scheduler);
            self.second.banks.lines.forget(place);
        }
    }

    /// All banks write back what memory lacks; they forget their lines, too, where that is asked.
    pub(super) fn flush_second(&mut self, flush: Flush, scheduler: &mut impl Scheduler<Event>) {
        for bank in 0..self.second.banks.states.len() as u32 {
            for place in self.second.banks.lines.places(bank) {
                self.write_back(bank, place, scheduler);
            }
            if flush == Flush::Invalidate {
                for place in self.second.banks.lines.places(bank) {
                    if let Some(line) = self.second.banks.lines.line(place) {
                        self.forget_home(bank, line);
                    }
                }
                self.second.banks.lines.forget_all(bank);
            }
        }
    }

    /// The answer of memory is at the bank that asked.
    pub(super) fn back_at_second(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        let bank = request.bank;
        let set = self.map.within_bank(request.physical);
        let found = self.second.banks.lines.find(bank, set, request.line);
        let copy = found.map(|place| *self.second.banks.lines.state(place));
        let outcome = self.protocol.on_response(
            Level::L2,
            &mut self.second.banks.states[bank as usize],
            copy.as_ref(),
            request.access,
            request.stamp,
        );
        match outcome.copy {
            Copied::Install(line) => {
                let place = match found {
                    Some(place) => place,
                    None => self.place_for(index, scheduler),
                };
                *self.second.banks.lines.state(place) = line;
                let answer = self.requests.payload(index).map(|payload| payload.answer);
                self.second.banks.lines.fill(place, answer.as_ref());
                self.serve_in_second(index, place, false);
            }
            Copied::Merge(line) => {
                if let Some(place) = found {
                    *self.second.banks.lines.state(place) = line;
                    self.serve_in_second(index, place, false);
                }
            }
            Copied::Leave => {}
            Copied::Drop => {
                if let Some(place) = found {
                    self.second.banks.lines.forget(place);
                }
            }
        }
        self.requests.get_mut(index).stamp = outcome.stamp;
        let waiting = self.second.banks.mshrs.free(bank, request.line);
        self.back_to_first(index, scheduler.now().0, scheduler);
        self.register_freed(bank, waiting, scheduler);
    }

    /// Lets accesses go on where a bank has a register free again. Those of a list waited for its
    /// line; the others lacked a register.
    pub(super) fn register_freed(
        &mut self,
        bank: u32,
        mut waiting: u32,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        while waiting != NONE {
            let next = self.requests.get(waiting).next;
            self.stalls_second(waiting, true, scheduler);
            waiting = next;
        }
        while !self.second.banks.waiting[bank as usize].is_empty() {
            let head = self.second.banks.waiting[bank as usize].first();
            let next = self.requests.get(head).next;
            if self.stalls_second(head, false, scheduler) {
                break;
            }
            self.second.banks.waiting[bank as usize].advance(next);
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
        self.second.banks.answered(request.bank, request.since_second, at);
        let bytes = self.response_bytes(request.first_ask, request.access);
        let (owner, gpu) = (request.bank / self.counts.banks, u32::from(request.gpu));
        let request = self.requests.get_mut(index);
        request.stage = Stage::BackAtFirst;
        if owner == gpu {
            scheduler.schedule(Picoseconds(at + self.counts.crossbar), Event::Arrive(index));
        } else {
            let path = self.links.between(owner, gpu);
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            scheduler.schedule(Picoseconds(at), Event::Cross(index));
        }
    }
}
