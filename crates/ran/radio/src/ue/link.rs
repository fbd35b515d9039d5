//! One direction of a UE's radio link, as MAC has it.

use std::ops::AddAssign;

use crate::harq::{Harq, HarqConfig};
use crate::phy::{Adaptation, Link};

use super::OuterLoop;

/// The share of a UE's average that a slot of a direction is: it reaches back some 200 slots.
const AVERAGE: f32 = 0.005;

/// What one direction of a radio link did, from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounts {
    /// Slots in which there was something to send.
    pub active_slots: u64,
    /// Resource blocks that were used, those of blocks sent again among them.
    pub prbs: u64,
    /// Of them those of blocks sent again.
    pub again_prbs: u64,
    /// Transport blocks that were sent for the first time.
    pub blocks: u64,
    /// Their octets.
    pub block_octets: u64,
    /// Transport blocks that were understood after so many transmissions, the last for all beyond.
    pub rounds: [u64; 8],
    /// Transport blocks that were given up.
    pub lost_blocks: u64,
    /// Octets of the last transport block, and of the slot in which it was sent.
    pub last_octets: u32,
    /// Its resource blocks.
    pub last_prbs: u32,
    /// Reports of the channel's quality, and of each of them the CQI in all: divide for the mean.
    pub reports: u64,
    /// The sum of reported CQIs.
    pub cqi: u64,
    /// The sum of SINRs at reports, in dB.
    pub sinr_db: f64,
    /// The sum of received powers at reports, in dBm.
    pub rsrp_dbm: f64,
    /// How often each CQI was reported.
    pub cqis: [u64; 16],
}

impl AddAssign for LinkCounts {
    /// What is the last of something is the other's.
    fn add_assign(&mut self, other: Self) {
        self.active_slots += other.active_slots;
        self.prbs += other.prbs;
        self.again_prbs += other.again_prbs;
        self.blocks += other.blocks;
        self.block_octets += other.block_octets;
        self.rounds.iter_mut().zip(other.rounds).for_each(|(sum, count)| *sum += count);
        self.lost_blocks += other.lost_blocks;
        (self.last_octets, self.last_prbs) = (other.last_octets, other.last_prbs);
        self.reports += other.reports;
        self.cqi += other.cqi;
        self.sinr_db += other.sinr_db;
        self.rsrp_dbm += other.rsrp_dbm;
        self.cqis.iter_mut().zip(other.cqis).for_each(|(sum, count)| *sum += count);
    }
}

/// One direction of a radio link, as MAC has it.
#[derive(Debug)]
pub struct RadioLink {
    pub(crate) harq: Harq,
    /// What the scheduler goes by: what it was told of the channel, and what became of blocks.
    told: Link,
    offset_db: f64,
    pub(crate) mcs: u8,
    pub(crate) cqi: u8,
    /// What the channel is like.
    pub(crate) air: Link,
    average_octets: f32,
    pub(super) average_at: u64,
    /// The slice that it is in; `None` is none.
    pub(crate) slice: Option<u32>,
    pub(crate) counts: LinkCounts,
}

impl RadioLink {
    pub(super) fn new(harq: &HarqConfig) -> Self {
        RadioLink {
            harq: Harq::new(harq.processes),
            told: Link::of_sinr(f64::NEG_INFINITY),
            offset_db: 0.0,
            mcs: 0,
            cqi: 0,
            air: Link::of_sinr(f64::NEG_INFINITY),
            average_octets: 0.0,
            average_at: 0,
            slice: None,
            counts: LinkCounts::default(),
        }
    }

    /// The UE has come to another cell, whose next slot is that one.
    pub(super) fn arrived(&mut self, slot: u64) {
        self.harq.reset();
        self.average_at = slot;
        self.slice = None;
        self.offset_db = 0.0;
        self.counts = LinkCounts::default();
    }

    /// What the channel is like was reported.
    pub(super) fn told(&mut self, told: Link, adaptation: &Adaptation) {
        self.told = told;
        self.cqi = adaptation.cqi(told.sinr_db).0;
        self.adapt(adaptation);
    }

    /// It was told what became of the block of a process: the first transmission of each shows how good the MCS was.
    pub(crate) fn answered(
        &mut self,
        process: u8,
        is_understood: bool,
        outer_loop: Option<&OuterLoop>,
        adaptation: &Adaptation,
    ) {
        let block = self.harq.block(process);
        if let Some(outer_loop) = outer_loop
            && block.transmissions == 1
            && self.told.mcs.is_none()
        {
            let needs_db = [0, adaptation.mcs_count() - 1].map(|mcs| adaptation.needed_sinr_db(mcs));
            self.offset_db = outer_loop.after(self.offset_db, is_understood, self.told.sinr_db, needs_db);
            self.adapt(adaptation);
        }
    }

    fn adapt(&mut self, adaptation: &Adaptation) {
        self.mcs = Link { sinr_db: self.told.sinr_db + self.offset_db, ..self.told }.mcs(adaptation);
    }

    /// By how much outer-loop link adaptation has new blocks sent as if the SINR were higher, in dB.
    #[must_use]
    pub fn offset_db(&self) -> f64 {
        self.offset_db
    }

    /// The index of modulation and coding that new blocks are sent with.
    #[must_use]
    pub fn mcs(&self) -> u8 {
        self.mcs
    }

    /// The channel quality indicator that was last reported.
    #[must_use]
    pub fn cqi(&self) -> u8 {
        self.cqi
    }

    /// The SINR in dB.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.air.sinr_db
    }

    /// The slice that it is in.
    #[must_use]
    pub fn slice(&self) -> Option<u32> {
        self.slice
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// What it got of late, in octets a slot.
    pub(crate) fn average(&mut self, slot: u64) -> f32 {
        let since = slot.saturating_sub(self.average_at);
        if since > 0 {
            self.average_octets *= (1.0 - AVERAGE).powi(since.min(1 << 16) as i32);
            self.average_at = slot;
        }
        self.average_octets
    }

    pub(crate) fn got(&mut self, slot: u64, octets: u32) {
        self.average(slot);
        self.average_octets += AVERAGE * octets as f32;
    }
}
