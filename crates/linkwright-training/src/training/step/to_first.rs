//! Sends gradients to GPU 0, which updates the weights, and sends weights back from it.
//!
//! Copies: every layer's gradients are copied as soon as they are known. A kernel of their own adds
//! them on GPU 0, and the layer's new weights are copied back. MXNet's `device` key-value store
//! does so, as MGPU-TSM, section 2.2.2, describes it. Direct access: the kernel that adds reads the
//! other GPUs' memory, and they read the weights there, without copy engines.

use super::Step;
use super::writing::{Region, Without, Writing};
use crate::program::{PendingOperation, Program, Rank};
use crate::units::Bytes;

/// Says how gradients and weights move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    /// By copies, over the host's memory where no peer copy is possible.
    Staged,
    /// By copies, over a third GPU where two have no links.
    Relayed,
    /// Each reads the other's memory.
    Direct,
}

/// Writes the program.
pub(super) fn program(step: &Step<'_>, copies: Copies) -> Program {
    let ranks = step.ranks.len() as Rank;
    let mut all = Writing::new(step.ranks.len());
    // Of each rank, when the gradients of each layer are known: layers are the same on all.
    let known: Vec<Vec<PendingOperation>> =
        (0..ranks).map(|rank| compute(&mut all, step, rank)).collect();
    let buckets = step.ranks[0].copied(step.costs.bucket);
    let (mut come, mut updated) = (Vec::new(), Vec::new());
    let mut last = vec![Vec::new(); step.ranks.len()];
    step.in_turns(buckets.len(), 3, |stage, at| {
        let bucket = &buckets[at];
        match stage {
            0 => {
                let mut of_all = vec![known[0][at]];
                for rank in 1..ranks {
                    let (size, ready) = (bucket.gradients, known[rank as usize][at]);
                    of_all.push(go(&mut all, step, copies, (rank, 0), size, &[ready]));
                }
                come.push(of_all);
            }
            1 => {
                // A kernel that reads the others' memory adds as the data comes.
                let added = match copies {
                    Copies::Direct => Bytes(0),
                    Copies::Staged | Copies::Relayed => {
                        Bytes(bucket.gradients.0 * u64::from(ranks - 1))
                    }
                };
                let mut update = bucket.update;
                if ranks > 1 {
                    update.0 += step.costs.kernels.least.max(step.costs.launch).0;
                }
                let own = all.reduce(0, (added, update), &step.after(&come, at));
                updated.push(vec![own]);
                last[0].push(own);
            }
            _ => {
                let after = step.after(&updated, at);
                for rank in 1..ranks {
                    let given = go(&mut all, step, copies, (0, rank), bucket.weights, &after);
                    last[rank as usize].push(given);
                }
            }
        }
    });
    for (rank, last) in (0..).zip(&last) {
        all.within((rank, Region::Update), |all| all.wait(rank, last));
    }
    all.finish(step.name)
}

/// Writes the computing of a rank; returns when the gradients of each bucket are known.
fn compute(all: &mut Writing, step: &Step<'_>, rank: Rank) -> Vec<PendingOperation> {
    let own = &*step.ranks[rank as usize];
    all.begin(step, rank);
    all.forward(rank, own);
    all.within((rank, Region::Backward), |all| {
        let mut known = Vec::new();
        for bucket in own.copied(step.costs.bucket) {
            known.push(all.compute(rank, bucket.backward, &[]));
        }
        match known.last() {
            Some(last) if !step.overlaps => vec![*last; known.len()],
            _ => known,
        }
    })
}

fn go(
    all: &mut Writing,
    step: &Step<'_>,
    copies: Copies,
    ends: (Rank, Rank),
    size: Bytes,
    after: &[PendingOperation],
) -> PendingOperation {
    let without = match copies {
        Copies::Direct => return all.access(ends, size, after).1,
        Copies::Staged => Without::Staging,
        Copies::Relayed => Without::Relay,
    };
    all.transfer(step, ends, (size, without), after)
}
