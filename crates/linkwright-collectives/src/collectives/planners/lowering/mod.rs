//! Turns trees, rings and paths between ranks into the steps of a schedule.
//!
//! Every lowering appends a step after all those that it waits for. These are on this rank or
//! another, or in lockstep around a ring. So no schedule made here can deadlock.

pub mod equal_servers;
pub mod parallel_trees;
pub mod path;
pub mod ring;
pub mod three_phase;
pub mod tree;

pub use equal_servers::{PlaceTree, schedule_of_equal_servers};
pub(in crate::collectives) use parallel_trees::outline_of_parallel_trees;
pub use parallel_trees::schedule_of_parallel_trees;
pub use path::{RankPath, schedule_of_paths};
pub(in crate::collectives) use ring::outline_of_rings;
pub use ring::{Ring, schedule_of_rings};
pub use three_phase::{LocalTree, Partition, schedule_of_partitions};
pub use tree::{RootedTree, schedule_of_trees};
