//! Random numbers by the Mersenne Twister, as Python's `random.Random` gives them.
//!
//! Comparisons drew seeds and jobs by it before the core did, and the same draws give the same bytes. Its source is
//! M. Matsumoto and T. Nishimura, "Mersenne Twister: A 623-dimensionally equidistributed uniform pseudorandom number
//! generator", ACM TOMACS 8, 1998, with the authors' seeding by an array of 2002. All else by chance takes
//! [`Random`](crate::engine::Random).

/// Its state has as many words.
const WORDS: usize = 624;
/// A word is mixed with the one that is so far from it.
const MIDDLE: usize = 397;

/// Gives random numbers.
pub(super) struct MersenneTwister {
    state: [u32; WORDS],
    next: usize,
}

impl MersenneTwister {
    /// Gives that of a seed.
    pub fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
        let mut state = [0; WORDS];
        state[0] = 19_650_218_u32;
        for at in 1..WORDS {
            state[at] = spread(state[at - 1], 1_812_433_253).wrapping_add(at as u32);
        }
        let (mut at, mut of_key) = (1, 0);
        let step = |state: &mut [u32; WORDS], at: &mut usize| {
            *at += 1;
            if *at == WORDS {
                state[0] = state[WORDS - 1];
                *at = 1;
            }
        };
        for _ in 0..WORDS {
            let word = state[at] ^ spread(state[at - 1], 1_664_525);
            state[at] = word.wrapping_add(key[of_key]).wrapping_add(of_key as u32);
            step(&mut state, &mut at);
            of_key = (of_key + 1) % key.len();
        }
        for _ in 1..WORDS {
            let word = state[at] ^ spread(state[at - 1], 1_566_083_941);
            state[at] = word.wrapping_sub(at as u32);
            step(&mut state, &mut at);
        }
        state[0] = 1 << 31;
        Self { state, next: WORDS }
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            for at in 0..WORDS {
                let joined = self.state[at] & (1 << 31) | self.state[(at + 1) % WORDS] & !(1 << 31);
                let twisted = (joined >> 1) ^ if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[at] = self.state[(at + MIDDLE) % WORDS] ^ twisted;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Gives an index below a count, each with the same chance.
    pub fn index(&mut self, count: usize) -> usize {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        let fraction = (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0;
        (fraction * count as f64) as usize
    }
}

const fn spread(word: u32, factor: u32) -> u32 {
    (word ^ (word >> 30)).wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_python() {
        // `Random(seed).choices(range(1000), k=5)` in Python 3.11.
        let drawn = [
            (0, [844, 757, 420, 258, 511]),
            (5, [622, 741, 795, 942, 739]),
            (20, [905, 686, 766, 904, 259]),
            (1_099_511_627_779, [219, 549, 94, 981, 902]),
        ];
        for (seed, drawn) in drawn {
            let mut random = MersenneTwister::new(seed);
            assert_eq!([(); 5].map(|()| random.index(1000)), drawn, "seed {seed}");
        }
        // The 10,000th, behind several states.
        let mut random = MersenneTwister::new(7);
        assert_eq!((0..10_000).map(|_| random.index(1000)).last(), Some(231));
    }
}
