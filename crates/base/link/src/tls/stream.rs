//! A stream of octets over TLS, at the listening end: for protocols that are not PDUs.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::Shutdown;
use rustls::ServerConnection;

use super::Tls;
use super::session::Session;
use crate::identity::Identity;
use crate::{Error, Flushed};

/// The most octets that are encrypted at a time: one record (RFC 8446 5.1).
const RECORD_OCTETS: usize = 1 << 14;

/// Whether clients present a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Each presents one.
    #[default]
    Required,
    /// A client may come without one. One that is presented is verified all the same.
    Optional,
}

/// The listening end of a TLS connection, over a socket that does not block. TLS 1.3 only.
///
/// Call [`TlsStream::shake_hands`] whenever the socket is ready, until the handshake is complete; the caller limits its duration. Then
/// the readiness to read is that of the socket. Beside what the caller keeps, it holds one record in each direction at most, 16 KiB.
/// Dropping it sends a close notification.
pub struct TlsStream {
    socket: OwnedFd,
    session: Session,
}

impl TlsStream {
    /// Takes over an accepted socket.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn accepted(socket: OwnedFd, tls: &Tls, of_clients: ClientCertificates) -> io::Result<Self> {
        let credentials = tls.credentials();
        let config = match of_clients {
            ClientCertificates::Required => credentials.server,
            ClientCertificates::Optional => credentials.open_server,
        };
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(TlsStream { socket, session: Session::new(connection.into(), RECORD_OCTETS) })
    }

    /// Continues the handshake; returns whether it is complete.
    ///
    /// # Errors
    ///
    /// [`Error::Tls`] with what is wrong with the peer; [`Error::Lost`] or [`Error::Io`] of the socket.
    pub fn shake_hands(&mut self) -> Result<bool, Error> {
        self.session.shake_hands(self.socket.as_fd())
    }

    /// The identity of the client, once the handshake is complete, if it has presented a certificate.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.session.identity()
    }

    /// Reads once from the socket, as many octets as `scratch` takes, and passes what has arrived to `sink`. Returns how many octets
    /// it has read, which are encrypted; 0 if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] after the close notification of the peer; [`Error::Lost`] without one; [`Error::Tls`] for a record that
    /// cannot be decrypted.
    pub fn receive(&mut self, scratch: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let Some(octets) = Session::read(self.socket.as_fd(), scratch)? else { return Ok(0) };
        let mut encrypted = &scratch[..octets];
        while !encrypted.is_empty() {
            let is_over = self.session.decrypt(self.socket.as_fd(), &mut encrypted, &mut |plain| {
                sink(plain);
                Ok(())
            })?;
            if is_over {
                return Err(Error::Closed);
            }
        }
        // The peer's messages may require an answer, such as new keys.
        self.session.write_records(self.socket.as_fd())?;
        Ok(octets)
    }

    /// Reads once from the socket and discards it, for a peer that is to read the reason of an error first. Returns whether the peer
    /// has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Lost`] of the socket.
    pub fn discard(&mut self, scratch: &mut [u8]) -> Result<bool, Error> {
        match Session::read(self.socket.as_fd(), scratch) {
            Ok(_) => Ok(false),
            Err(Error::Lost(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Ends this direction: sends a close notification, if the handshake is complete, and the end of the TCP stream.
    pub fn shut_down(&mut self) {
        if !self.session.tls.is_handshaking() {
            self.session.close(self.socket.as_fd());
        }
        // it fails only if the connection is gone already
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
    }

    /// Whether encrypted octets wait for the socket.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.session.tls.wants_write()
    }

    /// Sends what waits, and then at most one record of `octets` if nothing waits any more. Returns how many of `octets` were taken,
    /// and what went to the socket.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Io`] of the socket.
    pub fn send(&mut self, octets: &[u8]) -> Result<(usize, Flushed), Error> {
        let mut flushed = self.flush()?;
        if flushed.waiting || octets.is_empty() {
            return Ok((0, flushed));
        }
        let record = &octets[..octets.len().min(RECORD_OCTETS)];
        let taken = self.session.tls.writer().write(record);
        let taken = taken.map_err(|source| Error::Io { operation: "encrypt", source })?;
        let rest = self.flush()?;
        flushed.octets += rest.octets;
        flushed.waiting = rest.waiting;
        Ok((taken, flushed))
    }

    fn flush(&mut self) -> Result<Flushed, Error> {
        let octets = self.session.write_records(self.socket.as_fd())?;
        Ok(Flushed { octets, waiting: self.session.tls.wants_write() })
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        if !self.session.tls.is_handshaking() {
            self.session.close(self.socket.as_fd());
        }
    }
}

impl AsFd for TlsStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream").field("socket", &self.socket).finish_non_exhaustive()
    }
}
