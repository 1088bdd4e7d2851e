//! Collectives lowered to point-to-point messages.
//!
//! [`lower`] writes what one rank does in one collective call: sends and receives whose peers
//! are indices within the communicator and whose tags number the phases from zero. Within a
//! phase a rank posts its receives, then its sends, and waits for all of them, so that no
//! algorithm depends on buffering. The caller maps indices to ranks and gives every call a
//! tag space of its own. The time of reductions and local copies is left out.
//!
//! What is sent follows MPI implementations; the defaults ([`Algorithm::default_for`]) follow
//! TraceR, the replay tool of Bhowmik et al., "A Simulation Study of Hardware Parameters for
//! Future GPU-based HPC Platforms" (IPCCC 2021), and MPICH where TraceR is silent.

mod algorithm;
mod call;
#[cfg(test)]
mod contract;
mod exchange;
mod fold;
mod plan;
mod ring;
mod tree;
mod whole;

pub use algorithm::{Algorithm, LoweringError};
pub use call::{ByDefault, CollectiveCall, Lowering};
pub use whole::lower_program;

use crate::units::Bytes;

use super::{Collective, RankProgram};
use plan::{Content, Plan};

/// What one rank does in a collective call.
///
/// `ranks` is the communicator's size, `me` and `root` are indices in it (`root` is ignored
/// where the collective has none), and `size` is as in [`super::Operation::Collective`]: the
/// whole vector for broadcast, the reductions and scan, and each rank's part for gather,
/// scatter, all-gather and all-to-all. In reduce-scatter a rank keeps the share
/// `size · me / ranks` to `size · (me + 1) / ranks` of the vector, rounded down.
///
/// Every send and receive names [`super::WORLD`], as nothing here knows the communicator.
///
/// # Errors
/// An algorithm that does not perform this collective, and an index outside the communicator.
///
/// ```
/// use linkwright::program::lowering::{Algorithm, lower};
/// use linkwright::program::Collective;
/// use linkwright::units::Bytes;
///
/// let leaf = lower(Collective::Broadcast, Algorithm::BinaryTree, 7, 6, 0, Bytes(100))?;
/// assert_eq!(leaf.operations().len(), 1); // a leaf only receives
/// # Ok::<(), linkwright::program::lowering::LoweringError>(())
/// ```
pub fn lower(
    kind: Collective,
    algorithm: Algorithm,
    ranks: u32,
    me: u32,
    root: u32,
    size: Bytes,
) -> Result<RankProgram, LoweringError> {
    let plan = planned(kind, algorithm, ranks, me, root)?;
    Ok(plan.program(kind, ranks, size))
}

/// The phases of one rank, checked for what the caller may have got wrong.
fn planned(
    kind: Collective,
    algorithm: Algorithm,
    ranks: u32,
    me: u32,
    root: u32,
) -> Result<Plan, LoweringError> {
    use Algorithm as By;
    use Collective as Of;
    let root = if kind.has_root() { root } else { 0 };
    for index in [me, root] {
        if index >= ranks {
            return Err(LoweringError::Outside { index, ranks });
        }
    }
    let mut plan = Plan::default();
    if ranks == 1 && Algorithm::of(kind).contains(&algorithm) {
        return Ok(plan);
    }
    match (kind, algorithm) {
        (Of::Barrier, By::Dissemination) => exchange::dissemination(&mut plan, ranks, me),
        (Of::Barrier, By::BinaryTree) => {
            tree::binary_up(&mut plan, ranks, me, root, Content::Signal);
            tree::binary_down(&mut plan, ranks, me, root, Content::Signal);
        }
        (Of::Broadcast, By::BinaryTree) => {
            tree::binary_down(&mut plan, ranks, me, root, Content::Vector);
        }
        (Of::Reduce, By::BinaryTree) => {
            tree::binary_up(&mut plan, ranks, me, root, Content::Vector);
        }
        (Of::AllReduce, By::BinaryTree) => {
            tree::binary_up(&mut plan, ranks, me, root, Content::Vector);
            tree::binary_down(&mut plan, ranks, me, root, Content::Vector);
        }
        (Of::Broadcast, By::BinomialTree) => {
            tree::binomial_down(&mut plan, ranks, me, root, tree::Load::Vector);
        }
        (Of::Reduce, By::BinomialTree) => {
            tree::binomial_up(&mut plan, ranks, me, root, tree::Load::Vector);
        }
        (Of::AllReduce, By::BinomialTree) => {
            tree::binomial_up(&mut plan, ranks, me, root, tree::Load::Vector);
            tree::binomial_down(&mut plan, ranks, me, root, tree::Load::Vector);
        }
        (Of::Gather, By::BinomialTree) => {
            tree::binomial_up(&mut plan, ranks, me, root, tree::Load::Subtree);
        }
        (Of::Scatter, By::BinomialTree) => {
            tree::binomial_down(&mut plan, ranks, me, root, tree::Load::Subtree);
        }
        (Of::Gather, By::Linear) => tree::linear_gather(&mut plan, ranks, me, root),
        (Of::Scatter, By::Linear) => tree::linear_scatter(&mut plan, ranks, me, root),
        (Of::AllReduce, By::RecursiveDoubling) => fold::all_reduce_doubling(&mut plan, ranks, me),
        (Of::AllReduce, By::RecursiveHalving) => fold::all_reduce_halving(&mut plan, ranks, me),
        (Of::ReduceScatter, By::RecursiveHalving) => fold::reduce_scatter(&mut plan, ranks, me),
        (Of::AllReduce, By::Ring) => {
            ring::reduce_scatter(&mut plan, ranks, me);
            ring::all_gather(&mut plan, ranks, me);
        }
        (Of::ReduceScatter, By::Ring) => ring::reduce_scatter(&mut plan, ranks, me),
        (Of::AllGather, By::Ring) => ring::all_gather(&mut plan, ranks, me),
        (Of::AllGather, By::Bruck) => exchange::all_gather_bruck(&mut plan, ranks, me),
        (Of::AllToAll, By::Bruck) => exchange::all_to_all_bruck(&mut plan, ranks, me),
        (Of::AllToAll, By::Pairwise) => exchange::all_to_all_pairwise(&mut plan, ranks, me),
        (Of::AllToAll, By::Blocked) => exchange::all_to_all_blocked(&mut plan, ranks, me),
        (Of::Scan, By::RecursiveDoubling) => exchange::scan_doubling(&mut plan, ranks, me),
        (Of::Scan, By::Linear) => ring::scan_linear(&mut plan, ranks, me),
        _ => return Err(LoweringError::Unfit { kind, algorithm }),
    }
    Ok(plan)
}
