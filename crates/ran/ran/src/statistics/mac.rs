//! MAC: scheduled resources and HARQ results.

use e2sm::mac::{HarqRounds, UeStats};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::LinkCounts;
use radio::rlc::RlcCounts;
use ran_functions::kpm::KpmSource;
use ran_functions::statistics::StatisticsSource;

use super::wrapped;
use crate::node::{Node, rnti_of};

/// The number of frames after which the frame number wraps (TS 38.211 4.3.1).
const FRAMES: u64 = 1024;

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
            out.push(UeStats {
                dl_aggr_tbs_octets: dl_counts.block_octets,
                ul_aggr_tbs_octets: ul_counts.block_octets,
                dl_aggr_sdu_octets: dl_rlc.sent_octets,
                ul_aggr_sdu_octets: ul_rlc.received_octets,
                dl_curr_tbs_octets: dl_counts.last_octets.into(),
                ul_curr_tbs_octets: ul_counts.last_octets.into(),
                dl_sched_prbs: dl_counts.last_prbs.into(),
                ul_sched_prbs: ul_counts.last_prbs.into(),
                pusch_snr_db: ul.sinr_db() as f32,
                pucch_snr_db: ul.sinr_db() as f32,
                dl_bler: block_error_rate(dl_counts),
                ul_bler: block_error_rate(ul_counts),
                dl_harq: harq_rounds(dl_counts),
                ul_harq: harq_rounds(ul_counts),
                dl_harq_rounds: rounds,
                ul_harq_rounds: rounds,
                rnti: rnti_of(ue).into(),
                dl_aggr_prbs: wrapped(dl_counts.prbs),
                ul_aggr_prbs: wrapped(ul_counts.prbs),
                dl_aggr_sdus: wrapped(dl_rlc.sent_pieces),
                ul_aggr_sdus: wrapped(ul_rlc.received_pieces),
                dl_aggr_retx_prbs: wrapped(dl_counts.retransmission_prbs),
                ul_aggr_retx_prbs: wrapped(ul_counts.retransmission_prbs),
                bsr_octets: ue_state.buffer_status_octets(),
                frame: (cell.slot() / slots_per_frame % FRAMES) as u16,
                slot: (cell.slot() % slots_per_frame) as u16,
                wb_cqi: dl.cqi(),
                dl_mcs_1: dl.mcs(),
                ul_mcs_1: ul.mcs(),
                dl_mcs_2: 0,
                ul_mcs_2: 0,
                phr_db: 0,
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
