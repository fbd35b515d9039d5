//! Aligned Packed Encoding Rules (ITU-T X.691): a zero-copy reader, a writer, and a derive that turns a Rust type into a codec.
//!
//! # Declaring types
//!
//! A type is declared once, as plain Rust; [`derive@Per`] gives it its codec.
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
//! | REAL | [`Real`]; `f64` and `f32` where its value is enough |
//! | OCTET STRING | [`Octets`]; `[u8; N]` for one size, kept in place |
//! | BIT STRING | [`BitString`]; [`Bits`] for at most 64 bits |
//! | PrintableString, VisibleString, IA5String without FROM | [`PrintableString`] |
//! | SEQUENCE OF | [`List`]; [`Memo`] around one that its neighbours repeat |
//! | ENUMERATED, CHOICE, SEQUENCE | an enum, an enum with payloads, a struct: see [`derive@Per`] |
//! | an open type, an information object's field | custom code with [`Reader::open_type`] and [`Writer::open_type`] |
//!
//! Not supported, because E2 has none of them: SET, permitted alphabets, other character strings, named bits, object
//! identifiers, integers beyond 64 bits, the unaligned variant.
//!
//! # Revisions
//!
//! One Rust type may have several wire formats: a component with `#[per(since = 2)]` or `#[per(until = 1)]` is in the
//! encoding only where the reader's or writer's revision allows. The message crate defines the numbers.
//!
//! # Reading
//!
//! [`decode`] reads a whole PDU; [`Reader`] goes field by field, where only some are of interest. Strings are borrowed
//! from the input. Lists, and octets that are not contiguous, go to a [`Store`]: [`Heap`], or an arena that the
//! caller supplies. An OCTET STRING of 16384 octets or more comes in fragments ([`Octets::chunks`]); an open type of that
//! length must be put together before it can be read, for which a [`Heap`] needs a [`Gather`].
//!
//! A reader accepts every choice that X.691 leaves to the sender, and more: numbers and lengths in longer forms than needed, any
//! padding bits, defaults that are written out, fragments of any allowed size, any ASCII in a PrintableString. It accepts
//! nothing else: values outside their constraint, unknown indices and octets after a value are errors.
//!
//! # Writing
//!
//! [`encode`] appends to the caller's buffer the one canonical encoding (a [`Real`] that was read keeps its form). The
//! length of an open type is filled in after its value; [`Encode::size_hint`] makes room for it beforehand, and a
//! wrong hint costs a move within the buffer. No memory is needed beside the buffer.
//!
//! # Another encoding
//!
//! With the feature `flat` the same declarations give a FlatBuffers codec and its schema: see the module `flat`.
//! [`derive@Flat`] gives that codec alone, to a type whose PER codec is written by hand.
//!
//! # Errors and panics
//!
//! Bytes never cause a panic: they decode to a value or an [`Error`] with the position of the bit. The memory that
//! a decode takes is bounded by [`MAX_ITEMS`] and the input's length, the stack by [`MAX_DEPTH`].

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
