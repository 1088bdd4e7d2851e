//! The error bar of a time: how far off the clock was on rows like it, of systems that were left out of its fit.
//!
//! Rows are alike by the facts that their error depends on. These are the GPUs and their number,
//! the links between them, the collective, the algorithm, the number of servers and the decade of
//! the size. Groups go from narrow to wide. The narrowest that has enough rows of enough systems
//! decides. Each system weighs as much as any other. Where narrower groups have a few rows the bar
//! is no smaller than theirs.

use super::rows::{Likeness, ROWS, Rows};
use super::{DECADES, decade};
use crate::collectives::planners::link_graph::{LinkGraphError, check_gpus};
use crate::system::{Residual, System, Wiring};
use crate::units::Bytes;

/// Names what an error bar comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorBasis {
    /// It comes from measurements of the same GPUs, as many, and of the same collective.
    Measured,
    /// Measurements of others whose GPUs are joined by the same links.
    Alike,
    /// The log that the machine was calibrated by.
    OwnLog,
    /// No such system was measured: the errors of others.
    NeverMeasured,
}

impl ErrorBasis {
    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Alike => "alike",
            Self::OwnLog => "own-log",
            Self::NeverMeasured => "never-measured",
        }
    }
}

/// How far off a time is, as a part of what would be measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBar {
    /// Half of the times were off by no more.
    pub median: f64,
    /// Nine of ten were.
    pub ninetieth: f64,
    /// How many times were measured.
    pub rows: u32,
    /// Names what it comes from.
    pub basis: ErrorBasis,
}

/// A time whose error is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeAsked<'a> {
    /// Says how much data there is.
    pub size: Bytes,
    /// Names what the library runs; none where nobody says.
    pub algorithm: Option<&'a str>,
}

/// Holds what is known of all times of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurable<'a> {
    /// The collective, by its name; none where nobody says.
    pub collective: Option<&'a str>,
    /// Tells whether GPUs reach each other's memory over PCIe and NVLink.
    pub p2p: bool,
    /// A system whose rows do not count: to see what bars are worth on it.
    pub without: Option<&'a str>,
}

/// Tells what rows of a group have in common beside the library.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Tells whether they have the GPUs and their number in common.
    gpus: bool,
    joined: bool,
    collective: bool,
    algorithm: bool,
    servers: bool,
    size: bool,
    basis: ErrorBasis,
}

/// Lists the narrowest first.
const GROUPS: [Group; 8] = {
    use ErrorBasis::{Alike, Measured, NeverMeasured};
    const ALL: Group = Group {
        gpus: true,
        joined: true,
        collective: true,
        algorithm: true,
        servers: true,
        size: true,
        basis: Measured,
    };
    const LINKS: Group = Group { gpus: false, basis: Alike, ..ALL };
    const OTHERS: Group = Group { joined: false, algorithm: false, basis: NeverMeasured, ..LINKS };
    [
        ALL,
        LINKS,
        Group { algorithm: false, ..LINKS },
        Group { algorithm: false, collective: false, ..LINKS },
        OTHERS,
        Group { collective: false, ..OTHERS },
        Group { collective: false, servers: false, ..OTHERS },
        Group { collective: false, servers: false, size: false, ..OTHERS },
    ]
};

/// Rows and systems that a group of other systems needs.
const FEWEST_ROWS: usize = 20;
const FEWEST_SYSTEMS: usize = 3;
/// Rows that a group of the same GPUs needs: with fewer, nine of ten of the next ones lie inside no bar.
const FEWEST_OF_ONE: usize = 9;

impl Group {
    const fn has_enough(self, rows: usize, systems: usize) -> bool {
        if self.gpus {
            rows >= FEWEST_OF_ONE
        } else {
            rows >= FEWEST_ROWS && systems >= FEWEST_SYSTEMS
        }
    }
}

/// A question as rows have it.
struct Asked<'a> {
    like: Likeness,
    of: Measurable<'a>,
}

impl Asked<'_> {
    /// The rows of a group; none where the question does not say what these have in common.
    fn rows_of(&self, group: Group, time: TimeAsked<'_>) -> impl Iterator<Item = &'static Rows> {
        let from = DECADES[decade(time.size)];
        let Self { like, of } = self;
        ROWS.iter().filter(move |rows| {
            let same = |wanted: bool, is_same: bool| !wanted || is_same;
            let own = &rows.like;
            let is_same_gpus =
                (&own.gpu, own.gpus, own.servers) == (&like.gpu, like.gpus, like.servers);
            own.library == like.library
                && of.without != Some(rows.system.as_str())
                && same(group.gpus, own.gpu.is_some() && is_same_gpus)
                && same(group.joined, own.joined.is_some() && own.joined == like.joined)
                && same(group.servers, own.servers.min(2) == like.servers.min(2))
                && same(group.collective, Some(rows.collective.as_str()) == of.collective)
                && same(group.algorithm, Some(rows.algorithm.as_str()) == time.algorithm)
                && same(group.size, rows.from == from)
        })
    }

    fn bar(&self, time: TimeAsked<'_>) -> ErrorBar {
        let mut of_few =
            ErrorBar { median: 0.0, ninetieth: 0.0, rows: 0, basis: ErrorBasis::NeverMeasured };
        for group in GROUPS {
            let rows: Vec<&Rows> = self.rows_of(group, time).collect();
            let mut systems: Vec<&str> = rows.iter().map(|rows| rows.system.as_str()).collect();
            systems.sort_unstable();
            systems.dedup();
            let count: usize = rows.iter().map(|rows| rows.errors.len()).sum();
            if count == 0 {
                continue;
            }
            let errors = Weighted::of(&rows, &systems);
            // One system's rows promise the next of its rows: of N, the (N + 1)th part.
            let more = if group.gpus { 1.0 + 1.0 / count as f64 } else { 1.0 };
            let ninetieth = errors.quantile((0.9 * more).min(1.0)).max(of_few.ninetieth);
            let median = errors.quantile(0.5).min(ninetieth);
            let bar = ErrorBar { median, ninetieth, rows: count as u32, basis: group.basis };
            if group.has_enough(count, systems.len()) {
                return bar;
            }
            // A library of two systems has no group that is wide enough: all of its rows decide.
            let basis = if of_few.rows == 0 { bar.basis } else { of_few.basis };
            of_few = ErrorBar { basis, ..bar };
        }
        of_few
    }
}

/// Errors, the least first, each with its weight: every system has the same.
struct Weighted(Vec<(f64, f64)>);

impl Weighted {
    fn of(rows: &[&Rows], systems: &[&str]) -> Self {
        let mut counts = vec![0_usize; systems.len()];
        let place = |rows: &Rows| systems.binary_search(&rows.system.as_str()).unwrap_or(0);
        rows.iter().for_each(|rows| counts[place(rows)] += rows.errors.len());
        let weight = |rows: &Rows| 1.0 / (counts[place(rows)] * systems.len()) as f64;
        let mut found: Vec<(f64, f64)> = rows
            .iter()
            .flat_map(|rows| rows.errors.iter().map(move |error| (*error, weight(rows))))
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(found)
    }

    /// The least error at which so large a part of the weight is reached.
    fn quantile(&self, part: f64) -> f64 {
        let mut reached = 0.0;
        let enough = |(_, weight): &&(f64, f64)| {
            reached += weight;
            reached >= part - 1e-9
        };
        self.0.iter().find(enough).or(self.0.last()).map_or(0.0, |(error, _)| *error)
    }
}

/// Gives the error bars of a collective's times on these GPUs, by their ids.
///
/// # Errors
/// GPUs that do not fit the system.
pub fn error_bars(
    system: &System,
    gpus: &[usize],
    of: Measurable<'_>,
    times: &[TimeAsked<'_>],
) -> Result<Vec<ErrorBar>, LinkGraphError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let asked = Asked { like: Likeness::of(wiring, gpus, of.p2p), of };
    let own = gpus.first().and_then(|gpu| wiring.in_template(*gpu).0.calibration());
    let logged = |size: Bytes| {
        let from = DECADES[decade(size)];
        own.and_then(|own| own.residuals.iter().find(|row| row.from == from)).copied()
    };
    let of_log = |row: Residual| ErrorBar {
        median: row.median.value(),
        ninetieth: row.ninetieth.value(),
        rows: row.rows,
        basis: ErrorBasis::OwnLog,
    };
    Ok(times
        .iter()
        .map(|time| logged(time.size).map_or_else(|| asked.bar(*time), of_log))
        .collect())
}

#[cfg(test)]
mod tests;
