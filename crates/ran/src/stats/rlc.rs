//! RLC: the queues of each UE's data radio bearer, in acknowledged mode.

use e2sm::rlc::{BearerStats, Mode};
use ferric::agent::Ue;
use ferric::e2::Time;
use functions::statistics::StatisticsSource;

use super::{DRB, octets, packets, rnti, wrapped};
use crate::node::Node;

impl StatisticsSource<BearerStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<BearerStats>) {
        let Some(counted) = self.counted_of(ue) else { return };
        let (total, last, down) = (counted.total, counted.last, &counted.ue.downlink);
        let (sent, dropped) = (octets(total.downlink_bits), octets(total.downlink_dropped_bits));
        let (received, lost) = (octets(total.uplink_bits), octets(total.uplink_lost_bits));
        let waiting = octets(down.waiting_bits());
        let mean_wait_s = if last.downlink_bits > 0.0 { last.downlink_bit_seconds / last.downlink_bits } else { 0.0 };
        let wait_s = down.oldest_s().map_or(0.0, |came_s| (self.now_s() - came_s).max(0.0));
        out.push(BearerStats {
            tx_pdu_packets: wrapped(packets(sent)),
            tx_pdu_octets: wrapped(sent),
            tx_pdu_wait_ms: wrapped((wait_s * 1e3) as u64),
            tx_pdu_dropped_packets: wrapped(packets(dropped)),
            tx_pdu_dropped_octets: wrapped(dropped),
            tx_buffer_octets: wrapped(waiting),
            tx_buffer_packets: wrapped(packets(waiting)),
            rx_pdu_packets: wrapped(packets(received)),
            rx_pdu_octets: wrapped(received),
            rx_pdu_dropped_packets: wrapped(packets(lost)),
            rx_pdu_dropped_octets: wrapped(lost),
            tx_sdu_packets: wrapped(packets(sent)),
            tx_sdu_octets: sent,
            tx_sdu_mean_time_to_tx_us: mean_wait_s * 1e6,
            tx_sdu_wait_us: wrapped((wait_s * 1e6) as u64),
            rx_sdu_packets: wrapped(packets(received)),
            rx_sdu_octets: received,
            rx_sdu_dropped_packets: wrapped(packets(lost)),
            rx_sdu_dropped_octets: wrapped(lost),
            rnti: rnti(ue).into(),
            mode: Mode::AM,
            rb_id: DRB,
            ..BearerStats::default()
        });
    }

    fn advance(&mut self, now: Time) {
        self.count_until(now);
    }
}
