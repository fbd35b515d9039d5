//! One direction of a UE's radio link, as the MAC scheduler sees it.

use std::ops::AddAssign;

use crate::harq::{Harq, HarqConfig};
use crate::phy::{Adaptation, Link};

use super::OuterLoop;

/// The weight of one slot in a UE's average throughput: it covers about 200 slots.
const AVERAGE: f32 = 0.005;

/// Counters of one direction of a radio link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounts {
    /// Slots with something to send.
    pub active_slots: u64,
    /// Used resource blocks, retransmissions included.
    pub prbs: u64,
    /// Resource blocks of retransmissions.
    pub retransmission_prbs: u64,
    /// New transport blocks.
    pub blocks: u64,
    /// Octets of new transport blocks.
    pub block_octets: u64,
    /// Transport blocks by the number of transmissions until they were decoded; the last entry includes all above.
    pub rounds: [u64; 8],
    /// Transport blocks that were dropped after the last transmission.
    pub lost_blocks: u64,
    /// Octets of the last transport block.
    pub last_octets: u32,
    /// Resource blocks of the last transport block.
    pub last_prbs: u32,
    /// Transmissions of transport blocks, retransmissions included.
    pub transmissions: u64,
    /// The ones among them that were not decoded.
    pub failed_transmissions: u64,
    /// New transport blocks that were not decoded after their first transmission.
    pub failed_blocks: u64,
    /// New transport blocks by modulation: QPSK, 16QAM, 64QAM, 256QAM.
    pub modulations: [u64; 4],
    /// Used resource blocks by MCS.
    pub mcs_prbs: [u64; 32],
    /// RLC PDUs in decoded transport blocks.
    pub air_pdus: u64,
    /// The sum of their times from the first transmission of the block until it was decoded.
    pub air_ns: u64,
    /// Channel quality reports.
    pub reports: u64,
    /// The sum of reported CQIs.
    pub cqi: u64,
    /// The sum of SINRs at reports, in dB.
    pub sinr_db: f64,
    /// The sum of received powers at reports, in dBm.
    pub rsrp_dbm: f64,
    /// The sum of received qualities at reports, in dB: see [`crate::phy::Channel::rsrq_db`]. Downlink only.
    pub rsrq_db: f64,
    /// Reports by CQI.
    pub cqis: [u64; 16],
}

impl AddAssign for LinkCounts {
    /// The `last_…` values are taken from `other`.
    fn add_assign(&mut self, other: Self) {
        self.active_slots += other.active_slots;
        self.prbs += other.prbs;
        self.retransmission_prbs += other.retransmission_prbs;
        self.blocks += other.blocks;
        self.block_octets += other.block_octets;
        self.rounds.iter_mut().zip(other.rounds).for_each(|(sum, count)| *sum += count);
        self.lost_blocks += other.lost_blocks;
        (self.last_octets, self.last_prbs) = (other.last_octets, other.last_prbs);
        self.transmissions += other.transmissions;
        self.failed_transmissions += other.failed_transmissions;
        self.failed_blocks += other.failed_blocks;
        self.modulations.iter_mut().zip(other.modulations).for_each(|(sum, count)| *sum += count);
        self.mcs_prbs.iter_mut().zip(other.mcs_prbs).for_each(|(sum, count)| *sum += count);
        self.air_pdus += other.air_pdus;
        self.air_ns += other.air_ns;
        self.reports += other.reports;
        self.cqi += other.cqi;
        self.sinr_db += other.sinr_db;
        self.rsrp_dbm += other.rsrp_dbm;
        self.rsrq_db += other.rsrq_db;
        self.cqis.iter_mut().zip(other.cqis).for_each(|(sum, count)| *sum += count);
    }
}

/// One direction of a radio link, as the MAC scheduler sees it.
#[derive(Debug)]
pub struct RadioLink {
    pub(crate) harq: Harq,
    /// The last reported channel.
    reported: Link,
    offset_db: f64,
    pub(crate) mcs: u8,
    pub(crate) cqi: u8,
    /// The current channel.
    pub(crate) air: Link,
    average_octets: f32,
    pub(super) average_at: u64,
    /// Its slice, if any.
    pub(crate) slice: Option<u32>,
    pub(crate) counts: LinkCounts,
}

impl RadioLink {
    pub(super) fn new(harq: &HarqConfig) -> Self {
        RadioLink {
            harq: Harq::new(harq.processes),
            reported: Link::of_sinr(f64::NEG_INFINITY),
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

    /// Resets the link when the UE arrives in a cell, whose next slot is `slot`.
    pub(super) fn arrived(&mut self, slot: u64) {
        self.harq.reset();
        self.average_at = slot;
        self.slice = None;
        self.offset_db = 0.0;
        self.counts = LinkCounts::default();
    }

    /// Applies a channel quality report.
    pub(super) fn apply_report(&mut self, reported: Link, adaptation: &Adaptation) {
        self.reported = reported;
        self.cqi = adaptation.cqi(reported.sinr_db).0;
        self.adapt(adaptation);
    }

    /// Applies HARQ feedback: the result of a first transmission adjusts the outer loop.
    pub(crate) fn apply_harq_feedback(
        &mut self,
        process: u8,
        is_decoded: bool,
        outer_loop: Option<&OuterLoop>,
        adaptation: &Adaptation,
    ) {
        let block = self.harq.block(process);
        if let Some(outer_loop) = outer_loop
            && block.transmissions == 1
            && self.reported.mcs.is_none()
        {
            let needs_db = [0, adaptation.mcs_count() - 1].map(|mcs| adaptation.needed_sinr_db(mcs));
            self.offset_db = outer_loop.next_offset_db(self.offset_db, is_decoded, self.reported.sinr_db, needs_db);
            self.adapt(adaptation);
        }
    }

    fn adapt(&mut self, adaptation: &Adaptation) {
        self.mcs = Link { sinr_db: self.reported.sinr_db + self.offset_db, ..self.reported }.mcs(adaptation);
    }

    /// The offset that outer-loop link adaptation adds to the reported SINR, in dB.
    #[must_use]
    pub fn offset_db(&self) -> f64 {
        self.offset_db
    }

    /// The MCS index of new blocks.
    #[must_use]
    pub fn mcs(&self) -> u8 {
        self.mcs
    }

    /// The last reported CQI.
    #[must_use]
    pub fn cqi(&self) -> u8 {
        self.cqi
    }

    /// The current SINR in dB.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.air.sinr_db
    }

    /// The slice, if any.
    #[must_use]
    pub fn slice(&self) -> Option<u32> {
        self.slice
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// The average throughput in octets per slot.
    pub(crate) fn average(&mut self, slot: u64) -> f32 {
        let since = slot.saturating_sub(self.average_at);
        if since > 0 {
            self.average_octets *= (1.0 - AVERAGE).powi(since.min(1 << 16) as i32);
            self.average_at = slot;
        }
        self.average_octets
    }

    pub(crate) fn record_allocation(&mut self, slot: u64, octets: u32) {
        self.average(slot);
        self.average_octets += AVERAGE * octets as f32;
    }
}
