//! Which GPUs a job gets (MAPA, SC'21).

pub mod allocator;
pub mod bandwidth;
mod best_bound_first;
mod by_edges;
mod candidates;
pub mod counters;
pub mod effort;
pub mod error;
pub mod gpu_set;
pub mod links;
pub(crate) mod matching;
pub mod nearness;
pub mod owner;
pub mod pattern;
pub mod policies;
pub mod policy;
pub mod prepared;
mod proof;
mod saved;
pub mod selection;
pub mod shares;
pub mod state;
pub mod traffic;
pub mod wiring;

pub use allocator::{Allocator, Explanation};
pub use effort::Effort;
pub use error::AllocationError;
pub use gpu_set::{GpuSet, MAX_GPUS};
pub use nearness::{Nearness, Ties};
pub use owner::{Ended, Owner};
pub use pattern::{Pattern, PatternShape};
pub use policy::{ChosenPolicy, POLICIES, Policy, Request, policies, policy};
pub use prepared::{BandwidthModel, Match, PreparedMachine};
pub use selection::{Objective, Selection};
pub use shares::EdgeShare;
pub use state::ServerState;
