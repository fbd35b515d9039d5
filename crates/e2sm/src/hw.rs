//! The hello-world service model: a ping. It is ours, and made to measure the way, not the payload.
//!
//! | | |
//! |---|---|
//! | RAN function id | 140, by habit ([`FUNCTION_ID`]) |
//! | object identifier | `1.3.6.1.4.1.32473.1.140`, in the arc for documentation of RFC 5612 ([`OID`]) |
//! | RAN function definition | [`RanFunctionDefinition`] |
//! | event trigger | empty: a control is what triggers ([`EVENT_TRIGGER`]) |
//! | control header and message | any octets |
//! | indication header and message | the octets of the control that it answers |
//!
//! ```
//! use e2sm::hw::RanFunctionDefinition;
//!
//! let bytes = RanFunctionDefinition::STANDARD.encode()?;
//! assert_eq!(RanFunctionDefinition::decode(&bytes)?, RanFunctionDefinition::STANDARD);
//! # Ok::<(), per::Error>(())
//! ```

use per::{Error, Per, PrintableString};

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

impl<'a> RanFunctionDefinition<'a> {
    /// Reads all of `bytes`.
    ///
    /// # Errors
    /// Whatever is wrong with the encoding.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        per::decode(bytes, 0)
    }
}

impl RanFunctionDefinition<'_> {
    /// The encoding.
    ///
    /// # Errors
    /// A text outside its bounds.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        per::encode(self, 0, &mut out)?;
        Ok(out)
    }
}
