//! HARQ: transport blocks under way, and sent again until they are understood or given up (TS 38.321 5.3.2 and 5.4.2).

use std::collections::VecDeque;

use crate::phy::Reception;
use crate::rlc::Piece;

/// How HARQ works in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqConfig {
    /// Blocks that may be under way to or from a UE, 1 to 32. Default: 16.
    pub processes: u8,
    /// How often a block is sent at most, 1 to 8; then it is given up. Default: 4.
    pub transmissions: u8,
    /// Slots from sending a block until what is in it is delivered, 1 to 16. Default: 2.
    pub decoding_slots: u8,
    /// Slots from sending a block until it can be sent again, and in the downlink until its process can have another one,
    /// since the UE's answer takes that long: 1 to 32. In the uplink it is no less than decoding and the grant take. Default: 8.
    pub round_trip_slots: u8,
}

impl Default for HarqConfig {
    fn default() -> Self {
        HarqConfig { processes: 16, transmissions: 4, decoding_slots: 2, round_trip_slots: 8 }
    }
}

impl HarqConfig {
    /// The same, within its ranges.
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
    /// What the receiver has of it.
    pub reception: Option<Reception>,
    /// What is in it, with the place of its bearer in the UE.
    pub pieces: Vec<(u8, Piece)>,
    /// Its size.
    pub octets: u32,
    pub prbs: u16,
    pub mcs: u8,
    /// Symbols that the slot had for it.
    pub symbols: u8,
    /// How often it was sent.
    pub transmissions: u8,
    /// In the uplink: what the UE had left to send, and what it had used of its grants then.
    pub buffer_octets: u32,
    pub used_octets: u64,
}

impl Block {
    /// A new one of that size.
    pub fn is_new(&mut self, octets: u32, prbs: u16, mcs: u8, symbols: u8) {
        (self.octets, self.prbs, self.mcs, self.symbols) = (octets, prbs, mcs, symbols);
    }
}

/// The processes of a UE in one direction.
#[derive(Clone, Debug)]
pub struct Harq {
    blocks: Vec<Block>,
    /// Those that are free, one bit each.
    free: u32,
    /// Those whose block is to be sent again.
    again: VecDeque<u8>,
}

impl Harq {
    pub fn new(processes: u8) -> Self {
        let processes = processes.clamp(1, 32);
        Harq {
            blocks: vec![Block::default(); processes.into()],
            free: u32::MAX >> (32 - processes),
            again: VecDeque::new(),
        }
    }

    /// Whether a new block can be sent.
    pub fn has_free(&self) -> bool {
        self.free != 0
    }

    /// The block that is to be sent again next.
    pub fn first_again(&self) -> Option<&Block> {
        self.again.front().map(|process| &self.blocks[usize::from(*process)])
    }

    pub fn take_again(&mut self) -> Option<u8> {
        self.again.pop_front()
    }

    /// A process for a new block, which is empty.
    pub fn take_free(&mut self) -> Option<u8> {
        if self.free == 0 {
            return None;
        }
        let process = self.free.trailing_zeros() as u8;
        self.free &= self.free - 1;
        let block = &mut self.blocks[usize::from(process)];
        block.pieces.clear();
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

    pub fn send_again(&mut self, process: u8) {
        self.again.push_back(process);
    }

    /// Forgets all blocks: the UE leaves the cell.
    pub fn reset(&mut self) {
        self.free = u32::MAX >> (32 - self.blocks.len() as u32);
        self.again.clear();
    }
}
