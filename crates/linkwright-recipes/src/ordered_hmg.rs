//! A memory system that plays HMG for programs without fences.

use linkwright::diagnostic::Registered;
use linkwright::memory::protocol::Hmg;
use linkwright::memory::{AnyProtocol, Consistency, MemorySystem};

/// Plays HMG with each wavefront's accesses in order.
#[derive(Debug)]
pub struct OrderedHmg;

impl Registered for OrderedHmg {
    fn name(&self) -> &'static str {
        "ordered-hmg"
    }
}

impl MemorySystem for OrderedHmg {
    fn protocol(&self) -> &dyn AnyProtocol {
        &Hmg::WITH_FENCES
    }

    fn consistency(&self) -> Consistency {
        Consistency::Sequential
    }
}
