//! Sets the parameters of a shared PCIe bus, besides its wiring.

use std::num::NonZeroU32;

use crate::diagnostic::Named;
use crate::network::packet::{PcieSetting, SettingsError};
use crate::system::LinkKind;
use crate::system::server::Link;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Which virtual channel a link serves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PcieArbitration {
    /// Serves each in turn.
    #[default]
    RoundRobin,
    /// Serves the one with fewest bytes left first (or most: [`First`]), responses before requests.
    Throughput,
    /// As [`Self::Throughput`], but before all those whose deadline would pass.
    Qos,
}

impl Named for PcieArbitration {
    const WHAT: &'static str = "arbitration of PCIe";
    const NAMED: &'static [(&'static str, Self)] =
        &[("round-robin", Self::RoundRobin), ("throughput", Self::Throughput), ("qos", Self::Qos)];
}

/// Says which transfers strict priority prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum First {
    /// Puts those with fewest bytes left first.
    #[default]
    Small,
    /// Those with most: a control, which makes all wait.
    Large,
}

impl Named for First {
    const WHAT: &'static str = "order of transfers";
    const NAMED: &'static [(&'static str, Self)] =
        &[("small", Self::Small), ("large", Self::Large)];
}

/// Says how many bits of a link carry data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// As the link's generation has it.
    #[default]
    ByGeneration,
    /// Gives data 8 of 10 bits, as PCIe 1 and 2 do.
    EightOfTen,
    /// Gives data 128 of 130 bits, as PCIe 3 to 5 do.
    Most,
    /// Gives data all bits.
    None,
}

impl Named for Encoding {
    const WHAT: &'static str = "encoding";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("by-generation", Self::ByGeneration),
        ("8b/10b", Self::EightOfTen),
        ("128b/130b", Self::Most),
        ("none", Self::None),
    ];
}

/// Returns the bits of data and the bits on the line that carry them.
const fn of_generation(kind: LinkKind) -> (u64, u64) {
    match kind {
        LinkKind::Pcie1 | LinkKind::Pcie2 => (8, 10),
        LinkKind::Pcie6 => (242, 256),
        _ => (128, 130),
    }
}

/// Holds the settings of a shared PCIe bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcieSettings {
    /// Which virtual channel a link serves next.
    pub arbitration: PcieArbitration,
    /// Says which transfers strict priority prefers.
    pub first: First,
    /// How long strict priority lets the first packet of a queue wait at most.
    pub bound: Picoseconds,
    /// How long a copy with a deadline may take, in thousandths of its time on an idle bus.
    pub deadline: u32,
    /// Limits the data of a packet.
    pub payload: Bytes,
    /// Counts the bytes that a packet carries besides data: its header, framing, sequence number
    /// and checksum.
    pub header: Bytes,
    /// The most that one read request asks for.
    pub read_request: Bytes,
    /// The most that a copy engine has asked for and not got.
    pub outstanding_reads: Bytes,
    /// Says how many bits of a link carry data.
    pub encoding: Encoding,
    /// The buffer of a port and of what is injected, for each virtual channel.
    pub buffer: Bytes,
}

impl PcieSettings {
    /// Those of a scenario that says nothing else.
    pub const DEFAULT: Self = Self {
        arbitration: PcieArbitration::RoundRobin,
        first: First::Small,
        bound: Picoseconds(5_000_000),
        deadline: 3000,
        payload: Bytes(MEASURED_PAYLOAD),
        header: Bytes(24),
        read_request: Bytes(512),
        outstanding_reads: Bytes(64 << 10),
        encoding: Encoding::ByGeneration,
        buffer: Bytes(32 << 10),
    };
}

impl Default for PcieSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Counts the data of a packet by which copies were measured, in bytes. Root ports of servers allow no more.
const MEASURED_PAYLOAD: u64 = 256;

/// Limits the bytes of a payload or a request to the largest size that PCIe can express.
const MOST_PAYLOAD: u64 = 4096;
const MOST_HEADER: u64 = 256;
const MOST_BUFFER: u64 = 16 << 20;
/// A million seconds, which is for ever: no packet waits for so long.
const MOST_BOUND: Picoseconds = Picoseconds(1_000_000_000_000_000_000);
/// Limits a deadline to a thousand times, in thousandths.
const MOST_DEADLINE: u32 = 1_000_000;

impl PcieSettings {
    /// Whether a bus can have these settings.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let packet = self.payload.0.saturating_add(self.header.0);
        let sizes = [
            (PcieSetting::Payload, self.payload.0, 1, MOST_PAYLOAD),
            (PcieSetting::Header, self.header.0, 0, MOST_HEADER),
            (PcieSetting::ReadRequest, self.read_request.0, 1, MOST_PAYLOAD),
            (
                PcieSetting::OutstandingReads,
                self.outstanding_reads.0,
                self.read_request.0,
                MOST_BUFFER,
            ),
            (PcieSetting::Buffer, self.buffer.0, packet, MOST_BUFFER),
        ];
        for (setting, value, least, most) in sizes {
            if !(least..=most).contains(&value) {
                let [value, least, most] = [value, least, most].map(|it| Bytes(it).to_string());
                return Err(SettingsError::Pcie { setting, value, least, most });
            }
        }
        if !(1..=MOST_BOUND.0).contains(&self.bound.0) {
            let [value, least, most] =
                [self.bound, Picoseconds(1), MOST_BOUND].map(|it| it.to_string());
            return Err(SettingsError::Pcie { setting: PcieSetting::Bound, value, least, most });
        }
        check_deadline(self.deadline)
    }

    /// Whether a buffer holds a packet that comes from or goes to other servers.
    ///
    /// # Errors
    /// One that is larger.
    pub(in crate::network) fn check_packets(&self, packet_size: u64) -> Result<(), SettingsError> {
        let least = self.wire(packet_size);
        if self.buffer.0 >= least {
            return Ok(());
        }
        let [value, least, most] =
            [self.buffer.0, least, MOST_BUFFER].map(|it| Bytes(it).to_string());
        Err(SettingsError::Pcie { setting: PcieSetting::Buffer, value, least, most })
    }

    /// Returns the bytes that `size` bytes of data take of a link, with headers.
    #[must_use]
    pub fn wire(&self, size: u64) -> u64 {
        size + size.div_ceil(self.payload.0).max(1) * self.header.0
    }

    /// Gives what the packets of a link carry in a second, headers with them. Full packets of
    /// [`MEASURED_PAYLOAD`] then carry what copy engines are measured to reach.
    #[must_use]
    pub(in crate::network) fn line_rate(&self, link: &Link) -> Bandwidth {
        self.line_rate_of(link.kind, link.total_bandwidth())
    }

    fn line_rate_of(&self, kind: LinkKind, peak: Bandwidth) -> Bandwidth {
        if !kind.is_pcie() {
            return peak;
        }
        let (own, of) = of_generation(kind);
        let (data, line) = match self.encoding {
            Encoding::ByGeneration => (own, of),
            Encoding::EightOfTen => (8, 10),
            Encoding::Most => (128, 130),
            Encoding::None => (1, 1),
        };
        let line = scaled(peak, data * of, line * own);
        let full = MEASURED_PAYLOAD as f64 / (MEASURED_PAYLOAD + Self::DEFAULT.header.0) as f64;
        let reached = line.0 as f64 * (kind.reached_by_copies().share / full);
        Bandwidth((reached.round() as u64).max(1))
    }

    /// Returns the data that full packets carry over a link in a second.
    #[must_use]
    pub(in crate::network) fn data_rate(&self, link: &Link) -> Bandwidth {
        self.data_rate_of(link.kind, link.total_bandwidth())
    }

    /// The same of links of a kind that have this peak together.
    #[must_use]
    pub(in crate::network) fn data_rate_of(&self, kind: LinkKind, peak: Bandwidth) -> Bandwidth {
        scaled(self.line_rate_of(kind, peak), self.payload.0, self.wire(self.payload.0))
    }
}

/// Converts a multiple of a copy's time on an idle bus into thousandths. None where no copy can be
/// given it: below a thousandth or above a thousand.
#[must_use]
pub fn thousandths(times: f64) -> Option<NonZeroU32> {
    let possible = (0.001..=1000.0).contains(&times);
    NonZeroU32::new((times * 1000.0).round() as u32).filter(|_| possible)
}

/// Checks that a copy may take this many thousandths of its time on an idle bus.
///
/// # Errors
/// Refuses none at all, or more than a thousand times.
pub(in crate::network) fn check_deadline(deadline: u32) -> Result<(), SettingsError> {
    if (1..=MOST_DEADLINE).contains(&deadline) {
        return Ok(());
    }
    let [value, least, most] =
        [deadline, 1, MOST_DEADLINE].map(|it| (f64::from(it) / 1000.0).to_string());
    Err(SettingsError::Pcie { setting: PcieSetting::Deadline, value, least, most })
}

fn scaled(bandwidth: Bandwidth, numerator: u64, denominator: u64) -> Bandwidth {
    let product = u128::from(bandwidth.0) * u128::from(numerator);
    let quotient = (product / u128::from(denominator)).max(1);
    Bandwidth(u64::try_from(quotient).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_kept() {
        type Change = fn(&mut PcieSettings, u64);
        let cases: [(Change, u64, u64); 6] = [
            (|it, to| it.payload = Bytes(to), 1, 4096),
            (|it, to| it.header = Bytes(to), 0, 256),
            (|it, to| it.read_request = Bytes(to), 1, 4096),
            (|it, to| it.outstanding_reads = Bytes(to), 512, 16 << 20),
            (|it, to| it.buffer = Bytes(to), 280, 16 << 20),
            (|it, to| it.deadline = to as u32, 1, 1_000_000),
        ];
        let checked = |change: Change, to| {
            let mut settings = PcieSettings::default();
            change(&mut settings, to);
            settings.check()
        };
        for (change, least, most) in cases {
            assert_eq!(checked(change, least), Ok(()));
            // A payload has to fit the buffer.
            assert!(checked(change, most).is_ok() || most == 4096);
            assert!(checked(change, most + 1).is_err());
            if let Some(below) = least.checked_sub(1) {
                let error = checked(change, below).unwrap_err().to_string();
                assert!(error.contains(" is not possible; ") && error.contains(" to "), "{error}");
            }
        }
        let bound = PcieSettings { bound: Picoseconds(0), ..PcieSettings::default() };
        let error = bound.check().unwrap_err().to_string();
        assert!(
            error.starts_with("bound of 0") && error.ends_with("; use 1 ps to 1000000 s"),
            "{error}"
        );
        let most = PcieSettings { bound: MOST_BOUND, ..bound };
        assert_eq!(most.check(), Ok(()));
        assert!(PcieSettings { bound: Picoseconds(MOST_BOUND.0 + 1), ..bound }.check().is_err());
    }
}
