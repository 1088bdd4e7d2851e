//! Plays Laghos: high-order finite elements in a moving frame, for the Euler equations.
//!
//! LLNL's proxy of that name is the model: a time step is a two-stage Runge-Kutta scheme. Each
//! stage solves for the velocity with the conjugate gradient method. Each of its iterations swaps
//! the shared degrees of freedom with the neighbours and sums two scalars over all ranks. The step
//! ends with the minimum of the time step over all. The 3D decomposition has faces only: the data
//! over edges and corners is two orders less. The many small all-reduces cost latency, not bytes,
//! so that Laghos feels the network's bandwidth only where eight GPUs share a NIC.

use serde::Deserialize;

use super::exchange::{Neighbour, collective, compute, swap};
use super::grid::{Grid, offsets};
use super::{Skeleton, SkeletonError, check_count, check_ranks, parameters, program_of};
use crate::program::{CollectiveKind, Program, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// Gives the application to the list of all.
///
/// High-order elements do many operations on each byte, which suits a GPU better than stencils do.
/// The factor takes a share under 5 % to above 25 % where no other job is. The message is so small
/// that four GPUs can share a NIC of the paper's bandwidth and eight cannot, as Table II shows.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "halos and many small all-reduces of conjugate gradients",
    gpu_speedup: 42.0,
    placed: None,
    generate: |ranks, options| parameters::<Laghos>(NAME, options)?.program(ranks),
};

const NAME: &str = "laghos";
/// Limits the stages.
const MOST_STAGES: u32 = 10;
/// Limits the iterations of the solver.
const MOST_ITERATIONS: u32 = 1_000;

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Laghos {
    /// Counts the stages of a time step; 2 by default.
    pub stages: u32,
    /// Counts the iterations of the conjugate gradient method in a stage; 6 by default.
    pub solver_iterations: u32,
    /// Gives the size of the shared degrees of freedom of a face; 5 KiB by default.
    pub message: Bytes,
    /// Holds the time that a rank computes in an iteration of the solver; 1.2 ms by default.
    pub solver_compute: Picoseconds,
    /// Holds the time that a rank computes for the forces of a stage; 6 ms by default.
    pub force_compute: Picoseconds,
}

impl Default for Laghos {
    fn default() -> Self {
        Self {
            stages: 2,
            solver_iterations: 6,
            message: Bytes(5 << 10),
            solver_compute: Picoseconds(1_200_000_000),
            force_compute: Picoseconds(6_000_000_000),
        }
    }
}

impl Laghos {
    /// Writes the program.
    ///
    /// # Errors
    /// Refuses no ranks or too many of them, and no stages or iterations, or too many of them.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        check_count(NAME, "stages", self.stages, MOST_STAGES, "1 to 10")?;
        let (most, remedy) = (MOST_ITERATIONS, "1 to 1000");
        check_count(NAME, "solver_iterations", self.solver_iterations, most, remedy)?;
        let grid = Grid::<3>::balanced(ranks);
        let faces = offsets(1, 1);
        program_of(NAME, ranks, |me| {
            let neighbour = |(place, offset): (usize, &[i32; 3])| {
                let (sent, received) = (place as u32, (faces.len() - 1 - place) as u32);
                let rank = grid.beside(me, *offset)?;
                Some(Neighbour { rank, sent, received, size: self.message })
            };
            let neighbours: Vec<_> = faces.iter().enumerate().filter_map(neighbour).collect();
            let mut rank = RankBuilder::default();
            rank.begin_body();
            for _ in 0..self.stages {
                compute(&mut rank, self.force_compute);
                for _ in 0..self.solver_iterations {
                    swap(&mut rank, &neighbours);
                    compute(&mut rank, self.solver_compute);
                    collective(&mut rank, CollectiveKind::AllReduce, Bytes(8));
                    collective(&mut rank, CollectiveKind::AllReduce, Bytes(8));
                }
            }
            collective(&mut rank, CollectiveKind::AllReduce, Bytes(8));
            rank.end_body();
            rank.finish()
        })
    }
}
