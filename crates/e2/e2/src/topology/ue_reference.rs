//! How people and programs name a UE: one syntax for commands, logs, REST and documents.
//!
//! | text | the UE with |
//! |---|---|
//! | `amf:17`, or `17` | this AMF-UE-NGAP-ID |
//! | `mme:17` | this MME-UE-S1AP-ID |
//! | `f1ap:3`, `e1ap:3`, `w1ap:3`, `x2ap:3` | this id at a DU, a CU-UP, an ng-eNB-DU, an en-gNB |
//! | `rnti:0x4601@003804001` | this C-RNTI in this cell: its NR or E-UTRA cell identity in hexadecimal |
//! | `ip:10.45.0.7` | this address |
//!
//! ```
//! use e2::topology::UeReference;
//!
//! let ue: UeReference = "rnti:0x4601@003804001".parse()?;
//! assert_eq!(ue, UeReference::Rnti { rnti: 0x4601, cell: 0x3804001 });
//! assert_eq!("17".parse(), Ok(UeReference::Amf(17)));
//! assert_eq!(UeReference::Amf(17).to_string(), "amf:17");
//! # Ok::<(), e2::topology::UeReferenceError>(())
//! ```

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use e2sm::common::UeId;

use super::UeName;

/// The largest AMF-UE-NGAP-ID (TS 38.413 9.3.3.1).
const MAX_AMF_UE_NGAP_ID: u64 = (1 << 40) - 1;
/// Hexadecimal digits of a cell identity.
const CELL_DIGITS: usize = 9;

/// A UE, by one of its identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// Its C-RNTI in a cell.
    Rnti {
        /// The C-RNTI.
        rnti: u16,
        /// The NR or E-UTRA cell identity, at most 36 bits.
        cell: u64,
    },
    /// Its address.
    Ip(Ipv4Addr),
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
    /// A C-RNTI needs its cell, since cells use the same ones.
    Cell,
    /// The address is not one of IPv4.
    Address,
}

impl fmt::Display for UeReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UeReferenceError::Form => f.write_str(
                "not a UE: use amf:N (or N), mme:N, f1ap:N, e1ap:N, w1ap:N, x2ap:N, rnti:0xN@CELL or ip:ADDRESS",
            ),
            UeReferenceError::Number { max } => write!(f, "not a number from 0 to {max}"),
            UeReferenceError::Cell => {
                f.write_str("an RNTI needs its cell: rnti:0x4601@003804001, the cell identity in hexadecimal digits")
            }
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
            UeId::EnGnb(id) => UeReference::X2ap(id.m_enb_ue_x2ap_id.0.into()),
            UeId::Enb(id) => UeReference::Mme(id.mme_ue_s1ap_id.0),
        }
    }

    /// Whether it is this name of a UE. Names contain neither RNTIs nor addresses.
    #[must_use]
    pub fn is(&self, name: &UeName) -> bool {
        match (self, name) {
            (UeReference::Amf(id), UeName::Ngap { amf_ue_ngap_id, .. }) => id == amf_ue_ngap_id,
            (UeReference::Mme(id), UeName::S1ap { mme_ue_s1ap_id, .. }) => id == mme_ue_s1ap_id,
            (UeReference::F1ap(id), UeName::F1ap(other))
            | (UeReference::E1ap(id), UeName::E1ap(other))
            | (UeReference::W1ap(id), UeName::W1ap(other)) => id == other,
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
            UeReference::Rnti { rnti, cell } => write!(f, "rnti:{rnti:#06x}@{cell:0CELL_DIGITS$x}"),
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
                let (rnti, cell) = value.split_once('@').ok_or(UeReferenceError::Cell)?;
                let rnti = number(rnti, u16::MAX.into())? as u16;
                let is_cell =
                    (1..=CELL_DIGITS).contains(&cell.len()) && cell.bytes().all(|octet| octet.is_ascii_hexdigit());
                let cell = u64::from_str_radix(cell, 16).ok().filter(|_| is_cell).ok_or(UeReferenceError::Cell)?;
                Ok(UeReference::Rnti { rnti, cell })
            }
            "ip" => value.parse().map(UeReference::Ip).map_err(|_| UeReferenceError::Address),
            _ => Err(UeReferenceError::Form),
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
            ("rnti:0x4601@003804001", UeReference::Rnti { rnti: 0x4601, cell: 0x380_4001 }),
            ("ip:10.45.0.7", UeReference::Ip(Ipv4Addr::new(10, 45, 0, 7))),
        ] {
            assert_eq!((text.parse(), reference.to_string()), (Ok(reference), text.to_owned()));
        }
        assert_eq!("234881024".parse(), Ok(UeReference::Amf(0xe00 << 16)));
        assert_eq!("rnti:17921@1".parse(), Ok(UeReference::Rnti { rnti: 0x4601, cell: 1 }));
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
        assert!(UeReference::Amf(17).is(&name) && !UeReference::Amf(18).is(&name) && !UeReference::F1ap(17).is(&name));
        assert!(UeReference::E1ap(3).is(&UeName::E1ap(3)) && !UeReference::E1ap(3).is(&UeName::F1ap(3)));
    }
}
