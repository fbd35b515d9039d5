//! Errors of reading and writing buffers.

use core::fmt;

/// A failure to read or write a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The position: octets from the start of the buffer.
    pub at: usize,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An offset, or the length of its target, exceeds the buffer.
    Truncated,
    /// An offset of zero, or an invalid vtable.
    BadTable,
    /// A string without a NUL octet at its end.
    BadString,
    /// Another file identifier.
    BadIdentifier,
    /// Tables nested deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// More visits of tables and items than the buffer has octets.
    TooManyVisits,
    /// Writing: the buffer is longer than 2147483647 octets.
    TooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Truncated => "an offset or a length goes beyond the buffer",
            ErrorKind::BadTable => "malformed table",
            ErrorKind::BadString => "a string does not end in a NUL octet",
            ErrorKind::BadIdentifier => "the buffer has another file identifier",
            ErrorKind::TooDeep => "nested too deeply",
            ErrorKind::TooManyVisits => "more tables and items than a buffer of that length holds",
            ErrorKind::TooLong => "the buffer is longer than 2 GiB",
        };
        write!(f, "{what} at octet {}", self.at)
    }
}

impl std::error::Error for Error {}
