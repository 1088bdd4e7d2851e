//! Holds physical quantities as integers, each with its own type.
//!
//! Time is picoseconds, sizes are bytes, bandwidths are bytes per second and per
//! direction, speeds are operations per second, powers are milliwatts. All are `u64`, so that sums are exact and results
//! do not depend on the order of additions. Each type reads and writes the text that people use
//! (`"700 ns"`, `"64 MiB"`, `"25 GB/s"`), exactly: no floating point in between. A power is a number of watts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

/// A text that is not a quantity of the wanted unit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

impl Diagnose for UnitError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { text, what, example } = self;
        Diagnosis::of(format!("`{text}` is not {what}"))
            .remedy(format!("write a number and a unit such as {example}"))
    }
}

/// Measures a span of simulated time, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Picoseconds(pub u64);

/// Measures an amount of data, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl From<Picoseconds> for u64 {
    fn from(span: Picoseconds) -> Self {
        span.0
    }
}

impl From<Bytes> for u64 {
    fn from(bytes: Bytes) -> Self {
        bytes.0
    }
}

/// Measures a rate of data in one direction, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bandwidth(pub u64);

/// Counts the ticks of a clock in a second, in hertz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frequency(pub u64);

/// A speed of arithmetic, in operations per second: a multiply-add is two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct OperationRate(pub u64);

/// Counts milliwatts. Files say a power as a number of watts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Power(pub u64);

const TIME_UNITS: &[(&str, u64)] = &[
    ("s", 1_000_000_000_000),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    ("ns", 1_000),
    ("ps", 1),
    // A day is told by its hours. None of these is written.
    ("min", 60 * 1_000_000_000_000),
    ("h", 3_600 * 1_000_000_000_000),
    ("d", 86_400 * 1_000_000_000_000),
];
const SIZE_UNITS: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const BANDWIDTH_UNITS: &[(&str, u64)] = &[
    ("TB/s", 1_000_000_000_000),
    ("GB/s", 1_000_000_000),
    ("MB/s", 1_000_000),
    ("B/s", 1),
    ("Gb/s", 125_000_000),
    // Networks are sold by bits: a number of G alone is Gb/s, too. None of these is written.
    ("G", 125_000_000),
    ("Gb", 125_000_000),
    ("Gbps", 125_000_000),
    ("Gbit/s", 125_000_000),
    ("Tb/s", 125_000_000_000),
    ("Mb/s", 125_000),
    ("TiB/s", 1 << 40),
    ("GiB/s", 1 << 30),
    ("MiB/s", 1 << 20),
    ("KiB/s", 1 << 10),
    ("kB/s", 1_000),
];

const FREQUENCY_UNITS: &[(&str, u64)] =
    &[("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1_000), ("Hz", 1)];
const POWER_UNITS: &[(&str, u64)] = &[("kW", 1_000_000), ("W", 1_000), ("mW", 1)];

const OPERATION_UNITS: &[(&str, u64)] = &[
    ("PFLOP/s", 1_000_000_000_000_000),
    ("TFLOP/s", 1_000_000_000_000),
    ("GFLOP/s", 1_000_000_000),
    ("FLOP/s", 1),
    ("POP/s", 1_000_000_000_000_000),
    ("TOP/s", 1_000_000_000_000),
    ("GOP/s", 1_000_000_000),
    ("OP/s", 1),
];

impl Picoseconds {
    /// Lasts one second.
    pub const SECOND: Self = Self(1_000_000_000_000);

    /// Returns the nearest whole number of picoseconds to a number of seconds. Negative and
    /// not-a-number become zero, and a value that does not fit becomes the largest.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e12).round() as u64)
    }

    /// Returns the span in seconds, for people and plots.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The sum, or `None` where it leaves 64 bits (about 213 days).
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

impl Bandwidth {
    /// Makes a rate from a whole number of gigabytes (10^9 bytes) per second.
    #[must_use]
    pub const fn gigabytes_per_second(value: u64) -> Self {
        Self(value * 1_000_000_000)
    }

    /// The rate in bits, as networks are sold: `400 Gb/s`.
    #[must_use]
    pub fn in_bits(self) -> String {
        Self(self.0.saturating_mul(8)).to_string().replace("B/s", "b/s")
    }

    /// Returns the rate in gigabytes (10^9 bytes) per second, for people and plots.
    #[must_use]
    pub fn as_gigabytes_per_second(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// A file may say as many watts at most.
pub const MOST_WATTS: f64 = 1e6;

impl Power {
    /// Takes the nearest milliwatts to a number of watts; None of one that is not from 0 to [`MOST_WATTS`].
    #[must_use]
    pub fn from_watts(watts: f64) -> Option<Self> {
        (0.0..=MOST_WATTS).contains(&watts).then(|| Self((watts * 1e3).round() as u64))
    }

    /// Gives the power in watts, for people and energies.
    #[must_use]
    pub fn as_watts(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Frequency {
    /// Takes a number of megahertz; None of one that is not from 0 to 10^9.
    #[must_use]
    pub fn from_megahertz(megahertz: f64) -> Option<Self> {
        (0.0..=1e9).contains(&megahertz).then(|| Self((megahertz * 1e6).round() as u64))
    }

    /// Gives the megahertz, for people and files.
    #[must_use]
    pub fn as_megahertz(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl FromStr for Power {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let read = parse(text, POWER_UNITS).filter(|it| *it as f64 <= MOST_WATTS * 1e3);
        let refused = || UnitError { text: text.to_owned(), what: "a power", example: "\"500 W\"" };
        read.map(Self).ok_or_else(refused)
    }
}

impl Serialize for Power {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1000) {
            serializer.serialize_u64(self.0 / 1000)
        } else {
            serializer.serialize_f64(self.as_watts())
        }
    }
}

impl<'de> Deserialize<'de> for Power {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Watts)
    }
}

/// Reads a number of watts.
struct Watts;

impl serde::de::Visitor<'_> for Watts {
    type Value = Power;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of watts from 0 to {MOST_WATTS}, such as 300")
    }

    fn visit_f64<E: serde::de::Error>(self, watts: f64) -> Result<Power, E> {
        let of_number = || E::invalid_value(serde::de::Unexpected::Float(watts), &self);
        Power::from_watts(watts).ok_or_else(of_number)
    }

    fn visit_u64<E: serde::de::Error>(self, watts: u64) -> Result<Power, E> {
        self.visit_f64(watts as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, watts: i64) -> Result<Power, E> {
        let of_number = || E::invalid_value(serde::de::Unexpected::Signed(watts), &self);
        Power::from_watts(watts as f64).ok_or_else(of_number)
    }
}

/// Reads `number unit` as an exact multiple of the base unit, rounding half up below it.
fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = (&text[..split], text[split..].trim_start());
    let scale = u128::from(units.iter().find(|(name, _)| *name == unit)?.1);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() > 20 || fraction.len() > 15 {
        return None;
    }
    if number.contains('.') && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let denominator = 10_u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let numerator = whole.parse::<u128>().ok()? * denominator + fraction;
    let doubled = numerator.checked_mul(scale)?.checked_mul(2)?.checked_add(denominator)?;
    let rounded = doubled / (denominator * 2);
    u64::try_from(rounded).ok()
}

/// Writes the value in the largest unit in which at most three decimals are exact.
fn format(value: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (name, scale) in units {
        let thousandths = u128::from(value) * 1000;
        if value >= *scale && thousandths % u128::from(*scale) == 0 {
            let thousandths = thousandths / u128::from(*scale);
            let (whole, rest) = (thousandths / 1000, thousandths % 1000);
            return if rest == 0 {
                write!(f, "{whole} {name}")
            } else {
                let decimals = format!("{rest:03}");
                write!(f, "{whole}.{} {name}", decimals.trim_end_matches('0'))
            };
        }
    }
    let base = units.iter().find(|(_, scale)| *scale == 1).map_or("", |(name, _)| *name);
    write!(f, "{value} {base}")
}

macro_rules! text_form {
    ($type:ty, $constructor:expr, $units:expr, $what:literal, $example:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                format(self.0, $units, f)
            }
        }
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $units).map($constructor).ok_or_else(|| UnitError {
                    text: text.to_owned(),
                    what: $what,
                    example: $example,
                })
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

text_form!(Picoseconds, Picoseconds, TIME_UNITS, "a time", "\"700 ns\"");
text_form!(Bytes, Bytes, SIZE_UNITS, "a size", "\"64 MiB\"");
text_form!(Bandwidth, Bandwidth, BANDWIDTH_UNITS, "a bandwidth", "\"25 GB/s\"");
text_form!(Frequency, Frequency, FREQUENCY_UNITS, "a frequency", "\"1500 MHz\"");
text_form!(OperationRate, OperationRate, OPERATION_UNITS, "a speed", "\"15.7 TFLOP/s\"");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_power_is_a_number_of_watts() {
        use serde::de::IntoDeserializer;
        use serde::de::value::Error;
        let whole: Result<Power, Error> = Power::deserialize(300_u64.into_deserializer());
        assert_eq!(whole, Ok(Power(300_000)));
        let signed: Result<Power, Error> = Power::deserialize(300_i64.into_deserializer());
        assert_eq!(signed, whole);
        let part: Result<Power, Error> = Power::deserialize(62.5_f64.into_deserializer());
        assert_eq!(part.map(Power::as_watts), Ok(62.5));
        let below: Result<Power, Error> = Power::deserialize((-5_i64).into_deserializer());
        assert!(below.unwrap_err().to_string().contains("a number of watts from 0 to 1000000"));
        let text: Result<Power, Error> = Power::deserialize("300 W".into_deserializer());
        assert!(text.is_err());
    }

    #[test]
    fn text_forms_are_exact() {
        assert_eq!("25 GB/s".parse(), Ok(Bandwidth::gigabytes_per_second(25)));
        assert_eq!("15.754GB/s".parse(), Ok(Bandwidth(15_754_000_000)));
        assert_eq!("25 GiB/s".parse(), Ok(Bandwidth(25 << 30)));
        assert_eq!("1.5 KiB/s".parse(), Ok(Bandwidth(1536)));
        assert_eq!(Bandwidth(1 << 30).to_string(), "1073741824 B/s");
        assert_eq!("100 Gb/s".parse(), Ok(Bandwidth(12_500_000_000)));
        for text in ["400G", "400Gb", "400Gbps", "400 Gbit/s", "400Gb/s", "0.4 Tb/s", "50GB/s"] {
            assert_eq!(text.parse(), Ok(Bandwidth::gigabytes_per_second(50)), "{text}");
        }
        assert_eq!("1.5 us".parse(), Ok(Picoseconds(1_500_000)));
        assert_eq!("1.5 h".parse(), "5400 s".parse::<Picoseconds>());
        assert_eq!("90 min".parse::<Picoseconds>().unwrap().to_string(), "5400 s");
        assert_eq!("64 MiB".parse(), Ok(Bytes(64 << 20)));
        assert_eq!(Bandwidth(15_754_000_000).to_string(), "15.754 GB/s");
        assert_eq!(Bytes(64 << 20).to_string(), "64 MiB");
        assert_eq!(Bandwidth::gigabytes_per_second(50).in_bits(), "400 Gb/s");
        assert_eq!(Bandwidth(11_900_000_000).in_bits(), "95.2 Gb/s");
        assert_eq!("15.7 TFLOP/s".parse(), Ok(OperationRate(15_700_000_000_000)));
        assert_eq!("624 TOP/s".parse(), Ok(OperationRate(624_000_000_000_000)));
        assert_eq!(OperationRate(989_400_000_000_000).to_string(), "989.4 TFLOP/s");
    }

    #[test]
    fn what_lies_between_whole_numbers_is_rounded_half_up() {
        for (text, whole) in
            [("0.49 ps", 0), ("0.5 ps", 1), ("1.4999 ps", 1), ("1.9 ps", 2), ("0.0005 ns", 1)]
        {
            assert_eq!(text.parse(), Ok(Picoseconds(whole)), "{text}");
        }
        assert_eq!("0.0000000125 Gb/s".parse(), Ok(Bandwidth(2)));
        for (seconds, whole) in
            [(0.4e-12, 0), (0.6e-12, 1), (1.5e-12, 2), (2.9e-12, 3), (1e-9 + 0.7e-12, 1001)]
        {
            assert_eq!(Picoseconds::from_seconds(seconds), Picoseconds(whole), "{seconds}");
        }
        assert_eq!(Picoseconds::from_seconds(-1.0), Picoseconds(0));
        assert_eq!(Picoseconds::from_seconds(f64::NAN), Picoseconds(0));
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "25", "GB/s", "-3 GB/s", "1.2.3 GB/s", "3. GB/s", "3 GB", "9e9 GB/s"] {
            let error = text.parse::<Bandwidth>().unwrap_err().to_string();
            assert!(error.contains("25 GB/s"), "{error}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for text in ["18446745 s", "200000000000.000000000000000 s", "99999999999999999999.0 s"] {
            assert!(text.parse::<Picoseconds>().is_err(), "{text}");
        }
        assert_eq!("18446744.073709551615 s".parse(), Ok(Picoseconds(u64::MAX)));
    }

    proptest! {
        #[test]
        fn every_value_survives_its_own_text(value: u64) {
            prop_assert_eq!(Bandwidth(value).to_string().parse(), Ok(Bandwidth(value)));
            prop_assert_eq!(Picoseconds(value).to_string().parse(), Ok(Picoseconds(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(OperationRate(value).to_string().parse(), Ok(OperationRate(value)));
        }

        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC*") {
            let _ = text.parse::<Bandwidth>();
            let _ = text.parse::<Picoseconds>();
        }
    }
}
