//! The supported versions of E2AP.

use core::fmt;
use core::str::FromStr;

/// A version of E2AP. It is a property of an association and never inferred from a single message.
///
/// The wire formats differ in the roots of sequences, so that decoding needs the version. The setup request determines it
/// (see [`Version::of_setup`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// v01.00: no transaction ids, no RAN function OIDs.
    V1_00 = 0,
    /// v01.01: OIDs, connection update, node configuration update.
    V1_01 = 1,
    /// v02.03: transaction ids, removal, deletion required by the node.
    V2_03 = 2,
    /// v03.01: subscription modification, query, subscription times.
    V3_01 = 3,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Version; 4] = [Version::V1_00, Version::V1_01, Version::V2_03, Version::V3_01];

    /// Returns the revision number of this wire format in `per`.
    #[must_use]
    pub const fn revision(self) -> u8 {
        self as u8
    }

    /// Returns the version in the form of the specification.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Version::V1_00 => "1.00",
            Version::V1_01 => "1.01",
            Version::V2_03 => "2.03",
            Version::V3_01 => "3.01",
        }
    }

    /// Returns the version of an E2 SETUP REQUEST; `None` if the octets are not an E2 SETUP REQUEST.
    ///
    /// From v2 on the request has a TransactionID. v02.03 and v03.01 have the same request, so that v02.03 is returned; the
    /// configuration of the peer, or a message that only v03.01 has, decides further. In v1 an OID or a component
    /// configuration indicates v01.01, which is returned for all of v1, since it decodes all of v01.00.
    #[must_use]
    pub fn of_setup(pdu: &[u8]) -> Option<Version> {
        Version::of_setup_outline(&crate::peek::outline(pdu)?)
    }

    /// As [`Version::of_setup`], for an outline from any encoding.
    pub(crate) fn of_setup_outline(outline: &crate::peek::Outline) -> Option<Version> {
        if (outline.kind, outline.procedure_code) != (crate::Kind::Initiating, crate::ProcedureCode::E2_SETUP) {
            return None;
        }
        Some(if outline.transaction_id.is_some() { Version::V2_03 } else { Version::V1_01 })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A version that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion;

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown E2AP version; supported are 1.00, 1.01, 2.03 and 3.01")
    }
}

impl std::error::Error for UnknownVersion {}

impl FromStr for Version {
    type Err = UnknownVersion;
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let text = text.trim_start_matches(['v', 'V']).trim_start_matches('0');
        Version::ALL.into_iter().find(|v| v.name() == text).ok_or(UnknownVersion)
    }
}
