//! FlatBuffers: a second encoding of the types that are declared for PER.
//!
//! Every type that derives [`Per`](derive@crate::Per) has this codec too. Its slots are the positions in the declaration, which
//! therefore only ever grows at its end.
//!
//! | ASN.1 | FlatBuffers |
//! |---|---|
//! | BOOLEAN, NULL | `bool`; NULL is `true` |
//! | INTEGER | the scalar of the Rust type's width, values beyond an extension marker included |
//! | REAL | `double` |
//! | ENUMERATED | an `enum` of `ubyte`, in the order of the declaration |
//! | OCTET STRING | `[ubyte]` |
//! | BIT STRING | a table of `bits: [ubyte]` and `length: uint` |
//! | character strings | `string` |
//! | SEQUENCE | a table; what is OPTIONAL or has a DEFAULT can be absent |
//! | CHOICE | a table of which one field is there |
//! | SEQUENCE OF | a vector |
//!
//! A CHOICE is not a union, since a union holds tables only: a number would be a table of its own, and its type an octet
//! beside it. Scalars are optional (`= null`) even where they are mandatory, so that none is left out for being zero.
//!
//! A buffer's root is a table: a value that is none stands alone in one.
//!
//! All revisions have one format: what a revision lacks is absent. Sizes and ranges are checked as in PER.
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
    /// A number, which lies at its place itself.
    Scalar,
    /// A table.
    Table,
    /// A string.
    String,
    /// A vector. Vectors of these do not exist: in a list, each stands in a table of that name.
    Vector {
        /// The table's name.
        item: &'static str,
    },
}

/// A type that has a place in a table.
pub trait Type {
    /// Octets that a value, or the offset to it, takes at its place.
    const WIDTH: u8;
    /// What it is.
    const KIND: Kind;
    /// Declares the type, and those it is made of.
    fn declare(schema: &mut Schema) -> schema::Type;
}

/// A type that can be read; lists go to an `S`.
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

/// Reads `bytes` as one buffer, lists on the heap.
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

/// Reads `bytes` as one buffer, lists in `store`.
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

/// Appends one value as a buffer to `out`. After an error `out` is as it was.
///
/// # Errors
/// A value outside its constraints.
pub fn encode<T: Encode>(value: &T, revision: u8, identifier: Option<[u8; 4]>, out: &mut Vec<u8>) -> Result<(), Error> {
    let (kind, width) = (T::KIND, T::WIDTH);
    encode_root(revision, identifier, kind, width, out, &mut |writer, place| value.write(writer, place))
}

/// Writes a value at a place.
type Write<'w> = dyn FnMut(&mut Writer<'_>, usize) -> Result<(), Error> + 'w;

/// What is around the value is compiled once for all types.
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
/// Those of `write`; a buffer beyond 2 GiB.
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
    /// Whether a value may have that length.
    #[inline]
    fn allows(self, length: usize) -> bool {
        self.extensible || self.lo <= length && length <= self.hi
    }
}
