//! How fast spanning arborescences can be packed: cuts, found by maximum flows.
//!
//! From one root the rate is the least maximum flow to any terminal (Edmonds 1973). Now let every
//! terminal be a root that sends equally much. The flow that leaves a set of vertices must carry
//! the share of each terminal inside. So each set that holds some but not all terminals has a
//! ratio: the capacity that leaves it over the terminals in it. The rate is the least of these
//! ratios. Take a source that gives each terminal a share. The share is feasible if the source
//! reaches each terminal with all shares. Where a flow falls short, its cut is a set with a lower
//! ratio (Dinkelbach 1967).

use super::dense_flow::{Capacities, DenseNetwork, LIMIT};
use super::{ArborescenceError, greatest_common_divisor};

/// Returns the least maximum flow from the root to any other of the vertices `0..terminals`.
///
/// # Errors
/// [`ArborescenceError::Unreachable`] where that is nothing.
pub(super) fn from_root(
    capacity: &Capacities,
    terminals: usize,
    root: usize,
) -> Result<u64, ArborescenceError> {
    let full = DenseNetwork::of(capacity, capacity.vertices);
    let mut network = full.clone();
    let mut rate = LIMIT;
    for to in (0..terminals).filter(|to| *to != root) {
        network.restore(&full);
        rate = network.send(root, to, rate);
        if rate == 0 {
            return Err(ArborescenceError::Unreachable { from: root, to });
        }
    }
    Ok(rate)
}

/// The largest share that each of the vertices `0..terminals` can send to all others at once:
/// numerator and denominator in lowest terms.
///
/// # Errors
/// [`ArborescenceError::Unreachable`] where a terminal does not reach another,
/// [`ArborescenceError::TooLarge`] where the scaled capacities do not fit.
pub(super) fn from_every_terminal(
    capacity: &Capacities,
    terminals: usize,
) -> Result<(u64, u64), ArborescenceError> {
    let source = capacity.vertices;
    let mut inside: Vec<bool> = (0..source).map(|vertex| vertex > 0).collect();
    let (mut share, mut scale) = ratio(capacity, terminals, &inside);
    for to in 0..terminals {
        loop {
            if share == 0 {
                let from = inside[..terminals].iter().position(|inside| *inside);
                return Err(ArborescenceError::Unreachable { from: from.unwrap_or(to), to });
            }
            let scaled = capacity.scaled(scale).ok_or(ArborescenceError::TooLarge)?;
            let wanted = share.checked_mul(terminals as u64).filter(|wanted| *wanted <= LIMIT);
            let wanted = wanted.ok_or(ArborescenceError::TooLarge)?;
            let mut network = DenseNetwork::of(&scaled, source + 1);
            for terminal in 0..terminals {
                network.set(source, terminal, share);
            }
            if network.send(source, to, wanted) == wanted {
                break;
            }
            inside = network.reached_from(source);
            (share, scale) = ratio(capacity, terminals, &inside[..source]);
        }
    }
    Ok((share, scale))
}

/// Returns the capacity that leaves the set over the terminals in it, in lowest terms.
fn ratio(capacity: &Capacities, terminals: usize, inside: &[bool]) -> (u64, u64) {
    let leaving = capacity.arcs().filter(|(from, to, _)| inside[*from] && !inside[*to]);
    let leaving: u64 = leaving.map(|(_, _, value)| value).sum();
    let within = inside[..terminals].iter().filter(|inside| **inside).count() as u64;
    let divisor = greatest_common_divisor(leaving, within);
    (leaving / divisor, within / divisor)
}
