//! Counts logical time: leases, and the overflow of a timestamp's bits.
//!
//! Caches and homes store timestamps of few bits (16 in the dissertation), which overflow. So a
//! logical time is an epoch above and a timestamp below. A cache or controller keeps its epoch
//! once, its lines' timestamps are of that epoch, and messages carry both. A cache or controller
//! that learns of a later epoch moves there. It drops its state of earlier ones, whose leases have
//! all ended. A lease never reaches into another epoch: where it would not end in this one, it
//! starts in the next.
//!
//! An epoch has 24 bits here, so that no run uses them up. Hardware would send one byte of it, and
//! let nobody fall 128 epochs behind. For this it would announce the epoch to all caches each 64
//! epochs. That is after a million accesses to one controller at the least, and is left out here.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

/// How long copies may be read in logical time, and how many bits a timestamp has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leases {
    pub(super) read: u16,
    pub(super) write: u16,
    pub(super) bits: u8,
}

/// Why a protocol cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ProtocolError {
    /// Refuses a lease of no length.
    NoLease {
        /// Names the setting.
        what: &'static str,
        /// Gives the lease.
        lease: i128,
    },
    /// Refuses a timestamp of too few or too many bits.
    Width {
        /// Counts the bits.
        bits: i128,
    },
    /// A lease that no timestamp can hold.
    LongLease {
        /// Names the setting.
        what: &'static str,
        /// Gives the lease.
        lease: i128,
        /// Gives the longest one.
        most: u16,
    },
}

impl Diagnose for ProtocolError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoLease { what, lease } => {
                Diagnosis::of(format!("{what} cannot be {lease}, since no copy could be read"))
                    .remedy("give 1 or more")
            }
            Self::Width { bits } => Diagnosis::of(format!("a timestamp cannot have {bits} bits"))
                .remedy("use 2 to 16 bits"),
            Self::LongLease { what, lease, most } => {
                Diagnosis::of(format!("{what} is {lease}, which a timestamp cannot hold"))
                    .remedy(format!("use at most {most}"))
            }
        }
    }
}

impl Default for Leases {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

impl Leases {
    /// Holds the values of section 4.4.2 of the dissertation: read leases of 10, write leases of 5,
    /// 16 bits.
    pub const PUBLISHED: Self = Self { read: 10, write: 5, bits: 16 };

    /// Makes leases of these lengths, in timestamps of `bits` bits.
    ///
    /// # Errors
    /// When a lease is 0 or too long for the bits, or the bits are not from 2 to 16.
    pub fn new(read: i128, write: i128, bits: i128) -> Result<Self, ProtocolError> {
        if !(2..=16).contains(&bits) {
            return Err(ProtocolError::Width { bits });
        }
        let bits = bits as u8;
        let most = ((1_u32 << bits) - 1) as u16;
        for (what, lease) in [("the read lease", read), ("the write lease", write)] {
            if lease < 1 {
                return Err(ProtocolError::NoLease { what, lease });
            }
            if lease > i128::from(most) {
                return Err(ProtocolError::LongLease { what, lease, most });
            }
        }
        // Neither is more than `most`.
        Ok(Self { read: read as u16, write: write as u16, bits })
    }

    /// Returns the last timestamp.
    #[inline]
    pub(super) const fn last(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Returns the epoch of a time.
    #[inline]
    pub(super) const fn epoch(self, time: u64) -> u32 {
        (time >> self.bits) as u32
    }

    /// Returns the first time of an epoch.
    #[inline]
    pub(super) const fn start(self, epoch: u32) -> u64 {
        (epoch as u64) << self.bits
    }

    /// Returns the timestamp of a time within its epoch.
    #[inline]
    pub(super) const fn stamp(self, time: u64) -> u16 {
        (time & ((1 << self.bits) - 1)) as u16
    }

    /// Where a lease starts that should start at a time: there, unless it would not end in the
    /// epoch.
    #[inline]
    pub(super) const fn fit(self, time: u64, lease: u16) -> u64 {
        let end = self.epoch(time + lease as u64);
        if end == self.epoch(time) { time } else { self.start(end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_of_nothing_and_one_that_does_not_fit_are_refused() {
        let problem = |read, write, bits| Leases::new(read, write, bits).unwrap_err().to_string();
        assert_eq!(
            problem(0, 5, 16),
            "the read lease cannot be 0, since no copy could be read; give 1 or more"
        );
        assert_eq!(
            problem(1, 0, 16),
            "the write lease cannot be 0, since no copy could be read; give 1 or more"
        );
        assert_eq!(problem(1, 1, 0), "a timestamp cannot have 0 bits; use 2 to 16 bits");
        assert_eq!(
            problem(10, 5, 3),
            "the read lease is 10, which a timestamp cannot hold; use at most 7"
        );
        assert_eq!(Leases::new(10, 5, 16), Ok(Leases::default()));
    }

    #[test]
    fn a_lease_that_would_not_end_starts_in_the_next_epoch() {
        let leases = Leases::new(2, 1, 3).unwrap();
        assert_eq!(leases.fit(5, 2), 5);
        assert_eq!(leases.fit(6, 2), 8);
        assert_eq!((leases.epoch(13), leases.stamp(13), leases.start(1)), (1, 5, 8));
    }
}
