//! What can go wrong for who uses the SDK.

use std::fmt;
use std::io;

/// An agent, a controller or an app that cannot go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A link could not be set up, or was lost.
    Link(link::Error),
    /// The operating system refused something that every event loop needs.
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The peer does not speak the RIC-xApp protocol.
    Protocol(e2::xapp::ProtocolError),
    /// The RIC turned us away.
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
                f.write_str("the RIC refuses: our certificate has no rights there")
            }
            Error::Refused(code) => write!(f, "the RIC refuses: {code:?}"),
            Error::NoAnswer => f.write_str("the RIC did not answer in time"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // these speak for what they hold: its cause is theirs
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
    pub(crate) fn epoll(source: io::Error) -> Self {
        Error::System { what: "epoll", source }
    }
}
