//! End to end: emulated nodes, a RIC and an xApp, each on its own thread, over memory links.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use e2sm::kpm::{
    Detection, EveryUe, IndicationMessage, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Row,
    Scope,
};
use e2sm::{Arena, Wire};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{Codec, RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};
use ferric::{Endpoint, StopHandle};
use ran::{Ran, RanConfig, Scenario};

/// The timeout of a failed test, more than ten times of what a test takes on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Running(Vec<(StopHandle, JoinHandle<()>)>);

impl Running {
    /// Starts a RIC and a RAN that connects to it. Returns the address for xApps.
    fn start(name: &str, config: RanConfig) -> (Running, Address) {
        Running::start_in(Codec::Per, name, config)
    }

    /// [`Running::start`] with a given encoding of E2AP.
    fn start_in(codec: Codec, name: &str, config: RanConfig) -> (Running, Address) {
        let e2 = Endpoint::new(Address::Memory(format!("{name}-e2")), codec);
        let xapp = Address::Memory(format!("{name}-xapp"));
        let (sender, stops) = mpsc::channel();
        // both are created on the threads that run them
        let (ric_stop, e2_address, xapp_address) = (sender.clone(), e2.clone(), xapp.clone());
        let ric = thread::spawn(move || {
            let config = ServerConfig { e2: vec![e2_address], xapp: Some(xapp_address), ..ServerConfig::default() };
            let mut server = Server::bind(config).unwrap();
            ric_stop.send(server.stop_handle()).unwrap();
            server.run().unwrap();
        });
        let ric = (stops.recv().unwrap(), ric);
        let ran = thread::spawn(move || {
            let mut ran = Ran::new(RanConfig { rics: vec![e2], ..config }).unwrap();
            sender.send(ran.stop_handle()).unwrap();
            ran.run().unwrap();
        });
        let ran = (stops.recv().unwrap(), ran);
        (Running(vec![ric, ran]), xapp)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (stop, thread) in self.0.drain(..) {
            stop.stop();
            thread.join().unwrap();
        }
    }
}

/// Subscribes to the KPM function of all nodes, and passes the rows to `done` until it returns true.
fn watch(
    xapp: &Address,
    revision: Revision,
    request: &ReportRequest<'_>,
    mut done: impl FnMut(u32, &mut dyn Iterator<Item = Row<'_>>) -> bool,
) {
    let mut xapp = Xapp::connect(xapp, "test", Default::default()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut finished = false;
    let (mut arena, mut wire) = (Arena::new(), Wire::Per);
    while !finished {
        assert!(Instant::now() < deadline, "timeout");
        xapp.poll(Some(Duration::from_millis(100)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let kpm = RanFunctionId(2);
                let function = node.functions.iter().find(|f| f.id == kpm).unwrap();
                let detected =
                    Detection::from_ran_function(&function.oid, function.revision.0, &function.definition).unwrap();
                wire = detected.wire;
                let arena = Arena::new();
                let offered = RanFunctionDefinition::decode_in(&function.definition, revision, wire, &arena).unwrap();
                let plan = request.plan(&offered, revision).unwrap();
                let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
                plan.trigger.encode_in(revision, wire, &mut event_trigger).unwrap();
                plan.action.encode_in(revision, wire, &mut definition).unwrap();
                let action = Action {
                    id: RicActionId(1),
                    kind: RicActionType::Report,
                    definition: Some(definition),
                    subsequent: None,
                };
                ric.subscribe(node.id, kpm, SubscriptionSpec { event_trigger, actions: vec![action] });
            }
            XappEvent::Indication(indication) => {
                arena.reset();
                let message = indication.peek().unwrap().message;
                let message = IndicationMessage::decode_in(message, revision, wire, &arena).unwrap();
                finished |= done(indication.node.0, &mut message.rows(None));
            }
            XappEvent::Request(RequestEvent::Subscribed { not_admitted, .. }) => assert_eq!(not_admitted, []),
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => panic!("{failure:?}"),
            _ => {}
        })
        .unwrap();
    }
}

#[test]
fn xapp_receives_measurements_of_every_ue() {
    let encodings = [Codec::Per, Codec::FLAT].into_iter().flat_map(|codec| [(codec, Wire::Per), (codec, Wire::Flat)]);
    for (revision, (codec, wire)) in Revision::FROM_V2.into_iter().zip(encodings) {
        let config = RanConfig {
            scenario: Scenario::with_mixed_traffic(1, 8, 1),
            kpm_revision: revision,
            wire,
            ..RanConfig::default()
        };
        let (_running, xapp) = Running::start_in(codec, &format!("ran-path-{revision}"), config);
        let measurements = [MeasurementRequest::named("DRB.UEThpDl"), MeasurementRequest::named("CQI")];
        let request = ReportRequest {
            measurements: &measurements,
            granularity_period_ms: 20,
            reporting_period_ms: 40,
            scope: Scope::EveryUe(EveryUe::AnySignal),
        };
        watch(&xapp, revision, &request, |_, rows| {
            let rows: Option<Vec<_>> =
                rows.map(|row| Some((row.ue.unwrap().clone(), row.record, row.value.number()?))).collect();
            // a busy machine may skip a record, which then has no values
            let Some(rows) = rows else { return false };
            assert_eq!(rows.len(), 8 * 2 * 2, "UEs, records, measurements");
            assert!(rows.chunks(2).all(|pair| pair[0].2 >= 0.0 && (0.0..=15.0).contains(&pair[1].2)));
            true
        });
    }
}

#[test]
fn many_nodes_report_measurements() {
    let config = RanConfig { scenario: Scenario::with_mixed_traffic(50, 4, 1), ..RanConfig::default() };
    let (_running, xapp) = Running::start("ran-many", config);
    let measurements = [MeasurementRequest::named("RRU.PrbTotDl"), MeasurementRequest::named("RRC.ConnMean")];
    let request = ReportRequest {
        measurements: &measurements,
        granularity_period_ms: 100,
        reporting_period_ms: 100,
        scope: Scope::Node,
    };
    let mut nodes = std::collections::BTreeSet::new();
    watch(&xapp, Revision::V3_00, &request, |node, rows| {
        let values: Option<Vec<_>> = rows.map(|row| row.value.number()).collect();
        // a busy machine may skip a record, which then has no values
        let Some(values) = values else { return false };
        assert!((0.0..=100.0).contains(&values[0]));
        assert_eq!(values[1], 4.0);
        nodes.insert(node);
        nodes.len() == 50
    });
}

/// The time of an always-on RAN advances without reads.
#[test]
fn always_on_ran_has_ues() {
    let config = RanConfig {
        scenario: Scenario { is_always_on: true, ..Scenario::with_mixed_traffic(1, 2, 1) },
        ..RanConfig::default()
    };
    let (_running, xapp) = Running::start("ran-always-on", config);
    let measurements = [MeasurementRequest::named("RRC.ConnMean")];
    let request = ReportRequest {
        measurements: &measurements,
        granularity_period_ms: 20,
        reporting_period_ms: 20,
        scope: Scope::Node,
    };
    watch(&xapp, Revision::V3_00, &request, |_, rows| {
        rows.map(|row| row.value.number()).any(|number| number == Some(2.0))
    });
}
