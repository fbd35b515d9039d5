//! FlatBuffers: a reader for untrusted buffers, a writer that appends to the caller's buffer, and schemas as text.
//!
//! This crate has the wire format only: tables, vectors, strings and scalars, and their positions. The slots of fields are
//! defined elsewhere: `per::flat` derives them from the declarations that PER uses.
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
//! A *place* is the position of a field or an item in its table or vector: of a scalar, or of the offset to a table, vector or
//! string. Reader and writer both use places.
//!
//! # Reading
//!
//! Every offset, length and vtable is checked when it is used; there is no separate verification. Offsets point forward only, so
//! there are no cycles. The nesting of tables is bounded by [`MAX_DEPTH`], and the number of visited tables and items by the
//! length of the buffer, so that offsets with the same target do not multiply the work. Alignment is not required when reading.
//!
//! # Writing
//!
//! The usual builder writes from the end to the start of its own buffer. This writer appends: a table precedes the targets of
//! its offsets, as the format requires, and nothing is copied twice. Equal vtables are written once, if they are among the last
//! few.

#![forbid(unsafe_code)]

mod error;
mod reader;
pub mod schema;
mod writer;

pub use error::{Error, ErrorKind};
pub use reader::{MAX_DEPTH, Reader, Table, Vector};
pub use writer::{Places, Writer};
