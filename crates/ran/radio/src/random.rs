//! The pseudo-random number generator: xoshiro256++ (Blackman and Vigna), seeded by splitmix64 (Steele, Lea and Flood). Both
//! are in the public domain and give the same numbers on every machine.

/// A pseudo-random number stream.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// Creates one of the independent streams of a seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut state = seed;
        state = split_mix(&mut state) ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03);
        Random([(); 4].map(|()| split_mix(&mut state)))
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Approximately normal with mean 0 and variance 1, bounded by 3.5: the sum of four uniform numbers.
    pub fn normal(&mut self) -> f64 {
        let bits = self.next_u64();
        // two sums of two pieces each, side by side
        const PIECES: u64 = 0x0000_FFFF_0000_FFFF;
        let pairs = (bits & PIECES) + (bits >> 16 & PIECES);
        let sum = (pairs & 0xFFFF_FFFF) + (pairs >> 32);
        // each piece has mean 65535/2 and variance (65536² - 1)/12
        (sum as f64 - 131_070.0) * (3.0_f64.sqrt() / 65_536.0)
    }

    /// Exponential with a mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_match_published_values() {
        let mut state = 1_234_567;
        assert_eq!(split_mix(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut state), 3_203_168_211_198_807_973);
        let mut random = Random([1, 2, 3, 4]);
        assert_eq!([(); 3].map(|()| random.next_u64()), [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn distributions_have_stated_moments() {
        let mut random = Random::new(7, 0);
        let n = 100_000;
        let (mut sum, mut squares, mut exponential) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let normal = random.normal();
            sum += normal;
            squares += normal * normal;
            exponential += random.exponential(5.0);
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.02, "{}", sum / n);
        assert!((squares / n - 1.0).abs() < 0.02, "{}", squares / n);
        assert!((exponential / n - 5.0).abs() < 0.1, "{}", exponential / n);
        assert_ne!(Random::new(7, 0).next_u64(), Random::new(7, 1).next_u64());
        assert_ne!(Random::new(7, 0).next_u64(), Random::new(8, 0).next_u64());
    }
}
