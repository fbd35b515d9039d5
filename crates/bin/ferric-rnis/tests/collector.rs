//! The collector on E2 with a RIC and an emulated RAN.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferric::link::Address;
use ferric::xapp::{Reconnect, Ric, UeReference, XappConfig};
use ran::scenario::{SessionChange, TimelineChange, TimelineEntry};
use ran::{RanConfig, Scenario};
use rnis::collector::e2::{E2Collector, E2Config};
use rnis::{AssociateIdType, BearerEvent, Cell, Change, Directory, Entry, Event, HandoverStatus, Output, State};
use system_tests::{PATIENCE, RicAndRan, TestRan, TestRic};

/// What the collector has written.
#[derive(Default)]
struct Recorder {
    events: Mutex<Vec<Event>>,
    state: Mutex<State>,
}

impl Output for Recorder {
    fn publish(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn update(&self, change: &mut dyn FnMut(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }
}

impl Recorder {
    fn events(&self, is: impl Fn(&Change) -> bool) -> Vec<Event> {
        self.events.lock().unwrap().iter().filter(|event| is(&event.change)).cloned().collect()
    }

    fn has(&self, is: impl Fn(&Change) -> bool) -> bool {
        self.events.lock().unwrap().iter().any(|event| is(&event.change))
    }

    fn state<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock().unwrap())
    }
}

/// Why UEs report (MEC 012 6.5.11 and 6.5.12): events A4 and B1, which has another number for UEs of NR.
const A4: u8 = 13;
const B1: u8 = 20;
const NR_B1: u8 = 30;
/// The identity of the cell that is locked.
const LOCKED_CELL: &str = "00380c001";

fn connect(ric: &Address, directory: Directory) -> E2Collector {
    connect_with(ric, directory, &[(1, 1)])
}

fn connect_with(ric: &Address, directory: Directory, triggers: &[(u8, u8)]) -> E2Collector {
    let reconnect = Reconnect { first: Duration::from_millis(50), last: Duration::from_millis(200) };
    let session = XappConfig { reconnect: Some(reconnect), ..XappConfig::default() };
    let config = E2Config { session, period_ms: 100, triggers: triggers.iter().copied().collect() };
    E2Collector::connect(ric, config, Arc::new(directory)).unwrap()
}

fn poll_until(what: &str, collector: &mut E2Collector, recorder: &Recorder, mut is_done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < deadline, "{what}");
        collector.poll(Some(Duration::from_millis(20)), recorder).unwrap();
    }
}

/// Cells next to each other, whose UEs report measurements and are handed over. A UE arrives later.
fn scenario(cells: u16) -> RanConfig {
    let mut scenario = Scenario::with_mixed_traffic(cells, 3, 1);
    scenario.measurement.report_interval = Some(Duration::from_millis(240));
    scenario.ues[0].arrives = radio::Time::from_millis(3000);
    for flow in &mut scenario.ues[0].flows {
        let start = &mut flow.specification.start;
        *start = (*start).max(radio::Time::from_millis(3000));
    }
    RanConfig { scenario, handovers_per_minute: 60, ..RanConfig::default() }
}

/// Whether a change is of a kind.
type Is = dyn Fn(&Change) -> bool;

/// Three NR cells, one that is locked, and two LTE cells next to each other. UEs arrive, are handed over, and have their sessions
/// modified and released, again and again.
fn eventful_scenario() -> RanConfig {
    const LOCKED: usize = 3;
    let ms = radio::Time::from_millis;
    let mut scenario = Scenario::with_mixed_traffic(6, 3, 1);
    scenario.cells[LOCKED].is_locked = true;
    for cell in &mut scenario.cells[LOCKED + 1..] {
        cell.radio.carrier = radio::phy::Carrier::lte();
    }
    let event = |condition| radio::MeasurementEvent {
        condition,
        hysteresis_db: 0.0,
        time_to_trigger: Duration::from_millis(160),
    };
    scenario.measurement.events = vec![
        event(radio::EventCondition::A4 { threshold_dbm: -150.0 }),
        event(radio::EventCondition::B1 { threshold_dbm: -150.0 }),
    ];
    // every neighbour is prepared, none is ever good enough
    scenario.handover.a3_offset_db = Some(30.0);
    scenario.handover.conditional = Some(radio::ConditionalConfig { preparation_margin_db: 100.0, a5: None });
    scenario.handover.link.is_enabled = false;
    for (number, ue) in (0..9).zip(&mut scenario.ues) {
        ue.arrives = ms(3000 + 1500 * number);
        for flow in &mut ue.flows {
            flow.specification.start = flow.specification.start.max(ue.arrives);
        }
    }
    scenario.ues[9..12].iter_mut().for_each(|ue| ue.cell = 0);
    let at = |ms_after: u64, change| TimelineEntry { at: ms(3000 + ms_after), change };
    let session = |ue, change| TimelineChange::Session { ue, change };
    let sessions = (0..9).flat_map(|ue| {
        let modified = at(1500 * ue + 1000, session(ue, SessionChange::FiveQi(2)));
        [modified, at(1500 * ue + 2000, session(ue, SessionChange::Release))]
    });
    let handovers = (0..60).flat_map(|turn| {
        let to_next = TimelineChange::HandOver { ue: 9, to: (turn as usize + 1) % LOCKED };
        let to_locked = TimelineChange::HandOver { ue: 10, to: LOCKED };
        [at(500 * turn, to_next), at(500 * turn, to_locked)]
    });
    scenario.timeline = sessions.chain(handovers).collect();
    scenario.timeline.sort_by_key(|entry| entry.at);
    RanConfig { scenario, rc_revision: "v01.03".parse().unwrap(), ..RanConfig::default() }
}

#[test]
fn every_event_of_the_ran_reaches_the_applications() {
    let running = RicAndRan::start(Vec::new(), eventful_scenario());
    let mut collector = connect_with(&running.ric.xapp, Directory::default(), &[(1, A4), (2, B1)]);
    let recorder = Recorder::default();
    let has_status =
        |wanted| recorder.has(|change| matches!(change, Change::CellChange { status, .. } if *status == wanted));
    let wanted: [(&str, &Is); 8] = [
        ("bearer established", &|change| matches!(change, Change::BearerEstablished(_))),
        (
            "bearer modified",
            &|change| matches!(change, Change::BearerModified(bearer) if bearer.qos.is_some_and(|qos| qos.qci == 2)),
        ),
        ("bearer released", &|change| matches!(change, Change::BearerReleased(_))),
        ("S1 bearer released", &|change| matches!(change, Change::S1Bearer { event: BearerEvent::Released, .. })),
        ("timing advance", &|change| matches!(change, Change::TimingAdvance { .. })),
        (
            "report of NR with E-UTRA neighbours",
            &|change| matches!(change, Change::NrMeasured { trigger: NR_B1, eutra_neighbours, .. } if !eutra_neighbours.is_empty()),
        ),
        (
            "report of E-UTRA",
            &|change| matches!(change, Change::Measured { trigger: A4, neighbours, .. } if !neighbours.is_empty()),
        ),
        (
            "report of E-UTRA with NR neighbours",
            &|change| matches!(change, Change::Measured { trigger: B1, nr_neighbours, .. } if !nr_neighbours.is_empty()),
        ),
    ];
    for (what, is) in wanted {
        poll_until(what, &mut collector, &recorder, || recorder.has(is));
    }
    for status in [
        HandoverStatus::InPreparation,
        HandoverStatus::InExecution,
        HandoverStatus::Completed,
        HandoverStatus::Rejected,
        HandoverStatus::Cancelled,
    ] {
        poll_until(&format!("{status:?}"), &mut collector, &recorder, || has_status(status));
    }
    for event in recorder.events(|change| matches!(change, Change::CellChange { .. })) {
        let Change::CellChange { targets, status } = &event.change else { unreachable!() };
        assert!(!targets.contains(&event.cell), "{event:?}");
        let is_locked = targets[0].digits() == LOCKED_CELL;
        let answers_no = matches!(status, HandoverStatus::Rejected);
        assert!(!is_locked || answers_no || *status == HandoverStatus::InPreparation, "{event:?}");
        assert!(event.ue.temporary.is_some(), "{event:?}");
    }
    poll_until("a handover from its preparation to its completion", &mut collector, &recorder, || {
        let steps = recorder.events(|change| matches!(change, Change::CellChange { .. }));
        let step = |event: &Event| match &event.change {
            Change::CellChange { targets, status } => (targets.clone(), *status),
            other => panic!("{other:?}"),
        };
        let executed = (0..steps.len()).filter(|at| step(&steps[*at]).1 == HandoverStatus::InExecution);
        executed.into_iter().any(|at| {
            let (targets, _) = step(&steps[at]);
            let is = |event: &Event, status| {
                let of_same = event.ue.temporary == steps[at].ue.temporary && event.cell == steps[at].cell;
                of_same && step(event) == (targets.clone(), status)
            };
            steps[..at].iter().any(|event| is(event, HandoverStatus::InPreparation))
                && steps[at..].iter().any(|event| is(event, HandoverStatus::Completed))
        })
    });
}

fn digits(cells: impl IntoIterator<Item = Cell>) -> BTreeSet<String> {
    cells.into_iter().map(|cell| cell.digits()).collect()
}

#[test]
fn reports_of_the_ran_become_events_and_state() {
    let running = RicAndRan::start(Vec::new(), scenario(2));
    let directory = Directory::default();
    let temporary = Some(rnis::TempUeId { mmec: "01".into(), mtmsi: "cafe".into() });
    let names = vec![format!("amf:{}", 0xe00 << 16)];
    directory.put(Entry { names, nated: vec![[198, 51, 100, 7].into()], temporary, ..Entry::default() }).unwrap();
    let mut collector = connect(&running.ric.xapp, directory);
    let recorder = Recorder::default();
    poll_until("all events", &mut collector, &recorder, || {
        recorder.has(|change| matches!(change, Change::CellChange { status: HandoverStatus::Completed, .. }))
            && recorder.has(|change| matches!(change, Change::NrMeasured { neighbours, .. } if !neighbours.is_empty()))
            && recorder.has(|change| matches!(change, Change::TimingAdvance { .. }))
            && recorder.has(|change| matches!(change, Change::BearerEstablished(_)))
            && recorder.has(|change| matches!(change, Change::S1Bearer { event: BearerEvent::Established, .. }))
    });
    let both: BTreeSet<String> = ["003800001", "003804001"].map(str::to_owned).into();

    // a UE that was there before the collector has its names from its first report on
    let changes = recorder.events(|change| matches!(change, Change::CellChange { .. }));
    let named: Vec<_> = changes.into_iter().skip_while(|event| event.ue.temporary.is_none()).collect();
    assert!(!named.is_empty());
    for Event { cell, ue, change, .. } in named {
        let Change::CellChange { targets, .. } = change else { unreachable!() };
        assert_eq!(digits(targets.into_iter().chain([cell])), both, "from one cell to the other");
        let address = ue.associate_ids.iter().find(|id| id.kind == AssociateIdType::UeIpv4);
        assert!(address.is_some_and(|id| id.value.starts_with("10.")), "{ue:?}");
        assert!(ue.temporary.is_some());
    }

    // what the UE reports is what the base station measures by KPM, as the value of TS 38.133
    let ric = Ric::options().address(running.ric.xapp.to_string()).name("test").connect().unwrap();
    let mut stream = ric.kpm(["RSRP"]).every(100).unwrap();
    let mut compared = 0;
    while compared < 5 {
        let record = stream.next_within(PATIENCE).unwrap().unwrap();
        collector.poll(Some(Duration::ZERO), &recorder).unwrap();
        let (Some(UeReference::Amf(id)), Some(rsrp_dbm)) = (&record.ue, record.number("RSRP")) else { continue };
        let Some(known) = recorder.state(|state| state.ues.get(&format!("amf:{id}")).cloned()) else { continue };
        let reports = recorder.events(|change| matches!(change, Change::NrMeasured { .. }));
        let last = reports.iter().rev().find(|event| event.ue.associate_ids == known.ids.associate_ids);
        let Some(Event { cell, change: Change::NrMeasured { trigger, serving, neighbours, .. }, .. }) = last else {
            continue;
        };
        assert_eq!((serving[0].cell, serving.len(), *trigger), (*cell, 1, 1));
        assert!(neighbours.iter().all(|neighbour| neighbour.cell != *cell));
        if known.cell != Some(*cell) {
            continue; // it was handed over meanwhile
        }
        let reported_dbm = f64::from(serving[0].quantities.rsrp.unwrap()) - 157.0;
        assert!((reported_dbm - rsrp_dbm).abs() < 12.0, "{reported_dbm} and {rsrp_dbm} dBm");
        compared += 1;
    }

    let advances = recorder.events(|change| matches!(change, Change::TimingAdvance { .. }));
    // cells are some hundred metres apart: a step is 78 m
    assert!(advances.iter().all(|event| matches!(event.change, Change::TimingAdvance { value: 0..=20 })));

    let established = recorder.events(|change| matches!(change, Change::BearerEstablished(_)));
    let Change::BearerEstablished(bearer) = established[0].change else { unreachable!() };
    assert_eq!(bearer.qos.map(|qos| qos.qci), Some(bearer.erab_id), "the flow of the model has its 5QI as identifier");
    let nated = established[0].ue.associate_ids.iter().find(|id| id.kind == AssociateIdType::NatedIp);
    assert_eq!(nated.map(|id| &*id.value), Some("198.51.100.7"), "of the directory");
    assert_eq!(established[0].ue.temporary.as_ref().map(|of| &*of.mtmsi), Some("cafe"));
    let tunnels = recorder.events(|change| {
        matches!(change, Change::S1Bearer { event: BearerEvent::Established, bearers } if !bearers[0].gateway.address.is_empty())
    });
    let Change::S1Bearer { bearers, .. } = &tunnels[0].change else { unreachable!() };
    assert_eq!((&*bearers[0].gateway.address, &*bearers[0].gateway.teid), ("198.19.0.1", "00000001"));
    let teid = tunnels[0].ue.associate_ids.iter().find(|id| id.kind == AssociateIdType::GtpTeid);
    assert!(teid.is_some());

    poll_until("the state", &mut collector, &recorder, || {
        recorder.state(|state| {
            let has_usage = |cell: &rnis::CellMeasurements| {
                cell.total_prb_percent.dl.is_some() && cell.gbr_prb_percent.dl.is_some() && cell.preambles[1].is_some()
            };
            let has_all = |ue: &rnis::UeState| {
                ue.measurements.non_gbr_volume_kbit.dl.is_some()
                    && ue.bearers.values().any(|bearer| bearer.tunnel.is_some())
            };
            state.cells.len() == 2
                && state.cells.values().all(has_usage)
                && state.ues.len() == 6
                && state.ues.values().all(has_all)
                && state.ues.values().any(|ue| ue.bearers.values().any(|bearer| bearer.qos.is_some()))
        })
    });
    assert_eq!(recorder.state(|state| digits(state.cells.keys().copied())), both);
    assert!(recorder.state(|state| state.ues.keys().all(|key| key.starts_with("amf:"))));
}

#[test]
fn losses_of_nodes_and_of_the_ric_are_survived() {
    let first = TestRic::start();
    let (e2, xapp) = (first.e2.clone(), first.xapp.clone());
    let mut ran = TestRan::start(&e2, scenario(2));
    let mut collector = connect(&xapp, Directory::default());
    let recorder = Recorder::default();
    let is_complete = || recorder.state(|state| state.ues.len() >= 5 && state.cells.len() == 2);
    poll_until("the state", &mut collector, &recorder, is_complete);
    ran.restart();
    poll_until("UEs of lost nodes are gone", &mut collector, &recorder, || {
        recorder.state(|state| state.ues.is_empty())
    });
    poll_until("the state after the restart of the RAN", &mut collector, &recorder, is_complete);
    drop(first);
    poll_until("UEs of a lost RIC are gone", &mut collector, &recorder, || {
        recorder.state(|state| state.ues.is_empty())
    });
    let _second = TestRic::with(|config| {
        config.server.e2 = vec![e2.into()];
        config.server.xapp = Some(xapp);
    });
    poll_until("the state after the restart of the RIC", &mut collector, &recorder, is_complete);
    recorder.events.lock().unwrap().clear();
    let is_measured = |change: &Change| matches!(change, Change::NrMeasured { .. });
    poll_until("measurement reports", &mut collector, &recorder, || recorder.has(is_measured));
}
