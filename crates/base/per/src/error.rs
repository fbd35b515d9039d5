//! Errors of decoding and encoding.

use core::fmt;

/// A failure to read or write a value, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// Bits from the start of the outermost input (reading) or output (writing).
    pub bit: usize,
    /// The innermost component at fault, as `Type.field`; empty at the top level.
    pub at: &'static str,
}

/// The kinds of [`Error`]. The first group is caused by the sender of the bytes, the second by the caller that encodes a
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The encoding ends inside a value.
    Truncated,
    /// Whole octets follow the value inside its open type or PDU.
    TrailingOctets,
    /// A number outside its constraint, or wider than 64 bits.
    OutOfRange,
    /// A length outside the size constraint, or a fragment count that X.691 11.9.3.8 does not define.
    BadLength,
    /// An enumeration or choice index outside the root.
    UnknownIndex,
    /// An extension addition of an enumeration or choice that is unknown in this revision.
    UnknownExtension,
    /// A character that the string type does not allow.
    BadCharacter,
    /// Invalid contents of a REAL (X.690 8.5).
    BadReal,
    /// More list items in one PDU than the reader's budget.
    TooManyItems,
    /// Types nested deeper than the reader's limit.
    TooDeep,
    /// An open type is fragmented and the reader has no [`crate::Gather`] to reassemble it.
    Fragmented,
    /// FlatBuffers: an offset, a vtable, a string's end or a file identifier is invalid.
    BadTable,
    /// Writing, and reading FlatBuffers: a mandatory component is missing.
    Missing,
    /// Writing: a component, alternative or value that the revision does not have.
    NotInRevision,
}

impl Error {
    /// Creates an error without a component.
    #[must_use]
    pub const fn new(kind: ErrorKind, bit: usize) -> Self {
        Error { kind, bit, at: "" }
    }

    /// Sets the component, unless a more deeply nested one was set already.
    #[must_use]
    #[cold]
    pub const fn within(self, at: &'static str) -> Self {
        if self.at.is_empty() { Error { at, ..self } } else { self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Truncated => "the encoding ends inside a value",
            ErrorKind::TrailingOctets => "octets follow the value",
            ErrorKind::OutOfRange => "a number is outside its range",
            ErrorKind::BadLength => "a length is outside its bounds",
            ErrorKind::UnknownIndex => "no such enumeration value or choice alternative",
            ErrorKind::UnknownExtension => "an extension value that this revision does not know",
            ErrorKind::BadCharacter => "a character outside the string's alphabet",
            ErrorKind::BadReal => "malformed REAL",
            ErrorKind::TooManyItems => "too many list items",
            ErrorKind::TooDeep => "nested too deeply",
            ErrorKind::Fragmented => "an open type in fragments, and nowhere to gather them",
            ErrorKind::BadTable => "a malformed table",
            ErrorKind::Missing => "a mandatory component is missing",
            ErrorKind::NotInRevision => "this revision's wire format cannot carry the value",
        };
        write!(f, "{what} at bit {}", self.bit)?;
        if !self.at.is_empty() {
            write!(f, " in {}", self.at)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
