//! In what order others see what a wavefront does to memory.

/// A memory consistency model, as a wavefront keeps it.
///
/// Names a model. Both keep one rule that the first level enforces: two accesses of a compute unit
/// to one line stay in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// Accesses to different lines reorder between fences.
    #[default]
    Relaxed,
    /// Makes each access, and each barrier, wait for the last access: programs need no fences.
    Sequential,
}

impl Consistency {
    /// Whether a wavefront with this count of accesses under way may not start another, nor come
    /// to a barrier.
    #[inline]
    pub(super) const fn waits(self, under_way: u32) -> bool {
        matches!(self, Self::Sequential) && under_way > 0
    }
}
