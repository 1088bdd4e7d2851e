//! Reads an archive of the Open Trace Format 2, as Score-P, TAU and others write it.
//!
//! What it represents: the anchor file, the clock, regions, communicators, parameters and
//! locations of the global definitions, each location's mapping tables and clock offsets, and
//! each location's events of regions, MPI messages, requests and collectives, with the
//! references resolved to the global definitions. Both byte orders and trace formats 0 to 2.
//!
//! What it leaves out: the system tree, attributes of events, metrics, RMA windows, threads,
//! input and output, calling contexts, snapshots and thumbnails (their records are skipped by
//! the length that each carries, and their events kept as [`EventKind::Other`]), archives in
//! SIONlib containers and compressed ones (refused). The roles of regions in archives from
//! before OTF2 1.1 are [`RegionRole::Unknown`].
//!
//! The layout was studied in the format's own library (OTF2 3.1.1, BSD licence, in the package
//! `otf2` on PyPI); what that library reads from two archives is the tests' reference.

mod anchor;
mod archive;
mod balance;
mod bytes;
mod clock;
mod event;
mod events;
mod files;
mod global;
mod groups;
mod kinds;
mod local;
mod records;
#[cfg(test)]
mod tests;

pub use self::archive::{Archive, Communicator, Location, Members, Parameter, Region};
pub use self::balance::{Imbalance, Unbalanced};
pub use self::clock::{ClockCorrection, ClockOffset, ClockProperties};
pub use self::event::{CollectiveCall, CollectiveOperation, Event, EventKind, Message, Root};
pub use self::files::ArchiveFiles;
pub use self::kinds::{LocationKind, Paradigm, RegionRole};
