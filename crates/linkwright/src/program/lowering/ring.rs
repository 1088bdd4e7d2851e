//! Neighbours in a ring or a chain: reduce-scatter, all-gather and scan.

use super::plan::{Content, Plan};

/// The rank or block this many before, around the first.
fn before(ranks: u32, of: u32, by: u32) -> u32 {
    (of + (ranks - by % ranks)) % ranks
}

fn around(plan: &mut Plan, ranks: u32, me: u32, first_sent: u32) {
    let (left, right) = (before(ranks, me, 1), (me + 1) % ranks);
    for phase in 0..ranks - 1 {
        let block = |by| Content::Blocks { first: before(ranks, first_sent, by), count: 1 };
        plan.exchange(phase, (right, block(phase)), (left, block(phase + 1)));
    }
    plan.end_stage(ranks - 1);
}

/// Each block's sum travels once around and ends at its rank.
pub fn reduce_scatter(plan: &mut Plan, ranks: u32, me: u32) {
    around(plan, ranks, me, before(ranks, me, 1));
}

/// Each rank's block travels once around.
pub fn all_gather(plan: &mut Plan, ranks: u32, me: u32) {
    around(plan, ranks, me, me);
}

/// Each rank adds its own to the sum of those before it.
pub fn scan_linear(plan: &mut Plan, ranks: u32, me: u32) {
    if me > 0 {
        plan.receive(me - 1, me - 1, Content::Vector);
    }
    if me + 1 < ranks {
        plan.send(me, me + 1, Content::Vector);
    }
    plan.end_stage(ranks - 1);
}
