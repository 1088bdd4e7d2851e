//! Plays AMG: one V-cycle of algebraic multigrid.
//!
//! LLNL's proxy of that name is the model. Down the levels, each rank swaps halos with its
//! neighbours for every smoothing and for the residual, and restricts. Up again, it prolongs and
//! smooths. With coarseness the stencil widens. It has 6 neighbours on the finest level, 26 on the
//! next, then up to 124 within two steps, as Galerkin products make it. Messages shrink fourfold a
//! level and computing eightfold. Where a level has too little for all, every second rank in each
//! dimension hands its part to a neighbour and idles. Each cycle ends with the two all-reduces of a
//! conjugate gradient step around it. So three levels send about as much each, in many messages of
//! a few packets, and not only to near ranks.

use serde::Deserialize;

use super::exchange::{Neighbour, collective, compute, receive, send, swap};
use super::grid::{Grid, offsets};
use super::{Skeleton, SkeletonError, check_count, check_ranks, parameters, program_of};
use crate::program::{CollectiveKind, Program, Rank, RankBuilder, Tag};
use crate::units::{Bytes, Picoseconds};

/// Gives the application to the list of all.
///
/// Sparse matrices are limited by memory, and coarse levels by latency, so that a GPU gains less
/// than on a stencil. The factor takes a share of about 20 % to the middle of 25 to 65 %. The
/// message is so small that the interface of a single GPU has nothing to choose, as Section VI.C
/// has it. The share stays the same.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "a V-cycle of multigrid: halos of shrinking size, all-reduces",
    gpu_speedup: 3.0,
    placed: None,
    generate: |ranks, options| parameters::<Amg>(NAME, options)?.program(ranks),
};

const NAME: &str = "amg";
/// The most levels: beyond, messages have no bytes left.
const MOST_LEVELS: u32 = 16;
/// Limits the smoothing steps.
const MOST_STEPS: u32 = 100;
/// Gives the level from which on ranks fall idle.
const FIRST_AGGLOMERATED: u32 = 3;
/// Tags of restriction and prolongation; those of halos are below 124.
const RESTRICTION: Tag = 124;
const PROLONGATION: Tag = 125;

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Amg {
    /// Counts the levels of the hierarchy; 6 by default.
    pub levels: u32,
    /// Counts the smoothing steps on each level, before and again after the coarser ones; 1 by
    /// default.
    pub smoothing_steps: u32,
    /// Gives the size of the halo to each neighbour on the finest level; 48 KiB by default. It is a
    /// quarter of it on the next, and so on, but never less than 64 B.
    pub message: Bytes,
    /// Holds the time that a rank computes on the finest level for each halo; 260 µs by default. It
    /// is an eighth of it on the next, and so on.
    pub compute: Picoseconds,
}

impl Default for Amg {
    fn default() -> Self {
        Self {
            levels: 6,
            smoothing_steps: 1,
            message: Bytes(48 << 10),
            compute: Picoseconds(260_000_000),
        }
    }
}

/// A level: who takes part, and how much they do.
struct Level {
    /// The ranks that take part have coordinates divisible by this.
    stride: u32,
    /// Says where its neighbours lie, in strides.
    offsets: Vec<[i32; 3]>,
    message: Bytes,
    compute: Picoseconds,
}

impl Level {
    fn takes_part(&self, at: [u32; 3]) -> bool {
        at.iter().all(|coordinate| coordinate % self.stride == 0)
    }
}

impl Amg {
    /// Writes the program.
    ///
    /// # Errors
    /// Refuses no ranks or too many of them, and no levels or steps, or too many of them.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        check_count(NAME, "levels", self.levels, MOST_LEVELS, "1 to 16")?;
        check_count(NAME, "smoothing_steps", self.smoothing_steps, MOST_STEPS, "1 to 100")?;
        let grid = Grid::<3>::balanced(ranks);
        let levels: Vec<_> = (0..self.levels).map(|level| self.level(level)).collect();
        program_of(NAME, ranks, |me| {
            let mut rank = RankBuilder::default();
            rank.begin_body();
            self.down(&mut rank, &grid, me, &levels);
            collective(&mut rank, CollectiveKind::AllReduce, Bytes(8));
            collective(&mut rank, CollectiveKind::AllReduce, Bytes(8));
            rank.end_body();
            rank.finish()
        })
    }

    fn level(&self, level: u32) -> Level {
        Level {
            stride: 1 << (level + 1).saturating_sub(FIRST_AGGLOMERATED).min(31),
            offsets: match level {
                0 => offsets(1, 1),
                1 => offsets(1, 3),
                _ => offsets(2, 3),
            },
            message: Bytes((self.message.0 >> (2 * level)).max(64).min(self.message.0.max(1))),
            compute: Picoseconds(self.compute.0 >> (3 * level)),
        }
    }

    /// Writes one level, those below it, and the same level again, for ranks that take part in it.
    fn down(&self, rank: &mut RankBuilder, grid: &Grid<3>, me: Rank, levels: &[Level]) {
        let Some((level, coarser)) = levels.split_first() else { return };
        let halo = halo(grid, me, level);
        // The smoothing steps and the residual.
        for _ in 0..=self.smoothing_steps {
            swap(rank, &halo);
            compute(rank, level.compute);
        }
        if let Some(next) = coarser.first() {
            if next.takes_part(grid.coordinates(me)) {
                let from = dependants(grid, me, level, next);
                let post = |from: &Rank| rank.start(receive(*from, RESTRICTION, next.message));
                let requests: Vec<_> = from.iter().map(post).collect();
                wait(rank, &requests);
                self.down(rank, grid, me, coarser);
                let post = |to: &Rank| rank.start(send(*to, PROLONGATION, next.message));
                let requests: Vec<_> = from.iter().map(post).collect();
                wait(rank, &requests);
            } else {
                let owner = owner(grid, me, next);
                rank.run(send(owner, RESTRICTION, next.message));
                rank.run(receive(owner, PROLONGATION, next.message));
            }
        }
        for _ in 0..self.smoothing_steps {
            swap(rank, &halo);
            compute(rank, level.compute);
        }
    }
}

fn wait(rank: &mut RankBuilder, requests: &[crate::program::PendingOperation]) {
    if !requests.is_empty() {
        rank.wait(requests);
    }
}

/// Returns the neighbours of a rank on a level.
fn halo(grid: &Grid<3>, me: Rank, level: &Level) -> Vec<Neighbour> {
    let neighbour = |(place, offset): (usize, &[i32; 3])| {
        let (sent, received) = (place as Tag, (level.offsets.len() - 1 - place) as Tag);
        let stride = i32::try_from(level.stride).unwrap_or(i32::MAX);
        let rank = grid.beside(me, offset.map(|step| step * stride))?;
        Some(Neighbour { rank, sent, received, size: level.message })
    };
    level.offsets.iter().enumerate().filter_map(neighbour).collect()
}

/// The rank that takes over another's part on a coarser level.
fn owner(grid: &Grid<3>, me: Rank, coarser: &Level) -> Rank {
    grid.rank(grid.coordinates(me).map(|at| at - at % coarser.stride))
}

/// The ranks of a level whose parts a rank takes over on the coarser one.
fn dependants(grid: &Grid<3>, me: Rank, level: &Level, coarser: &Level) -> Vec<Rank> {
    if level.stride == coarser.stride {
        return Vec::new();
    }
    let step = level.stride as i32;
    let corners = (1..8).map(|code| [code >> 2 & 1, code >> 1 & 1, code & 1]);
    corners.filter_map(|corner| grid.beside(me, corner.map(|side| side * step))).collect()
}
