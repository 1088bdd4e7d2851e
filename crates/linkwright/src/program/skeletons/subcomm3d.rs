//! Subcomm3d: all-to-all in the lines of a 3D grid, in one dimension after another.
//!
//! After the benchmark of the same name that the paper takes from Bhatele's "Evaluating
//! trade-offs in potential exascale interconnect topologies" (LLNL, 2018): the pattern of a 3D
//! FFT. Each line of the grid is a communicator. A rank's bytes grow with the length of its
//! lines, as each partner gets a message of the same size.

use serde::Deserialize;

use super::exchange::compute;
use super::grid::Grid;
use super::{Application, SkeletonError, check_ranks, parameters, program_of};
use crate::program::{Collective, CommunicatorId, Operation, Program, Rank, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// The application, for the list of all.
///
/// FFTs are limited by memory, as stencils are; the factor is Stencil4d's.
pub const APPLICATION: Application = Application {
    name: NAME,
    summary: "all-to-all in each line of a 3D grid, in three dimensions",
    gpu_speedup: 15.0,
    generate: |ranks, options| parameters::<Subcomm3d>(NAME, options)?.program(ranks),
};

const NAME: &str = "subcomm3d";

/// The parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subcomm3d {
    /// What each rank sends to each other rank of its line; 128 KiB by default.
    pub message: Bytes,
    /// What a rank computes before each of the three all-to-alls; 8 µs by default.
    pub compute: Picoseconds,
}

impl Default for Subcomm3d {
    fn default() -> Self {
        Self { message: Bytes(128 << 10), compute: Picoseconds(8_000_000) }
    }
}

impl Subcomm3d {
    /// The program.
    ///
    /// # Errors
    /// A count of ranks with no 3D grid of sides of at least 2.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        let grid = Grid::<3>::balanced(ranks);
        if grid.sides.contains(&1) {
            let reason = "each side of its 3D grid is at least 2; take 8, 12, 16, 18 or the like";
            return Err(SkeletonError::Ranks { application: NAME, ranks, reason });
        }
        // The line of each rank in each dimension, and the ranks of each line.
        let mut lines = vec![[0; 3]; ranks as usize];
        let mut communicators: Vec<Vec<Rank>> = vec![(0..ranks).collect()];
        for (axis, side) in grid.sides.into_iter().enumerate() {
            for first in (0..ranks).filter(|rank| grid.coordinates(*rank)[axis] == 0) {
                let mut line = vec![first];
                for step in 1..side {
                    line.push(grid.around(line[step as usize - 1], axis, true));
                }
                let index = communicators.len() as CommunicatorId;
                line.iter().for_each(|rank| lines[*rank as usize][axis] = index);
                communicators.push(line);
            }
        }
        let program = program_of(NAME, ranks, |me| {
            let mut rank = RankBuilder::default();
            rank.begin_body();
            for communicator in lines[me as usize] {
                compute(&mut rank, self.compute);
                let (kind, size) = (Collective::AllToAll, self.message);
                rank.run(Operation::Collective { kind, root: 0, communicator, size });
            }
            rank.end_body();
            rank.finish()
        })?;
        Ok(Program { communicators, ..program })
    }
}
