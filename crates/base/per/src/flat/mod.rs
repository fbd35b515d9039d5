//! FlatBuffers: a second encoding of the types that are declared for PER.
//!
//! Every type that derives [`Per`](derive@crate::Per) also has this codec. The slot of a field is its position in the
//! declaration, so fields are added only at the end.
//!
//! | ASN.1 | FlatBuffers |
//! |---|---|
//! | BOOLEAN, NULL | `bool`; NULL is `true` |
//! | INTEGER | a scalar of the width of the Rust type, including extension values |
//! | REAL | `double` |
//! | ENUMERATED | an `enum` of `ubyte`, in the order of the declaration |
//! | OCTET STRING | `[ubyte]` |
//! | BIT STRING | a table of `bits: [ubyte]` and `length: uint` |
//! | character strings | `string` |
//! | SEQUENCE | a table; OPTIONAL and DEFAULT components can be absent |
//! | CHOICE | a table with one present field |
//! | SEQUENCE OF | a vector |
//!
//! A CHOICE is not a union, since a union can contain tables only: a number would need a table, and an octet for its type.
//! Mandatory scalars are optional in the schema (`= null`), so that a zero is not omitted.
//!
//! The root of a buffer is a table. A value that is not a table is the only field of one.
//!
//! All revisions have the same format: the components that a revision does not have are absent. Sizes and ranges are checked as
//! in PER.
//!
//! ```
//! use per::{Octets, Per};
//!
//! #[derive(Clone, Debug, PartialEq, Per)]
//! struct Report<'a> {
//!     id: u16,
//!     note: Option<Octets<'a>>,
//! }
//!
//! let report = Report { id: 7, note: Some(Octets::from(b"hello")) };
//! let mut out = Vec::new();
//! per::flat::encode(&report, 0, None, &mut out)?;
//! assert_eq!(per::flat::decode::<Report>(&out, 0, None)?, report);
//! # Ok::<(), per::Error>(())
//! ```

mod reader;
mod values;
mod writer;

pub use ::flat::schema::{self, Schema};
pub use ::flat::{MAX_DEPTH, Places, Table};
pub use reader::Reader;
pub use values::{
    Member, enumeration, item, read_component, read_component_integer, read_component_sized, read_integer, sequence,
    write_component, write_component_integer, write_component_sized, write_integer,
};
pub use writer::Writer;

use crate::{Error, ErrorKind, Heap, Size, Store};

/// The FlatBuffers representation of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number, stored in the field.
    Scalar,
    /// A table.
    Table,
    /// A string.
    String,
    /// A vector. FlatBuffers has no vectors of vectors: each item of a list is a table of this name.
    Vector {
        /// The table's name.
        item: &'static str,
    },
}

/// A type of a field of a table.
pub trait Type {
    /// The number of octets of the field: of the value, or of the offset to it.
    const WIDTH: u8;
    /// The kind of the type.
    const KIND: Kind;
    /// Declares the type and the types of its fields.
    fn declare(schema: &mut Schema) -> schema::Type;
}

/// A type that can be read. Lists are stored in an `S`.
pub trait Decode<'a, S: Store<'a>>: Type + Sized {
    /// Reads the value at `place`.
    ///
    /// # Errors
    /// The encoding is invalid.
    fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error>;
}

/// A type that can be written.
pub trait Encode: Type {
    /// Writes the value at `place`.
    ///
    /// # Errors
    /// A value outside its constraints.
    fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error>;
}

/// A type whose length can be constrained by a field.
pub trait DecodeSized<'a, S: Store<'a>>: Type + Sized {
    /// Reads the value of constrained size at `place`.
    ///
    /// # Errors
    /// The encoding is invalid.
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error>;
}

/// The writing side of [`DecodeSized`].
pub trait EncodeSized: Type {
    /// Writes the value of constrained size at `place`.
    ///
    /// # Errors
    /// A value outside its constraints.
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error>;
}

/// Decodes `bytes` as one buffer. Lists are stored on the heap.
///
/// # Errors
/// The encoding is invalid.
pub fn decode<'a, T: Decode<'a, Heap<'a>>>(
    bytes: &'a [u8],
    revision: u8,
    identifier: Option<[u8; 4]>,
) -> Result<T, Error> {
    decode_in(bytes, revision, identifier, Heap::default())
}

/// Decodes `bytes` as one buffer. Lists are stored in `store`.
///
/// # Errors
/// The encoding is invalid.
pub fn decode_in<'a, S: Store<'a>, T: Decode<'a, S>>(
    bytes: &'a [u8],
    revision: u8,
    identifier: Option<[u8; 4]>,
    store: S,
) -> Result<T, Error> {
    let mut reader = Reader::with_store(bytes, revision, store);
    let place = reader.root_value(identifier, T::KIND)?;
    T::read(&mut reader, place)
}

/// Appends one value as a buffer to `out`. After an error `out` is unchanged.
///
/// # Errors
/// A value outside its constraints.
pub fn encode<T: Encode>(value: &T, revision: u8, identifier: Option<[u8; 4]>, out: &mut Vec<u8>) -> Result<(), Error> {
    let (kind, width) = (T::KIND, T::WIDTH);
    encode_root(revision, identifier, kind, width, out, &mut |writer, place| value.write(writer, place))
}

/// Writes a value at a place.
type Write<'w> = dyn FnMut(&mut Writer<'_>, usize) -> Result<(), Error> + 'w;

/// The code around the value, which is compiled once for all types.
fn encode_root(
    revision: u8,
    identifier: Option<[u8; 4]>,
    kind: Kind,
    width: u8,
    out: &mut Vec<u8>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    encode_with(revision, identifier, out, |writer, root| {
        let place = if let Kind::Table = kind { root } else { writer.choice(root, 0, width) };
        write(writer, place)
    })
}

/// Appends a buffer; `write` writes its root at the given place. After an error `out` is unchanged.
///
/// # Errors
/// The errors of `write`; a buffer of more than 2 GiB.
pub fn encode_with(
    revision: u8,
    identifier: Option<[u8; 4]>,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Writer<'_>, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let start = out.len();
    let mut writer = Writer::new(out, revision, identifier);
    let root = writer.root();
    let result = write(&mut writer, root).and_then(|()| writer.finish());
    if result.is_err() {
        out.truncate(start);
    }
    result
}

impl From<::flat::Error> for Error {
    #[cold]
    fn from(error: ::flat::Error) -> Self {
        use ::flat::ErrorKind as E;
        let kind = match error.kind {
            E::Truncated => ErrorKind::Truncated,
            E::TooDeep => ErrorKind::TooDeep,
            E::TooManyVisits => ErrorKind::TooManyItems,
            E::TooLong => ErrorKind::BadLength,
            _ => ErrorKind::BadTable,
        };
        Error::new(kind, error.at * 8)
    }
}

impl Size {
    /// Whether a value may have this length.
    #[inline]
    fn allows(self, length: usize) -> bool {
        self.extensible || self.lo <= length && length <= self.hi
    }
}
