//! Sets the costs of messages beyond the network, and says when they wait for their receive.

use crate::diagnostic::Named;
use crate::units::{Bytes, Picoseconds};

/// Says which end of a large message speaks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rendezvous {
    /// The sender asks to send; the receiver gives leave once it has posted the receive.
    #[default]
    Sender,
    /// The receiver announces each large receive when it posts it. The message's data goes after
    /// send and announcement, whichever is later, so that a receive posted early costs no round trip.
    ///
    /// A receive that takes any source or any tag cannot be announced: to a rank whose program has
    /// one, senders ask, as with [`Rendezvous::Sender`].
    Receiver,
}

impl Named for Rendezvous {
    const WHAT: &'static str = "rendezvous";
    const NAMED: &'static [(&'static str, Self)] =
        &[("sender", Self::Sender), ("receiver", Self::Receiver)];
}

/// The settings of the messaging library, the same for all ranks.
///
/// The defaults are those of TraceR. File `examples/conf/fattree.conf` of hpcgroup/TraceR gives
/// `soft_delay` 200 ns, `copy_per_byte` 0.01 ns, `rdma_delay` 1000 ns and `eager_limit` 64000. Its
/// `p2p-events.C` charges the first for each send, and the second at both ends of an eager message.
/// It charges the third before the data of a large one. It sends 16 bytes as a control message:
/// from the receiver when it posts a large receive, which is [`Rendezvous::Receiver`] here. The
/// default here is the sender's request, which MPI's libraries send. The delay of the network
/// interface belongs to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiProtocol {
    /// Says how long a send occupies its rank's library, before the copy.
    pub send_overhead: Picoseconds,
    /// How long a message that has arrived occupies its receiver's library, before the copy.
    pub receive_overhead: Picoseconds,
    /// Says how long each byte of an eager message occupies the library, at either end.
    pub copy_per_byte: Picoseconds,
    /// The largest message that is sent without waiting for its receive.
    pub eager_limit: Bytes,
    /// Who speaks first of a large message.
    pub rendezvous: Rendezvous,
    /// Holds the time between leave to send a large message and its first byte.
    pub rendezvous_delay: Picoseconds,
    /// The size of a request to send, of the leave that answers it, and of the announcement of a
    /// receive.
    pub control_size: Bytes,
}

impl Default for MpiProtocol {
    fn default() -> Self {
        Self {
            send_overhead: Picoseconds(200_000),
            receive_overhead: Picoseconds(0),
            copy_per_byte: Picoseconds(10),
            eager_limit: Bytes(64_000),
            rendezvous: Rendezvous::Sender,
            rendezvous_delay: Picoseconds(1_000_000),
            control_size: Bytes(16),
        }
    }
}

impl MpiProtocol {
    /// Returns how long the send of a message occupies its rank's library.
    pub(in crate::runtime) fn send_cost(&self, size: Bytes, eager: bool) -> Option<u64> {
        self.cost(self.send_overhead, size, eager)
    }

    /// Returns how long the receipt of a message occupies its rank's library.
    pub(in crate::runtime) fn receive_cost(&self, size: Bytes, eager: bool) -> Option<u64> {
        self.cost(self.receive_overhead, size, eager)
    }

    fn cost(&self, overhead: Picoseconds, size: Bytes, copied: bool) -> Option<u64> {
        let copy = if copied { self.copy_per_byte.0.checked_mul(size.0)? } else { 0 };
        overhead.0.checked_add(copy)
    }
}
