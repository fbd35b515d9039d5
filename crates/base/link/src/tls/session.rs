//! A TLS connection over a socket that belongs to the caller: the handshake, and records in both directions.

use std::io::{self, BufRead, IoSlice, Write};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustls::Connection;

use super::{TlsFault, x509};
use crate::Error;
use crate::identity::Identity;

/// Change of cipher (for the sake of old middleboxes), alert, handshake, application data (RFC 8446 5.1).
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=23;
/// A record's type, version and length; and the most that may follow (RFC 8446 5.1, 5.2).
const RECORD_HEADER_OCTETS: usize = 5;
const RECORD_OCTETS: usize = (1 << 14) + 256;

/// The state of one end.
pub(super) struct Session {
    pub tls: Connection,
    /// The beginning of a record of the handshake.
    record: Vec<u8>,
    identity: Option<Identity>,
}

impl Session {
    /// A session before its handshake; at most `buffer_octets` of encrypted octets wait for the socket.
    pub fn new(mut tls: Connection, buffer_octets: usize) -> Self {
        tls.set_buffer_limit(Some(buffer_octets));
        Session { tls, record: Vec::new(), identity: None }
    }

    /// The identity of the peer, once the handshake is complete.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Continues the handshake; returns whether it is complete at this end. It reads record by record, and no octet after the
    /// handshake.
    pub fn shake_hands(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Error> {
        loop {
            self.write_records(socket)?;
            if !self.tls.is_handshaking() {
                self.record = Vec::new();
                let certificate = self.tls.peer_certificates().and_then(|chain| chain.first());
                self.identity = certificate.map(|certificate| x509::identity(certificate));
                return Ok(true);
            }
            if !self.read_record(socket)? {
                return Ok(false);
            }
            self.process(socket)?;
        }
    }

    /// Reads the next record and no octet beyond it; returns whether it is complete.
    fn read_record(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Error> {
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
            let read = rustix::io::read(socket, &mut self.record[have..]);
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
    fn process(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Error> {
        match self.tls.process_new_packets() {
            Ok(state) => Ok(state.peer_has_closed()),
            Err(error) => {
                // Send the alert to the peer, if the socket takes it.
                let _ = self.write_records(socket);
                Err(Error::Tls(error.into()))
            }
        }
    }

    /// Reads once from the socket into `buffer`. Returns how many octets it has read; `None` if there are none.
    pub fn read(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        loop {
            match rustix::io::read(socket, &mut *buffer) {
                // The peer closed without close_notify: the connection may have been cut by a third party.
                Ok(0) => return Err(Error::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(octets) => return Ok(Some(octets)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(Error::from_transfer("read", errno)),
            }
        }
    }

    /// Takes octets from the front of `encrypted`, and passes on what they are in the clear. Returns whether the peer has sent
    /// close_notify. To be repeated until `encrypted` is empty.
    pub fn decrypt(
        &mut self,
        socket: BorrowedFd<'_>,
        encrypted: &mut &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        match self.tls.read_tls(encrypted) {
            Ok(taken) if taken > 0 => {}
            // All decrypted octets were consumed, so rustls has room.
            _ => return Err(Error::Tls(TlsFault::NotTls)),
        }
        let is_over = self.process(socket)?;
        loop {
            let mut reader = self.tls.reader();
            let count = match reader.fill_buf() {
                Ok([]) | Err(_) => return Ok(is_over),
                Ok(plain) => {
                    sink(plain)?;
                    plain.len()
                }
            };
            reader.consume(count);
        }
    }

    /// Writes encrypted octets until none is left or the socket takes no more; returns how many it took.
    pub fn write_records(&mut self, socket: BorrowedFd<'_>) -> Result<usize, Error> {
        let mut octets = 0;
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Socket(socket)) {
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

    /// Sends close_notify to the peer, if the socket takes it.
    pub fn close(&mut self, socket: BorrowedFd<'_>) {
        self.tls.send_close_notify();
        // It fails only if the connection is gone already.
        let _ = self.write_records(socket);
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
