//! Describes messages under way.

use crate::network::RouteClass;
use crate::program::CollectiveKind;

use crate::runtime::call::Call;
use crate::runtime::frames::OperationRef;

use super::bins::Key;

/// Holds a message between its send and its receipt.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Envelope {
    /// The sender, among all ranks of the runtime.
    pub(in crate::runtime) source: u32,
    /// The receiver, among all ranks of the runtime.
    pub(in crate::runtime) destination: u32,
    /// Gives the context that it may match within: a communicator, or one call of a collective.
    pub(in crate::runtime) context: u32,
    pub(in crate::runtime) tag: u32,
    pub(in crate::runtime) size: u64,
    /// Over which links its data goes.
    pub(in crate::runtime) route: RouteClass,
    pub(in crate::runtime) send: OperationRef,
    /// The rank's call that sends it, and the collective that it is within.
    pub(in crate::runtime) call: Call,
    pub(in crate::runtime) within: Option<CollectiveKind>,
    /// The receive that it matched, once it did.
    pub(in crate::runtime) receive: OperationRef,
    /// When its send was called.
    pub(in crate::runtime) since: u64,
    /// When it, or the request to send it, was handed to the network.
    pub(in crate::runtime) sent: u64,
    /// The message of the same pair and context that was sent after this one.
    pub(in crate::runtime) next: u32,
    /// Counts the occurrences that the network still owes for it.
    pub(in crate::runtime) owed: u8,
    pub(in crate::runtime) eager: bool,
    /// Whether its receiver announces large receives, so that it is matched when it is sent.
    pub(in crate::runtime) announced: bool,
    /// Whether a receive has matched it; where receives are announced, before it arrives.
    pub(in crate::runtime) matched: bool,
    /// Whether it, or the request to send it, has arrived.
    pub(in crate::runtime) arrived: bool,
    /// Whether the replay is done with it.
    pub(in crate::runtime) finished: bool,
}

impl Envelope {
    /// Returns the key by which its receives are looked up.
    pub(in crate::runtime) fn key(&self) -> Key {
        [self.destination, self.context, self.source, self.tag]
    }
}

/// Names the parts of a message's way through the network, in the token's last three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum Leg {
    /// Carries an eager message with its data.
    Eager,
    /// Requests to send a large message.
    Request,
    /// Gives leave to send it.
    Leave,
    /// Carries its data.
    Data,
    /// The announcement of the receive that it will match.
    Announcement,
}

impl Leg {
    /// Returns the network's token of a part. An announcement has an index of its own, any other
    /// part the envelope's.
    pub(in crate::runtime) fn token(self, index: u32) -> u64 {
        u64::from(index) << 3 | self as u64
    }

    pub(in crate::runtime) fn of_token(token: u64) -> (Self, u32) {
        let leg = match token & 7 {
            0 => Self::Eager,
            1 => Self::Request,
            2 => Self::Leave,
            3 => Self::Data,
            _ => Self::Announcement,
        };
        (leg, (token >> 3) as u32)
    }
}
