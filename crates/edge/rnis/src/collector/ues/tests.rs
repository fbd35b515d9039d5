//! What the changes of UEs mean.

use ids::PlmnIdentity;

use super::*;
use crate::collector::testing::Recorder;
use crate::directory::Entry;
use crate::event::BearerQos;

const UE: &str = "amf:1";

fn cell(number: u64) -> Cell {
    Cell::nr(PlmnIdentity::from_codes(1, 1, 2), number)
}

fn bearer(id: u8, qci: Option<u8>, teid: Option<&str>) -> BearerReport {
    let end = |teid: &str| Tunnel { address: String::new(), teid: teid.to_owned() };
    let state = BearerState {
        qos: qci.map(|qci| BearerQos { qci, rates_bps: None }),
        tunnel: teid.map(|teid| (end(teid), end("0000000f"))),
    };
    BearerReport { id, state, slice: None }
}

fn ues() -> (Ues, Recorder) {
    let (mut ues, recorder) = (Ues::new(Arc::default()), Recorder::default());
    let identity = Identity { names: vec![UE.to_owned()], ..Identity::default() };
    assert!(!ues.see(UE, identity, 1, Some(cell(1)), &recorder));
    (ues, recorder)
}

fn changes(recorder: &Recorder) -> Vec<Change> {
    recorder.take().into_iter().map(|event| event.change).collect()
}

#[test]
fn bearers_are_established_modified_and_released() {
    let (mut ues, recorder) = ues();
    let at = Moment::now();
    ues.arrive(UE);
    ues.report_bearers(UE, at, &[bearer(5, None, Some("00000001"))], false, &recorder);
    let events = recorder.take();
    assert!(
        matches!(&events[..], [Event { change: Change::S1Bearer { event: BearerEvent::Established, .. }, .. }]),
        "the QoS is unknown yet: {events:?}"
    );
    let teids: Vec<_> = events[0].ue.associate_ids.iter().map(|id| id.value.as_str()).collect();
    assert_eq!(teids, ["00000001", "0000000f"]);
    let five = BearerQos { qci: 9, rates_bps: None };
    ues.report_bearers(UE, at, &[bearer(5, Some(9), None)], false, &recorder);
    assert_eq!(changes(&recorder), [Change::BearerEstablished(Bearer { erab_id: 5, qos: Some(five) })]);
    ues.report_bearers(UE, at, &[bearer(5, Some(9), Some("00000001"))], true, &recorder);
    assert_eq!(changes(&recorder), [], "nothing is new");
    let two = BearerQos { qci: 2, rates_bps: None };
    ues.report_bearers(UE, at, &[bearer(5, Some(2), Some("00000002"))], true, &recorder);
    let [Change::BearerModified(modified), Change::S1Bearer { event, .. }] = &changes(&recorder)[..] else {
        panic!("two changes")
    };
    assert_eq!((modified.qos, *event), (Some(two), BearerEvent::Modified));
    ues.report_bearers(UE, at, &[], true, &recorder);
    let released = changes(&recorder);
    assert_eq!(released[0], Change::BearerReleased(Bearer { erab_id: 5, qos: Some(two) }));
    assert!(matches!(&released[1], Change::S1Bearer { event: BearerEvent::Released, bearers } if bearers.len() == 1));
    assert!(recorder.state.lock().unwrap().ues[UE].bearers.is_empty());
}

#[test]
fn bearers_that_existed_before_are_no_event() {
    let (mut ues, recorder) = ues();
    let at = Moment::now();
    ues.report_bearers(UE, at, &[bearer(5, None, Some("00000001"))], true, &recorder);
    ues.report_bearers(UE, at, &[bearer(5, Some(9), None)], false, &recorder);
    assert_eq!(changes(&recorder), []);
    ues.report_bearers(UE, at, &[bearer(6, Some(1), None)], false, &recorder);
    assert!(matches!(changes(&recorder)[..], [Change::BearerEstablished(Bearer { erab_id: 6, .. })]));
    assert_eq!(recorder.state.lock().unwrap().ues[UE].bearers.len(), 2);
}

#[test]
fn ue_that_leaves_disappears_unless_it_arrives_elsewhere() {
    let (mut ues, recorder) = ues();
    let at = Moment::now();
    ues.report_bearers(UE, at, &[bearer(5, Some(9), None)], false, &recorder);
    ues.leave(UE, at, Some(cell(2)));
    ues.expire(Moment { now: at.now + 2 * GRACE, ..at }, &recorder);
    assert!(recorder.state.lock().unwrap().ues.contains_key(UE), "it has left another cell");
    ues.leave(UE, at, Some(cell(1)));
    assert!(ues.see(UE, Identity { names: vec![UE.to_owned()], ..Identity::default() }, 2, Some(cell(2)), &recorder));
    ues.change_cell(UE, at, cell(1), cell(2), &recorder);
    ues.change_cell(UE, at, cell(2), cell(2), &recorder);
    let changed = Change::CellChange { targets: vec![cell(2)], status: HandoverStatus::Completed };
    assert_eq!(changes(&recorder), [changed], "a re-establishment in its cell is no change");
    ues.expire(Moment { now: at.now + 2 * GRACE, ..at }, &recorder);
    ues.leave(UE, at, Some(cell(2)));
    ues.expire(at, &recorder);
    assert!(recorder.state.lock().unwrap().ues.contains_key(UE));
    ues.expire(Moment { now: at.now + GRACE, ..at }, &recorder);
    assert!(matches!(changes(&recorder)[..], [Change::BearerReleased(_)]));
    assert!(recorder.state.lock().unwrap().ues.is_empty());
    let (mut lost, recorder) = self::ues();
    lost.lose(2, &recorder);
    assert_eq!(recorder.state.lock().unwrap().ues.len(), 1);
    lost.lose(1, &recorder);
    assert!(recorder.state.lock().unwrap().ues.is_empty());
}

#[test]
fn identities_of_the_directory_follow_its_changes() {
    let (mut ues, recorder) = ues();
    let entry = Entry { names: vec![UE.to_owned()], nated: vec![[198, 51, 100, 7].into()], ..Entry::default() };
    ues.directory.put(entry).unwrap();
    ues.resolve_again(&recorder);
    ues.advance_timing(UE, Moment::now(), 4, &recorder);
    ues.advance_timing(UE, Moment::now(), 4, &recorder);
    let events = recorder.take();
    assert_eq!(events.len(), 1, "the same value is no event");
    assert_eq!(events[0].ue.associate_ids, [AssociateId::nated([198, 51, 100, 7].into())]);
    ues.rename(UE, "amf:2", &recorder);
    assert_eq!(recorder.state.lock().unwrap().ues.keys().collect::<Vec<_>>(), ["amf:2"]);
}

#[test]
fn secondary_cells_are_added_and_removed() {
    let (mut ues, recorder) = ues();
    let at = Moment::now();
    ues.aggregate(UE, at, [cell(2), cell(3)].into(), &[], &recorder);
    ues.aggregate(UE, at, [cell(3)].into(), &[], &recorder);
    ues.aggregate(UE, at, [cell(3)].into(), &[], &recorder);
    let change = |added: &[Cell], removed: &[Cell]| Change::CarrierAggregation {
        added: added.to_vec(),
        removed: removed.to_vec(),
        measured: Vec::new(),
    };
    assert_eq!(changes(&recorder), [change(&[cell(2), cell(3)], &[]), change(&[], &[cell(2)])]);
}

#[test]
fn slices_of_a_ue_are_those_of_its_sessions() {
    let (mut ues, recorder) = ues();
    let at = Moment::now();
    let slice = |text: &str| Slice::try_from(text.to_owned()).unwrap();
    let slices = || recorder.state.lock().unwrap().ues[UE].ids.slices.clone();
    let of = |id, text| BearerReport { slice: Some(slice(text)), ..bearer(id, Some(9), None) };
    ues.report_bearers(UE, at, &[of(5, "1-0000ab"), of(6, "1-0000ab"), of(7, "2")], true, &recorder);
    assert_eq!(slices(), [slice("1-0000ab"), slice("2")]);
    // statistics of the node know no slices
    ues.report_bearers(UE, at, &[bearer(5, Some(9), None), bearer(6, Some(9), None)], true, &recorder);
    assert_eq!(slices(), [slice("1-0000ab")]);
    ues.advance_timing(UE, at, 4, &recorder);
    assert_eq!(recorder.take().pop().unwrap().ue.slices, [slice("1-0000ab")]);
    ues.release_bearers(UE, at, &[5, 6], &recorder);
    assert_eq!(recorder.take().pop().unwrap().ue.slices, [slice("1-0000ab")], "the event is still of the slice");
    assert_eq!(slices(), []);
}

#[test]
fn reconfigurations_name_secondary_cells_by_index() {
    let (mut ues, recorder) = ues();
    let at = Moment::now();
    let added = [(1, Some(cell(2))), (2, Some(cell(3))), (3, None)];
    ues.reconfigure(UE, at, &[], added.into_iter(), &recorder);
    ues.reconfigure(UE, at, &[7], [].into_iter(), &recorder);
    ues.reconfigure(UE, at, &[1], [(4, Some(cell(4)))].into_iter(), &recorder);
    ues.change_cell(UE, at, cell(1), cell(9), &recorder);
    ues.change_cell(UE, at, cell(9), cell(1), &recorder);
    let change = |added: &[Cell], removed: &[Cell]| Change::CarrierAggregation {
        added: added.to_vec(),
        removed: removed.to_vec(),
        measured: Vec::new(),
    };
    let changes = changes(&recorder);
    let aggregations: Vec<_> =
        changes.into_iter().filter(|change| matches!(change, Change::CarrierAggregation { .. })).collect();
    let expected = [
        change(&[cell(2), cell(3)], &[]),
        change(&[cell(4)], &[cell(2)]),
        // a change of the primary cell releases all
        change(&[], &[cell(3), cell(4)]),
    ];
    assert_eq!(aggregations, expected);
}
