//! Graph algorithms on integer capacities, exact and without any word of GPUs.
//!
//! What links can carry is a question of cuts and trees. These modules answer it for plain
//! numbered vertices and whole-number capacities, so that every answer can be checked against
//! brute force and used by more than one layer.

pub mod arborescences;
mod heaviest_set;
pub mod max_flow;
pub mod partition;
pub mod scatter;
pub mod spanning_trees;
pub mod strength;

/// Euclid's; of zero and a number it is that number.
pub(crate) const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The largest unit in which all capacities are whole; one where all are zero.
fn common_unit(capacity: &[u64]) -> u64 {
    let common = capacity.iter().fold(0, |a, b| greatest_common_divisor(a, u128::from(*b)));
    u64::try_from(common).expect("no larger than a capacity").max(1)
}
