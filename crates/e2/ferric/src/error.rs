//! The errors of agents, servers and xApps.

use std::fmt;
use std::io;

/// The reason why an agent, a server or an xApp cannot continue.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A link cannot be set up, or is lost.
    Link(link::Error),
    /// The operating system refused a resource.
    System {
        /// The resource.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The peer does not use the RIC-xApp protocol, or violates it.
    Protocol(e2::xapp::ProtocolError),
    /// The RIC refused the session.
    Refused(e2::RefusalCode),
    /// The RIC did not answer in time.
    NoAnswer,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Link(source) => source.fmt(f),
            Error::System { what, source } => write!(f, "{what}: {source}"),
            Error::Protocol(source) => source.fmt(f),
            Error::Refused(e2::RefusalCode::NotAllowed) => {
                f.write_str("refused by the RIC: its access rules contain no entry for our certificate")
            }
            Error::Refused(code) => write!(f, "refused by the RIC: {code}"),
            Error::NoAnswer => f.write_str("no answer from the RIC in time"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // their text is that of the inner error: its source is theirs
            Error::Link(source) => source.source(),
            Error::Protocol(source) => source.source(),
            Error::System { source, .. } => Some(source),
            Error::Refused(_) | Error::NoAnswer => None,
        }
    }
}

impl From<link::Error> for Error {
    fn from(source: link::Error) -> Self {
        Error::Link(source)
    }
}

impl Error {
    /// Whether nothing listens at the address of the RIC: it may start later.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        let Error::Link(link::Error::Connect { source, .. }) = self else { return false };
        matches!(source.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
    }

    pub(crate) fn epoll(source: io::Error) -> Self {
        Error::System { what: "epoll", source }
    }
}
