//! The revisions of E2SM-KPM, and their object identifiers.

use core::fmt;
use core::str::FromStr;

use super::{RanFunctionDefinition, v1, v2_00};
use crate::common::WIRE_E2SM_V5;
use crate::{Arena, Error, ModelRevision, revision};

/// The object identifier of v01.00.
pub const OID_V1: &str = "1.3.6.1.4.1.53148.1.1.2.2";
/// The object identifier of v02.00, v02.01 and v02.03; some nodes register it for v03.00.
pub const OID_V2: &str = "1.3.6.1.4.1.53148.1.2.2.2";
/// The object identifier of v03.00 and v04.00.
pub const OID_V3: &str = "1.3.6.1.4.1.53148.1.3.2.2";

/// All object identifiers of the service model.
pub const OIDS: [&str; 3] = [OID_V1, OID_V2, OID_V3];

/// A revision of E2SM-KPM's wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// v01.00: a different model under the same name, with separate types ([`super::v1`]).
    V1_00,
    /// v02.00: each action names a cell of the definition; with separate types ([`super::v2_00`]).
    V2_00,
    /// v02.01: a condition is a bare CHOICE; its expression and value are mandatory.
    V2_01,
    /// v02.03: conditions may be joined by OR.
    V2_03,
    /// v03.00: time stamps have 8 octets.
    V3_00,
    /// v04.00: v03.00 with extension additions.
    V4_00,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Revision; 6] =
        [Revision::V1_00, Revision::V2_00, Revision::V2_01, Revision::V2_03, Revision::V3_00, Revision::V4_00];
    /// The revisions that share their types, oldest first: all but v01.00 and v02.00.
    pub const FROM_V2: [Revision; 4] = [Revision::V2_01, Revision::V2_03, Revision::V3_00, Revision::V4_00];

    /// The number of this revision in readers and writers of [`per`]. v01.00 and v02.00 have separate types with a single
    /// wire format; what v02.00 shares with v02.01 has the same encoding.
    #[must_use]
    pub const fn wire(self) -> u8 {
        match self {
            Revision::V1_00 | Revision::V2_00 | Revision::V2_01 => 0,
            Revision::V2_03 => 1,
            Revision::V3_00 => 2,
            Revision::V4_00 => 3,
        }
    }

    /// The wire format of the messages that v02.01 and later share.
    pub(super) const fn of_messages(self) -> Result<u8, per::Error> {
        match self {
            Revision::V1_00 => Err(per::Error::new(per::ErrorKind::NotInRevision, 0).within("E2SM-KPM v01.00")),
            Revision::V2_00 => Err(per::Error::new(per::ErrorKind::NotInRevision, 0).within("E2SM-KPM v02.00")),
            _ => Ok(self.wire()),
        }
    }

    /// Whether a RAN function definition in PER is one of this revision, to its last octet.
    #[must_use]
    pub fn reads_definition(self, definition: &[u8]) -> bool {
        let arena = Arena::new();
        match self {
            Revision::V1_00 => v1::RanFunctionDefinition::decode(definition, &arena).is_ok(),
            Revision::V2_00 => v2_00::RanFunctionDefinition::decode(definition, &arena).is_ok(),
            _ => RanFunctionDefinition::decode(definition, self, &arena).is_ok(),
        }
    }

    /// The octets of a time stamp; v01.00 has none.
    #[must_use]
    pub const fn time_stamp_octets(self) -> usize {
        match self {
            Revision::V1_00 => 0,
            Revision::V2_00 | Revision::V2_01 | Revision::V2_03 => 4,
            Revision::V3_00 | Revision::V4_00 => 8,
        }
    }

    /// The object identifier that a node of this revision registers.
    #[must_use]
    pub const fn oid(self) -> &'static str {
        match self {
            Revision::V1_00 => OID_V1,
            Revision::V2_00 | Revision::V2_01 | Revision::V2_03 => OID_V2,
            Revision::V3_00 | Revision::V4_00 => OID_V3,
        }
    }
}

/// Formats as the specification is numbered: `v03.00`.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Revision::V1_00 => "v01.00",
            Revision::V2_00 => "v02.00",
            Revision::V2_01 => "v02.01",
            Revision::V2_03 => "v02.03",
            Revision::V3_00 => "v03.00",
            Revision::V4_00 => "v04.00",
        })
    }
}

impl ModelRevision for Revision {
    const MODEL: &'static str = "E2SM-KPM";
    const ALL: &'static [Revision] = &Revision::ALL;
    const UNKNOWN: Error = Error::UnknownRevision { model: "E2SM-KPM", known: "1.00, 2.00, 2.01, 2.03, 3.00 or 4.00" };
}

/// Parses `3.00`, `03.00` or `v03.00`.
impl FromStr for Revision {
    type Err = Error;

    /// # Errors
    /// [`Error::UnknownRevision`].
    fn from_str(text: &str) -> Result<Self, Error> {
        revision::parse(text)
    }
}

// the common types are gated by these numbers
const _: () = assert!(Revision::V4_00.wire() >= WIRE_E2SM_V5 && Revision::V3_00.wire() < WIRE_E2SM_V5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_is_parsed_with_and_without_prefix() {
        for revision in Revision::ALL {
            let text = revision.to_string();
            for spelling in [&text[..], &text[1..], &text[2..]] {
                assert_eq!(spelling.parse(), Ok(revision), "{spelling}");
            }
        }
        for bad in ["", "3", "3.0", "2.02", "v", "00", "v003.00"] {
            assert_eq!(bad.parse::<Revision>(), Err(Revision::UNKNOWN), "{bad}");
        }
    }
}
