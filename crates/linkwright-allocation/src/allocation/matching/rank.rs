//! The order of matches: a primary score, then aggregated bandwidth.

/// Holds a primary score, known by its order alone, so that bandwidths compare as integers and
/// predictions as floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Primary(u64);

impl Primary {
    /// Where matches differ in their aggregated bandwidth only.
    pub const NONE: Self = Self(0);

    /// Makes the score of a bandwidth in bytes per second.
    #[must_use]
    pub const fn of_bandwidth(bytes_per_second: u64) -> Self {
        Self(bytes_per_second)
    }

    /// A prediction in GB/s, of either sign; ordered as [`f64::total_cmp`] does.
    #[must_use]
    #[inline]
    pub const fn of_prediction(value: f64) -> Self {
        let bits = value.to_bits();
        // Negative floats have larger bits the farther they are from zero.
        if bits >> 63 == 1 { Self(!bits) } else { Self(bits | 1 << 63) }
    }

    /// The bandwidth, where it was made of one.
    #[must_use]
    pub const fn bandwidth(self) -> u64 {
        self.0
    }

    /// The prediction, where it was made of one.
    #[must_use]
    pub const fn prediction(self) -> f64 {
        f64::from_bits(if self.0 >> 63 == 1 { self.0 & !(1 << 63) } else { !self.0 })
    }
}

/// Holds the scores that matches are ranked by, before the lowest ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Rank {
    /// The score that the objective asks for.
    pub primary: Primary,
    /// Gives the bandwidth of Eq. 1, bytes per second.
    pub aggregated: u64,
}

/// Names the rank that a match needs to be of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// Asks for nothing.
    Anything,
    /// This rank or a better one: it would win the tie.
    AtLeast(Rank),
    /// Asks for a better rank than this.
    Above(Rank),
}

impl Floor {
    /// Whether a match of that rank is of interest.
    #[must_use]
    #[inline]
    pub fn admits(self, rank: Rank) -> bool {
        match self {
            Self::Anything => true,
            Self::AtLeast(floor) => rank >= floor,
            Self::Above(floor) => rank > floor,
        }
    }

    /// Whether all ranks that it admits are admitted by another.
    #[must_use]
    pub fn admits_no_more_than(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Anything) => true,
            (Self::Anything, _) => false,
            (Self::AtLeast(floor), Self::Above(known)) => floor > known,
            (
                Self::AtLeast(floor) | Self::Above(floor),
                Self::AtLeast(known) | Self::Above(known),
            ) => floor >= known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_floor_admits_no_more_than_one_that_admits_all_it_does() {
        let rank = |aggregated| Rank { aggregated, ..Rank::default() };
        let above = |it| [Floor::AtLeast(rank(it)), Floor::Above(rank(it))];
        let floors = || (0..4).flat_map(above).chain([Floor::Anything]);
        for (one, other) in floors().flat_map(|one| floors().map(move |other| (one, other))) {
            let whole = (0..6).all(|it| !one.admits(rank(it)) || other.admits(rank(it)));
            if one.admits_no_more_than(other) {
                assert!(whole, "{one:?} {other:?}");
            }
        }
        assert!(Floor::Above(rank(2)).admits_no_more_than(Floor::AtLeast(rank(2))));
        assert!(!Floor::AtLeast(rank(2)).admits_no_more_than(Floor::Above(rank(2))));
    }

    proptest! {
        #[test]
        fn predictions_keep_their_order(a: f64, b: f64) {
            let by_rank = Primary::of_prediction(a).cmp(&Primary::of_prediction(b));
            prop_assert_eq!(by_rank, a.total_cmp(&b));
            prop_assert_eq!(Primary::of_prediction(a).prediction().to_bits(), a.to_bits());
        }
    }
}
