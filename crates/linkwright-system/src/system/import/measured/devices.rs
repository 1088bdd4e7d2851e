//! Lines that list the devices of a run.

use std::fmt;

/// Says where a GPU sits on the PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciPlace {
    /// The domain, where it is said.
    pub domain: Option<u32>,
    /// Is the bus.
    pub bus: u32,
    /// Is the device.
    pub device: u32,
}

impl fmt::Display for PciPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(domain) = self.domain {
            write!(f, "{domain:04x}:")?;
        }
        write!(f, "{:02x}:{:02x}", self.bus, self.device)
    }
}

impl PciPlace {
    /// Reads `0000:07:00.0`, `00000000:07:00` or `07:0.0`; None of anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |part: &str| u32::from_str_radix(part, 16).ok();
        let (place, function) = match text.split_once('.') {
            Some((place, function)) => (place, Some(number(function)?)),
            None => (text, None),
        };
        let parts: Option<Vec<u32>> = place.split(':').map(number).collect();
        match (parts?.as_slice(), function) {
            (&[domain, bus, device], _) => Some(Self { domain: Some(domain), bus, device }),
            (&[bus, device], Some(_)) => Some(Self { domain: None, bus, device }),
            _ => None,
        }
    }

    /// Whether it can be the same place; a domain that one does not say may be any.
    #[must_use]
    pub fn is_at(&self, other: &Self) -> bool {
        let domains = self.domain.zip(other.domain);
        domains.is_none_or(|(one, other)| one == other)
            && (self.bus, self.device) == (other.bus, other.device)
    }
}

/// Holds a device that a line lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) number: usize,
    pub(super) place: Option<PciPlace>,
    /// Whether it is a GPU; of the CUDA programs all are.
    pub(super) is_gpu: bool,
}

/// The device of a line such as these, whose words have one blank between them; None of any other line:
///
/// - `Device: 0, NAME, pciBusID: 1b, pciDeviceID: 0, pciDomainID:0` comes from
///   p2pBandwidthLatencyTest,
/// - `Device 0: NAME (00000000:1b:00)` comes from nvbandwidth since v0.6, without the place before,
/// - `Device: 2, NAME, GPU-UUID, 29:0.0` comes from rocm-bandwidth-test, without the last two for a
///   CPU.
pub(super) fn listed(line: &str) -> Option<Listed> {
    let colon = line.find("Device: ").map(|at| (at + "Device: ".len(), ','));
    let (start, separator) =
        colon.or_else(|| line.find("Device ").map(|at| (at + "Device ".len(), ':')))?;
    let (number, rest) = line[start..].split_once(separator)?;
    let number = number.parse().ok().filter(|number| *number < super::MOST_DEVICES)?;
    if separator == ':' {
        return Some(Listed { number, place: in_brackets(rest), is_gpu: true });
    }
    if let Some((_, keys)) = rest.split_once("pciBusID: ") {
        return Some(Listed { number, place: of_keys(keys), is_gpu: true });
    }
    let mut fields = rest.rsplit(',').map(str::trim);
    let place = fields.next().and_then(PciPlace::parse);
    Some(Listed { number, place, is_gpu: place.is_some() })
}

/// Reads the device of nvbandwidth's JSON: `0: NAME (00000000:1b:00): (HOST)`.
pub(super) fn of_json(line: &str) -> Option<Listed> {
    let (number, rest) = line.split_once(':')?;
    let number = number.parse().ok().filter(|number| *number < super::MOST_DEVICES)?;
    Some(Listed { number, place: in_brackets(rest), is_gpu: true })
}

/// Reads the pair of a line such as `Device=0 CANNOT Access Peer Device=1`.
pub(super) fn apart(line: &str) -> Option<(usize, usize)> {
    let (before, after) = line.split_once(" CANNOT Access Peer Device=")?;
    let (_, from) = before.rsplit_once("Device=")?;
    let to = after.split_whitespace().next()?;
    from.parse().ok().zip(to.parse().ok())
}

/// Reads the last place in brackets.
fn in_brackets(text: &str) -> Option<PciPlace> {
    text.split('(').skip(1).filter_map(|part| PciPlace::parse(part.split(')').next()?)).last()
}

/// Reads `1b, pciDeviceID: 0, pciDomainID:0`.
fn of_keys(text: &str) -> Option<PciPlace> {
    let mut numbers = text.split(',').map(|part| {
        let digits = part.rsplit(':').next().unwrap_or(part).trim();
        u32::from_str_radix(digits, 16).ok()
    });
    let (bus, device, domain) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(PciPlace { domain: Some(domain), bus, device })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_lists_its_devices() {
        let place = |domain, bus| Some(PciPlace { domain, bus, device: 0 });
        let lines = [
            (
                "Device: 3, Tesla V100-SXM2-16GB, pciBusID: b, pciDeviceID: 0, pciDomainID:0",
                place(Some(0), 0xb),
                true,
            ),
            ("0: Device 3: NVIDIA H100 80GB HBM3 (00000000:1b:00)", place(Some(0), 0x1b), true),
            ("Device 3: NVIDIA A100-SXM4-40GB", None, true),
            ("Device: 3, AMD EPYC 7763 64-Core Processor", None, false),
            (
                "Device: 3, AMD Instinct MI210, GPU-0123456789abcdef, 29:0.0",
                place(None, 0x29),
                true,
            ),
        ];
        for (line, place, is_gpu) in lines {
            assert_eq!(listed(line), Some(Listed { number: 3, place, is_gpu }), "{line}");
        }
        let json = of_json("3: NVIDIA H100 80GB HBM3 (00000000:1b:00): (node-1)");
        assert_eq!(json.and_then(|it| it.place), place(Some(0), 0x1b));
        assert_eq!(apart("0: Device=0 CANNOT Access Peer Device=12"), Some((0, 12)));
        assert_eq!(apart("Device=0 CAN Access Peer Device=1"), None);
        for other in ["Device", "Device x: y", "Device: 99999, x", "on Device 1"] {
            assert_eq!(listed(other), None, "{other}");
        }
    }

    #[test]
    fn places_are_told_apart() {
        let of = |text| PciPlace::parse(text).unwrap();
        assert!(of("0000:1b:00.0").is_at(&of("00000000:1B:00")));
        assert!(of("1b:0.0").is_at(&of("0001:1b:00.0")));
        assert!(!of("0002:1b:00.0").is_at(&of("0001:1b:00.0")));
        assert!(PciPlace::parse("1b:0").is_none() && PciPlace::parse("").is_none());
        assert_eq!(of("0000:1b:00.0").to_string(), "0000:1b:00");
    }
}
