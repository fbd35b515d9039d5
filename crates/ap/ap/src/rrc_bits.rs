//! Unaligned PER of RRC messages (X.691), and the errors of reading and writing them.

use std::fmt;

/// Why a message cannot be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcError {
    /// A value is out of range: misuse.
    OutOfRange(&'static str),
    /// The message ends too early.
    Truncated,
    /// It is another message, or has parts that are not supported.
    Unsupported(&'static str),
}

impl fmt::Display for RrcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RrcError::OutOfRange(what) => write!(f, "{what} is out of range"),
            RrcError::Truncated => f.write_str("message is truncated"),
            RrcError::Unsupported(what) => write!(f, "{what} is not supported"),
        }
    }
}

impl std::error::Error for RrcError {}

/// A writer of bits.
#[derive(Default)]
pub(crate) struct Bits {
    pub octets: Vec<u8>,
    used: usize,
}

impl Bits {
    pub fn push(&mut self, value: u32, count: usize) {
        for bit in (0..count).rev() {
            if self.used.is_multiple_of(8) {
                self.octets.push(0);
            }
            if let Some(last) = self.octets.last_mut() {
                *last |= ((value >> bit & 1) as u8) << (7 - self.used % 8);
            }
            self.used += 1;
        }
    }

    /// An open type of at most 127 octets.
    #[cfg(any(feature = "lte-rrc", feature = "nr-rrc"))]
    pub fn push_open(&mut self, content: Bits) -> Result<(), RrcError> {
        let length = u32::try_from(content.octets.len()).ok().filter(|length| *length < 128);
        self.push(length.ok_or(RrcError::OutOfRange("the length of a list"))?, 8);
        content.octets.iter().for_each(|octet| self.push((*octet).into(), 8));
        Ok(())
    }
}

/// A reader of bits.
#[derive(Clone, Copy)]
pub(crate) struct BitReader<'o> {
    pub octets: &'o [u8],
    pub at: usize,
}

impl BitReader<'_> {
    pub fn take(&mut self, count: usize) -> Result<u32, RrcError> {
        let mut value = 0;
        for _ in 0..count {
            let octet = self.octets.get(self.at / 8).ok_or(RrcError::Truncated)?;
            value = value << 1 | u32::from(octet >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Ok(value)
    }

    pub fn flag(&mut self) -> Result<bool, RrcError> {
        Ok(self.take(1)? == 1)
    }

    pub fn expect_zero(&mut self, count: usize, what: &'static str) -> Result<(), RrcError> {
        if self.take(count)? == 0 { Ok(()) } else { Err(RrcError::Unsupported(what)) }
    }

    /// Reads the length of an open type of at most 16,383 octets.
    pub fn open_length(&mut self) -> Result<usize, RrcError> {
        if !self.flag()? {
            return Ok(self.take(7)? as usize);
        }
        self.expect_zero(1, "a fragmented part")?;
        Ok(self.take(14)? as usize)
    }

    /// Reads over the extensions of a sequence (X.691 19.7 to 19.9).
    pub fn skip_extensions(&mut self) -> Result<(), RrcError> {
        self.expect_zero(1, "more than 64 extensions")?;
        let count = self.take(6)? as usize + 1;
        let mut present = 0;
        for _ in 0..count {
            present += self.take(1)?;
        }
        for _ in 0..present {
            let octets = self.open_length()?;
            self.at += 8 * octets;
        }
        if self.at > 8 * self.octets.len() { Err(RrcError::Truncated) } else { Ok(()) }
    }
}
