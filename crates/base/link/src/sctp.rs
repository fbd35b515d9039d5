//! Kernel SCTP: one-to-one sockets (RFC 6458), many messages per system call, several addresses per endpoint.
//!
//! This module has unsafe code, since no safe binding supports SCTP's control messages.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::frame::Carry;
use crate::outbox::Outbox;
use crate::scratch::READ_OCTETS;
use crate::{Address, Config, Error, Flushed, PathEvent, Ppid, Received, Scratch, StreamId};

// From linux/sctp.h; the libc crate lacks most of them.
const SCTP_ASSOCINFO: i32 = 1;
const SCTP_INITMSG: i32 = 2;
const SCTP_NODELAY: i32 = 3;
const SCTP_PEER_ADDR_PARAMS: i32 = 9;
const SCTP_EVENTS: i32 = 11;
const SCTP_STATUS: i32 = 14;
const SCTP_DELAYED_SACK: i32 = 16;
const SCTP_RECVRCVINFO: i32 = 32;
const SCTP_SOCKOPT_BINDX_ADD: i32 = 100;
const SCTP_GET_PEER_ADDRS: i32 = 108;
const SCTP_SOCKOPT_CONNECTX: i32 = 110;
const SCTP_SNDINFO: i32 = 2;
const SCTP_RCVINFO: i32 = 3;
const MSG_NOTIFICATION: i32 = 0x8000;
const SCTP_ASSOC_CHANGE: u16 = 0x8001;
const SCTP_PEER_ADDR_CHANGE: u16 = 0x8002;
const SCTP_SHUTDOWN_EVENT: u16 = 0x8005;
const SCTP_PARTIAL_DELIVERY_EVENT: u16 = 0x8006;
const SCTP_RESTART: u16 = 2;
const SCTP_ADDR_AVAILABLE: i32 = 0;
const SCTP_ADDR_UNREACHABLE: i32 = 1;
const SCTP_ADDR_MADE_PRIM: i32 = 4;
const SCTP_ADDR_CONFIRMED: i32 = 5;

/// Enables heartbeats on a path.
const SPP_HB_ENABLE: u32 = 1;

/// Octets of a `struct cmsghdr` up to its data.
const CONTROL_HEADER_OCTETS: usize = size_of::<usize>() + 8;
/// Octets of a `struct sctp_sndinfo`.
const SNDINFO_OCTETS: usize = 16;
/// Messages in one system call, and the part of the read buffer that each may fill.
const BATCH: usize = 16;
const SLOT_OCTETS: usize = READ_OCTETS / BATCH;

/// An association, or one that is being set up.
pub(crate) struct SctpLink {
    pub(crate) socket: OwnedFd,
    pub(crate) outbox: Outbox,
    /// The beginning of a message that has not arrived whole.
    pub(crate) carry: Carry,
    max_pdu_octets: usize,
    /// The payload protocol identifier of sent PDUs.
    ppid: Ppid,
    /// Whether `ppid` is to be the peer's, once it has sent one.
    mirrors_ppid: bool,
    /// The payload protocol identifier of the last message that was received.
    received_ppid: Option<Ppid>,
    /// Streams that the peer agreed to receive on.
    streams: u16,
}

/// Whether an operation on `address` failed because the kernel has no SCTP.
pub(crate) fn is_unsupported(address: &Address, error: &io::Error) -> bool {
    matches!(address, Address::Sctp { .. })
        && matches!(error.raw_os_error(), Some(libc::ESOCKTNOSUPPORT | libc::EPROTONOSUPPORT))
}

/// A listening socket on all addresses, and its port.
pub(crate) fn listen(addresses: Vec<SocketAddr>, config: &Config) -> io::Result<(OwnedFd, u16)> {
    let (socket, mut addresses) = new_socket(addresses, config)?;
    socket.set_reuse_address(true)?;
    // The first address may choose the port; the others follow it.
    let others = addresses.split_off(1);
    set_option(&socket, libc::IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, &pack_addresses(&addresses))?;
    let first = addresses.first().map_or(0, SocketAddr::port);
    let port = socket.local_addr()?.as_socket().map_or(first, |local| local.port());
    if !others.is_empty() {
        let others: Vec<_> = others.into_iter().map(|other| SocketAddr::new(other.ip(), port)).collect();
        set_option(&socket, libc::IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, &pack_addresses(&others))?;
    }
    socket.listen(config.listen_backlog.into())?;
    Ok((socket.into(), port))
}

/// A socket with every option set, and the addresses that it is to serve. Accepted sockets inherit the options.
fn new_socket(mut addresses: Vec<SocketAddr>, config: &Config) -> io::Result<(Socket, Vec<SocketAddr>)> {
    let open = |domain| Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::SCTP));
    let socket = if addresses.iter().any(SocketAddr::is_ipv6) {
        match open(Domain::IPV6) {
            // A host without IPv6 still reaches a name's IPv4 addresses.
            Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                addresses.retain(SocketAddr::is_ipv4);
                open(Domain::IPV4)?
            }
            other => other?,
        }
    } else {
        open(Domain::IPV4)?
    };
    if addresses.is_empty() {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    set_buffers(&socket, config)?;
    set_option(&socket, libc::IPPROTO_SCTP, SCTP_NODELAY, &1_i32.to_ne_bytes())?;
    set_option(&socket, libc::IPPROTO_SCTP, SCTP_RECVRCVINFO, &1_i32.to_ne_bytes())?;
    // struct sctp_sack_info: association, delay in milliseconds, frequency in packets. Every packet is acknowledged at once,
    // since base stations that leave Nagle's algorithm on send no further small message before that: their reports would
    // arrive 200 ms late (RFC 9260 6.2). RFC 6458 8.1.19: a frequency of 1 disables the delay.
    set_option(&socket, libc::IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack_info(0, 1))?;
    // struct sctp_initmsg: outgoing streams, incoming streams, attempts and time-out (0: the system's).
    let [low, high] = config.sctp_streams.max(1).to_ne_bytes();
    set_option(&socket, libc::IPPROTO_SCTP, SCTP_INITMSG, &[low, high, low, high, 0, 0, 0, 0])?;
    // struct sctp_event_subscribe: an octet for each of data, association, address, send failure, peer error, shutdown,
    // partial delivery.
    set_option(&socket, libc::IPPROTO_SCTP, SCTP_EVENTS, &[0, 1, 1, 0, 0, 1, 1])?;
    Ok((socket, addresses))
}

/// Whether an end delays its acknowledgements; `None` when its association is gone.
pub(crate) fn delays_acknowledgements(socket: &OwnedFd) -> Option<bool> {
    let mut info = sack_info(0, 0);
    get_option(socket, SCTP_DELAYED_SACK, &mut info).ok()?;
    // the frequency: 1 for every packet
    Some(info[8..] != 1_u32.to_ne_bytes())
}

fn sack_info(delay_ms: u32, frequency: u32) -> [u8; 12] {
    let mut info = [0; 12];
    info[4..8].copy_from_slice(&delay_ms.to_ne_bytes());
    info[8..].copy_from_slice(&frequency.to_ne_bytes());
    info
}

/// Gives the kernel's buffers room for whole PDUs: it takes no message longer than the send buffer, and drops packets that the
/// receive buffer can't hold, to be sent again a second later.
fn set_buffers(socket: &Socket, config: &Config) -> io::Result<()> {
    let send_octets = config.send_buffer_octets.unwrap_or(config.max_pdu_octets);
    socket.set_send_buffer_size(send_octets)?;
    if socket.send_buffer_size()? < send_octets {
        force_buffer(socket, libc::SO_SNDBUFFORCE, send_octets);
    }
    let receive_octets = config.receive_buffer_octets.unwrap_or(2 * config.max_pdu_octets);
    socket.set_recv_buffer_size(receive_octets)?;
    if socket.recv_buffer_size()? < receive_octets {
        force_buffer(socket, libc::SO_RCVBUFFORCE, receive_octets);
    }
    Ok(())
}

/// Goes beyond the system's bound (net.core.wmem_max, rmem_max), as the privileged may.
fn force_buffer(socket: &Socket, option: i32, octets: usize) {
    if let Ok(octets) = i32::try_from(octets) {
        // Without the privilege it stays at the bound, which `SctpLink::longest_message_octets` reflects.
        let _ = set_option(socket, libc::SOL_SOCKET, option, &octets.to_ne_bytes());
    }
}

impl SctpLink {
    fn new(socket: OwnedFd, config: &Config) -> Self {
        SctpLink {
            socket,
            outbox: Outbox::new(false, config.outbox_octets).within(config.send_budget.as_ref()),
            carry: Carry::within(config.receive_budget.as_ref()),
            max_pdu_octets: config.max_pdu_octets,
            ppid: config.sctp_ppid,
            mirrors_ppid: false,
            received_ppid: None,
            streams: 1,
        }
    }

    /// Starts to set up one association with all addresses of the peer.
    pub(crate) fn connect(addresses: Vec<SocketAddr>, config: &Config) -> io::Result<Self> {
        let (socket, addresses) = new_socket(addresses, config)?;
        match set_option(&socket, libc::IPPROTO_SCTP, SCTP_SOCKOPT_CONNECTX, &pack_addresses(&addresses)) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(SctpLink::new(socket.into(), config)),
        }
    }

    /// Takes over an accepted socket.
    pub(crate) fn accepted(socket: OwnedFd, config: &Config) -> io::Result<Self> {
        let mut link = SctpLink::new(socket, config);
        link.mirrors_ppid = true;
        link.streams = link.agreed_streams()?;
        Ok(link)
    }

    pub(crate) fn finish_connect(&mut self) -> io::Result<bool> {
        if let Some(error) = SockRef::from(&self.socket).take_error()? {
            return Err(error);
        }
        match rustix::net::getpeername(&self.socket) {
            Ok(_) => {
                self.streams = self.agreed_streams()?;
                Ok(true)
            }
            Err(Errno::NOTCONN) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The longest message that the kernel takes: what its send buffer holds.
    pub(crate) fn longest_message_octets(&self) -> usize {
        SockRef::from(&self.socket).send_buffer_size().unwrap_or_default()
    }

    /// Sends a heartbeat each second to every address of the peer, and gives the association up after five
    /// retransmissions without an answer, about half a minute.
    pub(crate) fn probe(&self) {
        // struct sctp_paddrparams, packed: association, address (none: all), heartbeat interval in milliseconds,
        // retransmissions per path, path MTU, delay of acknowledgements, flags, and IPv6's.
        let mut parameters = [0; 156];
        parameters[132..136].copy_from_slice(&1000_u32.to_ne_bytes());
        parameters[146..150].copy_from_slice(&SPP_HB_ENABLE.to_ne_bytes());
        // struct sctp_assocparams: association, retransmissions, destinations, windows of both ends, cookie's life.
        let mut association = [0; 20];
        association[4..6].copy_from_slice(&5_u16.to_ne_bytes());
        // they fail only if the association is gone, which is what is asked
        let _ = set_option(&self.socket, libc::IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &parameters);
        let _ = set_option(&self.socket, libc::IPPROTO_SCTP, SCTP_ASSOCINFO, &association);
    }

    fn agreed_streams(&self) -> io::Result<u16> {
        let mut status = [0; 256];
        get_option(&self.socket, SCTP_STATUS, &mut status)?;
        // struct sctp_status: sstat_outstrms, after three words and three half-words.
        Ok(u16::from_ne_bytes([status[18], status[19]]).max(1))
    }

    /// The payload protocol identifier of the messages that are sent now.
    pub(crate) fn ppid(&self) -> Ppid {
        self.ppid
    }

    /// Every address of the peer; `None` when the association is gone.
    pub(crate) fn peer_address(&self) -> Option<Address> {
        let mut buffer = [0; 1024];
        let octets = get_option(&self.socket, SCTP_GET_PEER_ADDRS, &mut buffer).ok()?;
        // struct sctp_getaddrs: association id, count, then the addresses, packed.
        let addresses = unpack_addresses(buffer.get(8..octets)?);
        let port = addresses.first()?.port();
        Some(Address::Sctp { hosts: addresses.iter().map(crate::resolve::host_of).collect(), port })
    }

    pub(crate) fn receive(
        &mut self,
        scratch: &mut Scratch,
        budget_octets: usize,
        sink: &mut dyn FnMut(StreamId, &[u8]),
        on_path_event: &mut dyn FnMut(PathEvent),
        on_ppid: &mut dyn FnMut(Ppid),
    ) -> Result<Received, Error> {
        let (buffer, spares) = scratch.parts();
        let mut received = Received::default();
        // Notifications are not passed to the caller, but count against its budget.
        let mut spent_octets = 0;
        loop {
            let room = (budget_octets - spent_octets).div_ceil(SLOT_OCTETS).clamp(1, BATCH);
            let mut slots = [Slot::EMPTY; BATCH];
            let count = match receive_batch(self.socket.as_fd(), buffer, &mut slots[..room]) {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(received),
                Err(errno) => return Err(Error::from_transfer("recvmmsg", errno)),
            };
            for (slot, bytes) in slots[..count].iter().zip(buffer.chunks(SLOT_OCTETS)) {
                let bytes = &bytes[..slot.octets];
                spent_octets += bytes.len();
                if slot.flags & MSG_NOTIFICATION != 0 {
                    match Notification::parse(bytes) {
                        Some(Notification::Path(event)) => on_path_event(event),
                        Some(Notification::PartialDeliveryAborted) => self.carry.release(spares),
                        None => {}
                    }
                    continue;
                }
                if bytes.is_empty() {
                    return Err(match self.carry.bytes.len() {
                        0 => Error::Closed,
                        received_octets => Error::ClosedMidPdu { received_octets },
                    });
                }
                if self.received_ppid != Some(slot.ppid) {
                    self.received_ppid = Some(slot.ppid);
                    on_ppid(slot.ppid);
                }
                if self.mirrors_ppid && [Ppid::E2_CP, Ppid::E2_UP, Ppid::E2_DU].contains(&slot.ppid) {
                    self.ppid = slot.ppid;
                }
                received.octets += bytes.len();
                let pdu_octets = self.carry.bytes.len() + bytes.len();
                if pdu_octets > self.max_pdu_octets {
                    return Err(Error::PduTooLong {
                        announced_octets: pdu_octets as u64,
                        limit_octets: self.max_pdu_octets,
                    });
                }
                let is_whole = slot.flags & libc::MSG_EOR != 0;
                if is_whole && self.carry.bytes.is_empty() {
                    sink(slot.stream, bytes);
                    received.pdus += 1;
                    continue;
                }
                // The kernel finishes one message before it begins to give the next, so one buffer is enough.
                if self.carry.bytes.is_empty() {
                    self.carry.begin(spares);
                }
                self.carry.append(bytes, self.max_pdu_octets)?;
                if is_whole {
                    sink(slot.stream, &self.carry.bytes);
                    received.pdus += 1;
                    self.carry.release(spares);
                }
            }
            if count < room {
                return Ok(received);
            }
            if spent_octets >= budget_octets {
                received.more = true;
                return Ok(received);
            }
        }
    }

    pub(crate) fn flush(&mut self) -> Result<Flushed, Error> {
        let mut flushed = Flushed::default();
        while !self.outbox.is_empty() {
            let mut messages = [(StreamId(0), [&[][..]; 2]); BATCH];
            let mut filled = 0;
            for (slot, (stream, pieces)) in messages.iter_mut().zip(self.outbox.messages()) {
                *slot = (StreamId(stream.0 % self.streams), pieces);
                filled += 1;
            }
            match send_batch(self.socket.as_fd(), &messages[..filled], self.ppid) {
                Ok(count) => {
                    let sent = &messages[..count];
                    flushed.octets += sent.iter().map(|(_, [a, b])| a.len() + b.len()).sum::<usize>();
                    self.outbox.wrote_messages(count);
                    if count < filled {
                        flushed.waiting = true;
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    flushed.waiting = true;
                    break;
                }
                Err(errno) => return Err(Error::from_transfer("sendmmsg", errno)),
            }
        }
        Ok(flushed)
    }
}

impl AsFd for SctpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

enum Notification {
    Path(PathEvent),
    PartialDeliveryAborted,
}

impl Notification {
    /// Reads the notifications that matter here; `None` for others.
    fn parse(bytes: &[u8]) -> Option<Notification> {
        let half = |at: usize| Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(i32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        // Each begins with its type, flags and length: 8 octets.
        let event = match half(0)? {
            SCTP_ASSOC_CHANGE if half(8)? == SCTP_RESTART => PathEvent::Restarted,
            SCTP_PEER_ADDR_CHANGE => {
                // A struct sockaddr_storage, then the state.
                let (address, _) = unpack_address(bytes.get(8..136)?)?;
                let ip = address.ip().to_canonical();
                match word(136)? {
                    SCTP_ADDR_AVAILABLE | SCTP_ADDR_CONFIRMED => PathEvent::Reachable(ip),
                    SCTP_ADDR_UNREACHABLE => PathEvent::Unreachable(ip),
                    SCTP_ADDR_MADE_PRIM => PathEvent::Primary(ip),
                    _ => return None,
                }
            }
            SCTP_SHUTDOWN_EVENT => PathEvent::ShuttingDown,
            SCTP_PARTIAL_DELIVERY_EVENT if word(8)? == 0 => return Some(Notification::PartialDeliveryAborted),
            _ => return None,
        };
        Some(Notification::Path(event))
    }
}

/// `struct sockaddr_in` and `sockaddr_in6`, one after the other, as bindx and connectx take them.
fn pack_addresses(addresses: &[SocketAddr]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(addresses.len() * size_of::<libc::sockaddr_in6>());
    let family = |family: i32| u16::try_from(family).expect("address families are small").to_ne_bytes();
    for address in addresses {
        match address {
            SocketAddr::V4(v4) => {
                packed.extend(family(libc::AF_INET));
                packed.extend(v4.port().to_be_bytes());
                packed.extend(v4.ip().octets());
                packed.extend([0; 8]);
            }
            SocketAddr::V6(v6) => {
                packed.extend(family(libc::AF_INET6));
                packed.extend(v6.port().to_be_bytes());
                packed.extend(v6.flowinfo().to_be_bytes());
                packed.extend(v6.ip().octets());
                packed.extend(v6.scope_id().to_ne_bytes());
            }
        }
    }
    packed
}

fn unpack_addresses(mut packed: &[u8]) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    while let Some((address, octets)) = unpack_address(packed) {
        addresses.push(address);
        packed = &packed[octets..];
    }
    addresses
}

/// The address that begins here, and how many octets it takes.
fn unpack_address(packed: &[u8]) -> Option<(SocketAddr, usize)> {
    let family = i32::from(u16::from_ne_bytes(*packed.first_chunk()?));
    let port = u16::from_be_bytes(*packed.get(2..)?.first_chunk()?);
    let (ip, octets) = match family {
        libc::AF_INET => (IpAddr::V4(Ipv4Addr::from(*packed.get(4..)?.first_chunk::<4>()?)), 16),
        libc::AF_INET6 => (IpAddr::V6(Ipv6Addr::from(*packed.get(8..)?.first_chunk::<16>()?)), 28),
        _ => return None,
    };
    (packed.len() >= octets).then(|| (SocketAddr::new(ip, port), octets))
}

fn set_option(socket: &impl AsRawFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let octets = value.len().try_into().expect("options are short");
    // SAFETY: the kernel reads `octets` octets at `value`, which is borrowed for the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), octets) };
    // connectx returns the association's id, which is positive.
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option and returns its octets.
fn get_option(socket: &OwnedFd, option: i32, value: &mut [u8]) -> io::Result<usize> {
    let mut octets: libc::socklen_t = value.len().try_into().expect("options are short");
    // SAFETY: the kernel writes at most `octets` octets at `value`, and a length at `octets`; both are borrowed for the call.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_SCTP, option, value.as_mut_ptr().cast(), &raw mut octets)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok((octets as usize).min(value.len())) }
}

/// A control message buffer, aligned as the kernel's `struct cmsghdr` asks for.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// One received message, or a piece of one, or a notification.
#[derive(Clone, Copy)]
struct Slot {
    octets: usize,
    flags: i32,
    stream: StreamId,
    ppid: Ppid,
}

impl Slot {
    const EMPTY: Slot = Slot { octets: 0, flags: 0, stream: StreamId(0), ppid: Ppid(0) };
}

/// Receives up to `slots.len()` messages without waiting; the n-th lies in the n-th [`SLOT_OCTETS`] of `buffer`.
fn receive_batch(socket: BorrowedFd<'_>, buffer: &mut [u8], slots: &mut [Slot]) -> Result<usize, Errno> {
    let mut controls = [Control([0; 64]); BATCH];
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: `mmsghdr` is plain data of integers and pointers, for which zero is a value.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    let count = slots.len().min(BATCH);
    let pieces = buffer.chunks_exact_mut(SLOT_OCTETS).take(count);
    for (((piece, header), vector), control) in pieces.zip(&mut headers).zip(&mut vectors).zip(&mut controls) {
        *vector = libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
        header.msg_hdr.msg_controllen = control.0.len();
    }
    // SAFETY: the first `count` headers point to a vector and a control buffer of their own, and each vector to a piece of
    // `buffer` of its own; all of them outlive the call, and nothing else refers to them during it. No time-out is given.
    let received = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count as libc::c_uint,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    };
    let Ok(received) = usize::try_from(received) else { return Err(last_errno()) };
    for ((slot, header), control) in slots.iter_mut().zip(&headers[..received]).zip(&controls) {
        let control_octets = header.msg_hdr.msg_controllen.min(control.0.len());
        let (stream, ppid) = receive_info(&control.0[..control_octets]).unwrap_or((StreamId(0), Ppid(0)));
        *slot =
            Slot { octets: (header.msg_len as usize).min(SLOT_OCTETS), flags: header.msg_hdr.msg_flags, stream, ppid };
    }
    Ok(received)
}

/// The stream and payload protocol identifier in the control messages of a received message.
fn receive_info(mut control: &[u8]) -> Option<(StreamId, Ppid)> {
    loop {
        let (length, rest) = control.split_first_chunk()?;
        let length = usize::from_ne_bytes(*length);
        let (level, rest) = rest.split_first_chunk()?;
        let (kind, data) = rest.split_first_chunk()?;
        if (i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind)) == (libc::IPPROTO_SCTP, SCTP_RCVINFO) {
            // struct sctp_rcvinfo: stream, sequence number, flags, padding, and the identifier as the peer sent it.
            let ppid = data.get(8..)?.first_chunk()?;
            return Some((StreamId(u16::from_ne_bytes(*data.first_chunk()?)), Ppid(u32::from_be_bytes(*ppid))));
        }
        control = control.get(length.max(CONTROL_HEADER_OCTETS).next_multiple_of(size_of::<usize>())..)?;
    }
}

/// Sends messages without waiting; returns how many the kernel took, whole.
fn send_batch(socket: BorrowedFd<'_>, messages: &[(StreamId, [&[u8]; 2])], ppid: Ppid) -> Result<usize, Errno> {
    let mut controls = [Control([0; 64]); BATCH];
    let mut vectors = [[libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2]; BATCH];
    // SAFETY: `mmsghdr` is plain data of integers and pointers, for which zero is a value.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    let count = messages.len().min(BATCH);
    let each = messages.iter().zip(&mut headers).zip(&mut vectors).zip(&mut controls);
    for ((((stream, pieces), header), vectors), control) in each {
        for (vector, piece) in vectors.iter_mut().zip(pieces) {
            *vector = libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() };
        }
        header.msg_hdr.msg_iov = vectors.as_mut_ptr();
        header.msg_hdr.msg_iovlen = 2;
        header.msg_hdr.msg_controllen = put_send_info(&mut control.0, *stream, ppid);
        header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
    }
    // SAFETY: the first `count` headers point to vectors and a control buffer of their own, and the vectors to octets that
    // `messages` borrows; all of them outlive the call. The kernel only reads what the vectors point to.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count as libc::c_uint,
            (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
        )
    };
    usize::try_from(sent).map_err(|_| last_errno())
}

/// Writes a control message with a `struct sctp_sndinfo`; returns its octets.
fn put_send_info(control: &mut [u8; 64], stream: StreamId, ppid: Ppid) -> usize {
    let octets = CONTROL_HEADER_OCTETS + SNDINFO_OCTETS;
    let (header, data) = control.split_at_mut(CONTROL_HEADER_OCTETS);
    let (length, level_and_kind) = header.split_at_mut(size_of::<usize>());
    length.copy_from_slice(&octets.to_ne_bytes());
    level_and_kind[..4].copy_from_slice(&libc::IPPROTO_SCTP.to_ne_bytes());
    level_and_kind[4..].copy_from_slice(&SCTP_SNDINFO.to_ne_bytes());
    // Stream, flags, payload protocol identifier (which the kernel passes on as it is), context, association id.
    data[..2].copy_from_slice(&stream.0.to_ne_bytes());
    data[4..8].copy_from_slice(&ppid.0.to_be_bytes());
    octets
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_packing() {
        let addresses: Vec<SocketAddr> =
            ["10.0.0.1:36421", "[2001:db8::1]:36421", "127.0.0.2:1"].iter().map(|a| a.parse().unwrap()).collect();
        let packed = pack_addresses(&addresses);
        assert_eq!(packed.len(), 16 + 28 + 16);
        assert_eq!(unpack_addresses(&packed), addresses);
        assert_eq!(unpack_addresses(&packed[..59]), addresses[..2]);
        assert_eq!(unpack_addresses(&[0; 64]), []);
    }

    #[test]
    fn notifications_are_read_and_truncated_ones_ignored() {
        let mut change = [0; 148];
        change[..2].copy_from_slice(&SCTP_PEER_ADDR_CHANGE.to_ne_bytes());
        let address = pack_addresses(&["[::ffff:10.0.0.9]:5".parse().unwrap()]);
        change[8..8 + address.len()].copy_from_slice(&address);
        change[136..140].copy_from_slice(&SCTP_ADDR_UNREACHABLE.to_ne_bytes());
        let ip: IpAddr = "10.0.0.9".parse().unwrap();
        assert!(matches!(
            Notification::parse(&change),
            Some(Notification::Path(PathEvent::Unreachable(got))) if got == ip
        ));
        for length in 0..140 {
            assert!(Notification::parse(&change[..length]).is_none());
        }
        assert!(Notification::parse(&[0xff; 200]).is_none());
    }

    #[test]
    fn stream_and_ppid_are_found_behind_other_control_messages() {
        let mut control = [0; 64];
        let first = put_send_info(&mut control, StreamId(3), Ppid::E2_CP);
        assert_eq!(receive_info(&control[..first]), None);
        let mut second = [0; 64];
        let octets = put_send_info(&mut second, StreamId(5), Ppid::E2_CP);
        second[CONTROL_HEADER_OCTETS - 4..CONTROL_HEADER_OCTETS].copy_from_slice(&SCTP_RCVINFO.to_ne_bytes());
        second[CONTROL_HEADER_OCTETS + 8..CONTROL_HEADER_OCTETS + 12].copy_from_slice(&72_u32.to_be_bytes());
        let both = [&control[..first], &second[..octets]].concat();
        assert_eq!(receive_info(&both), Some((StreamId(5), Ppid::E2_DU)));
        assert_eq!(receive_info(&[0; 64]), None);
    }
}
