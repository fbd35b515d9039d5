//! Errors, by responsibility: misuse by the caller, or the environment.

use std::{fmt, io};

/// The reason why a unit cannot be started, or has failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Misuse: a value of [`Config`](crate::Config) out of its range.
    Range {
        /// The field.
        field: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The emulated cell cannot be created, or has failed.
    Cell(ran::Error),
    /// Environment: namespaces or network devices cannot be created.
    Network(netns::Error),
    /// Environment: a thread cannot be started.
    Thread(io::Error),
    /// Environment: a socket cannot be opened or configured.
    Socket {
        /// The operation that failed.
        operation: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn socket(operation: &'static str) -> impl Fn(io::Error) -> Error {
        move |source| Error::Socket { operation, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Range { field, allowed } => write!(f, "{field} is out of range: {allowed}"),
            Error::Cell(source) => write!(f, "the emulated cell: {source}"),
            Error::Network(source) => write!(f, "the network of the unit: {source}"),
            Error::Thread(source) => write!(f, "cannot start a thread: {source}"),
            Error::Socket { operation, source } => write!(f, "cannot {operation}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Range { .. } => None,
            Error::Cell(source) => Some(source),
            Error::Network(source) => Some(source),
            Error::Thread(source) | Error::Socket { source, .. } => Some(source),
        }
    }
}

impl From<ran::Error> for Error {
    fn from(source: ran::Error) -> Self {
        Error::Cell(source)
    }
}

impl From<netns::Error> for Error {
    fn from(source: netns::Error) -> Self {
        Error::Network(source)
    }
}
