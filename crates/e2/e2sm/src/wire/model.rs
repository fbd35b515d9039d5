//! Models with several encodings: FlexRIC's, and RRC notifications.

use per::{Decode, Encode};

use super::{FlatDecode, FlatEncode, Wire};
use crate::plain::{self, Plain};
use crate::{Arena, Error};

const PER_ARC: &str = "1.3.6.1.4.1.32473.1.";
const PLAIN_ARC: &str = "0.0.0.0.0.0.0.0.1.";
const PLAIN_END: &str = ".0";

/// Returns the model, as its RAN function ID in FlexRIC, and the encoding that an object identifier denotes; `None` if it
/// is in none of the arcs listed at [`Wire`].
///
/// ```
/// use e2sm::{Wire, detect};
///
/// assert_eq!(detect("0.0.0.0.0.0.0.0.1.142.0"), Some((142, Wire::Plain)));
/// assert_eq!(detect("1.3.6.1.4.1.32473.1.142"), Some((142, Wire::Per)));
/// assert_eq!(detect("1.3.6.1.4.1.32473.2.1.3.6.1.4.1.32473.1.142"), Some((142, Wire::Flat)));
/// assert_eq!(detect("1.3.6.1.4.1.53148.1.2.2.2"), None); // E2SM-KPM
/// ```
#[must_use]
pub fn detect(oid: &str) -> Option<(u16, Wire)> {
    let (wire, own) = Wire::of(oid);
    let (number, wire) = match own.strip_prefix(PER_ARC) {
        Some(number) => (number, wire),
        // there are no FlatBuffers of the plain layout
        None if wire == Wire::Flat => return None,
        None => (own.strip_prefix(PLAIN_ARC)?.strip_suffix(PLAIN_END)?, Wire::Plain),
    };
    // an arc has one notation: digits without a leading zero
    let plain = number.bytes().all(|digit| digit.is_ascii_digit()) && !number.starts_with('0');
    Some((number.parse().ok().filter(|_| plain)?, wire))
}

/// A service model with several encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The RAN function ID, which is also its number in object identifiers.
    pub function_id: u16,
    /// The name in its RAN function definition.
    pub name: &'static str,
    /// Its encodings.
    pub wires: &'static [Wire],
}

impl Model {
    /// Returns its object identifier in an encoding.
    #[must_use]
    pub fn oid(&self, wire: Wire) -> String {
        match wire {
            Wire::Per | Wire::Flat => wire.oid(&format!("{PER_ARC}{}", self.function_id)).into_owned(),
            Wire::Plain => format!("{PLAIN_ARC}{}{PLAIN_END}", self.function_id),
        }
    }

    /// Returns the encoding that an object identifier denotes; `None` if it belongs to another model, or if this one has no
    /// such encoding.
    #[must_use]
    pub fn wire_of(&self, oid: &str) -> Option<Wire> {
        let (number, wire) = detect(oid)?;
        let built_in = wire != Wire::Flat || cfg!(feature = "flat");
        (number == self.function_id && self.wires.contains(&wire) && built_in).then_some(wire)
    }
}

/// Decodes all of `bytes`; lists are stored in `arena`.
pub(crate) fn decode<'a, T>(bytes: &'a [u8], wire: Wire, arena: &'a Arena) -> Result<T, Error>
where
    T: Decode<'a, &'a Arena> + FlatDecode<'a> + Plain<'a>,
{
    match wire {
        Wire::Plain => Ok(plain::decode(bytes, arena)?),
        wire => super::decode(bytes, 0, wire, arena),
    }
}

/// As [`decode`], for messages without a plain layout.
pub(crate) fn decode_per<'a, T>(bytes: &'a [u8], wire: Wire, arena: &'a Arena) -> Result<T, Error>
where
    T: Decode<'a, &'a Arena> + FlatDecode<'a>,
{
    super::decode(bytes, 0, wire, arena)
}

/// Appends the encoding; after an error `out` is as it was.
pub(crate) fn encode<'a, T: Encode + FlatEncode + Plain<'a>>(
    value: &T,
    wire: Wire,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    match wire {
        Wire::Plain => Ok(plain::encode(value, out)?),
        wire => super::encode(value, 0, wire, out),
    }
}

/// As [`encode`], for messages without a plain layout.
pub(crate) fn encode_per<T: Encode + FlatEncode>(value: &T, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
    super::encode(value, 0, wire, out)
}

/// Implements the decoding and encoding functions of a message that borrows from the octets or owns its values, in all
/// encodings or in all but the plain layout.
macro_rules! message {
    ($name:ident, $kind:ident) => {
        $crate::wire::model::message!(@$kind $name, decode, encode);
    };
    ($name:ident, $kind:ident, per only) => {
        $crate::wire::model::message!(@$kind $name, decode_per, encode_per);
    };
    (@borrowing $name:ident, $decode:ident, $encode:ident) => {
        impl<'a> $name<'a> {
            /// Decodes all of `bytes`; lists are stored in `arena`.
            ///
            /// # Errors
            /// A malformed encoding; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn decode(
                bytes: &'a [u8],
                wire: $crate::Wire,
                arena: &'a $crate::Arena,
            ) -> Result<Self, $crate::Error> {
                $crate::wire::model::$decode(bytes, wire, arena)
            }

            /// Decodes all of `bytes` into a value that borrows nothing.
            ///
            /// # Errors
            /// As [`Self::decode`].
            #[inline]
            pub fn decode_owned(bytes: &[u8], wire: $crate::Wire) -> Result<$name<'static>, $crate::Error> {
                let arena = $crate::Arena::new();
                $name::decode(bytes, wire, &arena).map(per::IntoOwned::into_owned)
            }
        }
        $crate::wire::model::message!(@encode $name<'_>, $encode);
    };
    (@owning $name:ident, $decode:ident, $encode:ident) => {
        impl $name {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// A malformed encoding; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn decode(bytes: &[u8], wire: $crate::Wire) -> Result<Self, $crate::Error> {
                let arena = $crate::Arena::new();
                $crate::wire::model::$decode(bytes, wire, &arena)
            }
        }
        $crate::wire::model::message!(@encode $name, $encode);
    };
    (@encode $type:ty, $encode:ident) => {
        impl $type {
            /// Appends the encoding to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value that the encoding cannot represent; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn encode(&self, wire: $crate::Wire, out: &mut Vec<u8>) -> Result<(), $crate::Error> {
                $crate::wire::model::$encode(self, wire, out)
            }
        }
    };
}
pub(crate) use message;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oid_denotes_model_and_encoding() {
        const MAC: Model = Model { function_id: 142, name: "MAC", wires: &[Wire::Per] };
        for wire in [Wire::Per, Wire::Plain, Wire::Flat] {
            assert_eq!(detect(&MAC.oid(wire)), Some((142, wire)));
        }
        assert_eq!(MAC.wire_of("1.3.6.1.4.1.32473.1.142"), Some(Wire::Per));
        assert_eq!(MAC.wire_of("1.3.6.1.4.1.32473.1.143"), None);
        assert_eq!(MAC.wire_of("0.0.0.0.0.0.0.0.1.142.0"), None, "an encoding that the model does not have");
        for other in [
            "",
            "1.3.6.1.4.1.53148.1.2.2.2",
            "1.3.6.1.4.1.32473.1.",
            "1.3.6.1.4.1.32473.1.142.0",
            "1.3.6.1.4.1.32473.1.0142",
            "1.3.6.1.4.1.32473.1.+142",
            "1.3.6.1.4.1.32473.1.65536",
            "0.0.0.0.0.0.0.0.1.142",
            "0.0.0.0.0.0.0.0.1.0",
            "0.0.0.0.0.0.0.0.1..0",
            "1.3.6.1.4.1.32473.2.142",
            "1.3.6.1.4.1.32473.2.0.0.0.0.0.0.0.0.1.142.0",
        ] {
            assert_eq!(detect(other), None, "{other}");
        }
    }
}
