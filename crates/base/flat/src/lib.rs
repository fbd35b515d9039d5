//! FlatBuffers: a reader that trusts nothing, a writer that appends to the caller's buffer, and schemas as text.
//!
//! This is the wire format alone: tables, vectors, strings and scalars, and where they lie. Which field a slot is, is for
//! who declares types: `per::flat` derives it from the declarations that PER uses.
//!
//! ```
//! use flat::{Reader, Writer};
//!
//! // a table with an octet string in slot 0 and a number in slot 2
//! let mut out = Vec::new();
//! let mut writer = Writer::new(&mut out, Some(*b"DEMO"));
//! let table = writer.table(writer.root(), [4, 0, 2]);
//! writer.octets(table.place(0), [&b"hello"[..]].into_iter());
//! writer.scalar(table.place(2), 7u16.to_le_bytes());
//! writer.finish()?;
//!
//! let mut reader = Reader::new(&out);
//! let root = reader.root(Some(*b"DEMO"))?;
//! let table = reader.table(root)?;
//! assert_eq!(reader.octets(table.place(0).unwrap())?, b"hello");
//! assert_eq!(table.place(1), None);
//! assert_eq!(u16::from_le_bytes(reader.scalar(table.place(2).unwrap())?), 7);
//! # Ok::<(), flat::Error>(())
//! ```
//!
//! # Places
//!
//! A *place* is where a field or an item lies inside its table or vector: the scalar itself, or the offset that leads
//! to a table, vector or string. Reader and writer both use places, so that a codec only states what to read or write
//! at each field.
//!
//! # Reading
//!
//! Every offset, length and vtable is checked when it is followed; there is no pass of verification before. Offsets
//! lead forward only, so that there are no cycles; tables inside each other are bounded by [`MAX_DEPTH`], and all that
//! is visited in a buffer by the buffer's length, so that offsets which share what they lead to cannot multiply the
//! work. Alignment is not required when reading.
//!
//! # Writing
//!
//! The usual builder works from the back to the front, in its own buffer. This one appends: a table's place comes
//! before what its offsets lead to, which is all that the format requires, and nothing is copied a second time. Equal
//! vtables are written once, as far as the last few are remembered.

#![forbid(unsafe_code)]

mod error;
mod reader;
pub mod schema;
mod writer;

pub use error::{Error, ErrorKind};
pub use reader::{MAX_DEPTH, Reader, Table, Vector};
pub use writer::{Places, Writer};
