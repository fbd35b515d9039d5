use e2sm::rrc::Event;

use super::*;
use crate::testing::{A, B, notify, station};

const ACTION: RicActionId = RicActionId(1);
const WIRES: [Wire; 3] = [Wire::Per, Wire::Plain, Wire::Flat];

/// A base station with UEs 1 and 3 of the first tenant, and 2 of the second.
fn node() -> NodeState {
    let mut node = station();
    for (number, plmn) in [(1, A), (2, B), (3, A)] {
        notify(&mut node, number, plmn, Event::Attached);
    }
    node
}

fn mac_report(ues: &[u32], wire: Wire) -> Vec<u8> {
    let ues = ues.iter().map(|rnti| mac::UeStats { rnti: *rnti, dl_aggr_sdus: 7 * rnti, ..mac::UeStats::default() });
    let mut out = Vec::new();
    mac::IndicationMessage { ues: ues.collect(), timestamp_us: 5 }.encode(wire, &mut out).unwrap();
    out
}

/// What each tenant receives of a report; the second value is the number of searches for records.
fn parts(node: &NodeState, message: &[u8], wire: Wire) -> ([(Content, Vec<u8>); 2], usize) {
    let (arena, mut records) = (Arena::new(), OwnedRecords::default());
    let report = Report::read(Offered::Mac(wire), node, message, &mut records, &arena).unwrap();
    let parts = [0, 1].map(|tenant| {
        let mut out = Vec::new();
        let content = report.partition(&View::Plain, node, tenant, (ACTION, message), &mut out).unwrap();
        (content, out)
    });
    drop(report);
    (parts, records.searches)
}

#[test]
fn report_is_read_once_for_all_tenants() {
    let node = node();
    for wire in WIRES {
        let message = mac_report(&[1, 2, 3, 9], wire);
        let ([a, b], searches) = parts(&node, &message, wire);
        assert_eq!(searches, 1);
        assert_eq!(a, (Content::Written, mac_report(&[1, 3], wire)));
        assert_eq!(b, (Content::Written, mac_report(&[2], wire)));
    }
}

#[test]
fn report_of_one_tenant_is_passed_on_unchanged() {
    let node = node();
    for wire in WIRES {
        let ([a, b], _) = parts(&node, &mac_report(&[3, 1], wire), wire);
        assert_eq!(a, (Content::Unchanged, Vec::new()));
        assert_eq!(b, (Content::Written, mac_report(&[], wire)));
        let ([a, b], _) = parts(&node, &mac_report(&[], wire), wire);
        assert_eq!((a.0, b.0), (Content::Unchanged, Content::Unchanged));
    }
}

#[test]
fn ue_that_has_left_is_in_no_report() {
    let mut node = node();
    notify(&mut node, 1, A, Event::Detached);
    let ([a, _], _) = parts(&node, &mac_report(&[1, 3], Wire::Per), Wire::Per);
    assert_eq!(a, (Content::Written, mac_report(&[3], Wire::Per)));
    // the RNTI of a UE is used again by one of another tenant
    notify(&mut node, 1, B, Event::Attached);
    let ([a, b], _) = parts(&node, &mac_report(&[1, 3], Wire::Per), Wire::Per);
    assert_eq!((a.1, b.1), (mac_report(&[3], Wire::Per), mac_report(&[1], Wire::Per)));
}

#[test]
fn malformed_report_is_for_no_tenant() {
    let node = node();
    for wire in WIRES {
        let message = mac_report(&[1, 2], wire);
        let mut with_more = message.clone();
        with_more.push(0);
        for octets in [&message[..message.len() / 2], &[], &[0xff; 40]] {
            let (arena, mut records) = (Arena::new(), OwnedRecords::default());
            assert!(Report::read(Offered::Mac(wire), &node, octets, &mut records, &arena).is_err(), "{wire}");
        }
        if wire != Wire::Flat {
            let (arena, mut records) = (Arena::new(), OwnedRecords::default());
            assert!(Report::read(Offered::Mac(wire), &node, &with_more, &mut records, &arena).is_err(), "{wire}");
        }
    }
}
