//! Graph algorithms on integer capacities, exact and without any word of GPUs.
//!
//! What links can carry is a question of cuts and trees. These modules answer it for plain
//! numbered vertices and whole-number capacities, so that every answer can be checked against
//! brute force and used by more than one layer.

pub mod arborescences;
pub mod max_flow;
pub mod partition;
pub mod strength;

/// The greatest common divisor of two unsigned numbers; of zero and a number that number.
fn greatest_common_divisor<T>(a: T, b: T) -> T
where
    T: Copy + Default + PartialEq + std::ops::Rem<Output = T>,
{
    if b == T::default() { a } else { greatest_common_divisor(b, a % b) }
}
