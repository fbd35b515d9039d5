//! The endpoint of a TUN device: packets from and to programs.

use std::io::IoSlice;
use std::net::Ipv4Addr;
use std::ops::AddAssign;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use radio::{Content, Ecn, Packet};
use rustix::io::{Errno, read, write, writev};

use crate::error::Error;
use crate::header::{self, InvalidPacket};

/// The most packets that one call reads.
const BATCH: usize = 256;

/// The counters of a port, since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Packets from programs.
    pub received: u64,
    /// Their octets.
    pub received_octets: u64,
    /// Packets to programs.
    pub sent: u64,
    /// Their octets.
    pub sent_octets: u64,
    /// Packets to programs in which the mark of congestion was set.
    pub marked: u64,
    /// Packets from programs that are not IPv4: dropped.
    pub not_ipv4: u64,
    /// Packets from programs with inconsistent lengths, or longer than the MTU: dropped.
    pub malformed: u64,
    /// Packets to programs that the kernel refused because its queue was full or the device was down: dropped.
    pub refused: u64,
}

impl AddAssign for PortCounts {
    fn add_assign(&mut self, other: PortCounts) {
        let PortCounts { received, received_octets, sent, sent_octets, marked, not_ipv4, malformed, refused } = other;
        self.received += received;
        self.received_octets += received_octets;
        self.sent += sent;
        self.sent_octets += sent_octets;
        self.marked += marked;
        self.not_ipv4 += not_ipv4;
        self.malformed += malformed;
        self.refused += refused;
    }
}

/// An endpoint of the emulated RAN: a TUN device.
pub struct Port {
    tun: OwnedFd,
    address: Ipv4Addr,
    buffer: Box<[u8]>,
    counts: PortCounts,
}

impl Port {
    pub(crate) fn new(tun: OwnedFd, address: Ipv4Addr, mtu: u16) -> Port {
        // one octet more than the MTU, to detect longer packets
        Port { tun, address, buffer: vec![0; usize::from(mtu) + 1].into(), counts: PortCounts::default() }
    }

    /// The address of the programs behind it.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> &PortCounts {
        &self.counts
    }

    /// Appends packets that programs have sent, at most 256, to `packets`. Never blocks.
    ///
    /// # Errors
    /// [`Error::Gone`] if the device was removed; others from the system.
    pub fn receive(&mut self, packets: &mut Vec<Packet>) -> Result<(), Error> {
        for _ in 0..BATCH {
            let length = match read(&self.tun, &mut *self.buffer) {
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(Errno::BADFD | Errno::FAULT) => return Err(Error::Gone),
                Err(errno) => return Err(Error::of("read from a TUN device")(errno)),
            };
            match header::parse(&self.buffer[..length]) {
                Ok(packet) => {
                    self.counts.received += 1;
                    self.counts.received_octets += length as u64;
                    packets.push(packet);
                }
                Err(InvalidPacket::Version) => self.counts.not_ipv4 += 1,
                Err(InvalidPacket::Malformed) => self.counts.malformed += 1,
            }
        }
        Ok(())
    }

    /// Delivers a packet with live content to the programs behind the port, with the mark of congestion if the packet has it.
    /// Returns whether the kernel accepted it. Never blocks. Packets without live content are not delivered.
    ///
    /// # Errors
    /// As [`Port::receive`].
    pub fn send(&mut self, packet: &Packet) -> Result<bool, Error> {
        let Content::Live(octets) = &packet.content else { return Ok(false) };
        let mark = if packet.ecn == Ecn::Ce { header::marked(octets) } else { None };
        let result = match &mark {
            Some(head) => writev(&self.tun, &[IoSlice::new(head), IoSlice::new(&octets[head.len()..])]),
            None => write(&self.tun, octets),
        };
        match result {
            Ok(_) => {
                self.counts.sent += 1;
                self.counts.sent_octets += octets.len() as u64;
                self.counts.marked += u64::from(mark.is_some());
                Ok(true)
            }
            // EIO: the device is down; EINVAL: the kernel refuses the content
            Err(Errno::AGAIN | Errno::INTR | Errno::IO | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL) => {
                self.counts.refused += 1;
                Ok(false)
            }
            Err(Errno::BADFD | Errno::FAULT) => Err(Error::Gone),
            Err(errno) => Err(Error::of("write to a TUN device")(errno)),
        }
    }
}

/// Readable when programs have sent packets.
impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
