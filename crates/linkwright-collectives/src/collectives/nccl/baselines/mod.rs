//! Models the collectives that people run today, so that a comparison is honest.
//!
//! Every name says which NCCL it means:
//! - `nccl-classic`: NCCL 2.3 and 2.4, of Blink's time. Rings over NVLink where one through all
//!   GPUs exists, else one ring over PCIe (NVIDIA/nccl#179, #301).
//! - `nccl-ring`: recent NCCL, as seen in 2.18.5 and 2.30. Where no ring of direct NVLinks
//!   exists, hops without one relay through a GPU (NVB; NVIDIA/nccl#819).
//! - `nccl-tree` has the trees of recent NCCL: a chain within a server, double binary trees between
//!   servers.
//!
//! [`fn@choose`] predicts the choice of a release of NCCL, or of RCCL, for a size: algorithm,
//! protocol, channels and chunks, by its own cost model. [`fn@expect`] says how long that takes.
//! `CollNet` is left out, and so is NVLS between servers, which takes it.

mod channel_graphs;
mod channel_interfaces;
mod choice;
mod choice_ranges;
mod constants;
mod deep_trees;
pub mod double_tree;
pub mod expect;
mod expected_algorithm;
mod fabric;
mod generation;
mod interfaces;
mod plans;
pub mod rings;
mod search;
mod silicon;
mod timed;
mod uneven;
mod wide_exchange;

pub use channel_graphs::channel_graphs;
pub use channel_interfaces::{ChannelEnd, ChannelInterfaces, channel_interfaces};
pub use choice::{
    Choice, ChoiceError, ChoiceExplanation, Chunking, ElementType, FoundGraph, Library, ModelCost,
    ReduceOperation, Release, Settings, Version, VersionError, choices, choose, explain,
    release_on, releases,
};
pub(in crate::collectives) use choice::{Chooser, PARTS_OF_A_STEP, newest_dealing};
pub use choice_ranges::{ChoiceRange, choice_ranges};
pub(in crate::collectives) use constants::{AMD, has_cpu_of};
pub use expect::at_once::{GroupTime, GroupTimes};
pub use expect::doubts::doubts;
pub use expect::{ExpectError, Expectation, Expectations, expect, expect_with, expected_timings};
pub use expected_algorithm::ExpectedAlgorithm;
pub(in crate::collectives) use expected_algorithm::by_pairs;
pub(in crate::collectives) use fabric::by_server;
pub(in crate::collectives) use generation::Generation;
pub use interfaces::CrossNic;
pub(in crate::collectives) use interfaces::{Dealing, Messages};
pub use plans::{BaselinePlan, ChosenPlanError, NcclBaseline, baseline_plan, chosen_plan};
pub(in crate::collectives) use plans::{plan_choice, plan_on};
pub use rings::{Era, FoundRing, RingPath, Rings, find_rings};
pub(in crate::collectives) use silicon::Silicon;
pub(in crate::collectives) use timed::Timed;
pub use uneven::{ByteMatrix, ExchangeBound, MatrixError, UnevenError, UnevenTime, expect_uneven};
