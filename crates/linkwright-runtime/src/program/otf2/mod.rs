//! Reads an archive of the Open Trace Format 2, as Score-P, TAU and others write it.
//!
//! The reader covers the anchor file and the global definitions: the clock, regions, communicators,
//! parameters and locations. It covers each location's mapping tables and clock offsets. It covers
//! each location's events of regions, MPI messages, requests and collectives, with the references
//! resolved to the global definitions. It reads both byte orders and trace formats 0 to 2.
//!
//! It leaves out the system tree, attributes of events, metrics, RMA windows, threads, input and
//! output, calling contexts, snapshots and thumbnails. It skips their records by the length that
//! each carries, and keeps their events as [`EventKind::Other`]. It refuses archives in SIONlib
//! containers and compressed ones. The roles of regions in archives from before OTF2 1.1 are
//! [`RegionRole::Unknown`].
//!
//! An MPI call is a region of [`Paradigm::Mpi`] with the call's name, entered and left. Its
//! messages and collectives are events between the two. `MPI_Send` holds one
//! [`EventKind::MpiSend`], and `MPI_Recv` one [`EventKind::MpiRecv`] with the sender that was
//! found. `MPI_Isend` holds one [`EventKind::MpiIsend`]. `MPI_Irecv` holds one
//! [`EventKind::MpiIrecvRequest`] with nothing but the request's number. The calls that wait and
//! test hold an event for each request that they completed, in the order of completion. It is an
//! [`EventKind::MpiIrecv`], with sender, tag and length, or an [`EventKind::MpiIsendComplete`]. A
//! collective is an [`EventKind::MpiCollectiveBegin`] and an [`EventKind::MpiCollectiveEnd`]. A
//! call that has none of these inside, such as `MPI_Init`, took time only.
//!
//! The layout was studied in the format's own library (OTF2 3.1.1, BSD licence, in the package
//! `otf2` on PyPI). The tests' reference is that library's reading of two archives.

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
pub use self::event::{CollectiveOperation, CollectiveRecord, Event, EventKind, MessageEnd, Root};
pub use self::files::ArchiveFiles;
pub use self::kinds::{LocationKind, Paradigm, RegionRole};
