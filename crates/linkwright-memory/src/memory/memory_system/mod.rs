//! A memory system is a coherence protocol, pages and a consistency, by one name.
//!
//! A [`CoherenceProtocol`] with a name is a memory system by itself: on the pages that it says,
//! under relaxed consistency. Another [`MemorySystem`] plays a protocol in another way.

mod any_protocol;
mod in_order;

use std::fmt;

pub use any_protocol::AnyProtocol;
pub use in_order::InOrder;

use super::GpuRunError;
use super::address::Pages;
use super::consistency::Consistency;
use super::protocol::{
    CachePath, CoherenceProtocol, GTsc, Hmg, HostPages, Mesi, Mgcc, MgccPrinted, NonCoherent,
};
use crate::diagnostic::{Registered, Registry, UnknownName};

/// Says how GPUs share memory in a run, and is chosen by name.
pub trait MemorySystem: Registered {
    /// Gives what keeps copies of a line in agreement.
    fn protocol(&self) -> &dyn AnyProtocol;

    /// Tells whose memory pages lie in.
    fn pages(&self) -> Pages {
        self.protocol().pages()
    }

    /// Tells in what order others see what a wavefront does.
    fn consistency(&self) -> Consistency {
        Consistency::Relaxed
    }
}

impl<P: CoherenceProtocol + Registered> MemorySystem for P {
    fn protocol(&self) -> &dyn AnyProtocol {
        self
    }
}

impl dyn MemorySystem {
    /// Whether what one wavefront wrote is what another reads, once a fence and a flag or an
    /// atomic have told it, within a kernel.
    #[must_use]
    pub fn is_coherent(&self) -> bool {
        self.protocol().is_coherent()
    }

    /// Whether it is sequentially consistent: programs need no fences.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.consistency() == Consistency::Sequential
    }

    /// Lists the settings that change something under it, of those that only some memory systems
    /// heed.
    #[must_use]
    pub fn heeds(&self) -> Vec<&'static str> {
        let shared = (self.pages() == Pages::Shared).then_some("shared_bandwidth");
        shared.into_iter().chain(self.protocol().heeds().iter().copied()).collect()
    }

    /// Checks that its pages lie where its protocol's way to a line's home leads, and that its
    /// protocol can do what its consistency asks.
    ///
    /// # Errors
    /// Which of both is not so.
    pub(super) fn check(&self) -> Result<(), GpuRunError> {
        let (memory, protocol) = (self.name(), self.protocol());
        let leads = match protocol.path() {
            CachePath::OwnL2 => matches!(self.pages(), Pages::Shared | Pages::Pinned),
            CachePath::LineL2 => matches!(self.pages(), Pages::Own | Pages::Migrating),
            CachePath::HomeL2 => self.pages() == Pages::Own,
        };
        if !leads {
            return Err(GpuRunError::Pages { memory, protocol: protocol.name() });
        }
        if self.is_sequential() && !protocol.can_be_in_order() {
            return Err(GpuRunError::Order { memory, protocol: protocol.name() });
        }
        Ok(())
    }
}

impl fmt::Debug for dyn MemorySystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl PartialEq for dyn MemorySystem {
    /// Names tell memory systems apart.
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

/// Does something with each memory system, whose protocol a generic function can take: a contract
/// suite, or a registry.
pub trait VisitMemorySystems {
    /// Visits a protocol, which is a memory system by itself.
    fn protocol<P: CoherenceProtocol + Registered>(&mut self, protocol: &'static P);

    /// Visits a memory system that plays another's protocol in its own way.
    fn system(&mut self, system: &'static dyn MemorySystem);
}

/// Visits Linkwright's own memory systems, in the order in which they are told.
pub fn visit_memory_systems(visitor: &mut impl VisitMemorySystems) {
    visitor.protocol(&NonCoherent::RDMA);
    visitor.protocol(&NonCoherent::TSM_WRITE_BACK);
    visitor.protocol(&NonCoherent::TSM_WRITE_THROUGH);
    visitor.protocol(&Mgcc::MENDED);
    visitor.system(&InOrder { name: "tsm-wt-c-sc", protocol: &Mgcc::MENDED });
    visitor.protocol(&MgccPrinted::PRINTED);
    visitor.system(&InOrder { name: "tsm-wt-c-sc-printed", protocol: &MgccPrinted::PRINTED });
    visitor.protocol(&Hmg::WITH_FENCES);
    visitor.protocol(&Mesi::WITH_FENCES);
    visitor.protocol(&GTsc::ON_ALL_GPUS);
    visitor.protocol(&HostPages::PINNED);
    visitor.protocol(&HostPages::MIGRATING);
}

impl VisitMemorySystems for Registry<dyn MemorySystem> {
    fn protocol<P: CoherenceProtocol + Registered>(&mut self, protocol: &'static P) {
        self.add(protocol);
    }

    fn system(&mut self, system: &'static dyn MemorySystem) {
        self.add(system);
    }
}

/// Gives Linkwright's own memory systems by name.
#[must_use]
pub fn memory_systems() -> Registry<dyn MemorySystem> {
    let mut all = Registry::new("memory system", &[]);
    visit_memory_systems(&mut all);
    all
}

/// Finds Linkwright's own memory system of a name.
///
/// # Errors
/// A name that none has.
pub fn memory_system(name: &str) -> Result<&'static dyn MemorySystem, UnknownName> {
    memory_systems().get(name)
}
