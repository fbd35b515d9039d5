//! TCP and Unix stream sockets: connecting, and framed PDUs in both directions.

use std::io;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};

use crate::frame::Deframer;
use crate::outbox::Outbox;
use crate::resolve::mapped;
use crate::{Address, Class, Config, Error, Flushed, Framing, Received, Scratch, Sent, StreamId};

/// Slices of one gathered write. The kernel takes up to 1024; beyond a few dozen they gain nothing.
const WRITE_SLICES: usize = 64;

/// Slices of a PDU that is written without the outbox: its length, and its parts.
const DIRECT_SLICES: usize = 8;

/// How long a probed peer may leave octets unacknowledged, or its window closed.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// A connected, or connecting, stream socket with its framing.
pub(crate) struct StreamLink {
    pub(crate) socket: OwnedFd,
    /// Addresses of the peer's host to try should the current one fail, last first. Only while connecting.
    untried: Vec<SocketAddr>,
    pub(crate) outbox: Outbox,
    pub(crate) deframer: Deframer,
}

impl StreamLink {
    fn new(socket: OwnedFd, untried: Vec<SocketAddr>, config: &Config) -> Self {
        StreamLink {
            socket,
            untried,
            outbox: Outbox::new(config.framing == Framing::Prefix, config.outbox_octets)
                .within(config.send_budget.as_ref()),
            deframer: Deframer::new(config.max_pdu_octets)
                .framed_by(config.framing)
                .within(config.receive_budget.as_ref()),
        }
    }

    /// Takes over an accepted socket.
    pub(crate) fn accepted(socket: OwnedFd, config: &Config, is_tcp: bool) -> io::Result<Self> {
        if is_tcp {
            set_tcp_options(&SockRef::from(&socket), config)?;
        }
        Ok(StreamLink::new(socket, Vec::new(), config))
    }

    /// Starts to connect to the first of a host's addresses that takes it; the others are tried when that fails.
    pub(crate) fn connect_tcp(mut addresses: Vec<SocketAddr>, config: &Config) -> io::Result<Self> {
        // One socket serves both IP versions, so that the file descriptor stays the same from one try to the next.
        let socket = match tcp_socket(&addresses, config) {
            Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                addresses.retain(SocketAddr::is_ipv4);
                tcp_socket(&addresses, config)?
            }
            other => other?,
        };
        set_tcp_options(&SockRef::from(&socket), config)?;
        addresses.reverse();
        let mut link = StreamLink::new(socket.into(), addresses, config);
        link.try_next(io::ErrorKind::AddrNotAvailable.into())?;
        Ok(link)
    }

    /// Connects to a Unix socket, which succeeds or fails at once.
    pub(crate) fn connect_unix(path: &Path, config: &Config) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        set_buffers(&socket, config)?;
        socket.connect(&SockAddr::unix(path)?)?;
        Ok(StreamLink::new(socket.into(), Vec::new(), config))
    }

    /// Starts to connect to the next address; fails with `why`, or the last reason, when none is left.
    fn try_next(&mut self, mut why: io::Error) -> io::Result<()> {
        let socket = SockRef::from(&self.socket);
        let is_ipv6 = socket.domain()? == Domain::IPV6;
        while let Some(address) = self.untried.pop() {
            let address = if is_ipv6 { mapped(address) } else { address };
            let address = SockAddr::from(address);
            let connected = match socket.connect(&address) {
                // Linux: the first call after a failed attempt only acknowledges that failure.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => socket.connect(&address),
                other => other,
            };
            match connected {
                Ok(()) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => return Ok(()),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// Whether the connection is established; fails when every address refused it.
    pub(crate) fn finish_connect(&mut self) -> io::Result<bool> {
        if let Some(error) = SockRef::from(&self.socket).take_error()? {
            self.try_next(error)?;
            return Ok(false);
        }
        match rustix::net::getpeername(&self.socket) {
            Ok(_) => {
                self.untried = Vec::new();
                Ok(true)
            }
            Err(Errno::NOTCONN) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(crate) fn receive(
        &mut self,
        scratch: &mut Scratch,
        budget_octets: usize,
        sink: &mut dyn FnMut(StreamId, &[u8]),
    ) -> Result<Received, Error> {
        let (buffer, spares) = scratch.parts();
        let mut received = Received::default();
        loop {
            let room = (budget_octets - received.octets).clamp(1, buffer.len());
            let octets = match rustix::io::read(&self.socket, &mut buffer[..room]) {
                Ok(0) => {
                    return Err(match self.deframer.unfinished_octets() {
                        0 => Error::Closed,
                        received_octets => Error::ClosedMidPdu { received_octets },
                    });
                }
                Ok(octets) => octets,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(received),
                Err(errno) => return Err(Error::from_transfer("read", errno)),
            };
            received.pdus += self.deframer.push(&buffer[..octets], spares, &mut |pdu| sink(StreamId(0), pdu))?;
            received.octets += octets;
            if octets < room {
                // A short read has emptied the socket: asking again would only cost a system call.
                return Ok(received);
            }
            if received.octets >= budget_octets {
                received.more = true;
                return Ok(received);
            }
        }
    }

    /// Writes one PDU; the outbox is empty, and stores only what the kernel does not take.
    pub(crate) fn send_now(&mut self, stream: StreamId, parts: &[&[u8]], class: Class) -> Result<Sent, Error> {
        let header = self.outbox.header(parts);
        let header = header.as_ref().map_or(&[][..], |header| &header[..]);
        let mut slices = [IoSlice::new(&[]); DIRECT_SLICES];
        let Some(used) = slices.get_mut(..=parts.len()) else {
            let sent = self.outbox.push(stream, parts, class)?;
            self.flush()?;
            return Ok(sent);
        };
        let all = std::iter::once(header).chain(parts.iter().copied());
        used.iter_mut().zip(all.clone()).for_each(|(slice, part)| *slice = IoSlice::new(part));
        let octets: usize = all.clone().map(<[u8]>::len).sum();
        let mut control = SendAncillaryBuffer::new(&mut []);
        match rustix::net::sendmsg(&self.socket, used, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(written) => {
                if written < octets {
                    self.outbox.keep_rest(all, written);
                }
                Ok(Sent { queued: true, dropped_reports: 0 })
            }
            // the caller waits for the link to be writable
            Err(Errno::AGAIN | Errno::INTR) => self.outbox.push(stream, parts, class),
            Err(errno) => Err(Error::from_transfer("write", errno)),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<Flushed, Error> {
        let mut flushed = Flushed::default();
        while !self.outbox.is_empty() {
            // Not `write`: a peer that went away must not raise SIGPIPE in a host program that does not expect it.
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            let (sent, gathered) = if let Some(all) = self.outbox.in_one_slice() {
                (rustix::net::send(&self.socket, all, flags), all.len())
            } else {
                let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
                let (filled, gathered) = self.outbox.gather(&mut slices);
                let mut control = SendAncillaryBuffer::new(&mut []);
                (rustix::net::sendmsg(&self.socket, &slices[..filled], &mut control, flags), gathered)
            };
            match sent {
                Ok(written) => {
                    self.outbox.wrote(written);
                    flushed.octets += written;
                    if written < gathered {
                        // A short write has filled the socket.
                        flushed.waiting = true;
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    flushed.waiting = true;
                    break;
                }
                Err(errno) => return Err(Error::from_transfer("write", errno)),
            }
        }
        Ok(flushed)
    }

    /// Sends keep-alive probes each second, and bounds the time for which octets may stay unacknowledged.
    pub(crate) fn probe(&self) {
        let socket = SockRef::from(&self.socket);
        let second = Duration::from_secs(1);
        // they fail on a Unix socket, whose end is known at once
        let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(second).with_interval(second).with_retries(5));
        let _ = socket.set_tcp_user_timeout(Some(PROBE_TIMEOUT));
    }

    /// Shuts down the sending direction.
    pub(crate) fn shut_down(&self) {
        // It fails only if the connection is gone already.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
    }
}

impl AsFd for StreamLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn tcp_socket(addresses: &[SocketAddr], config: &Config) -> io::Result<Socket> {
    let is_ipv6 = addresses.iter().any(SocketAddr::is_ipv6);
    let domain = if is_ipv6 { Domain::IPV6 } else { Domain::IPV4 };
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if is_ipv6 {
        socket.set_only_v6(false)?;
    }
    set_buffers(&socket, config)?;
    Ok(socket)
}

fn set_tcp_options(socket: &SockRef<'_>, config: &Config) -> io::Result<()> {
    socket.set_tcp_nodelay(config.tcp_nodelay)?;
    if let Some(time) = config.tcp_keepalive {
        let interval = (time / 3).max(std::time::Duration::from_secs(1));
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(time).with_interval(interval).with_retries(3))?;
    }
    Ok(())
}

/// Bounds the kernel's buffers; on a listener, before it listens, so that accepted sockets inherit it.
pub(crate) fn set_buffers(socket: &Socket, config: &Config) -> io::Result<()> {
    if let Some(octets) = config.send_buffer_octets {
        socket.set_send_buffer_size(octets)?;
    }
    if let Some(octets) = config.receive_buffer_octets {
        socket.set_recv_buffer_size(octets)?;
    }
    Ok(())
}

/// A listening TCP socket on the first of a host's addresses that takes it.
pub(crate) fn listen_tcp(addresses: &[SocketAddr], config: &Config) -> io::Result<OwnedFd> {
    let mut why = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let listen = || {
            let socket = tcp_socket(std::slice::from_ref(address), config)?;
            socket.set_reuse_address(true)?;
            socket.bind(&(*address).into())?;
            socket.listen(config.listen_backlog.into())?;
            Ok(socket.into())
        };
        match listen() {
            Ok(socket) => return Ok(socket),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// A listening Unix socket. A socket file that a dead listener left behind is replaced.
pub(crate) fn listen_unix(path: &Path, config: &Config) -> io::Result<OwnedFd> {
    let address = SockAddr::unix(path)?;
    let new_socket = || Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None);
    let socket = new_socket()?;
    set_buffers(&socket, config)?;
    if let Err(error) = socket.bind(&address) {
        // A file that is no socket refuses connections too.
        let is_stale = error.kind() == io::ErrorKind::AddrInUse
            && std::fs::symlink_metadata(path)?.file_type().is_socket()
            && matches!(new_socket()?.connect(&address), Err(e) if e.kind() == io::ErrorKind::ConnectionRefused);
        if !is_stale {
            return Err(error);
        }
        std::fs::remove_file(path)?;
        socket.bind(&address)?;
    }
    socket.listen(config.listen_backlog.into())?;
    Ok(socket.into())
}

/// The URL of a TCP socket's own or its peer's address.
pub(crate) fn tcp_address(address: &SocketAddr) -> Address {
    Address::Tcp { host: crate::resolve::host_of(address), port: address.port() }
}

/// The same for TLS.
#[cfg(feature = "tls")]
pub(crate) fn tls_address(address: &SocketAddr) -> Address {
    Address::Tls { host: crate::resolve::host_of(address), port: address.port() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::Instant;

    /// Connects to the addresses of which only the last is listened on, or none.
    fn connect(hosts: &[&str], listened: bool) -> io::Result<StreamLink> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = listened.then_some(listener);
        let addresses = hosts.iter().map(|host| SocketAddr::new(host.parse().unwrap(), port)).collect();
        let mut link = StreamLink::connect_tcp(addresses, &Config::default())?;
        let descriptor = format!("{:?}", link.as_fd());
        let begun = Instant::now();
        while !link.finish_connect()? {
            assert!(begun.elapsed() < Duration::from_secs(10));
        }
        assert_eq!(format!("{:?}", link.as_fd()), descriptor, "what the caller polls stays the same");
        listener.expect("connected").accept().unwrap();
        Ok(link)
    }

    #[test]
    fn probed_connection_is_checked_each_second() {
        let link = connect(&["127.0.0.1"], true).unwrap();
        let socket = SockRef::from(&link.socket);
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Config::default().tcp_keepalive.unwrap());
        link.probe();
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(1));
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(1));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 5);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(PROBE_TIMEOUT));
    }

    #[test]
    fn next_address_is_tried_when_one_refuses() {
        connect(&["::1", "127.0.0.2", "127.0.0.1"], true).unwrap();
        connect(&["127.0.0.2", "127.0.0.1"], true).unwrap();
        let error = connect(&["::1", "127.0.0.1"], false).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
