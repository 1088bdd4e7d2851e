//! Serves each queue in turn.

use super::{ArbiterMemory, Arbitration, Slot, WaitingQueues};
use crate::diagnostic::Registered;

/// Serves each queue in turn: `round-robin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnByTurn;

impl Registered for TurnByTurn {
    fn name(&self) -> &'static str {
        "round-robin"
    }
}

impl Arbitration for TurnByTurn {
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &dyn WaitingQueues) -> Option<Slot> {
        let slot = candidates.first_from(memory.next).or_else(|| candidates.first_from(0))?;
        memory.next = slot + 1;
        Some(slot)
    }
}
