//! The encodings of service models.
//!
//! The object identifier of a RAN function denotes its encoding:
//!
//! | encoding | object identifier |
//! |---|---|
//! | [`Wire::Per`]: aligned PER | that of the model: O-RAN's, or `1.3.6.1.4.1.32473.1.N` for function N of ferric, in the documentation arc of RFC 5612 |
//! | [`Wire::Flat`]: FlatBuffers of the same types | `1.3.6.1.4.1.32473.2` followed by that of the model |
//! | [`Wire::Plain`]: FlexRIC's C structures, see `plain` | `0.0.0.0.0.0.0.0.1.N.0`, as FlexRIC registers function N |
//!
//! O-RAN specifies one encoding for each of its models; FlatBuffers need an agreement between node and controller.

#[cfg(feature = "flexric")]
pub(crate) mod model;

use core::fmt;
use std::borrow::Cow;

use per::{Decode, Encode};

use crate::{Arena, Error};

#[cfg(feature = "flexric")]
pub(crate) use model::message;
#[cfg(feature = "flexric")]
pub use model::{Model, detect};

/// The encoding of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wire {
    /// Aligned PER.
    #[default]
    Per,
    /// FlexRIC's plain layout: C structures of x86-64, little endian.
    Plain,
    /// FlatBuffers, with the schemas in `schema/`; requires the feature `flat`.
    Flat,
}

const FLAT_ARC: &str = "1.3.6.1.4.1.32473.2.";

impl Wire {
    /// Returns the name: `per`, `plain` or `flat`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Wire::Per => "per",
            Wire::Plain => "plain",
            Wire::Flat => "flat",
        }
    }

    /// Splits the object identifier of a model in PER or FlatBuffers into the encoding and the identifier of the model.
    ///
    /// ```
    /// use e2sm::Wire;
    ///
    /// let own = "1.3.6.1.4.1.53148.1.2.2.2"; // E2SM-KPM
    /// assert_eq!(Wire::of(own), (Wire::Per, own));
    /// assert_eq!(Wire::of(&Wire::Flat.oid(own)), (Wire::Flat, own));
    /// ```
    #[must_use]
    pub fn of(oid: &str) -> (Wire, &str) {
        match oid.strip_prefix(FLAT_ARC) {
            Some(own) => (Wire::Flat, own),
            None => (Wire::Per, oid),
        }
    }

    /// Returns the object identifier of a model in this encoding, given the identifier of the model.
    #[must_use]
    pub fn oid(self, own: &str) -> Cow<'_, str> {
        match self {
            Wire::Flat => Cow::Owned(format!("{FLAT_ARC}{own}")),
            Wire::Per | Wire::Plain => Cow::Borrowed(own),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A type that can be decoded from FlatBuffers too, if they are built in.
#[cfg(feature = "flat")]
pub(crate) trait FlatDecode<'a>: per::flat::Decode<'a, &'a Arena> {}
#[cfg(feature = "flat")]
impl<'a, T: per::flat::Decode<'a, &'a Arena>> FlatDecode<'a> for T {}
#[cfg(not(feature = "flat"))]
pub(crate) trait FlatDecode<'a> {}
#[cfg(not(feature = "flat"))]
impl<'a, T> FlatDecode<'a> for T {}

/// A type that can be encoded in FlatBuffers too, if they are built in.
#[cfg(feature = "flat")]
pub(crate) trait FlatEncode: per::flat::Encode {}
#[cfg(feature = "flat")]
impl<T: per::flat::Encode> FlatEncode for T {}
#[cfg(not(feature = "flat"))]
pub(crate) trait FlatEncode {}
#[cfg(not(feature = "flat"))]
impl<T> FlatEncode for T {}

/// Decodes all of `bytes` from PER or FlatBuffers; lists are stored in `arena`.
pub(crate) fn decode<'a, T>(bytes: &'a [u8], revision: u8, wire: Wire, arena: &'a Arena) -> Result<T, Error>
where
    T: Decode<'a, &'a Arena> + FlatDecode<'a>,
{
    match wire {
        Wire::Per => {
            let mut reader = per::Reader::with_store(bytes, revision, arena);
            let value = T::decode(&mut reader)?;
            reader.finish()?;
            Ok(value)
        }
        #[cfg(feature = "flat")]
        Wire::Flat => Ok(per::flat::decode_in(bytes, revision, None, arena)?),
        wire => Err(Error::NotInWire(wire)),
    }
}

/// Appends the encoding; after an error `out` is as it was.
pub(crate) fn encode<T: Encode + FlatEncode>(
    value: &T,
    revision: u8,
    wire: Wire,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let result = match wire {
        // `dyn`: compiled once for all types
        Wire::Per => per::encode(value as &dyn Encode, revision, out),
        #[cfg(feature = "flat")]
        Wire::Flat => per::flat::encode(value, revision, None, out),
        wire => return Err(Error::NotInWire(wire)),
    };
    result.map_err(Error::from)
}
