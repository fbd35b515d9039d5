use e2sm::common::{NrCgi, PlmnIdentity, SNssai, Sst};
use e2sm::kpm::MeasurementLabel;
use e2sm::rc::{Drx, FlowDirection, Handover, MappedFlow, QosFlowMapping, SlicePrbQuota};
use e2sm::rrc;
use ferric::agent::ControllerId;
use per::Bits;
use ran_functions::kpm::MeasuredObject;
use ran_functions::rrc::RrcSource;

use super::*;
use crate::node::CounterSnapshot;
use crate::testing;
use crate::testing::cell_of;
use crate::{RanConfig, Scenario};

const START: Time = Time::from_nanos(5_000_000_000);
const RIC: Origin = Origin::Control(ControllerId(1));

fn nodes(cells: u16, ues: u16) -> Vec<Node> {
    started(&RanConfig { scenario: testing::mixed_traffic(cells, ues), ..RanConfig::default() })
}

fn started(config: &RanConfig) -> Vec<Node> {
    let mut nodes = testing::nodes(config);
    nodes.iter_mut().for_each(|node| KpmSource::advance(node, START));
    nodes
}

fn at(seconds: u64) -> Time {
    START + Duration::from_secs(seconds)
}

fn ues(node: &Node) -> Vec<Ue> {
    let mut ues = Vec::new();
    KpmSource::ues(node, &mut ues);
    ues
}

/// The value of a measurement between two times.
fn measure(
    node: &mut Node,
    from: u64,
    to: u64,
    object: MeasuredObject<'_>,
    label: &MeasurementLabel,
    name: &str,
) -> f64 {
    KpmSource::advance(node, at(from));
    let mut snapshot = CounterSnapshot::default();
    node.take_snapshot(&mut snapshot);
    KpmSource::advance(node, at(to));
    let measurement = KpmSource::measurements(node).iter().position(|measurement| measurement.name == name).unwrap();
    node.value(&snapshot, object, measurement, label).number().unwrap()
}

#[test]
fn quota_limits_the_prbs_of_a_slice() {
    let mut node = nodes(1, 32).remove(0);
    let slice = SNssai { sst: Sst([1]), sd: None };
    let label = MeasurementLabel { slice_id: Some(slice), ..MeasurementLabel::default() };
    let share = |node: &mut Node, from| measure(node, from, from + 10, MeasuredObject::Cell, &label, "RRU.PrbTotDl");
    let throughput =
        |node: &mut Node, from| measure(node, from, from + 10, MeasuredObject::Cell, &label, "DRB.UEThpDl");
    let (before, fast) = (share(&mut node, 0), throughput(&mut node, 10));
    assert!(before > 30.0, "{before} %");
    let network = PlmnIdentity::from_codes(1, 1, 2);
    let quota = |min, max| ControlAction::SlicePrbQuota(SlicePrbQuota::of_slice(network, slice, min, max));
    node.control(at(20), RIC, None, &quota(5, 20)).unwrap();
    let (after, slow) = (share(&mut node, 20), throughput(&mut node, 30));
    assert!(after <= 20.0 && slow < fast, "{after} % and {slow} kbit/s, {fast} before");
    // again, and by another controller
    node.control(at(40), RIC, None, &quota(5, 100)).unwrap();
    assert!(share(&mut node, 40) > 20.0);
    let refusal = node.control(at(50), Origin::Control(ControllerId(2)), None, &quota(0, 10)).unwrap_err();
    assert_eq!(refusal.reason, "policy belongs to controller 1");
    let elsewhere = SlicePrbQuota::of_slice(PlmnIdentity::from_codes(310, 410, 3), slice, 1, 2);
    assert!(node.control(at(50), RIC, None, &ControlAction::SlicePrbQuota(elsewhere)).is_err());
}

#[test]
fn handed_over_ue_keeps_its_id() {
    let mut nodes = nodes(2, 4);
    let (ue, ue_id) = (Ue(2), KpmSource::ue_id(&nodes[0], Ue(2)));
    for node in &mut nodes {
        let mut came = Vec::new();
        node.take_events(&mut came);
        assert!(came.iter().all(|(_, notification)| notification.event == rrc::Event::Attached) && came.len() == 4);
    }
    let to = |cell| ControlAction::Handover(Handover::to(cell));
    nodes[0].control(at(1), RIC, Some(ue), &to(cell_of(1))).unwrap();
    assert_eq!(ues(&nodes[0]), [Ue(0), Ue(1), Ue(3)]);
    KpmSource::advance(&mut nodes[0], at(2));
    KpmSource::advance(&mut nodes[1], at(2));
    assert_eq!(ues(&nodes[1]), [Ue(0), Ue(1), Ue(2), Ue(3), Ue(4)], "a new id in its new cell");
    assert_eq!(KpmSource::ue_id(&nodes[1], Ue(4)), ue_id);
    let came = rrc::Event::HandedOver(cell_of(0));
    for (node, ue, event) in [(0, Ue(2), rrc::Event::Detached), (1, Ue(4), came)] {
        assert!(nodes[node].has_events());
        let mut notifications = Vec::new();
        nodes[node].take_events(&mut notifications);
        let [(of, notification)] = &notifications[..] else { panic!("{notifications:?}") };
        assert_eq!(
            (*of, notification.event, notification.cell, &notification.ue_id),
            (ue, event, cell_of(node as u16), &ue_id)
        );
    }
    let label = MeasurementLabel::NO_LABEL;
    let blocks = measure(&mut nodes[0], 3, 20, MeasuredObject::Ues(&[ue]), &label, "RRU.PrbUsedDl");
    assert_eq!(blocks, 0.0, "no counts after the UE has left");

    let nowhere =
        Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(1, 36) });
    for (ue, cell, why) in [
        (Ue(2), cell_of(1), "the UE is not in the source cell"),
        (Ue(1), cell_of(0), "the UE is already in the target cell"),
        (Ue(1), nowhere, "the target cell does not exist in this RAN"),
    ] {
        assert_eq!(nodes[0].control(at(20), RIC, Some(ue), &to(cell)).unwrap_err().reason, why);
    }
    let mut with_sessions = Handover::to(cell_of(1));
    with_sessions.other = Handover::to(cell_of(1)).to_parameters();
    let refused = nodes[0].control(at(20), RIC, Some(Ue(1)), &ControlAction::Handover(with_sessions));
    assert!(refused.is_err() && ues(&nodes[0]).len() == 3);
}

#[test]
fn changed_bearer_is_kept_in_handover() {
    let mut nodes = nodes(2, 4);
    let qfi = nodes[0].five_qis(Ue(2))[0].0;
    let flows = vec![MappedFlow { qfi, direction: None }];
    let mapping = QosFlowMapping { drb_id: 7, flows };
    nodes[0].control(at(1), RIC, Some(Ue(2)), &ControlAction::QosFlowMapping(mapping)).unwrap();
    let qos = |five_qi| DrbQos { drb_id: 7, five_qi: Some(five_qi), ..DrbQos::default() };
    nodes[0].control(at(1), RIC, Some(Ue(2)), &ControlAction::DrbQos(qos(5))).unwrap();
    let handover = ControlAction::Handover(Handover::to(cell_of(1)));
    nodes[0].control(at(1), RIC, Some(Ue(2)), &handover).unwrap();
    KpmSource::advance(&mut nodes[1], at(2));
    assert_eq!(nodes[1].five_qis(Ue(4)), [FiveQi(5)]);
    nodes[1].control(at(2), RIC, Some(Ue(4)), &ControlAction::DrbQos(qos(4))).unwrap();
    assert_eq!(nodes[1].five_qis(Ue(4)), [FiveQi(4)]);
}

#[test]
fn drx_delays_packets_and_dedicated_bearer_has_priority() {
    let label = MeasurementLabel::NO_LABEL;
    let mut scenario = Scenario::with_mixed_traffic(1, 32, 1);
    // always awake, until a control sets longer cycles
    let of_cell = DrxConfig {
        long_cycle_ms: 10,
        on_duration_ms: 10,
        inactivity_ms: 5,
        start_offset_ms: Some(7),
        ..DrxConfig::default()
    };
    scenario.cells[0].radio.drx = Some(of_cell);
    let mut node = started(&RanConfig { scenario, ..RanConfig::default() }).remove(0);
    // UEs whose flows do not fill the cell
    let all: Vec<Ue> = ues(&node).into_iter().filter(|ue| node.five_qis(*ue)[0].0 == 3).collect();
    let delay =
        |node: &mut Node, from| measure(node, from, from + 10, MeasuredObject::Ues(&all), &label, "DRB.RlcSduDelayDl");
    let before = delay(&mut node, 0);
    for ue in &all {
        node.control(at(10), RIC, Some(*ue), &ControlAction::Drx(Drx::long(640))).unwrap();
    }
    let with_drx = delay(&mut node, 10);
    assert!(with_drx > 2.0 * before, "{with_drx} after {before}");
    for ue in &all {
        node.control(at(20), RIC, Some(*ue), &ControlAction::Drx(Drx::long(40))).unwrap();
    }
    assert!(delay(&mut node, 20) < 0.5 * with_drx, "a shorter cycle delays less");

    let short = Drx { short_cycle: Some(1), short_cycle_timer: None, ..Drx::long(320) };
    let timer = Drx { short_cycle_timer: Some(4), ..Drx::long(320) };
    let none = Drx { long_cycle: 20, ..Drx::long(320) };
    let beyond = Drx { short_cycle: Some(23), short_cycle_timer: Some(4), ..Drx::long(320) };
    let no_multiple = Drx { short_cycle: Some(1), short_cycle_timer: Some(4), ..Drx::long(320) };
    for (drx, why) in [
        (short, "a short DRX cycle requires the short DRX cycle timer"),
        (timer, "a short DRX cycle timer requires the short DRX cycle"),
        (none, "invalid long DRX cycle"),
        (beyond, "invalid short DRX cycle"),
        (no_multiple, "the long cycle of 320 ms is not a multiple of the short one of 3 ms"),
    ] {
        assert_eq!(node.control(at(30), RIC, Some(all[0]), &ControlAction::Drx(drx)).unwrap_err().reason, why);
    }

    let drx_of = |node: &Node| node.cell().ue(all[0].0 as usize).map(|ue| ue.drx().copied());
    let before = drx_of(&node);
    let short = Drx { short_cycle: Some(7), short_cycle_timer: Some(4), ..Drx::long(320) };
    node.control(at(30), RIC, Some(all[0]), &ControlAction::Drx(short)).unwrap();
    let short = Some(ShortCycle { cycle_ms: 10, cycles: 4 });
    let expected = DrxConfig { long_cycle_ms: 320, short, ..of_cell };
    assert_ne!(before, drx_of(&node));
    assert_eq!(drx_of(&node), Some(Some(expected)), "cycles are set, timers stay");

    // the same RAN without and with a dedicated bearer
    let run = |drb_id| {
        let mut node = nodes(1, 64).remove(0);
        let busy = |ue: &&Ue| node.five_qis(**ue)[0].0 == 6;
        let ue = *ues(&node).iter().find(busy).unwrap();
        let flows = vec![MappedFlow { qfi: 6, direction: None }];
        let mapping = ControlAction::QosFlowMapping(QosFlowMapping { drb_id, flows });
        node.control(at(0), RIC, Some(ue), &mapping).unwrap();
        let wrong = QosFlowMapping { drb_id, flows: vec![MappedFlow { qfi: 7, direction: None }] };
        assert!(node.control(at(0), RIC, Some(ue), &ControlAction::QosFlowMapping(wrong)).is_err());
        let one_way = vec![MappedFlow { qfi: 6, direction: Some(FlowDirection::Downlink) }];
        let one_way = ControlAction::QosFlowMapping(QosFlowMapping { drb_id, flows: one_way });
        let refused = node.control(at(0), RIC, Some(ue), &one_way).unwrap_err();
        assert_eq!(
            refused.reason,
            "mapping of one direction is not supported: a flow uses one bearer in both directions"
        );
        measure(&mut node, 0, 30, MeasuredObject::Ues(&[ue]), &label, "DRB.UEThpDl")
    };
    let (default, first) = (run(1), run(2));
    assert!(first > 1.2 * default, "{first} kbit/s, {default} over the default bearer");
}

#[test]
fn priority_level_changes_throughput() {
    let run = |qos: Option<DrbQos>| {
        let mut node = nodes(1, 64).remove(0);
        let busy = |ue: &&Ue| node.five_qis(**ue)[0].0 == 6;
        let ue = *ues(&node).iter().find(busy).unwrap();
        if let Some(qos) = qos {
            node.control(at(0), RIC, Some(ue), &ControlAction::DrbQos(qos)).unwrap();
        }
        measure(&mut node, 0, 10, MeasuredObject::Ues(&[ue]), &MeasurementLabel::NO_LABEL, "DRB.UEThpDl")
    };
    let five_qi = |five_qi| DrbQos { drb_id: 1, five_qi: Some(five_qi), ..DrbQos::default() };
    let (first, default, last) = (run(Some(DrbQos::priority(1, 10))), run(None), run(Some(DrbQos::priority(1, 127))));
    assert!(first > 1.2 * default && last < default, "{first}, {default} and {last} kbit/s");
    assert!(run(Some(five_qi(5))) > 1.2 * default, "a 5QI implies a level");
    assert_eq!(run(Some(five_qi(6))), default);

    let mut node = nodes(1, 32).remove(0);
    let mut set = |qos| node.control(at(1), RIC, Some(Ue(0)), &ControlAction::DrbQos(qos));
    set(five_qi(3)).unwrap();
    for (qos, why) in [
        (DrbQos::priority(2, 10), "unknown DRB: the UE has DRB 1 only"),
        (five_qi(82), "unsupported 5QI: use 1 to 9"),
        (
            DrbQos { packet_delay_budget: Some(9), ..five_qi(9) },
            "only 5QI and priority level of a bearer can be changed",
        ),
    ] {
        assert_eq!(set(qos).unwrap_err().reason, why);
    }
    assert_eq!(
        node.ue_parameter(Ue(0), FIVE_QI),
        Some(RanParameterValue::ValueInt(3)),
        "refused changes have no effect"
    );
}

#[test]
fn configured_handovers_wait_for_a_decision() {
    let config = |cells| RanConfig {
        scenario: testing::mixed_traffic(cells, 3),
        handovers_per_minute: 60,
        ..RanConfig::default()
    };
    let mut nodes = started(&config(2));
    let mut events = Vec::new();
    for tenth in 1..=30 {
        let now = START + Duration::from_millis(100 * tenth);
        assert!(nodes[0].next_event_time().is_some_and(|at| at <= now), "the node must be read");
        events.extend(std::iter::from_fn(|| nodes[0].next_event(now)));
    }
    let procedures: Vec<_> = events
        .iter()
        .map(|event| match event {
            Event::Breakpoint { procedure, ue, wants, .. } => {
                assert_eq!(*wants, ControlAction::Handover(Handover::to(cell_of(1))));
                (*procedure, *ue)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(procedures.len(), 3, "one per second, each of another UE");
    assert_eq!(ues(&nodes[0]).len(), 3, "they wait for a decision");
    nodes[0].resume(at(4), procedures[0].0, Verdict::Continue);
    nodes[0].resume(at(4), procedures[1].0, Verdict::Cancel);
    nodes[0].resume(at(4), procedures[0].0, Verdict::Continue);
    KpmSource::advance(&mut nodes[0], at(5));
    KpmSource::advance(&mut nodes[1], at(5));
    assert_eq!((ues(&nodes[0]).len(), ues(&nodes[1]).len()), (2, 4));
    assert!(!ues(&nodes[0]).contains(&procedures[0].1));
    let alone = testing::nodes(&config(1)).remove(0);
    assert_eq!(alone.next_event_time(), None, "no other cell");
}

#[test]
fn cell_change_is_reported() {
    use e2sm::ccc::{NrCellDu, RanConfigurationStructure};
    use e2sm::rc::dictionary::node_change::CELL_CONFIGURATION;
    use ran_functions::ccc::{CccSource, ConfigScope};

    let mut node = nodes(2, 32).remove(0);
    let cell = cell_of(0);
    let set = |node: &mut Node, pci| {
        let wanted = RanConfigurationStructure::NrCellDu(NrCellDu { nr_pci: Some(pci), ..NrCellDu::default() });
        node.write(at(1), ControllerId(1), ConfigScope::Cell(cell), None, &wanted).unwrap();
    };
    set(&mut node, 7);
    assert_eq!(node.next_event(at(1)), None, "not subscribed");
    node.set_events_enabled(true);
    set(&mut node, 7);
    assert_eq!(node.next_event(at(1)), None, "no change");
    set(&mut node, 8);
    assert_eq!(node.next_event(at(1)), Some(Event::CellChanged { cell, change: CELL_CONFIGURATION }));
    assert_eq!(node.neighbor_relations(&cell).unwrap().serving_cell_pci, ServingCellPci::Nr(NrPci(8)));
}

#[test]
fn offered_ue_parameters_have_values() {
    let mut node = nodes(1, 64).remove(0);
    KpmSource::advance(&mut node, at(10));
    for offer in node.ue_parameters() {
        assert!(ues(&node).iter().all(|ue| node.ue_parameter(*ue, offer.id).is_some()), "{}", offer.name);
    }
    let waits = |ue: &&Ue| node.ue_parameter(**ue, DL_BUFFER_OCCUPANCY) != Some(RanParameterValue::ValueInt(0));
    assert!(ues(&node).iter().any(|ue| waits(&ue)), "a busy cell");
    assert_eq!(node.ue_parameter(Ue(64), CQI), None);
}

#[test]
fn rrc_states_are_reported() {
    let mut node = nodes(1, 32).remove(0);
    KpmSource::advance(&mut node, at(30));
    assert_eq!((node.next_event(at(30)), node.next_event_time()), (None, None), "not subscribed");
    node.set_events_enabled(true);
    let count_inactive =
        |node: &Node| ues(node).iter().filter(|ue| node.rrc_state(**ue) == Some(RrcState::RrcInactive)).count();
    let before = count_inactive(&node);
    assert!(before > 0, "inactive before the subscription");
    let mut all = Vec::new();
    for tenth in 0..300 {
        let now = at(30) + Duration::from_millis(100 * tenth);
        all.extend(std::iter::from_fn(|| node.next_event(now)));
    }
    let (events, messages): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|event| !matches!(event, Event::NiMessage { .. }));
    assert_eq!(events.len(), messages.len(), "each change has a message to the AMF");
    let states = |wanted| {
        events.iter().filter(|event| matches!(event, Event::RrcState { state, .. } if *state == wanted)).count()
    };
    let (inactive, connected) = (states(RrcState::RrcInactive), states(RrcState::RrcConnected));
    assert!(inactive > 0 && connected > 0, "{inactive} and {connected}");
    let Event::RrcState { ue, .. } = &events[0] else { panic!("{:?}", events[0]) };
    assert!(node.rrc_state(*ue).is_some());
    assert_eq!(before + inactive - connected, count_inactive(&node));
}
