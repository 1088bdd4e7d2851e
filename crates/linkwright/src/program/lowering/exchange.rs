//! Exchanges over growing distances, and all-to-all.

use super::plan::{Content, Plan, Transfer};

/// How many messages each way an all-to-all in blocks keeps under way: TraceR's
/// `TRACER_BLOCK_SIZE`, and MPICH's throttle of the same number.
const BLOCK: u32 = 32;

/// The distances 1, 2, 4 and so on below the number of ranks, each with its bit.
fn distances(ranks: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..u32::BITS).map(|bit| (bit, 1 << bit)).take_while(move |(_, distance)| *distance < ranks)
}

fn after(ranks: u32, me: u32, by: u32) -> u32 {
    ((u64::from(me) + u64::from(by)) % u64::from(ranks)) as u32
}

fn before(ranks: u32, me: u32, by: u32) -> u32 {
    after(ranks, me, ranks - by)
}

/// No rank leaves before it has heard, over others, from all.
pub fn dissemination(plan: &mut Plan, ranks: u32, me: u32) {
    for (bit, distance) in distances(ranks) {
        let (to, from) = (after(ranks, me, distance), before(ranks, me, distance));
        plan.exchange(bit, (to, Content::Signal), (from, Content::Signal));
    }
}

/// Each rank's run of blocks doubles, from its own one on.
pub fn all_gather_bruck(plan: &mut Plan, ranks: u32, me: u32) {
    for (bit, distance) in distances(ranks) {
        let (to, from) = (before(ranks, me, distance), after(ranks, me, distance));
        let count = distance.min(ranks - distance);
        let run = |first| Content::Blocks { first, count };
        plan.exchange(bit, (to, run(me)), (from, run(from)));
    }
}

/// Each part travels the powers of two that its way is made of.
pub fn all_to_all_bruck(plan: &mut Plan, ranks: u32, me: u32) {
    for (bit, distance) in distances(ranks) {
        let (to, from) = (after(ranks, me, distance), before(ranks, me, distance));
        plan.exchange(bit, (to, Content::Ways { bit }), (from, Content::Ways { bit }));
    }
}

/// One partner after another: by exclusive or where ranks are a power of two, so that pairs
/// exchange; else to the one so far ahead and from the one so far behind.
pub fn all_to_all_pairwise(plan: &mut Plan, ranks: u32, me: u32) {
    for step in 1..ranks {
        let (to, from) = if ranks.is_power_of_two() {
            (me ^ step, me ^ step)
        } else {
            (after(ranks, me, step), before(ranks, me, step))
        };
        plan.exchange(step - 1, (to, Content::Part), (from, Content::Part));
    }
}

/// Up to 32 partners at once, the nearest first, so that no rank is everyone's first target.
pub fn all_to_all_blocked(plan: &mut Plan, ranks: u32, me: u32) {
    let steps: Vec<u32> = (1..ranks).collect();
    for (phase, block) in steps.chunks(BLOCK as usize).enumerate() {
        let part = |peer| Transfer { peer, content: Content::Part };
        let receives = block.iter().map(|step| part(before(ranks, me, *step))).collect();
        let sends = block.iter().map(|step| part(after(ranks, me, *step))).collect();
        plan.phase(phase as u32, receives, sends);
    }
}

/// Each rank's sum reaches back twice as far in every phase (Hillis and Steele, "Data parallel
/// algorithms", CACM 1986).
pub fn scan_doubling(plan: &mut Plan, ranks: u32, me: u32) {
    for (bit, distance) in distances(ranks) {
        let one = |peer: Option<u32>| {
            let transfer = |peer| Transfer { peer, content: Content::Vector };
            peer.map(transfer).into_iter().collect()
        };
        let ahead = me.checked_add(distance).filter(|peer| *peer < ranks);
        plan.phase(bit, one(me.checked_sub(distance)), one(ahead));
    }
}
