//! Gives random numbers that a seed fixes for good.
//!
//! The words come from ChaCha with eight rounds, a published cipher whose output no library may
//! change. Everything built on the words (the seeding, bounded integers, choices, variates) is
//! written here with integers alone. So a new version of a library or another machine's
//! mathematical functions cannot change a result.

use std::num::NonZeroU64;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::units::Picoseconds;

/// Spreads every bit of a word over all, by the last steps of SplitMix64: G. Steele, D. Lea and
/// C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#[must_use]
pub const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Gives random numbers from a seed.
///
/// ```
/// use linkwright_ground::engine::Random;
///
/// let mut random = Random::new(7);
/// let policy = random.choose(&["greedy", "preserve"]);
/// assert_eq!(policy, Random::new(7).choose(&["greedy", "preserve"]));
/// ```
#[derive(Debug, Clone)]
pub struct Random {
    words: ChaCha8Rng,
}

impl Random {
    /// Makes the generator of a seed, the same as stream 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::stream(seed, 0)
    }

    /// Makes one of a seed's independent streams, so that drawing more numbers for one purpose
    /// changes nothing in another.
    #[must_use]
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut words = ChaCha8Rng::from_seed(key);
        words.set_stream(stream);
        Self { words }
    }

    /// Returns a uniform integer below the bound, without bias.
    ///
    /// This is Lemire's method ("Fast random integer generation in an interval", ACM TOMACS 29,
    /// 2019). A few products have a low word that would favour small results. Once they are drawn
    /// again, the high word of a product is uniform.
    pub fn below(&mut self, bound: NonZeroU64) -> u64 {
        let bound = bound.get();
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.words.next_u64()) * u128::from(bound);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }

    /// One of the items, each with the same chance; `None` where there is none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let bound = NonZeroU64::new(items.len() as u64)?;
        items.get(self.below(bound) as usize)
    }

    /// Returns a uniform number from 0 (possible) to 1 (impossible), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.words.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a span of time from the exponential distribution of the given mean: the gap between
    /// two arrivals that know nothing of each other.
    ///
    /// Von Neumann's method of comparisons ("Various techniques used in connection with
    /// random digits", 1951): it needs no logarithm, whose last digit differs between
    /// machines. Takes 4.3 draws on average. Saturates at the largest time.
    pub fn exponential(&mut self, mean: Picoseconds) -> Picoseconds {
        let mut whole = 0_u64;
        loop {
            let first = self.words.next_u64();
            let mut last = first;
            let mut descending = 1_u64;
            loop {
                let next = self.words.next_u64();
                if next >= last {
                    break;
                }
                last = next;
                descending += 1;
            }
            if descending % 2 == 1 {
                let fraction = (u128::from(mean.0) * u128::from(first)) >> 64;
                let span = u128::from(mean.0) * u128::from(whole) + fraction;
                return Picoseconds(u64::try_from(span).unwrap_or(u64::MAX));
            }
            whole += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound(value: u64) -> NonZeroU64 {
        NonZeroU64::new(value).unwrap()
    }

    /// These values are for good: a change here changes the results of everyone's seeds.
    /// They were computed once from the definition of the cipher by another program.
    #[test]
    fn seed_seven_gives_these_values() {
        let mut random = Random::new(7);
        let below: Vec<u64> = (0..8).map(|_| random.below(bound(100))).collect();
        assert_eq!(below, [76, 46, 0, 30, 38, 33, 35, 19]);
        assert_eq!(random.below(bound(u64::MAX)), 11_152_950_903_118_102_348);
        assert_eq!(random.choose(&['a', 'b', 'c']), Some(&'c'));
        assert_eq!(random.uniform(), 0.614_765_575_798_053);
        let spans: Vec<u64> = (0..4).map(|_| random.exponential(Picoseconds::SECOND).0).collect();
        assert_eq!(spans, [650_451_331_159, 595_475_832_287, 1_710_037_489_426, 4_911_394_062]);
        assert_eq!(Random::stream(7, 1).below(bound(u64::MAX)), 17_236_010_905_523_606_669);
    }

    #[test]
    fn the_distributions_have_their_means() {
        let mut random = Random::new(1);
        let draws = 200_000;
        let mut counts = [0_u32; 5];
        for _ in 0..draws {
            counts[random.below(bound(5)) as usize] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(40_000) < 800), "{counts:?}");
        let mean = (0..draws).map(|_| random.uniform()).sum::<f64>() / f64::from(draws);
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        let spans: Vec<f64> =
            (0..draws).map(|_| random.exponential(Picoseconds::SECOND).as_seconds()).collect();
        let mean = spans.iter().sum::<f64>() / f64::from(draws);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let longer_than_two = spans.iter().filter(|span| **span > 2.0).count() as f64;
        let share = longer_than_two / f64::from(draws);
        assert!((share - (-2.0_f64).exp()).abs() < 0.004, "{share}");
    }

    #[test]
    fn nothing_overflows() {
        let mut random = Random::new(3);
        let empty: [u8; 0] = [];
        assert_eq!(random.choose(&empty), None);
        for _ in 0..1000 {
            random.exponential(Picoseconds(u64::MAX));
            assert_eq!(random.exponential(Picoseconds(0)), Picoseconds(0));
        }
    }

    proptest! {
        #[test]
        fn below_is_below(seed: u64, limit in 1_u64..) {
            let mut random = Random::new(seed);
            for _ in 0..10 {
                prop_assert!(random.below(bound(limit)) < limit);
                prop_assert!((0.0..1.0).contains(&random.uniform()));
            }
        }
    }
}
