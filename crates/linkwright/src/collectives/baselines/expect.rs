//! How long NCCL, or RCCL, takes: "is my bus bandwidth right?"
//!
//! What it represents: what the library chooses ([`super::choice`]), and for that choice the
//! latency and bandwidth of the library's own cost model, with two numbers fitted to
//! measurements (`calibration`) and the bandwidths that a user measured. Sends and receives
//! between pairs, which no library has a model of, take one hop and as long as their most
//! loaded link.
//!
//! What it leaves out: as [`super::choice`]. With two servers NCCL's model asks only what each
//! server's rings carry; this takes the network's bandwidth where that is less.

use thiserror::Error;

use super::calibration::{nvlink_reach, reduction_delay};
use super::choice::graph::{Graph, Reach};
use super::choice::model::{Candidate, Model};
use super::choice::rules::Search;
use super::choice::{Choice, ChoiceError, Chooser, Settings};
use super::constants::{Generation, PCIE3_BANDWIDTH, socket_bandwidth};
use super::plans::{Baseline, by_pairs, plan_on};
use crate::collectives::collective::Collective;
use crate::collectives::link_graph::{LinkGraphError, check_gpus};
use crate::collectives::plan::{Links, PlanError};
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
    /// What the library runs.
    pub choice: Choice,
}

/// What to expect, and of which library.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectations {
    /// One row for each size.
    pub rows: Vec<Expectation>,
    /// The library and the release whose rules chose: `NCCL 2.30`.
    pub library: String,
    /// What a person should know.
    pub notes: Vec<String>,
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
    /// Settings that the machine cannot have.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
}

/// What the library takes for a collective of each size on these GPUs, by their ids.
///
/// # Errors
/// [`ExpectError`] where the GPUs do not fit the machine, it cannot have the settings, or no
/// links join them.
pub fn expect(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
    settings: &Settings,
) -> Result<Expectations, ExpectError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let links = if settings.p2p { Links::Auto } else { Links::Host };
    let ring = plan_on(wiring, gpus, collective, Baseline::Ring, links)?.schedule;
    let chooser = Chooser::new(wiring, gpus, collective, settings)?;
    let search = &chooser.rules.search;
    let routes = Routes::on(wiring, |kind| counted_on(search, wiring, gpus, kind, settings))
        .expect("a library counts on no more than a link's peak");
    // Also tells whether links join the GPUs at all.
    let loads = link_bytes(&ring, &routes)?;
    let limits = loads.iter().zip(routes.capacities()).filter(|(load, _)| **load > 0.0);
    let rates = limits.map(|(load, capacity)| capacity.as_gigabytes_per_second() / load);
    let pairs = rates.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
    let reach = reach(search, wiring, gpus, settings);
    let graph = Graph::new(chooser.rules, wiring, gpus, settings, reach);
    let timer = Timer { model: Model { rules: chooser.rules, graph: &graph }, collective, pairs };
    let row = |size: &Bytes| timer.expectation(*size, chooser.choose(size.0));
    Ok(Expectations {
        rows: sizes.iter().map(row).collect(),
        library: chooser.release(),
        notes: chooser.notes,
    })
}

/// Gives a choice its time.
struct Timer<'a> {
    model: Model<'a>,
    collective: Collective,
    /// GB/s of size that sends between pairs move.
    pairs: f64,
}

impl Timer<'_> {
    fn expectation(&self, size: Bytes, choice: Choice) -> Expectation {
        let candidate = self.candidate(&choice);
        let nvlink = self.model.graph.over_fabric && !by_pairs(self.collective);
        let in_switches = choice.algorithm == ExpectedAlgorithm::Nvls;
        let delayed = nvlink && !in_switches;
        let delay = if delayed { reduction_delay(self.collective, size.0) } else { 0.0 };
        let time = candidate.smooth_time(size.0) + delay;
        let algorithm_bandwidth = size.0 as f64 / (time * 1e3);
        let ranks = self.model.graph.ranks;
        Expectation {
            size,
            time: Picoseconds::from_seconds(time * 1e-6),
            algorithm_bandwidth,
            bus_bandwidth: algorithm_bandwidth * self.collective.bus_factor(ranks),
            choice,
        }
    }

    /// The choice on the links as they are.
    fn candidate(&self, choice: &Choice) -> Candidate {
        if by_pairs(self.collective) {
            return self.model.pairs(self.pairs, choice.protocol);
        }
        let is_it =
            |it: &Candidate| (it.algorithm, it.protocol) == (choice.algorithm, choice.protocol);
        let found = self.model.candidates(self.collective).into_iter().find(is_it);
        found.expect("what was chosen is among what there is")
    }
}

/// What the links reach over what the library counts on.
fn reach(search: &Search, wiring: &Wiring, gpus: &[usize], settings: &Settings) -> Reach {
    let generation = Generation::of(wiring, gpus);
    let fabric = wiring.wires().iter().find(|wire| wire.is_gpu_fabric());
    let counted = fabric.and_then(|wire| wire.kind).map_or(1.0, |kind| search.link(kind));
    let measured = settings.link_bandwidth;
    Reach {
        fabric: measured.map_or_else(|| nvlink_reach(search, generation), |it| it / counted),
        host: measured,
        network: settings.network_bandwidth,
    }
}

/// What the library counts on from a link, or was measured, over its peak.
fn counted_on(
    search: &Search,
    wiring: &Wiring,
    gpus: &[usize],
    kind: LinkKind,
    settings: &Settings,
) -> f64 {
    let peak = kind.data_sheet().bandwidth.as_gigabytes_per_second();
    let between = wiring.wires().iter().find(|wire| wire.kind == Some(kind));
    let between = between.map_or(peak, |wire| wire.bandwidth.as_gigabytes_per_second());
    let reach = reach(search, wiring, gpus, settings);
    let counted = if kind.is_gpu_fabric() {
        search.link(kind) * reach.fabric / peak
    } else if kind.is_pcie() {
        let believed =
            PCIE3_BANDWIDTH / LinkKind::Pcie3.data_sheet().bandwidth.as_gigabytes_per_second();
        reach.host.map_or(believed, |measured| measured / between)
    } else if kind.is_network() || kind == LinkKind::OnDie {
        1.0
    } else {
        socket_bandwidth(search, wiring).unwrap_or(between) / between
    };
    counted.min(1.0)
}

#[cfg(test)]
mod tests;
