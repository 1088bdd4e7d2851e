//! Counts the traffic of each channel.

use crate::units::Bytes;

/// Counts the traffic of one channel in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelStatistics {
    /// Counts the packets.
    pub packets: u64,
    /// Counts the bytes of data.
    pub data: Bytes,
    /// Holds the most packets that waited for it at one time.
    pub longest_queue: u32,
}
