//! Holds one model of a multi-GPU system.
//!
//! A [`system::System`] is servers (devices and links) and the fabric that joins them. Jobs meet it
//! when an [`allocation`] policy gives each its GPUs. [`simulation`] plays the whole mix, on a
//! shared server or over a cluster's [`network`]. It returns columns that a person can read.
//!
//! The modules form layers, lowest first; a module uses only those before it. Most stand in crates of
//! their own, whose names begin with `linkwright-`; this crate offers all but `xml`:
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`diagnostic`] | where an input is wrong, and what would work |
//! | [`units`] | picoseconds, bytes, bytes per second |
//! | [`table`] | columns with names and units: every result |
//! | `xml` | XML from strangers, with the place of every fault |
//! | [`engine`] | one clock and one loop for every model, event queue, seeded random numbers, progress |
//! | [`graph`] | exact cuts, flows and tree packings on plain integers |
//! | [`system`] | servers, fabrics, and systems of both: presets, importers, writers, views |
//! | [`network`] | messages over a system, as packets or as flows: paths, routing, arbitration |
//! | [`program`] | what every rank of a job does, and readers of what real jobs did |
//! | [`runtime`] | programs that run over a network |
//! | [`allocation`] | patterns, scores, policies, live state |
//! | [`collectives`] | schedules of broadcast, all-reduce and the others |
//! | [`doctor`] | why a collective is slow: from logs to a cause |
//! | [`memory`] | caches and memory inside GPUs, and coherence of their copies |
//! | [`thermal`] | the steady-state heat of a package |
//! | [`training`] | neural networks by their layers, and what a step of training takes |
//! | [`simulation`] | jobs, the multi-tenant server, clusters, results; energy and heat observe these |
//! | [`scenario`] | one file format: read, put together, compared |
//!
//! The crate is pure: no Python, no printing, no wall clock, no global state.

pub use linkwright_allocation::allocation;
pub use linkwright_collectives::collectives;
pub use linkwright_doctor::doctor;
pub use linkwright_graph::graph;
pub use linkwright_ground::{diagnostic, engine, table, units};
pub use linkwright_memory::memory;
pub use linkwright_network::network;
pub use linkwright_runtime::{program, runtime};
pub use linkwright_system::system;
pub use linkwright_thermal::thermal;
pub use linkwright_training::training;

pub mod scenario;
pub mod simulation;
