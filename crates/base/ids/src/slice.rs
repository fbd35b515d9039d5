//! Network slices.

use core::fmt;
use core::str::FromStr;

use per::Per;

/// SST: a slice/service type (TS 23.501 5.15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct Sst(pub [u8; 1]);

/// SD: a slice differentiator (TS 23.501 5.15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct Sd(pub [u8; 3]);

/// S-NSSAI: a network slice (TS 23.501 5.15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct SNssai {
    /// The slice/service type.
    pub sst: Sst,
    /// The slice among those of the type.
    pub sd: Option<Sd>,
}

impl SNssai {
    /// Whether another slice is this one, or one of its type if this one has no SD.
    #[must_use]
    pub fn includes(&self, other: &SNssai) -> bool {
        self.sst == other.sst && (self.sd.is_none() || self.sd == other.sd)
    }
}

/// SST in decimal; with an SD also a hyphen and six hexadecimal digits.
impl fmt::Display for SNssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sst.0[0])?;
        self.sd.map_or(Ok(()), |Sd([a, b, c])| write!(f, "-{a:02x}{b:02x}{c:02x}"))
    }
}

/// A text that is not an S-NSSAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSNssai;

impl fmt::Display for InvalidSNssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an S-NSSAI is SST, or SST-SD with an SD of six hexadecimal digits, such as 1 or 1-00000a")
    }
}

impl core::error::Error for InvalidSNssai {}

/// As displayed:
///
/// ```
/// use ids::{SNssai, Sd, Sst};
///
/// let slice = SNssai { sst: Sst([1]), sd: Some(Sd([0, 0, 10])) };
/// assert_eq!("1-00000a".parse(), Ok(slice));
/// assert_eq!(slice.to_string(), "1-00000a");
/// assert!("256".parse::<SNssai>().is_err());
/// ```
impl FromStr for SNssai {
    type Err = InvalidSNssai;

    fn from_str(text: &str) -> Result<Self, InvalidSNssai> {
        let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
        let is_number = !sst.is_empty() && sst.bytes().all(|digit| digit.is_ascii_digit());
        let sst = sst.parse().ok().filter(|_| is_number).ok_or(InvalidSNssai)?;
        let sd = match sd {
            None => None,
            Some(sd) if sd.len() == 6 && sd.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                let [_, a, b, c] = u32::from_str_radix(sd, 16).map_err(|_| InvalidSNssai)?.to_be_bytes();
                Some(Sd([a, b, c]))
            }
            Some(_) => return Err(InvalidSNssai),
        };
        Ok(SNssai { sst: Sst([sst]), sd })
    }
}
