//! FlexRIC's statistics of MAC, RLC, PDCP and GTP, from the state of the model.
//!
//! What the model does not have (status PDUs of RLC, a second codeword) is 0. 32-bit counters wrap around, as those of a
//! base station do.

use e2sm::gtp::Tunnel;
use e2sm::mac::{HarqRounds, UeStats};
use e2sm::{pdcp, rlc};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::phy::Direction;
use radio::rlc::{HEADER_OCTETS, PDCP_HEADER_OCTETS, RlcCounts};
use radio::{Cell, LinkCounts};
use ran_functions::kpm::KpmSource;
use ran_functions::statistics::StatisticsSource;

use crate::node::Node;

/// The number of frames after which the frame number wraps (TS 38.211 4.3.1).
const FRAMES: u64 = 1024;
/// Sequence numbers of 18 bits (TS 38.323 6.3.2).
const SEQUENCE_NUMBERS: u64 = 1 << 18;

impl Node {
    /// Reads the state of a UE of the cell.
    fn with_ue(&self, ue: Ue, read: impl FnOnce(&Cell, &radio::Ue)) {
        let cell = self.cell();
        if let Some(state) = self.place(ue).and_then(|place| cell.ue(place)) {
            read(&cell, state);
        }
    }
}

/// Truncates to a 32-bit counter, which wraps around.
fn wrapped(count: u64) -> u32 {
    count as u32
}

impl StatisticsSource<UeStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<UeStats>) {
        self.with_ue(ue, |cell, ue_state| {
            let (dl, ul) = (ue_state.downlink(), ue_state.uplink());
            let (dl_counts, ul_counts) = (dl.counts(), ul.counts());
            let (mut dl_rlc, mut ul_rlc) = (RlcCounts::default(), RlcCounts::default());
            for bearer in ue_state.bearers() {
                dl_rlc += *bearer.downlink().counts();
                ul_rlc += *bearer.uplink().counts();
            }
            let slots_per_frame = u64::from(cell.grid().slots_per_frame());
            let rounds = u32::from(cell.config().harq.transmissions);
            let prbs = |direction, elements| wrapped(cell.full_prbs(direction, elements));
            out.push(UeStats {
                dl_aggr_tbs_octets: dl_counts.block_octets,
                ul_aggr_tbs_octets: ul_counts.block_octets,
                dl_aggr_sdu_octets: dl_rlc.sent_octets,
                ul_aggr_sdu_octets: ul_rlc.received_octets,
                dl_curr_tbs_octets: dl_counts.last_octets.into(),
                ul_curr_tbs_octets: ul_counts.last_octets.into(),
                dl_sched_prbs: dl_counts.last_prbs.into(),
                ul_sched_prbs: ul_counts.last_prbs.into(),
                // of the last block, and of a single PRB
                pusch_snr_db: if ul_counts.blocks > 0 { ul.block_sinr_db() } else { ul.sinr_db() } as f32,
                pucch_snr_db: ul.sinr_db() as f32,
                dl_bler: block_error_rate(dl_counts),
                ul_bler: block_error_rate(ul_counts),
                dl_harq: harq_rounds(dl_counts),
                ul_harq: harq_rounds(ul_counts),
                dl_harq_rounds: rounds,
                ul_harq_rounds: rounds,
                rnti: self.rnti_of(ue).into(),
                dl_aggr_prbs: prbs(Direction::Downlink, dl_counts.elements),
                ul_aggr_prbs: prbs(Direction::Uplink, ul_counts.elements),
                dl_aggr_sdus: wrapped(dl_rlc.sent_pdus),
                ul_aggr_sdus: wrapped(ul_rlc.received_pdus),
                dl_aggr_retx_prbs: prbs(Direction::Downlink, dl_counts.retransmission_elements),
                ul_aggr_retx_prbs: prbs(Direction::Uplink, ul_counts.retransmission_elements),
                bsr_octets: ue_state.buffer_status_octets(),
                frame: (cell.slot() / slots_per_frame % FRAMES) as u16,
                slot: (cell.slot() % slots_per_frame) as u16,
                wb_cqi: dl.cqi(),
                dl_mcs_1: dl.mcs(),
                ul_mcs_1: ul.mcs(),
                dl_mcs_2: 0,
                ul_mcs_2: 0,
                // the range of a report is -32 to 38 dB (TS 38.133 10.1.17)
                phr_db: ul.power_headroom_db().map_or(0, |db| db.clamp(-32.0, 38.0) as i8),
            });
        });
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}

/// The share of first transmissions that were not decoded.
fn block_error_rate(counts: &LinkCounts) -> f32 {
    let done: u64 = counts.rounds.iter().sum::<u64>() + counts.lost_blocks;
    if done == 0 { 0.0 } else { 1.0 - counts.rounds[0] as f32 / done as f32 }
}

/// Blocks by the number of transmissions after which they were decoded. More than four count as four.
fn harq_rounds(counts: &LinkCounts) -> HarqRounds {
    let [first, second, third, rest @ ..] = counts.rounds;
    HarqRounds {
        first: wrapped(first),
        second: wrapped(second),
        third: wrapped(third),
        fourth: wrapped(rest.iter().sum()),
        failed: wrapped(counts.lost_blocks),
    }
}

/// The octets of received PDUs with their headers.
fn received_pdu_octets(counts: &RlcCounts) -> u64 {
    counts.received_octets + counts.received_pdus * u64::from(HEADER_OCTETS)
}

impl StatisticsSource<rlc::BearerStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<rlc::BearerStats>) {
        self.with_ue(ue, |cell, ue_state| {
            out.extend(ue_state.bearers().iter().map(|bearer| {
                let (dl, ul) = (bearer.downlink(), bearer.uplink());
                let (sent, received) = (dl.counts(), ul.counts());
                let wait = dl.head_wait(cell.now());
                let mean = dl.recent_sojourn(cell.now());
                let received_octets = received.delivered_octets;
                let (held_packets, held_octets) = ul.held();
                rlc::BearerStats {
                    tx_pdu_packets: wrapped(sent.sent_pdus),
                    tx_pdu_octets: wrapped(sent.sent_octets + sent.header_octets),
                    tx_pdu_wait_ms: wrapped(wait.as_millis() as u64),
                    tx_pdu_dropped_packets: wrapped(sent.buffer_full_packets + sent.discarded_packets),
                    tx_pdu_dropped_octets: wrapped(sent.buffer_full_octets + sent.discarded_octets),
                    tx_pdu_retx_packets: wrapped(sent.retransmitted_pdus),
                    tx_pdu_retx_octets: wrapped(sent.retransmitted_octets),
                    tx_pdu_segmented: wrapped(sent.segments),
                    tx_buffer_octets: dl.waiting_octets(),
                    tx_buffer_packets: dl.waiting_packets() as u32,
                    rx_pdu_packets: wrapped(received.received_pdus),
                    rx_pdu_octets: wrapped(received_pdu_octets(received)),
                    rx_pdu_dropped_packets: wrapped(received.lost_packets),
                    rx_pdu_dropped_octets: wrapped(received.lost_octets),
                    rx_buffer_octets: wrapped(held_octets),
                    rx_buffer_packets: held_packets as u32,
                    tx_sdu_packets: wrapped(sent.sent_packets),
                    tx_sdu_octets: sent.sent_octets,
                    tx_sdu_mean_time_to_tx_us: mean.as_secs_f64() * 1e6,
                    tx_sdu_wait_us: wrapped(wait.as_micros() as u64),
                    rx_sdu_packets: wrapped(received.delivered_packets),
                    rx_sdu_octets: received_octets,
                    rx_sdu_dropped_packets: wrapped(received.lost_packets),
                    rx_sdu_dropped_octets: wrapped(received.lost_octets),
                    rnti: self.rnti_of(ue).into(),
                    mode: match dl.config().mode {
                        radio::rlc::Mode::Acknowledged => rlc::Mode::AM,
                        radio::rlc::Mode::Unacknowledged => rlc::Mode::UM,
                    },
                    rb_id: bearer.id(),
                    ..rlc::BearerStats::default()
                }
            }));
        });
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}

impl StatisticsSource<pdcp::BearerStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<pdcp::BearerStats>) {
        self.with_ue(ue, |_, ue_state| {
            out.extend(ue_state.bearers().iter().map(|bearer| {
                let (sent, received) = (bearer.downlink().counts(), bearer.uplink().counts());
                let sdu = |octets: u64, packets: u64| octets.saturating_sub(packets * u64::from(PDCP_HEADER_OCTETS));
                pdcp::BearerStats {
                    tx_pdu_packets: wrapped(sent.in_packets),
                    tx_pdu_octets: wrapped(sent.in_octets),
                    tx_pdu_sn: wrapped(sent.in_packets % SEQUENCE_NUMBERS),
                    rx_pdu_packets: wrapped(received.delivered_packets),
                    rx_pdu_octets: wrapped(received.delivered_octets),
                    rx_pdu_sn: wrapped(received.delivered_packets % SEQUENCE_NUMBERS),
                    tx_sdu_packets: wrapped(sent.in_packets),
                    tx_sdu_octets: wrapped(sdu(sent.in_octets, sent.in_packets)),
                    rx_sdu_packets: wrapped(received.delivered_packets),
                    rx_sdu_octets: wrapped(sdu(received.delivered_octets, received.delivered_packets)),
                    rnti: self.rnti_of(ue).into(),
                    rb_id: bearer.id(),
                    ..pdcp::BearerStats::default()
                }
            }));
        });
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}

impl StatisticsSource<Tunnel> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<Tunnel>) {
        if self.context(ue).is_some_and(|context| !context.has_session) {
            return;
        }
        let (teid_gnb, teid_upf) = self.teids(ue);
        let qfi = self.context(ue).map_or(0, |context| context.qfi);
        out.push(Tunnel { rnti: self.rnti_of(ue).into(), teid_gnb, qfi, teid_upf });
    }
}

#[cfg(test)]
mod tests;
