//! Types that several bodies share (MEC 012 6.5), and the fault of a body.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::{AssociateId, AssociateIdType, Cell, Plmn};

/// Values that a list of criteria may have.
pub const MAX_LIST: usize = 32;

/// What is wrong with a body that has the right types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the member: `filterCriteriaAssocHo.ecgi[0].plmn`.
    pub at: String,
    /// The reason.
    pub reason: String,
    /// The body is understood, and the service cannot do what it asks for (422); else it is malformed (400).
    pub is_understood: bool,
}

impl Fault {
    /// A value that is malformed.
    pub fn malformed(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Fault { at: at.into(), reason: reason.into(), is_understood: false }
    }

    /// A value that is understood, and cannot be met.
    pub fn unsupported(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Fault { is_understood: true, ..Fault::malformed(at, reason) }
    }

    /// Names the member that the path begins in.
    #[must_use]
    pub fn within(self, member: &str) -> Self {
        let separator = if self.at.is_empty() || self.at.starts_with('[') { "" } else { "." };
        Fault { at: format!("{member}{separator}{}", self.at), ..self }
    }
}

/// Converts the values of a list of criteria, of which there are at most [`MAX_LIST`].
pub fn list<T, U>(member: &str, values: &[T], convert: impl Fn(&T) -> Result<U, Fault>) -> Result<Vec<U>, Fault> {
    if values.len() > MAX_LIST {
        let reason = format!("a list has at most {MAX_LIST} values, and this one {}", values.len());
        return Err(Fault::unsupported(member, reason));
    }
    let converted = values.iter().enumerate();
    converted.map(|(at, value)| convert(value).map_err(|fault| fault.within(&format!("{member}[{at}]")))).collect()
}

/// A time: seconds and nanoseconds since 1970 (MEC 012 6.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeStamp {
    /// Seconds.
    pub seconds: u32,
    /// The rest.
    #[schemars(range(max = 999_999_999))]
    pub nano_seconds: u32,
}

impl TimeStamp {
    /// The time of an event.
    #[must_use]
    pub const fn from_nanos(unix_ns: u64) -> Self {
        // seconds exceed 32 bits in 2106, nanoseconds never
        TimeStamp { seconds: (unix_ns / 1_000_000_000) as u32, nano_seconds: (unix_ns % 1_000_000_000) as u32 }
    }

    /// Nanoseconds since 1970.
    #[must_use]
    pub fn to_nanos(self) -> u64 {
        u64::from(self.seconds) * 1_000_000_000 + u64::from(self.nano_seconds)
    }

    /// The time of the system's clock.
    #[must_use]
    pub fn now() -> Self {
        TimeStamp::after(Duration::ZERO)
    }

    /// The time of the system's clock after a duration.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let then = now.saturating_add(duration);
        TimeStamp { seconds: u32::try_from(then.as_secs()).unwrap_or(u32::MAX), nano_seconds: then.subsec_nanos() }
    }

    /// The duration until it by the system's clock; `None` if it has passed.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let then = Duration::new(u64::from(self.seconds), self.nano_seconds.min(999_999_999));
        then.checked_sub(now).filter(|remaining| !remaining.is_zero())
    }
}

/// A cell with its PLMN (MEC 012 6.5.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ecgi {
    /// The PLMN.
    pub plmn: Plmn,
    /// The identity in hexadecimal digits: up to seven of a cell of E-UTRA, nine of a cell of NR.
    #[schemars(regex(pattern = "^(0[xX])?[0-9A-Fa-f]{1,9}$"))]
    pub cell_id: String,
}

impl From<Cell> for Ecgi {
    fn from(cell: Cell) -> Self {
        Ecgi { plmn: cell.plmn().into(), cell_id: cell.digits() }
    }
}

impl Ecgi {
    /// The cell.
    pub fn cell(&self) -> Result<Cell, Fault> {
        cell(&self.plmn, &self.cell_id)
    }
}

/// The cell of a PLMN and an identity in hexadecimal digits.
pub fn cell(plmn: &Plmn, digits: &str) -> Result<Cell, Fault> {
    let plmn = plmn_identity(plmn)?;
    let cell = Cell::from_digits(plmn, digits);
    cell.ok_or_else(|| {
        Fault::malformed("cellId", format!("`{digits}` is not a cell identity of 1 to 9 hexadecimal digits"))
    })
}

fn plmn_identity(plmn: &Plmn) -> Result<ids::PlmnIdentity, Fault> {
    let reason = || format!("mcc `{}` and mnc `{}` are not three, and two or three digits", plmn.mcc, plmn.mnc);
    plmn.identity().ok_or_else(|| Fault::malformed("plmn", reason()))
}

/// A cell of NR with its PLMN (MEC 012 6.5.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Nrcgi {
    /// The PLMN.
    pub plmn: Plmn,
    /// The identity of 36 bits in hexadecimal digits.
    // v2.1.1 spells it in another way
    #[serde(alias = "nrcellId")]
    #[schemars(regex(pattern = "^(0[xX])?[0-9A-Fa-f]{1,9}$"))]
    pub nr_cell_id: String,
}

impl From<Cell> for Nrcgi {
    fn from(cell: Cell) -> Self {
        Nrcgi { plmn: cell.plmn().into(), nr_cell_id: cell.digits() }
    }
}

impl Nrcgi {
    /// The cell.
    pub fn cell(&self) -> Result<Cell, Fault> {
        let plmn = plmn_identity(&self.plmn)?;
        let identity =
            Cell::from_digits(plmn, &self.nr_cell_id).and_then(|cell| u64::from_str_radix(&cell.digits(), 16).ok());
        let reason = || format!("`{}` is not a cell identity of 1 to 9 hexadecimal digits", self.nr_cell_id);
        Ok(Cell::nr(plmn, identity.ok_or_else(|| Fault::malformed("nrCellId", reason()))?))
    }
}

/// An identity of a UE (MEC 012 6.5.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AssociateId")]
pub struct AssociateIdBody {
    /// Its kind: 1 IPv4 address, 2 IPv6 address, 3 NATed address, 4 TEID of GTP. 0 is reserved.
    #[schemars(extend("enum" = [0, 1, 2, 3, 4]))]
    pub r#type: u8,
    /// The identity.
    pub value: String,
}

impl From<&AssociateId> for AssociateIdBody {
    fn from(id: &AssociateId) -> Self {
        AssociateIdBody { r#type: id.kind as u8, value: id.value.clone() }
    }
}

impl AssociateIdBody {
    /// The identity in canonical form.
    pub fn identity(&self) -> Result<AssociateId, Fault> {
        let kind = match self.r#type {
            1 => AssociateIdType::UeIpv4,
            2 => AssociateIdType::UeIpv6,
            3 => AssociateIdType::NatedIp,
            4 => AssociateIdType::GtpTeid,
            other => return Err(Fault::malformed("type", format!("{other} is none of 1, 2, 3, 4"))),
        };
        AssociateId::read(kind, &self.value).map_err(|reason| Fault::malformed("value", reason))
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkType")]
pub struct Link {
    /// The URI.
    pub href: String,
}

/// The links of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Links")]
pub struct Links {
    /// The resource itself.
    #[serde(rename = "self")]
    pub own: Link,
}

/// The name of an application instance: at most 256 octets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(!try_from, !into, transparent)]
pub struct ApplicationName(#[schemars(length(max = 256))] String);

impl TryFrom<String> for ApplicationName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.len() > 256 { Err("a name has at most 256 octets") } else { Ok(ApplicationName(name)) }
    }
}

impl ApplicationName {
    /// The name; `None` if it is empty.
    pub fn text(&self) -> Option<&str> {
        Some(&*self.0).filter(|name| !name.is_empty())
    }
}

impl From<ApplicationName> for String {
    fn from(name: ApplicationName) -> String {
        name.0
    }
}

/// Declares a number of which only some values exist.
macro_rules! number {
    ($(#[$about:meta])* $name:ident: $($value:literal)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "u8", into = "u8")]
        #[schemars(!try_from, !into, transparent, extend("enum" = [$($value),+]))]
        pub struct $name(pub u8);

        impl TryFrom<u8> for $name {
            type Error = String;

            fn try_from(value: u8) -> Result<Self, String> {
                const KNOWN: &[u8] = &[$($value),+];
                let reason = || format!("{value} is none of {KNOWN:?}");
                KNOWN.contains(&value).then_some($name(value)).ok_or_else(reason)
            }
        }

        impl From<$name> for u8 {
            fn from(number: $name) -> u8 {
                number.0
            }
        }
    };
}

number! {
    /// How far a handover is: 1 in preparation, 2 in execution, 3 completed, 4 rejected, 5 cancelled.
    HoStatus: 1 2 3 4 5
}
number! {
    /// What happens to bearers towards the core: 1 establishment, 2 modification, 3 release.
    S1EventType: 1 2 3
}
number! {
    /// Why a UE of E-UTRA reports (MEC 012 6.5.11).
    Trigger: 0 1 2 3 4 5 10 11 12 13 14 15 20 21 30 31 40 41 42 50 51 60 61
}
number! {
    /// Why a UE of NR reports (MEC 012 6.5.12).
    TriggerNr: 0 1 2 10 11 12 13 14 15 20 21 30 31
}
