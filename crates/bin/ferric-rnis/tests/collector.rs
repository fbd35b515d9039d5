//! The collector on E2 with a RIC and an emulated RAN.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferric::link::Address;
use ferric::xapp::{Reconnect, Ric, UeReference, XappConfig};
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

fn connect(ric: &Address, directory: Directory) -> E2Collector {
    let reconnect = Reconnect { first: Duration::from_millis(50), last: Duration::from_millis(200) };
    let session = XappConfig { reconnect: Some(reconnect), ..XappConfig::default() };
    let config = E2Config { session, period_ms: 100, triggers: [(1, 1)].into() };
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
        recorder.has(|change| matches!(change, Change::CellChange { .. }))
            && recorder.has(|change| matches!(change, Change::NrMeasured { neighbours, .. } if !neighbours.is_empty()))
            && recorder.has(|change| matches!(change, Change::TimingAdvance { .. }))
            && recorder.has(|change| matches!(change, Change::BearerEstablished(_)))
            && recorder.has(|change| matches!(change, Change::S1Bearer { event: BearerEvent::Established, .. }))
    });
    let both: BTreeSet<String> = ["003800001", "003804001"].map(str::to_owned).into();

    for Event { cell, ue, change, .. } in recorder.events(|change| matches!(change, Change::CellChange { .. })) {
        let Change::CellChange { targets, status } = change else { unreachable!() };
        assert_eq!(status, HandoverStatus::Completed);
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
