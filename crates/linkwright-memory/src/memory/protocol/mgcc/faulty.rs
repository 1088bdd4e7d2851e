//! The mended MGCC with one fault, for tests that must find it.

use super::{
    Access, Answered, Ask, CachePath, CoherenceProtocol, Copied, Entry, Flush, Leases, Level,
    Lookup, Mgcc, MgccCache, MgccController, MgccLine, MgccStamp, Overhead, Span,
};
use crate::diagnostic::Registered;

/// Says what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A first level reads its copies one time longer than memory knows.
    LongLease,
    /// A write comes right after the last one, within the leases of readers.
    WriteWithinLeases,
    /// A write ignores the time of its writer.
    WriteBeforeWriter,
    /// A read leaves the time of its first level as it was.
    ReadMovesNoTime,
    /// A write leaves the time of its first level as it was.
    WriteMovesNoTime,
    /// Requests carry no time, as the dissertation has it.
    RequestsWithoutTime,
    /// A second level serves copies whose lease has ended for who asks.
    SecondLevelIgnoresTime,
    /// An entry that memory evicts leaves no floor.
    NoFloor,
    /// Timestamps that wrap around leave old copies valid.
    OldEpochs,
    /// Memory keeps no lease that it gave to a read.
    LeasesForgotten,
    /// Memory does not say when a line was written.
    WritesForgotten,
    /// A write goes into a copy of whatever was there.
    MergesIntoAny,
    /// A copy that is asked for anew keeps its old data.
    RenewsStaleData,
    /// It lets a first level's copy answer an atomic.
    AtomicInFirstLevel,
    /// First levels do not hear of each other at barriers.
    MeetingsUnheard,
}

/// Lists every fault.
pub const FAULTS: [Fault; 15] = [
    Fault::LongLease,
    Fault::WriteWithinLeases,
    Fault::WriteBeforeWriter,
    Fault::ReadMovesNoTime,
    Fault::WriteMovesNoTime,
    Fault::RequestsWithoutTime,
    Fault::SecondLevelIgnoresTime,
    Fault::NoFloor,
    Fault::OldEpochs,
    Fault::LeasesForgotten,
    Fault::WritesForgotten,
    Fault::MergesIntoAny,
    Fault::RenewsStaleData,
    Fault::AtomicInFirstLevel,
    Fault::MeetingsUnheard,
];

/// Is MGCC but for one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Faulty {
    mgcc: Mgcc,
    fault: Fault,
}

impl Faulty {
    /// Makes a protocol with a fault.
    pub const fn new(fault: Fault) -> Self {
        Self { mgcc: Mgcc::MENDED, fault }
    }

    /// Gives the first time of the epoch of another time.
    fn epoch_start(&self, time: u64) -> u64 {
        self.mgcc.leases.start(self.mgcc.leases.epoch(time))
    }
}

impl Registered for Faulty {
    fn name(&self) -> &'static str {
        "tsm-wt-c-rc-faulty"
    }
}

impl CoherenceProtocol for Faulty {
    type Stamp = MgccStamp;
    type Line = MgccLine;
    type Cache = MgccCache;
    type Home = Entry;
    type Controller = MgccController;

    fn path(&self) -> CachePath {
        CoherenceProtocol::path(&self.mgcc)
    }

    fn leased(self, leases: Leases) -> Self {
        Self { mgcc: self.mgcc.leased(leases), ..self }
    }

    fn in_order(self) -> Option<Self> {
        Some(self)
    }

    fn overhead(&self) -> Overhead {
        CoherenceProtocol::overhead(&self.mgcc)
    }

    fn on_access(
        &self,
        level: Level,
        cache: &mut MgccCache,
        mut line: Option<&mut MgccLine>,
        access: Access,
        stamp: MgccStamp,
    ) -> Lookup<MgccLine, MgccStamp> {
        let before = *cache;
        let is_first = level == Level::L1;
        match self.fault {
            Fault::OldEpochs if is_first => {
                if let Some(line) = &mut line {
                    let epoch = self.mgcc.leases.epoch(cache.time);
                    **line = MgccLine {
                        epoch_and_reads: epoch << 8 | u32::from(line.reads()),
                        ..**line
                    };
                }
            }
            Fault::SecondLevelIgnoresTime if !is_first && access == Access::Read => {
                let now = self.mgcc.request(cache.time);
                let copy = line.as_deref_mut();
                let looked = self.mgcc.on_access(level, cache, copy, access, now);
                if matches!(looked, Lookup::Hit(_)) {
                    return looked;
                }
            }
            Fault::AtomicInFirstLevel if is_first && access == Access::Atomic => {
                let copy = line.as_deref_mut();
                let looked = self.mgcc.on_access(level, cache, copy, Access::Read, stamp);
                if matches!(looked, Lookup::Hit(_)) {
                    return looked;
                }
            }
            _ => {}
        }
        let mut looked = self.mgcc.on_access(level, cache, line, access, stamp);
        match (self.fault, &mut looked) {
            (Fault::ReadMovesNoTime, _) if is_first => *cache = before,
            (Fault::RequestsWithoutTime, Lookup::Forward(forward)) => {
                forward.stamp = MgccStamp::default();
            }
            _ => {}
        }
        looked
    }

    fn on_response(
        &self,
        level: Level,
        cache: &mut MgccCache,
        line: Option<&MgccLine>,
        access: Access,
        response: MgccStamp,
    ) -> Answered<MgccLine, MgccStamp> {
        let before = *cache;
        let is_first = level == Level::L1;
        let mut heard = response;
        let here = line.filter(|line| line.is_of(response));
        match self.fault {
            Fault::LongLease if is_first && access == Access::Read => {
                heard.other = (response.other + 1).min(self.mgcc.leases.last() as u16);
            }
            Fault::MergesIntoAny if access == Access::Write => {
                heard.other = here.map_or(response.other, |line| line.written);
            }
            _ => {}
        }
        let mut answered = self.mgcc.on_response(level, cache, line, access, heard);
        answered.stamp = response;
        match (self.fault, answered.copy) {
            (Fault::ReadMovesNoTime, _) if is_first && access == Access::Read => *cache = before,
            (Fault::WriteMovesNoTime, _) if is_first && access != Access::Read => *cache = before,
            (Fault::RenewsStaleData, Copied::Install(fresh))
                if access == Access::Read && line.is_some() =>
            {
                answered.copy = Copied::Merge(fresh);
            }
            _ => {}
        }
        answered
    }

    fn on_request(
        &self,
        controller: &mut MgccController,
        home: &mut Entry,
        from: Option<u8>,
        ask: Ask,
        mut stamp: MgccStamp,
    ) -> MgccStamp {
        let until = home.until;
        let writes = matches!(ask, Ask::Write | Ask::Atomic);
        match self.fault {
            Fault::WriteWithinLeases if writes => home.until = home.written,
            Fault::WriteBeforeWriter if writes => stamp.time = 0,
            Fault::WritesForgotten if !writes => home.written = self.epoch_start(home.written),
            _ => {}
        }
        let response = self.mgcc.on_request(controller, home, from, ask, stamp);
        if self.fault == Fault::LeasesForgotten && !writes {
            home.until = until.max(home.written);
        }
        response
    }

    fn remember(&self, controller: &MgccController) -> Entry {
        match self.fault {
            Fault::NoFloor => Entry::default(),
            _ => self.mgcc.remember(controller),
        }
    }

    fn forget(&self, controller: &mut MgccController, home: &Entry) -> super::super::Probes {
        self.mgcc.forget(controller, home)
    }

    fn is_leased(&self, cache: &MgccCache, line: &MgccLine, asked: MgccStamp) -> bool {
        self.mgcc.is_leased(cache, line, asked)
    }

    fn asked_at(&self, stamp: MgccStamp) -> u64 {
        self.mgcc.asked_at(stamp)
    }

    fn rank(&self, home: &Entry) -> u64 {
        self.mgcc.rank(home)
    }

    fn on_meeting(&self, cache: &mut MgccCache, other: &MgccCache) {
        if self.fault != Fault::MeetingsUnheard {
            self.mgcc.on_meeting(cache, other);
        }
    }

    fn on_boundary(&self, level: Level) -> Flush {
        self.mgcc.on_boundary(level)
    }

    fn span(&self, line: &MgccLine) -> Span {
        self.mgcc.span(line)
    }
}
