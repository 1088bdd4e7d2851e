//! Network interfaces by their products: how fast a port of one is.
//!
//! It represents the rate that a product's name says, whoever makes it. The speed of a product that
//! is sold at several rates and names none, as a ConnectX-7 alone, is not known. It leaves out how
//! much of a rate the encoding takes: links of a network lose that.

use crate::system::kinds::DeviceKind;
use crate::system::server::Device;
use crate::units::Bandwidth;

/// Holds bytes per second of the unit in which NCCL's topology files count: Mb/s.
pub(super) const MEGABIT: u64 = 125_000;

/// Lists Mb/s of a port by the name of its rate. The InfiniBand Trade Association's roadmap has them
/// for four lanes. HDR100 and NDR200 are half ports: the data sheets of ConnectX-6 and ConnectX-7 do.
const RATES: [(&str, u32); 10] = [
    ("SDR", 10_000),
    ("DDR", 20_000),
    ("QDR", 40_000),
    ("FDR", 56_000),
    ("EDR", 100_000),
    ("HDR100", 100_000),
    ("HDR", 200_000),
    ("NDR200", 200_000),
    ("NDR", 400_000),
    ("XDR", 800_000),
];

/// The most Mb/s that a port is believed to have, several times those of any.
const MOST: u32 = 10_000_000;

fn words(model: &str) -> impl Iterator<Item = &str> {
    model.split([' ', ',', '(', ')', '/']).filter(|word| !word.is_empty())
}

fn rate(word: &str) -> Option<u32> {
    RATES.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, speed)| *speed)
}

/// The Mb/s that a word such as `200Gb`, `100GbE` or `400G` says; `next` is the word behind it.
fn written(word: &str, next: Option<&str>) -> Option<u32> {
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = word.split_at(digits);
    let unit = if unit.is_empty() { next? } else { unit };
    let is_gigabits = ["G", "Gb", "GbE", "Gbps", "Gbit"].contains(&unit);
    number.parse::<u32>().ok()?.checked_mul(1000).filter(|_| is_gigabits)
}

/// How fast a port of a product is, where its name says it: by a rate of InfiniBand (`ConnectX-7 NDR`),
/// or written out (`ConnectX-7 200 Gb/s`, `ConnectX-6 Dx 100GbE`).
fn of_product(model: &str) -> Option<Bandwidth> {
    let all: Vec<&str> = words(model).collect();
    let named = all.iter().find_map(|word| rate(word));
    let megabits =
        named.or_else(|| (0..all.len()).find_map(|at| written(all[at], all.get(at + 1).copied())));
    megabits.and_then(of_megabits)
}

/// A number of Mb/s as a speed; None where no port has it.
pub(super) fn of_megabits(megabits: u32) -> Option<Bandwidth> {
    (1..=MOST).contains(&megabits).then(|| Bandwidth(u64::from(megabits) * MEGABIT))
}

/// Tells how fast a network interface's port is, in each direction: as it is given, else as its
/// product says. It is None where neither is known, and of another device.
#[must_use]
pub fn port_speed(nic: &Device) -> Option<Bandwidth> {
    if nic.kind != DeviceKind::Nic {
        return None;
    }
    nic.speed.or_else(|| of_product(nic.model.as_deref()?))
}

/// Whether a product is named by a rate of InfiniBand.
pub(super) fn is_infiniband(nic: &Device) -> bool {
    words(nic.model.as_deref().unwrap_or_default()).any(|word| rate(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_tells_its_speed() {
        let nic = |model| Device::new("mlx5_0", DeviceKind::Nic, Some(model));
        let gigabits = [
            ("ConnectX-4 EDR", Some(100)),
            ("ConnectX-6 HDR", Some(200)),
            ("ConnectX-6 HDR100", Some(100)),
            ("ConnectX-7 NDR", Some(400)),
            ("ConnectX-7 NDR200/HDR", Some(200)),
            ("ConnectX-8 (XDR)", Some(800)),
            ("ConnectX-7 200 Gb/s", Some(200)),
            ("ConnectX-7 200Gb/s", Some(200)),
            ("ConnectX-6 Dx 100GbE", Some(100)),
            ("BCM57608 400G", Some(400)),
            ("Gb/s", None),
            ("99999999 Gb/s", None),
            ("0 Gb/s", None),
            ("ConnectX-7", None),
            ("a card of 16 GB", None),
        ];
        for (model, speed) in gigabits {
            let speed = speed.map(|it| Bandwidth(it * 1000 * MEGABIT));
            assert_eq!(port_speed(&nic(model)), speed, "{model}");
        }
        assert!(is_infiniband(&nic("ConnectX-6 HDR")));
        assert!(!is_infiniband(&nic("ConnectX-7 200 Gb/s")));
        let given = Device { speed: Some(Bandwidth(7)), ..nic("ConnectX-7 NDR") };
        assert_eq!(port_speed(&given), Some(Bandwidth(7)));
        let gpu = Device::new("GPU0", DeviceKind::Gpu, Some("ConnectX-7 NDR"));
        assert_eq!(port_speed(&gpu), None);
    }
}
