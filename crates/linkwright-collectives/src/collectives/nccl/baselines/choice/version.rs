//! Names a release of NCCL, or of RCCL, as people and logs write it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

/// Names a release by its three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 2 of all that are known.
    pub major: u32,
    /// Numbers the series.
    pub minor: u32,
    /// Zero where it was not said.
    pub patch: u32,
}

impl Version {
    /// The newest of NCCL whose rules are known.
    pub const NEWEST: Self = Self::new(2, 30, 0);

    /// Makes a release from its three numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

/// A text that names no release.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct VersionError(pub String);

impl Diagnose for VersionError {
    fn diagnosis(&self) -> Diagnosis {
        let Self(name) = self;
        Diagnosis::of(format!("`{name}` is not a version of NCCL 2"))
            .remedy(format!("write it as 2.21.5 or as NCCL prints it, up to {}", Version::NEWEST))
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Reads `2.7.8`, `2.21`, `v2.21.5-1`, `2.21.5+cuda12.4`, `NCCL version 2.18.5` and the
    /// number of `ncclGetVersion` (`21805`; `2708` of 2.8 and older).
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let wrong = || VersionError(shortened(text));
        let words = text.split_whitespace().map(|word| word.trim_start_matches(['v', 'V']));
        let mut numbers =
            words.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        let word = numbers.next().ok_or_else(wrong)?;
        let end = word.find(['+', '-', '_', ',', ';', ')']).unwrap_or(word.len());
        let parts: Option<Vec<u32>> = word[..end].split('.').map(number).collect();
        let found = match parts.ok_or_else(wrong)?[..] {
            [code] => of_code(code).ok_or_else(wrong)?,
            [major, minor] => Self::new(major, minor, 0),
            [major, minor, patch] | [major, minor, patch, _] => Self::new(major, minor, patch),
            _ => return Err(wrong()),
        };
        if found.major == 2 { Ok(found) } else { Err(wrong()) }
    }
}

/// Reads a number without sign, at most four digits or a code of five.
fn number(part: &str) -> Option<u32> {
    let plain = !part.is_empty() && part.len() <= 5 && part.bytes().all(|it| it.is_ascii_digit());
    plain.then(|| part.parse().ok()).flatten()
}

/// Reads `NCCL_VERSION(X, Y, Z)`: its factors are 1000, 100 and 1 up to 2.8, then 10,000, 100 and
/// 1.
fn of_code(code: u32) -> Option<Version> {
    match code {
        2_000..=2_899 => Some(Version::new(2, code / 100 % 10, code % 100)),
        20_900..=29_999 => Some(Version::new(2, code / 100 % 100, code % 100)),
        _ => None,
    }
}

/// Returns the part of a text that an error shows.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_read_as_people_and_logs_write_them() {
        let known = [
            ("2.7.8", Version::new(2, 7, 8)),
            ("2.21.5+cuda12.4", Version::new(2, 21, 5)),
            ("NCCL version 2.18.5", Version::new(2, 18, 5)),
            ("NCCL version 2.18.5+cuda12.2", Version::new(2, 18, 5)),
            ("RCCL version : 2.22.3-HEAD:1234567", Version::new(2, 22, 3)),
            ("v2.28.3-1", Version::new(2, 28, 3)),
            ("2.30", Version::new(2, 30, 0)),
            ("2.4.8.1", Version::new(2, 4, 8)),
            ("2708", Version::new(2, 7, 8)),
            ("21805", Version::new(2, 18, 5)),
        ];
        for (text, version) in known {
            assert_eq!(text.parse(), Ok(version), "{text}");
        }
        for text in ["", "two", "2", "1.3.4", "3.0.0", "2.x", "2..5", "99999", "-2.7", "2.7.8.1.0"]
        {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(minor in 0u32..100, patch in 0u32..100) {
            let version = Version::new(2, minor, patch);
            prop_assert_eq!(version.to_string().parse(), Ok(version));
            prop_assert_eq!(format!("NCCL version {version}+cuda13.0").parse(), Ok(version));
        }

        #[test]
        fn no_text_is_more_than_refused(text in ".{0,80}") {
            if let Err(VersionError(shown)) = text.parse::<Version>() {
                prop_assert!(shown.chars().count() <= 63);
            }
        }
    }
}
