//! How long NCCL, or RCCL, takes: "is my bus bandwidth right?"
//!
//! It represents the library's choice ([`super::choice`]), and the time of that choice's schedule.
//! The schedule is played alone on its links as any other is
//! ([`mod@crate::collectives::schedule::time`]). Bandwidths that a user measured replace those that
//! links reach.
//!
//! It leaves out the same as [`super::choice`] and the clock.

pub mod at_once;
pub mod doubts;
pub mod worn;

use thiserror::Error;

use super::choice::{Choice, ChoiceError, Chooser, Settings};
use super::deep_trees::DeepPlayer;
use super::timed::{Timed, timed_choice};
use super::wide_exchange::WidePlayer;
use crate::collectives::planners::link_graph::{LinkGraphError, check_gpus};
use crate::collectives::planners::plan::PlanError;
use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{
    CollectiveTerms, KernelSetting, Player, Processes, TimeError, Timing, resources,
};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::{PeakShare, System, Wire, Wiring};
use crate::units::{Bytes, Picoseconds};

/// Holds the expected times of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// Counts the data as nccl-tests does.
    pub size: Bytes,
    /// Measures the time from the call to the end.
    pub time: Picoseconds,
    /// Divides size by time, GB/s.
    pub algorithm_bandwidth: f64,
    /// Gives nccl-tests' bus bandwidth, GB/s.
    pub bus_bandwidth: f64,
    /// Describes the operation that the library runs.
    pub choice: Choice,
}

impl Expectation {
    /// That of a timing and what the library runs.
    fn of((timing, choice): (Timing, &Choice)) -> Self {
        Self {
            size: timing.size,
            time: timing.time,
            algorithm_bandwidth: timing.algorithm_bandwidth,
            bus_bandwidth: timing.bus_bandwidth,
            choice: *choice,
        }
    }
}

/// Holds the expected times, and names the library that they are for.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectations {
    /// Holds one row for each size.
    pub rows: Vec<Expectation>,
    /// Names the library and the release whose rules chose: `NCCL 2.30`.
    pub library: String,
    /// Lists the notes for a person.
    pub notes: Vec<String>,
}

/// Why there is nothing to expect.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ExpectError {
    /// The GPUs do not fit the machine.
    #[error(transparent)]
    Links(#[from] LinkGraphError),
    /// Fails where no links join the GPUs.
    #[error(transparent)]
    Route(#[from] TimeError),
    /// NCCL has no such plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Settings that the machine cannot have.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
}

impl Diagnose for ExpectError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Links(error) => error.diagnosis(),
            Self::Route(error) => error.diagnosis(),
            Self::Plan(error) => error.diagnosis(),
            Self::Choice(error) => error.diagnosis(),
        }
    }
}

/// Returns the time that the library takes for a collective of each size on these GPUs, by their
/// ids.
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
    expect_with(system, gpus, collective, sizes, settings, CollectiveTerms::shipped())
}

/// Works as [`expect`], with other terms for the cost of kernels.
///
/// # Errors
/// Fails as [`expect`] does.
pub fn expect_with(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
    settings: &Settings,
    terms: &CollectiveTerms,
) -> Result<Expectations, ExpectError> {
    let prepared = Prepared::new(system, gpus, collective, sizes, settings)?;
    let timings = prepared.times(&prepared.wiring, terms)?;
    let rows = timings.into_iter().zip(&prepared.choices).map(Expectation::of).collect();
    let library = prepared.chooser.release();
    Ok(Expectations { rows, library, notes: prepared.chooser.notes })
}

/// As [`expect`], with what each link carries.
///
/// # Errors
/// Fails as [`expect`] does.
pub fn expected_timings(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
    settings: &Settings,
) -> Result<Vec<Timing>, ExpectError> {
    let prepared = Prepared::new(system, gpus, collective, sizes, settings)?;
    Ok(prepared.times(&prepared.wiring, CollectiveTerms::shipped())?)
}

/// Holds the planned operations of a library for some sizes. They are to be played on the job's
/// links, and on others.
pub(in crate::collectives) struct Prepared<'a> {
    pub(in crate::collectives) wiring: Wiring,
    pub(in crate::collectives) chooser: Chooser,
    /// Holds the choice of each size.
    pub(in crate::collectives) choices: Vec<Choice>,
    /// Each once: sizes that differ in their chunks alone are played on one.
    pub(in crate::collectives) schedules: Vec<Timed>,
    /// How ranks are processes.
    pub(in crate::collectives) processes: Processes,
    collective: Collective,
    sizes: &'a [Bytes],
    /// Holds the place of each size's schedule.
    played: Vec<usize>,
}

/// A schedule that is ready to be played, or those that stand for it.
enum Played<'a> {
    One(Box<Player<'a>>),
    Deep(Box<DeepPlayer<'a>>),
    Wide(Box<WidePlayer<'a>>),
}

impl<'a> Prepared<'a> {
    /// # Errors
    /// Fails as [`expect`] does.
    pub(in crate::collectives) fn new(
        system: &System,
        gpus: &[usize],
        collective: Collective,
        sizes: &'a [Bytes],
        settings: &Settings,
    ) -> Result<Self, ExpectError> {
        check_gpus(system, gpus)?;
        let wiring = as_measured(Wiring::of_gpus(system, gpus), settings);
        let chooser = Chooser::new(&wiring, gpus, collective, settings)?;
        let choices: Vec<Choice> = sizes.iter().map(|size| chooser.choose(size.0)).collect();
        let is_same = |a: &Choice, b: &Choice| {
            (a.algorithm, a.protocol, a.channels) == (b.algorithm, b.protocol, b.channels)
        };
        let mut kinds: Vec<&Choice> = Vec::new();
        let mut played = Vec::with_capacity(sizes.len());
        for choice in &choices {
            let known = kinds.iter().position(|known| is_same(known, choice));
            played.push(known.unwrap_or(kinds.len()));
            if known.is_none() {
                kinds.push(choice);
            }
        }
        let schedules = kinds
            .iter()
            .map(|choice| timed_choice(&wiring, gpus, collective, &chooser, choice))
            .collect::<Result<_, PlanError>>()?;
        let processes = settings.processes.unwrap_or_else(|| Processes::usual(&wiring, gpus));
        let processes = processes.of(chooser.launches_as_group());
        Ok(Self { wiring, chooser, choices, schedules, processes, collective, sizes, played })
    }

    /// How long each size takes on the job's links, as this wiring has them.
    ///
    /// # Errors
    /// Fails where no links join the GPUs.
    pub(in crate::collectives) fn times(
        &self,
        wiring: &Wiring,
        terms: &CollectiveTerms,
    ) -> Result<Vec<Timing>, TimeError> {
        let routes = resources(wiring);
        let mut players = Vec::with_capacity(self.schedules.len());
        for timed in &self.schedules {
            let schedule = timed.schedule();
            let costs = terms.protocol(schedule.protocol, self.setting(schedule, wiring));
            let whole = |schedule| Player::on(schedule, &routes, &costs);
            players.push(match timed {
                Timed::Whole(schedule) => Played::One(Box::new(whole(schedule)?)),
                Timed::Outline(outline) => {
                    Played::One(Box::new(Player::on_outline(outline, &routes, &costs)?))
                }
                Timed::Deep(tree) => Played::Deep(Box::new(tree.players(whole)?)),
                Timed::Wide(exchange) => Played::Wide(Box::new(exchange.players(whole)?)),
            });
        }
        let rows = self.sizes.iter().zip(&self.choices).zip(&self.played);
        rows.map(|((size, choice), at)| {
            let chunk = choice.longest_run(self.collective);
            match &players[*at] {
                Played::One(player) => player.time(*size, chunk),
                Played::Deep(player) => player.time(*size, chunk),
                Played::Wide(player) => player.time(*size, chunk),
            }
        })
        .collect()
    }

    /// Says where the kernels of a schedule run.
    pub(in crate::collectives) fn setting<'s>(
        &self,
        schedule: &'s Schedule,
        wiring: &'s Wiring,
    ) -> KernelSetting<'s> {
        KernelSetting { processes: self.processes, ..KernelSetting::usual(schedule, wiring) }
    }
}

/// Returns the wiring with a user's measurements in place of the bandwidths that its links reach.
pub(super) fn as_measured(wiring: Wiring, settings: &Settings) -> Wiring {
    let has_fabric = wiring.wires().iter().any(Wire::is_gpu_fabric);
    let ports = ports_of_a_server(&wiring);
    let share = |measured: f64, peak: f64| PeakShare::of((measured / peak).clamp(1e-6, 1.0));
    wiring.measured(|wire| {
        let is_between_gpus = if has_fabric { wire.is_gpu_fabric() } else { wire.is_pcie() };
        let one = wire.bandwidth.as_gigabytes_per_second() / f64::from(wire.count.max(1));
        match (settings.link_bandwidth, settings.network_bandwidth) {
            (Some(measured), _) if is_between_gpus => {
                (wire.reached, wire.in_switch) = (share(measured, one), None);
            }
            (_, Some(measured)) if wire.is_network() => wire.reached = share(measured, ports),
            _ => {}
        }
    })
}

/// Returns the GB/s of all network ports of the first server.
fn ports_of_a_server(wiring: &Wiring) -> f64 {
    let is_own = |device: usize| wiring.devices()[device].server == Some(0);
    let ports = wiring.wires().iter().filter(|wire| wire.is_network());
    let own = ports.filter(|wire| is_own(wire.a) || is_own(wire.b));
    own.map(|wire| wire.bandwidth.as_gigabytes_per_second()).sum()
}

#[cfg(test)]
mod tests;
