//! Where a GPU sits, as far as what it does beside sending depends on it.

use super::transport::DeviceIndex;
use crate::units::Bandwidth;

/// Tells a program's copies and reductions where a GPU sits and how fast its memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuSite {
    /// Gives the GPU's number as a device.
    pub device: DeviceIndex,
    /// Gives the number of its server.
    pub server: u32,
    /// The CPU that is nearest to it, by hops, then by bandwidth; none in a node of GPUs alone.
    pub host: Option<DeviceIndex>,
    /// How many copies it makes at once.
    pub copy_engines: u32,
    /// Counts the directions in which copies between host and GPU go at once: 1 or 2.
    pub copy_directions: u32,
    /// Of its memory, reading and writing together; none where its model is not known.
    pub memory_bandwidth: Option<Bandwidth>,
}

impl GpuSite {
    /// Makes a site for a GPU without known facts: it has a copy engine for each direction.
    #[must_use]
    pub const fn bare(device: DeviceIndex) -> Self {
        let (host, memory_bandwidth) = (None, None);
        let (copy_engines, copy_directions) = (2, 2);
        Self { device, server: 0, host, copy_engines, copy_directions, memory_bandwidth }
    }
}
