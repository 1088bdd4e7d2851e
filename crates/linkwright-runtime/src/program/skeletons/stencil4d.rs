//! Plays Stencil4d: each rank of a 4D grid swaps a message with its eight neighbours.
//!
//! The benchmark of the same name among TraceR's examples is the model: receives are posted, then
//! come sends, a wait for all, and a barrier. The grid wraps around. Where a side is 2, both
//! neighbours along it are the same rank, which gets two messages. The eight messages are large
//! and, by default, all under way at once. This makes the order of packets at the NIC matter (the
//! paper's Fig. 8).
//!
//! The benchmark's sends block. A blocking send above the eager limit (64 kB) returns only when its
//! message has gone. So only one would be under way, and no NIC could choose. Hence the default is
//! non-blocking sends, and `blocking_sends` brings the example's back.

use serde::Deserialize;

use super::exchange::{Neighbour, collective, compute, receive, send, swap};
use super::grid::Grid;
use super::{Skeleton, SkeletonError, check_ranks, parameters, program_of};
use crate::program::{CollectiveKind, Program, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// Gives the application to the list of all.
///
/// A stencil is limited by memory. The factor divides the 900 GB/s of a V100 (its data sheet) by
/// about 60 GB/s. Programs reach these of the 77 GB/s of one socket of the paper's Quartz (four
/// channels of DDR4-2400).
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "eight large messages to the neighbours in a 4D grid, then a barrier",
    gpu_speedup: 15.0,
    placed: None,
    generate: |ranks, options| parameters::<Stencil4d>(NAME, options)?.program(ranks),
};

const NAME: &str = "stencil4d";

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stencil4d {
    /// Gives the size of the message to each neighbour; 128 KiB by default, twice the eager limit.
    pub message: Bytes,
    /// Holds the time that a rank computes in an iteration; 25 µs by default.
    pub compute: Picoseconds,
    /// Whether each send returns only when its buffer is free; not by default.
    pub blocking_sends: bool,
}

impl Default for Stencil4d {
    fn default() -> Self {
        Self { message: Bytes(128 << 10), compute: Picoseconds(25_000_000), blocking_sends: false }
    }
}

impl Stencil4d {
    /// Writes the program.
    ///
    /// # Errors
    /// Refuses a count of ranks with no 4D grid of sides of at least 2.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        let grid = Grid::<4>::balanced(ranks);
        if grid.sides.contains(&1) {
            let reason = "each side of its 4D grid is at least 2; take 16, 24, 32, 36 or the like";
            return Err(SkeletonError::Ranks { application: NAME, ranks, reason });
        }
        program_of(NAME, ranks, |me| {
            let directions = (0..4).flat_map(|axis| [(axis, false), (axis, true)]);
            let neighbour = |(axis, forward)| {
                let tag = |forward: bool| 2 * axis as u32 + u32::from(forward);
                let (sent, received) = (tag(forward), tag(!forward));
                let rank = grid.around(me, axis, forward);
                Neighbour { rank, sent, received, size: self.message }
            };
            let neighbours: Vec<_> = directions.map(neighbour).collect();
            let mut rank = RankBuilder::default();
            rank.begin_body();
            compute(&mut rank, self.compute);
            if self.blocking_sends {
                let post = |n: &Neighbour| rank.start(receive(n.rank, n.received, n.size));
                let requests: Vec<_> = neighbours.iter().map(post).collect();
                for neighbour in &neighbours {
                    rank.run(send(neighbour.rank, neighbour.sent, neighbour.size));
                }
                rank.wait(&requests);
            } else {
                swap(&mut rank, &neighbours);
            }
            collective(&mut rank, CollectiveKind::Barrier, Bytes(0));
            rank.end_body();
            rank.finish()
        })
    }
}
