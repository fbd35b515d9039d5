//! The hello-world service model: a ping. A model of ferric, for measuring the path rather than the payload.
//!
//! | | |
//! |---|---|
//! | RAN function ID | 140 by convention ([`FUNCTION_ID`]) |
//! | object identifier | `1.3.6.1.4.1.32473.1.140`, in the documentation arc of RFC 5612 ([`OID`]); with a prefix for FlatBuffers ([`Wire`]) |
//! | RAN function definition | [`RanFunctionDefinition`] |
//! | event trigger | empty: a control triggers the indication ([`EVENT_TRIGGER`]) |
//! | control header | any octets |
//! | control message | any octets; ferric's xApps send a [`Ping`] |
//! | indication header and message | the octets of the control |
//!
//! ```
//! use e2sm::hw::RanFunctionDefinition;
//!
//! use e2sm::{Arena, Wire};
//!
//! let mut bytes = Vec::new();
//! RanFunctionDefinition::STANDARD.encode(Wire::Per, &mut bytes)?;
//! assert_eq!(RanFunctionDefinition::decode(&bytes, Wire::Per, &Arena::new())?, RanFunctionDefinition::STANDARD);
//! # Ok::<(), e2sm::Error>(())
//! ```

use per::{Octets, Per, PrintableString};

use crate::{Arena, Error, Wire};

/// The RAN function ID of this model.
pub const FUNCTION_ID: u16 = 140;

/// The object identifier of the model.
pub const OID: &str = "1.3.6.1.4.1.32473.1.140";

/// The event trigger definition, which is empty.
pub const EVENT_TRIGGER: &[u8] = &[];

/// HW-RANfunction-Definition: `SEQUENCE { name PrintableString (SIZE (1..150)), description PrintableString (SIZE
/// (0..150)), version INTEGER (0..255), ... }`.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// The name of the model.
    #[per(size = 1..=150)]
    pub name: PrintableString<'a>,
    /// A description.
    #[per(size = 0..=150)]
    pub description: PrintableString<'a>,
    /// The version of the model.
    pub version: u8,
}

impl RanFunctionDefinition<'static> {
    /// The definition that every node sends.
    pub const STANDARD: RanFunctionDefinition<'static> = RanFunctionDefinition {
        name: PrintableString::literal("HW"),
        description: PrintableString::literal("Answers a control with an indication of the same octets"),
        version: 1,
    };
}

/// The control message of ferric's xApps, which the node returns: `SEQUENCE { number INTEGER (0..4294967295), payload
/// OCTET STRING, ... }`.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct Ping<'a> {
    /// The number of the ping.
    pub number: u32,
    /// Padding to the desired length.
    pub payload: Octets<'a>,
}

/// Returns the encoding that an object identifier denotes; `None` if it belongs to another model.
#[must_use]
pub fn wire_of(oid: &str) -> Option<Wire> {
    let (wire, own) = Wire::of(oid);
    (own == OID).then_some(wire)
}

macro_rules! messages {
    ($($name:ident)*) => {$(
        impl<'a> $name<'a> {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// A malformed encoding; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn decode(bytes: &'a [u8], wire: Wire, arena: &'a Arena) -> Result<Self, Error> {
                crate::wire::decode(bytes, 0, wire, arena)
            }
        }

        impl $name<'_> {
            /// Appends the encoding to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value outside its constraints; [`Error::NotInWire`].
            pub fn encode(&self, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
                crate::wire::encode(self, 0, wire, out)
            }
        }
    )*};
}

messages! { RanFunctionDefinition Ping }
