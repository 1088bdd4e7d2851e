//! A coherence protocol under which no first level keeps a line.

use linkwright::diagnostic::Registered;
use linkwright::memory::protocol::{
    Access, Answered, Ask, CachePath, CoherenceProtocol, Copied, Eviction, Flush, Forward, Level,
    Lookup, Meanwhile, NonCoherent, Overhead, PlainLine, Span,
};

/// Sends every access to the second level that is its line's, where all copies of it are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uncached;

/// Keeps a line in its second level.
const SECOND: NonCoherent = NonCoherent::RDMA;

impl Registered for Uncached {
    fn name(&self) -> &'static str {
        "uncached"
    }
}

impl CoherenceProtocol for Uncached {
    type Stamp = ();
    type Line = PlainLine;
    type Cache = ();
    type Home = ();
    type Controller = ();

    fn path(&self) -> CachePath {
        CachePath::LineL2
    }

    fn in_order(self) -> Option<Self> {
        Some(self)
    }

    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    fn on_access(
        &self,
        level: Level,
        cache: &mut (),
        line: Option<&mut PlainLine>,
        access: Access,
        stamp: (),
    ) -> Lookup<PlainLine, ()> {
        if level == Level::L2 {
            return SECOND.on_access(level, cache, line, access, stamp);
        }
        let ask = match access {
            Access::Read => Ask::Read,
            Access::Write | Access::Overwrite => Ask::Write,
            Access::Atomic => Ask::Atomic,
        };
        Lookup::Forward(Forward {
            ask,
            stamp,
            copy: Meanwhile::Stays,
            hold: access != Access::Read,
        })
    }

    fn on_response(
        &self,
        level: Level,
        cache: &mut (),
        line: Option<&PlainLine>,
        access: Access,
        response: (),
    ) -> Answered<PlainLine, ()> {
        match level {
            Level::L1 => Answered { copy: Copied::Leave, stamp: response },
            Level::L2 => SECOND.on_response(level, cache, line, access, response),
        }
    }

    fn on_request(&self, _: &mut (), _: &mut (), _: Option<u8>, _: Ask, _: ()) {}

    fn on_evict(&self, line: &PlainLine) -> Eviction {
        SECOND.on_evict(line)
    }

    fn on_boundary(&self, _: Level) -> Flush {
        Flush::Nothing
    }

    fn span(&self, line: &PlainLine) -> Span {
        SECOND.span(line)
    }
}
