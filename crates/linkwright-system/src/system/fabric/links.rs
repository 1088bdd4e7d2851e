//! Holds the parts that generators share: the rate of a class of links, and the limits of sizes.

use super::{FabricError, NodeLink, SwitchId, SwitchLink};
use crate::units::{Bandwidth, Picoseconds};

/// Bandwidth and latency of every link of one class, such as all links of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRate {
    /// Gives the bytes per second, in each direction.
    pub bandwidth: Bandwidth,
    /// Gives the one-way latency.
    pub latency: Picoseconds,
}

impl LinkRate {
    /// Makes a link of a node to a switch.
    #[must_use]
    pub const fn to_node(self, switch: SwitchId) -> NodeLink {
        NodeLink { switch, bandwidth: self.bandwidth, latency: self.latency }
    }

    /// Makes a link between two switches.
    #[must_use]
    pub const fn between(self, a: SwitchId, b: SwitchId) -> SwitchLink {
        SwitchLink { a, b, bandwidth: self.bandwidth, latency: self.latency }
    }
}

/// Refuses a value of a parameter that no generator can use.
///
/// # Errors
/// Fails always, with [`FabricError::Parameter`].
pub fn refuse<T>(
    parameter: &'static str,
    value: impl ToString,
    remedy: impl Into<String>,
) -> Result<T, FabricError> {
    Err(FabricError::Parameter { parameter, value: value.to_string(), remedy: remedy.into() })
}

/// Refuses zero.
///
/// # Errors
/// Fails for a zero, with [`FabricError::Parameter`].
pub fn positive(parameter: &'static str, value: u32) -> Result<(), FabricError> {
    if value == 0 { refuse(parameter, value, "give at least 1") } else { Ok(()) }
}

/// The most ports of a switch: far beyond real ones, and the square is a count of cores.
pub(super) const LARGEST_RADIX: u32 = 1 << 15;

/// The most links that a generator makes, which take about 100 MB: a mistyped size is an error and
/// not the end of the program. A fat-tree of 16,384 ports has 49,152.
pub(super) const MOST_LINKS: usize = 1 << 20;

/// Refuses a network of more than 2^20 links; None is a count that left 64 bits.
///
/// # Errors
/// Fails with [`FabricError::TooLarge`].
pub fn numberable(links: Option<u64>) -> Result<(), FabricError> {
    let channels = links.and_then(|links| links.checked_mul(2)).unwrap_or(u64::MAX);
    let channels = usize::try_from(channels).unwrap_or(usize::MAX);
    if channels > 2 * MOST_LINKS {
        return Err(FabricError::TooLarge { channels, most: 2 * MOST_LINKS });
    }
    Ok(())
}

/// The product of counts, or None where it leaves 64 bits.
pub(super) fn product(counts: &[u32]) -> Option<u64> {
    counts.iter().try_fold(1_u64, |product, count| product.checked_mul(u64::from(*count)))
}
