//! Lists every subset of a small machine's GPUs, by size, lowest ids first.

/// The most GPUs of a machine whose subsets are all tabulated.
pub const MAX_TABULATED: usize = 16;

/// Holds the subsets of `0..count` as words of bits, sorted by size, then by their sorted ids.
#[derive(Debug, Clone)]
pub struct Subsets {
    order: Vec<u16>,
    starts: Vec<usize>,
}

impl Subsets {
    /// Lists all subsets.
    ///
    /// # Panics
    /// If `count` is above [`MAX_TABULATED`].
    #[must_use]
    pub fn new(count: usize) -> Self {
        assert!(count <= MAX_TABULATED, "a subset is a word of 16 bits");
        // Taking the sets by falling reversed bits lists those of one size by lowest ids.
        let width = usize::BITS - count as u32;
        let by_lowest_ids = (0..1_usize << count).rev().map(|reversed| match count {
            0 => 0,
            _ => (reversed.reverse_bits() >> width) as u16,
        });
        let mut sizes = vec![0; count + 2];
        for subset in 0..1_usize << count {
            sizes[subset.count_ones() as usize + 1] += 1;
        }
        for size in 1..sizes.len() {
            sizes[size] += sizes[size - 1];
        }
        let starts = sizes.clone();
        let mut order = vec![0; 1 << count];
        for subset in by_lowest_ids {
            let next = &mut sizes[subset.count_ones() as usize];
            order[*next] = subset;
            *next += 1;
        }
        Self { order, starts }
    }

    /// The subsets of one size, lowest ids first; empty where the size is above the count.
    #[must_use]
    pub fn of_size(&self, size: usize) -> &[u16] {
        match (self.starts.get(size), self.starts.get(size + 1)) {
            (Some(start), Some(end)) => &self.order[*start..*end],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::GpuSet;

    #[test]
    fn sizes_are_complete_and_sorted_by_ids() {
        for count in 0..=6 {
            let subsets = Subsets::new(count);
            let mut seen = 0;
            for size in 0..=count {
                let keys: Vec<u128> = subsets
                    .of_size(size)
                    .iter()
                    .map(|bits| GpuSet(u128::from(*bits)).lowest_ids_key())
                    .collect();
                assert!(keys.is_sorted_by(|a, b| a < b));
                seen += keys.len();
            }
            assert_eq!(seen, 1 << count);
            assert!(subsets.of_size(count + 1).is_empty());
        }
    }
}
