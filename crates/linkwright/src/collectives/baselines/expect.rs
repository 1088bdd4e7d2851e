//! How long today's NCCL takes: "is my bus bandwidth right?"
//!
//! What it represents: NCCL's own cost model. For every algorithm and protocol the time is a
//! latency plus the size over a bandwidth; the least of them is what NCCL runs. The channels
//! are those of the rings that [`super::rings`] finds, the constants NCCL 2.30's
//! (`constants`), and two numbers are fitted to measurements (`calibration`).
//! Sends and receives between pairs, which NCCL has no model of, take one hop and as long as
//! their most loaded link.
//!
//! What it leaves out: `CollNet`, PAT, NVLS between servers, registered buffers, CUDA graphs,
//! and the plateau that NCCL knows of Blackwell. With two servers NCCL's model asks only what
//! each server's rings carry; this takes the network's bandwidth where that is less.

mod choices;

use thiserror::Error;

use self::choices::{Choice, Graph};
use super::calibration::nvlink_reach;
use super::constants::{Generation, PCIE3_BANDWIDTH, nvlink_bandwidth, socket_bandwidth};
use super::plans::{Baseline, by_pairs, plan_on};
use crate::collectives::collective::Collective;
use crate::collectives::link_graph::{LinkGraphError, check_gpus};
use crate::collectives::plan::{Links, PlanError};
use crate::collectives::schedule::Protocol;
use crate::collectives::time::{TimeError, link_bytes};
use crate::network::Routes;
use crate::system::{LinkKind, System, Wiring};
use crate::units::{Bytes, Picoseconds};

/// What NCCL runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExpectedAlgorithm {
    /// Around rings.
    Ring,
    /// Up and down trees: a chain in each server, double binary trees between them.
    Tree,
    /// Reduced and multicast by the `NVSwitches` (NVLink SHARP), from Hopper on.
    Nvls,
    /// Sends and receives between pairs.
    Pairs,
}

impl ExpectedAlgorithm {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::Nvls => "nvls",
            Self::Pairs => "pairs",
        }
    }
}

/// What to expect of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// The data, as nccl-tests counts it.
    pub size: Bytes,
    /// From the call to the end.
    pub time: Picoseconds,
    /// Size over time, GB/s.
    pub algorithm_bandwidth: f64,
    /// nccl-tests' bus bandwidth, GB/s.
    pub bus_bandwidth: f64,
    /// What NCCL runs.
    pub algorithm: ExpectedAlgorithm,
    /// With which protocol.
    pub protocol: Protocol,
}

/// Why there is nothing to expect.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ExpectError {
    /// The GPUs do not fit the machine.
    #[error(transparent)]
    Links(#[from] LinkGraphError),
    /// No links join the GPUs.
    #[error(transparent)]
    Route(#[from] TimeError),
    /// NCCL has no such plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// GPUs that NCCL does not run on.
    #[error("`{0}` has AMD GPUs, and NCCL runs on NVIDIA's; RCCL's constants are not known here")]
    NotNvidia(String),
}

/// What today's NCCL takes for a collective of each size on these GPUs, by their ids.
///
/// # Errors
/// [`ExpectError`] where the GPUs do not fit the machine, are no NVIDIA GPUs, or no links join
/// them.
pub fn expect(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
) -> Result<Vec<Expectation>, ExpectError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    if wiring.wires().iter().any(|wire| wire.kind.is_some_and(LinkKind::is_xgmi)) {
        return Err(ExpectError::NotNvidia(wiring.name().to_owned()));
    }
    let links = Links::Auto;
    let ring = plan_on(wiring, gpus, collective, Baseline::Ring, links)?.schedule;
    let routes = Routes::on(wiring, |kind| counted_on(wiring, gpus, kind))
        .expect("NCCL counts on no more than a link's peak");
    // Also tells whether links join the GPUs at all.
    let loads = link_bytes(&ring, &routes)?;
    let graph = Graph::new(wiring, gpus);
    let choices = if by_pairs(collective) {
        let limits = loads.iter().zip(routes.capacities()).filter(|(load, _)| **load > 0.0);
        let rates = limits.map(|(load, capacity)| capacity.as_gigabytes_per_second() / load);
        graph.pairs(rates.min_by(f64::total_cmp).unwrap_or(f64::INFINITY))
    } else {
        graph.choices(collective)
    };
    let ranks = gpus.len();
    Ok(sizes.iter().map(|size| best(&choices, collective, ranks, *size)).collect())
}

fn best(choices: &[Choice], collective: Collective, ranks: usize, size: Bytes) -> Expectation {
    let times = choices.iter().map(|choice| (choice.time(collective, size.0), choice));
    let (time, choice) =
        times.min_by(|a, b| a.0.total_cmp(&b.0)).expect("rings can always be chosen");
    let algorithm_bandwidth = size.0 as f64 / (time * 1e3);
    Expectation {
        size,
        time: Picoseconds::from_seconds(time * 1e-6),
        algorithm_bandwidth,
        bus_bandwidth: algorithm_bandwidth * collective.bus_factor(ranks),
        algorithm: choice.algorithm,
        protocol: choice.protocol,
    }
}

/// What NCCL counts on from a link, over its peak.
fn counted_on(wiring: &Wiring, gpus: &[usize], kind: LinkKind) -> f64 {
    let peak = kind.data_sheet().bandwidth.as_gigabytes_per_second();
    let between = wiring.wires().iter().find(|wire| wire.kind == Some(kind));
    let between = between.map_or(peak, |wire| wire.bandwidth.as_gigabytes_per_second());
    let counted = if kind.is_gpu_fabric() {
        nvlink_bandwidth(kind) * nvlink_reach(Generation::of(wiring, gpus)) / peak
    } else if kind.is_pcie() {
        PCIE3_BANDWIDTH / LinkKind::Pcie3.data_sheet().bandwidth.as_gigabytes_per_second()
    } else if kind.is_network() || kind == LinkKind::OnDie {
        1.0
    } else {
        socket_bandwidth(wiring).unwrap_or(between) / between
    };
    counted.min(1.0)
}

#[cfg(test)]
mod tests;
