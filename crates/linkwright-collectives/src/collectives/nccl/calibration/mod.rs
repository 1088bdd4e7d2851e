//! Fits one's own machine: a run of nccl-tests shows how it differs from others of its kind.
//!
//! It represents the few terms of a collective's time that a machine may have of its own. These are
//! the bandwidth that its links reach, the bandwidth that its switches reach when they reduce, and
//! the time of a launch. Each is fitted to the run's times where these can tell it. For this, each
//! size is taken to be off by [`NOISE`]. A term can be told where the sizes leave it uncertain by
//! at most [`MOST_UNCERTAIN`]. The others stay as they are.
//!
//! It leaves out hops and the copies of a block, which are the GPUs' and NCCL's. It also leaves out
//! the library's choice, which follows the library's own beliefs.

mod fit;
mod terms;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use thiserror::Error;

use self::fit::{Fit, fit};
use self::terms::{Candidates, launch_terms};
pub use self::terms::{FittedTerm, Term};
use crate::collectives::nccl::accuracy::{DECADES, decade, quantile};
use crate::collectives::nccl::baselines::Settings;
use crate::collectives::nccl::baselines::expect::{ExpectError, Prepared};
use crate::collectives::nccl::nccl_tests::NcclTestsLog;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{CollectiveTerms, TimeError};
use crate::diagnostic::{Diagnose, Diagnosis, InputError};
use crate::system::{Deviation, Residual, Server, System, Wiring};
use crate::units::Bytes;

/// Says by how much a run's times are taken to be off. Those of nccl-tests differ by some 5 to 10 %
/// from one run to the next.
pub const NOISE: f64 = 0.05;

/// How uncertain a term may be left, as a part of it, to be told.
pub const MOST_UNCERTAIN: f64 = 0.25;

/// Holds one size of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibratedRow {
    /// Counts the data.
    pub size: Bytes,
    /// Gives the seconds as measured.
    pub measured: f64,
    /// Seconds, as the machine was.
    pub before: f64,
    /// Seconds, as it is now.
    pub after: f64,
    /// Numbers the line of the log.
    pub line: usize,
}

/// Holds a machine with the terms that a run measured of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// Holds the machine as a system.
    pub system: System,
    /// The server of it that was calibrated.
    pub server: Arc<Server>,
    /// Every term that may have been fitted, those that were first.
    pub terms: Vec<FittedTerm>,
    /// Holds each size of the run.
    pub rows: Vec<CalibratedRow>,
}

/// Why a machine cannot be calibrated.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum CalibrateError {
    /// A log that is no guide.
    #[error(transparent)]
    Log(#[from] InputError),
    /// Nothing can be expected of the machine.
    #[error(transparent)]
    Expect(#[from] ExpectError),
    /// The run's GPUs are in servers of several kinds.
    ServersDiffer(usize),
    /// No term can be told.
    NothingTold {
        /// Why each term cannot be told.
        reasons: String,
    },
}

impl Diagnose for CalibrateError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Log(error) => error.diagnosis(),
            Self::Expect(error) => error.diagnosis(),
            Self::ServersDiffer(kinds) => Diagnosis::of(format!(
                "the GPUs are in servers of {kinds} kinds, so the log cannot say which kind differs"
            ))
            .remedy("use a log of a run on servers of one kind"),
            Self::NothingTold { reasons } => {
                Diagnosis::of(format!("the log tells nothing of the machine: {reasons}"))
                    .remedy("run nccl-tests from 8 B to 1 GiB")
            }
        }
    }
}

impl From<TimeError> for CalibrateError {
    fn from(error: TimeError) -> Self {
        Self::Expect(error.into())
    }
}

/// Fits what differs on a machine to a log of nccl-tests on these GPUs, by their ids.
///
/// A value in the machine's file stays where this log does not tell it. Where the settings leave
/// something open, the log fills it.
///
/// # Errors
/// [`CalibrateError`]: a log of another run, of one that failed, or that tells nothing.
pub fn calibrate(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    log: &NcclTestsLog,
    settings: &Settings,
) -> Result<Calibrated, CalibrateError> {
    log.check(collective, gpus.len())?;
    log.check_whole()?;
    log.check_asked(&log.findings(system, gpus, settings))?;
    let terms = CollectiveTerms::shipped();
    let sizes: Vec<Bytes> = log.rows.iter().map(|row| row.size).collect();
    let measured: Vec<f64> = log.rows.iter().map(|row| row.out_of_place.time).collect();
    let settings = log.with_what_ran(settings);
    let prepared = Prepared::new(system, gpus, collective, &sizes, &settings)?;
    let mut kinds: Vec<usize> = gpus.iter().map(|gpu| kind_of(system, *gpu)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() > 1 {
        return Err(CalibrateError::ServersDiffer(kinds.len()));
    }
    let server = system.kinds()[kinds[0]].server();
    let seconds = |wiring: &Wiring| -> Result<Vec<f64>, TimeError> {
        let timings = prepared.times(wiring, terms)?;
        Ok(timings.iter().map(|timing| timing.time.as_seconds()).collect())
    };
    let before = seconds(&prepared.wiring)?;
    let candidates = Candidates::of(&prepared, gpus, collective)?;
    let Fit { values, uncertain, untold } = fit(&candidates, &measured, &seconds)?;
    if values.is_empty() {
        let reasons: Vec<&str> = untold.iter().map(|(_, reason)| reason.as_str()).collect();
        return Err(CalibrateError::NothingTold { reasons: reasons.join("; ") });
    }
    let mut calibration = server.calibration().cloned().unwrap_or_default();
    let mut fitted = Vec::new();
    for ((at, value), uncertain) in values.into_iter().zip(uncertain) {
        let candidate = &candidates.all[at];
        match candidate.term.share_of(&mut calibration) {
            Some((shares, kind)) => {
                shares.insert(kind, candidate.share(value));
                let (term, before) = (candidate.term, candidate.value);
                let uncertainty = Some(uncertain);
                let after = Some(candidate.share(value).value());
                fitted.push(FittedTerm { term, before, after, uncertainty, reason: String::new() });
            }
            None => {
                let setting = (candidates.processes, gpus.len(), candidate.value);
                let found = launch_terms(&mut calibration.launch, setting, value, candidates.alone);
                fitted.extend(found.map(|(term, before, after)| FittedTerm {
                    term,
                    before,
                    after: Some(after),
                    uncertainty: Some(uncertain),
                    reason: String::new(),
                }));
            }
        }
    }
    fitted.extend(untold.into_iter().map(|(at, reason)| candidates.all[at].untold(reason)));
    let processes = candidates.launch_processes().or(calibration.launch.processes);
    calibration.launch.processes = processes;
    calibration.source = source_of(log, collective, gpus.len(), &prepared.chooser.release());
    let calibrated = system.calibrated(kinds[0], calibration.clone());
    let after = seconds(&Wiring::of_gpus(&calibrated, gpus))?;
    calibration.residuals = residuals(&calibration.residuals, &sizes, &measured, &after);
    let rows = log.rows.iter().zip(before.iter().zip(&after)).map(|(row, (before, after))| {
        let (size, measured, line) = (row.size, row.out_of_place.time, row.line);
        CalibratedRow { size, measured, before: *before, after: *after, line }
    });
    let rows = rows.collect();
    let system = system.calibrated(kinds[0], calibration);
    let server = Arc::clone(system.kinds()[kinds[0]].server());
    Ok(Calibrated { system, server, terms: fitted, rows })
}

fn kind_of(system: &System, gpu: usize) -> usize {
    system.kind_index_of(system.gpu(gpu as u32).server)
}

/// Returns the words with which a file names the source of its values.
fn source_of(log: &NcclTestsLog, collective: Collective, gpus: usize, chosen: &str) -> String {
    let run = log.version.as_deref().map_or_else(String::new, |it| format!(", NCCL {it}"));
    let sizes = log.rows.len();
    format!("{}: {collective} on {gpus} GPUs{run}, {sizes} sizes, as {chosen} chooses", log.file)
}

/// How far off the run's times are by size; of sizes that it has not got, what was there stays.
fn residuals(
    known: &[Residual],
    sizes: &[Bytes],
    measured: &[f64],
    after: &[f64],
) -> Vec<Residual> {
    let of_decade = |index: usize| {
        let rows = sizes.iter().zip(measured.iter().zip(after));
        let own = rows.filter(|(size, _)| decade(**size) == index);
        let off: Vec<f64> =
            own.map(|(_, (measured, after))| (after / measured - 1.0).abs()).collect();
        if off.is_empty() {
            return known.iter().find(|it| it.from == DECADES[index]).copied();
        }
        let part = |part: f64| Deviation::of(quantile(&off, part).min(4_294.0));
        let (median, ninetieth) = (part(0.5)?, part(0.9)?);
        Some(Residual { from: DECADES[index], rows: off.len() as u32, median, ninetieth })
    };
    (0..DECADES.len()).filter_map(of_decade).collect()
}
