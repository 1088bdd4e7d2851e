//! Plays MGCC, mended: coherence of several GPUs by leases in logical time.
//!
//! Chapter 4 of the MGPU-TSM dissertation describes MGCC; [`MgccPrinted`](super::MgccPrinted) is
//! that, and is not coherent. Decision 0045 says what differs here, and why:
//!
//! - requests carry the logical time of the L1 that asks, through every L2 to memory, and no L2
//!   has a time of its own;
//! - memory remembers of each line when it was written and until when it may be read. A write comes
//!   after both the writer's time and every lease that memory gave;
//! - whoever reads what was written at a time has at least that time from then on;
//! - a copy serves a certain number of reads; then the level below is asked as if it were not
//!   there. So who spins on a copy sees what was written in the end;
//! - memory keeps a forgotten line (an entry that was evicted) as a floor for all lines that it
//!   knows nothing about;
//! - timestamps that overflow start a new epoch, in which no old lease is valid;
//! - the answer to a write says when the line had been written before. A copy of just that data
//!   takes the write in, and any other ends by its lease.

#[cfg(test)]
pub mod faulty;

use super::message::{
    Access, Answered, Ask, CachePath, Copied, Flush, Forward, Level, Lookup, Meanwhile, Overhead,
    Span, Stored,
};
use super::time::Leases;
use super::{CoherenceProtocol, storage::Entry};
use crate::diagnostic::Registered;

/// Holds the mended MGCC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mgcc {
    /// How long copies may be read.
    pub leases: Leases,
    /// How many reads an L1's copy serves before the L2 is asked.
    pub l1_reads: u8,
    /// How many reads an L2's copy serves before memory is asked.
    pub l2_reads: u8,
}

impl Mgcc {
    /// Takes the leases of the dissertation, 64 reads of an L1's copy and 16 of an L2's.
    pub const MENDED: Self = Self { leases: Leases::PUBLISHED, l1_reads: 64, l2_reads: 16 };
}

impl Default for Mgcc {
    fn default() -> Self {
        Self::MENDED
    }
}

/// A copy: written at a time, to be read until another, both of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MgccLine {
    written: u16,
    until: u16,
    /// The epoch in the upper bits; how many reads were served in the lower 8.
    epoch_and_reads: u32,
}

impl MgccLine {
    const fn new(written: u16, until: u16, epoch: u32) -> Self {
        Self { written, until, epoch_and_reads: epoch << 8 }
    }

    const fn epoch(self) -> u32 {
        self.epoch_and_reads >> 8
    }

    const fn reads(self) -> u8 {
        self.epoch_and_reads as u8
    }

    /// Whether it is of the epoch in which someone asks.
    #[inline]
    pub(super) const fn is_of(self, request: MgccStamp) -> bool {
        self.epoch() == request.epoch
    }

    /// Whether an answer is about the very data that it holds.
    #[inline]
    pub(super) const fn is_as_written(self, response: MgccStamp) -> bool {
        self.is_of(response) && self.written == response.time
    }
}

/// Holds the stamp of messages: requests carry a time, answers a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MgccStamp {
    epoch: u32,
    /// In a request, the logical time of who asks; in an answer, when the data were written.
    time: u16,
    /// In a request to renew, gives the time when the copy was written. In the answer to a read, it
    /// is the time until which the data may be read. In the answer to a write, it is the time when
    /// the line had been written before. Where that was in another epoch, it is the same as `time`.
    other: u16,
}

impl MgccStamp {
    /// Returns the same request, to renew a copy of its epoch.
    #[inline]
    pub(super) const fn renewing(self, line: &MgccLine) -> Self {
        Self { other: line.written, ..self }
    }

    /// Whether an answer says that the copy is as it was.
    #[inline]
    pub(super) const fn renewed_by(self, response: Self) -> bool {
        self.epoch == response.epoch && self.other == response.time
    }
}

/// Holds the state of a cache: an L1 keeps its logical time, an L2 the start of its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MgccCache {
    time: u64,
}

/// Holds the state that a controller keeps for all of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MgccController {
    /// Gives the first time of its epoch.
    start: u64,
    /// The end of every lease that it has forgotten.
    floor: u64,
}

impl Mgcc {
    #[inline]
    fn time(&self, stamp: MgccStamp) -> u64 {
        self.leases.start(stamp.epoch) + u64::from(stamp.time)
    }

    #[inline]
    fn request(&self, time: u64) -> MgccStamp {
        let epoch = self.leases.epoch(time);
        MgccStamp { epoch, time: self.leases.stamp(time), other: 0 }
    }

    /// Returns the first and last time of a copy.
    #[inline]
    fn lease(&self, line: &MgccLine) -> (u64, u64) {
        let start = self.leases.start(line.epoch());
        (start + u64::from(line.written), start + u64::from(line.until))
    }

    /// The stamp of a read that a copy serves at a time, if it may.
    #[inline]
    fn serve(&self, line: &mut MgccLine, time: u64, most: u8) -> Option<MgccStamp> {
        let (_, until) = self.lease(line);
        let current = line.epoch() == self.leases.epoch(time);
        if !current || time > until || line.reads() >= most {
            return None;
        }
        line.epoch_and_reads += 1;
        Some(MgccStamp { epoch: line.epoch(), time: line.written, other: line.until })
    }
}

impl Registered for Mgcc {
    fn name(&self) -> &'static str {
        "tsm-wt-c-rc"
    }
}

impl CoherenceProtocol for Mgcc {
    type Stamp = MgccStamp;
    type Line = MgccLine;
    type Cache = MgccCache;
    type Home = Entry;
    type Controller = MgccController;

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

    /// Timestamps of 3 bits overflow in most programs, and copies serve few reads.
    fn small(self) -> Self {
        Self { leases: Leases { read: 2, write: 1, bits: 3 }, l1_reads: 2, l2_reads: 1 }
    }

    /// A time is two bytes, its epoch one (the first lines of `time.rs`).
    fn overhead(&self) -> Overhead {
        Overhead {
            read_request: 3,
            write_request: 3,
            read_response: 5,
            write_response: 5,
            write_response_has_data: false,
        }
    }

    /// Two timestamps and a count of reads a line, and two timestamps an entry. A cache keeps its
    /// time, which has an epoch; a bank of L2 that epoch alone.
    fn stored(&self) -> Option<Stored> {
        let bits = u32::from(self.leases.bits);
        Some(Stored { line: 2 * bits + 8, l1: u64::BITS, l2: 24, entry: 2 * bits })
    }

    #[inline]
    fn on_access(
        &self,
        level: Level,
        cache: &mut MgccCache,
        line: Option<&mut MgccLine>,
        access: Access,
        stamp: MgccStamp,
    ) -> Lookup<MgccLine, MgccStamp> {
        let (time, most) = match level {
            Level::L1 => (cache.time, self.l1_reads),
            Level::L2 => {
                let asked = self.time(stamp);
                cache.time = cache.time.max(self.leases.start(self.leases.epoch(asked)));
                (asked.max(cache.time), self.l2_reads)
            }
        };
        if access == Access::Read
            && let Some(served) = line.and_then(|line| self.serve(line, time, most))
        {
            if level == Level::L1 {
                cache.time = time.max(self.time(served));
            }
            return Lookup::Hit(served);
        }
        let ask = match access {
            Access::Read => Ask::Read,
            Access::Write | Access::Overwrite => Ask::Write,
            Access::Atomic => Ask::Atomic,
        };
        // Others of the GPU may read the old copy while its lease lasts; the CU itself may not.
        let hold = level == Level::L1 && access != Access::Read;
        Lookup::Forward(Forward { ask, stamp: self.request(time), copy: Meanwhile::Stays, hold })
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
        cache.time = cache.time.max(match level {
            Level::L1 => self.time(response),
            Level::L2 => self.leases.start(response.epoch),
        });
        let outcome = |copy| Answered { copy, stamp: response };
        if response.epoch != self.leases.epoch(cache.time) {
            return outcome(Copied::Leave);
        }
        // An L1 is not filled by writes.
        let may_fill = level == Level::L2 || line.is_some();
        let line = line.filter(|line| line.epoch() == response.epoch);
        if line.is_some_and(|line| line.written > response.time) {
            return outcome(Copied::Leave);
        }
        let fresh = |until| MgccLine::new(response.time, until, response.epoch);
        outcome(match access {
            Access::Read => Copied::Install(fresh(response.other)),
            Access::Overwrite if may_fill => {
                Copied::Install(fresh(response.time + self.leases.write))
            }
            Access::Write
                if response.other != response.time
                    && line.is_some_and(|line| line.written == response.other) =>
            {
                Copied::Merge(fresh(response.time + self.leases.write))
            }
            Access::Write | Access::Overwrite | Access::Atomic => Copied::Leave,
        })
    }

    #[inline]
    fn on_request(
        &self,
        controller: &mut MgccController,
        home: &mut Entry,
        _from: Option<u8>,
        ask: Ask,
        stamp: MgccStamp,
    ) -> MgccStamp {
        let leases = self.leases;
        let asked = self.time(stamp);
        let start = controller.start.max(leases.start(leases.epoch(asked)));
        let entry = Entry { written: home.written.max(start), until: home.until.max(start) };
        let response;
        if matches!(ask, Ask::Read | Ask::Renew | Ask::Own) {
            let time = asked.max(entry.written);
            let read = leases.fit(time, leases.read);
            // Where the lease starts in a later epoch, the data count as written when that began.
            let written = entry.written.max(leases.start(leases.epoch(read)));
            let until = entry.until.max(read + u64::from(leases.read));
            *home = Entry { written, until };
            response = (written, leases.stamp(until));
        } else {
            let written = leases.fit(asked.max(entry.until + 1), leases.write);
            let same_epoch = leases.epoch(written) == leases.epoch(entry.written);
            *home = Entry { written, until: written + u64::from(leases.write) };
            let before = if same_epoch { entry.written } else { written };
            response = (written, leases.stamp(before));
        }
        let epoch = leases.epoch(response.0);
        controller.start = leases.start(epoch);
        MgccStamp { epoch, time: leases.stamp(response.0), other: response.1 }
    }

    #[inline]
    fn remember(&self, controller: &MgccController) -> Entry {
        Entry { written: controller.floor, until: controller.floor }
    }

    #[inline]
    fn forget(&self, controller: &mut MgccController, home: &Entry) -> super::Probes {
        controller.floor = controller.floor.max(home.until);
        super::Probes::default()
    }

    /// An L1 has a time of its own; an L2 takes that of who asks.
    #[inline]
    fn is_leased(&self, cache: &MgccCache, line: &MgccLine, asked: MgccStamp) -> bool {
        let time = cache.time.max(self.time(asked));
        line.epoch() == self.leases.epoch(time) && time <= self.lease(line).1
    }

    #[inline]
    fn asked_at(&self, stamp: MgccStamp) -> u64 {
        self.time(stamp)
    }

    #[inline]
    fn rank(&self, home: &Entry) -> u64 {
        home.until
    }

    /// Every access after the meeting is later than all before it.
    #[inline]
    fn on_meeting(&self, cache: &mut MgccCache, other: &MgccCache) {
        cache.time = cache.time.max(other.time);
    }

    fn on_boundary(&self, _level: Level) -> Flush {
        Flush::Nothing
    }

    fn span(&self, line: &MgccLine) -> Span {
        let (from, to) = self.lease(line);
        Span::Logical { from, to }
    }
}

#[cfg(test)]
mod tests {
    use super::super::time::ProtocolError;
    use super::*;

    /// Holds one L1 and one line's home.
    #[derive(Default)]
    struct Pair {
        l1: MgccCache,
        line: Option<MgccLine>,
    }

    impl Pair {
        /// Plays an access, and says whether the L1 served it itself.
        fn play(
            &mut self,
            mgcc: Mgcc,
            home: &mut Entry,
            controller: &mut MgccController,
            access: Access,
        ) -> bool {
            let default = MgccStamp::default();
            let looked =
                mgcc.on_access(Level::L1, &mut self.l1, self.line.as_mut(), access, default);
            let Lookup::Forward(Forward { ask, stamp, .. }) = looked else { return true };
            let response = mgcc.on_request(controller, home, Some(0), ask, stamp);
            let line = self.line.as_ref();
            match mgcc.on_response(Level::L1, &mut self.l1, line, access, response).copy {
                Copied::Install(line) | Copied::Merge(line) => self.line = Some(line),
                Copied::Leave => {}
                Copied::Drop => self.line = None,
            }
            false
        }
    }

    #[test]
    fn a_write_comes_after_its_writer_and_after_every_lease() {
        let mgcc = Mgcc::default();
        let (mut controller, mut home) = (MgccController::default(), Entry::default());
        let (mut reader, mut writer) = (Pair::default(), Pair::default());
        assert!(!reader.play(mgcc, &mut home, &mut controller, Access::Read));
        assert!(reader.play(mgcc, &mut home, &mut controller, Access::Read));
        assert_eq!(home, Entry { written: 0, until: 10 });
        assert!(!writer.play(mgcc, &mut home, &mut controller, Access::Write));
        assert_eq!(home, Entry { written: 11, until: 16 });
        assert_eq!(writer.l1.time, 11);
        // The writer's time goes with it to another line.
        let mut other = Entry::default();
        writer.line = None;
        writer.play(mgcc, &mut other, &mut controller, Access::Write);
        assert_eq!(other.written, 11);
        // Who reads that has the writer's time, so that its old copy is one no more.
        let old = reader.line.take();
        reader.play(mgcc, &mut other, &mut controller, Access::Read);
        reader.line = old;
        assert!(!reader.play(mgcc, &mut home, &mut controller, Access::Read));
    }

    #[test]
    fn a_copy_serves_its_reads_and_then_memory_is_asked() {
        let mgcc = Mgcc { l1_reads: 3, ..Mgcc::default() };
        let (mut controller, mut home) = (MgccController::default(), Entry::default());
        let mut reader = Pair::default();
        let hits: Vec<_> =
            (0..9).map(|_| reader.play(mgcc, &mut home, &mut controller, Access::Read)).collect();
        assert_eq!(hits, [false, true, true, true, false, true, true, true, false]);
        assert_eq!(reader.l1.time, 0, "reads alone move no time");
    }

    #[test]
    fn a_write_goes_into_a_copy_of_just_what_it_changed() {
        let mgcc = Mgcc::default();
        let (mut controller, mut home) = (MgccController::default(), Entry::default());
        let mut writer = Pair::default();
        writer.play(mgcc, &mut home, &mut controller, Access::Write);
        assert_eq!(writer.line, None, "an L1 is not filled by writes");
        writer.play(mgcc, &mut home, &mut controller, Access::Read);
        writer.play(mgcc, &mut home, &mut controller, Access::Write);
        assert!(writer.play(mgcc, &mut home, &mut controller, Access::Read));
        // Another wrote in between: other bytes of the copy are old.
        Pair::default().play(mgcc, &mut home, &mut controller, Access::Write);
        writer.play(mgcc, &mut home, &mut controller, Access::Write);
        assert!(!writer.play(mgcc, &mut home, &mut controller, Access::Read));
    }

    #[test]
    fn an_overflow_starts_an_epoch_in_which_no_old_lease_is_valid() -> Result<(), ProtocolError> {
        let mgcc = Mgcc { leases: Leases::new(2, 1, 3)?, ..Mgcc::default() };
        let (mut controller, mut home) = (MgccController::default(), Entry::default());
        let (mut writer, mut reader) = (Pair::default(), Pair::default());
        let mut last = 0;
        for round in 0..20 {
            reader.play(mgcc, &mut home, &mut controller, Access::Read);
            let Span::Logical { to, .. } = mgcc.span(&reader.line.unwrap()) else { panic!() };
            writer.play(mgcc, &mut home, &mut controller, Access::Write);
            assert!(home.written > to, "round {round}");
            assert!(home.written > last);
            last = home.written;
        }
        assert!(mgcc.leases.epoch(last) >= 4);
        Ok(())
    }
}
