//! Numbers of a file of terms, each with the range that it may have.

use serde::Deserialize;

use crate::units::Picoseconds;

/// Holds a time in a file of terms: microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(in crate::training) struct Microseconds(pub Picoseconds);

impl TryFrom<f64> for Microseconds {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1e6).contains(&value) {
            Ok(Self(Picoseconds((value * 1e6).round() as u64)))
        } else {
            Err(format!("{value} is not from 0 to 1,000,000 microseconds"))
        }
    }
}

/// Holds a part of a peak.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(in crate::training) struct Share(pub f64);

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= 1.0 {
            Ok(Self(value))
        } else {
            Err(format!("{value} is no part of a peak: above 0, 1 at most"))
        }
    }
}

/// Holds a number of terms or kernels.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(in crate::training) struct Amount(pub f64);

impl TryFrom<f64> for Amount {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1e6).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is not from 0 to 1,000,000"))
        }
    }
}

/// Says how many times as much as something.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(in crate::training) struct Multiple(pub f64);

impl TryFrom<f64> for Multiple {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1000.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is not from 0 to 1,000"))
        }
    }
}

/// A count that is at least one.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "u64")]
pub(in crate::training) struct Count(pub u64);

impl TryFrom<u64> for Count {
    type Error = String;

    fn try_from(value: u64) -> Result<Self, String> {
        if (1..=1 << 20).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is not from 1 to 1,048,576"))
        }
    }
}

/// Holds a surplus that comes to something, as a share of it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(in crate::training) struct Surplus(pub f64);

impl TryFrom<f64> for Surplus {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=100.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is not from 0 to 100"))
        }
    }
}
