//! Forwards packets between the interfaces and the UEs of a network of cells.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use radio::{Network, Packet, Time, Ue};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::error::Error;
use crate::port::Port;

/// The most ports that one call reads. epoll returns the others first in the next call.
const READY: usize = 64;
/// The event data of the core's port.
const CORE: u64 = u64::MAX;

/// Packets that did not enter or leave the network, since the creation of the bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeCounts {
    /// Packets from the core to an address that no UE has: dropped.
    pub unknown_destination: u64,
    /// Packets from a UE with another source address than its own: dropped, as a UPF does.
    pub wrong_source: u64,
    /// Packets to or from a UE that is in no cell: dropped.
    pub no_cell: u64,
    /// Packets from a UE whose buffer is full: dropped.
    pub buffer_full: u64,
}

/// The endpoint of a UE.
struct UeEndpoint {
    port: Port,
    number: u64,
    /// The cell and place where the UE was found last.
    place: Option<(usize, usize)>,
}

impl UeEndpoint {
    /// The UE in the network, and the time of its cell. `None` during a handover, before its arrival, and after it has left.
    fn ue<'a>(&mut self, network: &'a mut Network) -> Option<(&'a mut Ue, Time)> {
        let is_found = |(cell, place)| network.cell(cell).ue(place).is_some_and(|ue| ue.number() == self.number);
        if !self.place.is_some_and(is_found) {
            self.place = (0..network.cells()).find_map(|cell| {
                let (place, _) = network.cell(cell).ues().find(|(_, ue)| ue.number() == self.number)?;
                Some((cell, place))
            });
        }
        let (cell, place) = self.place?;
        let cell = network.cell_mut(cell);
        let now = cell.now();
        Some((cell.ue_mut(place)?, now))
    }
}

/// Forwards packets between interfaces and a network. The caller repeats: [`Bridge::receive`], advance the network,
/// [`Bridge::deliver`].
///
/// Packets from UE to UE do not pass the core, as in a UPF.
pub struct Bridge {
    core: Port,
    ues: Vec<UeEndpoint>,
    by_address: HashMap<Ipv4Addr, usize>,
    epoll: OwnedFd,
    counts: BridgeCounts,
    /// Reused memory.
    packets: Vec<Packet>,
}

impl Bridge {
    /// Creates a bridge between the core's port and the UEs', each with the UE's number in the network.
    ///
    /// # Errors
    /// Where the system refuses an epoll instance.
    pub fn new(core: Port, ports: impl IntoIterator<Item = (u64, Port)>) -> Result<Bridge, Error> {
        let operation = "wait for packets";
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(Error::of(operation))?;
        let watch = |port: &Port, data| {
            epoll::add(&epoll, port, EventData::new_u64(data), EventFlags::IN).map_err(Error::of(operation))
        };
        watch(&core, CORE)?;
        let ues: Vec<UeEndpoint> =
            ports.into_iter().map(|(number, port)| UeEndpoint { port, number, place: None }).collect();
        for (index, ue) in ues.iter().enumerate() {
            watch(&ue.port, index as u64)?;
        }
        let by_address = ues.iter().enumerate().map(|(index, ue)| (ue.port.address(), index)).collect();
        Ok(Bridge { core, ues, by_address, epoll, counts: BridgeCounts::default(), packets: Vec::new() })
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> &BridgeCounts {
        &self.counts
    }

    /// The core's port.
    #[must_use]
    pub fn core(&self) -> &Port {
        &self.core
    }

    /// The UEs' ports.
    pub fn ues(&self) -> impl Iterator<Item = &Port> {
        self.ues.iter().map(|ue| &ue.port)
    }

    /// Moves packets that programs have sent into the network, at most 256 of each port. Never blocks.
    ///
    /// # Errors
    /// [`Error::Gone`] if a device was removed; others from the system.
    pub fn receive(&mut self, network: &mut Network) -> Result<(), Error> {
        let mut events = [MaybeUninit::uninit(); READY];
        let ready = match epoll::wait(&self.epoll, &mut events, Some(&Timespec::default())) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => return Ok(()),
            Err(errno) => return Err(Error::of("wait for packets")(errno)),
        };
        for event in ready {
            let mut packets = std::mem::take(&mut self.packets);
            let result = match event.data.u64() {
                CORE => {
                    let result = self.core.receive(&mut packets);
                    packets.drain(..).for_each(|packet| self.send_downlink(network, packet));
                    result
                }
                at => {
                    let result = self.ues[at as usize].port.receive(&mut packets);
                    packets.drain(..).for_each(|packet| self.send_uplink(network, at as usize, packet));
                    result
                }
            };
            self.packets = packets;
            result?;
        }
        Ok(())
    }

    /// Delivers packets that have passed the network to programs.
    ///
    /// # Errors
    /// As [`Bridge::receive`].
    pub fn deliver(&mut self, network: &mut Network) -> Result<(), Error> {
        let mut packets = std::mem::take(&mut self.packets);
        for endpoint in &mut self.ues {
            let Some((ue, _)) = endpoint.ue(network) else { continue };
            packets.extend(ue.live_at_core());
            for packet in ue.live_at_ue() {
                endpoint.port.send(&packet)?;
            }
        }
        for packet in packets.drain(..) {
            if self.by_address.contains_key(&packet.tuple.destination) {
                self.send_downlink(network, packet);
            } else {
                self.core.send(&packet)?;
            }
        }
        self.packets = packets;
        Ok(())
    }

    fn send_downlink(&mut self, network: &mut Network, packet: Packet) {
        let Some(at) = self.by_address.get(&packet.tuple.destination) else {
            self.counts.unknown_destination += 1;
            return;
        };
        let endpoint = &mut self.ues[*at];
        let Some((ue, now)) = endpoint.ue(network) else {
            self.counts.no_cell += 1;
            return;
        };
        ue.push_downlink(now, Packet { sent: now, entered: now, ..packet });
    }

    fn send_uplink(&mut self, network: &mut Network, at: usize, packet: Packet) {
        let endpoint = &mut self.ues[at];
        if packet.tuple.source != endpoint.port.address() {
            self.counts.wrong_source += 1;
            return;
        }
        let Some((ue, now)) = endpoint.ue(network) else {
            self.counts.no_cell += 1;
            return;
        };
        let is_taken = ue.push_uplink(now, Packet { sent: now, entered: now, ..packet });
        self.counts.buffer_full += u64::from(!is_taken);
    }
}
