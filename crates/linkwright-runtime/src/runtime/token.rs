//! Tells apart whose a message of the network or an event is.

/// Who is told what the network says of a token, in its first eight bits: messages, copies, and each
/// protocol by its place behind them.
const WHO: u32 = 56;
/// The token is of a message.
pub(super) const MESSAGE: u8 = 0;
/// The token is of a copy.
pub(super) const COPY: u8 = 1;
pub(super) const PROTOCOLS: u8 = 2;
/// The token is of a kernel in GPUs' memory.
pub(super) const KERNEL: u8 = u8::MAX;

/// An event that wakes a protocol has its number in its last bits, and above them the protocol's place.
pub(super) const WAKES: u32 = 29;

/// Which protocol an event wakes, and by what number.
#[inline]
pub(super) fn of_wake(wake: u32) -> (usize, u32) {
    ((wake >> WAKES) as usize, wake & ((1 << WAKES) - 1))
}

/// Makes a token of somebody's, by a number of theirs.
#[inline]
pub(super) fn token(who: u8, what: u64) -> u64 {
    u64::from(who) << WHO | what & ((1 << WHO) - 1)
}

/// Whose a token is, and their number.
#[inline]
pub(super) const fn of_token(token: u64) -> (u8, u64) {
    ((token >> WHO) as u8, token & ((1 << WHO) - 1))
}

/// The protocol that somebody is who is neither messages nor copies.
#[inline]
pub(super) fn protocol_of(who: u8) -> usize {
    usize::from(who - PROTOCOLS)
}
