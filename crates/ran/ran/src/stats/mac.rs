//! MAC: what the scheduler gave, and how it went.

use e2sm::mac::{HarqRounds, UeStats};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::rlc::RlcCounts;
use radio::{LinkCounts, RadioLink};
use ran_functions::statistics::StatisticsSource;

use super::{rnti, wrapped};
use crate::node::Node;

/// Frames until their number starts anew (TS 38.211 4.3.1).
const FRAMES: u64 = 1024;

impl StatisticsSource<UeStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<UeStats>) {
        self.with_ue(ue, |cell, there| {
            let (down, up) = (there.downlink(), there.uplink());
            let (of_down, of_up) = (down.counts(), up.counts());
            let (mut down_rlc, mut up_rlc) = (RlcCounts::default(), RlcCounts::default());
            for bearer in there.bearers() {
                down_rlc += *bearer.downlink().counts();
                up_rlc += *bearer.uplink().counts();
            }
            let slots_per_frame = u64::from(cell.grid().slots_per_frame());
            let rounds = u32::from(cell.config().harq.transmissions);
            out.push(UeStats {
                dl_aggr_tbs_octets: of_down.block_octets,
                ul_aggr_tbs_octets: of_up.block_octets,
                dl_aggr_sdu_octets: down_rlc.sent_octets,
                ul_aggr_sdu_octets: up_rlc.received_octets,
                dl_curr_tbs_octets: of_down.last_octets.into(),
                ul_curr_tbs_octets: of_up.last_octets.into(),
                dl_sched_prbs: of_down.last_prbs.into(),
                ul_sched_prbs: of_up.last_prbs.into(),
                pusch_snr_db: up.sinr_db() as f32,
                pucch_snr_db: up.sinr_db() as f32,
                dl_bler: block_error_rate(of_down),
                ul_bler: block_error_rate(of_up),
                dl_harq: harq_rounds(of_down),
                ul_harq: harq_rounds(of_up),
                dl_harq_rounds: rounds,
                ul_harq_rounds: rounds,
                rnti: rnti(ue).into(),
                dl_aggr_prbs: wrapped(of_down.prbs),
                ul_aggr_prbs: wrapped(of_up.prbs),
                dl_aggr_sdus: wrapped(down_rlc.sent_pieces),
                ul_aggr_sdus: wrapped(up_rlc.received_pieces),
                dl_aggr_retx_prbs: wrapped(of_down.again_prbs),
                ul_aggr_retx_prbs: wrapped(of_up.again_prbs),
                bsr_octets: there.buffer_status_octets(),
                frame: (cell.slot() / slots_per_frame % FRAMES) as u16,
                slot: (cell.slot() % slots_per_frame) as u16,
                wb_cqi: down.cqi(),
                dl_mcs_1: mcs(down),
                ul_mcs_1: mcs(up),
                dl_mcs_2: 0,
                ul_mcs_2: 0,
                phr_db: 0,
            });
        });
    }

    fn advance(&mut self, now: Time) {
        self.count_until(now);
    }
}

fn mcs(link: &RadioLink) -> u8 {
    link.mcs()
}

/// The part of first transmissions that were not understood.
fn block_error_rate(counts: &LinkCounts) -> f32 {
    let done: u64 = counts.rounds.iter().sum::<u64>() + counts.lost_blocks;
    if done == 0 { 0.0 } else { 1.0 - counts.rounds[0] as f32 / done as f32 }
}

/// How many blocks were understood after how many transmissions; what takes more than four counts with the fourth.
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
