//! Who made a device, and as what: the ids that its bus or its processor tells.
//!
//! A device has the ids of the PCI ID Repository, and a CPU those of its CPUID. The model leaves
//! out the name of a product, which is the device's model, and the meaning of the ids.

use serde::Serialize;

use crate::system::gpus::PciId;
use crate::system::kinds::DeviceKind;

/// The longest vendor of a CPU: CPUID has twelve characters.
const MOST_CPU_VENDOR: usize = 12;

/// Holds the known facts of a device's make; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Identity {
    /// Gives its vendor: a PCI vendor id in four hexadecimal digits, `10de`; for a CPU its CPUID
    /// vendor, `GenuineIntel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<String>,
    /// Gives its vendor's number for it: a PCI device id, `20b0`; for a CPU its family and model,
    /// `6:143`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Whose board it is on, and which: the PCI ids of its subsystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subsystem_id: Option<PciId>,
}

impl Identity {
    /// Makes the identity of a device if only its vendor is known.
    #[must_use]
    pub fn of_vendor(vendor_id: &str) -> Self {
        Self { vendor_id: Some(vendor_id.to_owned()), ..Self::default() }
    }
}

/// A vendor's id as files have it; None where a device of that kind has no such id.
#[must_use]
pub fn vendor_id(kind: DeviceKind, text: &str) -> Option<String> {
    if kind != DeviceKind::Cpu {
        return hexadecimal(text);
    }
    let sound = (1..=MOST_CPU_VENDOR).contains(&text.len())
        && text.trim() == text
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    sound.then(|| text.to_owned())
}

/// A device's id as files have it, likewise.
#[must_use]
pub fn device_id(kind: DeviceKind, text: &str) -> Option<String> {
    if kind != DeviceKind::Cpu {
        return hexadecimal(text);
    }
    let (family, model) = text.split_once(':')?;
    let number = |text: &str| text.parse::<u16>().ok().filter(|it| it.to_string() == text);
    (number(family).is_some() && number(model).is_some()).then(|| text.to_owned())
}

/// Returns four hexadecimal digits, in lower case.
fn hexadecimal(text: &str) -> Option<String> {
    let sound = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_four_digits_and_those_of_cpus_are_their_own() {
        use DeviceKind::{Cpu, Gpu, Nic};
        assert_eq!(vendor_id(Gpu, "10DE").as_deref(), Some("10de"));
        assert_eq!(device_id(Nic, "1021").as_deref(), Some("1021"));
        for bad in ["", "10d", "10de0", "0x10de", "+123", "1é2", "GenuineIntel"] {
            assert_eq!(vendor_id(Gpu, bad), None, "{bad}");
            assert_eq!(device_id(Nic, bad), None, "{bad}");
        }
        assert_eq!(vendor_id(Cpu, "GenuineIntel").as_deref(), Some("GenuineIntel"));
        for bad in ["", " ", "GenuineIntel2", " ARM", "a\nb", "é"] {
            assert_eq!(vendor_id(Cpu, bad), None, "{bad:?}");
        }
        assert_eq!(device_id(Cpu, "6:143").as_deref(), Some("6:143"));
        for bad in ["6", "6:", ":6", "6:-1", "6:+1", "06:1", "6:65536", "6:1:2", "8086"] {
            assert_eq!(device_id(Cpu, bad), None, "{bad}");
        }
    }
}
