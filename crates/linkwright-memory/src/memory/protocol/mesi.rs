//! Plays directory MESI between the L2s of all GPUs.
//!
//! The home is a directory beside the memory: who owns a line, or who shares it. L2s write back.
//! L1s write through to their L2. Fences keep L1s in agreement by dropping their copies. Where
//! every access must be in order, L1s are passed by. Clean copies are dropped in silence. Upgrades
//! carry data. Other implementations have states in between. Here MSHRs, the line that waits to be
//! written back, and the home hold these. The home serves one request at a time.

use super::CoherenceProtocol;
use super::hmg::bit;
use super::message::{
    Access, Answered, Ask, CachePath, Copied, Eviction, Flush, Forward, Level, Lookup, Meanwhile,
    Overhead, Probe, Probes, Span,
};
use super::non_coherent::{plain_l1_access, plain_l1_response};
use crate::diagnostic::Registered;

/// Holds the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mesi {
    /// Whether accesses must be in order without fences, so that no read stops at an L1.
    pub sequential: bool,
}

impl Mesi {
    /// First levels keep copies until a fence.
    pub const WITH_FENCES: Self = Self { sequential: false };
}

/// Says how an L2 may use its copy; invalid is no copy. An answer says which it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MesiState {
    /// Read it; others may, too.
    #[default]
    Shared,
    /// Read it, and write it without asking.
    Exclusive,
    /// It was written, and is newer than memory.
    Modified,
}

/// Holds a directory's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MesiHome {
    /// The GPU that may have written the line.
    owner: Option<u8>,
    /// Those that may hold a copy to read.
    sharers: u32,
}

impl MesiHome {
    fn holders(&self) -> u32 {
        self.sharers | bit(self.owner)
    }
}

impl Registered for Mesi {
    fn name(&self) -> &'static str {
        "mesi"
    }
}

impl CoherenceProtocol for Mesi {
    type Stamp = MesiState;
    type Line = MesiState;
    type Cache = ();
    type Home = MesiHome;
    type Controller = ();

    const CONFIRMS: bool = true;

    fn path(&self) -> CachePath {
        CachePath::OwnL2
    }

    fn in_order(self) -> Option<Self> {
        Some(Self { sequential: true })
    }

    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    #[inline]
    fn on_access(
        &self,
        level: Level,
        _cache: &mut (),
        line: Option<&mut MesiState>,
        access: Access,
        _stamp: MesiState,
    ) -> Lookup<MesiState, MesiState> {
        if level == Level::L1 {
            return plain_l1_access(line.is_some() && !self.sequential, access);
        }
        let (ask, copy) = match (access, line) {
            (Access::Read, Some(_)) => return Lookup::Hit(MesiState::Shared),
            (Access::Read, None) => (Ask::Read, Meanwhile::Stays),
            (Access::Atomic, _) => (Ask::Atomic, Meanwhile::Goes),
            (_, Some(state)) if *state != MesiState::Shared => {
                *state = MesiState::Modified;
                return Lookup::Hit(MesiState::Shared);
            }
            _ => (Ask::Own, Meanwhile::Stays),
        };
        let hold = access != Access::Read;
        Lookup::Forward(Forward { ask, stamp: MesiState::Shared, copy, hold })
    }

    #[inline]
    fn on_response(
        &self,
        level: Level,
        _cache: &mut (),
        _line: Option<&MesiState>,
        access: Access,
        response: MesiState,
    ) -> Answered<MesiState, MesiState> {
        if level == Level::L1 {
            return plain_l1_response(access);
        }
        let copy = if access == Access::Atomic { Copied::Leave } else { Copied::Install(response) };
        Answered { copy, stamp: MesiState::Shared }
    }

    #[inline]
    fn before_request(&self, home: &MesiHome, from: Option<u8>, ask: Ask) -> Probes {
        match ask {
            Ask::Read | Ask::Renew => {
                Probes { gpus: bit(home.owner) & !bit(from), probe: Probe::Share }
            }
            Ask::Own | Ask::Write => {
                Probes { gpus: home.holders() & !bit(from), probe: Probe::Invalidate }
            }
            // The asking cache is probed, too: its written data may be on its way back.
            Ask::Atomic => Probes { gpus: home.holders(), probe: Probe::Invalidate },
        }
    }

    #[inline]
    fn on_request(
        &self,
        _controller: &mut (),
        home: &mut MesiHome,
        from: Option<u8>,
        ask: Ask,
        _stamp: MesiState,
    ) -> MesiState {
        match ask {
            Ask::Read | Ask::Renew if home.holders() & !bit(from) == 0 => {
                *home = MesiHome { owner: from, sharers: 0 };
                MesiState::Exclusive
            }
            Ask::Read | Ask::Renew => {
                *home = MesiHome { owner: None, sharers: home.holders() | bit(from) };
                MesiState::Shared
            }
            Ask::Own => {
                *home = MesiHome { owner: from, sharers: 0 };
                MesiState::Modified
            }
            Ask::Write | Ask::Atomic => {
                *home = MesiHome::default();
                MesiState::Shared
            }
        }
    }

    #[inline]
    fn on_probe(&self, _line: MesiState, probe: Probe) -> Option<MesiState> {
        (probe == Probe::Share).then_some(MesiState::Shared)
    }

    #[inline]
    fn on_evict(&self, line: &MesiState) -> Eviction {
        if *line == MesiState::Modified { Eviction::WriteBack } else { Eviction::Nothing }
    }

    #[inline]
    fn on_write_back(&self, home: &mut MesiHome, from: u8) -> bool {
        let owns = home.owner == Some(from);
        if owns {
            home.owner = None;
        }
        owns
    }

    #[inline]
    fn forget(&self, _: &mut (), home: &MesiHome) -> Probes {
        Probes { gpus: home.holders(), probe: Probe::Invalidate }
    }

    #[inline]
    fn rank(&self, home: &MesiHome) -> u64 {
        u64::from(home.holders().count_ones())
    }

    fn on_fence(&self, level: Level) -> Flush {
        if level == Level::L1 { Flush::Invalidate } else { Flush::Nothing }
    }

    fn on_boundary(&self, level: Level) -> Flush {
        self.on_fence(level)
    }

    fn span(&self, line: &MesiState) -> Span {
        Span::Present { writable: *line != MesiState::Shared }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(home: &mut MesiHome, gpu: u8, ask: Ask) -> (u32, MesiState) {
        let mesi = Mesi::default();
        let probes = mesi.before_request(home, Some(gpu), ask);
        (probes.gpus, mesi.on_request(&mut (), home, Some(gpu), ask, MesiState::Shared))
    }

    #[test]
    fn a_directory_gives_each_state_after_the_probes_it_needs() {
        let mut home = MesiHome::default();
        assert_eq!(ask(&mut home, 0, Ask::Read), (0, MesiState::Exclusive));
        assert_eq!(ask(&mut home, 1, Ask::Read), (0b1, MesiState::Shared));
        assert_eq!(ask(&mut home, 2, Ask::Read), (0, MesiState::Shared));
        assert_eq!(ask(&mut home, 1, Ask::Own), (0b101, MesiState::Modified));
        assert_eq!(ask(&mut home, 1, Ask::Atomic), (0b10, MesiState::Shared));
        assert_eq!(home, MesiHome::default());
    }

    #[test]
    fn data_that_a_probe_took_are_not_taken_again() {
        let (mesi, mut home) = (Mesi::default(), MesiHome::default());
        ask(&mut home, 0, Ask::Own);
        assert!(mesi.on_write_back(&mut home, 0));
        ask(&mut home, 0, Ask::Own);
        assert_eq!(ask(&mut home, 1, Ask::Own), (0b1, MesiState::Modified));
        assert!(!mesi.on_write_back(&mut home, 0));
    }

    #[test]
    fn what_is_exclusive_is_written_without_asking() {
        let mesi = Mesi::default();
        let write = |state| {
            let mut line = state;
            let line = &mut line;
            let looked =
                mesi.on_access(Level::L2, &mut (), Some(line), Access::Write, MesiState::Shared);
            (matches!(looked, Lookup::Hit(_)), *line)
        };
        assert_eq!(write(MesiState::Exclusive), (true, MesiState::Modified));
        assert_eq!(write(MesiState::Shared), (false, MesiState::Shared));
        assert_eq!(mesi.on_probe(MesiState::Modified, Probe::Share), Some(MesiState::Shared));
    }
}
