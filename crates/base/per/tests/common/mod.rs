//! Shared test support: types with every construct, a generator of random numbers, and values as JSON.

#![allow(dead_code, missing_docs)] // each test uses a part; the types are named after their constraint

pub mod json;
pub mod types;

use per::{Decode, Encode, Error, ErrorKind, Heap, Reader, Writer};

/// xorshift64*: the same numbers for the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number in `0..below`.
    pub fn below(&mut self, below: usize) -> usize {
        (self.next() % below as u64) as usize
    }

    pub fn chance(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    /// A number in `lo..=hi`, often near a bound or a power of two away from one.
    pub fn integer(&mut self, lo: i64, hi: i64) -> i64 {
        let range = hi.wrapping_sub(lo) as u64;
        let distance = match self.below(3) {
            0 => self.next(),
            1 => 1u64 << self.below(64),
            _ => (1u64 << self.below(64)).wrapping_sub(1),
        };
        let distance = if range == u64::MAX { distance } else { distance % (range + 1) };
        if self.chance() { lo.wrapping_add(distance as i64) } else { hi.wrapping_sub(distance as i64) }
    }

    pub fn octets(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Encodes `value` after `phase` bits and before one bit; all of them are ones.
pub fn encode_at(phase: u32, value: &(impl Encode + ?Sized)) -> Result<Vec<u8>, Error> {
    encode_with(phase, |writer| value.encode(writer))
}

/// As [`encode_at`], with a closure in place of a value.
pub fn encode_with(phase: u32, write: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, 0);
    writer.bits((1 << phase) - 1, phase);
    write(&mut writer)?;
    writer.bit(true);
    Ok(out)
}

/// Decodes the octets of [`encode_at`].
pub fn decode_at<'a, T: Decode<'a, Heap<'a>>>(phase: u32, bytes: &'a [u8], store: Heap<'a>) -> Result<T, Error> {
    let mut reader = Reader::with_store(bytes, 0, store);
    assert_eq!(reader.bits(phase)?, (1 << phase) - 1);
    let value = T::decode(&mut reader)?;
    // the bit after the value
    if !reader.bit()? {
        return Err(reader.error(ErrorKind::TrailingOctets));
    }
    reader.finish()?;
    Ok(value)
}
