//! The connection of a client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use link::Interest;
use log_lines::Host;

use crate::engine::Session;
use crate::resp::Decoder;

/// Octets of replies that may wait before no further requests are read and executed.
pub(crate) const HIGH_WATER: usize = 256 << 10;
/// A buffer that is larger is given back when it is empty.
const KEPT_OCTETS: usize = 64 << 10;

pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(octets),
            Socket::Unix(socket) => socket.read(octets),
        }
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.write(octets),
            Socket::Unix(socket) => socket.write(octets),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
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
    /// Whole requests may wait until replies were sent.
    pub is_blocked: bool,
    pub admitted: Instant,
    /// Since when the rest of a request is awaited.
    pub part_since: Option<Instant>,
    /// Since when none of the replies that wait could be sent.
    pub stalled_since: Option<Instant>,
}

impl Connection {
    pub fn new(socket: Socket, host: Host, peer: String, session: Session, now: Instant) -> Self {
        Connection {
            socket,
            host,
            peer,
            session,
            decoder: Decoder::default(),
            out: Vec::new(),
            sent: 0,
            staged: 0,
            counted: 0,
            interest: Interest::READ,
            is_blocked: false,
            admitted: now,
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

    /// Sends what the socket takes.
    pub fn flush(&mut self, now: Instant) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.socket.write(self.out.get(self.sent..).unwrap_or_default()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.sent += count;
                    self.stalled_since = None;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stalled_since.get_or_insert(now);
                    // what is sent does not occupy memory until all is
                    if self.sent >= KEPT_OCTETS {
                        self.out.drain(..self.sent);
                        self.sent = 0;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        (self.sent, self.stalled_since) = (0, None);
        self.out.clear();
        if self.out.capacity() > KEPT_OCTETS {
            self.out = Vec::new();
        }
        Ok(())
    }

    /// Returns the limit of time that the client has exceeded.
    pub fn late(&self, now: Instant, timeout: Duration) -> Option<&'static str> {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= timeout;
        if self.part_since.is_some_and(is_over) {
            return Some("the rest of a request has not arrived in time");
        }
        if self.stalled_since.is_some_and(is_over) {
            return Some("it does not read its replies");
        }
        (self.session.rights.is_none() && is_over(self.admitted)).then_some("it has not authenticated in time")
    }
}
