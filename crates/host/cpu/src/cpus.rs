//! Sets of CPUs, and the two notations that the kernel has for them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// CPUs have numbers below this one: the kernel's own bound on most architectures is lower or equal.
pub const MAX_CPUS: usize = 1024;

/// A set of CPUs by number. Its text is the kernel's list notation, such as `0-3,8`; the empty set is the empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cpus(BTreeSet<usize>);

/// Why a text is no set of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpusError(String);

impl fmt::Display for CpusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.escape_debug();
        write!(f, "`{text}` is no list of CPUs from 0 to {}, such as 0-3,8", MAX_CPUS - 1)
    }
}

impl std::error::Error for CpusError {}

impl Cpus {
    /// The number of CPUs in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no CPU is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a CPU is in the set.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Cpus) -> Cpus {
        Cpus(self.0.difference(&other.0).copied().collect())
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn common(&self, other: &Cpus) -> Cpus {
        Cpus(self.0.intersection(&other.0).copied().collect())
    }

    /// The CPUs that are in one of the sets.
    #[must_use]
    pub fn with(&self, other: &Cpus) -> Cpus {
        Cpus(self.0.union(&other.0).copied().collect())
    }

    /// The last CPU as a set; empty for an empty set.
    #[must_use]
    pub fn last(&self) -> Cpus {
        self.0.last().copied().into_iter().collect()
    }

    /// The notation of files such as `rps_cpus`: hexadecimal words of 32 bits, separated by commas, the last CPUs first.
    #[must_use]
    pub fn mask(&self) -> String {
        let words = 1 + self.0.last().map_or(0, |last| last / 32);
        let word =
            |index: usize| self.iter().filter(|cpu| cpu / 32 == index).fold(0_u32, |word, cpu| word | 1 << (cpu % 32));
        let mut text = format!("{:x}", word(words - 1));
        for index in (0..words - 1).rev() {
            text += &format!(",{:08x}", word(index));
        }
        text
    }

    /// Reads the notation of [`Cpus::mask`].
    ///
    /// # Errors
    /// If the text is no mask, or has more than [`MAX_CPUS`] CPUs.
    pub fn from_mask(text: &str) -> Result<Cpus, CpusError> {
        let error = || CpusError(text.to_owned());
        let mut cpus = Cpus::default();
        for (index, word) in text.trim().rsplit(',').enumerate() {
            let word = u32::from_str_radix(word, 16).map_err(|_| error())?;
            for bit in (0..32).filter(|bit| word >> bit & 1 == 1) {
                let cpu = index * 32 + bit;
                if cpu >= MAX_CPUS {
                    return Err(error());
                }
                cpus.0.insert(cpu);
            }
        }
        Ok(cpus)
    }
}

impl FromIterator<usize> for Cpus {
    /// CPUs from [`MAX_CPUS`] on are left out.
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Cpus {
        Cpus(cpus.into_iter().filter(|cpu| *cpu < MAX_CPUS).collect())
    }
}

impl FromStr for Cpus {
    type Err = CpusError;

    fn from_str(text: &str) -> Result<Cpus, CpusError> {
        let error = || CpusError(text.to_owned());
        let number = |text: &str| text.parse::<usize>().ok().filter(|cpu| *cpu < MAX_CPUS).ok_or_else(error);
        let mut cpus = BTreeSet::new();
        let text = text.trim();
        for range in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(error());
            }
            cpus.extend(first..=last);
        }
        Ok(Cpus(cpus))
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut rest = self.iter().peekable();
        while let Some(first) = rest.next() {
            let mut last = first;
            while rest.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{separator}{first}")?
            } else {
                write!(f, "{separator}{first}-{last}")?
            }
            separator = ",";
        }
        Ok(())
    }
}

impl From<Cpus> for String {
    fn from(cpus: Cpus) -> String {
        cpus.to_string()
    }
}

impl TryFrom<String> for Cpus {
    type Error = CpusError;

    fn try_from(text: String) -> Result<Cpus, CpusError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> Cpus {
        text.parse().unwrap()
    }

    #[test]
    fn list_is_read_and_written() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-7,1023"] {
            assert_eq!(cpus(text).to_string(), text);
        }
        assert_eq!(cpus("3,1,2\n").to_string(), "1-3");
        for bad in ["a", "1-", "-1", "3-1", "1024", "0-1024", "1,,2", "1 2", "99999999999999999999"] {
            assert!(bad.parse::<Cpus>().is_err(), "{bad}");
        }
    }

    #[test]
    fn mask_is_read_and_written() {
        for (list, mask) in
            [("", "0"), ("0-1", "3"), ("4-7", "f0"), ("0,32", "1,00000001"), ("95", "80000000,00000000,00000000")]
        {
            assert_eq!(cpus(list).mask(), mask);
            assert_eq!(Cpus::from_mask(mask).unwrap(), cpus(list));
        }
        assert!(Cpus::from_mask("x").is_err());
        assert!(Cpus::from_mask("1,".repeat(33).trim_end_matches(',')).is_err());
    }
}
