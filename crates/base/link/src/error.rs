//! Errors of links and their causes.

use std::fmt;
use std::io;

use crate::Address;

/// The reason why an operation on a link or a listener failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The peer closed the link in an orderly way; everything it sent before was delivered.
    Closed,
    /// The peer closed the link in the middle of a PDU.
    ClosedMidPdu {
        /// Octets of the unfinished PDU that had arrived, framing included.
        received_octets: usize,
    },
    /// The link broke: reset, aborted, timed out or unreachable.
    Lost(io::Error),
    /// The peer announced a PDU of 0 octets, which is never an E2AP PDU.
    EmptyPdu,
    /// The peer announced, or is sending, a PDU longer than [`Config::max_pdu_octets`](crate::Config::max_pdu_octets).
    PduTooLong {
        /// Octets announced; for SCTP, which announces no length, the octets that had arrived.
        announced_octets: u64,
        /// The limit.
        limit_octets: usize,
    },
    /// The peer has sent a part of a PDU, and the rest did not arrive in time. The caller of a link decides that.
    PduTimeout {
        /// Octets of the unfinished PDU that had arrived, framing included.
        received_octets: usize,
    },
    /// The peer's unfinished PDU exceeds its share of the memory for those of all links
    /// ([`Config::receive_budget`](crate::Config::receive_budget)), or the system has no memory for it.
    ReceiveMemoryFull {
        /// Octets of the unfinished PDU with those that did not fit.
        octets: usize,
        /// The bound for all links.
        limit_octets: usize,
    },
    /// A PDU that must not be dropped exceeds the peer's share of the memory for the outboxes of all links
    /// ([`Config::send_budget`](crate::Config::send_budget)), or the system has no memory for it. Disconnect the peer.
    SendMemoryFull {
        /// The bound for all links.
        limit_octets: usize,
    },
    /// The peer's indices in the shared memory are inconsistent.
    SharedMemoryCorrupt,
    /// The TLS handshake or a TLS record failed.
    #[cfg(feature = "tls")]
    Tls(crate::TlsFault),
    /// PDUs that must not be dropped fill the outbox, because the peer does not read. Disconnect the peer.
    OutboxFull {
        /// The outbox's bound.
        limit_octets: usize,
    },
    /// The caller tried to send a PDU of no octets.
    SendEmpty,
    /// The caller tried to send a PDU longer than [`Config::max_pdu_octets`](crate::Config::max_pdu_octets).
    SendTooLong {
        /// Octets of the PDU.
        octets: usize,
        /// The limit.
        limit_octets: usize,
    },
    /// A connection could not be set up.
    Connect {
        /// The address of the peer.
        address: Address,
        /// The reason.
        source: io::Error,
    },
    /// A listener could not be bound.
    Bind {
        /// The address to listen on.
        address: Address,
        /// The reason.
        source: io::Error,
    },
    /// A connection was closed immediately after it was accepted, because the process or the system is out of resources.
    ConnectionRejected(io::Error),
    /// A `tls://` address is used without certificates ([`Config::tls`](crate::Config)) or in a build without the Cargo feature
    /// `tls`.
    TlsMissing,
    /// This host's kernel has no SCTP.
    SctpUnsupported,
    /// A system call failed for a reason that is unrelated to the peer.
    Io {
        /// The failed operation.
        operation: &'static str,
        /// The reason.
        source: io::Error,
    },
}

/// The party that caused an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The peer closed, broke the framing or does not read.
    Peer,
    /// The caller requested an operation that a link does not support.
    Misuse,
    /// The host or the network failed.
    Environment,
}

impl Error {
    /// Returns the party that caused the error.
    pub fn family(&self) -> Family {
        match self {
            Error::Closed
            | Error::ClosedMidPdu { .. }
            | Error::Lost(_)
            | Error::EmptyPdu
            | Error::PduTooLong { .. }
            | Error::PduTimeout { .. }
            | Error::ReceiveMemoryFull { .. }
            | Error::SendMemoryFull { .. }
            | Error::SharedMemoryCorrupt
            | Error::OutboxFull { .. } => Family::Peer,
            #[cfg(feature = "tls")]
            Error::Tls(_) => Family::Peer,
            Error::SendEmpty | Error::SendTooLong { .. } | Error::TlsMissing => Family::Misuse,
            Error::Connect { .. }
            | Error::Bind { .. }
            | Error::ConnectionRejected(_)
            | Error::SctpUnsupported
            | Error::Io { .. } => Family::Environment,
        }
    }

    /// Converts the errno of a failed read or write; an errno of a broken connection becomes [`Error::Lost`].
    pub(crate) fn from_transfer(operation: &'static str, errno: rustix::io::Errno) -> Error {
        use rustix::io::Errno;
        match errno {
            Errno::CONNRESET
            | Errno::CONNABORTED
            | Errno::CONNREFUSED
            | Errno::PIPE
            | Errno::NOTCONN
            | Errno::SHUTDOWN
            | Errno::TIMEDOUT
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
            | Errno::NETDOWN
            | Errno::NETRESET => Error::Lost(errno.into()),
            _ => Error::Io { operation, source: errno.into() },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Closed => f.write_str("the peer closed the link"),
            Error::ClosedMidPdu { received_octets } => {
                write!(f, "the peer closed the link {received_octets} octets into a PDU")
            }
            Error::Lost(source) => write!(f, "the link broke: {source}"),
            Error::EmptyPdu => f.write_str("the peer announced a PDU of 0 octets"),
            Error::PduTooLong { announced_octets, limit_octets } => {
                write!(f, "the peer announced a PDU of {announced_octets} octets; the limit is {limit_octets}")
            }
            #[cfg(feature = "tls")]
            Error::Tls(fault) => write!(f, "TLS: {fault}"),
            #[cfg(feature = "tls")]
            Error::TlsMissing => f.write_str("a tls:// address takes a CA, a certificate and a key"),
            #[cfg(not(feature = "tls"))]
            Error::TlsMissing => f.write_str("a tls:// address requires a build with the Cargo feature `tls`"),
            Error::SharedMemoryCorrupt => f.write_str("the peer wrote inconsistent indices into the shared memory"),
            Error::OutboxFull { limit_octets } => {
                write!(f, "the peer does not read: {limit_octets} octets that must not be dropped are waiting")
            }
            Error::PduTimeout { received_octets } => {
                write!(f, "the rest of a PDU did not arrive in time after {received_octets} octets")
            }
            Error::ReceiveMemoryFull { octets, limit_octets } => write!(
                f,
                "{octets} octets of an unfinished PDU exceed the peer's share of the memory for those of all peers, \
                 {limit_octets} octets"
            ),
            Error::SendMemoryFull { limit_octets } => write!(
                f,
                "the peer does not read: what must not be dropped exceeds its share of the memory for all peers, \
                 {limit_octets} octets"
            ),
            Error::SendEmpty => f.write_str("a PDU to send has 0 octets"),
            Error::SendTooLong { octets, limit_octets } => {
                write!(f, "a PDU to send has {octets} octets; the limit is {limit_octets}")
            }
            Error::Connect { address, source } => write!(f, "cannot connect to {address}: {source}"),
            Error::Bind { address, source } => write!(f, "cannot listen on {address}: {source}"),
            Error::ConnectionRejected(source) => {
                write!(f, "connection rejected, because this host or process is out of resources: {source}")
            }
            Error::SctpUnsupported => {
                f.write_str("this host's kernel has no SCTP: load its module (`modprobe sctp`) or use a tcp:// address")
            }
            Error::Io { operation, source } => write!(f, "{operation} failed: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Lost(source)
            | Error::ConnectionRejected(source)
            | Error::Connect { source, .. }
            | Error::Bind { source, .. }
            | Error::Io { source, .. } => Some(source),
            #[cfg(feature = "tls")]
            Error::Tls(fault) => Some(fault),
            _ => None,
        }
    }
}
