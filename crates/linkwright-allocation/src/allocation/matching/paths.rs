//! Says where the dynamic programmes over paths keep their data on each path.
//!
//! A path goes from a subset's lowest GPU through all of it to one of its others. The entries of a
//! subset lie side by side, one per possible end, lowest first. This takes half the memory of a
//! square table, and the inner loops read it in order.

/// Returns the first entry of each subset of `0..count`, and behind the last the number of entries.
#[must_use]
pub fn path_starts(count: usize) -> Vec<u32> {
    let mut next = 0;
    let mut starts = Vec::with_capacity((1 << count) + 1);
    for subset in 0..1_u32 << count {
        starts.push(next);
        next += subset.count_ones().saturating_sub(1);
    }
    starts.push(next);
    starts
}

/// Lists the members of a set of bits, lowest first.
#[inline]
pub fn bits(mut set: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let bit = set.trailing_zeros() as usize;
            set &= set - 1;
            bit
        })
    })
}
