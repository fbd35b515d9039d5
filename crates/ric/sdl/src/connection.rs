//! The connection of a client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use link::Interest;
#[cfg(feature = "tls")]
use link::TlsStream;
use log_lines::Host;

use crate::engine::Session;
use crate::limits::Limits;
use crate::resp::Decoder;

/// Octets of replies that may wait before no further requests are read and executed.
pub(crate) const HIGH_WATER: usize = 256 << 10;
/// A buffer that is larger is given back when it is empty.
const KEPT_OCTETS: usize = 64 << 10;

/// How long what a client sends after an error is discarded, so that it can read the reason: a connection that is closed with
/// octets that were not read is reset, and the reason is lost.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream>),
}

/// What has come of reading.
pub(crate) enum Received {
    Octets,
    Nothing,
    /// The client has closed the connection.
    End,
}

/// What has come of sending.
struct Sent {
    /// Octets that need not be sent again.
    taken: usize,
    /// Some octets have gone to the client.
    has_progressed: bool,
    is_blocked: bool,
}

impl Socket {
    /// Reads once, as much as `scratch` takes. [`ErrorKind::InvalidData`] is the fault of the client.
    pub fn receive(&mut self, scratch: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> io::Result<Received> {
        let read = match self {
            Socket::Tcp(socket) => socket.read(scratch),
            Socket::Unix(socket) => socket.read(scratch),
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => {
                return match stream.receive(scratch, sink) {
                    Ok(0) => Ok(Received::Nothing),
                    Ok(_) => Ok(Received::Octets),
                    Err(link::Error::Closed) => Ok(Received::End),
                    // clients of Redis send no close notification; a request that was cut is not executed
                    Err(link::Error::Lost(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(Received::End),
                    Err(error @ link::Error::Tls(_)) => Err(io::Error::new(ErrorKind::InvalidData, error)),
                    Err(error) => Err(io::Error::other(error)),
                };
            }
        };
        match read {
            Ok(0) => Ok(Received::End),
            Ok(count) => {
                sink(scratch.get(..count).unwrap_or_default());
                Ok(Received::Octets)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Received::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, octets: &[u8]) -> io::Result<Sent> {
        let written = match self {
            Socket::Tcp(socket) => socket.write(octets),
            Socket::Unix(socket) => socket.write(octets),
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => {
                let (taken, flushed) = stream.send(octets).map_err(io::Error::other)?;
                return Ok(Sent { taken, has_progressed: flushed.octets > 0, is_blocked: flushed.waiting });
            }
        };
        match written {
            Ok(0) => Err(ErrorKind::WriteZero.into()),
            Ok(taken) => Ok(Sent { taken, has_progressed: true, is_blocked: false }),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                Ok(Sent { taken: 0, has_progressed: false, is_blocked: true })
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                Ok(Sent { taken: 0, has_progressed: false, is_blocked: false })
            }
            Err(error) => Err(error),
        }
    }

    /// Reads once and discards it; returns whether the client has ended.
    pub fn discard(&mut self, scratch: &mut [u8]) -> io::Result<bool> {
        let read = match self {
            Socket::Tcp(socket) => socket.read(scratch),
            Socket::Unix(socket) => socket.read(scratch),
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => return stream.discard(scratch).map_err(io::Error::other),
        };
        match read {
            Ok(count) => Ok(count == 0),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends this direction of the connection.
    fn shut_down(&mut self) {
        // it fails for a connection that is gone
        let _ = match self {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => {
                stream.shut_down();
                Ok(())
            }
        };
    }

    /// Whether encrypted octets wait.
    pub fn wants_write(&self) -> bool {
        match self {
            Socket::Tcp(_) | Socket::Unix(_) => false,
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => stream.wants_write(),
        }
    }

    /// Whether the connection begins with a TLS handshake.
    fn begins_with_a_handshake(&self) -> bool {
        match self {
            Socket::Tcp(_) | Socket::Unix(_) => false,
            #[cfg(feature = "tls")]
            Socket::Tls(_) => true,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => stream.as_fd(),
        }
    }
}

pub(crate) struct Connection {
    pub socket: Socket,
    pub host: Host,
    pub peer: String,
    pub session: Session,
    pub decoder: Decoder,
    /// Replies and messages that wait, and how many octets of them are sent.
    out: Vec<u8>,
    sent: usize,
    /// Octets of replies of the current round.
    pub staged: usize,
    /// What [`crate::server::Server`] has counted of its buffers.
    pub counted: usize,
    pub interest: Interest,
    /// The client sends nothing more.
    pub has_ended: bool,
    /// The connection ends because of what the client has sent.
    pub has_fault: bool,
    /// Since when what the client sends is discarded.
    pub lingers_since: Option<Instant>,
    /// Whole requests may wait until replies were sent.
    pub is_blocked: bool,
    pub admitted: Instant,
    /// Wrong tokens that were noted.
    pub wrong_tokens: u32,
    /// The TLS handshake is not complete.
    pub is_shaking_hands: bool,
    /// Since when the rest of a request is awaited.
    pub part_since: Option<Instant>,
    /// Since when none of the replies that wait could be sent.
    pub stalled_since: Option<Instant>,
}

impl Connection {
    pub fn new(socket: Socket, host: Host, peer: String, session: Session, now: Instant) -> Self {
        let is_shaking_hands = socket.begins_with_a_handshake();
        Connection {
            socket,
            is_shaking_hands,
            host,
            peer,
            session,
            decoder: Decoder::default(),
            out: Vec::new(),
            sent: 0,
            staged: 0,
            counted: 0,
            interest: Interest::READ,
            has_ended: false,
            has_fault: false,
            lingers_since: None,
            is_blocked: false,
            admitted: now,
            wrong_tokens: 0,
            part_since: None,
            stalled_since: None,
        }
    }

    /// Octets that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.out.len() - self.sent + self.staged
    }

    /// Octets that its buffers hold.
    pub fn held(&self) -> usize {
        self.decoder.held_octets() + self.out.capacity() + self.staged
    }

    pub fn push(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    /// Whether something waits to be sent, or to be encrypted and sent.
    pub fn wants_write(&self) -> bool {
        self.waiting() > 0 || self.socket.wants_write()
    }

    /// Sends what the socket takes.
    pub fn flush(&mut self, now: Instant) -> io::Result<()> {
        while self.sent < self.out.len() || self.socket.wants_write() {
            let sent = self.socket.send(self.out.get(self.sent..).unwrap_or_default())?;
            self.sent += sent.taken;
            if sent.has_progressed {
                self.stalled_since = None;
            }
            if sent.is_blocked {
                self.stalled_since.get_or_insert(now);
                // what is sent does not occupy memory until all is
                if self.sent >= KEPT_OCTETS {
                    self.out.drain(..self.sent);
                    self.sent = 0;
                }
                return Ok(());
            }
        }
        (self.sent, self.stalled_since) = (0, None);
        self.out.clear();
        if self.out.capacity() > KEPT_OCTETS {
            self.out = Vec::new();
        }
        Ok(())
    }

    /// Sends nothing more, and discards what the client sends.
    pub fn linger(&mut self, now: Instant) {
        self.socket.shut_down();
        self.decoder = Decoder::default();
        (self.session.is_closing, self.part_since, self.lingers_since) = (true, None, Some(now));
    }

    /// Whether the client has had time to read the reason of an error.
    pub fn has_lingered(&self, now: Instant) -> bool {
        self.lingers_since.is_some_and(|since| now.saturating_duration_since(since) >= LINGER)
    }

    /// Returns the limit of time that the client has exceeded.
    pub fn late(&self, now: Instant, limits: &Limits) -> Option<String> {
        let is_over = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        if self.lingers_since.is_some() {
            return None;
        }
        if self.is_shaking_hands {
            let is_late = is_over(self.admitted, limits.handshake_timeout);
            return is_late.then(|| "its TLS handshake has not ended in time".to_owned());
        }
        let is_over = |since: Instant| is_over(since, limits.request_timeout);
        if self.part_since.is_some_and(is_over) {
            return Some("the rest of a request has not arrived in time".to_owned());
        }
        if self.stalled_since.is_some_and(is_over) {
            return Some("it does not read its replies".to_owned());
        }
        let is_late = self.session.rights.is_none() && is_over(self.admitted);
        is_late.then(|| match &self.session.identity {
            Some(identity) => format!(
                "it has not authenticated in time, and no line of the file of tokens names its certificate {identity} ({})",
                identity.fingerprint
            ),
            None => "it has not authenticated in time".to_owned(),
        })
    }
}
