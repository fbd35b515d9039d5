//! PDCP: the packets of each data radio bearer in both directions.

use e2sm::pdcp::BearerStats;
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::rlc::PDCP_HEADER_OCTETS;
use ran_functions::kpm::KpmSource;
use ran_functions::statistics::StatisticsSource;

use super::wrapped;
use crate::node::{Node, rnti_of};

/// Sequence numbers of 18 bits (TS 38.323 6.3.2).
const SEQUENCE_NUMBERS: u64 = 1 << 18;

impl StatisticsSource<BearerStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<BearerStats>) {
        self.with_ue(ue, |_, ue_state| {
            out.extend(ue_state.bearers().iter().map(|bearer| {
                let (sent, received) = (bearer.downlink().counts(), bearer.uplink().counts());
                let sdu = |octets: u64, packets: u64| octets.saturating_sub(packets * u64::from(PDCP_HEADER_OCTETS));
                BearerStats {
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
                    rnti: rnti_of(ue).into(),
                    rb_id: bearer.id(),
                    ..BearerStats::default()
                }
            }));
        });
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}
