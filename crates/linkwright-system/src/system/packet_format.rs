//! Says what packets of each kind of link carry and add to their data.
//!
//! Line coding is no part of it: bandwidths are those behind it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::system::kinds::LinkKind;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Says what a packet of a link carries and adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketFormat {
    /// Counts the bytes of data of a packet, at most.
    pub payload: u64,
    /// Counts the bytes that a packet adds: its header, framing and checksum.
    pub header: u64,
    /// Counts the bytes of a flit. A packet is whole flits.
    pub flit: u64,
    /// Says where the numbers come from.
    pub source: &'static str,
}

impl PacketFormat {
    /// Adds nothing to data.
    pub const BARE: Self = Self {
        payload: u64::MAX,
        header: 0,
        flit: 1,
        source: "assumed to lose nothing: the PCIe beside it does",
    };

    /// Gives the bytes that cross a link for a message of that size. A message without data is a
    /// packet, too.
    #[inline]
    #[must_use]
    pub const fn on_the_wire(&self, bytes: u64) -> u64 {
        let packets = if bytes <= self.payload { 1 } else { bytes.div_ceil(self.payload) };
        // Only the last packet is not full: full ones are whole flits.
        (bytes + packets * self.header).div_ceil(self.flit) * self.flit
    }

    /// Gives what a link carries, headers with them, where its full packets carry that much data.
    #[must_use]
    pub fn line(&self, data: Bandwidth) -> Bandwidth {
        if self.header == 0 {
            return data;
        }
        let full = self.on_the_wire(self.payload) as f64 / self.payload as f64;
        Bandwidth((data.0 as f64 * full).round() as u64)
    }
}

impl LinkKind {
    /// Says what packets of this kind of link carry.
    #[must_use]
    pub const fn packet_format(self) -> PacketFormat {
        if self.is_nvlink() || self.is_xgmi() || matches!(self, Self::NvlinkC2c) {
            let source = if self.is_nvlink() {
                "Foley and Danskin on Pascal and NVLink (IEEE Micro, \
                 2017): flits of 128 bits, a header of one, at most 16 of data"
            } else {
                "assumed as of NVLink"
            };
            PacketFormat { payload: 256, header: 16, flit: 16, source }
        } else if self.is_pcie() {
            let source = "PCI Express base specification: framing of 4 bytes, a header of 16 and a \
                          checksum of 4; root ports of servers allow 256 of data";
            PacketFormat { payload: 256, header: 24, flit: 4, source }
        } else {
            PacketFormat::BARE
        }
    }
}

/// Says how a link carries whole flits by a clock, where a model of its hardware says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFlits {
    /// A flit has as many bytes, and takes a cycle.
    #[serde(deserialize_with = "above_zero")]
    pub bytes: Bytes,
    /// Encoding adds as many hundredths.
    #[serde(default)]
    pub encoding: u32,
    /// A cycle takes this.
    #[serde(deserialize_with = "above_zero")]
    pub cycle: Picoseconds,
    /// The switch or bridge at an end takes this for what comes over the link.
    #[serde(default)]
    pub switch: Picoseconds,
}

/// Reads a quantity that is not zero.
fn above_zero<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let value = T::deserialize(deserializer)?;
    if value == T::default() { Err(D::Error::custom("give a value above 0")) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_add_their_headers_and_fill_flits() {
        let nvlink = LinkKind::Nvlink2.packet_format();
        // A request is a flit of header and one of 12 bytes; a line is four more.
        assert_eq!([0, 12, 64, 68].map(|bytes| nvlink.on_the_wire(bytes)), [16, 32, 80, 96]);
        assert_eq!([256, 257, 4096].map(|bytes| nvlink.on_the_wire(bytes)), [272, 304, 4352]);
        let pcie = LinkKind::Pcie3.packet_format();
        assert_eq!([0, 12, 68, 4096].map(|bytes| pcie.on_the_wire(bytes)), [24, 36, 92, 4480]);
        assert_eq!(
            [0, 68, 4096].map(|bytes| LinkKind::Qpi.packet_format().on_the_wire(bytes)),
            [0, 68, 4096]
        );
    }

    #[test]
    fn full_packets_on_a_line_carry_its_data() {
        for kind in LinkKind::ALL {
            let (format, data) = (kind.packet_format(), Bandwidth(10_000_000_000));
            let (line, size) = (format.line(data), format.payload.min(1 << 20));
            let carried = line.0 as f64 * size as f64 / format.on_the_wire(size) as f64;
            assert!((carried / data.0 as f64 - 1.0).abs() < 1e-9, "{}", kind.name());
        }
    }

    #[test]
    fn a_longer_message_takes_no_less_of_any_link() {
        for kind in LinkKind::ALL {
            let format = kind.packet_format();
            assert!(!format.source.is_empty());
            let crossing: Vec<u64> = (0..1000).map(|bytes| format.on_the_wire(bytes)).collect();
            assert!(crossing.is_sorted(), "{}", kind.name());
            assert!((0..).zip(&crossing).all(|(bytes, on)| *on >= bytes), "{}", kind.name());
        }
    }
}
