//! The controllers of memory: where all accesses to a line meet.

use super::address::{AddressMap, Pages};
use super::cache::{NONE, copy_masked};
use super::dram::Channels;
use super::kernel::Image;
use super::protocol::{Access, Ask, CachePath, CoherenceProtocol};
use super::requests::{Payload, Request, ServedBy, Stage, atomic};
use super::statistics::MemoryCounts;
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

/// The memories behind second levels, with what lines hold in a run with data.
pub(super) struct Memories {
    channels: Channels,
    image: Option<Image>,
}

impl Memories {
    /// Makes memories without data.
    pub(super) fn new(channels: Channels) -> Self {
        Self { channels, image: None }
    }

    /// Takes what lines hold at the start.
    pub(super) fn fill(&mut self, image: Image) {
        self.image = Some(image);
    }

    /// Whether the run has data.
    #[inline]
    pub(super) fn has_data(&self) -> bool {
        self.image.is_some()
    }

    /// A copy by the host reads a line of a channel, or writes it.
    pub(super) fn copy(&mut self, channel: u32, is_in: bool) {
        let counts = self.channels.count(channel);
        let count = if is_in { &mut counts.copied_in } else { &mut counts.copied_out };
        *count += 1;
    }

    /// Writes the bytes of a mask that a probe has brought.
    pub(super) fn write(&mut self, channel: u32, line: u64, mask: u64, bytes: Option<&[u8; 64]>) {
        self.channels.count(channel).writes += 1;
        if let (Some(image), Some(bytes)) = (&mut self.image, bytes) {
            copy_masked(image.line(line), bytes, mask);
        }
    }

    /// Serves what is asked of a line, numbered within its channel, at a time: when that is done.
    #[inline]
    fn serve(&mut self, now: u64, channel: u32, line: u64, ask: Ask) -> u64 {
        let counts = self.channels.count(channel);
        match ask {
            Ask::Read | Ask::Renew | Ask::Own => counts.reads += 1,
            Ask::Write => counts.writes += 1,
            Ask::Atomic => {
                counts.reads += 1;
                counts.writes += 1;
            }
        }
        self.channels.serve(now, channel, line, ask == Ask::Write)
    }

    /// Reads, writes or changes a line's bytes, in a run with data.
    #[inline]
    fn change<S>(&mut self, ask: Ask, request: &Request<S>, payload: Option<&mut Payload>) {
        let (Some(image), Some(payload)) = (&mut self.image, payload) else { return };
        let line = image.line(request.line);
        payload.answer.copy_from_slice(line);
        if ask == Ask::Atomic {
            payload.write = atomic(&payload.answer, &payload.write, request);
        }
        if matches!(ask, Ask::Atomic | Ask::Write) {
            copy_masked(line, &payload.write, request.mask);
        }
        if ask == Ask::Write {
            payload.answer.copy_from_slice(line);
        }
    }

    /// Gives what each channel has served.
    pub(super) fn counts(&self) -> &[MemoryCounts] {
        self.channels.counts()
    }

    /// Gives what lines hold in the end.
    pub(super) fn into_image(self) -> Option<Image> {
        self.image
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Bytes of a message that asks.
    pub(super) fn request_bytes(&self, ask: Ask) -> u32 {
        let (sizes, added) = (&self.hierarchy.messages, self.protocol.overhead());
        match ask {
            Ask::Read | Ask::Renew | Ask::Own => sizes.request + added.read_request,
            Ask::Write | Ask::Atomic => sizes.write + added.write_request,
        }
    }

    /// Bytes of the message that answers.
    pub(super) fn response_bytes(&self, ask: Ask, access: Access) -> u32 {
        let (sizes, added) = (&self.hierarchy.messages, self.protocol.overhead());
        match (ask, access) {
            (Ask::Write, _) if added.write_response_has_data => {
                sizes.response + added.write_response
            }
            (Ask::Write, _) => sizes.acknowledgement + added.write_response,
            _ => sizes.response + added.read_response,
        }
    }

    /// Sends a request from its bank of the second level to the line's home, or to the memory
    /// beside that bank.
    pub(super) fn send_below(
        &mut self,
        index: u32,
        at: u64,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let bytes = self.request_bytes(self.requests.get(index).ask);
        let Request { bank, physical, .. } = *self.requests.get(index);
        let is_here = self.path == CachePath::LineL2
            || self.is_home(bank, physical)
            || self.is_beside(physical);
        let path = self.links.path(bank, physical, true);
        let request = self.requests.get_mut(index);
        request.goes_to(ServedBy::Memory);
        let event = if is_here {
            request.stage = Stage::Memory;
            Event::Arrive(index)
        } else {
            if self.pages != Pages::Shared {
                self.links.count_remote();
                request.goes_to(ServedBy::Remote);
            }
            request.stage = Stage::Home;
            (request.path, request.crossed, request.bytes) = (path, 0, bytes);
            Event::Cross(index)
        };
        scheduler.schedule(Picoseconds(at), event);
    }

    /// Whether a line lies beside its GPU although the host has all that kernels work on: code.
    fn is_beside(&self, physical: u64) -> bool {
        self.pages == Pages::Pinned && AddressMap::memory(physical) != 0
    }

    /// The channel that serves a line, and the home of it where one is.
    pub(super) fn channel(&self, physical: u64) -> u32 {
        let memory = if self.path == CachePath::OwnL2 { 0 } else { AddressMap::memory(physical) };
        memory * self.counts.banks + self.map.bank(physical)
    }

    /// A request is at its channel of memory: its turn among all accesses to the line.
    pub(super) fn at_memory(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        let channel = self.channel(request.physical);
        let ask = if request.is_fetch { Ask::Read } else { request.ask };
        if P::CONFIRMS && request.load == NONE && !self.takes_write_back(&request) {
            self.write_back_done(index, scheduler);
            return;
        }
        self.memory.change(ask, &request, self.requests.payload_mut(index));
        let line = self.map.within_bank(request.physical);
        let served = self.memory.serve(scheduler.now().0, channel, line, ask);
        let stamped = self.stamp_at_memory(index, scheduler.now().0);
        scheduler.schedule(Picoseconds(served.max(stamped)), Event::Served(index));
    }

    /// A request that the access before it serves takes its turn, without one to DRAM.
    pub(super) fn served_with(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        self.memory.change(request.ask, &request, self.requests.payload_mut(index));
        let stamped = self.stamp_at_memory(index, scheduler.now().0);
        scheduler.schedule(Picoseconds(stamped), Event::Served(index));
    }

    /// Stamps a request at a controller of shared memory that leases lines, and gives when.
    #[inline]
    fn stamp_at_memory(&mut self, index: u32, now: u64) -> u64 {
        let request = *self.requests.get(index);
        if request.load == NONE || self.path != CachePath::OwnL2 || P::CONFIRMS {
            return now;
        }
        let of = (self.channel(request.physical), self.map.within_bank(request.physical));
        let stamp = self.homes.stamp(&self.protocol, of, &request);
        self.requests.get_mut(index).stamp = stamp;
        if self.protocol.heeds().is_empty() {
            return now;
        }
        now + u64::from(self.hierarchy.tsu.latency) * self.counts.cycle
    }

    /// Memory has served a request: the answer goes back, if anybody waits for it.
    pub(super) fn served(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = *self.requests.get(index);
        if request.load == NONE {
            self.write_back_done(index, scheduler);
            self.line_served(&request, scheduler);
            return;
        }
        let now = scheduler.now();
        match self.path {
            CachePath::OwnL2 if !self.is_beside(request.physical) => {
                self.line_served(&request, scheduler);
                self.answer_from_home(index, now.0, scheduler);
                if P::CONFIRMS {
                    self.release_home(&request, scheduler);
                }
            }
            CachePath::HomeL2 => self.fetched(index, scheduler),
            CachePath::LineL2 | CachePath::OwnL2 => {
                self.requests.get_mut(index).stage = Stage::BackAtSecond;
                scheduler.schedule(now, Event::Arrive(index));
            }
        }
    }

    /// Ends a write-back, which is in memory. A miss that waits for it hears of that.
    fn write_back_done(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        if self.requests.get(index).waiter == NONE {
            self.requests.remove(index);
        } else {
            self.acknowledge_eviction(index, scheduler);
        }
        if self.phases.write_back_came() {
            scheduler.schedule_in(Picoseconds(0), Event::Phase);
        }
    }
}
