//! Where a GPU sits, as far as what it does beside sending depends on it.

use super::transport::DeviceIndex;
use crate::units::Bandwidth;

/// What a program's copies and reductions have to know of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuSite {
    /// The GPU.
    pub device: DeviceIndex,
    /// Its server.
    pub server: u32,
    /// The CPU that is nearest to it, by hops, then by bandwidth; none in a node of GPUs alone.
    pub host: Option<DeviceIndex>,
    /// How many copies it makes at once.
    pub copy_engines: u32,
    /// In how many directions between host and GPU at once: 1 or 2.
    pub copy_directions: u32,
    /// Of its memory, reading and writing together; none where its model is not known.
    pub memory_bandwidth: Option<Bandwidth>,
}

impl GpuSite {
    /// A GPU of which nothing is known: with a copy engine for each direction.
    #[must_use]
    pub const fn bare(device: DeviceIndex) -> Self {
        let (host, memory_bandwidth) = (None, None);
        let (copy_engines, copy_directions) = (2, 2);
        Self { device, server: 0, host, copy_engines, copy_directions, memory_bandwidth }
    }
}
