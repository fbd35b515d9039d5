//! HARQ processes: transport blocks in flight, retransmitted until they are decoded or dropped (TS 38.321 5.3.2, 5.4.2).

use std::collections::VecDeque;

use crate::Time;
use crate::phy::Reception;
use crate::rlc::RlcPdu;

/// HARQ parameters of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqConfig {
    /// HARQ processes per UE and direction, 1 to 32. Default: 16.
    pub processes: u8,
    /// Maximum number of transmissions of a block, 1 to 8; then it is dropped. Default: 4.
    pub transmissions: u8,
    /// Slots from the transmission of a block to the delivery of its content, 1 to 16. Default: 2.
    pub decoding_slots: u8,
    /// Slots from the transmission of a block to its retransmission, 1 to 32. In the downlink a process is also busy for that
    /// long, because feedback takes it; in the uplink it is at least decoding plus grant. Default: 8.
    pub round_trip_slots: u8,
}

impl Default for HarqConfig {
    fn default() -> Self {
        HarqConfig { processes: 16, transmissions: 4, decoding_slots: 2, round_trip_slots: 8 }
    }
}

impl HarqConfig {
    /// The parameters clamped to their ranges.
    pub(crate) fn bounded(self) -> Self {
        HarqConfig {
            processes: self.processes.clamp(1, 32),
            transmissions: self.transmissions.clamp(1, 8),
            decoding_slots: self.decoding_slots.clamp(1, 16),
            round_trip_slots: self.round_trip_slots.clamp(1, 32),
        }
    }
}

/// A transport block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The soft bits that the receiver has combined so far.
    pub reception: Option<Reception>,
    /// Its RLC PDUs, each with the index of its bearer in the UE.
    pub pdus: Vec<(u8, RlcPdu)>,
    /// Transport block size.
    pub octets: u32,
    pub prbs: u16,
    pub mcs: u8,
    pub layers: u8,
    /// Symbols of its slot.
    pub symbols: u8,
    /// When it was transmitted first.
    pub sent: Time,
    /// Transmissions so far.
    pub transmissions: u8,
    /// Uplink only: the buffer status that the block carries, and the grants that the UE had used when it was built.
    pub buffer_octets: u32,
    pub used_octets: u64,
}

impl Block {
    /// Sets the size and allocation of a new block.
    pub fn set_allocation(&mut self, octets: u32, prbs: u16, (layers, mcs): (u8, u8), symbols: u8) {
        (self.octets, self.prbs, self.layers, self.mcs, self.symbols) = (octets, prbs, layers, mcs, symbols);
    }
}

/// The HARQ processes of a UE in one direction.
#[derive(Clone, Debug)]
pub struct Harq {
    blocks: Vec<Block>,
    /// Free processes, one bit each.
    free: u32,
    /// Processes that wait for a retransmission, oldest first.
    retransmissions: VecDeque<u8>,
}

impl Harq {
    pub fn new(processes: u8) -> Self {
        let processes = processes.clamp(1, 32);
        Harq {
            blocks: vec![Block::default(); processes.into()],
            free: u32::MAX >> (32 - processes),
            retransmissions: VecDeque::new(),
        }
    }

    /// Whether a process is free for a new block.
    pub fn has_free(&self) -> bool {
        self.free != 0
    }

    /// The block that is retransmitted next.
    pub fn next_retransmission(&self) -> Option<&Block> {
        self.retransmissions.front().map(|process| &self.blocks[usize::from(*process)])
    }

    pub fn take_retransmission(&mut self) -> Option<u8> {
        self.retransmissions.pop_front()
    }

    /// Takes a free process and empties its block.
    pub fn take_free(&mut self) -> Option<u8> {
        if self.free == 0 {
            return None;
        }
        let process = self.free.trailing_zeros() as u8;
        self.free &= self.free - 1;
        let block = &mut self.blocks[usize::from(process)];
        block.pdus.clear();
        block.transmissions = 0;
        block.reception = None;
        Some(process)
    }

    pub fn block(&mut self, process: u8) -> &mut Block {
        &mut self.blocks[usize::from(process)]
    }

    pub fn release(&mut self, process: u8) {
        self.free |= 1 << process;
    }

    pub fn queue_retransmission(&mut self, process: u8) {
        self.retransmissions.push_back(process);
    }

    /// Frees all processes, when the UE leaves the cell.
    pub fn reset(&mut self) {
        self.free = self.all();
        self.retransmissions.clear();
    }

    /// Frees all processes, and returns what the blocks in flight contain.
    pub fn reset_with_content(&mut self) -> impl Iterator<Item = (u8, RlcPdu)> + '_ {
        let busy = !self.free & self.all();
        self.reset();
        let is_busy = move |(process, _): &(usize, &mut Block)| busy >> process & 1 != 0;
        self.blocks.iter_mut().enumerate().filter(is_busy).flat_map(|(_, block)| block.pdus.drain(..))
    }

    /// Whether no block is in flight.
    pub fn is_idle(&self) -> bool {
        self.free == self.all()
    }

    /// All processes, one bit each.
    fn all(&self) -> u32 {
        u32::MAX >> (32 - self.blocks.len() as u32)
    }
}
