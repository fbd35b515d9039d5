//! How people and programs name a UE: one syntax for commands, logs, REST and documents.
//!
//! | text | the UE with |
//! |---|---|
//! | `amf:17`, or `17` | this AMF-UE-NGAP-ID |
//! | `mme:17` | this MME-UE-S1AP-ID |
//! | `f1ap:3`, `e1ap:3`, `w1ap:3`, `x2ap:3` | this id at a DU, a CU-UP, an ng-eNB-DU, an en-gNB |
//! | `rnti:0x4601@003804001` | this C-RNTI in this cell: its NR or E-UTRA cell identity in hexadecimal |
//! | `rnti:0x4601@nr-00101-3804001` | the same; the network is not compared |
//! | `rnti:0x4601@gnb-00101-e00` | this C-RNTI at this E2 node, by the name that the RIC prints |
//! | `ip:10.45.0.7` | this address |
//!
//! [`RanDatabase::resolve`](super::RanDatabase::resolve) finds the UE.
//!
//! ```
//! use e2::topology::{RntiScope, UeReference};
//!
//! let ue: UeReference = "rnti:0x4601@003804001".parse()?;
//! assert_eq!(ue, UeReference::Rnti { rnti: 0x4601, of: RntiScope::Cell(0x3804001) });
//! assert_eq!("17".parse(), Ok(UeReference::Amf(17)));
//! assert_eq!(UeReference::Amf(17).to_string(), "amf:17");
//! # Ok::<(), e2::topology::UeReferenceError>(())
//! ```

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use e2sm::common::UeId;
use ids::{CellIdentity, CellReference};

use super::UeName;
use super::ue_id::x2ap_number;

/// The largest AMF-UE-NGAP-ID (TS 38.413 9.3.3.1).
const MAX_AMF_UE_NGAP_ID: u64 = (1 << 40) - 1;
/// The most characters of a node's name: `ng-enb-001001-1fffff-du-68719476735` has 35.
const MAX_NODE_NAME: usize = 64;

/// A UE, by one of its identities.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UeReference {
    /// Its AMF-UE-NGAP-ID, which stays the same in handovers.
    Amf(u64),
    /// Its MME-UE-S1AP-ID.
    Mme(u32),
    /// Its gNB-CU-UE-F1AP-ID.
    F1ap(u32),
    /// Its gNB-CU-CP-UE-E1AP-ID.
    E1ap(u32),
    /// Its ng-eNB-CU-UE-W1AP-ID.
    W1ap(u32),
    /// Its id on X2 at the master eNB.
    X2ap(u32),
    /// Its C-RNTI.
    Rnti {
        /// The C-RNTI.
        rnti: u16,
        /// Where it is valid.
        of: RntiScope,
    },
    /// Its address.
    Ip(Ipv4Addr),
}

/// Where a C-RNTI is valid: cells use the same ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RntiScope {
    /// In a cell, by its NR or E-UTRA cell identity of at most 36 bits.
    Cell(u64),
    /// At an E2 node, by its name: `gnb-00101-e00`.
    Node(Box<str>),
}

impl fmt::Display for RntiScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RntiScope::Cell(cell) => CellIdentity(*cell).fmt(f),
            RntiScope::Node(node) => f.write_str(node),
        }
    }
}

/// Why a text names no UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UeReferenceError {
    /// It has none of the forms.
    Form,
    /// The number is not one, or too large.
    Number {
        /// The largest number of this kind.
        max: u64,
    },
    /// A C-RNTI needs its cell or its node, since cells use the same ones.
    Cell,
    /// The address is not one of IPv4.
    Address,
}

impl fmt::Display for UeReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UeReferenceError::Form => f.write_str(
                "not a UE: use amf:N (or N), mme:N, f1ap:N, e1ap:N, w1ap:N, x2ap:N, rnti:0xN@CELL, rnti:0xN@NODE or ip:ADDRESS",
            ),
            UeReferenceError::Number { max } => write!(f, "not a number from 0 to {max}"),
            UeReferenceError::Cell => f.write_str(
                "an RNTI needs its cell or node: rnti:0x4601@003804001, the cell identity in hexadecimal digits, or \
                 rnti:0x4601@gnb-00101-e00",
            ),
            UeReferenceError::Address => f.write_str("not an IPv4 address"),
        }
    }
}

impl std::error::Error for UeReferenceError {}

impl UeReference {
    /// The first id of a UE ID of E2SM.
    #[must_use]
    pub fn of(ue_id: &UeId<'_>) -> Self {
        match ue_id {
            UeId::Gnb(id) => UeReference::Amf(id.amf_ue_ngap_id.0.unsigned_abs()),
            UeId::NgEnb(id) => UeReference::Amf(id.amf_ue_ngap_id.0.unsigned_abs()),
            UeId::GnbDu(id) => UeReference::F1ap(id.gnb_cu_ue_f1ap_id.0),
            UeId::GnbCuUp(id) => UeReference::E1ap(id.gnb_cu_cp_ue_e1ap_id.0),
            UeId::NgEnbDu(id) => UeReference::W1ap(id.ng_enb_cu_ue_w1ap_id.0),
            UeId::EnGnb(id) => UeReference::X2ap(x2ap_number(id)),
            UeId::Enb(id) => UeReference::Mme(id.mme_ue_s1ap_id.0),
        }
    }

    /// The reference to a UE by one of its names; `None` of a name that has no reference. A C-RNTI is written with its cell.
    #[must_use]
    pub fn of_name(name: &UeName) -> Option<Self> {
        Some(match *name {
            UeName::Ngap { amf_ue_ngap_id, .. } => UeReference::Amf(amf_ue_ngap_id),
            UeName::S1ap { mme_ue_s1ap_id, .. } => UeReference::Mme(mme_ue_s1ap_id),
            UeName::F1ap(id) => UeReference::F1ap(id),
            UeName::E1ap(id) => UeReference::E1ap(id),
            UeName::W1ap(id) => UeReference::W1ap(id),
            UeName::Rnti { rnti, cell } => UeReference::Rnti { rnti, of: RntiScope::Cell(cell?) },
            UeName::Local(id) => UeReference::X2ap(u32::try_from(id).ok()?),
            UeName::RanUeId(_) => return None,
        })
    }

    /// Whether it is this name of a UE, which the node of this name reports. No name is an address.
    #[must_use]
    pub fn is(&self, name: &UeName, node: &str) -> bool {
        match (self, name) {
            (UeReference::Amf(id), UeName::Ngap { amf_ue_ngap_id, .. }) => id == amf_ue_ngap_id,
            (UeReference::Mme(id), UeName::S1ap { mme_ue_s1ap_id, .. }) => id == mme_ue_s1ap_id,
            (UeReference::F1ap(id), UeName::F1ap(other))
            | (UeReference::E1ap(id), UeName::E1ap(other))
            | (UeReference::W1ap(id), UeName::W1ap(other)) => id == other,
            (UeReference::X2ap(id), UeName::Local(other)) => u64::from(*id) == *other,
            (UeReference::Rnti { rnti, of }, UeName::Rnti { rnti: other, cell }) => {
                rnti == other
                    && match of {
                        RntiScope::Cell(wanted) => Some(*wanted) == *cell,
                        RntiScope::Node(wanted) => **wanted == *node,
                    }
            }
            _ => false,
        }
    }
}

impl fmt::Display for UeReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UeReference::Amf(id) => write!(f, "amf:{id}"),
            UeReference::Mme(id) => write!(f, "mme:{id}"),
            UeReference::F1ap(id) => write!(f, "f1ap:{id}"),
            UeReference::E1ap(id) => write!(f, "e1ap:{id}"),
            UeReference::W1ap(id) => write!(f, "w1ap:{id}"),
            UeReference::X2ap(id) => write!(f, "x2ap:{id}"),
            UeReference::Rnti { rnti, of } => write!(f, "rnti:{rnti:#06x}@{of}"),
            UeReference::Ip(address) => write!(f, "ip:{address}"),
        }
    }
}

impl FromStr for UeReference {
    type Err = UeReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((kind, value)) = text.split_once(':') else {
            let is_number = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
            return if is_number {
                number(text, MAX_AMF_UE_NGAP_ID).map(UeReference::Amf)
            } else {
                Err(UeReferenceError::Form)
            };
        };
        let short = || number(value, u32::MAX.into()).map(|id| id as u32);
        match kind {
            "amf" => number(value, MAX_AMF_UE_NGAP_ID).map(UeReference::Amf),
            "mme" => short().map(UeReference::Mme),
            "f1ap" => short().map(UeReference::F1ap),
            "e1ap" => short().map(UeReference::E1ap),
            "w1ap" => short().map(UeReference::W1ap),
            "x2ap" => short().map(UeReference::X2ap),
            "rnti" => {
                let (rnti, of) = value.split_once('@').ok_or(UeReferenceError::Cell)?;
                Ok(UeReference::Rnti { rnti: number(rnti, u16::MAX.into())? as u16, of: of.parse()? })
            }
            "ip" => value.parse().map(UeReference::Ip).map_err(|_| UeReferenceError::Address),
            _ => Err(UeReferenceError::Form),
        }
    }
}

/// A cell ([`CellReference`]), or the name of a node, which contains a hyphen.
impl FromStr for RntiScope {
    type Err = UeReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_node = text.len() <= MAX_NODE_NAME
            && text.contains('-')
            && text.bytes().all(|octet| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-');
        match text.parse::<CellReference>() {
            Ok(cell) => Ok(RntiScope::Cell(cell.identity.0)),
            _ if is_node => Ok(RntiScope::Node(text.into())),
            _ => Err(UeReferenceError::Cell),
        }
    }
}

/// Reads a decimal number, or a hexadecimal one after `0x`.
fn number(text: &str, max: u64) -> Result<u64, UeReferenceError> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let is_plain = digits.bytes().all(|octet| octet.is_ascii_alphanumeric());
    let number = u64::from_str_radix(digits, radix).ok().filter(|number| is_plain && *number <= max);
    number.ok_or(UeReferenceError::Number { max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        for (text, reference) in [
            ("amf:17", UeReference::Amf(17)),
            ("mme:4294967295", UeReference::Mme(u32::MAX)),
            ("f1ap:3", UeReference::F1ap(3)),
            ("e1ap:3", UeReference::E1ap(3)),
            ("w1ap:0", UeReference::W1ap(0)),
            ("x2ap:9", UeReference::X2ap(9)),
            ("rnti:0x4601@003804001", UeReference::Rnti { rnti: 0x4601, of: RntiScope::Cell(0x380_4001) }),
            (
                "rnti:0x4601@gnb-00101-e00",
                UeReference::Rnti { rnti: 0x4601, of: RntiScope::Node("gnb-00101-e00".into()) },
            ),
            ("ip:10.45.0.7", UeReference::Ip(Ipv4Addr::new(10, 45, 0, 7))),
        ] {
            assert_eq!((text.parse(), reference.to_string()), (Ok(reference), text.to_owned()));
        }
        assert_eq!("234881024".parse(), Ok(UeReference::Amf(0xe00 << 16)));
        for cell in ["1", "nr-00101-000000001", "eutra-00101-1"] {
            let reference = UeReference::Rnti { rnti: 0x4601, of: RntiScope::Cell(1) };
            assert_eq!(format!("rnti:17921@{cell}").parse(), Ok(reference), "{cell}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        use UeReferenceError::{Address, Cell, Form, Number};
        for (text, error) in [
            ("", Form),
            ("imsi:1", Form),
            ("amf-17", Form),
            ("+1", Form),
            ("amf:", Number { max: MAX_AMF_UE_NGAP_ID }),
            ("amf:1099511627776", Number { max: MAX_AMF_UE_NGAP_ID }),
            ("1099511627776", Number { max: MAX_AMF_UE_NGAP_ID }),
            ("amf:+1", Number { max: MAX_AMF_UE_NGAP_ID }),
            ("f1ap:4294967296", Number { max: u32::MAX.into() }),
            ("rnti:0x10000@1", Number { max: u16::MAX.into() }),
            ("rnti:0x4601", Cell),
            ("rnti:0x4601@", Cell),
            ("rnti:0x4601@g", Cell),
            ("rnti:0x4601@+1", Cell),
            ("rnti:0x4601@1234567890", Cell),
            ("rnti:0x4601@gnb_00101", Cell),
            ("rnti:0x4601@gnb-\u{1b}", Cell),
            ("ip:10.45.0", Address),
            ("ip:::1", Address),
        ] {
            assert_eq!(text.parse::<UeReference>(), Err(error), "{text}");
        }
        assert_eq!(Number { max: 65535 }.to_string(), "not a number from 0 to 65535");
    }

    #[test]
    fn reference_is_one_of_the_names_of_a_ue() {
        let name = UeName::Ngap { guami: [0; 6], amf_ue_ngap_id: 17 };
        let is = |text: &str, name: &UeName| text.parse::<UeReference>().unwrap().is(name, "gnb-00101-e00");
        assert!(is("17", &name) && !is("amf:18", &name) && !is("f1ap:17", &name));
        assert!(is("e1ap:3", &UeName::E1ap(3)) && !is("e1ap:3", &UeName::F1ap(3)) && is("x2ap:3", &UeName::Local(3)));
        let rnti = UeName::Rnti { rnti: 0x4601, cell: Some(0x380_4001) };
        assert!(is("rnti:0x4601@003804001", &rnti) && is("rnti:0x4601@gnb-00101-e00", &rnti));
        assert!(!is("rnti:0x4602@003804001", &rnti) && !is("rnti:0x4601@003804002", &rnti));
        assert!(!is("rnti:0x4601@gnb-00101-e01", &rnti));
        assert!(!is("rnti:0x4601@003804001", &UeName::Rnti { rnti: 0x4601, cell: None }));
    }
}
