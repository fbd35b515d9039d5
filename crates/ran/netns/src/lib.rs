//! Network namespaces behind TUN devices, for real programs at both ends of an emulated RAN.
//!
//! Each UE is a network namespace (`ferric-ue1`, ...) with one device, `ferric0`, and a default route over it. The core is
//! another namespace (`ferric-core`), or the host itself, with a route to all UEs. A [`Port`] receives the packets of the
//! programs behind it as [`radio::Packet`]s, with parsed headers and all octets, and delivers packets to these programs. The
//! owner of the ports forwards the packets; a [`Bridge`] forwards them through the cells of a [`radio::Network`].
//!
//! The namespaces are those of `ip netns`: `ip netns exec ferric-ue1 ping 10.45.0.1`. Neither that program nor any other is
//! needed to create them.
//!
//! They are removed when their [`Namespaces`] are dropped. The namespaces of a process that was killed are removed by the next
//! process that creates some: a record beside each namespace contains the namespace's number, and is locked as long as its
//! process lives. A namespace without such a record is not ferric's, and is never removed.
//!
//! Requires Linux 5.14 or newer, and root (CAP_NET_ADMIN and CAP_SYS_ADMIN). IPv4 only: IPv6 is disabled on the devices, and
//! its packets are dropped and counted.
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
compile_error!("network namespaces and TUN devices require Linux");

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
mod veth;

pub use bridge::{Bridge, BridgeCounts};
pub use error::{Error, Owner};
pub use header::parse_packet;
pub use interfaces::{Config, Core, Interfaces, Namespaces, check_host};
pub use namespace::Namespace;
pub use port::{Port, PortCounts};
pub use veth::{End, Veth, create_namespaces};
