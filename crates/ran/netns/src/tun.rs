//! TUN devices (`networking/tuntap` of the kernel's documentation).

use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::error::Error;
use crate::netlink::Netlink;

/// The octets of a device name, with the terminating 0.
const NAME: usize = 16;
/// The length of the device's queue in the kernel; further packets are lost. With packets of 1500 octets it holds a burst of a
/// whole TCP window.
const QUEUE_PACKETS: u32 = 2000;

/// The configuration of a device.
pub struct Device<'a> {
    pub name: &'a str,
    pub address: Ipv4Addr,
    pub prefix_bits: u8,
    pub is_default_route: bool,
    pub mtu: u16,
}

/// From `linux/if_tun.h`.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);

/// The kernel's `struct ifreq`, with flags.
#[repr(C)]
struct Request {
    name: [u8; NAME],
    flags: u16,
    rest: [u8; 22],
}

/// Creates a device in the network namespace of this thread. It is removed when the descriptor is closed.
pub fn create(device: &Device<'_>) -> Result<OwnedFd, Error> {
    let tun = open_tun()?;
    attach(&tun, device.name).map_err(|errno| match errno {
        Errno::BUSY | Errno::EXIST => Error::DeviceTaken { name: device.name.to_owned() },
        errno => Error::of("create a TUN device")(errno),
    })?;
    // Where this fails (no IPv6 in the kernel, /proc/sys read-only), packets of IPv6 are received, and counted.
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", device.name), "1");
    let mut netlink = Netlink::new()?;
    let index = netlink.index(device.name)?;
    netlink.bring_up(index, Some(device.mtu), Some(QUEUE_PACKETS))?;
    netlink.add_address(index, device.address, device.prefix_bits)?;
    if device.is_default_route {
        netlink.add_default_route(index)?;
    }
    Ok(tun)
}

/// Brings up the loopback device of a namespace.
pub fn bring_loopback_up() -> Result<(), Error> {
    let mut netlink = Netlink::new()?;
    let index = netlink.index("lo")?;
    netlink.bring_up(index, None, None)
}

/// Checks that TUN devices can be created.
pub fn check() -> Result<(), Error> {
    open_tun().map(drop)
}

fn open_tun() -> Result<OwnedFd, Error> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open("/dev/net/tun", flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV => Error::NoTun,
        errno => Error::of("open /dev/net/tun")(errno),
    })
}

/// Creates a device of plain packets: without a preceding header, and without offloaded segmentation and checksums. Fails if
/// the device exists.
#[allow(unsafe_code)]
fn attach(tun: &OwnedFd, name: &str) -> Result<(), Errno> {
    let mut request = Request {
        name: [0; NAME],
        flags: (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as u16,
        rest: [0; 22],
    };
    let octets = request.name.get_mut(..name.len()).filter(|octets| octets.len() < NAME).ok_or(Errno::NAMETOOLONG)?;
    octets.copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which has 40 octets where pointers have 8, and fewer elsewhere;
    // a `Request` has 40, every bit pattern is valid for it, and it outlives the call.
    unsafe { ioctl(tun, Updater::<TUNSETIFF, Request>::new(&mut request)) }
}
