//! What goes between the interfaces and the UEs of a network of cells.

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

/// Ports that are looked at in one turn at most; those that were not are first in the next.
const READY: usize = 64;
/// The core's port, as the events have it.
const CORE: u64 = u64::MAX;

/// What did not get into the network, or out of it, from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeCounts {
    /// Packets from the core to an address that no UE has: dropped.
    pub nowhere: u64,
    /// Packets from a UE with another source than its address: dropped, as a user plane function does.
    pub foreign: u64,
    /// Packets to or from a UE that was in no cell: dropped.
    pub absent: u64,
    /// Packets from a UE whose buffer was full: dropped.
    pub no_room: u64,
}

/// A UE and its programs.
struct End {
    port: Port,
    number: u64,
    /// The cell and its place there, where it was last.
    place: Option<(usize, usize)>,
}

impl End {
    /// The UE in the network, wherever it is now, and what time it is there; `None` on its way from one cell to another,
    /// before it came, after it left.
    fn ue<'a>(&mut self, network: &'a mut Network) -> Option<(&'a mut Ue, Time)> {
        let is_there = |(cell, place)| network.cell(cell).ue(place).is_some_and(|ue| ue.number() == self.number);
        if !self.place.is_some_and(is_there) {
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

/// Carries packets between interfaces and a network: [`Bridge::take_in`], let time pass, [`Bridge::hand_out`], and again.
///
/// What a UE sends to another one goes there without seeing the core, as in a user plane function.
pub struct Bridge {
    core: Port,
    ends: Vec<End>,
    by_address: HashMap<Ipv4Addr, usize>,
    epoll: OwnedFd,
    counts: BridgeCounts,
    /// Memory that is used again.
    packets: Vec<Packet>,
}

impl Bridge {
    /// Between the core's port and the UEs', each with the UE's number in the network.
    ///
    /// # Errors
    /// Where the system refuses an epoll.
    pub fn new(core: Port, ues: impl IntoIterator<Item = (u64, Port)>) -> Result<Bridge, Error> {
        let operation = "wait for packets";
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(Error::of(operation))?;
        let watch = |port: &Port, data| {
            epoll::add(&epoll, port, EventData::new_u64(data), EventFlags::IN).map_err(Error::of(operation))
        };
        watch(&core, CORE)?;
        let ends: Vec<End> = ues.into_iter().map(|(number, port)| End { port, number, place: None }).collect();
        for (at, end) in ends.iter().enumerate() {
            watch(&end.port, at as u64)?;
        }
        let by_address = ends.iter().enumerate().map(|(at, end)| (end.port.address(), at)).collect();
        Ok(Bridge { core, ends, by_address, epoll, counts: BridgeCounts::default(), packets: Vec::new() })
    }

    /// What did not get through.
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
        self.ends.iter().map(|end| &end.port)
    }

    /// Gives the network what programs have sent; never waits. What there is beyond 256 packets of a port waits for the next
    /// call.
    ///
    /// # Errors
    /// [`Error::Gone`]: somebody removed a device. Others: the system's.
    pub fn take_in(&mut self, network: &mut Network) -> Result<(), Error> {
        let mut room = [MaybeUninit::uninit(); READY];
        let ready = match epoll::wait(&self.epoll, &mut room, Some(&Timespec::default())) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => return Ok(()),
            Err(errno) => return Err(Error::of("wait for packets")(errno)),
        };
        for event in ready {
            let mut packets = std::mem::take(&mut self.packets);
            let result = match event.data.u64() {
                CORE => {
                    let result = self.core.receive(&mut packets);
                    packets.drain(..).for_each(|packet| self.down(network, packet));
                    result
                }
                at => {
                    let result = self.ends[at as usize].port.receive(&mut packets);
                    packets.drain(..).for_each(|packet| self.up(network, at as usize, packet));
                    result
                }
            };
            self.packets = packets;
            result?;
        }
        Ok(())
    }

    /// Gives programs what has come through the network.
    ///
    /// # Errors
    /// As [`Bridge::take_in`].
    pub fn hand_out(&mut self, network: &mut Network) -> Result<(), Error> {
        let mut packets = std::mem::take(&mut self.packets);
        for end in &mut self.ends {
            let Some((ue, _)) = end.ue(network) else { continue };
            packets.extend(ue.live_at_core());
            for packet in ue.live_at_ue() {
                end.port.send(&packet)?;
            }
        }
        for packet in packets.drain(..) {
            if self.by_address.contains_key(&packet.tuple.destination) {
                self.down(network, packet);
            } else {
                self.core.send(&packet)?;
            }
        }
        self.packets = packets;
        Ok(())
    }

    fn down(&mut self, network: &mut Network, packet: Packet) {
        let Some(at) = self.by_address.get(&packet.tuple.destination) else {
            self.counts.nowhere += 1;
            return;
        };
        let end = &mut self.ends[*at];
        let Some((ue, now)) = end.ue(network) else {
            self.counts.absent += 1;
            return;
        };
        ue.push_downlink(now, Packet { sent: now, entered: now, ..packet });
    }

    fn up(&mut self, network: &mut Network, at: usize, packet: Packet) {
        let end = &mut self.ends[at];
        if packet.tuple.source != end.port.address() {
            self.counts.foreign += 1;
            return;
        }
        let Some((ue, now)) = end.ue(network) else {
            self.counts.absent += 1;
            return;
        };
        let is_taken = ue.push_uplink(now, Packet { sent: now, entered: now, ..packet });
        self.counts.no_room += u64::from(!is_taken);
    }
}
