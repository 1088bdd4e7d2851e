//! Tells a protocol of collectives all that it may hear, and answers what it asks for.

use std::fmt::Debug;

use crate::diagnostic::Registered;
use crate::network::ConnectionIndex;
use crate::program::kernel::KernelCall;
use crate::program::lowering::CollectiveCall;
use crate::runtime::error::RuntimeError;
use crate::runtime::frames::OperationRef;
use crate::units::{Bytes, Picoseconds};

/// A rank's call of a collective, from its beginning until it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolCall {
    /// Says which collective it is, of how many ranks, and which of them calls.
    pub call: CollectiveCall,
    /// Tells this collective from all others; the calls of all of its ranks have it.
    pub context: u32,
    /// Says when the rank called.
    pub since: Picoseconds,
    pub(in crate::runtime) operation: OperationRef,
    pub(in crate::runtime) communicator: u32,
}

/// A call that looks for its protocol.
#[derive(Debug, Clone)]
pub struct ProtocolOffer {
    /// Is to be completed by whoever takes it.
    pub call: ProtocolCall,
    /// The kernel that plays it, where one was planned.
    pub kernel: Option<KernelCall>,
    /// How long it takes from when its last rank has called, where that is known.
    pub duration: Option<Picoseconds>,
}

/// A collective that all of its ranks have called and that waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StuckCall {
    /// Is the call of a rank that waits.
    pub call: ProtocolCall,
    /// Names the block of its kernel, and the step of that.
    pub at: (u32, u32),
}

/// Answers a protocol while it is told something.
///
/// A protocol gives each message and each time a number of its own, which it is told again.
pub trait Ports {
    /// Tells the time.
    fn now(&self) -> Picoseconds;

    /// Asks to be told when no transfer ends at this time any more ([`ProtocolState::settle`]); false
    /// where the network cannot tell, and nothing follows.
    fn settle_later(&mut self) -> bool;

    /// Wakes the protocol at a time. The number is below 2 to the power of 29.
    fn wake(&mut self, time: Picoseconds, what: u32);

    /// Sends a message from the rank of a call to another, by its place in the communicator. The
    /// number is below 2 to the power of 56.
    fn send(&mut self, call: &ProtocolCall, to: u32, size: Bytes, what: u64);

    /// Sends over a connection that was opened on the network; the number as in [`send`](Self::send).
    ///
    /// # Errors
    /// Refuses a connection that does not exist, or a time beyond 213 days.
    fn transfer(
        &mut self,
        connection: ConnectionIndex,
        size: Bytes,
        what: u64,
    ) -> Result<(), RuntimeError>;

    /// Counts messages that a call's rank has sent otherwise than by [`send`](Self::send).
    fn count_messages(&mut self, call: &ProtocolCall, messages: u64, bytes: u64);

    /// A call is complete: its rank's program goes on. Once for each call.
    fn complete(&mut self, call: &ProtocolCall);

    /// The error of a call that would last longer than time is counted.
    fn too_long(&self, call: &ProtocolCall) -> RuntimeError;
}

/// Plays collectives: says how long they take beyond the network, and for whom they wait.
///
/// A rank's call is offered to each protocol in turn; one that takes it completes it, now or when it is told something later.
/// Calls that none takes are messages under [`MpiProtocol`](super::MpiProtocol). All of a protocol's
/// state is its own.
pub trait ProtocolState: Debug {
    /// A rank calls a collective: whether the protocol takes it. It takes the calls of all ranks of a
    /// collective or of none.
    ///
    /// # Errors
    /// A call that it takes and cannot play.
    fn enter(
        &mut self,
        offer: &mut ProtocolOffer,
        ports: &mut dyn Ports,
    ) -> Result<bool, RuntimeError>;

    /// A time that it asked for has come.
    ///
    /// # Errors
    /// Whatever `ports` refuses.
    fn wake(&mut self, what: u32, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let _ = (what, ports);
        Ok(())
    }

    /// The last byte of what it sent has left.
    ///
    /// # Errors
    /// Whatever `ports` refuses.
    fn sent(&mut self, what: u64, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let _ = (what, ports);
        Ok(())
    }

    /// The last byte of what it sent has arrived.
    ///
    /// # Errors
    /// Whatever `ports` refuses.
    fn delivered(&mut self, what: u64, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let _ = (what, ports);
        Ok(())
    }

    /// No transfer ends at this time any more, as it asked to be told. It takes up the first thing that
    /// it kept; whether it keeps more.
    ///
    /// # Errors
    /// Whatever `ports` refuses.
    fn settle(&mut self, ports: &mut dyn Ports) -> Result<bool, RuntimeError> {
        let _ = ports;
        Ok(false)
    }

    /// The calls that it has taken and not completed.
    fn waiting(&self) -> Vec<ProtocolCall>;

    /// The first collective that waits for ever though all of its ranks have called it.
    fn stuck(&self) -> Option<StuckCall> {
        None
    }

    /// For how many collectives it has room.
    #[cfg(test)]
    fn room(&self) -> usize {
        0
    }
}

/// A protocol that a scenario may name: `collectives.protocol`.
pub trait ProtocolKind: Registered {
    /// Gives its state at the beginning of a run.
    fn begin(&self) -> Box<dyn ProtocolState>;
}
