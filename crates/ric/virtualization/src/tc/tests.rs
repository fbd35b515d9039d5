use e2sm::rrc::{Event, Ipv4Address};
use e2sm::tc::{Bdp, QueueKind, QueueParameters};

use super::*;
use crate::testing::{A, B, notify_with_address, station};

/// The addresses of a UE of the first tenant, and of one of the second.
const UE_A: u32 = 0x0a2d_0002;
const UE_B: u32 = 0x0a2d_0003;

fn flow(destination: u32) -> FiveTuple {
    FiveTuple { destination_address: Some(destination), destination_port: Some(5060), ..FiveTuple::default() }
}

fn entry(id: u32) -> QueueEntry {
    QueueEntry {
        shaper: Shaper { id, meter: Meter { rate_kbps: 5.0, window_ms: 0 }, ..Shaper::default() },
        policer: Policer { id, destination_id: id, deviation_id: id, dropped_packets: 3, ..Policer::default() },
        queue: Queue { packets: 10 + id, forwarded_packets: 100 + id, ..Queue::default() },
    }
}

/// Queue 0, queues 1 and 3 of the first tenant, queue 2 of the second, and a filter of each.
fn report() -> IndicationMessage<'static> {
    IndicationMessage {
        scheduler: Scheduler::Priority(vec![5, 1, 9, 7].into()),
        pacer: Pacer { kind: PacerKind::Off, id: 0, meter: Meter { rate_kbps: 8.0, window_ms: 0 } },
        classifier: Classifier::Osi(
            vec![
                OsiFilter { id: 4, flow: flow(UE_A), queue_id: 3 },
                OsiFilter { id: 6, flow: flow(UE_B), queue_id: 2 },
            ]
            .into(),
        ),
        queues: [0, 1, 2, 3].map(entry).to_vec().into(),
        timestamp_us: 17,
    }
}

/// A base station without queues of tenants.
fn fresh() -> IndicationMessage<'static> {
    IndicationMessage {
        scheduler: Scheduler::RoundRobin,
        classifier: Classifier::RoundRobin,
        queues: vec![entry(0)].into(),
        ..report()
    }
}

/// The base station of a report: the tenants have numbered their queues from 1, their filters from 0.
fn node() -> NodeState {
    let mut node = station();
    for (number, plmn, address) in [(1, A, UE_A), (2, B, UE_B)] {
        notify_with_address(&mut node, number, plmn, Event::Attached, Ipv4Address(address.to_be_bytes()));
    }
    let mapping = |own, physical| Mapping { own, physical };
    node.tenants[0].tc = TcMap { queues: vec![mapping(1, 1), mapping(2, 3)], filters: vec![mapping(0, 4)] };
    node.tenants[1].tc = TcMap { queues: vec![mapping(1, 2)], filters: vec![mapping(0, 6)] };
    node
}

fn executed(plan: Result<Plan, TcRefusal>) -> ControlMessage<'static> {
    match plan.unwrap() {
        Plan::Step(control, _) => control,
        Plan::Done => panic!("nothing to execute"),
    }
}

fn add_filter(destination: Option<u32>, queue_id: u32) -> ControlMessage<'static> {
    let flow = FiveTuple { destination_address: destination, ..FiveTuple::default() };
    ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Osi(NewOsiFilter { flow, queue_id })))
}

fn shape(id: u32) -> ControlMessage<'static> {
    let change = ChangeShaper { id, window_ms: 10, max_rate_kbps: 100, active: true };
    ControlMessage::Shaper(ShaperControl::Modify(change))
}

fn police(id: u32, deviation_id: u32) -> ControlMessage<'static> {
    let change = ChangePolicer { id, drop_rate_kbps: 9, deviation_id, deviation_rate_kbps: 8, active: true };
    ControlMessage::Policer(PolicerControl::Modify(change))
}

fn schedule(scheduler: Scheduler<'static>) -> ControlMessage<'static> {
    ControlMessage::Scheduler(SchedulerControl::Modify(scheduler))
}

fn delete_queue(id: u32) -> ControlMessage<'static> {
    ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind: QueueKind::Fifo }))
}

fn delete_filter(id: u32) -> ControlMessage<'static> {
    ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id)))
}

#[test]
fn tenant_sees_its_own_queues_and_filters() {
    let (node, report) = (node(), report());
    let a = part(&node.tenants[0].tc, &report);
    let seen = |part: &IndicationMessage<'_>| -> Vec<(u32, u32)> {
        part.queues.iter().map(|entry| (entry.shaper.id, entry.queue.forwarded_packets)).collect()
    };
    assert_eq!(seen(&a), [(0, 0), (1, 101), (2, 103)], "counters of queue 0 are those of all tenants");
    assert_eq!(a.scheduler, Scheduler::Priority(vec![5, 1, 7].into()));
    assert_eq!(a.classifier, Classifier::Osi(vec![OsiFilter { id: 0, flow: flow(UE_A), queue_id: 2 }].into()));
    let shared = a.queues[0];
    assert_eq!((shared.shaper.meter.rate_kbps, shared.policer.dropped_packets, shared.queue.packets), (0.0, 0, 0));
    assert_eq!(a.pacer.meter.rate_kbps, 0.0);
    let b = part(&node.tenants[1].tc, &report);
    assert_eq!(seen(&b), [(0, 0), (1, 102)]);
    assert_eq!(b.classifier, Classifier::Osi(vec![OsiFilter { id: 0, flow: flow(UE_B), queue_id: 1 }].into()));
}

#[test]
fn control_is_passed_on_with_the_numbers_of_the_base_station() {
    let (node, report) = (node(), report());
    let plan = |tenant, control: ControlMessage<'static>| executed(plan(&control, &node, tenant, &report));
    assert_eq!(plan(0, shape(2)), shape(3));
    assert_eq!(plan(1, shape(1)), shape(2));
    assert_eq!(plan(0, police(2, 1)), police(3, 1));
    assert_eq!(plan(0, police(1, 0)), police(1, 0));
    assert_eq!(plan(0, delete_queue(2)), delete_queue(3));
    assert_eq!(plan(1, delete_filter(0)), delete_filter(6));
    assert_eq!(plan(0, add_filter(Some(UE_A), 2)), add_filter(Some(UE_A), 3));
    let priorities = |values: &[u32]| schedule(Scheduler::Priority(values.to_vec().into()));
    // the others keep theirs
    assert_eq!(plan(0, priorities(&[5, 2, 3])), priorities(&[5, 2, 9, 3]));
    assert_eq!(plan(1, priorities(&[5, 0])), priorities(&[5, 1, 0, 7]));
}

#[test]
fn control_that_concerns_ues_of_others_is_refused() {
    let (node, report) = (node(), report());
    let refused = |tenant, control: ControlMessage<'static>| plan(&control, &node, tenant, &report).unwrap_err();
    // queues and filters of the other tenant do not exist
    assert_eq!(refused(1, shape(2)), TcRefusal::UnknownQueue(2));
    assert_eq!(refused(1, police(1, 3)), TcRefusal::UnknownQueue(3));
    assert_eq!(refused(1, delete_queue(3)), TcRefusal::UnknownQueue(3));
    assert_eq!(refused(0, delete_filter(4)), TcRefusal::UnknownFilter(4));
    assert_eq!(refused(0, add_filter(Some(UE_A), 3)), TcRefusal::UnknownQueue(3));
    // packets of the other tenant
    for destination in [None, Some(UE_B), Some(0)] {
        assert_eq!(refused(0, add_filter(destination, 1)), TcRefusal::ForeignDestination);
    }
    let moved = OsiFilter { id: 0, flow: flow(UE_B), queue_id: 1 };
    let modify = ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(moved)));
    assert_eq!(refused(0, modify), TcRefusal::ForeignDestination);
    let classify = |new| ControlMessage::Classifier(ClassifierControl::Add(new));
    assert_eq!(refused(0, classify(NewFilter::RoundRobin)), TcRefusal::OtherClassifier);
    assert_eq!(refused(0, classify(NewFilter::Stochastic)), TcRefusal::OtherClassifier);
    // the parts that all have
    for control in [shape(0), police(0, 1), delete_queue(0)] {
        assert_eq!(refused(0, control), TcRefusal::SharedQueue);
    }
    let bdp = PacerParameters::Bdp5g(Bdp { drb_octets: 1, timestamp_us: 0 });
    assert_eq!(refused(0, ControlMessage::Pacer(PacerControl::Modify(bdp))), TcRefusal::SharedPacer);
    assert_eq!(refused(0, schedule(Scheduler::RoundRobin)), TcRefusal::SharedScheduler);
    assert_eq!(refused(0, schedule(Scheduler::Priority(vec![4, 1, 7].into()))), TcRefusal::SharedScheduler);
    let wrong = schedule(Scheduler::Priority(vec![5, 1].into()));
    assert_eq!(refused(0, wrong), TcRefusal::QueueCount { requested: 2, existing: 3 });
    assert_eq!(refused(0, ControlMessage::Policer(PolicerControl::Add)), TcRefusal::Fixed);
}

#[test]
fn base_station_classifies_by_headers_before_a_tenant_has_a_queue() {
    let (mut node, mut report) = (node(), fresh());
    node.tenants.iter_mut().for_each(|tenant| tenant.tc = TcMap::default());
    let add = ControlMessage::Queue(QueueControl::Add(QueueParameters::Fifo));
    let placeholder = NewFilter::Osi(NewOsiFilter { flow: PLACEHOLDER, queue_id: 0 });
    let first = ControlMessage::Classifier(ClassifierControl::Add(placeholder));
    assert_eq!(plan(&add, &node, 0, &report), Ok(Plan::Step(first, Effect::Prepared)));
    report.classifier = Classifier::Osi(vec![OsiFilter { id: 2, flow: PLACEHOLDER, queue_id: 0 }].into());
    assert_eq!(plan(&add, &node, 0, &report), Ok(Plan::Step(delete_filter(2), Effect::Prepared)));
    report.classifier = Classifier::Osi(Vec::new().into());
    assert_eq!(plan(&add, &node, 0, &report), Ok(Plan::Step(add.clone(), Effect::QueueAdded)));
    // an owner who spreads packets over several queues
    for classifier in [Classifier::RoundRobin, Classifier::Stochastic] {
        report = IndicationMessage { classifier, queues: vec![entry(0), entry(1)].into(), ..report };
        assert_eq!(plan(&add, &node, 0, &report), Err(TcRefusal::ClassifierOfOwner));
    }
}

#[test]
fn kind_of_scheduler_changes_while_nobody_else_has_queues() {
    let (mut node, mut report) = (node(), report());
    node.tenants[1].tc = TcMap::default();
    report.queues = [0, 1, 3].map(entry).to_vec().into();
    report.scheduler = Scheduler::RoundRobin;
    let quanta = schedule(Scheduler::DeficitRoundRobin(vec![100, 200, 300].into()));
    assert_eq!(executed(plan(&quanta, &node, 0, &report)), quanta);
    assert_eq!(plan(&schedule(Scheduler::RoundRobin), &node, 0, &report), Ok(Plan::Done));
}

#[test]
fn numbers_of_queues_and_filters_are_bounded() {
    let (mut node, report) = (node(), report());
    let full = |count: usize| (0..count as u32).map(|id| Mapping { own: id + 1, physical: id + 1 }).collect();
    node.tenants[0].tc = TcMap { queues: full(MAX_QUEUES), filters: full(MAX_FILTERS) };
    let add = ControlMessage::Queue(QueueControl::Add(QueueParameters::Fifo));
    assert_eq!(plan(&add, &node, 0, &report), Err(TcRefusal::TooManyQueues));
    assert_eq!(plan(&add_filter(Some(UE_A), 1), &node, 0, &report), Err(TcRefusal::TooManyFilters));
}

#[test]
fn filter_of_a_ue_that_has_left_is_removed() {
    let (mut node, report) = (node(), report());
    let pruning = |node: &NodeState| node.tenants[0].tc.pruning(&report, |address| node.ues.has_address(0, address));
    assert_eq!(pruning(&node), None);
    let address = Ipv4Address(UE_A.to_be_bytes());
    notify_with_address(&mut node, 1, A, Event::Detached, address);
    // the address is that of a UE of the other tenant now
    notify_with_address(&mut node, 7, B, Event::Attached, address);
    assert_eq!(pruning(&node), Some((delete_filter(4), Effect::FilterDeleted(4))));
}

#[test]
fn removal_takes_filters_policers_and_queues() {
    let (mut node, mut report) = (node(), report());
    let map = &mut node.tenants[0].tc;
    let mut queues = report.queues.to_vec();
    queues[3].policer.active = true;
    report.queues = queues.clone().into();
    let (step, effect) = map.removal(&report).unwrap();
    assert_eq!(step, delete_filter(4));
    map.apply(effect, None);
    let (step, _) = map.removal(&report).unwrap();
    assert_eq!(step, ControlMessage::Policer(PolicerControl::Delete(3)));
    queues[3].policer.active = false;
    report.queues = queues.into();
    for id in [1, 3] {
        let (step, effect) = map.removal(&report).unwrap();
        assert_eq!(step, delete_queue(id));
        map.apply(effect, None);
    }
    assert_eq!(map.removal(&report), None);
    assert!(map.is_empty());
}

#[test]
fn what_the_base_station_has_lost_is_forgotten() {
    let (mut node, report) = (node(), fresh());
    node.tenants[0].tc.retain_reported(&report);
    assert!(node.tenants[0].tc.is_empty());
}

#[test]
fn report_has_the_part_of_the_tenant_in_each_encoding() {
    use crate::node::{Offered, View};
    use crate::reports::{Content, OwnedRecords, Report};

    let (node, report) = (node(), report());
    for wire in e2sm::tc::MODEL.wires {
        let mut message = Vec::new();
        report.encode(*wire, &mut message).unwrap();
        let (arena, mut records) = (e2sm::Arena::new(), OwnedRecords::default());
        let read = Report::read(Offered::Tc(*wire), &node, &message, &mut records, &arena).unwrap();
        for tenant in 0..2 {
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            let action = ferric::e2ap::RicActionId(1);
            let content = read.partition(&View::Plain, &node, tenant, (action, &message), &mut out).unwrap();
            part(&node.tenants[tenant].tc, &report).encode(*wire, &mut expected).unwrap();
            assert_eq!((content, out), (Content::Written, expected), "{wire}: {tenant}");
        }
    }
}
