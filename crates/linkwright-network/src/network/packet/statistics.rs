//! What each channel carried.

use crate::units::Bytes;

/// What one channel carried in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelStatistics {
    /// How many packets.
    pub packets: u64,
    /// How much data.
    pub data: Bytes,
    /// The most packets that waited for it at one time.
    pub longest_queue: u32,
}
