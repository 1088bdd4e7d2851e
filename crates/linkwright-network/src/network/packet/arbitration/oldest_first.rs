//! Serves the packet that was made first.

use super::{ArbiterMemory, Arbitration, Slot, WaitingQueues, oldest};
use crate::diagnostic::Registered;

/// Serves the packet that was made first: `age`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OldestFirst;

impl Registered for OldestFirst {
    fn name(&self) -> &'static str {
        "age"
    }
}

impl Arbitration for OldestFirst {
    fn choose(&self, _: &mut ArbiterMemory, candidates: &dyn WaitingQueues) -> Option<Slot> {
        oldest(candidates)
    }
}
