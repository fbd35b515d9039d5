//! One direction of a UE's radio link, as the MAC scheduler sees it.

use std::ops::AddAssign;

use crate::harq::{Harq, HarqConfig};
use crate::phy::{Adaptation, ChannelReport, Link, TransportBlocks, linear, power_loss_db};
use crate::rlc::LATER_HEADER_OCTETS;

use super::OuterLoop;

/// The weight of one slot in a UE's average throughput: it covers about 200 slots.
const AVERAGE: f32 = 0.005;

/// A UE without power headroom gets no more PRBs than keep this SINR, in dB: on twice as many it would send at most 17 % more
/// (Shannon), and take them from others. With headroom it gets as many as it needs.
const MIN_SPREAD_SINR_DB: f64 = 0.0;

/// Smaller transport blocks would carry little but headers.
const MIN_BLOCK_OCTETS: u32 = 2 * LATER_HEADER_OCTETS;

/// Counters of one direction of a radio link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounts {
    /// Slots with something to send.
    pub active_slots: u64,
    /// Resource elements for data of the used resource blocks, retransmissions included: [`crate::PrbUsage`] counts the same.
    pub elements: u64,
    /// Those of retransmissions.
    pub retransmission_elements: u64,
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
    /// Used resource blocks by the number of layers, from 1 on, and MCS.
    pub mcs_prbs: [[u64; 32]; 4],
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
    /// Reports by rank, from 1 on, and CQI.
    pub cqis: [[u64; 16]; 4],
}

impl AddAssign for LinkCounts {
    /// The `last_…` values are taken from `other`.
    fn add_assign(&mut self, other: Self) {
        self.active_slots += other.active_slots;
        self.elements += other.elements;
        self.retransmission_elements += other.retransmission_elements;
        self.blocks += other.blocks;
        self.block_octets += other.block_octets;
        self.rounds.iter_mut().zip(other.rounds).for_each(|(sum, count)| *sum += count);
        self.lost_blocks += other.lost_blocks;
        (self.last_octets, self.last_prbs) = (other.last_octets, other.last_prbs);
        self.transmissions += other.transmissions;
        self.failed_transmissions += other.failed_transmissions;
        self.failed_blocks += other.failed_blocks;
        self.modulations.iter_mut().zip(other.modulations).for_each(|(sum, count)| *sum += count);
        let mcs_prbs = self.mcs_prbs.as_flattened_mut().iter_mut().zip(other.mcs_prbs.as_flattened());
        mcs_prbs.for_each(|(sum, count)| *sum += count);
        self.air_pdus += other.air_pdus;
        self.air_ns += other.air_ns;
        self.reports += other.reports;
        self.cqi += other.cqi;
        self.sinr_db += other.sinr_db;
        self.rsrp_dbm += other.rsrp_dbm;
        self.rsrq_db += other.rsrq_db;
        let cqis = self.cqis.as_flattened_mut().iter_mut().zip(other.cqis.as_flattened());
        cqis.for_each(|(sum, count)| *sum += count);
    }
}

/// HARQ feedback that the base station has received; the counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HarqFeedback {
    /// Acknowledgements.
    pub acks: u64,
    /// Negative acknowledgements.
    pub nacks: u64,
}

/// What a link offers in slots of one length, with an MCS on a number of layers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SlotOffer {
    /// 0: not computed.
    symbols: u8,
    mcs: u8,
    layers: u8,
    /// The PRBs that a block of the least useful size needs.
    pub least_prbs: u16,
    /// The octets of a block on as many PRBs as it may have.
    pub most_octets: u32,
}

/// One direction of a radio link, as the MAC scheduler sees it.
#[derive(Debug)]
pub struct RadioLink {
    pub(crate) harq: Harq,
    /// What the base station knows of the channel.
    report: ChannelReport,
    offset_db: f64,
    mcs: u8,
    /// The most PRBs of a block: see [`MIN_SPREAD_SINR_DB`].
    most_prbs: u16,
    /// Of the last slot.
    offer: SlotOffer,
    /// The current channel.
    pub(crate) air: Link,
    /// The SINR in dB of each layer of the last block.
    block_sinr_db: f64,
    average_octets: f32,
    pub(super) average_at: u64,
    /// Its slice, if any.
    pub(crate) slice: Option<u32>,
    pub(crate) counts: LinkCounts,
    feedback: HarqFeedback,
}

impl RadioLink {
    pub(crate) fn new(harq: &HarqConfig) -> Self {
        RadioLink {
            harq: Harq::new(harq.processes),
            report: ChannelReport::NONE,
            offset_db: 0.0,
            mcs: 0,
            most_prbs: u16::MAX,
            offer: SlotOffer::default(),
            air: Link::of_sinr(f64::NEG_INFINITY),
            block_sinr_db: f64::NEG_INFINITY,
            average_octets: 0.0,
            average_at: 0,
            slice: None,
            counts: LinkCounts::default(),
            feedback: HarqFeedback::default(),
        }
    }

    /// Resets the link when the UE arrives in a cell, whose next slot is `slot`.
    pub(crate) fn arrived(&mut self, slot: u64) {
        self.harq.reset();
        self.average_at = slot;
        self.slice = None;
        self.offset_db = 0.0;
        self.offer = SlotOffer::default();
        self.counts = LinkCounts::default();
        self.feedback = HarqFeedback::default();
    }

    /// Applies a report about the channel.
    pub(crate) fn apply_report(&mut self, report: ChannelReport, rsrp_dbm: f64, adaptation: &Adaptation) {
        if self.report.full_power_prbs != report.full_power_prbs {
            self.offer = SlotOffer::default();
        }
        self.report = report;
        self.adapt(adaptation);
        let (counts, cqi) = (&mut self.counts, report.cqi.0);
        counts.reports += 1;
        counts.cqi += u64::from(cqi);
        counts.cqis[usize::from(report.layers - 1) & 3][usize::from(cqi) & 15] += 1;
        counts.sinr_db += self.air.sinr_db;
        counts.rsrp_dbm += rsrp_dbm;
    }

    /// Applies HARQ feedback: the result of a first transmission adjusts the outer loop.
    pub(crate) fn apply_harq_feedback(
        &mut self,
        process: u8,
        is_decoded: bool,
        outer_loop: Option<&OuterLoop>,
        adaptation: &Adaptation,
    ) {
        self.feedback.acks += u64::from(is_decoded);
        self.feedback.nacks += u64::from(!is_decoded);
        let block = self.harq.block(process);
        if let Some(outer_loop) = outer_loop
            && block.transmissions == 1
            && self.report.mcs.is_none()
        {
            let needs_db = [0, adaptation.mcs_count() - 1].map(|mcs| adaptation.needed_sinr_db(mcs));
            self.offset_db = outer_loop.next_offset_db(self.offset_db, is_decoded, self.report.sinr_db, needs_db);
            self.adapt(adaptation);
        }
    }

    fn adapt(&mut self, adaptation: &Adaptation) {
        let ChannelReport { sinr_db, mcs, full_power_prbs, .. } = self.report;
        let corrected_db = sinr_db + self.offset_db;
        self.mcs = mcs.map_or_else(|| adaptation.mcs(corrected_db), |mcs| mcs.min(adaptation.mcs_count() - 1));
        self.most_prbs = if full_power_prbs.is_finite() {
            // the MCS of many PRBs follows the SINR
            self.offer = SlotOffer::default();
            let spread = linear(corrected_db - MIN_SPREAD_SINR_DB).max(1.0);
            // a conversion from f64 saturates
            (full_power_prbs.max(1.0) * spread) as u16
        } else {
            u16::MAX
        };
    }

    /// The MCS of a new block on `prbs` PRBs.
    pub(crate) fn mcs_on(&self, prbs: u16, adaptation: &Adaptation) -> u8 {
        let ChannelReport { sinr_db, mcs, full_power_prbs, .. } = self.report;
        if mcs.is_some() || f64::from(prbs) <= full_power_prbs {
            return self.mcs;
        }
        adaptation.mcs(sinr_db + self.offset_db - power_loss_db(full_power_prbs, prbs))
    }

    /// The PRBs that `octets` need, within the most PRBs of a block.
    pub(crate) fn prbs_for(&self, octets: u32, symbols: u8, blocks: &TransportBlocks, adaptation: &Adaptation) -> u16 {
        let layers = self.layers();
        let mut prbs = blocks.prbs_for_on(layers, self.mcs, octets, symbols);
        // more PRBs with less power each need a lower MCS, which needs more PRBs
        while f64::from(prbs) > self.report.full_power_prbs && prbs < self.most_prbs {
            let more = blocks.prbs_for_on(layers, self.mcs_on(prbs, adaptation), octets, symbols);
            if more <= prbs {
                break;
            }
            prbs = more;
        }
        prbs.min(self.most_prbs)
    }

    /// What the link offers in a slot with `symbols` symbols.
    pub(crate) fn offer(&mut self, symbols: u8, blocks: &TransportBlocks, adaptation: &Adaptation) -> SlotOffer {
        let (mcs, layers) = (self.mcs, self.layers());
        if (self.offer.symbols, self.offer.mcs, self.offer.layers) != (symbols, mcs, layers) {
            let prbs = self.most_prbs.min(blocks.prbs());
            let most_octets = blocks.octets_on(layers, self.mcs_on(prbs, adaptation), prbs, symbols);
            let least_prbs = self.prbs_for(MIN_BLOCK_OCTETS, symbols, blocks, adaptation);
            self.offer = SlotOffer { symbols, mcs, layers, least_prbs, most_octets };
        }
        self.offer
    }

    /// The SINR in dB that each layer of a block has now.
    pub(crate) fn meet_channel(&mut self, layers: u8, prbs: u16, adaptation: &Adaptation) -> (f64, Option<f64>) {
        self.block_sinr_db = self.air.block_sinr_db(layers, prbs, adaptation);
        (self.block_sinr_db, self.air.block_error_rate)
    }

    /// The offset that outer-loop link adaptation adds to the reported SINR, in dB.
    #[must_use]
    pub fn offset_db(&self) -> f64 {
        self.offset_db
    }

    /// The MCS index of new blocks; with a power limit on few PRBs, else lower.
    #[must_use]
    pub fn mcs(&self) -> u8 {
        self.mcs
    }

    /// The last reported CQI.
    #[must_use]
    pub fn cqi(&self) -> u8 {
        self.report.cqi.0
    }

    /// The last reported CQIs of subbands; none where the carrier has no subbands or the channel is flat.
    #[must_use]
    pub fn subband_cqis(&self) -> &[u8] {
        self.report.subbands.cqis()
    }

    /// The last reported rank: the number of layers of new blocks.
    #[must_use]
    pub fn layers(&self) -> u8 {
        self.report.layers
    }

    /// The current SINR in dB of a single layer, in the uplink on one PRB.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.air.sinr_db
    }

    /// The SINR in dB of each layer of the last block; minus infinity before the first.
    #[must_use]
    pub fn block_sinr_db(&self) -> f64 {
        self.block_sinr_db
    }

    /// The power headroom of the last block (type 1, TS 38.213 7.7.1): what the power that power control wants is below the
    /// maximum, in dB; negative when the power is limited. Before the first block that of one PRB; `None` without power control.
    #[must_use]
    pub fn power_headroom_db(&self) -> Option<f64> {
        let full = self.air.full_power_prbs;
        full.is_finite().then(|| 10.0 * (full / f64::from(self.counts.last_prbs.max(1))).log10())
    }

    /// Whether the channel has a fixed MCS.
    #[must_use]
    pub fn has_fixed_mcs(&self) -> bool {
        self.air.mcs.is_some()
    }

    /// The slice, if any.
    #[must_use]
    pub fn slice(&self) -> Option<u32> {
        self.slice
    }

    /// The HARQ feedback since the UE arrived in its cell.
    #[must_use]
    pub fn feedback(&self) -> HarqFeedback {
        self.feedback
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, Direction};

    /// The offer is computed once for several slots, and again after each change that it depends on.
    #[test]
    fn offer_follows_reports_outer_loop_and_slot_length() {
        let grid = Carrier { downlink_layers: 2, ..Carrier::default() }.check().unwrap();
        let adaptation = Adaptation::new(&grid, Direction::Downlink);
        let blocks = TransportBlocks::new(&grid, Direction::Downlink);
        let report = |sinr_db: f64, full_power_prbs: f64| {
            ChannelReport::estimate(&Link { full_power_prbs, ..Link::of_sinr(sinr_db) }, &adaptation, u8::MAX)
        };
        let mut link = RadioLink::new(&HarqConfig::default());
        let mut offers = Vec::new();
        for (sinr_db, full_power_prbs) in
            [(5.0, f64::INFINITY), (5.0, 4.0), (5.3, 4.0), (5.3, f64::INFINITY), (25.0, f64::INFINITY), (25.0, 1e9)]
        {
            link.apply_report(report(sinr_db, full_power_prbs), -90.0, &adaptation);
            for symbols in [14, 6, 14] {
                for decoded in [true, false] {
                    link.harq.block(0).transmissions = 1;
                    link.apply_harq_feedback(0, decoded, Some(&OuterLoop::default()), &adaptation);
                    let offer = link.offer(symbols, &blocks, &adaptation);
                    let mut fresh = RadioLink::new(&HarqConfig::default());
                    fresh.offset_db = link.offset_db;
                    fresh.apply_report(report(sinr_db, full_power_prbs), -90.0, &adaptation);
                    assert_eq!(
                        offer,
                        fresh.offer(symbols, &blocks, &adaptation),
                        "{sinr_db} dB, {full_power_prbs} PRBs"
                    );
                    offers.push(offer.most_octets);
                }
            }
        }
        offers.sort_unstable();
        offers.dedup();
        assert!(offers.len() > 6, "{offers:?}");
    }
}
