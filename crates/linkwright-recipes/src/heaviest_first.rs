//! Adds an arbiter: it serves the packet of the largest message.

use std::cmp::Reverse;

use linkwright::diagnostic::Registered;
use linkwright::network::packet::Arbitration;
use linkwright::network::packet::arbitration::{
    ArbiterMemory, Slot, WaitingQueues, all, best_with_patience,
};

/// How many packets may pass the oldest in a row, so that none waits for ever.
const PATIENCE: u32 = 64;

/// Serves the packet of the largest message, of equals the oldest.
#[derive(Debug)]
pub struct HeaviestFirst;

impl Registered for HeaviestFirst {
    fn name(&self) -> &'static str {
        "heaviest-first"
    }
}

impl Arbitration for HeaviestFirst {
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &dyn WaitingQueues) -> Option<Slot> {
        let weight = |slot| candidates.message(slot).size;
        let best = all(candidates).max_by_key(|it| (weight(it.slot), Reverse(it.created)))?.slot;
        best_with_patience(best, PATIENCE, memory, candidates)
    }
}
