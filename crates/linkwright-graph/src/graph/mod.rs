//! Holds graph algorithms on integer capacities, exact and without any word of GPUs.
//!
//! Cuts and trees tell how much links can carry. These modules answer that question for plain
//! numbered vertices and whole-number capacities. So every answer can be checked against brute
//! force, and more than one layer uses it.

pub mod arborescences;
mod cheapest_arborescence;
mod heaviest_set;
pub mod max_flow;
pub mod multiplicative_weights;
pub mod partition;
pub mod scatter;
pub mod spanning_trees;
pub mod strength;

/// Euclid's; of zero and a number it is that number.
pub fn greatest_common_divisor<T>(a: T, b: T) -> T
where
    T: Copy + Default + PartialEq + std::ops::Rem<Output = T>,
{
    if b == T::default() { a } else { greatest_common_divisor(b, a % b) }
}

/// The largest unit in which all capacities are whole; one where all are zero.
pub fn common_unit(capacity: &[u64]) -> u64 {
    capacity.iter().copied().fold(0, greatest_common_divisor).max(1)
}
