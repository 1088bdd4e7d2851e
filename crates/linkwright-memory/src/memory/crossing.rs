//! Requests between caches, memory and the host: over links, and to where they go.

use super::address::{AddressMap, Pages};
use super::protocol::CoherenceProtocol;
use super::requests::{Request, Stage};
use super::run::GpuOptions;
use super::system::{Event, Gpus};
use super::wiring::{self, shared_path};
use crate::engine::Scheduler;
use crate::network::MemoryClass;
use crate::network::wires::{WirePath, Wires, pair_path};
use crate::system::gpus::Hierarchy;
use crate::units::Picoseconds;

/// Holds the links that a memory system goes over. Shared memory has those to and from its
/// controllers, and needs no others; the rest have a machine's, or PCIe, between GPUs and the host.
#[derive(Debug)]
pub(super) struct Links {
    links: Wires,
    pages: Pages,
    gpus: u32,
    banks: u32,
    /// Accesses to lines of other GPUs' memory.
    remote: u64,
    /// Holds what left since somebody asked, where another network carries it.
    left: Option<Vec<Leaving>>,
}

/// A message that leaves a GPU, or the host, for a network that is not the run's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaving {
    /// Says where it starts: a GPU of the run, or the host behind the last of them.
    pub from: u32,
    /// Says where it ends, likewise.
    pub to: u32,
    /// Tells it apart from others.
    pub class: MemoryClass,
    /// Counts its bytes, its own header with them.
    pub bytes: u32,
    /// Names it to the run ([`SteppedRun::arrive`](super::SteppedRun::arrive)).
    pub what: u32,
}

impl Stage {
    /// Gives the class of a message that goes there over links.
    const fn class(self) -> MemoryClass {
        match self {
            Self::Second | Self::Home | Self::Memory => MemoryClass::Request,
            Self::Probe(_) => MemoryClass::Probe,
            Self::Probed | Self::BackAtSecond | Self::Evicted | Self::BackAtFirst => {
                MemoryClass::Answer
            }
            Self::Page | Self::Copied => MemoryClass::Page,
        }
    }
}

impl Links {
    /// Links that have carried nothing.
    pub(super) fn new(hierarchy: &Hierarchy, options: &GpuOptions) -> Self {
        let (gpus, pages) = (options.gpus, options.memory.pages());
        let own = || match pages {
            Pages::Shared => wiring::shared(hierarchy, gpus, options.shared_bandwidth),
            Pages::Own | Pages::Pinned | Pages::Migrating => wiring::pcie(hierarchy, gpus),
        };
        let links = options.between.cloned().unwrap_or_else(own);
        Self { links, pages, gpus, banks: hierarchy.second.banks, remote: 0, left: None }
    }

    /// The same where another network carries the messages.
    pub(super) fn carried_by_others(self) -> Self {
        Self { links: Wires::new(), left: Some(Vec::new()), ..self }
    }

    /// Moves what has left for another network behind a list.
    pub(super) fn leave(&mut self, into: &mut Vec<Leaving>) {
        into.append(self.left.get_or_insert_default());
    }

    /// Lets a request leave for another network, where there is one; whether it did.
    #[inline]
    fn leaves<S>(&mut self, index: u32, request: &mut Request<S>) -> bool {
        let Some(left) = &mut self.left else { return false };
        let (from, to) = (request.path / (self.gpus + 1), request.path % (self.gpus + 1));
        request.crossed += 1;
        let class = request.stage.class();
        left.push(Leaving { from, to, class, bytes: request.bytes, what: index });
        true
    }

    /// Gives the path from a bank of the second level to a line's home, or back.
    #[inline]
    pub(super) fn path(&self, bank: u32, physical: u64, to_home: bool) -> u32 {
        let (gpus, gpu) = (self.gpus, bank / self.banks);
        let home = match self.pages {
            Pages::Shared => return shared_path(gpus * self.banks, bank, to_home),
            Pages::Pinned => gpus,
            Pages::Own | Pages::Migrating => AddressMap::memory(physical),
        };
        if to_home { self.between(gpu, home) } else { self.between(home, gpu) }
    }

    /// Gives the path from a GPU, or the host behind the last of them, to another.
    #[inline]
    pub(super) fn between(&self, from: u32, to: u32) -> WirePath {
        pair_path(self.gpus + 1, from, to)
    }

    /// Puts a request on its next link: when it is through, and whether that was the last.
    #[inline]
    fn cross<S>(&mut self, now: u64, request: &mut Request<S>) -> (u64, bool) {
        let crossed = request.crossed;
        request.crossed += 1;
        self.links.cross(now, request.path, crossed, request.bytes.into())
    }

    /// Counts an access that leaves its GPU for the memory of another, or of the host.
    #[inline]
    pub(super) fn count_remote(&mut self) {
        self.remote += 1;
    }

    /// Gives how many accesses did.
    pub(super) fn remote(&self) -> u64 {
        self.remote
    }

    /// Gives the links that this memory system goes over.
    pub(super) fn used(&self) -> &Wires {
        &self.links
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Sends a request over its next link.
    pub(super) fn cross(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let now = scheduler.now().0;
        let request = self.requests.get_mut(index);
        if self.links.leaves(index, request) {
            return;
        }
        let (at, last) = self.links.cross(now, request);
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
            Stage::Evicted => self.evicted(index, scheduler),
            Stage::BackAtFirst => self.back_at_first(index, scheduler),
            Stage::Page => self.page_came(index, scheduler),
            Stage::Copied => self.copied(index, scheduler),
        }
    }
}
