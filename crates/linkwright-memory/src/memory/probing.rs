//! Sends probes: the requests of homes to caches that hold a line, and their answers.
//!
//! Answers of a home and its later probes go the same way in the order in which they leave. So no
//! probe overtakes an answer, and the asking cache need not confirm it.

use super::protocol::{CachePath, CoherenceProtocol, Probe, Probes};
use super::requests::{Request, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// A home asks second levels before it serves a request.
    pub(super) fn probe(
        &mut self,
        index: u32,
        probes: Probes,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let request = self.requests.get_mut(index);
        request.probes = probes.gpus.count_ones() as u8;
        let Request { line, physical, .. } = *request;
        let now = scheduler.now().0;
        // Not before answers that have begun to leave.
        let at = if self.path == CachePath::OwnL2 { now } else { now + self.second.latency() };
        let bytes = self.hierarchy.messages.request;
        for gpu in (0..self.counts.gpus).filter(|gpu| probes.gpus >> gpu & 1 == 1) {
            let bank = gpu * self.counts.banks + self.map.bank(physical);
            let path = self.links.path(bank, physical, false);
            let stage = Stage::Probe(probes.probe);
            let request = Request::new(line, physical, now, gpu);
            let probe = Request { load: index, bank, stage, path, bytes, ..request };
            let probe = self.requests.add(probe);
            scheduler.schedule(Picoseconds(at), Event::Cross(probe));
        }
    }

    /// A second level is asked for a copy: it gives up what the home wants, and says so.
    pub(super) fn probed(
        &mut self,
        index: u32,
        probe: Probe,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let Request { bank, physical, line, .. } = *self.requests.get(index);
        let of = (bank, self.map.within_bank(physical), line);
        let payload = self.requests.payload_mut(index);
        let dirty = self.second.probe(&self.protocol, of, probe, payload);
        let sizes = &self.hierarchy.messages;
        let bytes = if dirty == 0 { sizes.acknowledgement } else { sizes.write };
        let path = self.links.path(bank, physical, true);
        let request = self.requests.get_mut(index);
        (request.mask, request.stage) = (dirty, Stage::Probed);
        (request.path, request.crossed, request.bytes) = (path, 0, bytes);
        let at = scheduler.now().0 + self.second.directory();
        scheduler.schedule(Picoseconds(at), Event::Cross(index));
    }

    /// The answer to a probe is at its home, which goes on after the last.
    pub(super) fn probe_done(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Request { load: asking, line, physical, mask, .. } = *self.requests.get(index);
        if mask != 0 {
            let channel = self.channel(physical);
            self.memory.write(channel, line, mask, self.requests.written(index));
        }
        self.requests.remove(index);
        let request = self.requests.get_mut(asking);
        request.probes -= 1;
        if request.probes > 0 {
            return;
        }
        let request = *request;
        if self.serves_at_once(asking, scheduler) {
            self.release_home(&request, scheduler);
        } else {
            self.ask_memory(asking, scheduler);
        }
    }
}
