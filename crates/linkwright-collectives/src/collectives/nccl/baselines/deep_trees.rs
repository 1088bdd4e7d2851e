//! Trees over more servers than are worth playing.
//!
//! Data goes up and down a tree in pieces that follow one another. Each level more adds the same to the way of the first
//! piece. It adds nothing to the pace of the others, since all inner servers do the same. A time is thus a straight line
//! in the tree's depth. Servers that are near one another stand for the lower levels. The difference of two trees over
//! servers that are far apart is what an upper level takes. A test lays such times beside those of whole trees.
//!
//! It leaves out that upper levels may meet on links of the network that the lower ones do not share.

use super::choice::{Choice, Chooser};
use super::double_tree::double_binary_tree;
use super::expected_algorithm::ExpectedAlgorithm;
use super::fabric::by_server;
use super::plans::plan_choice;
use crate::collectives::planners::plan::PlanError;
use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{Player, TimeError, Timing};
use crate::system::Wiring;
use crate::units::{Bytes, Picoseconds};

/// Of more GPUs a tree is too much to play in whole.
pub(super) const MOST_RANKS: usize = 1_024;

/// The most servers of a tree that is played in its place.
pub(super) const MOST_SERVERS: usize = 32;

/// The trees that are played in the place of a deep one.
pub(in crate::collectives) struct DeepTree {
    /// Joins servers that follow one another.
    pub(in crate::collectives) near: Schedule,
    /// Join as many servers that are spread over all, and about half as many.
    far: [Schedule; 2],
    /// How many times the second of these is taken from the first.
    levels: f64,
    ranks: usize,
}

impl DeepTree {
    /// Plans the trees over at most `most` servers that stand for a choice. None where it is no tree, few servers have
    /// it, or they differ.
    pub(super) fn over(
        most: usize,
        wiring: &Wiring,
        gpus: &[usize],
        collective: Collective,
        chooser: &Chooser,
        choice: &Choice,
    ) -> Result<Option<Self>, PlanError> {
        let is_tree =
            matches!(choice.algorithm, ExpectedAlgorithm::Tree | ExpectedAlgorithm::NvlsTree);
        let is_even = chooser.believed.deal.as_ref().is_some_and(|deal| deal.is_of_one_kind());
        if !is_tree || !is_even {
            return Ok(None);
        }
        let servers = by_server(wiring, gpus);
        let count = servers.len();
        let larger = stand_in(count, most);
        let smaller = stand_in(count, larger.saturating_sub(1));
        if larger >= count || smaller < 2 || depth(smaller) >= depth(larger) {
            return Ok(None);
        }
        let plan = |places: &mut dyn Iterator<Item = usize>| {
            let ranks = places.flat_map(|server| &servers[server]);
            let own: Vec<usize> = ranks.map(|rank| gpus[*rank]).collect();
            plan_choice(wiring, &own, collective, chooser, choice).map(|plan| plan.schedule)
        };
        let near = plan(&mut (0..larger))?;
        let spread = |part: usize| plan(&mut (0..part).map(|at| at * count / part));
        let far = [spread(larger)?, spread(smaller)?];
        let deeper = depth(count) - depth(larger);
        let levels = deeper as f64 / (depth(larger) - depth(smaller)) as f64;
        Ok(Some(Self { near, far, levels, ranks: gpus.len() }))
    }

    /// Makes the trees ready to be played.
    ///
    /// # Errors
    /// Makes a player of each of its schedules with `player`, and fails as that does.
    pub(in crate::collectives) fn players<'a>(
        &'a self,
        player: impl Fn(&'a Schedule) -> Result<Player<'a>, TimeError>,
    ) -> Result<DeepPlayer<'a>, TimeError> {
        let [larger, smaller] = &self.far;
        let far = [player(larger)?, player(smaller)?];
        Ok(DeepPlayer { tree: self, near: player(&self.near)?, far })
    }
}

/// A deep tree that is ready to be played with any size and chunk.
pub(in crate::collectives) struct DeepPlayer<'a> {
    tree: &'a DeepTree,
    near: Player<'a>,
    far: [Player<'a>; 2],
}

impl DeepPlayer<'_> {
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
        let DeepTree { near, levels, ranks, .. } = self.tree;
        let own = self.near.time(size, chunk)?;
        let [larger, smaller] = [&self.far[0], &self.far[1]].map(|far| far.time(size, chunk));
        let added = (larger?.time.0 as f64 - smaller?.time.0 as f64).max(0.0) * levels;
        let time = Picoseconds(own.time.0 + added.round() as u64);
        let algorithm_bandwidth = own.size.0 as f64 / time.as_seconds() / 1e9;
        let bus_bandwidth = algorithm_bandwidth * near.collective.bus_factor(*ranks);
        Ok(Timing { time, algorithm_bandwidth, bus_bandwidth, ..own })
    }
}

/// Counts the servers whose trees stand for those of `count`. The number is halved until it is at most `most`. It is as
/// even or odd as `count`, since the second tree depends on that.
fn stand_in(count: usize, most: usize) -> usize {
    let mut smaller = count;
    while smaller > most {
        smaller /= 2;
    }
    smaller.saturating_sub((smaller ^ count) % 2)
}

/// Counts the levels below the root of the deeper of both trees.
fn depth(servers: usize) -> usize {
    let trees = double_binary_tree(servers);
    let of_tree = |tree: &Vec<Option<usize>>| {
        let above = |server| std::iter::successors(tree[server], |above| tree[*above]).count();
        (0..servers).map(above).max().unwrap_or(0)
    };
    trees.iter().map(of_tree).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
