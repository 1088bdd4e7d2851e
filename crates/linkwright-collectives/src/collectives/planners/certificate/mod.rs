//! Certificates of optimal rates: why no schedule of a plan's kind is faster.
//!
//! A planner says that its rate is the best, and its word is not proof. A certificate is: it names
//! devices and links, and whoever adds up the links' bandwidths sees that no more data passes.
//! `Plan::certificate` finds one, by flows and partitions as planners have them. [`verify`] believes
//! nothing: it reads the links of the system, adds integers, and shares no code with planners nor with
//! the graph algorithms behind them.
//!
//! - A [`Proof::Cut`] has devices on one side. The collective needs a number of bytes to leave that
//!   side for each byte of its size, whatever the schedule. The rate is the capacity that leaves
//!   over that need.
//! - [`Proof::Parts`] is of an all-reduce: GPUs stand in p parts. The first part that knows a byte
//!   of the result has heard of p - 1 others. After that, p - 1 parts hear of the result. So each
//!   byte arrives at parts 2 (p - 1) times (Harary and Schwenk, "The communication problem on
//!   graphs and digraphs", J. Franklin Institute 297, 1974); with single GPUs of a connected graph
//!   it is the bound of Tutte and Nash-Williams on spanning trees.
//! - [`Proof::InSwitch`] is of an all-reduce whose switches reduce and copy. It proves what
//!   `optimum` says of it.
//! - [`Proof::Weights`] is of an all-to-all that no cut bounds: the dual of its linear programme.
//!   Each link has a length. A flow between two GPUs takes at least their distance in lengths. All
//!   links together hold their bandwidths times their lengths.
//!
//! It leaves out latencies, the fabric's own switches, and the part of its peak
//! that a link reaches.

mod cuts;
mod find;
mod refusal;
mod verify;
mod weights;

use serde::{Deserialize, Serialize};

pub use refusal::Refusal;
pub use verify::{Claim, TOLERANCE, verify};

use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::collective::Collective;
use crate::system::DeviceId;
use crate::units::Bandwidth;

/// Says what a certificate proves a rate by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Proof {
    /// Data has to leave one side.
    Cut {
        /// The devices on that side; all others are on the other.
        side: Vec<DeviceId>,
    },
    /// The result of an all-reduce has to arrive at parts.
    Parts {
        /// Lists the devices of each. A device in none forwards between them.
        parts: Vec<Vec<DeviceId>>,
    },
    /// The links of all GPUs hold the reductions and copies of switches.
    InSwitch,
    /// Holds lengths: flows take at least the distances between GPUs.
    Weights {
        /// For each rank, distances of devices from it that are no longer than the lengths allow.
        distances: Vec<Vec<(DeviceId, u64)>>,
    },
}

impl Proof {
    /// Gives its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cut { .. } => "cut",
            Self::Parts { .. } => "parts",
            Self::InSwitch => "in-switch",
            Self::Weights { .. } => "weights",
        }
    }
}

/// Links from one device to another, and how they count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CutLink {
    /// Names the device that they lead from.
    pub from: DeviceId,
    /// Names the device that they lead to.
    pub to: DeviceId,
    /// Sums what all of them carry in this direction, B/s.
    pub bandwidth: u64,
    /// Counts how often their bandwidth counts: once, but for lengths.
    pub weight: u64,
}

/// How many bytes a byte of the collective's size needs: a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Is the numerator.
    pub bytes: u64,
    /// Is the denominator.
    pub of: u64,
}

/// Why no schedule passes a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Names the collective; a root is a rank.
    pub collective: Collective,
    /// The job's GPUs by their ids; rank `i` is `gpus[i]`.
    pub gpus: Vec<usize>,
    /// Lists GPUs beside the job's that forward.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub helpers: Vec<usize>,
    /// The links that schedules may take.
    pub links: LinkClass,
    /// Network interfaces that such schedules leave out, since others are nearer to the GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<DeviceId>,
    /// By what it is proved.
    pub proof: Proof,
    /// The links that count, by their ends.
    pub crossing: Vec<CutLink>,
    /// Sums bandwidths times weights, B/s.
    pub capacity: u128,
    /// Says what a byte of the size needs of it.
    pub need: Need,
    /// Gives capacity over need, which no schedule passes, B/s of the size.
    pub bound: Bandwidth,
}

/// Capacity over need, rounded; None where nothing is needed or the number is too large.
fn quotient(capacity: u128, need: Need) -> Option<Bandwidth> {
    let bytes = u128::from(need.bytes);
    let scaled = capacity.checked_mul(u128::from(need.of))?.checked_add(bytes / 2)?;
    u64::try_from(scaled.checked_div(bytes)?).ok().map(Bandwidth)
}

#[cfg(test)]
mod tests;
