use e2sm::common::{Cgi, NrCgi, PlmnIdentity};
use e2sm::rrc::Event;

use e2sm::slice::{ControlMessage, NO_SLICE, NvsParameters, Parameters, Share, Slice, SliceConfiguration, UeSlices};
use per::PrintableString;

use super::*;
use crate::testing::{A, B, event_of, notify, station};

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

/// A report of some UEs in an encoding.
type ReportOf = Box<dyn Fn(&[u16]) -> Vec<u8>>;

/// The report of each statistics model in each of its encodings: the records of the UEs have their numbers.
fn statistics() -> Vec<(Offered, ReportOf)> {
    /// Reports with a list of records.
    macro_rules! of_records {
        ($model:ident, $variant:ident, $list:ident, $record:ident, $counter:ident) => {
            $model::MODEL.wires.iter().map(|wire| {
                let wire = *wire;
                let report = move |ues: &[u16]| {
                    let of_ue = |number: &u16| $model::$record {
                        rnti: (*number).into(),
                        $counter: (*number).into(),
                        ..$model::$record::default()
                    };
                    let mut out = Vec::new();
                    let $list = ues.iter().map(of_ue).collect();
                    $model::IndicationMessage { $list, timestamp_us: 5 }.encode(wire, &mut out).unwrap();
                    out
                };
                (Offered::$variant(wire), Box::new(report) as ReportOf)
            })
        };
    }
    let events = rrc::MODEL.wires.iter().map(|wire| {
        let wire = *wire;
        let report = move |ues: &[u16]| {
            let event = |number: &u16| event_of((*number, *number), plmn_of(*number), Event::Attached, None);
            let mut notifications: Vec<_> = ues.iter().map(event).collect();
            // the report that a tenant alone receives has the cells of its network
            if ues == [2] {
                notifications[0].cell = Cgi::NrCgi(NrCgi::new(B, 1));
            }
            let mut out = Vec::new();
            let notifications = notifications.into();
            rrc::IndicationMessage { notifications }.encode(wire, &mut out).unwrap();
            out
        };
        (Offered::Rrc(wire), Box::new(report) as ReportOf)
    });
    of_records!(mac, Mac, ues, UeStats, dl_aggr_sdus)
        .chain(of_records!(rlc, Rlc, bearers, BearerStats, tx_pdu_packets))
        .chain(of_records!(pdcp, Pdcp, bearers, BearerStats, tx_sdu_packets))
        .chain(of_records!(gtp, Gtp, tunnels, Tunnel, teid_gnb))
        .chain(events)
        .collect()
}

/// The network of a UE: that of the first tenant, of the second, or of none.
fn plmn_of(number: u16) -> PlmnIdentity {
    match number {
        1 | 3 => A,
        2 => B,
        _ => PlmnIdentity::from_codes(1, 9, 2),
    }
}

fn part(model: Offered, node: &NodeState, message: &[u8], tenant: usize) -> (Content, Vec<u8>) {
    let (arena, mut records, mut out) = (Arena::new(), OwnedRecords::default(), Vec::new());
    let report = Report::read(model, node, message, &mut records, &arena).unwrap();
    let content = report.partition(&View::Plain, node, tenant, (ACTION, message), &mut out).unwrap();
    (content, out)
}

#[test]
fn each_statistics_model_has_the_own_ues_of_a_tenant_in_each_encoding() {
    let node = node();
    let all = statistics();
    assert_eq!(all.len(), 4 * 3 + 2);
    for (model, report) in all {
        let message = report(&[1, 2, 3, 9]);
        assert_eq!(part(model, &node, &message, 0), (Content::Written, report(&[1, 3])), "{model:?}");
        assert_eq!(part(model, &node, &message, 1), (Content::Written, report(&[2])), "{model:?}");
        assert_eq!(part(model, &node, &report(&[1, 3]), 0).0, Content::Unchanged, "{model:?}");
        // a report of events without events is none
        let nothing = if matches!(model, Offered::Rrc(_)) {
            (Content::Nothing, Vec::new())
        } else {
            (Content::Written, report(&[]))
        };
        assert_eq!(part(model, &node, &report(&[1, 9]), 1), nothing, "{model:?}");
    }
}

/// The cells of events have the PLMN of the tenant; those of other networks stay.
#[test]
fn events_name_the_cells_of_the_tenants_network() {
    let node = node();
    let cell = |plmn, number| Cgi::NrCgi(NrCgi::new(plmn, number));
    let other = PlmnIdentity::from_codes(9, 9, 3);
    for wire in rrc::MODEL.wires {
        let report = |cells: [Cgi; 2]| {
            let event = event_of((2, 2), B, Event::HandedOver(cells[0]), None);
            let mut out = Vec::new();
            let notifications = vec![rrc::Notification { cell: cells[1], ..event }].into();
            rrc::IndicationMessage { notifications }.encode(*wire, &mut out).unwrap();
            out
        };
        let of = |cells| part(Offered::Rrc(*wire), &node, &report(cells), 1);
        assert_eq!(of([cell(A, 1), cell(A, 2)]), (Content::Written, report([cell(B, 1), cell(B, 2)])), "{wire}");
        assert_eq!(of([cell(A, 1), cell(other, 2)]), (Content::Written, report([cell(B, 1), cell(other, 2)])));
        assert_eq!(of([cell(other, 1), cell(other, 2)]), (Content::Unchanged, Vec::new()));
        // a tenant of the PLMN of the base station
        let event = event_of((1, 1), A, Event::HandedOver(cell(A, 2)), None);
        let mut message = Vec::new();
        rrc::IndicationMessage { notifications: vec![event].into() }.encode(*wire, &mut message).unwrap();
        assert_eq!(part(Offered::Rrc(*wire), &node, &message, 0), (Content::Unchanged, Vec::new()));
    }
}

#[test]
fn report_of_slices_has_those_of_the_tenant_with_its_own_numbers_and_shares() {
    let none = PrintableString::literal("");
    let slice = |id: u32, reserved: f32| Slice {
        id,
        label: none.clone(),
        ue_scheduler: none.clone(),
        parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved })),
    };
    let dl = |slices: Vec<Slice<'static>>| SliceConfiguration {
        dl: DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: slices.into() },
        ul: DirectionSlices { scheduler: PrintableString::literal("NVS"), ..DirectionSlices::default() },
    };
    let ue = |rnti: u16, dl_id: u32| UeSlices { dl_id, ul_id: NO_SLICE, rnti };
    let mut node = node();
    let schedulers = [none.clone(), none.clone()];
    let own = |id: u32, share: f32, rnti: u16| {
        let add = ControlMessage::AddOrModify(SliceConfiguration {
            ul: DirectionSlices::default(),
            ..dl(vec![slice(id, share)])
        });
        let with_slice = crate::slices::VirtualSlices::default().after(&add, &schedulers, |_| true).unwrap();
        with_slice.after(&ControlMessage::Associate(vec![ue(rnti, id)].into()), &schedulers, |_| true).unwrap()
    };
    node.tenants[0].slices = own(3, 0.6, 1);
    node.tenants[1].slices = own(4, 0.5, 2);
    for wire in slice::MODEL.wires {
        let report = |slices, ues: Vec<UeSlices>| {
            let mut out = Vec::new();
            let message = slice::IndicationMessage { slices, ues: ues.into(), timestamp_us: 5 };
            message.encode(*wire, &mut out).unwrap();
            out
        };
        // also a slice of the owner, and a UE of no tenant in it
        let physical = vec![slice(2, 0.1), slice(19, 0.3), slice(31, 0.2), slice(36, 0.25), slice(47, 0.25)];
        let message = report(dl(physical), vec![ue(1, 19), ue(2, 36), ue(3, 31), ue(9, 2)]);
        let of = |tenant| part(Offered::Slice(*wire), &node, &message, tenant);
        assert_eq!(of(0), (Content::Written, report(dl(vec![slice(3, 0.6)]), vec![ue(1, 3)])), "{wire}");
        assert_eq!(of(1), (Content::Written, report(dl(vec![slice(4, 0.5)]), vec![ue(2, 4)])), "{wire}");
    }
}
