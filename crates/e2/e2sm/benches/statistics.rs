//! Nanoseconds to encode and decode the MAC, RLC and PDCP statistics of 32 UEs in each encoding: `cargo bench -p
//! ferric-e2sm --bench statistics`.

use std::hint::black_box;
use std::time::Instant;

use e2sm::{Arena, Wire, mac, pdcp, rlc};

const UES: u32 = 32;
const TIMESTAMP_US: i64 = 1_700_000_000_000_000;

fn mac(n: u32) -> mac::UeStats {
    mac::UeStats {
        dl_aggr_tbs_octets: 3_000_000_000 + u64::from(n),
        ul_aggr_tbs_octets: 400_000_000,
        dl_aggr_sdu_octets: 2_900_000_000,
        ul_aggr_sdu_octets: 390_000_000,
        dl_curr_tbs_octets: 4_000,
        ul_curr_tbs_octets: 700,
        dl_sched_prbs: 53,
        ul_sched_prbs: 20,
        pusch_snr_db: 21.5,
        pucch_snr_db: 24.0,
        dl_bler: 0.1,
        ul_bler: 0.05,
        dl_harq: mac::HarqRounds { first: 700_000, second: 60_000, third: 5_000, fourth: 300, failed: 2 },
        ul_harq: mac::HarqRounds { first: 300_000, second: 20_000, third: 1_000, fourth: 70, failed: 1 },
        dl_harq_rounds: 4,
        ul_harq_rounds: 4,
        rnti: 0x4600 + n,
        dl_aggr_prbs: 37_000_000,
        ul_aggr_prbs: 6_000_000,
        dl_aggr_sdus: 2_000_000,
        ul_aggr_sdus: 500_000,
        dl_aggr_retx_prbs: 90_000,
        ul_aggr_retx_prbs: 10_000,
        bsr_octets: 1_300,
        frame: 700,
        slot: 13,
        wb_cqi: 13,
        dl_mcs_1: 22,
        ul_mcs_1: 16,
        dl_mcs_2: 0,
        ul_mcs_2: 0,
        phr_db: 20,
    }
}

fn rlc(n: u32) -> rlc::BearerStats {
    rlc::BearerStats {
        tx_pdu_packets: 2_000_000,
        tx_pdu_octets: 2_900_000_000,
        rx_pdu_packets: 500_000,
        rx_pdu_octets: 390_000_000,
        tx_buffer_octets: 30_000,
        tx_buffer_packets: 21,
        tx_sdu_packets: 1_990_000,
        tx_sdu_octets: 2_880_000_000,
        tx_sdu_mean_time_to_tx_us: 1_234.5,
        tx_sdu_wait_us: 900,
        rx_sdu_packets: 499_000,
        rx_sdu_octets: 389_000_000,
        rnti: 0x4600 + n,
        rb_id: 4,
        ..rlc::BearerStats::default()
    }
}

fn pdcp(n: u32) -> pdcp::BearerStats {
    pdcp::BearerStats {
        tx_pdu_packets: 2_000_000,
        tx_pdu_octets: 2_890_000_000,
        tx_pdu_sn: 140_000,
        rx_pdu_packets: 500_000,
        rx_pdu_octets: 388_000_000,
        rx_pdu_sn: 100_000,
        tx_sdu_packets: 2_000_000,
        tx_sdu_octets: 2_880_000_000,
        rx_sdu_packets: 500_000,
        rx_sdu_octets: 387_000_000,
        rnti: 0x4600 + n,
        rb_id: 4,
        ..pdcp::BearerStats::default()
    }
}

/// The fastest of many batches: the cost of the code without disturbance.
fn measure(name: &str, mut once: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..100 {
        let start = Instant::now();
        for _ in 0..200 {
            once();
        }
        best = best.min(start.elapsed().as_secs_f64() / 200.0);
    }
    println!("{name:<40} {:>9.0} ns", best * 1e9);
}

fn main() {
    let mac = mac::IndicationMessage { ues: (0..UES).map(mac).collect(), timestamp_us: TIMESTAMP_US };
    let rlc = rlc::IndicationMessage { bearers: (0..UES).map(rlc).collect(), timestamp_us: TIMESTAMP_US };
    let pdcp = pdcp::IndicationMessage { bearers: (0..UES).map(pdcp).collect(), timestamp_us: TIMESTAMP_US };
    let mut arena = Arena::new();
    for wire in [Wire::Plain, Wire::Per] {
        let (mut of_mac, mut of_rlc, mut of_pdcp) = (Vec::new(), Vec::new(), Vec::new());
        let mut encode = || {
            [&mut of_mac, &mut of_rlc, &mut of_pdcp].into_iter().for_each(Vec::clear);
            black_box(&mac).encode(wire, &mut of_mac).expect("the message is valid");
            black_box(&rlc).encode(wire, &mut of_rlc).expect("the message is valid");
            black_box(&pdcp).encode(wire, &mut of_pdcp).expect("the message is valid");
        };
        measure(&format!("encode, {wire}"), &mut encode);
        measure(&format!("decode, {wire}"), || {
            arena.reset();
            let of_mac = mac::IndicationMessage::decode(black_box(&of_mac), wire, &arena).expect("just encoded");
            let of_rlc = rlc::IndicationMessage::decode(black_box(&of_rlc), wire, &arena).expect("just encoded");
            let of_pdcp = pdcp::IndicationMessage::decode(black_box(&of_pdcp), wire, &arena).expect("just encoded");
            black_box((of_mac, of_rlc, of_pdcp));
        });
        println!("{:<40} {:>9} octets", format!("together, {wire}"), of_mac.len() + of_rlc.len() + of_pdcp.len());
    }
}
