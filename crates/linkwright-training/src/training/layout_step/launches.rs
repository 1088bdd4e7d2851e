//! How long the host takes to launch the kernels of a piece, for frameworks that launch each by itself.
//!
//! An operator of PyTorch takes the host 10 us forward. The study of training (`docs/studies/training.md`) found 30 us for each
//! kernel of a network on a slow host, and a third of it on others. Backward no Python runs, and it takes half, as a compiled
//! kernel does in either pass: both are assumptions. Graphs of kernels take next to nothing.

use super::pieces::Piece;
use super::works::TokenWork;
use crate::training::memory::Kernels;
use crate::units::Picoseconds;

/// Says how long the host takes for an operator from Python.
const OPERATOR: u64 = 10_000_000;
/// Says how long it takes for a kernel that no operator of Python stands behind.
const KERNEL: u64 = 5_000_000;

/// How long the host takes to launch a piece's kernels, forward and backward. Exchanges cost what a framework's calls do.
pub(super) fn launches_of(piece: &Piece, kernels: Kernels) -> [Picoseconds; 2] {
    let (counts, turns) = match piece {
        Piece::Work(work) => (counted(work, kernels), 1),
        Piece::Ring { work, turns, .. } => (counted(work, kernels), *turns),
        Piece::Meeting(_) => ([0; 2], 0),
    };
    let forward = if kernels == Kernels::Compiled { KERNEL } else { OPERATOR };
    let [ahead, back] = counts.map(|count| count * turns);
    [Picoseconds(ahead * forward), Picoseconds(back * KERNEL)]
}

/// Counts the operators of a pass forward, and of one backward. Norms in eager PyTorch are operators of a number by itself;
/// attention turns queries and keys before.
fn counted(work: &TokenWork, kernels: Kernels) -> [u64; 2] {
    let by_kernels = |fused, eager, compiled| match kernels {
        Kernels::Fused => fused,
        Kernels::Eager => eager,
        Kernels::Compiled => compiled,
    };
    match work.name {
        "norm" | "norm1" | "norm2" | "q-norm" | "kv-norm" => by_kernels([1, 2], [6, 8], [1, 2]),
        "attention" => by_kernels([3, 5], [7, 9], [2, 4]),
        "silu" => by_kernels([0, 0], [1, 1], [0, 0]),
        "product" => by_kernels([1, 1], [1, 2], [1, 1]),
        "sum1" | "sum2" | "shared-sum" => by_kernels([1, 1], [1, 1], [0, 0]),
        "softmax" => by_kernels([3, 3], [3, 3], [2, 2]),
        "scores" => by_kernels([6, 6], [6, 6], [4, 4]),
        "dispatch" | "combine" => by_kernels([2, 2], [4, 4], [2, 2]),
        _ if work.work.is_matrix => [1, 2],
        _ => [1, 1],
    }
}
