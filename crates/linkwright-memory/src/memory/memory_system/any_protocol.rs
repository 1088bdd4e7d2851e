//! A protocol whose states have no names here, so that one list holds all.

use crate::diagnostic::Registered;
use crate::memory::address::Pages;
use crate::memory::consistency::Consistency;
use crate::memory::protocol::{CachePath, CoherenceProtocol, Leases, Overhead, Stored};
use crate::memory::run::Play;
use crate::memory::{GpuRun, GpuRunError, SteppedRun};

/// Any [`CoherenceProtocol`] with a name; whoever implements that has this.
pub trait AnyProtocol: Registered {
    /// Tells which caches an access passes: [`CoherenceProtocol::path`].
    fn path(&self) -> CachePath;

    /// Tells whose memory pages lie in: [`CoherenceProtocol::pages`].
    fn pages(&self) -> Pages;

    /// Whether it keeps copies in agreement within a kernel: [`CoherenceProtocol::is_coherent`].
    fn is_coherent(&self) -> bool;

    /// Lists the settings of leases that it heeds: [`CoherenceProtocol::heeds`].
    fn heeds(&self) -> &'static [&'static str];

    /// Whether [`CoherenceProtocol::in_order`] gives one.
    fn can_be_in_order(&self) -> bool;

    /// Gives the bytes that it adds to messages: [`CoherenceProtocol::overhead`].
    fn overhead(&self) -> Overhead;

    /// Gives [`CoherenceProtocol::stored`] with leases of these lengths.
    fn stored(&self, leases: Leases) -> Option<Stored>;

    /// Plays a run under a consistency that it can keep.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn play(&self, consistency: Consistency, play: Play<'_, '_>) -> Result<GpuRun, GpuRunError>;

    /// Begins a run under a consistency that it can keep, for whoever has the clock and the network.
    ///
    /// # Errors
    /// Buffers that memory does not hold.
    fn begin<'a>(
        &self,
        consistency: Consistency,
        play: Play<'a, '_>,
    ) -> Result<Box<dyn SteppedRun + 'a>, GpuRunError>;
}

/// Gives the protocol of a run, with leases as they are asked for.
fn ordered<P: CoherenceProtocol>(protocol: &P, consistency: Consistency, leases: Leases) -> P {
    let leased = protocol.leased(leases);
    let ordered = match consistency {
        Consistency::Relaxed => None,
        Consistency::Sequential => leased.in_order(),
    };
    ordered.unwrap_or(leased)
}

impl<P: CoherenceProtocol + Registered> AnyProtocol for P {
    fn path(&self) -> CachePath {
        CoherenceProtocol::path(self)
    }

    fn pages(&self) -> Pages {
        CoherenceProtocol::pages(self)
    }

    fn is_coherent(&self) -> bool {
        CoherenceProtocol::is_coherent(self)
    }

    fn heeds(&self) -> &'static [&'static str] {
        CoherenceProtocol::heeds(self)
    }

    fn can_be_in_order(&self) -> bool {
        self.in_order().is_some()
    }

    fn overhead(&self) -> Overhead {
        CoherenceProtocol::overhead(self)
    }

    fn stored(&self, leases: Leases) -> Option<Stored> {
        CoherenceProtocol::stored(&self.leased(leases))
    }

    fn play(&self, consistency: Consistency, play: Play<'_, '_>) -> Result<GpuRun, GpuRunError> {
        let leases = play.leases();
        play.with(ordered(self, consistency, leases))
    }

    fn begin<'a>(
        &self,
        consistency: Consistency,
        play: Play<'a, '_>,
    ) -> Result<Box<dyn SteppedRun + 'a>, GpuRunError> {
        let leases = play.leases();
        play.begin(ordered(self, consistency, leases))
    }
}
