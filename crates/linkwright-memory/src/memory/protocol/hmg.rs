//! HMG: a directory of valid copies between GPUs, after Ren et al., HPCA 2020.
//!
//! Each line has a home L2 (by hash, which is the address map's matter). Another GPU's L2 holds
//! copies, writes through to the home, and is invalidated when others write; the home knows which
//! GPUs hold one. L1s are kept in agreement by fences, which drop their copies; where every access
//! must be in order, they are passed by.
//!
//! HMG acknowledges no invalidation by itself: a release waits for those before it. Here the home
//! answers a write when the copies are gone. As nobody but a fence waits for a write's answer, a
//! fence sees the same. In exchange lines are valid or not, with nothing in between. HMG's
//! directory within a GPU of several modules is left out: a GPU is one module.

use super::CoherenceProtocol;
use super::message::{
    Access, Answered, Ask, CachePath, Copied, Flush, Forward, Level, Lookup, Meanwhile, Overhead,
    Probe, Probes, Span,
};
use super::non_coherent::{plain_l1_access, plain_l1_response};
use crate::diagnostic::Registered;

/// Holds the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hmg {
    /// Whether accesses must be in order without fences, so that no read stops at an L1.
    pub sequential: bool,
}

impl Hmg {
    /// First levels keep copies until a fence.
    pub const WITH_FENCES: Self = Self { sequential: false };
}

/// Stands for a valid copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ValidLine;

/// The other GPUs whose L2 may hold a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct HmgHome {
    sharers: u32,
}

/// Returns the bit of a GPU, or none.
#[inline]
pub(super) fn bit(gpu: Option<u8>) -> u32 {
    gpu.map_or(0, |gpu| 1 << gpu)
}

impl Registered for Hmg {
    fn name(&self) -> &'static str {
        "hmg"
    }
}

impl CoherenceProtocol for Hmg {
    type Stamp = ();
    type Line = ValidLine;
    type Cache = ();
    type Home = HmgHome;
    type Controller = ();

    const CONFIRMS: bool = true;

    fn path(&self) -> CachePath {
        CachePath::HomeL2
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
        line: Option<&mut ValidLine>,
        access: Access,
        _stamp: (),
    ) -> Lookup<ValidLine, ()> {
        if level == Level::L1 {
            return plain_l1_access(line.is_some() && !self.sequential, access);
        }
        let (ask, copy) = match access {
            Access::Read if line.is_some() => return Lookup::Hit(()),
            Access::Read => (Ask::Read, Meanwhile::Stays),
            // Others of the GPU see a write when all others can.
            Access::Write | Access::Overwrite => (Ask::Write, Meanwhile::Stays),
            Access::Atomic => (Ask::Atomic, Meanwhile::Goes),
        };
        Lookup::Forward(Forward { ask, stamp: (), copy, hold: access != Access::Read })
    }

    #[inline]
    fn on_response(
        &self,
        level: Level,
        _cache: &mut (),
        line: Option<&ValidLine>,
        access: Access,
        _response: (),
    ) -> Answered<ValidLine, ()> {
        if level == Level::L1 {
            return plain_l1_response(access);
        }
        let copy = match (access, line) {
            (Access::Read, _) => Copied::Install(ValidLine),
            (Access::Write | Access::Overwrite, Some(line)) => Copied::Merge(*line),
            _ => Copied::Leave,
        };
        Answered { copy, stamp: () }
    }

    #[inline]
    fn before_request(&self, home: &HmgHome, from: Option<u8>, ask: Ask) -> Probes {
        match ask {
            Ask::Write | Ask::Atomic => {
                Probes { gpus: home.sharers & !bit(from), probe: Probe::Invalidate }
            }
            Ask::Read | Ask::Renew | Ask::Own => Probes::default(),
        }
    }

    #[inline]
    fn on_request(&self, _: &mut (), home: &mut HmgHome, from: Option<u8>, ask: Ask, _: ()) {
        match ask {
            Ask::Read | Ask::Renew | Ask::Own => home.sharers |= bit(from),
            Ask::Write => home.sharers &= bit(from),
            Ask::Atomic => home.sharers = 0,
        }
    }

    #[inline]
    fn forget(&self, _: &mut (), home: &HmgHome) -> Probes {
        Probes { gpus: home.sharers, probe: Probe::Invalidate }
    }

    #[inline]
    fn rank(&self, home: &HmgHome) -> u64 {
        u64::from(home.sharers.count_ones())
    }

    fn on_fence(&self, level: Level) -> Flush {
        if level == Level::L1 { Flush::Invalidate } else { Flush::Nothing }
    }

    fn on_boundary(&self, level: Level) -> Flush {
        self.on_fence(level)
    }

    fn span(&self, _line: &ValidLine) -> Span {
        Span::Present { writable: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_invalidates_every_copy_but_the_writer_s() {
        let (hmg, mut home) = (Hmg::default(), HmgHome::default());
        for gpu in [1, 2, 3] {
            hmg.on_request(&mut (), &mut home, Some(gpu), Ask::Read, ());
        }
        assert_eq!(hmg.before_request(&home, Some(2), Ask::Read).gpus, 0);
        assert_eq!(hmg.before_request(&home, Some(2), Ask::Write).gpus, 0b1010);
        assert_eq!(hmg.before_request(&home, None, Ask::Write).gpus, 0b1110);
        hmg.on_request(&mut (), &mut home, Some(2), Ask::Write, ());
        assert_eq!(hmg.forget(&mut (), &home).gpus, 0b100);
        hmg.on_request(&mut (), &mut home, None, Ask::Write, ());
        assert_eq!(home, HmgHome::default());
    }

    #[test]
    fn an_l1_keeps_its_copies_until_a_fence_unless_all_is_in_order() {
        let look = |sequential| {
            let line = &mut ValidLine;
            Hmg { sequential }.on_access(Level::L1, &mut (), Some(line), Access::Read, ())
        };
        assert_eq!(look(false), Lookup::Hit(()));
        assert!(matches!(look(true), Lookup::Forward(_)));
        assert_eq!(Hmg::default().on_fence(Level::L1), Flush::Invalidate);
        assert_eq!(Hmg::default().on_boundary(Level::L2), Flush::Nothing);
    }
}
