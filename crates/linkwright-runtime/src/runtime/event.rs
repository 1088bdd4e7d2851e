//! Names all that happens to programs and to their network.

use crate::network::packet::PacketEvent;

/// Happens to programs, or to the network `N` that they run on.
#[derive(Debug, Clone, Copy)]
pub enum RuntimeEvent<N> {
    /// The first work of a rank's processor is done.
    Processor(u32),
    /// The first work of a rank's library is done.
    Library(u32),
    /// The data of a large message may go.
    Rendezvous(u32),
    /// A time that an operation let pass is over.
    Delay(u32),
    /// A protocol is woken.
    Protocol(u32),
    /// The kernel of a job goes on in the memory of its GPUs.
    Kernel(u32),
    /// A job arrives.
    Arrive(u32),
    /// A job that has waited for its GPUs has them.
    Start(u32),
    /// Something happens in the network.
    Network(N),
}

/// Programs add nothing to the size of the network's events, which are most of a run.
const _: () = assert!(size_of::<RuntimeEvent<PacketEvent>>() == size_of::<PacketEvent>());

impl<N> From<N> for RuntimeEvent<N> {
    fn from(event: N) -> Self {
        Self::Network(event)
    }
}
