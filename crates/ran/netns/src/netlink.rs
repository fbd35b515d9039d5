//! The requests of rtnetlink(7) that configure a device.

use std::net::Ipv4Addr;
use std::os::fd::{OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::error::Error;

/// Types of messages and attributes, and flags, from `linux/netlink.h` and `linux/rtnetlink.h`.
const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const IFF_UP: u32 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_OIF: u16 = 4;
const AF_INET: u8 = 2;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;

/// The octets of a message header, and of what all messages about devices begin with.
const HEADER: usize = 16;
const LINK_HEADER: usize = 16;

/// Configures the devices of the namespace in which it was created.
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub fn new() -> Result<Netlink, Error> {
        // rtnetlink is protocol 0
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
            .map_err(Error::of("open a netlink socket"))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// The interface index of a device.
    pub fn index(&self, device: &str) -> Result<u32, Error> {
        name_to_index(&self.socket, device).map_err(Error::of("find a network device"))
    }

    /// Brings a device up, and sets its MTU and queue length where given.
    pub fn bring_up(&mut self, device: u32, mtu: Option<u16>, queue_packets: Option<u32>) -> Result<(), Error> {
        let mut body = vec![0; 4];
        body.extend(device.to_ne_bytes());
        // flags, and the mask of flags to change
        body.extend(IFF_UP.to_ne_bytes());
        body.extend(IFF_UP.to_ne_bytes());
        for (kind, value) in [(IFLA_MTU, mtu.map(u32::from)), (IFLA_TXQLEN, queue_packets)] {
            if let Some(value) = value {
                attribute(&mut body, kind, value.to_ne_bytes());
            }
        }
        self.request(RTM_NEWLINK, 0, &body).map_err(Error::of("bring a network device up"))
    }

    /// Adds an address to a device, with a route to its subnet.
    pub fn add_address(&mut self, device: u32, address: Ipv4Addr, prefix_bits: u8) -> Result<(), Error> {
        let mut body = vec![AF_INET, prefix_bits, 0, 0];
        body.extend(device.to_ne_bytes());
        attribute(&mut body, IFA_LOCAL, address.octets());
        attribute(&mut body, IFA_ADDRESS, address.octets());
        self.request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body)
            .map_err(Error::of("add an address to a network device"))
    }

    /// Adds a default route over a device.
    pub fn add_default_route(&mut self, device: u32) -> Result<(), Error> {
        let mut body = vec![AF_INET, 0, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST];
        body.extend([0; 4]);
        attribute(&mut body, RTA_OIF, device.to_ne_bytes());
        self.request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body).map_err(Error::of("add a default route"))
    }

    /// Creates a pair of virtual Ethernet devices, of which the second is in the namespace of an open file.
    pub fn add_veth(&mut self, device: &str, peer: &str, namespace: RawFd) -> Result<(), Errno> {
        let name = |device: &str| [device.as_bytes(), &[0]].concat();
        let mut end = vec![0; LINK_HEADER];
        octets(&mut end, IFLA_IFNAME, &name(peer));
        octets(&mut end, IFLA_NET_NS_FD, &namespace.to_ne_bytes());
        let (mut data, mut info, mut body) = (Vec::new(), Vec::new(), vec![0; LINK_HEADER]);
        octets(&mut data, VETH_INFO_PEER, &end);
        octets(&mut info, IFLA_INFO_KIND, b"veth");
        octets(&mut info, IFLA_INFO_DATA, &data);
        octets(&mut body, IFLA_IFNAME, &name(device));
        octets(&mut body, IFLA_LINKINFO, &info);
        self.request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body)
    }

    /// Removes a device; with one end of a pair the other one as well.
    pub fn delete(&mut self, device: u32) -> Result<(), Errno> {
        let mut body = vec![0; LINK_HEADER];
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        self.request(RTM_DELLINK, 0, &body)
    }

    fn request(&mut self, kind: u16, flags: u16, body: &[u8]) -> Result<(), Errno> {
        self.sequence += 1;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        send(&self.socket, &message, SendFlags::empty())?;
        let mut answer = [0; 4096];
        let (length, _) = recv(&self.socket, &mut answer, RecvFlags::empty())?;
        outcome(&answer[..length], self.sequence)
    }
}

/// Appends an attribute of 4 octets, which needs no padding.
fn attribute(body: &mut Vec<u8>, kind: u16, value: [u8; 4]) {
    octets(body, kind, &value);
}

/// Appends an attribute, padded to a multiple of 4 octets. Attributes of this module are shorter than 64 KiB.
fn octets(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The result of a request: NLMSG_ERROR with number 0 acknowledges it.
fn outcome(answer: &[u8], sequence: u32) -> Result<(), Errno> {
    let [_, _, _, _, k0, k1, _, _, s0, s1, s2, s3, _, _, _, _, e0, e1, e2, e3] =
        *answer.first_chunk::<20>().ok_or(Errno::BADMSG)?;
    if u16::from_ne_bytes([k0, k1]) != NLMSG_ERROR || u32::from_ne_bytes([s0, s1, s2, s3]) != sequence {
        return Err(Errno::BADMSG);
    }
    match i32::from_ne_bytes([e0, e1, e2, e3]) {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno.saturating_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u16, sequence: u32, errno: i32) -> Vec<u8> {
        let mut octets = 36_u32.to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend([0; 2]);
        octets.extend(sequence.to_ne_bytes());
        octets.extend([0; 4]);
        octets.extend(errno.to_ne_bytes());
        octets
    }

    #[test]
    fn answer_is_acknowledgement_or_error() {
        assert_eq!(outcome(&answer(NLMSG_ERROR, 7, 0), 7), Ok(()));
        assert_eq!(outcome(&answer(NLMSG_ERROR, 7, -1), 7), Err(Errno::PERM));
        assert_eq!(outcome(&answer(NLMSG_ERROR, 8, 0), 7), Err(Errno::BADMSG));
        assert_eq!(outcome(&answer(RTM_NEWLINK, 7, 0), 7), Err(Errno::BADMSG));
        assert_eq!(outcome(&answer(NLMSG_ERROR, 7, 0)[..19], 7), Err(Errno::BADMSG));
    }
}
