//! PDCP: what came from the core for each UE's data radio bearer, and what went there.

use e2sm::pdcp::BearerStats;
use ferric::agent::Ue;
use ferric::e2::Time;
use functions::statistics::StatisticsSource;

use super::{DRB, octets, packets, rnti, wrapped};
use crate::node::Node;

/// Sequence numbers have 18 bits (TS 38.323 6.3.2).
const SEQUENCE_NUMBERS: u64 = 1 << 18;

impl StatisticsSource<BearerStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<BearerStats>) {
        let Some(counted) = self.counted_of(ue) else { return };
        let came = octets(counted.total.downlink_came_bits);
        let received = octets(counted.total.uplink_bits);
        out.push(BearerStats {
            tx_pdu_packets: wrapped(packets(came)),
            tx_pdu_octets: wrapped(came),
            tx_pdu_sn: wrapped(packets(came) % SEQUENCE_NUMBERS),
            rx_pdu_packets: wrapped(packets(received)),
            rx_pdu_octets: wrapped(received),
            rx_pdu_sn: wrapped(packets(received) % SEQUENCE_NUMBERS),
            tx_sdu_packets: wrapped(packets(came)),
            tx_sdu_octets: wrapped(came),
            rx_sdu_packets: wrapped(packets(received)),
            rx_sdu_octets: wrapped(received),
            rnti: rnti(ue).into(),
            rb_id: DRB,
            ..BearerStats::default()
        });
    }

    fn advance(&mut self, now: Time) {
        self.count_until(now);
    }
}
