//! The hello-world service model: a ping. It is ours, and made to measure the way, not the payload.
//!
//! | | |
//! |---|---|
//! | RAN function id | 140, by habit ([`FUNCTION_ID`]) |
//! | object identifier | `1.3.6.1.4.1.32473.1.140`, in the arc for documentation of RFC 5612 ([`OID`]); behind a prefix where it is in FlatBuffers ([`Wire`]) |
//! | RAN function definition | [`RanFunctionDefinition`] |
//! | event trigger | empty: a control is what triggers ([`EVENT_TRIGGER`]) |
//! | control header | any octets |
//! | control message | any octets; our xApps put a [`Ping`] there |
//! | indication header and message | the octets of the control that it answers |
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

/// The RAN function id that nodes give this model.
pub const FUNCTION_ID: u16 = 140;

/// The model's object identifier.
pub const OID: &str = "1.3.6.1.4.1.32473.1.140";

/// The octets of an event trigger definition: none.
pub const EVENT_TRIGGER: &[u8] = &[];

/// HW-RANfunction-Definition: `SEQUENCE { name PrintableString (SIZE (1..150)), description PrintableString (SIZE
/// (0..150)), version INTEGER (0..255), ... }`.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// The model's name.
    #[per(size = 1..=150)]
    pub name: PrintableString<'a>,
    /// What it does, for people.
    #[per(size = 0..=150)]
    pub description: PrintableString<'a>,
    /// The model's version.
    pub version: u8,
}

impl RanFunctionDefinition<'static> {
    /// What every node says.
    pub const STANDARD: RanFunctionDefinition<'static> = RanFunctionDefinition {
        name: PrintableString::literal("HW"),
        description: PrintableString::literal("Answers a control with an indication of the same octets"),
        version: 1,
    };
}

/// What our xApps put into a control message, and get back: `SEQUENCE { number INTEGER (0..4294967295), payload OCTET
/// STRING, ... }`.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct Ping<'a> {
    /// Which one.
    pub number: u32,
    /// Octets that make it as long as it is to be.
    pub payload: Octets<'a>,
}

/// The wire form that an object identifier means, where it is one of this model's.
#[must_use]
pub fn wire_of(oid: &str) -> Option<Wire> {
    let (wire, own) = Wire::of(oid);
    (own == OID).then_some(wire)
}

macro_rules! messages {
    ($($name:ident)*) => {$(
        impl<'a> $name<'a> {
            /// Reads all of `bytes`.
            ///
            /// # Errors
            /// Whatever is wrong with the encoding; a wire form that the model does not have.
            pub fn decode(bytes: &'a [u8], wire: Wire, arena: &'a Arena) -> Result<Self, Error> {
                crate::wire::decode(bytes, 0, wire, arena)
            }
        }

        impl $name<'_> {
            /// Appends the encoding to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value outside its constraints; a wire form that the model does not have.
            pub fn encode(&self, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
                crate::wire::encode(self, 0, wire, out)
            }
        }
    )*};
}

messages! { RanFunctionDefinition Ping }
