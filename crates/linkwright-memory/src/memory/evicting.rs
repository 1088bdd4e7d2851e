//! Misses of a second level that wait until memory has what they evict.
//!
//! A bank that writes back first writes the line that a miss replaces. Once memory has acknowledged
//! that, it serves the miss (MGPU-TSM, section 4.4.1). It keeps the place for the miss meanwhile.
//! Banks that are homes (`hmg`, `g-tsc`) do not wait. The section compares second levels of MGPU-TSM, whose memory is behind
//! a switch. Of HMG and G-TSC the text does not say whether second levels write back.

use super::address::Pages;
use super::protocol::{Ask, CachePath, CoherenceProtocol};
use super::requests::{Request, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;

/// Tells how a write of a whole line that a bank does not hold goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictsForWrite {
    /// It takes its place at once.
    Not,
    /// It waits for what it evicts.
    Waits,
    /// It would have to, and lacks a register.
    Stalls,
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Finds the place of a set whose line a miss writes back before it goes on, if it has to.
    pub(super) fn first_victim(&self, bank: u32, set: u64) -> Option<usize> {
        if !self.hierarchy.second.evicts_first || self.path == CachePath::HomeL2 {
            return None;
        }
        self.second.banks.lines.dirty_victim(bank, set)
    }

    /// A miss, which has a register, writes back the line of a place, and keeps that.
    pub(super) fn evict_first(
        &mut self,
        index: u32,
        victim: usize,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let request = self.requests.get_mut(index);
        request.has_place = true;
        let bank = request.bank;
        self.second.banks.counts[bank as usize].evictions += 1;
        self.write_back_for(index, (bank, victim), scheduler);
        self.second.banks.lines.reserve(victim);
    }

    /// A write makes a line in a bank, and may have to evict another first. Whoever stalls leaves
    /// everything as it was.
    pub(super) fn evicts_for_write(
        &mut self,
        index: u32,
        again: bool,
        scheduler: &mut impl Scheduler<Event>,
    ) -> EvictsForWrite {
        let Request { bank, physical, line, has_place, .. } = *self.requests.get(index);
        let victim = self.first_victim(bank, self.map.within_bank(physical));
        let Some(victim) = victim.filter(|_| !has_place) else { return EvictsForWrite::Not };
        let banks = &mut self.second.banks;
        if banks.mshrs.is_full(bank) {
            banks.counts[bank as usize].misses -= u64::from(!again);
            return EvictsForWrite::Stalls;
        }
        banks.mshrs.take(bank, line);
        self.evict_first(index, victim, scheduler);
        EvictsForWrite::Waits
    }

    /// Takes the place of a bank that is kept for a request's line, or another.
    pub(super) fn place_for(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) -> usize {
        let Request { bank, physical, line, has_place, .. } = *self.requests.get(index);
        let set = self.map.within_bank(physical);
        let kept = self.second.banks.lines.reserved(bank, set).filter(|_| has_place);
        let Some(place) = kept else { return self.make_room(bank, set, line, scheduler) };
        self.requests.get_mut(index).has_place = false;
        self.second.banks.lines.put(place, line);
        place
    }

    /// Memory has a line that a miss evicted, and says so to its bank.
    pub(super) fn acknowledge_eviction(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let Request { bank, physical, .. } = *self.requests.get(index);
        let path = self.links.path(bank, physical, false);
        let added = self.protocol.overhead().write_response;
        let bytes = self.hierarchy.messages.acknowledgement + added;
        let request = self.requests.get_mut(index);
        request.stage = Stage::Evicted;
        let event = if self.pages == Pages::Shared {
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            Event::Cross(index)
        } else {
            Event::Arrive(index)
        };
        scheduler.schedule(scheduler.now(), event);
    }

    /// A bank hears that memory has what it evicted: the miss that waited goes on.
    pub(super) fn evicted(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let miss = self.requests.get(index).waiter;
        self.requests.remove(index);
        let Request { bank, line, ask, .. } = *self.requests.get(miss);
        // Whoever makes the line here has asked nothing of memory.
        if ask == Ask::Write {
            let waiting = self.second.banks.mshrs.free(bank, line);
            let stalls = self.stalls_second(miss, true, scheduler);
            debug_assert!(!stalls, "its place is kept");
            self.register_freed(bank, waiting, scheduler);
        } else {
            self.send_below(miss, scheduler.now().0, scheduler);
        }
    }
}
