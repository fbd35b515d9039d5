//! Where packets come from programs and go to them.

use std::io::IoSlice;
use std::net::Ipv4Addr;
use std::ops::AddAssign;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use radio::{Content, Ecn, Packet};
use rustix::io::{Errno, read, write, writev};

use crate::error::Error;
use crate::header::{self, NotCarried};

/// Packets that one call reads at most; the rest waits for the next.
const BATCH: usize = 256;

/// What went through a port, from the beginning.
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
    /// Of them those in which a mark of congestion was written.
    pub marked: u64,
    /// Packets from programs that are not of IPv4: dropped.
    pub not_ipv4: u64,
    /// Packets from programs whose lengths contradict each other, or that are longer than the MTU: dropped.
    pub malformed: u64,
    /// Packets to programs that the kernel had no room for, or whose device was down: dropped.
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

/// One end of the emulated RAN: a TUN device.
pub struct Port {
    tun: OwnedFd,
    address: Ipv4Addr,
    buffer: Box<[u8]>,
    counts: PortCounts,
}

impl Port {
    pub(crate) fn new(tun: OwnedFd, address: Ipv4Addr, mtu: u16) -> Port {
        // one octet more, so that a packet beyond the MTU does not look whole
        Port { tun, address, buffer: vec![0; usize::from(mtu) + 1].into(), counts: PortCounts::default() }
    }

    /// The address of the programs behind it.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// What went through it.
    #[must_use]
    pub fn counts(&self) -> &PortCounts {
        &self.counts
    }

    /// Appends what programs have sent, at most 256 packets, to `packets`; never waits.
    ///
    /// # Errors
    /// [`Error::Gone`]: somebody removed the device. Others: the system's.
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
                Err(NotCarried::Version) => self.counts.not_ipv4 += 1,
                Err(NotCarried::Malformed) => self.counts.malformed += 1,
            }
        }
        Ok(())
    }

    /// Hands the octets of a live packet to the programs behind the port, with the mark of congestion that the packet got on
    /// its way. Whether the kernel took it: it never waits. Packets that are not live have nothing to hand on.
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
            // EIO: the device is down; EINVAL: the kernel does not like what is in it
            Err(Errno::AGAIN | Errno::INTR | Errno::IO | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL) => {
                self.counts.refused += 1;
                Ok(false)
            }
            Err(Errno::BADFD | Errno::FAULT) => Err(Error::Gone),
            Err(errno) => Err(Error::of("write to a TUN device")(errno)),
        }
    }
}

/// Readable when programs have sent something.
impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
