//! Plays SW4lite: seismic waves by fourth-order finite differences.
//!
//! LLNL's proxy of SW4 is the model. The ground is cut in two dimensions only, so that each rank
//! has a column from the surface to the bottom. A time step has a predictor and a corrector. As the
//! stencil is two points wide for three components, each swaps thick halos, side after side as SW4
//! does. Each makes a combined send and receive either way along one axis, then along the other, so
//! that the second carries the corners. So a rank has one message under way at a time. Sides of the
//! domain do not wrap around.

use serde::Deserialize;

use super::exchange::{compute, shift};
use super::grid::Grid;
use super::{Skeleton, SkeletonError, check_count, check_ranks, parameters, program_of};
use crate::program::{Program, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// Gives the application to the list of all.
///
/// The factor is the least of the six. It takes a share of about 20 % to the lower part of 25 to 65
/// %. This is below AMG's, as the lesser need of bandwidth in Table II wants it.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "thick halos of a wide stencil in a 2D grid, several a step",
    gpu_speedup: 1.5,
    placed: None,
    generate: |ranks, options| parameters::<Sw4lite>(NAME, options)?.program(ranks),
};

const NAME: &str = "sw4lite";
/// Limits the exchanges of a step.
const MOST_EXCHANGES: u32 = 100;

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sw4lite {
    /// Exchanges of halos in a step; 2 by default, the predictor's and the corrector's.
    pub exchanges: u32,
    /// Gives the size of the halo to each neighbour: 64 by 64 points, 2 deep, 3 numbers of 8 B; 192
    /// KiB by default.
    pub message: Bytes,
    /// Holds the time that a rank computes before each exchange; 280 µs by default.
    pub compute: Picoseconds,
}

impl Default for Sw4lite {
    fn default() -> Self {
        Self { exchanges: 2, message: Bytes(192 << 10), compute: Picoseconds(280_000_000) }
    }
}

impl Sw4lite {
    /// Writes the program.
    ///
    /// # Errors
    /// Refuses no ranks or too many of them, and no exchanges or too many of them.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        check_count(NAME, "exchanges", self.exchanges, MOST_EXCHANGES, "1 to 100")?;
        let grid = Grid::<2>::balanced(ranks);
        program_of(NAME, ranks, |me| {
            let shifts: Vec<_> = [[-1, 0], [1, 0], [0, -1], [0, 1]]
                .into_iter()
                .map(|to: [i32; 2]| (grid.beside(me, to), grid.beside(me, to.map(|step| -step))))
                .collect();
            let mut rank = RankBuilder::default();
            rank.begin_body();
            for _ in 0..self.exchanges {
                compute(&mut rank, self.compute);
                for (to, from) in &shifts {
                    shift(&mut rank, *to, *from, self.message);
                }
            }
            rank.end_body();
            rank.finish()
        })
    }
}
