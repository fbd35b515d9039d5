//! MAC: what the scheduler gave, and how it went.

use e2sm::mac::{HarqRounds, UeStats};
use ferric::agent::Ue;
use ferric::e2::Time;
use functions::statistics::StatisticsSource;

use super::{octets, packets, rnti, wrapped};
use crate::model::{DOWNLINK_SHARE, SLOTS_PER_S, UPLINK_SHARE};
use crate::node::Node;

/// Transmissions that a block gets at most.
const HARQ_ROUNDS: u32 = 4;
/// Slots of a frame of 10 ms, and frames until their number starts anew (TS 38.211 4.3.1).
const SLOTS_PER_FRAME: u64 = 20;
const FRAMES: u64 = 1024;
/// The highest index of modulation and coding, and the highest CQI.
const MAX_MCS: u32 = 28;
const MAX_CQI: u32 = 15;

impl StatisticsSource<UeStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<UeStats>) {
        let Some(counted) = self.counted_of(ue) else { return };
        let (total, last) = (counted.total, counted.last);
        let (down, up) = (&counted.ue.downlink, &counted.ue.uplink);
        let slots = (self.now_s() * SLOTS_PER_S) as u64;
        let down_slots = SLOTS_PER_S * DOWNLINK_SHARE * self.cell.step_s();
        let up_slots = SLOTS_PER_S * UPLINK_SHARE * self.cell.step_s();
        let (dl_octets, ul_octets) = (octets(total.downlink_bits), octets(total.uplink_bits));
        out.push(UeStats {
            dl_aggr_tbs_octets: dl_octets,
            ul_aggr_tbs_octets: ul_octets,
            dl_aggr_sdu_octets: dl_octets,
            ul_aggr_sdu_octets: ul_octets,
            dl_curr_tbs_octets: octets(last.downlink_bits / down_slots),
            ul_curr_tbs_octets: octets(last.uplink_bits / up_slots),
            // blocks are given for a whole step: as many in each of its slots
            dl_sched_prbs: last.downlink_prbs,
            ul_sched_prbs: last.uplink_prbs,
            pusch_snr_db: up.sinr_db() as f32,
            pucch_snr_db: up.sinr_db() as f32,
            dl_bler: down.block_error_rate() as f32,
            ul_bler: up.block_error_rate() as f32,
            dl_harq: HarqRounds::default(),
            ul_harq: HarqRounds::default(),
            dl_harq_rounds: HARQ_ROUNDS,
            ul_harq_rounds: HARQ_ROUNDS,
            rnti: rnti(ue).into(),
            dl_aggr_prbs: wrapped((total.downlink_prbs as f64 * down_slots) as u64),
            ul_aggr_prbs: wrapped((total.uplink_prbs as f64 * up_slots) as u64),
            dl_aggr_sdus: wrapped(packets(dl_octets)),
            ul_aggr_sdus: wrapped(packets(ul_octets)),
            dl_aggr_retx_prbs: 0,
            ul_aggr_retx_prbs: 0,
            bsr_octets: wrapped(octets(up.waiting_bits())),
            frame: (slots / SLOTS_PER_FRAME % FRAMES) as u16,
            slot: (slots % SLOTS_PER_FRAME) as u16,
            wb_cqi: down.cqi(),
            dl_mcs_1: mcs(down.cqi()),
            ul_mcs_1: mcs(up.cqi()),
            dl_mcs_2: 0,
            ul_mcs_2: 0,
            phr_db: 0,
        });
    }

    fn advance(&mut self, now: Time) {
        self.count_until(now);
    }
}

/// The index of modulation and coding for a CQI: both scales go from QPSK to 64-QAM in nearly even steps.
fn mcs(cqi: u8) -> u8 {
    (u32::from(cqi).min(MAX_CQI) * MAX_MCS / MAX_CQI) as u8
}
