//! Identities of cells and UEs, as MEC 012 names them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ids::{Cgi, EutraCgi, NrCgi, PlmnIdentity, SNssai};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A PLMN (MEC 012 6.5.4): its country and network codes, in digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plmn {
    /// The mobile country code: three digits.
    #[schemars(regex(pattern = "^[0-9]{3}$"))]
    pub mcc: String,
    /// The mobile network code: two or three digits.
    #[schemars(regex(pattern = "^[0-9]{2,3}$"))]
    pub mnc: String,
}

impl From<PlmnIdentity> for Plmn {
    fn from(plmn: PlmnIdentity) -> Self {
        let digits = plmn.to_string();
        let (mcc, mnc) = digits.split_at(digits.len().min(3));
        Plmn { mcc: mcc.to_owned(), mnc: mnc.to_owned() }
    }
}

impl Plmn {
    /// The identity as interfaces encode it; `None` if the codes are not three, and two or three digits.
    #[must_use]
    pub fn identity(&self) -> Option<PlmnIdentity> {
        (self.mcc.len() == 3).then(|| format!("{}{}", self.mcc, self.mnc).parse().ok()).flatten()
    }
}

/// A cell of E-UTRA or NR, with its PLMN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cell(pub Cgi);

impl Cell {
    /// The cell of NR with the 36 bits of its identity.
    #[must_use]
    pub const fn nr(plmn: PlmnIdentity, identity: u64) -> Self {
        Cell(Cgi::NrCgi(NrCgi::new(plmn, identity)))
    }

    /// The cell of E-UTRA with the 28 bits of its identity.
    #[must_use]
    pub fn eutra(plmn: PlmnIdentity, identity: u32) -> Self {
        let eutra_cell_identity = per::Bits::new(u64::from(identity & 0xFFF_FFFF), 28);
        Cell(Cgi::EutraCgi(EutraCgi { plmn_identity: plmn, eutra_cell_identity }))
    }

    /// The PLMN.
    #[must_use]
    pub const fn plmn(&self) -> PlmnIdentity {
        match &self.0 {
            Cgi::NrCgi(cell) => cell.plmn_identity,
            Cgi::EutraCgi(cell) => cell.plmn_identity,
        }
    }

    /// The identity in hexadecimal digits: nine of NR, seven of E-UTRA.
    #[must_use]
    pub fn digits(&self) -> String {
        match &self.0 {
            Cgi::NrCgi(cell) => format!("{:09x}", cell.nr_cell_identity.value),
            Cgi::EutraCgi(cell) => format!("{:07x}", cell.eutra_cell_identity.value),
        }
    }

    /// Reads an identity in hexadecimal digits, of either case and with or without `0x`: up to seven are a cell of E-UTRA, eight
    /// or nine one of NR. MEC 012 defines the member as text; its examples, and the conformance tests, have hexadecimal digits.
    #[must_use]
    pub fn from_digits(plmn: PlmnIdentity, digits: &str) -> Option<Self> {
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
        let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = u64::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
        match digits.len() {
            // 28 bits are seven digits
            1..=7 => Some(Cell::eutra(plmn, value as u32)),
            8 | 9 => Some(Cell::nr(plmn, value)),
            _ => None,
        }
    }
}

/// PLMN and identity: `00101-003804001`.
impl From<Cell> for String {
    fn from(cell: Cell) -> Self {
        format!("{}-{}", cell.plmn(), cell.digits())
    }
}

impl TryFrom<String> for Cell {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text.split_once('-').and_then(|(plmn, digits)| Cell::from_digits(plmn.parse().ok()?, digits));
        parts.ok_or_else(|| format!("`{text}` is not a PLMN, a hyphen, and a cell identity in hexadecimal digits"))
    }
}

/// A network slice: its S-NSSAI (TS 23.501 5.15.2). As text it is the type, and the differentiator in six hexadecimal digits if there is
/// one: `1`, `1-0000ab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slice(pub SNssai);

impl From<Slice> for String {
    fn from(Slice(slice): Slice) -> Self {
        slice.to_string()
    }
}

impl TryFrom<String> for Slice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Slice).map_err(|invalid| format!("`{text}`: {invalid}"))
    }
}
/// What identifies a UE to applications (MEC 012 6.5.5).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AssociateId {
    /// The kind of identity.
    pub kind: AssociateIdType,
    /// The identity, in canonical form.
    pub value: String,
}

impl AssociateId {
    /// Reads an identity: an address, or a TEID in hexadecimal digits with or without `0x`. Its canonical form is the address as
    /// the standard library writes it (RFC 5952), or eight digits in lower case.
    ///
    /// # Errors
    /// The reason in words, if the text is no such identity.
    pub fn read(kind: AssociateIdType, text: &str) -> Result<Self, String> {
        let (value, expected) = match kind {
            AssociateIdType::UeIpv4 => {
                (text.parse::<Ipv4Addr>().ok().map(|address| address.to_string()), "an IPv4 address")
            }
            AssociateIdType::UeIpv6 => {
                (text.parse::<Ipv6Addr>().ok().map(|address| address.to_string()), "an IPv6 address")
            }
            AssociateIdType::NatedIp => {
                (text.parse::<IpAddr>().ok().map(|address| address.to_string()), "an IP address")
            }
            AssociateIdType::GtpTeid => (teid(text), "a TEID of 1 to 8 hexadecimal digits"),
        };
        Ok(AssociateId { kind, value: value.ok_or_else(|| format!("`{text}` is not {expected}"))? })
    }

    /// The identity of an address.
    #[must_use]
    pub fn ip(address: IpAddr) -> Self {
        let kind = if address.is_ipv4() { AssociateIdType::UeIpv4 } else { AssociateIdType::UeIpv6 };
        AssociateId { kind, value: address.to_string() }
    }

    /// The identity of an address behind a NAT.
    #[must_use]
    pub fn nated(address: IpAddr) -> Self {
        AssociateId { kind: AssociateIdType::NatedIp, value: address.to_string() }
    }

    /// The identity of a GTP tunnel: eight hexadecimal digits.
    #[must_use]
    pub fn teid(teid: u32) -> Self {
        AssociateId { kind: AssociateIdType::GtpTeid, value: format!("{teid:08x}") }
    }
}

fn teid(text: &str) -> Option<String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    // a sign is no digit
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal).map(|teid| format!("{teid:08x}"))
}

/// Kinds of identities of UEs, with their numbers in MEC 012 6.5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AssociateIdType {
    /// An IPv4 address.
    UeIpv4 = 1,
    /// An IPv6 address.
    UeIpv6 = 2,
    /// An address behind a NAT.
    NatedIp = 3,
    /// A tunnel endpoint identifier of GTP.
    GtpTeid = 4,
}

/// A temporary identity of a UE (MEC 012 6.5.7): parts of its S-TMSI.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TempUeId {
    /// The MME code.
    pub mmec: String,
    /// The M-TMSI.
    pub mtmsi: String,
}
