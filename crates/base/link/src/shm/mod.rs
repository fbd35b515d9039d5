//! Shared memory: links within a host that cost no system call for a PDU, but one for each time that the peer slept.
//!
//! The listener's end makes the memory and gives it to the client, over a Unix socket that both keep: see [`bell`] for
//! what else it is for, and [`ring`] for the memory.

mod bell;
mod ring;

use std::io;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use crate::frame::{Deframer, HEADER_OCTETS};
use crate::outbox::Outbox;
use crate::{Class, Config, Error, Flushed, Received, Scratch, Sent, StreamId};
use bell::{Bell, Drained, SEND_BUFFER_OCTETS};
use ring::{MAX_RING_OCTETS, MIN_RING_OCTETS, Rings};

/// The first message of the listener's end, sent with the memory: a name with a version, and the octets of each ring.
const HELLO: &[u8; 16] = b"ferric-shm v1\0\0\0";
const HELLO_OCTETS: usize = HELLO.len() + 8;

/// Slices of one gathered write.
const WRITE_SLICES: usize = 64;

/// Looks at the ring before an end that is awake returns to its event loop.
const LOOKS: u32 = 32;

/// One end of a link.
pub(crate) struct ShmLink {
    bell: Bell,
    /// `None` while a client waits to be given the memory.
    rings: Option<Rings>,
    pub(crate) outbox: Outbox,
    /// Octets in the ring that were not published to the peer yet.
    unpublished_octets: usize,
    pub(crate) deframer: Deframer,
    hung_up: bool,
    wakefulness: Wakefulness,
}

/// How long a reader stays awake once there is nothing to read. While it is awake its socket stays readable, so that its event loop
/// comes back at once after it has served everything else that is ready, and the writer makes no system call.
struct Wakefulness {
    /// The longest time. Zero: it sleeps at once.
    patience: Duration,
    /// Since when there has been nothing to read.
    idle_since: Option<Instant>,
    /// Whether the last wait for something to read was longer than the patience: then the next one will be too.
    expects_long_wait: bool,
}

impl Wakefulness {
    fn new(patience: Duration) -> Self {
        Wakefulness { patience, idle_since: None, expects_long_wait: false }
    }

    /// Something was read.
    fn read(&mut self, now: Instant) {
        if let Some(since) = self.idle_since.take() {
            self.expects_long_wait = now.duration_since(since) > self.patience;
        }
    }

    /// There is nothing to read. Returns whether to stay awake.
    fn stays_awake(&mut self, now: Instant) -> bool {
        let since = *self.idle_since.get_or_insert(now);
        !self.expects_long_wait && now.duration_since(since) < self.patience
    }
}

impl ShmLink {
    fn new(bell: Bell, rings: Option<Rings>, config: &Config) -> Self {
        ShmLink {
            bell,
            rings,
            outbox: Outbox::new(true, config.outbox_octets).within(config.send_budget.as_ref()),
            unpublished_octets: 0,
            deframer: Deframer::new(config.max_pdu_octets).within(config.receive_budget.as_ref()),
            hung_up: false,
            wakefulness: Wakefulness::new(config.shm_spin),
        }
    }

    /// Connects to the listener's socket, which succeeds or fails at once, and waits for the memory.
    pub(crate) fn connect(path: &Path, config: &Config) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        socket.set_send_buffer_size(SEND_BUFFER_OCTETS)?;
        socket.connect(&SockAddr::unix(path)?)?;
        let bell = Bell::new(socket.into());
        // Not writable before the listener's end has read something.
        bell.fill()?;
        Ok(ShmLink::new(bell, None, config))
    }

    /// Creates the memory and sends it to the client.
    pub(crate) fn accepted(socket: OwnedFd, config: &Config) -> io::Result<Self> {
        SockRef::from(&socket).set_send_buffer_size(SEND_BUFFER_OCTETS)?;
        let ring_octets = config.shm_ring_octets.clamp(MIN_RING_OCTETS, MAX_RING_OCTETS).next_power_of_two();
        let (rings, memfd) = Rings::make(ring_octets)?;
        let mut hello = [0; HELLO_OCTETS];
        hello[..HELLO.len()].copy_from_slice(HELLO);
        hello[HELLO.len()..].copy_from_slice(&(ring_octets as u64).to_le_bytes());
        let descriptors = [memfd.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let has_room = control.push(SendAncillaryMessage::ScmRights(&descriptors));
        assert!(has_room, "the space is for one descriptor");
        // The socket is new: its buffer has room.
        rustix::net::sendmsg(
            &socket,
            &[IoSlice::new(&hello)],
            &mut control,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        )?;
        Ok(ShmLink::new(Bell::new(socket), Some(rings), config))
    }

    /// Whether the memory has arrived; fails if the listener's end sends something else.
    pub(crate) fn finish_connect(&mut self) -> io::Result<bool> {
        if self.rings.is_some() {
            return Ok(true);
        }
        let mut hello = [0; HELLO_OCTETS];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let octets = match rustix::net::recvmsg(&self.bell, &mut [IoSliceMut::new(&mut hello)], &mut control, flags) {
            Ok(message) => message.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            // Closed without having read what we filled the socket with.
            Err(Errno::CONNRESET) => 0,
            Err(errno) => return Err(errno.into()),
        };
        let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if octets == 0 {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (name, size) = hello.split_at(HELLO.len());
        if octets < HELLO_OCTETS || name != HELLO {
            return invalid("the peer is not a shared-memory listener of this version");
        }
        let size = u64::from_le_bytes(size.try_into().expect("what is left has eight octets"));
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if !size.is_power_of_two() || !(MIN_RING_OCTETS..=MAX_RING_OCTETS).contains(&size) {
            return invalid("the shared memory that the peer offers has an invalid size");
        }
        let memfd = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        // The kernel leaves out what the process has no descriptor left for.
        let Some(memfd) = memfd else { return Err(Errno::MFILE.into()) };
        self.rings = Some(Rings::join(&memfd, size)?);
        Ok(true)
    }

    pub(crate) fn receive(
        &mut self,
        scratch: &mut Scratch,
        budget_octets: usize,
        sink: &mut dyn FnMut(StreamId, &[u8]),
    ) -> Result<Received, Error> {
        let rings = self.rings.as_mut().expect("an established link has its memory");
        let (buffer, spares) = scratch.parts();
        let mut received = Received::default();
        loop {
            let room = (budget_octets.saturating_sub(received.octets)).clamp(1, buffer.len());
            let octets = rings.take(&mut buffer[..room])?;
            if octets > 0 {
                received.pdus += self.deframer.push(&buffer[..octets], spares, &mut |pdu| sink(StreamId(0), pdu))?;
                received.octets += octets;
                if received.octets >= budget_octets && !rings.is_empty()? {
                    // The ring for what is left was not read yet, so that the socket is readable still.
                    received.more = true;
                    return Ok(received);
                }
                continue;
            }
            if self.hung_up {
                // What was written before is read by now.
                return match self.deframer.unfinished_octets() {
                    _ if received.octets > 0 => Ok(received),
                    0 => Err(Error::Closed),
                    received_octets => Err(Error::ClosedMidPdu { received_octets }),
                };
            }
            if !self.wakefulness.patience.is_zero() {
                // The ring for what was read is still in the socket, which is therefore readable: the caller comes back at once.
                if received.octets > 0 {
                    self.wakefulness.read(Instant::now());
                    return Ok(received);
                }
                let is_awake = !rings.is_resting() && !rings.is_reader_gone();
                if is_awake && self.wakefulness.stays_awake(Instant::now()) {
                    if comes_soon(rings)? {
                        continue;
                    }
                    // The peer, or the one that the peer waits for, may need this processor.
                    std::thread::yield_now();
                    return Ok(received);
                }
            }
            // In this order: the rings that may be read away below are those of earlier sleeps.
            if rings.was_woken() {
                self.bell.expect_wakeup();
            }
            if !rings.sleep()? {
                continue;
            }
            match self.bell.drain(|| rings.is_woken())? {
                Drained::Open => return Ok(received),
                Drained::HungUp => self.hung_up = true,
            }
        }
    }

    /// Writes a PDU into the ring at once if it fits and nothing waits before it; else into the outbox.
    pub(crate) fn send(&mut self, stream: StreamId, parts: &[&[u8]], class: Class) -> Result<Sent, Error> {
        if self.outbox.is_empty()
            && let Some(rings) = &mut self.rings
        {
            let octets: usize = parts.iter().map(|part| part.len()).sum();
            if let Ok(announced) = u32::try_from(octets)
                && rings.has_room(HEADER_OCTETS + octets)
            {
                rings.put(&announced.to_be_bytes());
                for part in parts {
                    rings.put(part);
                }
                self.unpublished_octets += HEADER_OCTETS + octets;
                return Ok(Sent { queued: true, dropped_reports: 0 });
            }
        }
        self.outbox.push(stream, parts, class)
    }

    /// Whether there is something to flush. What it is that is waited for, room in the ring or in the socket: the socket is
    /// writable when it has come.
    pub(crate) fn wants_write(&self) -> bool {
        self.unpublished_octets > 0 || !self.outbox.is_empty() || self.bell.has_deferred_wakeups()
    }

    pub(crate) fn flush(&mut self) -> Result<Flushed, Error> {
        let rings = self.rings.as_mut().expect("an established link has its memory");
        let mut flushed = Flushed::default();
        if rings.is_reader_gone() {
            // PDUs that the peer wrote before it closed can still be read; an error matters only if there is something to send.
            return match self.unpublished_octets == 0 && self.outbox.is_empty() {
                true => Ok(flushed),
                false => Err(Error::Lost(io::ErrorKind::BrokenPipe.into())),
            };
        }
        self.bell.ring_deferred()?;
        if self.unpublished_octets > 0 {
            flushed.octets = std::mem::take(&mut self.unpublished_octets);
            if rings.publish() {
                self.bell.ring()?;
            }
        }
        while !self.outbox.is_empty() {
            let room = rings.room()?;
            if room == 0 {
                self.bell.fill().map_err(|errno| Error::from_transfer("filling of the socket", errno))?;
                flushed.waiting = true;
                break;
            }
            let written = put(rings, &self.outbox, room);
            self.outbox.wrote(written);
            flushed.octets += written;
            if rings.publish() {
                self.bell.ring()?;
            }
        }
        flushed.waiting |= self.bell.has_deferred_wakeups();
        Ok(flushed)
    }
}

/// Writes as much of the outbox as fits into the ring; returns the octets.
fn put(rings: &mut Rings, outbox: &Outbox, room: usize) -> usize {
    let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
    let (filled, _) = outbox.gather(&mut slices);
    let mut left = room;
    for slice in &slices[..filled] {
        let octets = &slice[..slice.len().min(left)];
        rings.put(octets);
        left -= octets.len();
    }
    room - left
}

/// Looks for something to read, for about a microsecond.
fn comes_soon(rings: &Rings) -> Result<bool, Error> {
    for _ in 0..LOOKS {
        if !rings.is_empty()? {
            return Ok(true);
        }
        std::hint::spin_loop();
    }
    Ok(false)
}

impl AsFd for ShmLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for ShmLink {
    fn drop(&mut self) {
        if let Some(rings) = &self.rings {
            rings.leave();
        }
    }
}

#[cfg(test)]
mod tests;
