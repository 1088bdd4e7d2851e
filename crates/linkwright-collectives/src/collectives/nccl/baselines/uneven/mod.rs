//! Times an exchange whose messages differ in length: All-to-Allv.
//!
//! The library runs it as it runs an all-to-all, as a group of sends and receives. Each message has the channels and the
//! chunks that it would have in an all-to-all of such messages, and an even matrix is that all-to-all. A pair
//! without bytes sends nothing, as where `PyTorch` calls NCCL (`torch/csrc/cuda/nccl.cpp`, `_nccl_should_send_recv`).
//!
//! Beside the time stands a bound that no way of exchanging passes. It counts the bytes that leave
//! or enter some GPUs, over all links that join them with the others.
//!
//! The model leaves one thing out. All messages go by the protocol of the longest one, where the
//! library sends short ones by LL.

mod bound;
mod matrix;

use std::collections::BTreeMap;

use thiserror::Error;

pub use bound::ExchangeBound;
pub use matrix::{ByteMatrix, MatrixError};

use self::bound::bound;
use super::choice::{Choice, Chooser, Settings};
use super::expect::{ExpectError, as_measured, expected_timings};
use super::plans::uneven::{Cut, uneven_schedule, unit_of};
use crate::collectives::planners::link_graph::check_gpus;
use crate::collectives::schedule::Pacing;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{
    CollectiveTerms, KernelSetting, LinkLoad, Player, Processes, resources,
};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::{System, Wiring};
use crate::units::{Bytes, Picoseconds};

/// Up to this size an even exchange is played as the all-to-all that it is.
const MOST_EVEN: u64 = 1 << 40;

/// The most transfers that are played; longer exchanges are cut into longer chunks.
const MOST_TRANSFERS: u64 = 1 << 20;

/// Says what an exchange takes.
#[derive(Debug, Clone, PartialEq)]
pub struct UnevenTime {
    /// Lasts from the call to the end.
    pub time: Picoseconds,
    /// Counts the bytes that go from rank to rank.
    pub moved: u128,
    /// Is the longest message.
    pub longest: Bytes,
    /// Says what the library runs for the longest message; None where there is no message.
    pub choice: Option<Choice>,
    /// Holds the bound that no way of exchanging passes; None where there is no message.
    pub bound: Option<ExchangeBound>,
    /// Says what each link carries.
    pub links: Vec<LinkLoad>,
    /// Names the library and the release whose rules chose.
    pub library: String,
    /// Says what a person should know.
    pub notes: Vec<String>,
}

/// Says why there is no time of an exchange.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum UnevenError {
    /// The rows are no matrix of the job.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// There is no time of an exchange on these GPUs.
    #[error(transparent)]
    Expect(#[from] ExpectError),
}

impl Diagnose for UnevenError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Matrix(error) => error.diagnosis(),
            Self::Expect(error) => error.diagnosis(),
        }
    }
}

/// Says what the library takes for an exchange on these GPUs, by their ids: `rows` has for each rank what it sends to each.
///
/// # Errors
/// [`UnevenError`] where the rows are no matrix of the job, and as [`expect`](super::expect()).
pub fn expect_uneven(
    system: &System,
    gpus: &[usize],
    rows: &[Vec<u64>],
    settings: &Settings,
) -> Result<UnevenTime, UnevenError> {
    let matrix = ByteMatrix::new(rows, gpus.len())?;
    Ok(taken(system, gpus, &matrix, settings)?)
}

fn taken(
    system: &System,
    gpus: &[usize],
    matrix: &ByteMatrix,
    settings: &Settings,
) -> Result<UnevenTime, ExpectError> {
    let collective = Collective::AllToAll;
    check_gpus(system, gpus)?;
    let wiring = as_measured(Wiring::of_gpus(system, gpus), settings);
    let chooser = Chooser::new(&wiring, gpus, collective, settings)?;
    let mut notes = chooser.notes.clone();
    if matrix.kept() > 0 {
        notes.push(format!(
            "the {} bytes that ranks have for themselves cross no link, and are left out",
            matrix.kept()
        ));
    }
    let library = chooser.release();
    let moved = matrix.messages().map(|(_, bytes)| u128::from(bytes.0)).sum();
    let longest = matrix.messages().map(|(_, bytes)| bytes).max().unwrap_or(Bytes(0));
    let size = |message: Bytes| message.0 * gpus.len() as u64;
    let choice = chooser.choose(size(longest));
    let routes = resources(&wiring);
    let setting = |wiring| {
        let chunk = choice.longest_run(collective);
        let pacing = Pacing::SideBySide { chunk, blocks: Some(1) };
        let processes = settings.processes.unwrap_or_else(|| Processes::usual(wiring, gpus));
        let processes = processes.of(chooser.launches_as_group());
        KernelSetting { wiring, gpus, collective, pacing, processes }
    };
    let costs = CollectiveTerms::shipped().protocol(choice.protocol, setting(&wiring));
    if moved == 0 {
        notes.push("no rank has anything for another: nothing moves".to_owned());
        let (choice, bound, links) = (None, None, Vec::new());
        let time = Picoseconds(0);
        return Ok(UnevenTime { time, moved, longest, choice, bound, links, library, notes });
    }
    let bound = bound(system, &wiring, gpus, matrix, &routes);
    let alike = gpus.len() * (gpus.len() - 1);
    let is_even = matrix.messages().filter(|(_, bytes)| *bytes == longest).count() == alike;
    let timing = if is_even && size(longest) <= MOST_EVEN {
        expected_timings(system, gpus, collective, &[Bytes(size(longest))], settings)?.remove(0)
    } else {
        let cuts = cuts(matrix, &chooser, size, &mut notes);
        let unit = unit_of(&cuts);
        let schedule = uneven_schedule(&wiring, gpus, &chooser, &choice, &cuts, unit)?;
        let player = Player::on(&schedule, &routes, &costs)?;
        // All of it is one piece, in which each rank's shard is one unit.
        player.time(Bytes(gpus.len() as u64 * unit), Bytes(u64::MAX))?
    };
    Ok(UnevenTime {
        time: timing.time,
        moved,
        longest,
        choice: Some(choice),
        bound,
        links: timing.links,
        library,
        notes,
    })
}

/// How the library cuts each message; where these would be too many transfers, in longer chunks.
fn cuts(
    matrix: &ByteMatrix,
    chooser: &Chooser,
    size: impl Fn(Bytes) -> u64,
    notes: &mut Vec<String>,
) -> BTreeMap<(usize, usize), Cut> {
    let mut known: BTreeMap<Bytes, Choice> = BTreeMap::new();
    for (_, bytes) in matrix.messages() {
        known.entry(bytes).or_insert_with(|| chooser.choose(size(bytes)));
    }
    let all = |times: u64| -> BTreeMap<(usize, usize), Cut> {
        let cut = |((from, to), bytes): ((usize, usize), Bytes)| {
            let choice = &known[&bytes];
            let chunk = choice.longest_run(Collective::AllToAll);
            ((from, to), Cut::new(bytes, choice, Bytes(chunk.0.saturating_mul(times))))
        };
        matrix.messages().map(cut).collect()
    };
    let count = |cuts: &BTreeMap<(usize, usize), Cut>| -> u64 {
        cuts.values().map(Cut::transfers).fold(0, u64::saturating_add)
    };
    let cuts = all(1);
    let transfers = count(&cuts);
    if transfers <= MOST_TRANSFERS {
        return cuts;
    }
    let times = transfers.div_ceil(MOST_TRANSFERS);
    notes.push(format!(
        "{transfers} chunks are too many to play: chunks are {times} times as long as the library's"
    ));
    all(times)
}

#[cfg(test)]
mod tests;
