//! Plays Kripke: sweeps of deterministic particle transport through a 3D grid.
//!
//! LLNL's proxy of that name is the model, with the pipelining of Koch, Baker and Alcouffe. From
//! each of the eight corners a wave of work runs to the opposite corner. In each octant the angles
//! and energies are cut into direction sets and group sets, and each pair of them is a unit. A rank
//! computes a unit when it has come from the up to three neighbours upwind, and sends the faces
//! downwind. Waves from all corners are under way at once. Each rank works off its units in the
//! order of a schedule in which all units and no messages take time. So ranks wait little as long
//! as computing is slow. Each iteration ends with an all-reduce of the particle count.
//!
//! The messages are small. A rank waits for a neighbour's computing and, once computing is fast,
//! for the latency of the wave's steps, but hardly ever for bandwidth. That is why the paper finds
//! Kripke indifferent to the network.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::exchange::{collective, compute, receive, send};
use super::grid::Grid;
use super::{
    Skeleton, SkeletonError, check_count, check_operations, check_ranks, parameters, program_of,
};
use crate::program::{CollectiveKind, Program, Rank, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// Gives the application to the list of all.
///
/// The factor brings a unit's computing down to 2.2 µs, the time of a kernel launch. An application
/// of few bytes can communicate for a quarter of its time, as Fig. 4 shows, only with short units.
/// A unit must take hardly longer than a message's latency. The message is so small that an eighth
/// of the bandwidth does for 90 % of the performance, as Table II shows.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "pipelined sweeps from the eight corners of a 3D grid",
    gpu_speedup: 90.0,
    placed: None,
    generate: |ranks, options| parameters::<Kripke>(NAME, options)?.program(ranks),
};

const NAME: &str = "kripke";
const OCTANTS: u32 = 8;
/// The most sets of either kind.
const MOST_SETS: u32 = 32;

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kripke {
    /// Direction sets of each octant; 2 by default.
    pub direction_sets: u32,
    /// Group sets; 8 by default.
    pub group_sets: u32,
    /// Gives the size of the face of a unit, sent to each downwind neighbour; 256 B by default.
    pub message: Bytes,
    /// Holds the time that a rank computes for a unit; 200 µs by default.
    pub compute: Picoseconds,
}

impl Default for Kripke {
    fn default() -> Self {
        Self {
            direction_sets: 2,
            group_sets: 8,
            message: Bytes(256),
            compute: Picoseconds(200_000_000),
        }
    }
}

/// Names a unit of work: an octant and a set within it.
type Unit = (u32, u32);

impl Kripke {
    /// Writes the program.
    ///
    /// # Errors
    /// No ranks or too many of them; no sets or too many of them.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        let remedy = "1 to 32";
        check_count(NAME, "direction_sets", self.direction_sets, MOST_SETS, remedy)?;
        check_count(NAME, "group_sets", self.group_sets, MOST_SETS, remedy)?;
        let grid = Grid::<3>::balanced(ranks);
        let sets = self.direction_sets * self.group_sets;
        // A unit inside the grid is three receives, a wait, computing and three sends.
        check_operations(NAME, ranks, u64::from(ranks) * u64::from(OCTANTS * sets) * 8)?;
        let order = order(&grid, ranks, sets);
        program_of(NAME, ranks, |me| {
            let mut rank = RankBuilder::default();
            let mut sent = Vec::new();
            rank.begin_body();
            for unit in &order[me as usize] {
                let tag = unit.1 * OCTANTS + unit.0;
                let from = neighbours(&grid, me, unit.0, false);
                let post = |from| rank.start(receive(from, tag, self.message));
                let requests: Vec<_> = from.map(post).collect();
                if !requests.is_empty() {
                    rank.wait(&requests);
                }
                compute(&mut rank, self.compute);
                for to in neighbours(&grid, me, unit.0, true) {
                    sent.push(rank.start(send(to, tag, self.message)));
                }
            }
            rank.wait(&sent);
            collective(&mut rank, CollectiveKind::AllReduce, Bytes(8));
            rank.end_body();
            rank.finish()
        })
    }
}

/// Where a wave goes to (or comes from) next to a rank. An octant's bits say along which axes
/// its wave runs backwards.
fn neighbours(
    grid: &Grid<3>,
    me: Rank,
    octant: u32,
    downwind: bool,
) -> impl Iterator<Item = Rank> + use<> {
    let grid = *grid;
    (0..3).filter_map(move |axis| {
        let forward = (octant >> axis & 1 == 0) == downwind;
        let mut offset = [0; 3];
        offset[axis] = if forward { 1 } else { -1 };
        grid.beside(me, offset)
    })
}

/// Returns the order in which each rank computes its units: the order of a schedule by steps. In a
/// step every rank takes a unit of the lowest set among those that have come. Of these it takes the
/// one whose wave has the longest way to go. As it is the order of a schedule that exists, no rank
/// waits for one that waits for it.
fn order(grid: &Grid<3>, ranks: u32, sets: u32) -> Vec<Vec<Unit>> {
    let to_go = |me: Rank, octant: u32| {
        let at = grid.coordinates(me);
        let along = |axis: usize| match octant >> axis & 1 {
            0 => grid.sides[axis] - 1 - at[axis],
            _ => at[axis],
        };
        (0..3).map(along).sum::<u32>()
    };
    // How many neighbours each unit still waits for, and the units that wait for none.
    let mut missing: Vec<u8> = Vec::with_capacity((ranks * OCTANTS * sets) as usize);
    let mut ready = vec![BTreeSet::new(); ranks as usize];
    let key = |me: Rank, (octant, set): Unit| (set, u32::MAX - to_go(me, octant), octant);
    for me in 0..ranks {
        for octant in 0..OCTANTS {
            let upwind = neighbours(grid, me, octant, false).count() as u8;
            missing.extend((0..sets).map(|_| upwind));
            if upwind == 0 {
                ready[me as usize].extend((0..sets).map(|set| key(me, (octant, set))));
            }
        }
    }
    let index = |me: Rank, (octant, set): Unit| ((me * OCTANTS + octant) * sets + set) as usize;
    let mut order = vec![Vec::with_capacity((OCTANTS * sets) as usize); ranks as usize];
    loop {
        let take = |(me, ready): (u32, &mut BTreeSet<(u32, u32, u32)>)| {
            ready.pop_first().map(|(set, _, octant)| (me, (octant, set)))
        };
        let step: Vec<(Rank, Unit)> = (0..).zip(&mut ready).filter_map(take).collect();
        if step.is_empty() {
            return order;
        }
        for (me, unit) in step {
            order[me as usize].push(unit);
            for next in neighbours(grid, me, unit.0, true) {
                let left = &mut missing[index(next, unit)];
                *left -= 1;
                if *left == 0 {
                    ready[next as usize].insert(key(next, unit));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_computes_every_unit_once_after_its_upwind_neighbours() {
        for ranks in [1, 2, 12, 32] {
            let (grid, sets) = (Grid::<3>::balanced(ranks), 5);
            let order = order(&grid, ranks, sets);
            for units in &order {
                let distinct: BTreeSet<_> = units.iter().collect();
                assert_eq!((units.len(), distinct.len()), (40, 40));
            }
        }
    }

    #[test]
    fn a_wave_runs_from_corner_to_corner() {
        let grid = Grid::<3>::balanced(32);
        for octant in 0..OCTANTS {
            let starts: Vec<_> =
                (0..32).filter(|me| neighbours(&grid, *me, octant, false).count() == 0).collect();
            let ends: Vec<_> =
                (0..32).filter(|me| neighbours(&grid, *me, octant, true).count() == 0).collect();
            assert_eq!((starts.len(), ends.len()), (1, 1));
            assert_eq!(starts[0] + ends[0], 31);
        }
    }
}
