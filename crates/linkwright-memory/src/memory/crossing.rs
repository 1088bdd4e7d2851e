//! Requests between caches, memory and the host: over links, and to where they go.

use super::address::{AddressMap, Pages};
use super::fabric::pcie_path;
use super::protocol::CoherenceProtocol;
use super::requests::Stage;
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// The path from a bank of the second level to a line's home, or back.
    pub(super) fn path(&self, bank: u32, physical: u64, to_home: bool) -> u32 {
        let (gpus, gpu) = (self.counts.gpus, bank / self.counts.banks);
        let home = match self.pages {
            Pages::Shared => return bank,
            Pages::Pinned => gpus,
            Pages::Own | Pages::Migrating => AddressMap::memory(physical),
        };
        if to_home { pcie_path(gpus, gpu, home) } else { pcie_path(gpus, home, gpu) }
    }

    /// A request crosses its next link.
    pub(super) fn cross(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get_mut(index);
        let links = match (request.stage, self.pages) {
            (Stage::Home | Stage::Probed, Pages::Shared) => &mut self.shared[0],
            (Stage::BackAtSecond | Stage::Probe(_), Pages::Shared) => &mut self.shared[1],
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
            Stage::Home => self.at_home(index, scheduler),
            Stage::Probe(probe) => self.probed(index, probe, scheduler),
            Stage::Probed => self.probe_done(index, scheduler),
            Stage::Memory => self.at_memory(index, scheduler),
            Stage::BackAtSecond => self.back_at_second(index, scheduler),
            Stage::BackAtFirst => self.back_at_first(index, scheduler),
            Stage::Page => self.page_came(index, scheduler),
            Stage::Copied => self.copied(index, scheduler),
        }
    }
}
