//! Reproducible random numbers.

/// A source of choices.
#[derive(Clone)]
pub struct Random(Source);

#[derive(Clone)]
enum Source {
    /// xorshift64*.
    Seeded(u64),
    /// A fuzzer's octets, the next one last. When they are used up, every choice is the first.
    Octets(Vec<u8>),
}

impl Random {
    pub fn new(seed: u64) -> Self {
        // consecutive seeds give different sequences, and no state is zero
        Random(Source::Seeded(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    pub fn from_octets(octets: &[u8]) -> Self {
        Random(Source::Octets(octets.iter().rev().copied().collect()))
    }

    /// Whether a fuzzer's octets are used up.
    pub fn is_used_up(&self) -> bool {
        matches!(&self.0, Source::Octets(octets) if octets.is_empty())
    }

    pub fn next(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seeded(state) => {
                *state ^= *state >> 12;
                *state ^= *state << 25;
                *state ^= *state >> 27;
                state.wrapping_mul(0x2545_F491_4F6C_DD1D)
            }
            Source::Octets(octets) => (0..8).fold(0, |number, _| number << 8 | u64::from(octets.pop().unwrap_or(0))),
        }
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        match &mut self.0 {
            Source::Seeded(_) => (((self.next() >> 32) * end as u64) >> 32) as usize,
            // uses as few octets as possible, so that a fuzzer finds the effect of each
            Source::Octets(_) if end < 2 => 0,
            Source::Octets(octets) if end <= 256 => usize::from(octets.pop().unwrap_or(0)) % end,
            Source::Octets(octets) => {
                usize::from(u16::from_be_bytes([octets.pop().unwrap_or(0), octets.pop().unwrap_or(0)])) % end
            }
        }
    }

    /// Returns true once in `n` calls on average.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'s, T>(&mut self, of: &'s [T]) -> &'s T {
        &of[self.below(of.len())]
    }
}
