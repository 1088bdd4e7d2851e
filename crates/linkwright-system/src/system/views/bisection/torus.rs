//! Divides a torus.
//!
//! The least cut goes across a dimension. Where that is odd, its middle layer is itself divided across
//! another one, and so on down to an even one. Source: K. Efe and G.-L. Feng, "A Proof for
//! Bisection Width of Grids", World Academy of Science, Engineering and Technology 31, 2007, and J.
//! Aroca and A. Fernández Anta, "Bisection (Band)Width of Product Networks with Application to Data
//! Centers", IEEE TPDS 25(3), 2014. Dimensions of two have one link where others have two, so that
//! every order is tried.

use super::Halves;
use crate::system::fabric::Torus;

/// Up to this number of dimensions every order is tried, beyond it the longest first.
const MOST_ORDERED: usize = 4;

/// Returns the least over divisions across dimensions in every order.
pub(super) fn least(torus: &Torus, halves: &Halves) -> u64 {
    let mut wide: Vec<usize> =
        (0..torus.dimensions.len()).filter(|it| torus.dimensions[*it] > 1).collect();
    wide.sort_by_key(|it| std::cmp::Reverse(torus.dimensions[*it]));
    let orders = if wide.len() > MOST_ORDERED { vec![wide] } else { orders_of(&wide) };
    let mut least = u64::MAX;
    for order in orders {
        for depth in 0..=order.len() {
            let inside = |switch: u32| is_inside(torus, &order[..depth], switch);
            let set: Vec<bool> = (0..torus.switches()).map(inside).collect();
            least = least.min(halves.passing(&set));
        }
    }
    least
}

/// Tells whether a switch is in the lower half. In the middle of a dimension the next one decides.
fn is_inside(torus: &Torus, order: &[usize], switch: u32) -> bool {
    for dimension in order {
        let (at, size) = (torus.coordinate(switch, *dimension), torus.dimensions[*dimension]);
        if at != size / 2 || size.is_multiple_of(2) {
            return at < size / 2;
        }
    }
    false
}

/// Lists all orders of some dimensions.
fn orders_of(dimensions: &[usize]) -> Vec<Vec<usize>> {
    if dimensions.is_empty() {
        return vec![Vec::new()];
    }
    let first = |at: usize| {
        let mut others = dimensions.to_vec();
        let first = others.remove(at);
        orders_of(&others).into_iter().map(move |behind| [vec![first], behind].concat())
    };
    (0..dimensions.len()).flat_map(first).collect()
}
