//! The threads of the user plane, and the machines at both ends: packets arrive in GTP tunnels from the core, and pass the emulated
//! cell.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};

use crate::clock::Clock;
use crate::deadlines::SUBFRAME_NS;
use crate::network::Pair;
use crate::threads::{Role, Threads};
use crate::{Error, POLL, gtp};

/// Datagrams that wait between two threads: further ones are dropped, as a full queue of OAI's ITTI drops them.
const QUEUE: usize = 1024;
/// The longest datagram.
const MAX_OCTETS: usize = 2048;
/// The length of a packet in octets: that of a full IP packet in a tunnel over Ethernet.
pub(crate) const PACKET_OCTETS: usize = 1400;
/// The ports of the emulated traffic: discard (RFC 863).
const PORTS: [u16; 2] = [9, 50_000];

/// What the user plane has counted.
#[derive(Debug, Default)]
pub(crate) struct UserPlaneCounts {
    /// Packets from the core that the cell has taken over.
    pub downlink: AtomicU64,
    /// Packets to the core.
    pub uplink: AtomicU64,
    /// Packets that were dropped since a queue of the unit was full.
    pub dropped: AtomicU64,
    /// Datagrams that are no G-PDU of a tunnel of the unit.
    pub refused: AtomicU64,
    /// Packets that the core has sent, and those that it has received.
    pub core_sent: AtomicU64,
    pub core_received: AtomicU64,
}

/// A packet of a UE: its tunnel and its octets.
pub(crate) type UePacket = (u32, Vec<u8>);

/// The cell's ends of the user plane.
pub(crate) struct CellEnd {
    pub downlink: Receiver<UePacket>,
    pub uplink: SyncSender<UePacket>,
}

enum Message {
    FromCore(Vec<u8>),
    FromCell(UePacket),
}

/// A packet of IPv4 and UDP of a UE's traffic. The checksum of UDP is left out, as RFC 768 allows.
pub(crate) fn packet(ue: u32, is_downlink: bool, octets: usize) -> Vec<u8> {
    let octets = octets.clamp(28, PACKET_OCTETS);
    let mut packet = vec![0; octets];
    let (server, terminal) = (ran::scenario::SERVER.octets(), (u32::from_be_bytes([10, 45, 0, 2]) + ue).to_be_bytes());
    let (source, destination) = if is_downlink { (server, terminal) } else { (terminal, server) };
    let [from, to] = if is_downlink { PORTS } else { [PORTS[1], PORTS[0]] };
    // at most PACKET_OCTETS
    let length = |octets: usize| (octets as u16).to_be_bytes();
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&length(octets));
    (packet[8], packet[9]) = (64, 17);
    packet[12..16].copy_from_slice(&source);
    packet[16..20].copy_from_slice(&destination);
    packet[20..22].copy_from_slice(&from.to_be_bytes());
    packet[22..24].copy_from_slice(&to.to_be_bytes());
    packet[24..26].copy_from_slice(&length(octets - 20));
    packet
}

/// Starts TASK_UDP and TASK_GTPV1_U, and the distributed unit in split 2.
pub(crate) fn start(
    threads: &mut Threads,
    pair: &Pair,
    f1: Option<(UdpSocket, SocketAddr)>,
    counts: &Arc<UserPlaneCounts>,
) -> Result<CellEnd, Error> {
    let (to_gtp, messages) = mpsc::sync_channel(QUEUE);
    let (to_cell, downlink) = mpsc::sync_channel(QUEUE);
    let (uplink, from_cell) = mpsc::sync_channel(QUEUE);
    let core = pair.peer_address;
    let socket = shared(&pair.unit)?;
    let du = match &f1 {
        Some((socket, _)) => Some(socket.local_addr().map_err(Error::socket("read a socket's address"))?),
        None => None,
    };
    let (stop, counted, queue) = (Arc::clone(&threads.stop), Arc::clone(counts), to_gtp.clone());
    let receiver = shared(&socket)?;
    threads.start(Role::Udp, move || {
        let mut buffer = [0; MAX_OCTETS];
        while !stop.load(Ordering::Acquire) {
            let Ok((length, from)) = receiver.recv_from(&mut buffer) else { continue };
            let octets = buffer[..length].to_vec();
            let message = match du {
                _ if from == core => Message::FromCore(octets),
                Some(du) if from == du => match gtp::decapsulate(&octets) {
                    Some((teid, packet)) => Message::FromCell((teid, packet.to_vec())),
                    None => continue,
                },
                _ => {
                    counted.refused.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
            };
            if queue.try_send(message).is_err() {
                counted.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    })?;
    let (stop, counted, to_du) = (Arc::clone(&threads.stop), Arc::clone(counts), to_cell.clone());
    threads.start(Role::Gtp, move || {
        while !stop.load(Ordering::Acquire) {
            match messages.recv_timeout(POLL) {
                Ok(Message::FromCore(octets)) => {
                    let Some((teid, packet)) = gtp::decapsulate(&octets) else {
                        counted.refused.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    let is_taken = match du {
                        Some(du) => socket.send_to(&gtp::encapsulate(teid, packet), du).is_ok(),
                        None => to_du.try_send((teid, packet.to_vec())).is_ok(),
                    };
                    let counter = if is_taken { &counted.downlink } else { &counted.dropped };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Message::FromCell((teid, packet))) => {
                    let is_sent = socket.send_to(&gtp::encapsulate(teid, &packet), core).is_ok();
                    let counter = if is_sent { &counted.uplink } else { &counted.dropped };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    })?;
    match f1 {
        // the packets of the cell reach the unit over F1-U
        Some((socket, unit)) => start_distributed_unit(threads, socket, unit, to_cell, from_cell)?,
        None => forward_uplink(threads, from_cell, to_gtp)?,
    }
    Ok(CellEnd { downlink, uplink })
}

/// A second handle of a socket, whose reads end after a while.
fn shared(socket: &UdpSocket) -> Result<UdpSocket, Error> {
    socket.set_read_timeout(Some(POLL)).map_err(Error::socket("limit the wait of a socket"))?;
    socket.try_clone().map_err(Error::socket("share a socket"))
}

/// Hands packets of the cell to TASK_GTPV1_U: the air interface is no part of the unit.
fn forward_uplink(
    threads: &mut Threads,
    from_cell: Receiver<UePacket>,
    to_gtp: SyncSender<Message>,
) -> Result<(), Error> {
    let stop = Arc::clone(&threads.stop);
    threads.start_outside("air-uplink", move || {
        while !stop.load(Ordering::Acquire) {
            if let Ok(packet) = from_cell.recv_timeout(POLL) {
                // a full queue of the unit loses packets
                let _ = to_gtp.try_send(Message::FromCell(packet));
            }
        }
    })
}

/// The distributed unit of split 2: the cell at the other end of the midhaul.
fn start_distributed_unit(
    threads: &mut Threads,
    socket: UdpSocket,
    unit: SocketAddr,
    to_cell: SyncSender<UePacket>,
    from_cell: Receiver<UePacket>,
) -> Result<(), Error> {
    let receiver = shared(&socket)?;
    let stop = Arc::clone(&threads.stop);
    threads.start_outside("du-downlink", move || {
        let mut buffer = [0; MAX_OCTETS];
        while !stop.load(Ordering::Acquire) {
            let Ok((length, from)) = receiver.recv_from(&mut buffer) else { continue };
            if let Some((teid, packet)) = gtp::decapsulate(&buffer[..length]).filter(|_| from == unit) {
                // the cell loses what it cannot buffer
                let _ = to_cell.try_send((teid, packet.to_vec()));
            }
        }
    })?;
    let stop = Arc::clone(&threads.stop);
    threads.start_outside("du-uplink", move || {
        while !stop.load(Ordering::Acquire) {
            if let Ok((teid, packet)) = from_cell.recv_timeout(POLL) {
                let _ = socket.send_to(&gtp::encapsulate(teid, &packet), unit);
            }
        }
    })
}

/// Starts the core: it sends packets of constant bit rate to all UEs in turn, and counts what it receives.
pub(crate) fn start_core(
    threads: &mut Threads,
    clock: Clock,
    pair: &Pair,
    ues: u32,
    downlink_mbps: f64,
    counts: &Arc<UserPlaneCounts>,
) -> Result<(), Error> {
    let failed = Error::socket("share the core's socket");
    let (socket, unit) = (pair.peer.try_clone().map_err(&failed)?, pair.unit_address);
    let receiver = shared(&socket)?;
    let (stop, counted) = (Arc::clone(&threads.stop), Arc::clone(counts));
    threads.start_outside("core-downlink", move || {
        // whole packets of each subframe: the rest is due in the next one
        let (mut due_octets, mut ue, mut tick) = (0.0, 0, 0);
        while !stop.load(Ordering::Acquire) {
            clock.sleep_until(tick * SUBFRAME_NS);
            tick += 1;
            due_octets += downlink_mbps * 1e6 / 8.0 * 1e-3;
            while due_octets >= PACKET_OCTETS as f64 {
                due_octets -= PACKET_OCTETS as f64;
                if socket.send_to(&gtp::encapsulate(ue + 1, &packet(ue, true, PACKET_OCTETS)), unit).is_ok() {
                    counted.core_sent.fetch_add(1, Ordering::Relaxed);
                }
                ue = (ue + 1) % ues.max(1);
            }
        }
    })?;
    let (stop, counted) = (Arc::clone(&threads.stop), Arc::clone(counts));
    threads.start_outside("core-uplink", move || receive(&receiver, &stop, &counted.core_received))
}

fn receive(socket: &UdpSocket, stop: &AtomicBool, received: &AtomicU64) {
    let mut buffer = [0; MAX_OCTETS];
    while !stop.load(Ordering::Acquire) {
        if let Ok(length) = socket.recv(&mut buffer)
            && gtp::decapsulate(&buffer[..length]).is_some()
        {
            received.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_ues_are_packets_of_ip() {
        let parsed = netns::parse_packet(&packet(3, true, PACKET_OCTETS)).unwrap();
        assert_eq!(parsed.tuple.destination, std::net::Ipv4Addr::new(10, 45, 0, 5));
        assert_eq!((parsed.tuple.source_port, parsed.octets), (9, PACKET_OCTETS as u32));
        let uplink = netns::parse_packet(&packet(0, false, 100)).unwrap();
        assert_eq!((uplink.tuple.source, uplink.octets), (std::net::Ipv4Addr::new(10, 45, 0, 2), 100));
    }
}
