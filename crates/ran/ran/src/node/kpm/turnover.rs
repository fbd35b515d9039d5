//! UEs arrive and leave, and reused places do not mix them up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use e2sm::common::Sst;
use e2sm::rrc;
use ran_functions::rrc::RrcSource;
use ran_functions::slice::{SliceAssociation, SliceSource};

use super::*;
use crate::counters::Counters;
use crate::scenario::{FlowScenario, Scenario};
use crate::{RanConfig, testing};

const SECOND: Duration = Duration::from_secs(1);
const START: Time = Time::from_nanos(5_000_000_000);

fn snapshot(node: &Node) -> CounterSnapshot {
    let mut snapshot = CounterSnapshot::default();
    node.take_snapshot(&mut snapshot);
    snapshot
}

fn amf_ue_ngap_id(ue: &UeId<'_>) -> i64 {
    let UeId::Gnb(name) = ue else { panic!("{ue:?}") };
    name.amf_ue_ngap_id.0
}

/// UEs of a cell that arrive one after the other and stay for a while.
fn turnover(ues: usize, every_ms: u64, stay_ms: u64) -> Node {
    let kind = radio::traffic::Kind::ConstantBitRate { rate_bps: 200_000, packet_octets: 500 };
    let mut scenario = Scenario::without_traffic(ues as u16);
    for (number, ue) in (0..).zip(&mut scenario.ues) {
        ue.arrives = radio::Time::from_millis(number * every_ms);
        ue.leaves = Some(ue.arrives + Duration::from_millis(stay_ms));
        ue.subscription.sst = 1 + (number % 2) as u8;
        let specification = radio::traffic::FlowSpecification::new(kind.clone());
        ue.flows = vec![FlowScenario { specification, ports: (80, 81) }];
    }
    testing::nodes(&RanConfig { scenario, ..RanConfig::default() }).remove(0)
}

/// Places are reused. UE ids are unique, settings of a UE do not apply to the next one, and the cell's counters stay complete;
/// also if the node is not read for longer than a place stays unused.
#[test]
fn ues_in_reused_places_are_distinct() {
    const UES: usize = 150;
    for look_s in [1, 13] {
        let mut node = turnover(UES, 400, 1500);
        KpmSource::advance(&mut node, START);
        let slice = |sst| MeasurementLabel {
            slice_id: Some(SNssai { sst: Sst([sst]), sd: None }),
            ..MeasurementLabel::default()
        };
        let labels = [MeasurementLabel::NO_LABEL, slice(1), slice(2)];
        let long = snapshot(&node);
        let (mut sums, mut names) = ([Counters::default(); 3], BTreeMap::new());
        let (mut attached, mut detached) = (Vec::new(), Vec::new());
        for look in 1..=(78 / look_s) {
            let short = snapshot(&node);
            KpmSource::advance(&mut node, START + SECOND * look * look_s);
            for (sum, label) in sums.iter_mut().zip(&labels) {
                *sum += &node.counted(&short, MeasuredObject::Cell, label);
            }
            let mut notifications = Vec::new();
            RrcSource::take_events(&mut node, &mut notifications);
            for (ue, notification) in notifications {
                let list = if notification.event == rrc::Event::Detached { &mut detached } else { &mut attached };
                list.push((ue, amf_ue_ngap_id(&notification.ue_id)));
                assert_eq!(notification.s_nssais.len(), 1);
            }
            let mut ues = Vec::new();
            KpmSource::ues(&node, &mut ues);
            let rntis: BTreeSet<u16> = ues.iter().map(|ue| SliceSource::rnti(&node, *ue)).collect();
            assert_eq!(rntis.len(), ues.len());
            for ue in &ues {
                let name = amf_ue_ngap_id(&node.ue_id(*ue));
                assert!(names.insert(name, *ue).is_none_or(|before| before == *ue), "ids are unique");
                SliceSource::set_slice_association(&mut node, *ue, SliceAssociation { dl: Some(7), ul: None });
            }
            // UEs that have left
            for (ue, name) in &detached {
                assert_eq!(node.place(*ue), None, "{name}");
                assert_eq!(SliceSource::slice_association(&node, *ue), SliceAssociation::default());
                assert_eq!(node.hand_over(*ue, &testing::cell_of(0)), Err(radio::HandoverError::UnknownUe));
            }
        }
        assert_eq!(attached.len(), UES);
        assert_eq!(attached, detached, "the same ids on arrival and departure");
        let different: BTreeSet<_> = attached.iter().collect();
        assert_eq!(different.len(), UES);
        assert!(node.cell().ue_indices() < 40, "{} places", node.cell().ue_indices());
        for (sum, label) in sums.iter().zip(&labels) {
            let whole = node.counted(&long, MeasuredObject::Cell, label);
            assert_eq!((whole.cqis, whole.dl_elements), (sum.cqis, sum.dl_elements));
            assert_eq!(whole.dl_received_octets, sum.dl_received_octets);
            assert!((whole.sinr_db - sum.sinr_db).abs() < 1e-3);
        }
        let [all, one, two] = sums;
        assert!(one.dl_received_octets > 0 && two.dl_received_octets > 0);
        assert_eq!(all.dl_received_octets, one.dl_received_octets + two.dl_received_octets);
        // 1.5 s each at 200 kbit/s
        assert!((all.dl_received_octets as f64 / UES as f64 - 37_500.0).abs() < 3_000.0, "{all:?}");
    }
}
