//! Network namespaces behind TUN devices: real programs at both ends of an emulated RAN.
//!
//! Each UE is a network namespace (`ferric-ue1`, ...) with one device, `ferric0`, and a default route over it. The core is
//! another (`ferric-core`), or the host itself, with a route to all UEs. What a program there sends comes out of a
//! [`Port`] as a [`radio::Packet`], whose headers are read and whose octets go along; what is sent into a port comes to
//! the programs behind it. Whoever has the ports decides what happens between them; a [`Bridge`] has it go through the cells
//! of a [`radio::Network`].
//!
//! The namespaces are such as `ip netns` makes and knows: `ip netns exec ferric-ue1 ping 10.45.0.1`. Neither that program
//! nor any other is needed to make them.
//!
//! They go when their [`Namespaces`] go. What a program leaves behind that was killed is removed by the next one that
//! makes any: it is known by a record beside the namespace, which tells the namespace's own number and is locked as long as
//! its maker lives. A namespace without such a record is somebody else's, and is left alone.
//!
//! Linux 5.14 or newer, and root (CAP_NET_ADMIN and CAP_SYS_ADMIN). IPv4 only: the devices have IPv6 turned off, and what
//! comes of it nevertheless is dropped and counted.
//!
//! ```no_run
//! use std::net::Ipv4Addr;
//!
//! use netns::{Config, Interfaces};
//!
//! let ues = vec![Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(10, 45, 0, 3)];
//! let mut interfaces = Interfaces::open(&Config { ues, ..Config::default() })?;
//! let mut packets = Vec::new();
//! interfaces.ues[0].receive(&mut packets)?;
//! for packet in packets.drain(..) {
//!     interfaces.core.send(&packet)?;
//! }
//! # Ok::<(), netns::Error>(())
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!("network namespaces and TUN devices of this kind are Linux's");

mod bridge;
mod error;
mod header;
mod interfaces;
mod namespace;
mod netlink;
mod port;
mod processes;
mod records;
mod tun;

pub use bridge::{Bridge, BridgeCounts};
pub use error::{Error, Owner};
pub use interfaces::{Config, Core, Interfaces, Namespaces, check_host};
pub use namespace::Namespace;
pub use port::{Port, PortCounts};
