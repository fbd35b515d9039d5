//! Protocol IEs whose values are numbers.

use per::Reader;

/// A protocol IE whose type is INTEGER or ENUMERATED in every message of its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumericIe {
    /// The IE's id.
    pub id: u16,
    /// The type of its value.
    pub value_type: NumericType,
}

/// A type whose values are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericType {
    /// INTEGER.
    Integer {
        /// The lower bound.
        lo: i64,
        /// The upper bound.
        hi: i64,
        /// Whether values beyond the bounds are allowed.
        is_extensible: bool,
    },
    /// ENUMERATED.
    Enumerated {
        /// The values before the extension marker; those behind it are numbered from here on.
        values: u16,
        /// Whether there is an extension marker.
        is_extensible: bool,
    },
}

impl NumericIe {
    /// Finds an IE by its id in a table that is sorted by id.
    #[must_use]
    pub fn find(table: &[NumericIe], id: u16) -> Option<NumericIe> {
        table.binary_search_by_key(&id, |ie| ie.id).ok().map(|at| table[at])
    }

    /// Reads the IE's value; `None` if the octets are not of its type.
    #[must_use]
    pub fn read(self, octets: &[u8]) -> Option<i64> {
        self.value_type.read(octets)
    }
}

impl NumericType {
    /// Reads a value; `None` if the octets are not of this type.
    #[must_use]
    pub fn read(self, octets: &[u8]) -> Option<i64> {
        // an open type has at least one octet (X.691 11.1.3), even if its type has a single value
        if octets.is_empty() {
            return None;
        }
        let mut reader = Reader::new(octets, 0);
        let value = self.value(&mut reader).ok()?;
        reader.finish().ok()?;
        Some(value)
    }

    fn value(self, reader: &mut Reader<'_>) -> Result<i64, per::Error> {
        let (lo, hi, is_extensible) = match self {
            NumericType::Integer { lo, hi, is_extensible } => (lo, hi, is_extensible),
            NumericType::Enumerated { values, is_extensible } => (0, i64::from(values) - 1, is_extensible),
        };
        // X.691 13.1 and 14.3: values outside the root are encoded without its bounds
        match (is_extensible && reader.bit()?, self) {
            (false, _) => reader.constrained(lo, hi),
            (true, NumericType::Integer { .. }) => reader.unconstrained(),
            (true, NumericType::Enumerated { values, .. }) => {
                Ok(i64::from(values) + i64::from(reader.normally_small()?))
            }
        }
    }
}

/// Constructors for the protocols' tables.
pub(crate) mod table {
    #![allow(dead_code)] // a build with one protocol needs some of them

    use super::{NumericIe, NumericType};

    /// INTEGER (lo..hi).
    pub const fn int(id: u16, lo: i64, hi: i64) -> NumericIe {
        NumericIe { id, value_type: NumericType::Integer { lo, hi, is_extensible: false } }
    }

    /// INTEGER (lo..hi, ...).
    pub const fn open(id: u16, lo: i64, hi: i64) -> NumericIe {
        NumericIe { id, value_type: NumericType::Integer { lo, hi, is_extensible: true } }
    }

    /// ENUMERATED with `values` values before its extension marker.
    pub const fn list(id: u16, values: u16) -> NumericIe {
        NumericIe { id, value_type: NumericType::Enumerated { values, is_extensible: true } }
    }

    /// ENUMERATED without an extension marker.
    pub const fn closed(id: u16, values: u16) -> NumericIe {
        NumericIe { id, value_type: NumericType::Enumerated { values, is_extensible: false } }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{e1ap, f1ap, ngap, s1ap, test_vectors, x2ap, xnap};

    const TABLES: [(&str, &[NumericIe]); 6] = [
        ("s1", s1ap::NUMERIC_IES),
        ("x2", x2ap::NUMERIC_IES),
        ("ng", ngap::NUMERIC_IES),
        ("xn", xnap::NUMERIC_IES),
        ("f1", f1ap::NUMERIC_IES),
        ("e1", e1ap::NUMERIC_IES),
    ];

    #[test]
    fn tables_are_sorted_by_id() {
        for (interface, ies) in TABLES {
            assert!(ies.windows(2).all(|two| two[0].id < two[1].id), "{interface}");
        }
    }

    /// Values of an independent encoder (pycrate 0.8.1): both ends, one between, and the last addition of enumerations.
    #[test]
    fn every_ie_is_read() {
        let text = std::fs::read_to_string(test_vectors::folder().join("ies.jsonl")).unwrap();
        let mut seen = BTreeSet::new();
        for line in text.lines() {
            let about: serde_json::Value = serde_json::from_str(line).unwrap();
            let interface = about["interface"].as_str().unwrap();
            let (interface, table) = TABLES.into_iter().find(|(name, _)| *name == interface).unwrap();
            let id = about["ie"].as_u64().unwrap() as u16;
            let octets = test_vectors::unhex(about["hex"].as_str().unwrap());
            let ie = NumericIe::find(table, id).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(ie.read(&octets), about["value"].as_i64(), "{line}");
            assert_eq!(ie.read(&[]), None, "{line}");
            assert_eq!(ie.read(&[&octets[..], &[0]].concat()), None, "{line}");
            seen.insert((interface, id));
        }
        assert_eq!(seen.len(), TABLES.iter().map(|(_, ies)| ies.len()).sum::<usize>());
    }
}
