//! How long a collective takes several groups of GPUs that run it at once.
//!
//! A group's time is that on idle links. Where groups load the same links with more than these carry in that time, it
//! lasts as many times as long. Counted are the groups that have GPUs in the first one's first server: they share its
//! switches and interfaces. It leaves out groups of other servers that load the same links between switches.

use std::collections::{BTreeMap, BTreeSet};

use super::{ExpectError, Prepared, Settings};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{CollectiveTerms, Timing};
use crate::program::CollectiveKind;
use crate::system::System;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The pieces of a collective follow one another with gaps, so that a link counts as full from this part of what it carries
/// on. The measured shares of kinds of links are 0.71 to 0.92 (`LinkKind::reached`).
const REACHED: f64 = 0.9;

/// A group as far as its time depends on it: of each GPU which of its servers it is in, and its place there.
type Shape = Vec<(usize, u32, usize)>;

/// Says how long a collective takes groups that all run it at once, and which part of their GPUs it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupTime {
    /// It lasts so long, until the last group has it.
    pub time: Picoseconds,
    /// The slowest group would take so long on links that no other loads.
    pub alone: Picoseconds,
    /// Each GPU runs its kernel in this number of blocks, one for each channel.
    pub channels: u32,
    /// Says how fast each GPU's links carry it, as nccl-tests counts the bus.
    pub bus: Bandwidth,
}

/// Times of groups of a system, each shape of groups once.
pub struct GroupTimes<'a> {
    system: &'a System,
    settings: Settings,
    known: BTreeMap<(Vec<Shape>, CollectiveKind), BTreeMap<Bytes, GroupTime>>,
}

impl<'a> GroupTimes<'a> {
    /// None is known yet.
    #[must_use]
    pub fn new(system: &'a System, settings: Settings) -> Self {
        Self { system, settings, known: BTreeMap::new() }
    }

    /// How long a collective of each size takes where all of these groups run it at once, until the last has it.
    /// Sizes count as in a program's operations; groups hold GPUs by their ids.
    ///
    /// # Errors
    /// Fails for GPUs that no links join.
    pub fn times(
        &mut self,
        groups: &[Vec<usize>],
        kind: CollectiveKind,
        sizes: &[Bytes],
    ) -> Result<Vec<Picoseconds>, ExpectError> {
        Ok(self.taken(groups, kind, sizes)?.into_iter().map(|it| it.time).collect())
    }

    /// Says the same as [`Self::times`] with the time of one group alone, and with the part of each GPU that is taken.
    ///
    /// # Errors
    /// Fails as [`Self::times`] does.
    pub fn taken(
        &mut self,
        groups: &[Vec<usize>],
        kind: CollectiveKind,
        sizes: &[Bytes],
    ) -> Result<Vec<GroupTime>, ExpectError> {
        let mut slowest = vec![GroupTime::default(); sizes.len()];
        let mut seen: BTreeSet<Vec<Shape>> = BTreeSet::new();
        for near in self.neighbours(groups) {
            let shapes = self.shapes(&near);
            if !seen.insert(shapes.clone()) {
                continue;
            }
            for (slowest, taken) in
                slowest.iter_mut().zip(self.of_shapes(&near, shapes, kind, sizes)?)
            {
                let alone = taken.alone.max(slowest.alone);
                if taken.time > slowest.time {
                    *slowest = taken;
                }
                slowest.alone = alone;
            }
        }
        Ok(slowest)
    }

    /// Groups that have GPUs in the server of the first of them, for every group that is in none of those before.
    fn neighbours<'g>(&self, groups: &'g [Vec<usize>]) -> Vec<Vec<&'g Vec<usize>>> {
        let mut of_server: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, group) in groups.iter().enumerate() {
            for gpu in group {
                let own = of_server.entry(self.server(*gpu)).or_default();
                if own.last() != Some(&index) {
                    own.push(index);
                }
            }
        }
        let mut is_counted = vec![false; groups.len()];
        let mut found = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            if is_counted[index] || group.len() < 2 {
                continue;
            }
            let near = &of_server[&self.server(group[0])];
            near.iter().for_each(|other| is_counted[*other] = true);
            found.push(near.iter().map(|other| &groups[*other]).collect());
        }
        found
    }

    fn of_shapes(
        &mut self,
        near: &[&Vec<usize>],
        shapes: Vec<Shape>,
        kind: CollectiveKind,
        sizes: &[Bytes],
    ) -> Result<Vec<GroupTime>, ExpectError> {
        let known = self.known.entry((shapes.clone(), kind)).or_default();
        let mut missing: Vec<Bytes> =
            sizes.iter().copied().filter(|size| !known.contains_key(size)).collect();
        missing.sort_unstable();
        missing.dedup();
        let times =
            if missing.is_empty() { Vec::new() } else { self.together(near, kind, &missing)? };
        let known = self.known.entry((shapes, kind)).or_default();
        known.extend(missing.into_iter().zip(times));
        Ok(sizes.iter().map(|size| known[size]).collect())
    }

    fn server(&self, gpu: usize) -> u32 {
        self.system.gpu(gpu as u32).server
    }

    /// Gives each group's shape. It numbers servers in the order in which the groups name them.
    fn shapes(&self, groups: &[&Vec<usize>]) -> Vec<Shape> {
        let mut servers: BTreeMap<u32, usize> = BTreeMap::new();
        let mut place = |gpu: &usize| {
            let own = self.system.gpu(*gpu as u32);
            let next = servers.len();
            let at = *servers.entry(own.server).or_insert(next);
            (at, own.index, self.system.kind_index_of(own.server))
        };
        groups.iter().map(|group| group.iter().map(&mut place).collect()).collect()
    }

    fn together(
        &self,
        groups: &[&Vec<usize>],
        kind: CollectiveKind,
        sizes: &[Bytes],
    ) -> Result<Vec<GroupTime>, ExpectError> {
        let mut all: Vec<Vec<Timing>> = Vec::with_capacity(groups.len());
        let mut channels = vec![0; sizes.len()];
        for group in groups {
            let collective = Collective::of_program(kind, 0);
            // The whole buffer, as nccl-tests counts it.
            let parts = match kind {
                CollectiveKind::AllGather | CollectiveKind::AllToAll => group.len() as u64,
                _ => 1,
            };
            let whole: Vec<Bytes> =
                sizes.iter().map(|size| Bytes(size.0.saturating_mul(parts))).collect();
            let prepared = Prepared::new(self.system, group, collective, &whole, &self.settings)?;
            all.push(prepared.times(&prepared.wiring, CollectiveTerms::shipped())?);
            for (most, choice) in channels.iter_mut().zip(&prepared.choices) {
                *most = choice.channels.max(*most);
            }
        }
        let taken = |(at, channels): (usize, u32)| {
            let slowest = all.iter().map(|rows| rows[at].time.0).max().unwrap_or(0);
            let mut used: BTreeMap<u32, f64> = BTreeMap::new();
            for load in all.iter().flat_map(|rows| &rows[at].links) {
                *used.entry(load.channel).or_default() += load.utilisation;
            }
            let most = used.into_values().fold(0.0, f64::max);
            let alone = all[0][at].links.iter().map(|load| load.utilisation).fold(0.0, f64::max);
            let times = (most / alone.max(REACHED)).max(1.0);
            let time = Picoseconds((slowest as f64 * times) as u64);
            let bus = all.iter().map(|rows| rows[at].bus_bandwidth).fold(0.0, f64::max);
            let bus = Bandwidth((bus / times * 1e9) as u64);
            GroupTime { time, alone: Picoseconds(slowest), channels, bus }
        };
        Ok(channels.into_iter().enumerate().map(taken).collect())
    }
}
