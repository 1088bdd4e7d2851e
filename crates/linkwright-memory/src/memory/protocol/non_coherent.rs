//! Nothing keeps copies in agreement: `rdma`, `tsm-wb-nc-rc` and `tsm-wt-nc-rc`.
//!
//! Copies are kept in agreement by kernels' boundaries instead. They invalidate L1s, and L2s that
//! hold other GPUs' lines. They write dirty lines back (chapters 3 and 4 of the MGPU-TSM
//! dissertation).

use super::message::{
    Access, Answered, Ask, CachePath, Copied, Eviction, Flush, Forward, Level, Lookup, Meanwhile,
    Overhead, Span, Stored,
};
use super::{CoherenceProtocol, Flat};
use crate::diagnostic::Registered;

/// Plays caches without coherence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NonCoherent {
    /// Whether L2s keep what is written until they evict it.
    pub write_back: bool,
    /// Whether every GPU's L2 holds any line ([`CachePath::OwnL2`]), or each the lines of its own
    /// memory ([`CachePath::LineL2`]).
    pub path: CachePath,
}

impl NonCoherent {
    /// Reaches remote lines through RDMA engines, written back.
    pub const RDMA: Self = Self { write_back: true, path: CachePath::LineL2 };
    /// Has truly shared memory under L2s that write back.
    pub const TSM_WRITE_BACK: Self = Self { write_back: true, path: CachePath::OwnL2 };
    /// Has truly shared memory under L2s that write through.
    pub const TSM_WRITE_THROUGH: Self = Self { write_back: false, path: CachePath::OwnL2 };
}

/// A line that is here, and may be newer than below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PlainLine {
    /// Whether it is.
    pub dirty: bool,
}

/// Returns the lookup of an L1 where nothing but its own CU changes a line.
#[inline]
pub(super) fn plain_l1_access<L, S: Flat>(present: bool, access: Access) -> Lookup<L, S> {
    let (ask, copy) = match access {
        Access::Read if present => return Lookup::Hit(S::default()),
        Access::Read => (Ask::Read, Meanwhile::Stays),
        Access::Write | Access::Overwrite => (Ask::Write, Meanwhile::Merges),
        Access::Atomic => (Ask::Atomic, Meanwhile::Goes),
    };
    Lookup::Forward(Forward { ask, stamp: S::default(), copy, hold: access != Access::Read })
}

/// Returns the copy that such an L1 keeps of an answer.
#[inline]
pub(super) fn plain_l1_response<L: Flat, S: Flat>(access: Access) -> Answered<L, S> {
    let copy = match access {
        Access::Read => Copied::Install(L::default()),
        Access::Write | Access::Overwrite | Access::Atomic => Copied::Leave,
    };
    Answered { copy, stamp: S::default() }
}

impl Registered for NonCoherent {
    fn name(&self) -> &'static str {
        match (self.path, self.write_back) {
            (CachePath::OwnL2, true) => "tsm-wb-nc-rc",
            (CachePath::OwnL2, false) => "tsm-wt-nc-rc",
            _ => "rdma",
        }
    }
}

impl CoherenceProtocol for NonCoherent {
    type Stamp = ();
    type Line = PlainLine;
    type Cache = ();
    type Home = ();
    type Controller = ();

    fn path(&self) -> CachePath {
        self.path
    }

    fn is_coherent(&self) -> bool {
        false
    }

    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    fn stored(&self) -> Option<Stored> {
        Some(Stored::default())
    }

    #[inline]
    fn on_access(
        &self,
        level: Level,
        _cache: &mut (),
        line: Option<&mut PlainLine>,
        access: Access,
        _stamp: (),
    ) -> Lookup<PlainLine, ()> {
        if level == Level::L1 {
            return plain_l1_access(line.is_some(), access);
        }
        // Atomics are done where all GPUs meet: in the line's L2, or at the memory.
        let here = access != Access::Atomic || self.path == CachePath::LineL2;
        if self.write_back && here {
            return match (line, access) {
                (Some(_), Access::Read) => Lookup::Hit(()),
                (Some(line), _) => {
                    line.dirty = true;
                    Lookup::Hit(())
                }
                (None, Access::Overwrite) => Lookup::Allocate(PlainLine { dirty: true }, ()),
                (None, _) => Lookup::Forward(Forward {
                    ask: Ask::Read,
                    stamp: (),
                    copy: Meanwhile::Stays,
                    hold: access != Access::Read,
                }),
            };
        }
        plain_l1_access(line.is_some(), access)
    }

    #[inline]
    fn on_response(
        &self,
        level: Level,
        _cache: &mut (),
        _line: Option<&PlainLine>,
        access: Access,
        _response: (),
    ) -> Answered<PlainLine, ()> {
        let here = access != Access::Atomic || self.path == CachePath::LineL2;
        if level == Level::L2 && self.write_back && here {
            let dirty = access != Access::Read;
            return Answered { copy: Copied::Install(PlainLine { dirty }), stamp: () };
        }
        plain_l1_response(access)
    }

    #[inline]
    fn on_request(&self, _: &mut (), _: &mut (), _: Option<u8>, _: Ask, _: ()) {}

    #[inline]
    fn on_evict(&self, line: &PlainLine) -> Eviction {
        if line.dirty { Eviction::WriteBack } else { Eviction::Nothing }
    }

    fn on_boundary(&self, level: Level) -> Flush {
        match (level, self.path) {
            (Level::L2, CachePath::LineL2) => Flush::WriteBack,
            _ => Flush::Invalidate,
        }
    }

    fn span(&self, line: &PlainLine) -> Span {
        Span::Present { writable: line.dirty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(
        protocol: NonCoherent,
        level: Level,
        line: Option<&mut PlainLine>,
        access: Access,
    ) -> Lookup<PlainLine, ()> {
        protocol.on_access(level, &mut (), line, access, ())
    }

    fn ask(lookup: Lookup<PlainLine, ()>) -> Option<(Ask, Meanwhile)> {
        match lookup {
            Lookup::Forward(Forward { ask, copy, .. }) => Some((ask, copy)),
            _ => None,
        }
    }

    #[test]
    fn an_l1_writes_through_and_is_not_filled_by_writes() {
        let protocol = NonCoherent::TSM_WRITE_THROUGH;
        let clean = Some(&mut PlainLine::default()).copied();
        for mut line in [None, clean] {
            let found = access(protocol, Level::L1, line.as_mut(), Access::Write);
            assert_eq!(ask(found), Some((Ask::Write, Meanwhile::Merges)));
        }
        let outcome = protocol.on_response(Level::L1, &mut (), None, Access::Write, ());
        assert_eq!(outcome.copy, Copied::Leave);
    }

    #[test]
    fn an_l2_that_writes_back_keeps_what_is_written() {
        let protocol = NonCoherent::RDMA;
        let mut line = PlainLine::default();
        assert_eq!(access(protocol, Level::L2, Some(&mut line), Access::Write), Lookup::Hit(()));
        assert_eq!(protocol.on_evict(&line), Eviction::WriteBack);
        // A part of a line that is not here is written into what is fetched.
        let missing = access(protocol, Level::L2, None, Access::Write);
        assert_eq!(ask(missing), Some((Ask::Read, Meanwhile::Stays)));
        let outcome = protocol.on_response(Level::L2, &mut (), None, Access::Write, ());
        assert_eq!(outcome.copy, Copied::Install(PlainLine { dirty: true }));
        let whole = access(protocol, Level::L2, None, Access::Overwrite);
        assert_eq!(whole, Lookup::Allocate(PlainLine { dirty: true }, ()));
    }

    #[test]
    fn atomics_are_done_where_all_gpus_meet() {
        let mut line = PlainLine { dirty: true };
        let rdma = access(NonCoherent::RDMA, Level::L2, Some(&mut line), Access::Atomic);
        assert_eq!(rdma, Lookup::Hit(()));
        let tsm = access(NonCoherent::TSM_WRITE_BACK, Level::L2, Some(&mut line), Access::Atomic);
        assert_eq!(ask(tsm), Some((Ask::Atomic, Meanwhile::Goes)));
    }

    #[test]
    fn boundaries_drop_what_others_may_have_changed() {
        for protocol in [NonCoherent::TSM_WRITE_BACK, NonCoherent::TSM_WRITE_THROUGH] {
            assert_eq!(protocol.on_boundary(Level::L1), Flush::Invalidate);
            assert_eq!(protocol.on_boundary(Level::L2), Flush::Invalidate);
        }
        assert_eq!(NonCoherent::RDMA.on_boundary(Level::L1), Flush::Invalidate);
        assert_eq!(NonCoherent::RDMA.on_boundary(Level::L2), Flush::WriteBack);
        assert_eq!(NonCoherent::RDMA.on_fence(Level::L1), Flush::Nothing);
    }
}
