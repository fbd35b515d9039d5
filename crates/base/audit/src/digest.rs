//! SHA-256.

use std::fmt;
use std::str::FromStr;

/// The SHA-256 of some octets, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// What the first line of a log has as the hash of the line before.
    pub const NONE: Digest = Digest([0; 32]);
}

/// Returns the SHA-256 of octets.
#[must_use]
pub fn digest(octets: &[u8]) -> Digest {
    let digest = ring::digest::digest(&ring::digest::SHA256, octets);
    let mut out = Digest::NONE;
    out.0.copy_from_slice(digest.as_ref());
    out
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NotADigest);
        }
        let mut out = Digest::NONE;
        for (octet, pair) in out.0.iter_mut().zip(text.as_bytes().chunks(2)) {
            let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
            *octet = value(pair[0]) << 4 | value(pair[1]);
        }
        Ok(out)
    }
}
