//! A protocol under sequential consistency, as `tsm-wt-c-sc` has it.

use super::{AnyProtocol, MemorySystem};
use crate::diagnostic::Registered;
use crate::memory::consistency::Consistency;

/// Plays a protocol with each wavefront's accesses in order, so that programs need no fences.
pub struct InOrder {
    /// Names it in options and on the command line.
    pub name: &'static str,
    /// Keeps copies in agreement.
    pub protocol: &'static dyn AnyProtocol,
}

impl Registered for InOrder {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl MemorySystem for InOrder {
    fn protocol(&self) -> &dyn AnyProtocol {
        self.protocol
    }

    fn consistency(&self) -> Consistency {
        Consistency::Sequential
    }
}
