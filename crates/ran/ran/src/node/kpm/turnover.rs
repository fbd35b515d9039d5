//! UEs come and go, and what was one's is not taken for another's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use e2sm::common::Sst;
use e2sm::rrc;
use ran_functions::rrc::RrcSource;
use ran_functions::slice::{SliceAssociation, SliceSource};

use super::*;
use crate::scenario::{FlowScenario, Scenario};
use crate::{RanConfig, testing};

const SECOND: Duration = Duration::from_secs(1);
const START: Time = Time::from_nanos(5_000_000_000);

fn mark(node: &Node) -> Mark {
    let mut mark = Mark::default();
    node.take_snapshot(&mut mark);
    mark
}

fn amf_name(ue: &UeId<'_>) -> i64 {
    let UeId::Gnb(name) = ue else { panic!("{ue:?}") };
    name.amf_ue_ngap_id.0
}

/// UEs of a cell that come one after the other and stay for a while.
fn turnover(ues: usize, every_ms: u64, stay_ms: u64) -> Node {
    let kind = radio::traffic::Kind::ConstantBitRate { rate_bps: 200_000, packet_octets: 500 };
    let mut scenario = Scenario::quiet(ues as u16);
    for (number, ue) in (0..).zip(&mut scenario.ues) {
        ue.arrives = radio::Time::from_millis(number * every_ms);
        ue.leaves = Some(ue.arrives + Duration::from_millis(stay_ms));
        ue.subscription.sst = 1 + (number % 2) as u8;
        let specification = radio::traffic::FlowSpecification::new(kind.clone());
        ue.flows = vec![FlowScenario { specification, ports: (80, 81) }];
    }
    testing::nodes(&RanConfig { scenario, ..RanConfig::default() }).remove(0)
}

/// Places are given again. Who looks at UEs never meets two of one name, what was said of one is not another's, and the
/// cell's counters lose nothing; also where nobody looks for longer than a place rests.
#[test]
fn ues_that_come_and_go_are_told_apart() {
    const UES: usize = 150;
    for look_s in [1, 13] {
        let mut node = turnover(UES, 400, 1500);
        KpmSource::advance(&mut node, START);
        let slice = |sst| MeasurementLabel {
            slice_id: Some(SNssai { sst: Sst([sst]), sd: None }),
            ..MeasurementLabel::default()
        };
        let labels = [MeasurementLabel::NO_LABEL, slice(1), slice(2)];
        let long = mark(&node);
        let (mut sums, mut names) = ([Counters::default(); 3], BTreeMap::new());
        let (mut attached, mut detached) = (Vec::new(), Vec::new());
        for look in 1..=(78 / look_s) {
            let short = mark(&node);
            KpmSource::advance(&mut node, START + SECOND * look * look_s);
            for (sum, label) in sums.iter_mut().zip(&labels) {
                *sum += node.counted(&short, MeasuredObject::Cell, label);
            }
            let mut news = Vec::new();
            RrcSource::take_events(&mut node, &mut news);
            for (ue, told) in news {
                let told_of = if told.event == rrc::Event::Detached { &mut detached } else { &mut attached };
                told_of.push((ue, amf_name(&told.ue_id)));
                assert_eq!(told.s_nssais.len(), 1);
            }
            let mut ues = Vec::new();
            KpmSource::ues(&node, &mut ues);
            let rntis: BTreeSet<u16> = ues.iter().map(|ue| SliceSource::rnti(&node, *ue)).collect();
            assert_eq!(rntis.len(), ues.len());
            for ue in &ues {
                let name = amf_name(&node.ue_id(*ue));
                assert!(names.insert(name, *ue).is_none_or(|before| before == *ue), "each has a name of its own");
                SliceSource::set_slice_association(&mut node, *ue, SliceAssociation { dl: Some(7), ul: None });
            }
            // those that have left
            for (ue, name) in &detached {
                assert_eq!(node.place(*ue), None, "{name}");
                assert_eq!(SliceSource::slice_association(&node, *ue), SliceAssociation::default());
                assert_eq!(node.hand_over(*ue, &testing::cell_of(0)), Err(radio::HandoverError::UnknownUe));
            }
        }
        assert_eq!(attached.len(), UES);
        assert_eq!(attached, detached, "each came, and each left, by the same name");
        let different: BTreeSet<_> = attached.iter().collect();
        assert_eq!(different.len(), UES);
        assert!(node.cell().ue_indices() < 40, "{} places", node.cell().ue_indices());
        for (sum, label) in sums.iter().zip(&labels) {
            let whole = node.counted(&long, MeasuredObject::Cell, label);
            assert_eq!((whole.cqis, whole.downlink_prbs), (sum.cqis, sum.downlink_prbs));
            assert_eq!(whole.downlink_sent_octets, sum.downlink_sent_octets);
            assert!((whole.sinr_db - sum.sinr_db).abs() < 1e-3);
        }
        let [all, one, two] = sums;
        assert!(one.downlink_sent_octets > 0 && two.downlink_sent_octets > 0);
        assert_eq!(all.downlink_sent_octets, one.downlink_sent_octets + two.downlink_sent_octets);
        // some 1.5 s each of 200 kbit/s
        assert!((all.downlink_sent_octets as f64 / UES as f64 - 37_500.0).abs() < 3_000.0, "{all:?}");
    }
}
