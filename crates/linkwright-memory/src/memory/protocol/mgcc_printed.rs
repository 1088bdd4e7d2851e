//! MGCC as chapter 4 of the MGPU-TSM dissertation prints it, Algorithms 1 to 5.
//!
//! It is not coherent, and kept to show why. Requests carry no time (section 4.2), so that memory
//! never learns that a writer is ahead. A spinning reader's time does not move. An overflow and an
//! entry that the TSU evicts start again at 0. Where text and algorithms differ, a field says which
//! holds. `Brts = max[wts + 1, rts]` is read with the `Bwts` of the line above it.

use super::CoherenceProtocol;
use super::message::{
    Access, Answered, Ask, CachePath, Copied, Flush, Forward, Level, Lookup, Meanwhile, Overhead,
    Span, Stored,
};
use super::time::Leases;
use crate::diagnostic::Registered;

/// MGCC as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MgccPrinted {
    /// How long copies may be read; the bits of a timestamp.
    pub leases: Leases,
    /// Whether a read moves its cache's time, too: not in Algorithms 1 and 2, but in step 05 of
    /// Figure 4-2.
    pub reads_move_time: bool,
    /// Whether a write comes one after what memory gave, as in Figure 4-2, and not at it, as in
    /// Algorithm 3.
    pub writes_after_leases: bool,
    /// Says whether an L2's time goes with its requests, as sections 4.2.5 and 4.2.7 have it. Then
    /// memory moves on to it.
    pub l2_sends_time: bool,
}

impl MgccPrinted {
    /// Follows Algorithms 1 to 5 to the letter.
    pub const PRINTED: Self = Self {
        leases: Leases::PUBLISHED,
        reads_move_time: false,
        writes_after_leases: false,
        l2_sends_time: false,
    };
}

/// Holds the time of a cache, `cts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PrintedCache {
    cts: u64,
}

/// Holds a block's `wts` and `rts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PrintedLine {
    wts: u32,
    rts: u32,
}

/// Holds the stamp of messages: an answer carries `wts` and `rts`, a request nothing, or the L2's
/// time as `wts`.
pub type PrintedStamp = PrintedLine;

/// Holds the TSU's `memts` of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PrintedHome {
    memts: u32,
}

impl MgccPrinted {
    /// Returns the block that a cache makes of an answer's timestamps.
    #[inline]
    fn block(cts: u64, response: PrintedStamp) -> PrintedLine {
        let wts = (cts as u32).max(response.wts);
        PrintedLine { wts, rts: (wts + 1).max(response.rts) }
    }
}

impl Registered for MgccPrinted {
    fn name(&self) -> &'static str {
        "tsm-wt-c-rc-printed"
    }
}

impl CoherenceProtocol for MgccPrinted {
    type Stamp = PrintedStamp;
    type Line = PrintedLine;
    type Cache = PrintedCache;
    type Home = PrintedHome;
    type Controller = ();

    fn path(&self) -> CachePath {
        CachePath::OwnL2
    }

    fn heeds(&self) -> &'static [&'static str] {
        &["read_lease", "write_lease", "timestamp_bits"]
    }

    fn leased(self, leases: Leases) -> Self {
        Self { leases, ..self }
    }

    fn in_order(self) -> Option<Self> {
        Some(self)
    }

    fn is_coherent(&self) -> bool {
        false
    }

    /// Section 4.2.7: two bytes a request, two timestamps an answer, which has the block.
    fn overhead(&self) -> Overhead {
        Overhead {
            read_request: 2,
            write_request: 2,
            read_response: 4,
            write_response: 4,
            write_response_has_data: true,
        }
    }

    /// Follows section 4.2.7, with two timestamps a line and 64 bits a cache, and section 4.2.6,
    /// with one an entry.
    fn stored(&self) -> Option<Stored> {
        let bits = u32::from(self.leases.bits);
        Some(Stored { line: 2 * bits, l1: u64::BITS, l2: u64::BITS, entry: bits })
    }

    #[inline]
    fn on_access(
        &self,
        level: Level,
        cache: &mut PrintedCache,
        line: Option<&mut PrintedLine>,
        access: Access,
        _stamp: PrintedStamp,
    ) -> Lookup<PrintedLine, PrintedStamp> {
        let valid = line.filter(|line| cache.cts <= u64::from(line.rts));
        let hit = valid.is_some();
        let ask = match access {
            Access::Read => {
                if let Some(line) = valid {
                    return Lookup::Hit(*line);
                }
                Ask::Read
            }
            Access::Write | Access::Overwrite => Ask::Write,
            Access::Atomic => Ask::Atomic,
        };
        let copy = match access {
            Access::Write | Access::Overwrite if hit => Meanwhile::Merges,
            Access::Atomic => Meanwhile::Goes,
            _ => Meanwhile::Stays,
        };
        let sends = self.l2_sends_time && level == Level::L2;
        let wts = if sends { cache.cts as u32 } else { 0 };
        let stamp = PrintedStamp { wts, rts: 0 };
        Lookup::Forward(Forward { ask, stamp, copy, hold: access != Access::Read })
    }

    #[inline]
    fn on_response(
        &self,
        _level: Level,
        cache: &mut PrintedCache,
        _line: Option<&PrintedLine>,
        access: Access,
        response: PrintedStamp,
    ) -> Answered<PrintedLine, PrintedStamp> {
        let block = Self::block(cache.cts, response);
        if access != Access::Read || self.reads_move_time {
            cache.cts = cache.cts.max(u64::from(block.wts));
        }
        let copy = if access == Access::Atomic { Copied::Leave } else { Copied::Install(block) };
        Answered { copy, stamp: block }
    }

    #[inline]
    fn on_request(
        &self,
        _controller: &mut (),
        home: &mut PrintedHome,
        _from: Option<u8>,
        ask: Ask,
        stamp: PrintedStamp,
    ) -> PrintedStamp {
        let write = matches!(ask, Ask::Write | Ask::Atomic);
        let lease = u32::from(if write { self.leases.write } else { self.leases.read });
        let mut start = home.memts.max(stamp.wts);
        if write && self.writes_after_leases {
            start += 1;
        }
        if u64::from(start + lease) > self.leases.last() {
            // Section 4.2.7: the timestamps are initialised anew.
            start = 0;
        }
        home.memts = start + lease;
        PrintedStamp { wts: start, rts: home.memts }
    }

    #[inline]
    fn is_leased(&self, cache: &PrintedCache, line: &PrintedLine, _asked: PrintedStamp) -> bool {
        cache.cts <= u64::from(line.rts)
    }

    /// Requests have a time only where an L2 sends its own.
    #[inline]
    fn asked_at(&self, stamp: PrintedStamp) -> u64 {
        stamp.wts.into()
    }

    #[inline]
    fn rank(&self, home: &PrintedHome) -> u64 {
        u64::from(home.memts)
    }

    fn on_boundary(&self, _level: Level) -> Flush {
        Flush::Nothing
    }

    fn span(&self, line: &PrintedLine) -> Span {
        Span::Logical { from: u64::from(line.wts), to: u64::from(line.rts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests figure 4-2b, steps 01 to 34, with its leases of 10 and 7 given by hand.
    #[test]
    fn the_caches_follow_the_figure() {
        let mgcc = MgccPrinted { writes_after_leases: true, ..MgccPrinted::default() };
        let mut home = PrintedHome::default();
        let none = PrintedStamp::default();
        let read = mgcc.on_request(&mut (), &mut home, Some(0), Ask::Read, none);
        assert_eq!(read, PrintedStamp { wts: 0, rts: 10 });
        let mut l1 = PrintedCache::default();
        let outcome = mgcc.on_response(Level::L1, &mut l1, None, Access::Read, read);
        assert_eq!(outcome.copy, Copied::Install(PrintedLine { wts: 0, rts: 10 }));
        // Step 18: y had been read until 7, and is written with a lease of 5.
        let mut y = PrintedHome { memts: 7 };
        let written = mgcc.on_request(&mut (), &mut y, Some(0), Ask::Write, none);
        assert_eq!(written, PrintedStamp { wts: 8, rts: 13 });
        mgcc.on_response(Level::L1, &mut l1, None, Access::Write, written);
        assert_eq!(l1.cts, 8);
        // Step 28: x is still in its lease.
        let mut x = PrintedLine { wts: 0, rts: 10 };
        let looked = mgcc.on_access(Level::L1, &mut l1, Some(&mut x), Access::Read, none);
        assert_eq!(looked, Lookup::Hit(x));
        // Step 26 and 30: at 11, y's first lease has ended.
        l1.cts = 11;
        let mut old = PrintedLine { wts: 0, rts: 7 };
        let looked = mgcc.on_access(Level::L1, &mut l1, Some(&mut old), Access::Read, none);
        assert!(matches!(looked, Lookup::Forward(Forward { ask: Ask::Read, .. })));
    }

    #[test]
    fn an_overflow_starts_again_at_0() {
        let mgcc = MgccPrinted::default();
        let mut home = PrintedHome { memts: 65_530 };
        let none = PrintedStamp::default();
        let read = mgcc.on_request(&mut (), &mut home, Some(0), Ask::Read, none);
        assert_eq!(read, PrintedStamp { wts: 0, rts: 10 });
    }
}
