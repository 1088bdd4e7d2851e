//! Plays pages of the host: pinned there, or migrating to the GPU that touches them.
//!
//! NVIDIA calls these zero-copy and unified memory (section 1.2.2 of the MGPU-TSM dissertation).
//! Pinned pages are read and written over the bus each time, and atomics are done there: second
//! levels are passed by. Pages that migrate are on one GPU at a time, which is not this protocol's
//! matter; its second level keeps their lines. In both cases fences drop the copies of first
//! levels.

use super::CoherenceProtocol;
use super::message::{
    Access, Answered, CachePath, Eviction, Flush, Forward, Level, Lookup, Meanwhile, Overhead, Span,
};
use super::non_coherent::{NonCoherent, PlainLine, plain_l1_access, plain_l1_response};
use crate::diagnostic::Registered;
use crate::memory::address::Pages;

/// Holds the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostPages {
    /// Says whether pages stay on the host.
    pub pinned: bool,
}

impl HostPages {
    /// Keeps pages on the host.
    pub const PINNED: Self = Self { pinned: true };
    /// Moves pages to the GPU that touches them.
    pub const MIGRATING: Self = Self { pinned: false };
}

impl Registered for HostPages {
    fn name(&self) -> &'static str {
        if self.pinned { "zero-copy" } else { "unified" }
    }
}

impl CoherenceProtocol for HostPages {
    type Stamp = ();
    type Line = PlainLine;
    type Cache = ();
    type Home = ();
    type Controller = ();

    fn path(&self) -> CachePath {
        if self.pinned { CachePath::OwnL2 } else { CachePath::LineL2 }
    }

    fn pages(&self) -> Pages {
        if self.pinned { Pages::Pinned } else { Pages::Migrating }
    }

    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    #[inline]
    fn on_access(
        &self,
        level: Level,
        cache: &mut (),
        line: Option<&mut PlainLine>,
        access: Access,
        stamp: (),
    ) -> Lookup<PlainLine, ()> {
        match level {
            Level::L2 if self.pinned => {
                let looked: Lookup<PlainLine, ()> = plain_l1_access(false, access);
                let Lookup::Forward(forward) = looked else { return looked };
                Lookup::Forward(Forward { copy: Meanwhile::Stays, ..forward })
            }
            _ => NonCoherent::RDMA.on_access(level, cache, line, access, stamp),
        }
    }

    #[inline]
    fn on_response(
        &self,
        level: Level,
        cache: &mut (),
        line: Option<&PlainLine>,
        access: Access,
        response: (),
    ) -> Answered<PlainLine, ()> {
        match level {
            // No copy stays.
            Level::L2 if self.pinned => plain_l1_response(Access::Atomic),
            _ => NonCoherent::RDMA.on_response(level, cache, line, access, response),
        }
    }

    #[inline]
    fn on_request(&self, _: &mut (), _: &mut (), _: Option<u8>, _: super::Ask, _: ()) {}

    #[inline]
    fn on_evict(&self, line: &PlainLine) -> Eviction {
        NonCoherent::RDMA.on_evict(line)
    }

    fn on_fence(&self, level: Level) -> Flush {
        if level == Level::L1 { Flush::Invalidate } else { Flush::Nothing }
    }

    fn on_boundary(&self, level: Level) -> Flush {
        self.on_fence(level)
    }

    fn span(&self, line: &PlainLine) -> Span {
        NonCoherent::RDMA.span(line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ask;
    use super::*;

    #[test]
    fn second_levels_are_passed_by_where_pages_are_pinned() {
        let looked = |pinned, access| {
            let line = Some(&mut PlainLine::default()).copied();
            HostPages { pinned }.on_access(Level::L2, &mut (), line.clone().as_mut(), access, ())
        };
        for (access, ask) in [
            (Access::Read, Ask::Read),
            (Access::Overwrite, Ask::Write),
            (Access::Atomic, Ask::Atomic),
        ] {
            let Lookup::Forward(forward) = looked(true, access) else { panic!("{access:?}") };
            assert_eq!((forward.ask, forward.copy), (ask, Meanwhile::Stays));
            assert!(matches!(looked(false, access), Lookup::Hit(())));
        }
    }
}
