//! Serves the highest priority, with patience of the others.

use std::cmp::Reverse;

use super::{ArbiterMemory, Arbitration, Slot, WaitingQueues, all, best_with_patience};
use crate::diagnostic::Registered;

/// How many packets may pass the oldest under strict priority, where nobody says.
pub const DEFAULT_PATIENCE: u32 = 64;

/// Serves the highest priority, and among equals each queue in turn: `priority`. After `patience`
/// packets in a row that were not the oldest, the oldest goes, so that none waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrictPriority {
    /// How many others may pass the oldest.
    pub patience: u32,
}

impl Registered for StrictPriority {
    fn name(&self) -> &'static str {
        "priority"
    }
}

impl Arbitration for StrictPriority {
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &dyn WaitingQueues) -> Option<Slot> {
        let next = memory.next;
        let turn = |slot: Slot| (slot < next, slot);
        let best = all(candidates)
            .max_by_key(|candidate| (candidate.priority, Reverse(turn(candidate.slot))))?
            .slot;
        best_with_patience(best, self.patience, memory, candidates)
    }
}
