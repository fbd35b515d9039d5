//! TLS 1.3 over TCP, with a certificate at each end. The framing beneath is that of plain TCP.
//!
//! rustls does no I/O: it takes and returns octets in memory, and this module owns the socket. All octets read from the socket
//! are processed at once, so that the readiness of the link is that of the socket. The handshake is read record by record, so
//! that no octet after it is read; afterwards, reads are limited by the budget.

mod credentials;
mod fault;
mod session;
mod stream;
mod x509;

use std::io::{self, IoSlice, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::identity::Identity;
use crate::stream::StreamLink;
use crate::{Config, Error, Flushed, Received, Scratch, StreamId};

pub use credentials::{Renewal, Tls, TlsClientFiles, TlsFile, TlsFileError, TlsFiles, TlsServerFiles};
pub use fault::TlsFault;
use session::Session;
pub use stream::{ClientCertificates, TlsStream};

/// The most encrypted octets that wait for the socket, beside the outbox.
const BUFFER_OCTETS: usize = 64 * 1024;
/// Slices of one gathered write.
const WRITE_SLICES: usize = 64;

/// One end of a link.
pub(crate) struct TlsLink {
    /// The connection, and the PDUs in the clear.
    pub(crate) stream: StreamLink,
    is_connected: bool,
    session: Session,
}

impl TlsLink {
    fn new(stream: StreamLink, is_connected: bool, tls: Connection) -> Self {
        TlsLink { stream, is_connected, session: Session::new(tls, BUFFER_OCTETS) }
    }

    /// Starts to connect to a host that must present a certificate for `host`.
    pub(crate) fn connect(host: &str, addresses: Vec<SocketAddr>, tls: &Tls, config: &Config) -> io::Result<Self> {
        // A link-local address may name its interface after a `%`, which no certificate contains.
        let name = host.split('%').next().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let connection = ClientConnection::new(tls.credentials().client, name).map_err(io::Error::other)?;
        Ok(TlsLink::new(StreamLink::connect_tcp(addresses, config)?, false, connection.into()))
    }

    /// Takes over an accepted socket. The peer must present a certificate.
    pub(crate) fn accepted(socket: OwnedFd, tls: &Tls, config: &Config) -> io::Result<Self> {
        let connection = ServerConnection::new(tls.credentials().server).map_err(io::Error::other)?;
        Ok(TlsLink::new(StreamLink::accepted(socket, config, true)?, true, connection.into()))
    }

    /// Whether the TCP connection is established, so that the handshake can proceed.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// The identity of the peer, once the handshake is complete.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.session.identity()
    }

    /// Whether the handshake is complete at this end. A server may still reject the certificate of its client;
    /// [`receive`](Self::receive) then returns the error. Fails with [`Error::Tls`], or with [`Error::Lost`] without a connection.
    pub(crate) fn finish_connect(&mut self) -> Result<bool, Error> {
        if !self.is_connected {
            self.is_connected = self.stream.finish_connect().map_err(Error::Lost)?;
            if !self.is_connected {
                return Ok(false);
            }
        }
        self.session.shake_hands(self.stream.as_fd())
    }

    pub(crate) fn receive(
        &mut self,
        scratch: &mut Scratch,
        budget_octets: usize,
        sink: &mut dyn FnMut(StreamId, &[u8]),
    ) -> Result<Received, Error> {
        let mut received = Received::default();
        let mut spent_octets = 0;
        loop {
            let (buffer, spares) = scratch.parts();
            let room = (budget_octets.saturating_sub(spent_octets)).clamp(1, buffer.len());
            let Some(octets) = Session::read(self.stream.socket.as_fd(), &mut buffer[..room])? else {
                return Ok(received);
            };
            spent_octets += octets;
            let StreamLink { socket, deframer, .. } = &mut self.stream;
            let mut encrypted = &buffer[..octets];
            while !encrypted.is_empty() {
                let is_over = self.session.decrypt(socket.as_fd(), &mut encrypted, &mut |plain| {
                    received.octets += plain.len();
                    received.pdus += deframer.push(plain, spares, &mut |pdu: &[u8]| sink(StreamId(0), pdu))?;
                    Ok(())
                })?;
                if is_over {
                    return Err(match deframer.unfinished_octets() {
                        0 => Error::Closed,
                        received_octets => Error::ClosedMidPdu { received_octets },
                    });
                }
            }
            if octets < room {
                // The peer's messages may require an answer, such as new keys.
                self.session.write_records(self.stream.as_fd())?;
                return Ok(received);
            }
            if spent_octets >= budget_octets {
                received.more = true;
                return Ok(received);
            }
        }
    }

    pub(crate) fn wants_write(&self, is_established: bool) -> bool {
        !self.is_connected || self.session.tls.wants_write() || is_established && !self.stream.outbox.is_empty()
    }

    pub(crate) fn flush(&mut self) -> Result<Flushed, Error> {
        let mut flushed = Flushed::default();
        loop {
            flushed.octets += self.session.write_records(self.stream.as_fd())?;
            if self.session.tls.wants_write() {
                flushed.waiting = true;
                return Ok(flushed);
            }
            if self.stream.outbox.is_empty() {
                return Ok(flushed);
            }
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
            let (filled, _) = self.stream.outbox.gather(&mut slices);
            // rustls takes as much as fits its buffer, which is empty here.
            let written = self.session.tls.writer().write_vectored(&slices[..filled]);
            let written = written.map_err(|source| Error::Io { operation: "encrypt", source })?;
            self.stream.outbox.wrote(written);
        }
    }

    /// Sends close_notify to the peer.
    pub(crate) fn shut_down(&mut self) {
        self.session.close(self.stream.as_fd());
        self.stream.shut_down();
    }
}

impl Drop for TlsLink {
    fn drop(&mut self) {
        // Send close_notify even if not all is written, so that the peer can distinguish this from a cut connection.
        if !self.session.tls.is_handshaking() {
            self.shut_down();
        }
    }
}

impl AsFd for TlsLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
