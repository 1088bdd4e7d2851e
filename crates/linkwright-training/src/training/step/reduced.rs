//! Gradients by collectives, in buckets, while the backward pass computes the rest.

use super::writing::{Region, Writing};
use super::{Step, Way};
use crate::program::{CollectiveKind, PendingOperation, Program, Rank};
use crate::units::{Bytes, Picoseconds};

/// The program: every GPU updates its weights, or the first does and broadcasts them.
pub(super) fn program(step: &Step<'_>, way: Way) -> Program {
    Writing::each(step, |all, rank| write(all, step, rank, way))
}

fn write(all: &mut Writing, step: &Step<'_>, rank: Rank, way: Way) {
    let own = &*step.ranks[rank as usize];
    // A single GPU has nothing to send, and calls nothing.
    let others = u64::from(step.ranks.len() > 1);
    let call =
        |all: &mut Writing, kind, (size, calls): (Bytes, u64), after: &[PendingOperation]| {
            let cost = Picoseconds(step.costs.collective.0 * calls * others);
            all.collective(rank, (kind, Bytes(size.0 * others)), cost, after)
        };
    let kind = match way {
        Way::ReduceBroadcast => CollectiveKind::Reduce,
        _ => CollectiveKind::AllReduce,
    };
    all.begin(step, rank);
    let buckets = own.buckets(step.costs.bucket);
    all.forward(rank, own);
    let (mut known, mut reduced) = (Vec::new(), Vec::new());
    all.within((rank, Region::Backward), |all| {
        step.in_turns(buckets.len(), 2, |stage, at| {
            let bucket = &buckets[at];
            if stage == 0 {
                known.push(vec![all.compute(rank, bucket.backward, &[])]);
            } else {
                let after = step.after(&known, at);
                reduced.push(vec![call(all, kind, (bucket.gradients, bucket.calls), &after)]);
            }
        });
    });
    all.within((rank, Region::Update), |all| {
        if way == Way::AllReduce {
            all.wait(rank, &reduced.concat());
            all.compute(rank, own.update(), &[]);
            return;
        }
        let (mut updated, mut come) = (Vec::new(), Vec::new());
        step.in_turns(buckets.len(), 2, |stage, at| {
            let bucket = &buckets[at];
            if stage == 1 {
                let (after, weights) = (step.after(&updated, at), (bucket.weights, bucket.calls));
                come.push(call(all, CollectiveKind::Broadcast, weights, &after));
            } else if rank == 0 {
                let after = step.after(&reduced, at);
                updated.push(vec![all.reduce(rank, (Bytes(0), bucket.update), &after)]);
            } else {
                updated.push(reduced[at].clone());
            }
        });
        all.wait(rank, &come);
    });
}
