//! The statistics of a UE are consistent across layers, and change with the model.

use std::time::Duration;

use ferric::e2::Time;
use ran_functions::statistics::StatisticsSource;

use super::*;
use crate::testing;

fn records<R>(node: &Node) -> Vec<R>
where
    Node: StatisticsSource<R>,
{
    let (mut ues, mut out) = (Vec::new(), Vec::new());
    StatisticsSource::<R>::ues(node, &mut ues);
    ues.iter().for_each(|ue| node.records(*ue, &mut out));
    out
}

#[test]
fn layers_agree_and_counters_grow() {
    let mut node = testing::nodes_with_mixed_traffic(1, 16).remove(0);
    let mut now = Time::from_nanos(0);
    let mut before = vec![0; 16];
    for _ in 0..50 {
        now = now + Duration::from_millis(100);
        StatisticsSource::<e2sm::mac::UeStats>::advance(&mut node, now);
        let mac = records::<e2sm::mac::UeStats>(&node);
        let rlc = records::<e2sm::rlc::BearerStats>(&node);
        let pdcp = records::<e2sm::pdcp::BearerStats>(&node);
        let gtp = records::<e2sm::gtp::Tunnel>(&node);
        assert_eq!((mac.len(), rlc.len(), pdcp.len(), gtp.len()), (16, 16, 16, 16));
        assert!(mac.iter().all(|ue| ue.dl_sched_prbs <= 106 && ue.ul_sched_prbs <= 104), "no more than the cell has");
        for (at, ((mac, rlc), pdcp)) in mac.iter().zip(&rlc).zip(&pdcp).enumerate() {
            assert_eq!((mac.rnti, rlc.rnti, pdcp.rnti), (mac.rnti, mac.rnti, gtp[at].rnti));
            assert_eq!(mac.dl_aggr_sdu_octets, rlc.tx_sdu_octets);
            // received packets were sent, were dropped, or are queued
            let sum = rlc.tx_sdu_octets + u64::from(rlc.tx_pdu_dropped_octets) + u64::from(rlc.tx_buffer_octets);
            assert_eq!(sum, u64::from(pdcp.tx_pdu_octets));
            assert!(mac.dl_aggr_tbs_octets >= before[at]);
            assert!((0.0..=1.0).contains(&mac.dl_bler) && mac.wb_cqi <= 15 && mac.dl_mcs_1 <= 28);
            before[at] = mac.dl_aggr_tbs_octets;
        }
    }
    assert!(before.iter().sum::<u64>() > 1_000_000, "there is traffic: {before:?}");
}

#[test]
fn names_are_distinguished() {
    let mut node = testing::nodes_with_mixed_traffic(8, 1024).remove(7);
    StatisticsSource::<e2sm::mac::UeStats>::advance(&mut node, Time::from_nanos(0));
    let tunnels = records::<e2sm::gtp::Tunnel>(&node);
    let rntis: std::collections::BTreeSet<_> = tunnels.iter().map(|tunnel| tunnel.rnti).collect();
    let teids: std::collections::BTreeSet<_> = tunnels.iter().map(|tunnel| tunnel.teid_gnb).collect();
    // C-RNTIs end before 0xfff3 (TS 38.321 table 7.1-1)
    assert!(rntis.len() == 1024 && teids.len() == 1024 && *rntis.last().unwrap() < 0xfff3);
}
