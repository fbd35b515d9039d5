//! Errors of reading and writing buffers.

use core::fmt;

/// A buffer that could not be read, or grew too long to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// Octets from the start of the buffer to where.
    pub at: usize,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An offset, or the length of what it leads to, goes beyond the buffer.
    Truncated,
    /// An offset of zero, or a vtable that is none.
    BadTable,
    /// A string that does not end in a NUL octet.
    BadString,
    /// The buffer's identifier is another one.
    BadIdentifier,
    /// Tables inside each other beyond [`crate::MAX_DEPTH`].
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
