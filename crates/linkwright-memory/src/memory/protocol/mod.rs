//! Keeps the copies of a line in agreement: there is one [`CoherenceProtocol`] for each memory
//! system.
//!
//! A protocol is pure functions from a line's state and a message to a new state and what to do.
//! Time, queues, data and the registers of misses (MSHRs) stay outside, so that a model checker
//! runs the code that the simulator runs. Everything is copied, small, and statically dispatched.
//!
//! # The machine around it
//!
//! Each compute unit (CU) has an L1. Its misses go down a [`CachePath`] of caches to the line's
//! [home](Protocol::Home), where all accesses to the line meet. Whoever plays a protocol does this:
//!
//! - **An access** looks the line up by [`CoherenceProtocol::on_access`], from the L1 downwards. It
//!   goes on until a cache says [`Lookup::Hit`] or the home answers by
//!   [`CoherenceProtocol::on_request`]. Each cache that had said [`Lookup::Forward`] hears of the
//!   answer on its way back by [`CoherenceProtocol::on_response`]. The access that asked takes its
//!   data from the answer, even where the cache keeps no copy. Accesses that waited for the same
//!   line look it up again.
//! - **A line that is held** ([`Forward::hold`]) is looked up by nobody else in that cache until
//!   the answer is there. It is not evicted either. An access that holds waits for those that are
//!   on their way. A read that finds another read on its way waits for it. Probes never wait. Where
//!   messages of one cache about one line keep their order, a write need not wait for writes.
//! - **A home serves one request a line at a time** where [`CoherenceProtocol::CONFIRMS`]. It does
//!   so from before its probes until the asking cache has the answer and says so. So no probe meets
//!   an answer on its way, and lines need no transient states. A miss is in its MSHR, a transaction
//!   at its home. Elsewhere requests are served at once, in the order in which they come, and
//!   messages may overtake each other.
//! - **A fence that drops an L1's copies** drops those that are on their way there, too: their
//!   answers serve who asked, and are not kept. Else another wavefront of the CU brings an old copy
//!   in behind the fence (the checker found that).
//! - **Probes** ([`Probes`]) are sent before a request is served; the home waits for all answers,
//!   and takes the data of a dirty copy. A dirty line that is evicted can be probed until the home
//!   has its data ([`CoherenceProtocol::on_write_back`]).
//! - **What a home remembers** of a line may be dropped ([`CoherenceProtocol::forget`]), once its probes are
//!   answered. The home's data, and those below a home that is an L2, are no protocol's matter.

mod g_tsc;
mod hmg;
mod host_pages;
mod mesi;
mod message;
mod mgcc;
mod mgcc_printed;
mod non_coherent;
mod storage;
mod time;

use std::fmt::Debug;
use std::hash::Hash;

use super::address::Pages;

pub use g_tsc::GTsc;
pub use hmg::{Hmg, HmgHome, ValidLine};
pub use host_pages::HostPages;
pub use mesi::{Mesi, MesiHome, MesiState};
pub use message::{
    Access, Answered, Ask, CachePath, Copied, Eviction, Flush, Forward, Level, Lookup, Meanwhile,
    Overhead, Probe, Probes, Span, Stored,
};
#[cfg(test)]
pub use mgcc::faulty;
pub use mgcc::{Mgcc, MgccCache, MgccController, MgccLine, MgccStamp};
pub use mgcc_printed::{MgccPrinted, PrintedCache, PrintedHome, PrintedLine, PrintedStamp};
pub use non_coherent::{NonCoherent, PlainLine};
pub use storage::{Entry, TimestampStorageUnit};
pub use time::{Leases, ProtocolError};

/// Stands for a value that can be kept in flat arrays, compared, and told apart by a model checker.
pub trait Flat: Copy + Default + Eq + Hash + Debug + Send + Sync + 'static {}

impl<T: Copy + Default + Eq + Hash + Debug + Send + Sync + 'static> Flat for T {}

/// Stands for a coherence protocol, or the lack of one.
///
/// The state of a line and the stamp of a message take at most 8 bytes. GPUs are numbered from 0,
/// below 32.
pub trait CoherenceProtocol: Copy + Eq + Hash + Debug + Send + Sync + 'static {
    /// Holds the part of a message that is neither address nor data.
    type Stamp: Flat;
    /// Holds a cache's state of a line that it has.
    type Line: Flat;
    /// Holds the state that each cache keeps for all of its lines.
    type Cache: Flat;
    /// Holds a home's memory of a line.
    type Home: Flat;
    /// Holds the state that each controller, the home of many lines, keeps for all of them.
    type Controller: Flat;

    /// Says whether the asking cache confirms each answer, and the home waits for it.
    const CONFIRMS: bool = false;

    /// Which caches an access passes on its way to the home.
    fn path(&self) -> CachePath;

    /// Tells whose memory pages lie in where the protocol is a memory system by itself.
    fn pages(&self) -> Pages {
        match self.path() {
            CachePath::OwnL2 => Pages::Shared,
            CachePath::LineL2 | CachePath::HomeL2 => Pages::Own,
        }
    }

    /// Whether what one wavefront wrote is what another reads, once a fence and a flag or an
    /// atomic have told it, within a kernel.
    fn is_coherent(&self) -> bool {
        true
    }

    /// Lists which of `read_lease`, `write_lease` and `timestamp_bits` change something under it.
    fn heeds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Takes leases of these lengths, where the protocol leases lines.
    #[must_use]
    fn leased(self, leases: Leases) -> Self {
        let _ = leases;
        self
    }

    /// Gives the same protocol for wavefronts whose accesses are in order without fences; none
    /// where copies stay that only a fence drops.
    fn in_order(self) -> Option<Self> {
        None
    }

    /// Gives the same protocol with the lowest bounds on what it counts, for whoever plays it in
    /// every order of its messages.
    #[must_use]
    fn small(self) -> Self {
        self
    }

    /// How many bytes the protocol adds to messages.
    fn overhead(&self) -> Overhead;

    /// How many bits the protocol keeps; none where what it keeps grows with what is shared, as in
    /// a directory.
    #[inline]
    fn stored(&self) -> Option<Stored> {
        None
    }

    /// An access of a CU, or of a cache above, looks up a line. The L1 gets the default stamp.
    fn on_access(
        &self,
        level: Level,
        cache: &mut Self::Cache,
        line: Option<&mut Self::Line>,
        access: Access,
        stamp: Self::Stamp,
    ) -> Lookup<Self::Line, Self::Stamp>;

    /// The answer to what a cache had asked; `line` is the copy that it holds by now, if any.
    fn on_response(
        &self,
        level: Level,
        cache: &mut Self::Cache,
        line: Option<&Self::Line>,
        access: Access,
        response: Self::Stamp,
    ) -> Answered<Self::Line, Self::Stamp>;

    /// Returns the probes that must be done before the home serves a request. `from` is the GPU
    /// whose L2 asks. It is none where an L1 asks that stands directly above a home that is an L2.
    #[inline]
    fn before_request(&self, home: &Self::Home, from: Option<u8>, ask: Ask) -> Probes {
        let _ = (home, from, ask);
        Probes::default()
    }

    /// The home serves a request: reads, writes or changes the line's data, and answers.
    fn on_request(
        &self,
        controller: &mut Self::Controller,
        home: &mut Self::Home,
        from: Option<u8>,
        ask: Ask,
        stamp: Self::Stamp,
    ) -> Self::Stamp;

    /// Whether an answer carries the line's data; in that to a write, see [`CoherenceProtocol::overhead`].
    #[inline]
    fn has_data(&self, ask: Ask, request: Self::Stamp, response: Self::Stamp) -> bool {
        let _ = (request, response);
        ask != Ask::Write
    }

    /// The home asks a cache to give up a copy, or to share it. Whether its data are newer than
    /// the home's is what [`CoherenceProtocol::on_evict`] says of the line before.
    #[inline]
    fn on_probe(&self, line: Self::Line, probe: Probe) -> Option<Self::Line> {
        let _ = (line, probe);
        None
    }

    /// Says whether a line's data is written back when a cache drops its copy.
    #[inline]
    fn on_evict(&self, line: &Self::Line) -> Eviction {
        let _ = line;
        Eviction::Nothing
    }

    /// The data of a dirty copy come back to the home. Whether the home takes them: not where a
    /// probe took them on the way.
    #[inline]
    fn on_write_back(&self, home: &mut Self::Home, from: u8) -> bool {
        let _ = (home, from);
        true
    }

    /// Returns a home's state of a line that it remembers nothing about.
    #[inline]
    fn remember(&self, controller: &Self::Controller) -> Self::Home {
        let _ = controller;
        Self::Home::default()
    }

    /// Returns the probes that must be done before a home forgets a line, and updates the
    /// controller's state of it.
    #[inline]
    fn forget(&self, controller: &mut Self::Controller, home: &Self::Home) -> Probes {
        let _ = (controller, home);
        Probes::default()
    }

    /// Whether a copy may still be read by whoever asked a cache last.
    #[inline]
    fn is_leased(&self, cache: &Self::Cache, line: &Self::Line, asked: Self::Stamp) -> bool {
        let _ = (cache, line, asked);
        false
    }

    /// Gives the logical time of a request, by which a controller orders those of a line.
    #[inline]
    fn asked_at(&self, stamp: Self::Stamp) -> u64 {
        let _ = stamp;
        0
    }

    /// Which line a full home forgets: the one of the lowest rank.
    #[inline]
    fn rank(&self, home: &Self::Home) -> u64 {
        let _ = home;
        0
    }

    /// Returns the effect of a wavefront's fence on the caches, once its accesses are done.
    #[inline]
    fn on_fence(&self, level: Level) -> Flush {
        let _ = level;
        Flush::Nothing
    }

    /// Tells an L1 of another where all wavefronts of a launch meet outside memory: at its end, and
    /// at its barriers.
    #[inline]
    fn on_meeting(&self, cache: &mut Self::Cache, other: &Self::Cache) {
        let _ = (cache, other);
    }

    /// Returns the effect of the boundary of two kernels on the caches.
    fn on_boundary(&self, level: Level) -> Flush;

    /// When a copy may be read or written, for invariants.
    fn span(&self, line: &Self::Line) -> Span;
}
