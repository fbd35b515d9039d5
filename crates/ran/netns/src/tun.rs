//! TUN devices (`networking/tuntap` of the kernel's documentation).

use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::error::Error;
use crate::netlink::Netlink;

/// Octets of a device's name, with the 0 at its end.
const NAME: usize = 16;
/// Packets that wait in the kernel until we read them: more are lost, as on a radio that does not answer. At 1500 octets
/// this is what a burst of a whole TCP window may be.
const QUEUE_PACKETS: u32 = 2000;

/// How a device is set up.
pub struct Device<'a> {
    pub name: &'a str,
    pub address: Ipv4Addr,
    pub prefix_bits: u8,
    pub is_default_route: bool,
    pub mtu: u16,
}

/// Of `linux/if_tun.h`.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);

/// The kernel's `struct ifreq`, with flags.
#[repr(C)]
struct Request {
    name: [u8; NAME],
    flags: u16,
    rest: [u8; 22],
}

/// Makes a device in the network namespace of this thread. It goes when the descriptor is closed.
pub fn make(device: &Device<'_>) -> Result<OwnedFd, Error> {
    let tun = open_tun()?;
    attach(&tun, device.name).map_err(|errno| match errno {
        Errno::BUSY | Errno::EXIST => Error::DeviceTaken { name: device.name.to_owned() },
        errno => Error::of("make a TUN device")(errno),
    })?;
    // Where it cannot be said (no IPv6 at all, /proc/sys not ours to write), packets of IPv6 come, and are counted.
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", device.name), "1");
    let mut netlink = Netlink::new()?;
    let index = netlink.index(device.name)?;
    netlink.set_up(index, Some(device.mtu), Some(QUEUE_PACKETS))?;
    netlink.add_address(index, device.address, device.prefix_bits)?;
    if device.is_default_route {
        netlink.add_default_route(index)?;
    }
    Ok(tun)
}

/// Takes up what each network namespace has for itself.
pub fn take_loopback_up() -> Result<(), Error> {
    let mut netlink = Netlink::new()?;
    let index = netlink.index("lo")?;
    netlink.set_up(index, None, None)
}

/// Whether there can be such devices.
pub fn look() -> Result<(), Error> {
    open_tun().map(drop)
}

fn open_tun() -> Result<OwnedFd, Error> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open("/dev/net/tun", flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV => Error::NoTun,
        errno => Error::of("open /dev/net/tun")(errno),
    })
}

/// A device that was not there before, of bare packets: without a header before them, and without segmentation and
/// checksums left to us.
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
    // a `Request` has 40, all of them plain numbers, and lives until the call is over.
    unsafe { ioctl(tun, Updater::<TUNSETIFF, Request>::new(&mut request)) }
}
