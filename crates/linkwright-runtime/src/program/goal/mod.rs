//! GOAL: the text that LogGOPSim reads.
//!
//! GOAL (Group Operation Assembly Language; Hoefler, Siebert, Lumsdaine, ICPP 2009) writes for
//! each rank calculations, sends and receives, and which of them wait for which. The grammar
//! is that of LogGOPSim's `txt2bin`:
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 100
//! l2: send 10b to 1 tag 5 cpu 0 nic 0
//! l2 requires l1
//! }
//! rank 1 {
//! l1: recv 10b from 0 tag 5
//! }
//! ```
//!
//! A label is optional and a letter with letters, digits and `_` behind it. A statement ends with
//! its line. `l2 requires l1`: *l2* starts once *l1* is complete; `l2 irequires l1`: once it has
//! started. A tag, `cpu` or `nic` that is left out is 0. A receive `from -1` takes any sender and
//! `tag -1` any tag. `//` starts a comment to the end of the line, and `/*` one up to `*/`. Times
//! are whole nanoseconds unless [`Options`] say otherwise.
//!
//! **Reading.** Stricter than `txt2bin` where that goes on silently: labels are unique in
//! their rank, every rank has one block, and peers exist. `calc 0`, which GOAL's writers use to
//! tie dependencies together, becomes a join. A rank here computes one thing at a time, and its
//! system says which interfaces it has. Calculations of one rank that name several `cpu`s, and
//! messages that name several `nic`s, are refused: LogGOPSim would run them side by side.
//! Operations that depend on later ones are put behind them.
//!
//! **Writing.** Collectives are lowered to messages first. Joins, and the entering and leaving
//! of regions, become `calc 0`, so that the regions' names are dropped and what depends on them
//! is not. As GOAL has no communicators, a program with several gets new tags, one for each
//! pair of communicator and tag. Durations are rounded to the unit of time. One iteration is
//! written: GOAL has no loops, and the mark of the main loop is lost.

mod read;
#[cfg(test)]
mod tests;
mod token;
mod write;

pub use read::read;
pub use write::{WriteError, write};

use crate::units::Picoseconds;

/// How GOAL's numbers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Holds the unit of `calc`.
    pub time_unit: Picoseconds,
}

impl Default for Options {
    /// Nanoseconds, as LogGOPSim takes them.
    fn default() -> Self {
        Self { time_unit: Picoseconds(1_000) }
    }
}
