//! What can be wrong with an encoding, or with a value that is to be encoded.

use core::fmt;

/// A value that could not be read or written, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Bits from the start of the outermost input (reading) or output (writing).
    pub bit: usize,
    /// The innermost component at fault, as `Type.field`; empty at the top level.
    pub at: &'static str,
}

/// The kinds of [`Error`]. The first group is the fault of who sent the bytes,
/// the second of who gave the value to encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The encoding ends inside a value.
    Truncated,
    /// Whole octets follow the value inside its open type or PDU.
    TrailingOctets,
    /// A number outside its constraint, or wider than 64 bits.
    OutOfRange,
    /// A length outside the size constraint, or a fragment count that X.691 11.9.3.8 does not know.
    BadLength,
    /// An enumeration or choice index that the root does not have.
    UnknownIndex,
    /// An extension addition of an enumeration or choice that this revision does not know.
    UnknownExtension,
    /// A character that the string type does not have.
    BadCharacter,
    /// REAL contents that X.690 8.5 does not define.
    BadReal,
    /// More list items in one PDU than the reader's budget.
    TooManyItems,
    /// Types nested deeper than the reader's limit.
    TooDeep,
    /// An open type came in fragments and the reader was given no place to gather them.
    Fragmented,
    /// FlatBuffers: an offset, a vtable, a string's end or a file identifier that is none.
    BadTable,
    /// Writing, and reading FlatBuffers: a component that is demanded is not there.
    Missing,
    /// Writing: a component, alternative or value that this revision's wire format cannot carry.
    NotInRevision,
}

impl Error {
    /// An error that does not know its component yet.
    #[must_use]
    pub const fn new(kind: ErrorKind, bit: usize) -> Self {
        Error { kind, bit, at: "" }
    }

    /// Names the component, unless a more inner one was named already.
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
