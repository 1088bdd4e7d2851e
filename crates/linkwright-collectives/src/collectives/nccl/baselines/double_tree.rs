//! Builds two binary trees over the same vertices, so that together they use every vertex's
//! bandwidth.
//!
//! In one binary tree half of the vertices are leaves, which receive but pass nothing on. In a
//! second tree the leaves of the first are inner vertices, and the other way round. The two give
//! every vertex the same load. The sources are Sanders, Speck, Träff, "Two-tree algorithms for full
//! bandwidth broadcast, reduction and scan", 2009, and NCCL since 2.4 (`trees.cc`).

/// Gives, for each of `count` vertices, the one above it in the first tree; `None` for the root, 0.
///
/// A vertex whose lowest set bit is `b` stands above its neighbours at distance `b / 2`, so odd
/// vertices are leaves. A parent past the end gives way to the next lower one.
#[must_use]
pub fn binary_tree(count: usize) -> Vec<Option<usize>> {
    let parent = |vertex: usize| {
        let lowest = vertex & vertex.wrapping_neg();
        let higher = (vertex ^ lowest) | (lowest << 1);
        if higher < count { higher } else { vertex ^ lowest }
    };
    (0..count).map(|vertex| (vertex > 0).then(|| parent(vertex))).collect()
}

/// Both trees: the second is the first, mirrored where the count is even and shifted by one
/// where it is odd. Every vertex is a leaf of at least one of them, but for 0 where the count
/// is odd, as in NCCL.
#[must_use]
pub fn double_binary_tree(count: usize) -> [Vec<Option<usize>>; 2] {
    let first = binary_tree(count);
    let place = |vertex: usize| {
        if count.is_multiple_of(2) { count - 1 - vertex } else { (vertex + 1) % count }
    };
    let mut second = vec![None; count];
    for (vertex, parent) in first.iter().enumerate() {
        second[place(vertex)] = parent.map(place);
    }
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(tree: &[Option<usize>], vertex: usize) -> usize {
        tree.iter().filter(|parent| **parent == Some(vertex)).count()
    }

    #[test]
    fn the_trees_of_a_dozen_are_as_nccl_draws_them() {
        let [first, second] = double_binary_tree(12);
        assert_eq!(first[8], Some(0));
        assert_eq!(
            [first[4], first[10], first[9], first[6]],
            [Some(8), Some(8), Some(10), Some(4)]
        );
        assert_eq!([second[11], second[3], second[7]], [None, Some(11), Some(3)]);
    }

    #[test]
    fn both_trees_span_with_short_ways() {
        for count in 1..200_usize {
            for tree in double_binary_tree(count) {
                assert_eq!(tree.iter().filter(|parent| parent.is_none()).count(), 1);
                for vertex in 0..count {
                    let way = std::iter::successors(Some(vertex), |at| tree[*at]).take(count + 1);
                    assert!(way.count() <= count.ilog2() as usize + 3, "{vertex} of {count}");
                    assert!(children(&tree, vertex) <= 2);
                }
            }
        }
    }

    #[test]
    fn every_vertex_is_a_leaf_of_one_and_inner_to_at_most_one() {
        for count in 2..200 {
            let [first, second] = double_binary_tree(count);
            let inner = |vertex: usize| {
                [&first, &second].into_iter().filter(|tree| children(tree, vertex) > 0).count()
            };
            let odd_one = usize::from(count % 2 == 1);
            assert!((odd_one..count).all(|vertex| inner(vertex) <= 1), "{count}");
        }
    }
}
