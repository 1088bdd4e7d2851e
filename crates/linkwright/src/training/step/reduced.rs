//! Gradients by collectives, in buckets, while the backward pass computes the rest.

use super::parts::Bucket;
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
    let call = |all: &mut Writing, kind, (size, calls): (Bytes, u64), after| {
        let cost = Picoseconds(step.costs.collective.0 * calls * others);
        all.collective(rank, (kind, Bytes(size.0 * others)), cost, &[after])
    };
    let kind = match way {
        Way::ReduceBroadcast => CollectiveKind::Reduce,
        _ => CollectiveKind::AllReduce,
    };
    all.begin(step, rank);
    all.forward(rank, own);
    let buckets = own.buckets(step.costs.bucket);
    let mut known: Vec<(Bucket, PendingOperation)> = Vec::new();
    let mut reduced = Vec::new();
    all.within((rank, Region::Backward), |all| {
        for bucket in buckets {
            let ready = all.compute(rank, bucket.backward, &[]);
            known.push((bucket, ready));
            if step.overlaps {
                reduced.push(call(all, kind, (bucket.gradients, bucket.calls), ready));
            }
        }
    });
    if !step.overlaps {
        let each = known
            .iter()
            .map(|(bucket, ready)| call(all, kind, (bucket.gradients, bucket.calls), *ready));
        reduced = each.collect();
    }
    all.within((rank, Region::Update), |all| {
        if way == Way::AllReduce {
            all.wait(rank, &reduced);
            all.compute(rank, own.update(), &[]);
            return;
        }
        let mut come = Vec::new();
        for ((bucket, _), reduced) in known.iter().zip(&reduced) {
            let ready = if rank == 0 {
                all.reduce(rank, (Bytes(0), bucket.update), &[*reduced])
            } else {
                *reduced
            };
            come.push(call(all, CollectiveKind::Broadcast, (bucket.weights, bucket.calls), ready));
        }
        all.wait(rank, &come);
    });
}
