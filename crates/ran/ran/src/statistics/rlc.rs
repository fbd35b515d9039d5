//! RLC: the buffers of each data radio bearer, and their traffic.

use e2sm::rlc::{BearerStats, Mode};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::rlc::{self, HEADER_OCTETS, RlcCounts};
use ran_functions::kpm::KpmSource;
use ran_functions::statistics::StatisticsSource;

use super::wrapped;
use crate::node::{Node, rnti_of};

/// The octets of received PDUs with their headers.
fn received_pdu_octets(counts: &RlcCounts) -> u64 {
    counts.received_octets + counts.received_pieces * u64::from(HEADER_OCTETS)
}

impl StatisticsSource<BearerStats> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<BearerStats>) {
        self.with_ue(ue, |cell, ue_state| {
            out.extend(ue_state.bearers().iter().map(|bearer| {
                let (dl, ul) = (bearer.downlink(), bearer.uplink());
                let (sent, received) = (dl.counts(), ul.counts());
                let wait = dl.head_wait(cell.now());
                let mean = dl.recent_sojourn(cell.now());
                let received_octets = received.delivered_octets;
                let (held_packets, held_octets) = ul.held();
                BearerStats {
                    tx_pdu_packets: wrapped(sent.sent_pieces),
                    tx_pdu_octets: wrapped(sent.sent_octets + sent.header_octets),
                    tx_pdu_wait_ms: wrapped(wait.as_millis() as u64),
                    tx_pdu_dropped_packets: wrapped(sent.full_packets + sent.discarded_packets),
                    tx_pdu_dropped_octets: wrapped(sent.full_octets + sent.discarded_octets),
                    tx_pdu_retx_packets: wrapped(sent.retransmitted_pieces),
                    tx_pdu_retx_octets: wrapped(sent.retransmitted_octets),
                    tx_pdu_segmented: wrapped(sent.segments),
                    tx_buffer_octets: dl.waiting_octets(),
                    tx_buffer_packets: dl.waiting_packets() as u32,
                    rx_pdu_packets: wrapped(received.received_pieces),
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
                    rnti: rnti_of(ue).into(),
                    mode: match dl.config().mode {
                        rlc::Mode::Acknowledged => Mode::AM,
                        rlc::Mode::Unacknowledged => Mode::UM,
                    },
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
