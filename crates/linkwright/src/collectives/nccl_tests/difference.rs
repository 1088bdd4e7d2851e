//! What the shape of a difference between measured and expected times means.
//!
//! A model of a collective's time is a latency and a bandwidth for each protocol, so that a wrong link
//! shows at large sizes alone, a wrong launch at small ones, and a wrong choice of protocol in one
//! range of sizes between right ones.

use std::fmt;

use crate::units::Bytes;

/// Up to here latency alone counts, and from [`LARGE`] on bandwidth alone.
const SMALL: Bytes = Bytes(128 << 10);
/// See [`SMALL`].
const LARGE: Bytes = Bytes(64 << 20);

/// Measured over expected times within these bounds are as expected: nccl-tests' own runs differ by
/// some 10 % from one to the next.
const AS_EXPECTED: std::ops::RangeInclusive<f64> = 0.85..=1.15;

/// One size, measured and expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// The data.
    pub size: Bytes,
    /// Measured seconds.
    pub measured: f64,
    /// Expected seconds.
    pub expected: f64,
}

impl Compared {
    /// Measured over expected time.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.measured / self.expected
    }
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Difference {
    /// There is none.
    None,
    /// Large sizes alone are off by one factor: a link carries less, or more.
    Link {
        /// Expected over measured time there.
        reached: f64,
    },
    /// Small sizes alone are off: launch or latency.
    Launch {
        /// Measured minus expected seconds there, the median.
        extra: f64,
    },
    /// Small and large sizes are as expected, and some between are not: a protocol or an algorithm.
    Protocol {
        /// The smallest size that is off.
        from: Bytes,
        /// The largest.
        to: Bytes,
        /// Measured over expected time where it is furthest off.
        furthest: f64,
    },
    /// Everything is off by about one factor: other links, or another algorithm.
    Everywhere {
        /// Measured over expected time, the median.
        factor: f64,
    },
    /// No such shape.
    Mixed {
        /// The least and the greatest of measured over expected times.
        between: (f64, f64),
    },
    /// Too few sizes to tell.
    Unknown,
}

/// What the sizes of a log, in any order, say together.
#[must_use]
pub fn difference(rows: &[Compared]) -> Difference {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.size);
    let is_off = |row: &&Compared| !AS_EXPECTED.contains(&row.ratio());
    if !rows.iter().any(|row| is_off(&row)) {
        return if rows.is_empty() { Difference::Unknown } else { Difference::None };
    }
    let small: Vec<Compared> = rows.iter().filter(|row| row.size <= SMALL).copied().collect();
    let large: Vec<Compared> = rows.iter().filter(|row| row.size >= LARGE).copied().collect();
    if small.is_empty() && large.is_empty() {
        return Difference::Unknown;
    }
    let (of_small, of_large) = (median_ratio(&small), median_ratio(&large));
    let fits = |ratio: Option<f64>| ratio.is_none_or(|ratio| AS_EXPECTED.contains(&ratio));
    if fits(of_small) && fits(of_large) {
        let off: Vec<&Compared> = rows.iter().filter(is_off).collect();
        let furthest =
            off.iter().map(|row| row.ratio()).max_by(|a, b| away(*a).total_cmp(&away(*b)));
        let (from, to) = (off[0].size, off[off.len() - 1].size);
        return Difference::Protocol { from, to, furthest: furthest.unwrap_or(1.0) };
    }
    match (of_small, of_large) {
        (_, Some(ratio)) if fits(of_small) && !fits(of_large) => {
            Difference::Link { reached: 1.0 / ratio }
        }
        (Some(_), _) if fits(of_large) && !fits(of_small) => {
            let extras = small.iter().map(|row| row.measured - row.expected);
            Difference::Launch { extra: median(extras).unwrap_or(0.0) }
        }
        (Some(a), Some(b)) if AS_EXPECTED.contains(&(a / b)) => {
            let factor = median(rows.iter().map(Compared::ratio)).unwrap_or(1.0);
            Difference::Everywhere { factor }
        }
        _ => mixed(&rows),
    }
}

fn mixed(rows: &[Compared]) -> Difference {
    let ratios = rows.iter().map(Compared::ratio);
    let (least, most) =
        ratios.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    Difference::Mixed { between: (least, most) }
}

/// How far a ratio is from one, either way.
fn away(ratio: f64) -> f64 {
    ratio.ln().abs()
}

fn median_ratio(rows: &[Compared]) -> Option<f64> {
    median(rows.iter().map(Compared::ratio))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// One sentence.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| (ratio * 100.0).round();
        match self {
            Self::None => write!(f, "Every size takes about as long as expected, within 15 %."),
            Self::Link { reached } => write!(
                f,
                "Large sizes reach {} % of the expected bandwidth, which no latency explains: a link \
                 carries {} than it should; look at its width, its speed and what else it carries.",
                percent(*reached),
                if *reached < 1.0 { "less" } else { "more" }
            ),
            Self::Launch { extra } => write!(
                f,
                "Small sizes take {:.1} us {} than expected while large ones fit: launch or latency; \
                 look at processes a GPU, at CPU binding and at the network's latency.",
                extra.abs() * 1e6,
                if *extra > 0.0 { "longer" } else { "less" }
            ),
            Self::Protocol { from, to, furthest } => write!(
                f,
                "From {from} to {to} times are off, by {furthest:.2} at most, and those of smaller \
                 and larger sizes are not: another protocol or algorithm runs there than expected; \
                 look at NCCL_PROTO, NCCL_ALGO and NCCL's version."
            ),
            Self::Everywhere { factor } => write!(
                f,
                "Every size takes about {factor:.2} times as long as expected: other links are used \
                 than the machine's best, or another machine is meant; look at NCCL_P2P_DISABLE and at \
                 the GPUs given."
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Expected 10 us and 100 GB/s; measured by other figures.
    fn measured(latency: impl Fn(u64) -> f64, bandwidth: impl Fn(u64) -> f64) -> Vec<Compared> {
        (3..33)
            .map(|power| {
                let size = 1_u64 << power;
                let time =
                    |latency: f64, bandwidth: f64| latency * 1e-6 + size as f64 / (bandwidth * 1e9);
                let (expected, measured) =
                    (time(10.0, 100.0), time(latency(size), bandwidth(size)));
                Compared { size: Bytes(size), measured, expected }
            })
            .collect()
    }

    #[test]
    fn each_cause_has_its_shape() {
        assert_eq!(difference(&measured(|_| 10.0, |_| 100.0)), Difference::None);
        let Difference::Link { reached } = difference(&measured(|_| 10.0, |_| 50.0)) else {
            panic!()
        };
        assert!((reached - 0.5).abs() < 0.01, "{reached}");
        let launch = difference(&measured(|_| 30.0, |_| 100.0));
        let Difference::Launch { extra } = launch else { panic!("{launch:?}") };
        assert!((extra - 20e-6).abs() < 1e-7, "{extra}");
        let range = |size| if (1 << 20..1 << 24).contains(&size) { 40.0 } else { 100.0 };
        let protocol = difference(&measured(|_| 10.0, range));
        let Difference::Protocol { from, to, furthest } = protocol else { panic!("{protocol:?}") };
        assert_eq!((from, to), (Bytes(1 << 20), Bytes(1 << 23)));
        assert!(furthest > 2.0);
        let everywhere = difference(&measured(|_| 30.0, |_| 100.0 / 3.0));
        let Difference::Everywhere { factor } = everywhere else { panic!("{everywhere:?}") };
        assert!((factor - 3.0).abs() < 1e-9);
        let mixed = difference(&measured(|_| 20.0, |_| 300.0));
        assert!(matches!(mixed, Difference::Mixed { .. }), "{mixed:?}");
        assert_eq!(difference(&[]), Difference::Unknown);
        let middle = [Compared { size: Bytes(1 << 20), measured: 2.0, expected: 1.0 }];
        assert_eq!(difference(&middle), Difference::Unknown);
    }

    proptest! {
        /// One sentence for whatever was measured, the same in any order.
        #[test]
        fn any_rows_have_one_sentence(rows in prop::collection::vec((0_u32..40, 0.01_f64..100.0), 0..20)) {
            let mut rows: Vec<Compared> = rows
                .into_iter()
                .map(|(power, ratio)| Compared { size: Bytes(1 << power), measured: ratio, expected: 1.0 })
                .collect();
            rows.sort_by_key(|row| (row.size, row.measured.to_bits()));
            rows.dedup_by_key(|row| row.size);
            let said = difference(&rows);
            let text = said.to_string();
            prop_assert!(text.ends_with('.') && text.chars().next().is_some_and(char::is_uppercase));
            rows.reverse();
            prop_assert_eq!(difference(&rows), said);
        }
    }
}
