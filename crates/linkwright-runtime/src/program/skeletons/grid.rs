//! Ranks in a grid.

use crate::program::Rank;

/// Returns the most even sides of a grid of this many ranks, the longest first, as MPI's
/// `MPI_Dims_create` wants them. Of all ways to write the number as a product, it takes the one
/// with the shortest longest side. Of several it takes the one with the shortest second side, and
/// so on.
///
/// ```
/// use linkwright_runtime::program::skeletons::grid::balanced;
///
/// assert_eq!(balanced::<3>(32), [4, 4, 2]);
/// assert_eq!(balanced::<4>(512), [8, 4, 4, 4]);
/// assert_eq!(balanced::<2>(7), [7, 1]);
/// ```
#[must_use]
pub fn balanced<const N: usize>(ranks: u32) -> [u32; N] {
    let mut sides = [1; N];
    split(ranks.max(1), ranks.max(1), &mut sides);
    sides
}

/// Fills the sides with factors of at most a limit; says whether that can be.
fn split(ranks: u32, limit: u32, sides: &mut [u32]) -> bool {
    let Some((first, rest)) = sides.split_first_mut() else { return ranks == 1 };
    let power = rest.len() as u32 + 1;
    let divisors = (1..=limit.min(ranks)).filter(|side| ranks.is_multiple_of(*side));
    for side in divisors {
        let holds = u64::from(side).checked_pow(power).is_none_or(|most| most >= u64::from(ranks));
        if holds && split(ranks / side, side, rest) {
            *first = side;
            return true;
        }
    }
    false
}

/// A grid of ranks, numbered as MPI's Cartesian topologies are: the last coordinate runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid<const N: usize> {
    /// Counts the ranks each way.
    pub sides: [u32; N],
}

impl<const N: usize> Grid<N> {
    /// Makes the most even grid.
    #[must_use]
    pub fn balanced(ranks: u32) -> Self {
        Self { sides: balanced(ranks) }
    }

    /// Where a rank lies.
    #[must_use]
    pub fn coordinates(&self, rank: Rank) -> [u32; N] {
        let (mut rest, mut coordinates) = (rank, [0; N]);
        for axis in (0..N).rev() {
            coordinates[axis] = rest % self.sides[axis];
            rest /= self.sides[axis];
        }
        coordinates
    }

    /// Which rank lies there.
    #[must_use]
    pub fn rank(&self, coordinates: [u32; N]) -> Rank {
        coordinates.iter().zip(self.sides).fold(0, |rank, (at, side)| rank * side + at)
    }

    /// Returns the rank at an offset; `None` outside the grid.
    #[must_use]
    pub fn beside(&self, rank: Rank, offset: [i32; N]) -> Option<Rank> {
        let mut coordinates = self.coordinates(rank);
        for (axis, at) in coordinates.iter_mut().enumerate() {
            *at = at.checked_add_signed(offset[axis]).filter(|at| *at < self.sides[axis])?;
        }
        Some(self.rank(coordinates))
    }

    /// Returns the rank one step along an axis, around the edge.
    #[must_use]
    pub fn around(&self, rank: Rank, axis: usize, forward: bool) -> Rank {
        let mut coordinates = self.coordinates(rank);
        let side = self.sides[axis];
        coordinates[axis] = (coordinates[axis] + if forward { 1 } else { side - 1 }) % side;
        self.rank(coordinates)
    }
}

/// Lists the offsets in three dimensions of at most `steps` steps along at most `axes` axes. With
/// one step there are 6 along one axis (faces), 18 along two (and edges), and 26 along three (and
/// corners). With two steps along three axes there are 124. An offset's place from the front is its
/// opposite's from the back.
#[must_use]
pub fn offsets(steps: i32, axes: usize) -> Vec<[i32; 3]> {
    let along = -steps..=steps;
    let all = along.clone().flat_map(|x| {
        let rest = along.clone().flat_map(|y| along.clone().map(move |z| [y, z]));
        let rest: Vec<_> = rest.collect();
        rest.into_iter().map(move |[y, z]| [x, y, z])
    });
    let away = |offset: &[i32; 3]| offset.iter().filter(|step| **step != 0).count();
    all.filter(|offset| (1..=axes).contains(&away(offset))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_papers_counts_have_these_grids() {
        let counts = [32, 64, 128, 256, 512];
        let two = [[8, 4], [8, 8], [16, 8], [16, 16], [32, 16]];
        let three = [[4, 4, 2], [4, 4, 4], [8, 4, 4], [8, 8, 4], [8, 8, 8]];
        let four = [[4, 2, 2, 2], [4, 4, 2, 2], [4, 4, 4, 2], [4, 4, 4, 4], [8, 4, 4, 4]];
        assert_eq!(counts.map(balanced), two);
        assert_eq!(counts.map(balanced), three);
        assert_eq!(counts.map(balanced), four);
        assert_eq!(balanced::<3>(0), [1, 1, 1]);
        assert_eq!(balanced::<3>(60), [5, 4, 3]);
        assert_eq!(balanced::<2>(65_521), [65_521, 1]);
    }

    #[test]
    fn offsets_mirror_each_other() {
        for (steps, axes, count) in [(1, 1, 6), (1, 2, 18), (1, 3, 26), (2, 3, 124)] {
            let offsets = offsets(steps, axes);
            assert_eq!(offsets.len(), count);
            for (offset, opposite) in offsets.iter().zip(offsets.iter().rev()) {
                assert_eq!(offset.map(|step| -step), *opposite);
            }
        }
    }

    proptest! {
        #[test]
        fn sides_multiply_to_the_ranks_and_fall(ranks in 1_u32..5_000) {
            let sides = balanced::<4>(ranks);
            prop_assert_eq!(sides.iter().product::<u32>(), ranks);
            prop_assert!(sides.is_sorted_by(|a, b| a >= b));
        }

        #[test]
        fn coordinates_name_each_rank_once(sides in [1_u32..6, 1..6, 1..6]) {
            let grid = Grid { sides };
            for rank in 0..sides.iter().product() {
                prop_assert_eq!(grid.rank(grid.coordinates(rank)), rank);
                for axis in 0..3 {
                    let there = grid.around(rank, axis, true);
                    prop_assert_eq!(grid.around(there, axis, false), rank);
                }
                prop_assert_eq!(grid.beside(rank, [0; 3]), Some(rank));
                prop_assert_eq!(grid.beside(rank, [0, -6, 0]), None);
            }
        }
    }
}
