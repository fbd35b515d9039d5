//! The PLMN identity.

use core::fmt;
use core::str::FromStr;

use per::Per;

/// PLMN Identity: the country and network codes of a network, two digits an octet (TS 38.413 9.3.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct PlmnIdentity(pub [u8; 3]);

impl PlmnIdentity {
    /// The identity with a mobile country code and a mobile network code of two or three digits.
    ///
    /// ```
    /// use ids::PlmnIdentity;
    ///
    /// assert_eq!(PlmnIdentity::from_codes(1, 1, 2).0, [0x00, 0xF1, 0x10]);
    /// assert_eq!(PlmnIdentity::from_codes(310, 410, 3).to_string(), "310410");
    /// assert_eq!("310410".parse(), Ok(PlmnIdentity::from_codes(310, 410, 3)));
    /// ```
    #[must_use]
    pub const fn from_codes(mcc: u16, mnc: u16, mnc_digits: u8) -> Self {
        let (a, b, c) = (mcc / 100 % 10, mcc / 10 % 10, mcc % 10);
        let (x, y, z) =
            if mnc_digits == 2 { (mnc / 10 % 10, mnc % 10, 0xF) } else { (mnc / 100 % 10, mnc / 10 % 10, mnc % 10) };
        PlmnIdentity([(b << 4 | a) as u8, (z << 4 | c) as u8, (y << 4 | x) as u8])
    }
}

/// The digits of both codes, five or six of them.
impl fmt::Display for PlmnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ab, zc, yx] = self.0;
        for digit in [ab & 15, ab >> 4, zc & 15, yx & 15, yx >> 4, zc >> 4] {
            if digit < 10 {
                write!(f, "{digit}")?;
            }
        }
        Ok(())
    }
}

/// The digits of both codes: three, then two or three.
impl FromStr for PlmnIdentity {
    type Err = InvalidPlmn;

    fn from_str(digits: &str) -> Result<Self, InvalidPlmn> {
        if !matches!(digits.len(), 5 | 6) || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(InvalidPlmn);
        }
        let (mcc, mnc) = digits.split_at(3);
        match (mcc.parse(), mnc.parse()) {
            (Ok(mcc), Ok(mnc_value)) => Ok(PlmnIdentity::from_codes(mcc, mnc_value, mnc.len() as u8)),
            _ => Err(InvalidPlmn),
        }
    }
}

/// A text that is not a PLMN identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPlmn;

impl fmt::Display for InvalidPlmn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a PLMN identity has five or six digits")
    }
}

impl core::error::Error for InvalidPlmn {}

impl fmt::Debug for PlmnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_parsed_and_printed() {
        for digits in ["00101", "310410", "99970", "001001"] {
            assert_eq!(digits.parse::<PlmnIdentity>().unwrap().to_string(), digits);
        }
        for text in ["", "0010", "0010a", "0010010", "+0101", "00 01"] {
            assert_eq!(text.parse::<PlmnIdentity>(), Err(InvalidPlmn), "{text}");
        }
    }
}
