//! Plays Subcomm3d: all-to-all in the lines of a 3D grid.
//!
//! The paper takes the benchmark of that name from Bhatele's "Evaluating trade-offs in potential
//! exascale fabric topologies" (LLNL, 2018). It is published as `subcom3d-a2a` in Chatterbug
//! (LLNL-CODE-756471). It takes the sides of the grid and a size of message for each axis, where
//! none means that the axis is skipped. Each line of an axis that is not skipped is a communicator;
//! ranks count along x first. A rank's bytes grow with the length of its lines, as each partner
//! gets a message of the same size.
//!
//! The paper does not say which sides and sizes it ran. The default is lines along x alone, of an
//! eighth of the ranks and at most 16, because its results point to it. On 32 processes half the
//! bandwidth does with four GPUs a node (Table II). So all traffic stays in nodes, whose links are
//! twice as fast, and lines have four ranks. 64 processes gain at eight a node. 512 need four times
//! the bandwidth both at four and at eight a node, as lines of 16 do. With all three axes it is the
//! pattern of a 3D FFT.

use serde::Deserialize;

use super::exchange::compute;
use super::grid::{Grid, balanced};
use super::{Skeleton, SkeletonError, check_ranks, parameters, program_of};
use crate::program::{CollectiveKind, CommunicatorId, Operation, Program, Rank, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// Gives the application to the list of all.
///
/// FFTs are limited by memory, as stencils are; the factor is Stencil4d's.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "all-to-all in the lines of a 3D grid along x, and y and z if asked for",
    gpu_speedup: 15.0,
    placed: None,
    generate: |ranks, options| parameters::<Subcomm3d>(NAME, options)?.program(ranks),
};

const NAME: &str = "subcomm3d";
/// The longest line along x unless the sides are given.
const LONGEST_LINE: u32 = 16;

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subcomm3d {
    /// Holds the sides of the grid along x, y and z; [`default_sides`] where absent.
    pub sides: Option<[u32; 3]>,
    /// Counts the bytes that each rank sends to each other rank of its line along x; 128 KiB by
    /// default. With 0 B there is no all-to-all along it.
    pub message_x: Bytes,
    /// Counts the same along y; 0 B by default.
    pub message_y: Bytes,
    /// Counts the same along z; 0 B by default.
    pub message_z: Bytes,
    /// Holds the time that a rank computes before each all-to-all; 8 µs by default.
    pub compute: Picoseconds,
}

impl Default for Subcomm3d {
    fn default() -> Self {
        Self {
            sides: None,
            message_x: Bytes(128 << 10),
            message_y: Bytes(0),
            message_z: Bytes(0),
            compute: Picoseconds(8_000_000),
        }
    }
}

/// Returns the sides along x, y and z for a number of ranks. Side x is its largest divisor of at
/// most an eighth of it and at most 16 that leaves two sides of at least 2. Sides y and z are then
/// the most even ones. Where there is no such divisor, all three are the most even ones.
///
/// ```
/// use linkwright_runtime::program::skeletons::subcomm3d::default_sides;
///
/// assert_eq!(default_sides(32), [4, 4, 2]);
/// assert_eq!(default_sides(512), [16, 8, 4]);
/// ```
#[must_use]
pub fn default_sides(ranks: u32) -> [u32; 3] {
    let longest = (ranks / 8).clamp(2, LONGEST_LINE);
    let divisors = (2..=longest).rev().filter(|x| ranks.is_multiple_of(*x));
    let mut grids = divisors.map(|x| (x, balanced::<2>(ranks / x)));
    let found = grids.find(|(_, rest)| !rest.contains(&1));
    found.map_or_else(|| balanced(ranks), |(x, [y, z])| [x, y, z])
}

impl Subcomm3d {
    /// Writes the program.
    ///
    /// # Errors
    /// Refuses a count of ranks with no 3D grid of sides of at least 2, and sides of another grid.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        let [x, y, z] = self.sides(ranks)?;
        let grid = Grid { sides: [z, y, x] };
        let used: Vec<_> = [(2, self.message_x), (1, self.message_y), (0, self.message_z)]
            .into_iter()
            .filter(|(_, message)| message.0 > 0)
            .collect();
        // The line of each rank in each axis that is used, and the ranks of each line.
        let mut lines = vec![Vec::with_capacity(used.len()); ranks as usize];
        let mut communicators: Vec<Vec<Rank>> = vec![(0..ranks).collect()];
        for (axis, message) in used {
            for first in (0..ranks).filter(|rank| grid.coordinates(*rank)[axis] == 0) {
                let mut line = vec![first];
                for step in 1..grid.sides[axis] {
                    line.push(grid.around(line[step as usize - 1], axis, true));
                }
                let index = communicators.len() as CommunicatorId;
                line.iter().for_each(|rank| lines[*rank as usize].push((index, message)));
                communicators.push(line);
            }
        }
        let program = program_of(NAME, ranks, |me| {
            let mut rank = RankBuilder::default();
            rank.begin_body();
            for (communicator, size) in lines[me as usize].iter().copied() {
                compute(&mut rank, self.compute);
                let kind = CollectiveKind::AllToAll;
                rank.run(Operation::Collective { kind, root: 0, communicator, size });
            }
            rank.end_body();
            rank.finish()
        })?;
        Ok(Program { communicators, ..program })
    }

    fn sides(&self, ranks: u32) -> Result<[u32; 3], SkeletonError> {
        let sides = self.sides.unwrap_or_else(|| default_sides(ranks));
        let product = sides.iter().map(|side| u64::from(*side)).try_fold(1, u64::checked_mul);
        let reason = match self.sides {
            Some(_) if product != Some(u64::from(ranks)) => {
                "its `sides` do not multiply to that many; take others, or leave them out"
            }
            None if sides.contains(&1) => {
                "each side of its 3D grid is at least 2; take 8, 12, 16, 18 or the like"
            }
            _ => return Ok(sides),
        };
        Err(SkeletonError::Ranks { application: NAME, ranks, reason })
    }
}
