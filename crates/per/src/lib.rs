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
//! # Revisions
//!
//! One Rust type may have several wire formats: a component with `#[per(since = 2)]` or `#[per(until = 1)]` is in the
//! encoding only where the reader's or writer's revision allows. What the numbers mean is the message crate's affair.
//!
//! # Errors and panics
//!
//! Bytes never cause a panic: whatever they hold becomes a value or an [`Error`] with the bit at fault. Memory that a
//! decode takes is bounded by [`MAX_ITEMS`] and the input's length.

#![forbid(unsafe_code)]
// Bits are cut out of wider words everywhere here; each cast stands behind a range check or a mask.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)]

extern crate self as per;

mod bits;
mod codec;
mod describe;
mod error;
mod list;
mod octets;
mod reader;
mod real;
mod text;
mod writer;

pub use bits::{BitString, Bits};
pub use codec::{
    Decode, DecodeSized, Encode, EncodeSized, IntoOwned, Size, decode, decode_integer, encode, encode_integer,
};
pub use describe::{Describe, Visitor};
pub use error::{Error, ErrorKind};
pub use list::{Gather, Heap, List, Memo, Store};
pub use octets::{Chunks, Octets};
pub use per_derive::Per;
pub use reader::{Additions, MAX_DEPTH, MAX_ITEMS, Reader};
pub use real::Real;
pub use text::PrintableString;
pub use writer::{OpenType, Writer};
