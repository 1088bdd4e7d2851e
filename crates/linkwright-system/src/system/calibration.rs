//! Holds values that runs on a machine measured. They stand in the place of the values known for
//! its kinds of links and its GPUs' generation.
//!
//! A machine's file carries it, so that whatever is asked of the machine has one answer. How it is found
//! in a run of nccl-tests: `linkwright::collectives::calibration`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::system::kinds::LinkKind;
use crate::units::{Bytes, Picoseconds};

/// A number from zero to 4,294 in millionths, so that it is written and compared exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millionths(u32);

impl Millionths {
    /// Is one.
    pub const ONE: Self = Self(1_000_000);

    /// The nearest to a number; None where it is none from zero to 4,294.
    #[must_use]
    pub fn of(value: f64) -> Option<Self> {
        (0.0..=4_294.0).contains(&value).then(|| Self((value * 1e6).round() as u32))
    }

    /// Returns the number.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl fmt::Display for Millionths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A TOML float has a point.
        let digits = format!("{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000);
        let short = digits.trim_end_matches('0');
        write!(f, "{short}{}", if short.ends_with('.') { "0" } else { "" })
    }
}

impl Serialize for Millionths {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.value())
    }
}

/// Holds a part of a link's peak: above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct PeakShare(Millionths);

impl PeakShare {
    /// The nearest to a number; None where it is not above 0 and at most 1.
    #[must_use]
    pub fn of(value: f64) -> Option<Self> {
        let share = Millionths::of(value)?;
        (Millionths(0) < share && value <= 1.0).then_some(Self(share))
    }

    /// Returns the number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0.value()
    }
}

impl fmt::Display for PeakShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<f64> for PeakShare {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let refuse = || format!("{value} is not above 0 and at most 1, as a part of a peak is");
        Self::of(value).ok_or_else(refuse)
    }
}

/// How far times are off, as a part of what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Deviation(Millionths);

impl Deviation {
    /// The nearest to a number; None where it is none from zero to 4,294.
    #[must_use]
    pub fn of(value: f64) -> Option<Self> {
        Millionths::of(value).map(Self)
    }

    /// Returns the number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0.value()
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<f64> for Deviation {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        Self::of(value).ok_or_else(|| format!("{value} is not from 0 to 4294"))
    }
}

/// How the ranks of a run were processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchProcesses {
    /// Starts one process for each rank.
    Each,
    /// Starts one process with all GPUs of a server.
    One,
}

impl LaunchProcesses {
    /// Returns its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::One => "one",
        }
    }
}

/// Holds the measured times of the launch of a collective's kernels on a machine's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredLaunch {
    /// How ranks were processes, as they are taken to be within the server where nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<LaunchProcesses>,
    /// Of a rank that is a process of its own, or of the first of a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Picoseconds>,
    /// Holds the time of each further GPU of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Picoseconds>,
    /// Holds the time of all GPUs of one process, under NCCL up to 2.8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Picoseconds>,
}

/// How far off the times of some sizes are from those that a calibration was fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residual {
    /// Gives the least of these sizes; they end where those of the next begin.
    pub from: Bytes,
    /// How many sizes were measured.
    pub rows: u32,
    /// Half of them are off by no more than this.
    pub median: Deviation,
    /// Nine of ten of them are off by no more than this.
    pub ninetieth: Deviation,
}

/// Holds the measurements of a machine. For an absent value, its kinds of links and the terms of
/// its generation of GPUs hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Calibration {
    /// Names the run.
    pub source: String,
    /// Holds the share of the peak of its links that long transfers reach, by kind.
    pub reached: BTreeMap<LinkKind, PeakShare>,
    /// Holds the share of the peak at each GPU that long reductions and multicasts in its
    /// NVSwitches reach.
    pub in_switch: BTreeMap<LinkKind, PeakShare>,
    /// Holds the times of a launch.
    pub launch: MeasuredLaunch,
    /// Says how far off it leaves the run's times, by size, in ascending order. Sizes without a
    /// measurement have no entry.
    pub residuals: Vec<Residual>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_share_is_none() {
        for value in [0.0, 1e-7, -0.5, 1.000_000_1, f64::NAN, f64::INFINITY] {
            assert_eq!(PeakShare::of(value), None, "{value}");
        }
        assert_eq!(PeakShare::of(1.0).unwrap().to_string(), "1.0");
        assert_eq!(PeakShare::of(0.785).unwrap().to_string(), "0.785");
        assert!(Deviation::try_from(-0.1).is_err() && Deviation::try_from(f64::NAN).is_err());
        assert_eq!(Deviation::of(1.474).unwrap().to_string(), "1.474");
    }

    proptest! {
        /// A written share is read back as it was.
        #[test]
        fn shares_read_back(millionths in 1_u32..=1_000_000) {
            let share = PeakShare(Millionths(millionths));
            let text: f64 = share.to_string().parse().unwrap();
            prop_assert_eq!(PeakShare::of(text), Some(share));
            prop_assert_eq!(PeakShare::of(share.value()), Some(share));
        }
    }
}
