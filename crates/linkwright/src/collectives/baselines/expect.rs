//! How long NCCL, or RCCL, takes: "is my bus bandwidth right?"
//!
//! What it represents: what the library chooses ([`super::choice`]), and the time of that choice's
//! schedule, played alone on its links as any other is ([`mod@super::super::time`]), with the
//! bandwidths that a user measured in place of what links reach.
//!
//! What it leaves out: as [`super::choice`] and the clock.

use thiserror::Error;

use super::choice::{Choice, ChoiceError, Chooser, Settings};
use super::plans::plan_choice;
use crate::collectives::collective::Collective;
use crate::collectives::link_graph::{LinkGraphError, check_gpus};
use crate::collectives::plan::PlanError;
use crate::collectives::schedule::Schedule;
use crate::collectives::time::{Player, Processes, Setting, Terms, TimeError};
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
    expect_with(system, gpus, collective, sizes, settings, Terms::shipped())
}

/// As [`expect`], with other terms of what kernels cost.
///
/// # Errors
/// As [`expect`].
pub fn expect_with(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
    settings: &Settings,
    terms: &Terms,
) -> Result<Expectations, ExpectError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let chooser = Chooser::new(wiring, gpus, collective, settings)?;
    let routes = Routes::on(wiring, |kind| reached(wiring, kind, settings))
        .expect("what is reached lies above 0 and is at most the peak");
    let choices: Vec<Choice> = sizes.iter().map(|size| chooser.choose(size.0)).collect();
    // Sizes that differ in their chunks alone are played on one schedule.
    let is_same = |a: &Choice, b: &Choice| {
        (a.algorithm, a.protocol, a.channels) == (b.algorithm, b.protocol, b.channels)
    };
    let mut kinds: Vec<&Choice> = Vec::new();
    for choice in &choices {
        if !kinds.iter().any(|known| is_same(known, choice)) {
            kinds.push(choice);
        }
    }
    let schedules: Vec<Schedule> = kinds
        .iter()
        .map(|choice| Ok(plan_choice(wiring, gpus, collective, &chooser, choice)?.schedule))
        .collect::<Result<_, PlanError>>()?;
    let processes = settings.processes.unwrap_or_else(|| Processes::usual(wiring, gpus));
    let processes = processes.of(chooser.launches_as_group());
    let mut players = Vec::new();
    for schedule in &schedules {
        let setting = Setting { processes, ..Setting::usual(schedule, wiring) };
        let costs = terms.protocol(schedule.protocol, setting);
        players.push(Player::on(schedule, &routes, &costs)?);
    }
    let row = |(size, choice): (&Bytes, &Choice)| {
        let at = kinds.iter().position(|known| is_same(known, choice));
        let timing =
            players[at.expect("each choice has a schedule")].time(*size, choice.longest_run())?;
        Ok(Expectation {
            size: *size,
            time: timing.time,
            algorithm_bandwidth: timing.algorithm_bandwidth,
            bus_bandwidth: timing.bus_bandwidth,
            choice: *choice,
        })
    };
    Ok(Expectations {
        rows: sizes.iter().zip(&choices).map(row).collect::<Result<_, TimeError>>()?,
        library: chooser.release(),
        notes: chooser.notes,
    })
}

/// What long transfers reach of a kind of link, or what was measured, over its peak.
fn reached(wiring: &Wiring, kind: LinkKind, settings: &Settings) -> f64 {
    let share = |measured: f64, peak: f64| (measured / peak).min(1.0);
    let peak = kind.data_sheet().bandwidth.as_gigabytes_per_second();
    let has_fabric = wiring.wires().iter().any(|wire| wire.is_gpu_fabric());
    let is_between_gpus = if has_fabric { kind.is_gpu_fabric() } else { kind.is_pcie() };
    match (settings.link_bandwidth, settings.network_bandwidth) {
        (Some(measured), _) if is_between_gpus => {
            let of_kind = wiring.wires().iter().find(|wire| wire.kind == Some(kind));
            let one = of_kind.map_or(peak, |wire| {
                wire.bandwidth.as_gigabytes_per_second() / f64::from(wire.count.max(1))
            });
            share(measured, one)
        }
        (_, Some(measured)) if kind.is_network() => share(measured, ports_of_a_server(wiring)),
        _ => kind.reached_share(),
    }
}

/// GB/s of all network ports of the first server.
fn ports_of_a_server(wiring: &Wiring) -> f64 {
    let is_own = |device: usize| wiring.devices()[device].server == Some(0);
    let ports = wiring.wires().iter().filter(|wire| wire.is_network());
    let own = ports.filter(|wire| is_own(wire.a) || is_own(wire.b));
    own.map(|wire| wire.bandwidth.as_gigabytes_per_second()).sum()
}

#[cfg(test)]
mod tests;
