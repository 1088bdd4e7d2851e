//! Plays G-TSC on one GPU (Tabbakh et al., HPCA 2018; section 4.1 of the MGPU-TSM dissertation).
//!
//! Accesses meet in the L2. It keeps of each line when it was written and until when it may be
//! read. [MGCC, mended](super::Mgcc) is the same with a level of caches between. A CU's `warpts` is
//! kept by its L1. An expired copy is renewed: where the line is as it was, the answer has a lease
//! and no data. A line that the L2 evicts leaves a floor. Timestamps that overflow start an epoch,
//! where G-TSC resets all of them. Copies serve a certain number of reads, so that a spinning
//! wavefront sees a write in the end.

use super::message::{
    Access, Answered, Ask, CachePath, Copied, Flush, Level, Lookup, Overhead, Span, Stored,
};
use super::mgcc::{Mgcc, MgccCache, MgccController, MgccLine, MgccStamp};
use super::storage::Entry;
use super::{CoherenceProtocol, Leases, Probes, ProtocolError};
use crate::diagnostic::Registered;

/// Holds the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GTsc {
    time: Mgcc,
}

impl Default for GTsc {
    /// A lease of 10 for reads and writes, 16 bits, 64 reads of a copy.
    fn default() -> Self {
        Self::ON_ALL_GPUS
    }
}

impl GTsc {
    /// Takes the published lease of reads for writes, too, and copies that serve as many reads as
    /// MGCC's.
    pub const ON_ALL_GPUS: Self = {
        let leases = Leases { write: Leases::PUBLISHED.read, ..Leases::PUBLISHED };
        Self { time: Mgcc { leases, ..Mgcc::MENDED } }
    };

    /// Makes G-TSC with one lease for reads and writes, timestamps of `bits` bits, and copies that
    /// serve `reads` reads.
    ///
    /// # Errors
    /// When the lease is 0 or too long for the bits, or the bits are not from 2 to 16.
    pub fn new(lease: u16, bits: u8, reads: u8) -> Result<Self, ProtocolError> {
        let leases = Leases::new(lease.into(), lease.into(), bits.into())?;
        Ok(Self { time: Mgcc { leases, l1_reads: reads, l2_reads: reads } })
    }
}

impl Registered for GTsc {
    fn name(&self) -> &'static str {
        "g-tsc"
    }
}

impl CoherenceProtocol for GTsc {
    type Stamp = MgccStamp;
    type Line = MgccLine;
    type Cache = MgccCache;
    type Home = Entry;
    type Controller = MgccController;

    fn path(&self) -> CachePath {
        CachePath::HomeL2
    }

    /// Its writes have the lease of reads.
    fn heeds(&self) -> &'static [&'static str] {
        &["read_lease", "timestamp_bits"]
    }

    fn leased(self, leases: Leases) -> Self {
        Self { time: self.time.leased(Leases { write: leases.read, ..leases }) }
    }

    fn in_order(self) -> Option<Self> {
        Some(self)
    }

    fn small(self) -> Self {
        let leases = Leases { read: 2, write: 2, bits: 3 };
        Self { time: Mgcc { leases, l1_reads: 2, l2_reads: 2 } }
    }

    /// As MGCC's; a read also says which copy it would renew.
    fn overhead(&self) -> Overhead {
        Overhead { read_request: 5, ..self.time.overhead() }
    }

    fn stored(&self) -> Option<Stored> {
        self.time.stored()
    }

    #[inline]
    fn on_access(
        &self,
        level: Level,
        cache: &mut MgccCache,
        mut line: Option<&mut MgccLine>,
        access: Access,
        stamp: MgccStamp,
    ) -> Lookup<MgccLine, MgccStamp> {
        let looked = self.time.on_access(level, cache, line.as_deref_mut(), access, stamp);
        match (looked, line) {
            (Lookup::Forward(mut forward), Some(line))
                if access == Access::Read && line.is_of(forward.stamp) =>
            {
                forward.ask = Ask::Renew;
                forward.stamp = forward.stamp.renewing(line);
                forward.hold = true;
                Lookup::Forward(forward)
            }
            _ => looked,
        }
    }

    #[inline]
    fn on_response(
        &self,
        level: Level,
        cache: &mut MgccCache,
        line: Option<&MgccLine>,
        access: Access,
        response: MgccStamp,
    ) -> Answered<MgccLine, MgccStamp> {
        let mut outcome = self.time.on_response(level, cache, line, access, response);
        if access == Access::Read
            && line.is_some_and(|line| line.is_as_written(response))
            && let Copied::Install(renewed) = outcome.copy
        {
            outcome.copy = Copied::Merge(renewed);
        }
        outcome
    }

    #[inline]
    fn on_request(
        &self,
        controller: &mut MgccController,
        home: &mut Entry,
        from: Option<u8>,
        ask: Ask,
        stamp: MgccStamp,
    ) -> MgccStamp {
        self.time.on_request(controller, home, from, ask, stamp)
    }

    #[inline]
    fn has_data(&self, ask: Ask, request: MgccStamp, response: MgccStamp) -> bool {
        match ask {
            Ask::Renew => !request.renewed_by(response),
            Ask::Read | Ask::Own | Ask::Atomic => true,
            Ask::Write => false,
        }
    }

    #[inline]
    fn remember(&self, controller: &MgccController) -> Entry {
        self.time.remember(controller)
    }

    #[inline]
    fn forget(&self, controller: &mut MgccController, home: &Entry) -> Probes {
        self.time.forget(controller, home)
    }

    #[inline]
    fn rank(&self, home: &Entry) -> u64 {
        self.time.rank(home)
    }

    #[inline]
    fn on_meeting(&self, cache: &mut MgccCache, other: &MgccCache) {
        self.time.on_meeting(cache, other);
    }

    fn on_boundary(&self, level: Level) -> Flush {
        self.time.on_boundary(level)
    }

    fn span(&self, line: &MgccLine) -> Span {
        self.time.span(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_line_is_renewed_without_data() -> Result<(), ProtocolError> {
        let protocol = GTsc::new(4, 16, 1)?;
        let (mut controller, mut home) = (MgccController::default(), Entry::default());
        let mut cache = MgccCache::default();
        let mut line: Option<MgccLine> = None;
        let mut asked = Vec::new();
        for turn in 0..6 {
            let default = MgccStamp::default();
            let looked =
                protocol.on_access(Level::L1, &mut cache, line.as_mut(), Access::Read, default);
            let Lookup::Forward(forward) = looked else { continue };
            if turn == 4 {
                protocol.on_request(&mut controller, &mut home, None, Ask::Write, default);
            }
            let response =
                protocol.on_request(&mut controller, &mut home, None, forward.ask, forward.stamp);
            asked.push((forward.ask, protocol.has_data(forward.ask, forward.stamp, response)));
            let outcome =
                protocol.on_response(Level::L1, &mut cache, line.as_ref(), Access::Read, response);
            if let Copied::Install(it) | Copied::Merge(it) = outcome.copy {
                line = Some(it);
            }
        }
        assert_eq!(asked, [(Ask::Read, true), (Ask::Renew, false), (Ask::Renew, true)]);
        Ok(())
    }
}
