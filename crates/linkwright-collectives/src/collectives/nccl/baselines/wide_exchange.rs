//! All-to-all over more servers than are worth playing.
//!
//! All messages between pairs of ranks are equally long. Each server more adds the same number of messages to every rank, on the
//! same interfaces. Every link and every block has that much more to do. At messages of one length the time is thus a
//! straight line in the number of servers. Two exchanges over few servers are on that line. A test lays it beside whole exchanges.
//!
//! It leaves out a network whose own links hold something up: how full they are depends on the places of all servers.

use super::choice::{Choice, Chooser};
use super::expected_algorithm::ExpectedAlgorithm;
use super::fabric::by_server;
use super::plans::plan_choice;
use crate::collectives::planners::plan::PlanError;
use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{Player, TimeError, Timing};
use crate::system::Wiring;
use crate::units::{Bytes, Picoseconds};

/// Of more GPUs an exchange is too much to play in whole.
pub(super) const MOST_RANKS: usize = 256;

/// Counts the servers of the exchanges that are played in its place.
pub(super) const SERVERS: [usize; 2] = [16, 8];

/// Holds the exchanges that are played in the place of a wide one.
pub(in crate::collectives) struct WideExchange {
    /// Holds one over more of the first servers, and one over fewer.
    parts: [Schedule; 2],
    /// Counts the servers of both.
    servers: [usize; 2],
    /// Counts all servers.
    of: usize,
    ranks: usize,
}

impl WideExchange {
    /// Plans the exchanges over `servers` servers that stand for a choice. None where it is none, few servers have it, they
    /// differ, or the network holds something up.
    pub(super) fn over(
        servers: [usize; 2],
        wiring: &Wiring,
        gpus: &[usize],
        collective: Collective,
        chooser: &Chooser,
        choice: &Choice,
    ) -> Result<Option<Self>, PlanError> {
        let is_exchange =
            (choice.algorithm, collective) == (ExpectedAlgorithm::Pairs, Collective::AllToAll);
        let is_even = chooser.believed.deal.as_ref().is_some_and(|deal| deal.is_of_one_kind());
        let is_free = wiring.inner_wires().is_empty();
        if !is_exchange || !is_even || !is_free {
            return Ok(None);
        }
        let all = by_server(wiring, gpus);
        if all.len() <= servers[0] {
            return Ok(None);
        }
        let plan = |count: usize| {
            let own: Vec<usize> = all[..count].iter().flatten().map(|rank| gpus[*rank]).collect();
            plan_choice(wiring, &own, collective, chooser, choice).map(|plan| plan.schedule)
        };
        let parts = [plan(servers[0])?, plan(servers[1])?];
        Ok(Some(Self { parts, servers, of: all.len(), ranks: gpus.len() }))
    }

    /// Gives the larger of the exchanges that are played.
    pub(in crate::collectives) const fn larger(&self) -> &Schedule {
        &self.parts[0]
    }

    /// Makes the exchanges ready to be played.
    ///
    /// # Errors
    /// Makes a player of each of its schedules with `player`, and fails as that does.
    pub(in crate::collectives) fn players<'a>(
        &'a self,
        player: impl Fn(&'a Schedule) -> Result<Player<'a>, TimeError>,
    ) -> Result<WidePlayer<'a>, TimeError> {
        let [larger, smaller] = &self.parts;
        Ok(WidePlayer { exchange: self, parts: [player(larger)?, player(smaller)?] })
    }
}

/// A wide exchange that is ready to be played with any size and chunk.
pub(in crate::collectives) struct WidePlayer<'a> {
    exchange: &'a WideExchange,
    parts: [Player<'a>; 2],
}

impl WidePlayer<'_> {
    /// Times `size` bytes in chunks of at most `chunk`. Links are those of the servers that are played, with what they
    /// carry there.
    ///
    /// # Errors
    /// Fails as [`Player::time`] does.
    pub(in crate::collectives) fn time(
        &self,
        size: Bytes,
        chunk: Bytes,
    ) -> Result<Timing, TimeError> {
        let WideExchange { parts, servers, of, ranks } = self.exchange;
        let message = size.0 / *ranks as u64;
        let played = |at: usize| {
            let all = Bytes(message * parts[at].ranks() as u64);
            self.parts[at].time(all, chunk)
        };
        let (larger, smaller) = (played(0)?, played(1)?);
        let slope =
            (larger.time.0 as f64 - smaller.time.0 as f64) / (servers[0] - servers[1]) as f64;
        let added = slope.max(0.0) * (of - servers[0]) as f64;
        let time = Picoseconds(larger.time.0 + added.round() as u64);
        let algorithm_bandwidth = size.0 as f64 / time.as_seconds() / 1e9;
        let bus_bandwidth = algorithm_bandwidth * Collective::AllToAll.bus_factor(*ranks);
        Ok(Timing { size, time, algorithm_bandwidth, bus_bandwidth, ..larger })
    }
}

#[cfg(test)]
mod tests;
