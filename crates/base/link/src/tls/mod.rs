//! TLS 1.3 over TCP, with a certificate at each end. The framing beneath is that of plain TCP.
//!
//! rustls does no I/O: it takes and returns octets in memory, and this module owns the socket. All octets read from the socket
//! are processed at once, so that the readiness of the link is that of the socket. The handshake is read record by record, so
//! that no octet after it is read; afterwards, reads are limited by the budget.

mod credentials;
mod fault;
mod x509;

use std::io::{self, BufRead, IoSlice, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::identity::Identity;
use crate::stream::StreamLink;
use crate::{Config, Error, Flushed, Received, Scratch, StreamId};

pub use credentials::{Renewal, Tls, TlsClientFiles, TlsFile, TlsFileError, TlsFiles, TlsServerFiles};
pub use fault::TlsFault;

/// The most encrypted octets that wait for the socket, beside the outbox.
const BUFFER_OCTETS: usize = 64 * 1024;
/// Slices of one gathered write.
const WRITE_SLICES: usize = 64;

/// Change of cipher (for the sake of old middleboxes), alert, handshake, application data (RFC 8446 5.1).
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=23;
/// A record's type, version and length; and the most that may follow (RFC 8446 5.1, 5.2).
const RECORD_HEADER_OCTETS: usize = 5;
const RECORD_OCTETS: usize = (1 << 14) + 256;

/// One end of a link.
pub(crate) struct TlsLink {
    /// The connection, and the PDUs in the clear.
    pub(crate) stream: StreamLink,
    is_connected: bool,
    tls: Connection,
    /// The beginning of a record of the handshake.
    record: Vec<u8>,
    identity: Option<Identity>,
}

impl TlsLink {
    fn new(stream: StreamLink, is_connected: bool, mut tls: Connection) -> Self {
        tls.set_buffer_limit(Some(BUFFER_OCTETS));
        TlsLink { stream, is_connected, tls, record: Vec::new(), identity: None }
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
        self.identity.as_ref()
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
        loop {
            self.write_records()?;
            if !self.tls.is_handshaking() {
                self.record = Vec::new();
                let certificate = self.tls.peer_certificates().and_then(|chain| chain.first());
                self.identity = certificate.map(|certificate| x509::identity(certificate));
                return Ok(true);
            }
            if !self.read_record()? {
                return Ok(false);
            }
            self.process()?;
        }
    }

    /// Reads the next record and no octet beyond it; returns whether it is complete.
    fn read_record(&mut self) -> Result<bool, Error> {
        loop {
            let have = self.record.len();
            let total = match self.record.first_chunk::<RECORD_HEADER_OCTETS>() {
                None => RECORD_HEADER_OCTETS,
                Some([kind, _, _, high, low]) => {
                    let octets = usize::from(u16::from_be_bytes([*high, *low]));
                    if !RECORD_TYPES.contains(kind) {
                        return Err(Error::Tls(TlsFault::NotTls));
                    }
                    // A record of the handshake is never empty (RFC 8446 5.1).
                    if !(1..=RECORD_OCTETS).contains(&octets) {
                        return Err(Error::Tls(TlsFault::NotTls));
                    }
                    RECORD_HEADER_OCTETS + octets
                }
            };
            if have == total && have > RECORD_HEADER_OCTETS {
                let mut record = self.record.as_slice();
                while !record.is_empty() {
                    // rustls refuses input only if much decrypted data is pending, which never happens during the handshake.
                    let taken = self.tls.read_tls(&mut record).map_err(|_| Error::Tls(TlsFault::NotTls))?;
                    if taken == 0 {
                        return Err(Error::Tls(TlsFault::NotTls));
                    }
                }
                self.record.clear();
                return Ok(true);
            }
            // Memory grows with what arrives, a little ahead of it.
            let room = (total - have).clamp(1, 4096);
            self.record.resize(have + room, 0);
            let read = rustix::io::read(&self.stream.socket, &mut self.record[have..]);
            self.record.truncate(have + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(Error::Tls(TlsFault::Unfinished)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(Error::from_transfer("read", errno)),
            }
        }
    }

    /// Decrypts and processes the octets read; returns whether the peer has sent close_notify.
    fn process(&mut self) -> Result<bool, Error> {
        match self.tls.process_new_packets() {
            Ok(state) => Ok(state.peer_has_closed()),
            Err(error) => {
                // Send the alert to the peer, if the socket takes it.
                let _ = self.write_records();
                Err(Error::Tls(error.into()))
            }
        }
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
            let (buffer, _) = scratch.parts();
            let room = (budget_octets.saturating_sub(spent_octets)).clamp(1, buffer.len());
            let octets = match rustix::io::read(&self.stream.socket, &mut buffer[..room]) {
                // The peer closed without close_notify: the connection may have been cut by a third party.
                Ok(0) => return Err(Error::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(octets) => octets,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(received),
                Err(errno) => return Err(Error::from_transfer("read", errno)),
            };
            spent_octets += octets;
            let mut start = 0;
            while start < octets {
                let (buffer, spares) = scratch.parts();
                let mut encrypted = &buffer[start..octets];
                match self.tls.read_tls(&mut encrypted) {
                    Ok(taken) if taken > 0 => start += taken,
                    // All decrypted octets were consumed, so rustls has room.
                    _ => return Err(Error::Tls(TlsFault::NotTls)),
                }
                let is_over = self.process()?;
                loop {
                    let mut reader = self.tls.reader();
                    let count = match reader.fill_buf() {
                        Ok([]) | Err(_) => break,
                        Ok(plain) => {
                            let sink = &mut |pdu: &[u8]| sink(StreamId(0), pdu);
                            received.pdus += self.stream.deframer.push(plain, spares, sink)?;
                            plain.len()
                        }
                    };
                    reader.consume(count);
                    received.octets += count;
                }
                if is_over {
                    return Err(match self.stream.deframer.unfinished_octets() {
                        0 => Error::Closed,
                        received_octets => Error::ClosedMidPdu { received_octets },
                    });
                }
            }
            if octets < room {
                // The peer's messages may require an answer, such as new keys.
                self.write_records()?;
                return Ok(received);
            }
            if spent_octets >= budget_octets {
                received.more = true;
                return Ok(received);
            }
        }
    }

    pub(crate) fn wants_write(&self, is_established: bool) -> bool {
        !self.is_connected || self.tls.wants_write() || is_established && !self.stream.outbox.is_empty()
    }

    pub(crate) fn flush(&mut self) -> Result<Flushed, Error> {
        let mut flushed = Flushed::default();
        loop {
            flushed.octets += self.write_records()?;
            if self.tls.wants_write() {
                flushed.waiting = true;
                return Ok(flushed);
            }
            if self.stream.outbox.is_empty() {
                return Ok(flushed);
            }
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
            let (filled, _) = self.stream.outbox.gather(&mut slices);
            // rustls takes as much as fits its buffer, which is empty here.
            let written = self.tls.writer().write_vectored(&slices[..filled]);
            let written = written.map_err(|source| Error::Io { operation: "encrypt", source })?;
            self.stream.outbox.wrote(written);
        }
    }

    /// Writes encrypted octets until none is left or the socket takes no more; returns how many it took.
    fn write_records(&mut self) -> Result<usize, Error> {
        let mut octets = 0;
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Socket(self.stream.as_fd())) {
                Ok(count) => octets += count,
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => break,
                    Some(Errno::INTR) => {}
                    Some(errno) => return Err(Error::from_transfer("write", errno)),
                    None => return Err(Error::Io { operation: "write", source: error }),
                },
            }
        }
        Ok(octets)
    }

    /// Sends close_notify to the peer.
    pub(crate) fn shut_down(&mut self) {
        self.tls.send_close_notify();
        // It fails only if the connection is gone already.
        let _ = self.write_records();
        self.stream.shut_down();
    }
}

impl Drop for TlsLink {
    fn drop(&mut self) {
        // Send close_notify even if not all is written, so that the peer can distinguish this from a cut connection.
        if !self.tls.is_handshaking() {
            self.shut_down();
        }
    }
}

impl AsFd for TlsLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The socket as rustls writes to it.
struct Socket<'a>(BorrowedFd<'a>);

impl Write for Socket<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = rustix::net::SendAncillaryBuffer::new(&mut []);
        Ok(rustix::net::sendmsg(self.0, slices, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
