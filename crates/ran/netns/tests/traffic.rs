//! Real sockets at both ends, with a simple forwarder between them. Needs root.

mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use netns::{Error, Interfaces, Namespace, Namespaces, Port, PortCounts};
use radio::{Ecn, FiveTuple, Packet};
use rustix::net::netdevice::name_to_index;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, socket_with};
use socket2::{Domain, Protocol, Socket, Type};

const CORE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const PATIENCE: Duration = Duration::from_secs(10);

fn udp(namespace: &Namespace, port: u16) -> UdpSocket {
    let socket = namespace.enter(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A socket that receives whole packets, with their IP headers.
fn raw(namespace: &Namespace, protocol: Protocol) -> Socket {
    let socket = namespace.enter(|| Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn receive(socket: &Socket) -> Vec<u8> {
    let mut buffer = [0; 2048];
    let length = (&*socket).read(&mut buffer).unwrap();
    buffer[..length].to_vec()
}

/// Calls `test` while packets are forwarded between the core and the UEs, each modified by `change`. Returns the counters of
/// the ports, the core's first.
fn forwarding(
    interfaces: &mut Interfaces,
    change: impl Fn(&mut Packet) + Sync,
    test: impl FnOnce(&Namespaces),
) -> Vec<PortCounts> {
    let Interfaces { core, ues, namespaces } = interfaces;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let forwarder = scope.spawn(|| {
            let mut packets = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                core.receive(&mut packets).unwrap();
                for mut packet in packets.drain(..) {
                    change(&mut packet);
                    let ue = ues.iter_mut().find(|ue| ue.address() == packet.tuple.destination);
                    ue.map(|ue| ue.send(&packet).unwrap());
                }
                for ue in ues.iter_mut() {
                    ue.receive(&mut packets).unwrap();
                }
                for mut packet in packets.drain(..) {
                    change(&mut packet);
                    core.send(&packet).unwrap();
                }
                thread::sleep(Duration::from_micros(200));
            }
            [&*core].into_iter().chain(&*ues).map(|port| *port.counts()).collect()
        });
        // also ends the forwarder when the test fails
        struct EndGuard<'a>(&'a AtomicBool);
        impl Drop for EndGuard<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let guard = EndGuard(&is_over);
        test(namespaces);
        drop(guard);
        forwarder.join().unwrap()
    })
}

#[test]
fn ues_and_the_core_reach_each_other() {
    let Some(_lock) = support::lock_host() else { return };
    let mut interfaces = Interfaces::open(&support::config('r', 2)).unwrap();
    let counts = forwarding(
        &mut interfaces,
        |_| {},
        |namespaces| {
            let core = udp(namespaces.core.as_ref().unwrap(), 7);
            let ues = [udp(&namespaces.ues[0], 7), udp(&namespaces.ues[1], 7)];
            let mut buffer = [0; 2048];
            // the longest packet that fits, with 28 octets of headers
            for (ue, octets) in ues.iter().zip([1372, 0]) {
                ue.send_to(&vec![octets as u8; octets], (CORE, 7)).unwrap();
                let (length, from) = core.recv_from(&mut buffer).unwrap();
                assert_eq!(length, octets);
                core.send_to(&buffer[..length], from).unwrap();
                assert_eq!(ue.recv(&mut buffer).unwrap(), octets);
            }
            // a datagram of two fragments
            ues[0].send_to(&[9; 2048], (CORE, 7)).unwrap();
            let (length, from) = core.recv_from(&mut buffer).unwrap();
            assert_eq!((length, from), (2048, SocketAddr::from(([10, 45, 0, 2], 7))));
        },
    );
    assert_eq!((counts[1].received, counts[2].received), (1 + 2, 1));
    assert_eq!((counts[1].sent, counts[2].sent, counts[0].received), (1, 1, 2));
    assert_eq!(counts[0].sent_octets, 1400 + 28 + 1396 + (2048 + 8 + 20 + 20 - 1396));
    for port in counts {
        assert_eq!((port.not_ipv4, port.malformed, port.refused, port.marked), (0, 0, 0, 0));
    }
}

#[test]
fn ping_is_answered() {
    let Some(_lock) = support::lock_host() else { return };
    let mut interfaces = Interfaces::open(&support::config('p', 1)).unwrap();
    forwarding(
        &mut interfaces,
        |_| {},
        |namespaces| {
            let ue = raw(&namespaces.ues[0], Protocol::ICMPV4);
            // an echo request (RFC 792) with identifier 1 and sequence number 1
            let echo = [8, 0, 0xf7, 0xfd, 0, 1, 0, 1];
            ue.send_to(&echo, &SocketAddr::from((CORE, 0)).into()).unwrap();
            let reply = receive(&ue);
            assert_eq!(reply[12..16], CORE.octets());
            assert_eq!(reply[20..], [0, 0, 0xff, 0xfd, 0, 1, 0, 1]);
        },
    );
}

#[test]
fn tcp_transfer_is_complete() {
    let Some(_lock) = support::lock_host() else { return };
    let mut interfaces = Interfaces::open(&support::config('t', 1)).unwrap();
    forwarding(
        &mut interfaces,
        |_| {},
        |namespaces| {
            let core = namespaces.core.as_ref().unwrap();
            let listener = core.enter(|| TcpListener::bind((CORE, 5000)).unwrap()).unwrap();
            let sent: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
            let received = thread::scope(|scope| {
                scope.spawn(|| listener.accept().unwrap().0.write_all(&sent).unwrap());
                let mut ue = namespaces.ues[0].enter(|| TcpStream::connect((CORE, 5000)).unwrap()).unwrap();
                ue.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut received = Vec::new();
                ue.read_to_end(&mut received).unwrap();
                received
            });
            assert!(received == sent);
        },
    );
}

#[test]
fn congestion_mark_reaches_the_receiver_with_a_valid_checksum() {
    let Some(_lock) = support::lock_host() else { return };
    let mut interfaces = Interfaces::open(&support::config('m', 1)).unwrap();
    let counts = forwarding(
        &mut interfaces,
        |packet| {
            if packet.ecn == Ecn::Ect && packet.tuple.protocol == FiveTuple::UDP {
                packet.ecn = Ecn::Ce;
            }
        },
        |namespaces| {
            let core = namespaces.core.as_ref().unwrap();
            let sender = raw(core, Protocol::UDP);
            let receiver = raw(&namespaces.ues[0], Protocol::UDP);
            for (service, arrives) in [(0xb8, 0xb8), (0xb9, 0xbb), (2, 3), (3, 3)] {
                sender.set_tos_v4(service).unwrap();
                // source and destination port, length, no checksum
                let datagram = [0, 9, 0, 9, 0, 8, 0, 0];
                sender.send_to(&datagram, &SocketAddr::from(([10, 45, 0, 2], 0)).into()).unwrap();
                // the kernel has dropped headers with a wrong checksum
                assert_eq!(receive(&receiver)[1], arrives, "{service:#x}");
            }
        },
    );
    assert_eq!((counts[1].sent, counts[1].marked), (4, 2));
}

#[test]
fn programs_see_the_mtu() {
    let Some(_lock) = support::lock_host() else { return };
    let config = netns::Config { mtu: 576, ..support::config('l', 1) };
    let mut interfaces = Interfaces::open(&config).unwrap();
    let counts = forwarding(
        &mut interfaces,
        |_| {},
        |namespaces| {
            let core = udp(namespaces.core.as_ref().unwrap(), 7);
            let ue = udp(&namespaces.ues[0], 7);
            // 1000 octets become two packets
            ue.send_to(&[1; 1000], (CORE, 7)).unwrap();
            assert_eq!(core.recv(&mut [0; 2048]).unwrap(), 1000);
        },
    );
    assert_eq!(counts[1].received, 2);
}

/// A manual change of a device: `ip link set DEVICE down` or `ip link delete DEVICE`.
#[derive(Clone, Copy)]
enum LinkChange {
    Down,
    Delete,
}

fn change_link(namespace: &Namespace, device: &str, change: LinkChange) {
    let request = || {
        let socket = socket_with(AddressFamily::NETLINK, net::SocketType::RAW, SocketFlags::CLOEXEC, None).unwrap();
        let index = name_to_index(&socket, device).unwrap();
        // RTM_NEWLINK or RTM_DELLINK, as a request with acknowledgement
        let (kind, mask) = match change {
            LinkChange::Down => (16_u16, 1_u32),
            LinkChange::Delete => (17, 0),
        };
        let mut message = 32_u32.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(5_u16.to_ne_bytes());
        message.extend([0; 12]);
        message.extend(index.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(mask.to_ne_bytes());
        net::send(&socket, &message, SendFlags::empty()).unwrap();
        let mut answer = [0; 128];
        net::recv(&socket, &mut answer, RecvFlags::empty()).unwrap();
        assert_eq!(answer[16..20], [0; 4], "refused");
    };
    namespace.enter(request).unwrap();
}

#[test]
fn device_down_drops_packets_and_removed_device_is_an_error() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('x', 1);
    let Interfaces { mut core, mut ues, namespaces } = Interfaces::open(&config).unwrap();
    let device = format!("{}0", config.prefix);
    let socket = udp(namespaces.core.as_ref().unwrap(), 7);
    let mut packets = Vec::new();
    let mut next = |core: &mut Port| {
        socket.send_to(b"x", "10.45.0.2:7").unwrap();
        core.receive(&mut packets).unwrap();
        packets.pop().unwrap()
    };
    let ue = &mut ues[0];
    assert!(ue.send(&next(&mut core)).unwrap());
    change_link(&namespaces.ues[0], &device, LinkChange::Down);
    assert!(!ue.send(&next(&mut core)).unwrap());
    assert_eq!((ue.counts().sent, ue.counts().refused), (1, 1));
    change_link(&namespaces.ues[0], &device, LinkChange::Delete);
    assert!(matches!(ue.send(&next(&mut core)), Err(Error::Gone)));
    assert!(matches!(ue.receive(&mut Vec::new()), Err(Error::Gone)));
}
