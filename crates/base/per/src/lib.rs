//! Aligned Packed Encoding Rules (ITU-T X.691): a zero-copy reader, a writer, and a derive that turns a Rust type into a codec.
//!
//! # Declaring types
//!
//! A type is declared once, as plain Rust; [`derive@Per`] generates its codec.
//!
//! ```
//! use per::{List, Octets, Per, PrintableString};
//!
//! /// INTEGER (0..4095)
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
//! #[per(range = 0..=4095)]
//! pub struct FunctionId(pub u16);
//!
//! /// ENUMERATED, extensible
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
//! #[per(extensible)]
//! pub enum Kind { Report, Insert }
//!
//! /// SEQUENCE, extensible
//! #[derive(Clone, Debug, PartialEq, Per)]
//! #[per(extensible)]
//! pub struct Function<'a> {
//!     pub id: FunctionId,
//!     pub definition: Octets<'a>,
//!     /// OPTIONAL
//!     pub kind: Option<Kind>,
//!     #[per(size = 1..=1000, extensible)]
//!     pub oid: PrintableString<'a>,
//!     #[per(size = 0..=16)]
//!     pub likes: List<'a, FunctionId>,
//!     /// an extension addition
//!     #[per(addition)]
//!     pub note: Option<Octets<'a>>,
//! }
//!
//! let function = Function {
//!     id: FunctionId(140),
//!     definition: Octets::from(&b"hello"[..]),
//!     kind: Some(Kind::Insert),
//!     oid: PrintableString::try_from("1.3.6.1")?,
//!     likes: List::from(vec![FunctionId(2)]),
//!     note: None,
//! };
//! let mut bytes = Vec::new();
//! per::encode(&function, 0, &mut bytes)?;
//! let read: Function = per::decode(&bytes, 0)?;
//! assert_eq!(read, function);
//! assert_eq!(read.definition.as_slice(), Some(&bytes[4..9])); // borrowed from the input
//! # Ok::<(), per::Error>(())
//! ```
//!
//! | ASN.1 | Rust |
//! |---|---|
//! | BOOLEAN, NULL | `bool`, a CHOICE variant without payload |
//! | INTEGER (0..255), (0..65535), (0..4294967295), (0..9223372036854775807) | `u8`, `u16`, `u32`, `u64` |
//! | INTEGER (-128..127), (-2147483648..2147483647), INTEGER | `i8`, `i32`, `i64` |
//! | INTEGER (lo..hi), (lo..hi, ...), (lo..MAX) | any integer that `i64` holds, with `range` |
//! | REAL | [`Real`]; `f64` and `f32` if only the value matters |
//! | OCTET STRING | [`Octets`]; `[u8; N]` for a fixed size, stored inline |
//! | BIT STRING | [`BitString`]; [`Bits`] for at most 64 bits |
//! | PrintableString, VisibleString, IA5String without FROM | [`PrintableString`] |
//! | SEQUENCE OF | [`List`]; [`Memo`] around a list that is repeated |
//! | ENUMERATED, CHOICE, SEQUENCE | an enum, an enum with payloads, a struct: see [`derive@Per`] |
//! | an open type, an information object's field | custom code with [`Reader::open_type`] and [`Writer::open_type`] |
//!
//! Not supported, because E2 does not use them: SET, permitted alphabets, other character strings, named bits, object
//! identifiers, integers beyond 64 bits, the unaligned variant.
//!
//! # Revisions
//!
//! One Rust type may have several wire formats: a component with `#[per(since = 2)]` or `#[per(until = 1)]` is encoded only
//! in the revisions of the reader or writer that have it. The message crate defines the numbers of the revisions.
//!
//! # Reading
//!
//! [`decode`] reads a complete PDU; [`Reader`] reads single fields. Strings are borrowed from the input. Lists, and octets
//! that are not contiguous, are stored in a [`Store`]: [`Heap`], or an arena of the caller. An OCTET STRING of 16384 octets or
//! more is fragmented ([`Octets::chunks`]). An open type of that length must be reassembled before it can be read; for this, a
//! [`Heap`] needs a [`Gather`].
//!
//! A reader accepts every choice that X.691 leaves to the sender, and more: numbers and lengths in longer forms than needed, any
//! padding bits, encoded defaults, fragments of any allowed size, any ASCII in a PrintableString. Everything else is an error:
//! values outside their constraint, unknown indices, octets after a value.
//!
//! # Writing
//!
//! [`encode`] appends the canonical encoding to the caller's buffer (a decoded [`Real`] keeps its form). The length of an open
//! type is written after its value: [`Encode::size_hint`] reserves its space, and after a wrong hint the value is moved within
//! the buffer. No other memory is allocated.
//!
//! # Another encoding
//!
//! With the feature `flat`, the same declarations also generate a FlatBuffers codec and its schema: see the module `flat`.
//! [`derive@Flat`] generates only that codec, for a type with a hand-written PER codec.
//!
//! # Errors and panics
//!
//! Bytes never cause a panic: they decode to a value, or to an [`Error`] with the position of the bit. The memory of a decode is
//! bounded by [`MAX_ITEMS`] and the length of the input, its stack by [`MAX_DEPTH`].

#![forbid(unsafe_code)]
// This crate extracts bits from wider words throughout; each cast follows a range check or a mask.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)]

extern crate self as per;

mod bits;
mod codec;
mod describe;
mod error;
#[cfg(feature = "flat")]
pub mod flat;
#[cfg(feature = "json")]
pub mod json;
mod list;
mod octets;
mod reader;
mod real;
mod text;
mod writer;

pub use bits::{BitString, Bits};
pub use codec::{
    Decode, DecodeSized, Encode, EncodeSized, IntoOwned, Size, decode, decode_component, decode_component_integer,
    decode_component_sized, decode_integer, encode, encode_component, encode_component_integer, encode_component_sized,
    encode_integer,
};
pub use describe::{Describe, Visitor};
pub use error::{Error, ErrorKind};
pub use list::{Gather, Heap, List, ListBuilder, Memo, Single, Store};
pub use octets::{Chunks, Octets};
pub use per_derive::{Flat, Per};
pub use reader::{Additions, MAX_DEPTH, MAX_ITEMS, Reader};
pub use real::Real;
pub use text::PrintableString;
pub use writer::{OpenType, Writer};

/// Expands to its items with the feature `flat` only: for hand-written codecs in crates that cannot know whether the feature
/// is enabled.
#[cfg(feature = "flat")]
#[doc(hidden)]
#[macro_export]
macro_rules! if_flat {
    ($($item:item)*) => { $($item)* };
}

/// See above.
#[cfg(not(feature = "flat"))]
#[doc(hidden)]
#[macro_export]
macro_rules! if_flat {
    ($($item:item)*) => {};
}
