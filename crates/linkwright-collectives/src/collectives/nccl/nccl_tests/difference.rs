//! Tells the meaning of the shape of a difference between measured and expected times.
//!
//! A model of a collective's time is a latency and a bandwidth for each protocol. So a wrong link
//! shows at large sizes alone, and a wrong launch at small ones. A wrong choice of protocol shows
//! in one range of sizes between right ones.

use std::fmt;

use crate::units::Bytes;

/// Sets the size up to which latency alone counts. From [`LARGE`] on bandwidth alone counts.
const SMALL: Bytes = Bytes(128 << 10);
/// See [`SMALL`].
const LARGE: Bytes = Bytes(64 << 20);

/// Times are as expected that are off by no more: nccl-tests' own runs differ by some 10 % from one
/// to the next.
const AS_EXPECTED: f64 = 0.15;

/// Holds one size, measured and expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// Counts the data.
    pub size: Bytes,
    /// Gives the measured seconds.
    pub measured: f64,
    /// Gives the expected seconds.
    pub expected: f64,
    /// How far off the expected time may be, as a part of it: its own ±.
    pub error: f64,
}

impl Compared {
    /// Returns measured over expected time.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.measured / self.expected
    }

    /// Whether the time is as expected: off by no more than its own ±, or than runs differ.
    #[must_use]
    pub fn fits(&self) -> bool {
        is_near(self.ratio(), self.error.max(AS_EXPECTED))
    }
}

/// Says whether two times differ by an error at most, as a part of either of them.
///
/// No time is shorter than another by more than all of that. A part above a half counts of the shorter
/// one alone.
fn is_near(ratio: f64, error: f64) -> bool {
    let part = 1.0 - error.min(0.5);
    ((1.0 / (1.0 + error)).min(part)..=(1.0 + error).max(1.0 / part)).contains(&ratio)
}

/// Names the meaning of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Difference {
    /// There is none.
    None,
    /// Large sizes alone are off by one factor: a link carries less, or more.
    Link {
        /// Gives expected over measured time there.
        reached: f64,
    },
    /// Small sizes alone are off: launch or latency.
    Launch {
        /// Gives measured minus expected seconds there, the median.
        extra: f64,
    },
    /// Small and large sizes are as expected, and some between are not: a protocol or an algorithm.
    Protocol {
        /// The smallest size that is off.
        from: Bytes,
        /// Gives the largest size that is off.
        to: Bytes,
        /// Measured over expected time where it is furthest off.
        furthest: f64,
    },
    /// Everything is off by about one factor: other links, or another algorithm.
    Everywhere {
        /// Gives measured over expected time, the median.
        factor: f64,
    },
    /// Fits no such shape.
    Mixed {
        /// Gives the least and the greatest of measured over expected times.
        between: (f64, f64),
    },
    /// Has too few sizes to tell.
    Unknown,
}

/// Returns the meaning of the sizes of a log together, in any order. A shape is looked for among
/// the times that do not fit alone.
#[must_use]
pub fn difference(rows: &[Compared]) -> Difference {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.size);
    let off: Vec<&Compared> = rows.iter().filter(|row| !row.fits()).collect();
    let ([first, ..], [.., last]) = (&off[..], &off[..]) else {
        return if rows.is_empty() { Difference::Unknown } else { Difference::None };
    };
    let small: Vec<Compared> = rows.iter().filter(|row| row.size <= SMALL).copied().collect();
    let large: Vec<Compared> = rows.iter().filter(|row| row.size >= LARGE).copied().collect();
    if small.is_empty() && large.is_empty() {
        return Difference::Unknown;
    }
    match (median_off(&small), median_off(&large)) {
        (None, None) => {
            let ratios = off.iter().map(|row| row.ratio());
            let furthest = ratios.max_by(|a, b| away(*a).total_cmp(&away(*b))).unwrap_or(1.0);
            Difference::Protocol { from: first.size, to: last.size, furthest }
        }
        (None, Some(ratio)) => Difference::Link { reached: 1.0 / ratio },
        (Some(_), None) => {
            let extras = small.iter().map(|row| row.measured - row.expected);
            Difference::Launch { extra: median(extras).unwrap_or(0.0) }
        }
        (Some(a), Some(b)) if is_near(a / b, AS_EXPECTED) => {
            let factor = median(rows.iter().map(Compared::ratio)).unwrap_or(1.0);
            Difference::Everywhere { factor }
        }
        _ => Difference::Mixed { between: bounds(&rows) },
    }
}

/// Returns the least and the most of measured over expected times.
pub(super) fn bounds(rows: &[Compared]) -> (f64, f64) {
    let ratios = rows.iter().map(Compared::ratio);
    ratios.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)))
}

/// How far a ratio is from one, either way.
fn away(ratio: f64) -> f64 {
    ratio.ln().abs()
}

/// The median of measured over expected times where at least half of them do not fit.
fn median_off(rows: &[Compared]) -> Option<f64> {
    let fitting = rows.iter().filter(|row| row.fits()).count();
    let ratio = median(rows.iter().map(Compared::ratio))?;
    (2 * fitting <= rows.len()).then_some(ratio)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Writes one sentence.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| (ratio * 100.0).round();
        match self {
            Self::None => {
                write!(f, "Every size takes about as long as expected, within 15 % or its own ±.")
            }
            Self::Link { reached } if *reached < 1.0 => write!(
                f,
                "Large sizes reach {} % of the expected bandwidth. A link is narrower or slower \
                 than it should be, or carries other traffic. Or data takes another path: PCIe \
                 or the host in place of NVLink.",
                percent(*reached)
            ),
            Self::Link { reached } => write!(
                f,
                "Large sizes reach {} % of the expected bandwidth, more than its links carry. Another \
                 machine is meant, or something runs that the model lacks.",
                percent(*reached)
            ),
            Self::Launch { extra } => write!(
                f,
                "Small sizes take {:.1} us {} than expected, but large ones fit. Check processes \
                 per GPU, CPU binding and the network's latency.",
                extra.abs() * 1e6,
                if *extra > 0.0 { "longer" } else { "less" }
            ),
            Self::Protocol { from, to, furthest } if from == to => write!(
                f,
                "At {from} the time is {furthest:.2} of the expected one, and other sizes fit. Another \
                 protocol or algorithm runs there: look at NCCL_PROTO, NCCL_ALGO and NCCL's version."
            ),
            Self::Protocol { from, to, furthest } => write!(
                f,
                "From {from} to {to} times are off, by {furthest:.2} at most; smaller and larger \
                 sizes fit. Another protocol or algorithm runs there: check NCCL_PROTO, \
                 NCCL_ALGO and NCCL's version."
            ),
            Self::Everywhere { factor } if *factor < 1.0 => write!(
                f,
                "Every size takes about {factor:.2} times as long as expected: another machine is \
                 meant, or something runs that the model lacks."
            ),
            Self::Everywhere { factor } => write!(
                f,
                "Every size takes about {factor:.2} times as long as expected. NCCL does not use \
                 the best links, or this is another machine: check NCCL_P2P_DISABLE and the GPUs."
            ),
            Self::Mixed { between: (least, most) } => write!(
                f,
                "Times are {least:.2} to {most:.2} of the expected ones, in no shape that one cause \
                 has."
            ),
            Self::Unknown => write!(
                f,
                "The sizes are too few to tell a link from a latency; measure from 8 B to 1 GiB."
            ),
        }
    }
}

#[cfg(test)]
mod tests;
