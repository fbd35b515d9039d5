//! E42: the protocol between FlexRIC's RIC and its xApps.
//!
//! E42 adds five messages to E2AP, which identify the xApp and, since the RIC relays them, the E2 node. Responses and
//! indications are those of E2AP, with the request ids that the xApp chose. The procedure codes and IE ids of the five
//! messages follow the last ones of the E2AP version that both sides were built for:
//!
//! | | v1 | v2 | v3 |
//! |---|---|---|---|
//! | E42 setup | 12 | 14 | 17 |
//! | E42 RIC subscription | 13 | 15 | 18 |
//! | E42 RIC subscription delete | 14 | 16 | 19 |
//! | E42 RIC control | 15 | 17 | 20 |
//! | IE: xApp id | 49 | 62 | 98 |
//! | IE: a connected node | 50 | 63 | 99 |
//!
//! The meaning of a code depends on the version, and a code of one version has another meaning in E2AP of the next: the
//! version is configured, never inferred from octets. Newer FlexRICs also have a message that informs xApps of nodes that
//! connect later. The releases that xApps are commonly built from abort when they receive it, and it is not supported.

mod messages;

use core::fmt;

use per::{Describe, Encode, Gather, Visitor, Writer};

use crate::container::Container;
use crate::pdu::header;
use crate::{Deviations, Error, Kind, Pdu, ProcedureCode, Version};

pub use messages::{
    ConnectedNode, E42ControlRequest, E42SetupRequest, E42SetupResponse, E42SubscriptionDeleteRequest,
    E42SubscriptionRequest,
};

/// The id of an xApp's session, which the RIC assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, per::Per)]
pub struct XappId(pub u16);

/// The version of E2AP that an E42 peer was built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum E42Version {
    /// With E2AP v01.01.
    V1,
    /// With E2AP v02.03.
    V2,
    /// With E2AP v03.01.
    V3,
}

impl E42Version {
    /// All versions, oldest first.
    pub const ALL: [E42Version; 3] = [E42Version::V1, E42Version::V2, E42Version::V3];

    /// Returns the version of E2AP.
    #[must_use]
    pub const fn e2ap(self) -> Version {
        match self {
            E42Version::V1 => Version::V1_01,
            E42Version::V2 => Version::V2_03,
            E42Version::V3 => Version::V3_01,
        }
    }

    /// Returns the short name: `1`, `2` or `3`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            E42Version::V1 => "1",
            E42Version::V2 => "2",
            E42Version::V3 => "3",
        }
    }

    /// Returns the first procedure code of E42.
    const fn first_code(self) -> u8 {
        match self {
            E42Version::V1 => 12,
            E42Version::V2 => 14,
            E42Version::V3 => 17,
        }
    }

    /// Returns the first IE id of E42.
    const fn first_ie(self) -> u16 {
        match self {
            E42Version::V1 => 49,
            E42Version::V2 => 62,
            E42Version::V3 => 98,
        }
    }
}

impl fmt::Display for E42Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A version that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownE42Version;

impl fmt::Display for UnknownE42Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown E42 version; supported are 1, 2 and 3, by the E2AP that the peer was built for")
    }
}

impl std::error::Error for UnknownE42Version {}

impl core::str::FromStr for E42Version {
    type Err = UnknownE42Version;
    fn from_str(text: &str) -> Result<Self, UnknownE42Version> {
        let text = text.trim_start_matches(['v', 'V']);
        E42Version::ALL.into_iter().find(|v| v.name() == text).ok_or(UnknownE42Version)
    }
}

/// The procedures, by their offset from the first code.
const SETUP: u8 = 0;
const SUBSCRIPTION: u8 = 1;
const SUBSCRIPTION_DELETE: u8 = 2;
const CONTROL: u8 = 3;

/// Any message of E42.
#[derive(Clone, Debug, PartialEq)]
pub enum E42Pdu<'a> {
    /// An xApp registers.
    SetupRequest(E42SetupRequest<'a>),
    /// The RIC accepts the xApp.
    SetupResponse(E42SetupResponse<'a>),
    /// An xApp subscribes.
    SubscriptionRequest(E42SubscriptionRequest<'a>),
    /// An xApp deletes a subscription.
    SubscriptionDeleteRequest(E42SubscriptionDeleteRequest),
    /// An xApp sends a control.
    ControlRequest(E42ControlRequest<'a>),
    /// A message of E2AP: a response or an indication.
    E2ap(Pdu<'a>),
}

impl<'a> E42Pdu<'a> {
    /// Returns the name of the message's type.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            E42Pdu::SetupRequest(_) => "E42SetupRequest",
            E42Pdu::SetupResponse(_) => "E42SetupResponse",
            E42Pdu::SubscriptionRequest(_) => "E42SubscriptionRequest",
            E42Pdu::SubscriptionDeleteRequest(_) => "E42SubscriptionDeleteRequest",
            E42Pdu::ControlRequest(_) => "E42ControlRequest",
            E42Pdu::E2ap(pdu) => pdu.name(),
        }
    }

    /// Appends the PDU to `out`, in the wire format of `version`. After an error `out` is as it was.
    ///
    /// # Errors
    /// The message contains an IE that `version` does not have, lacks one that is mandatory in it, or contains a value
    /// outside its constraints.
    pub fn encode(&self, version: E42Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        let (kind, procedure) = match self {
            E42Pdu::SetupRequest(_) => (Kind::Initiating, SETUP),
            E42Pdu::SetupResponse(_) => (Kind::Successful, SETUP),
            E42Pdu::SubscriptionRequest(_) => (Kind::Initiating, SUBSCRIPTION),
            E42Pdu::SubscriptionDeleteRequest(_) => (Kind::Initiating, SUBSCRIPTION_DELETE),
            E42Pdu::ControlRequest(_) => (Kind::Initiating, CONTROL),
            E42Pdu::E2ap(pdu) => return pdu.encode(version.e2ap(), out),
        };
        let start = out.len();
        let mut writer = Writer::new(out, version.e2ap().revision());
        let result = self.write(version, kind, procedure, &mut writer);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn write(&self, version: E42Version, kind: Kind, procedure: u8, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        writer.bits(kind as u64, 3);
        ProcedureCode(version.first_code() + procedure).encode(writer)?;
        crate::Criticality::Reject.encode(writer)?;
        writer.open_type(0, |writer| {
            writer.bit(false);
            match self {
                E42Pdu::SetupRequest(message) => message.write(writer),
                E42Pdu::SetupResponse(message) => message.write(version, writer),
                E42Pdu::SubscriptionRequest(message) => message.write(version, writer),
                E42Pdu::SubscriptionDeleteRequest(message) => message.write(version, writer),
                E42Pdu::ControlRequest(message) => message.write(version, writer),
                E42Pdu::E2ap(_) => unreachable!("encoded by E2AP"),
            }
        })
    }
}

impl Describe for E42Pdu<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        if let E42Pdu::E2ap(pdu) = self {
            return pdu.describe(visitor);
        }
        visitor.begin_record();
        visitor.field(self.name());
        match self {
            E42Pdu::SetupRequest(message) => message.describe(visitor),
            E42Pdu::SetupResponse(message) => message.describe(visitor),
            E42Pdu::SubscriptionRequest(message) => message.describe(visitor),
            E42Pdu::SubscriptionDeleteRequest(message) => message.describe(visitor),
            E42Pdu::ControlRequest(message) => message.describe(visitor),
            E42Pdu::E2ap(_) => {}
        }
        visitor.end_record();
    }
}

/// Decodes a PDU of an E42 link of `version`. The message borrows from `bytes` or, for fragmented values, from `gather`.
///
/// # Errors
/// As [`crate::decode`].
pub fn decode<'a>(bytes: &'a [u8], version: E42Version, gather: &'a Gather) -> Result<E42Pdu<'a>, Error> {
    let mut reader = per::Reader::with_store(bytes, version.e2ap().revision(), per::Heap::gathering(gather));
    let (kind, code, _, inner) = header(&mut reader).map_err(Error::Header)?;
    let Some(procedure) = code.0.checked_sub(version.first_code()).filter(|procedure| *procedure <= CONTROL) else {
        return Ok(E42Pdu::E2ap(crate::decode(bytes, version.e2ap(), gather)?.pdu));
    };
    let mut container = Container::open(inner, kind, code, Deviations::default())?;
    let pdu = match (kind, procedure) {
        (Kind::Initiating, SETUP) => E42Pdu::SetupRequest(E42SetupRequest::read(&mut container)?),
        (Kind::Successful, SETUP) => E42Pdu::SetupResponse(E42SetupResponse::read(version, &mut container)?),
        (Kind::Initiating, SUBSCRIPTION) => {
            E42Pdu::SubscriptionRequest(E42SubscriptionRequest::read(version, &mut container)?)
        }
        (Kind::Initiating, SUBSCRIPTION_DELETE) => {
            E42Pdu::SubscriptionDeleteRequest(E42SubscriptionDeleteRequest::read(version, &mut container)?)
        }
        (Kind::Initiating, CONTROL) => E42Pdu::ControlRequest(E42ControlRequest::read(version, &mut container)?),
        // FlexRIC's ASN.1 allows responses with these codes too; its RIC sends them with the codes of E2AP
        _ => {
            let criticality = crate::Criticality::Reject;
            return Err(Error::UnknownProcedure { kind, procedure_code: code, criticality });
        }
    };
    container.close()?;
    Ok(pdu)
}
