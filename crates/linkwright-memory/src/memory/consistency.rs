//! In what order others see what a wavefront does to memory.

/// A memory consistency model, as a wavefront keeps it.
///
/// Both models keep one rule that the first level enforces: two accesses of a compute unit to one
/// line stay in order.
pub trait Consistency: Copy + 'static {
    /// Whether a wavefront with so many accesses under way may not start another, nor come to a
    /// barrier.
    fn waits(under_way: u32) -> bool;
}

/// Relaxed consistency: accesses to different lines reorder between fences.
#[derive(Debug, Clone, Copy)]
pub struct Relaxed;

/// Sequential consistency: each access, and each barrier, waits for the last access.
#[derive(Debug, Clone, Copy)]
pub struct Sequential;

impl Consistency for Relaxed {
    #[inline]
    fn waits(_: u32) -> bool {
        false
    }
}

impl Consistency for Sequential {
    #[inline]
    fn waits(under_way: u32) -> bool {
        under_way > 0
    }
}
