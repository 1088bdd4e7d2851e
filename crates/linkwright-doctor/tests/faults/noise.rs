//! Makes noise of measurements from a seed.

/// Draws numbers: `SplitMix64` of Steele, Lea and Flood (OOPSLA 2014).
pub struct Noise(pub u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Gives a number from 0 up to 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A factor around one: the logarithm is normal, with this deviation.
    pub fn factor(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.part()).sum();
        ((sum - 6.0) * deviation).exp()
    }
}
