//! Holds a set of GPU ids in one word of bits.

use std::fmt;

/// The most GPUs that one machine may have in the allocation layer.
pub const MAX_GPUS: usize = 128;

/// Holds a set of GPU ids below [`MAX_GPUS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct GpuSet(pub u128);

impl GpuSet {
    /// Holds no members.
    pub const EMPTY: Self = Self(0);

    /// Returns the ids below `count`.
    #[must_use]
    #[inline]
    pub const fn first(count: usize) -> Self {
        if count >= MAX_GPUS { Self(u128::MAX) } else { Self((1 << count) - 1) }
    }

    /// How many members it has.
    #[must_use]
    #[inline]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has none.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `gpu` is a member.
    #[must_use]
    #[inline]
    pub const fn contains(self, gpu: usize) -> bool {
        gpu < MAX_GPUS && self.0 >> gpu & 1 == 1
    }

    /// Returns the set with `gpu` as well.
    #[must_use]
    #[inline]
    pub const fn with(self, gpu: usize) -> Self {
        Self(self.0 | 1 << gpu)
    }

    /// The members that are not in `other`.
    #[must_use]
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the members of both.
    #[must_use]
    #[inline]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the members of either.
    #[must_use]
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every member is in `other`.
    #[must_use]
    #[inline]
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the members, lowest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> + Clone {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let gpu = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                gpu
            })
        })
    }

    /// Orders sets of one size by their sorted ids, lowest ids first.
    #[must_use]
    #[inline]
    pub const fn lowest_ids_key(self) -> u128 {
        !self.0.reverse_bits()
    }
}

impl FromIterator<usize> for GpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(gpus: I) -> Self {
        gpus.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Display for GpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.iter().map(|gpu| gpu.to_string()).collect();
        f.write_str(&ids.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_survive_the_bits(mut ids in proptest::collection::vec(0..MAX_GPUS, 0..20)) {
            let set: GpuSet = ids.iter().copied().collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), ids);
        }

        #[test]
        fn the_key_orders_as_sorted_ids_do(a: u128, b: u128) {
            let (a, b) = (GpuSet(a), GpuSet(b));
            if a.len() == b.len() {
                let by_ids = a.iter().collect::<Vec<_>>().cmp(&b.iter().collect::<Vec<_>>());
                prop_assert_eq!(a.lowest_ids_key().cmp(&b.lowest_ids_key()), by_ids);
            }
        }
    }
}
