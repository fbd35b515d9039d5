//! FlatBuffers end to end: E2AP and all service models that have them, between the emulated RAN, a RIC and an xApp.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::flexric::EventTriggerDefinition;
use e2sm::rc::{
    Control, ControlAction, ControlOutcome, ControlOutcomeFormats, Detection, Drx, RanParameterValue, SlicePrbQuota,
};
use e2sm::{Arena, Wire, detect, gtp, mac, pdcp, rlc, slice, tc};
use ferric::Endpoint;
use ferric::e2;
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{Codec, RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use ran::{Ran, RanConfig, Scenario};
use ran_functions::PeriodicConfig;

const PATIENCE: Duration = Duration::from_secs(20);
const UES: usize = 4;
const MAC: u16 = 142;
const RLC: u16 = 143;
const PDCP: u16 = 144;
const SLICE: u16 = 145;
const TC: u16 = 146;
const GTP: u16 = 148;
const RC: RanFunctionId = RanFunctionId(3);

/// The content of an indication of FlexRIC's models, as far as it is the same in each run.
fn summary(function: u16, message: &[u8], arena: &Arena) -> String {
    let wire = Wire::Flat;
    match function {
        MAC => format!("{} UEs", mac::IndicationMessage::decode(message, wire, arena).unwrap().ues.len()),
        RLC => format!("{} bearers", rlc::IndicationMessage::decode(message, wire, arena).unwrap().bearers.len()),
        PDCP => format!("{} bearers", pdcp::IndicationMessage::decode(message, wire, arena).unwrap().bearers.len()),
        GTP => format!("{} tunnels", gtp::IndicationMessage::decode(message, wire, arena).unwrap().tunnels.len()),
        SLICE => format!("{} UEs", slice::IndicationMessage::decode(message, wire, arena).unwrap().ues.len()),
        TC => format!("pacer {:?}", tc::IndicationMessage::decode(message, wire, arena).unwrap().pacer.kind),
        other => panic!("function {other}"),
    }
}

/// The controls of the test, each with its outcome.
fn controls() -> Vec<(RanFunctionId, Vec<u8>, Vec<u8>, &'static str)> {
    let wire = Wire::Flat;
    let nothing_there = slice::DeleteSlices { dl: Default::default(), ul: Default::default() };
    let (mut slice_header, mut slice_message) = (Vec::new(), Vec::new());
    slice::ControlHeader::default().encode(wire, &mut slice_header).unwrap();
    slice::ControlMessage::Delete(nothing_there).encode(wire, &mut slice_message).unwrap();
    let (mut tc_header, mut tc_message) = (Vec::new(), Vec::new());
    tc::ControlHeader::default().encode(wire, &mut tc_header).unwrap();
    tc::ControlMessage::Pacer(tc::PacerControl::Modify(tc::PacerParameters::Off))
        .encode(wire, &mut tc_message)
        .unwrap();

    let network = PlmnIdentity::from_codes(1, 1, 2);
    let slice = SNssai { sst: Sst([1]), sd: None };
    let quota = ControlAction::SlicePrbQuota(SlicePrbQuota::of_slice(network, slice, 10, 60));
    let revision = RanConfig::default().rc_revision;
    let (quota_header, quota_message) = Control::of_cell(quota).encode_in(revision, wire).unwrap();
    // no UE has this id
    let drx = Control::of_cell(ControlAction::Drx(Drx::long(320)));
    let (drx_header, drx_message) = drx.encode_in(revision, wire).unwrap();
    vec![
        (RanFunctionId(SLICE), slice_header, slice_message, "done: "),
        (RanFunctionId(TC), tc_header, tc_message, "done: 0 "),
        (RC, quota_header, quota_message, "done: "),
        (RC, drx_header, drx_message, "refused: there is no such UE"),
    ]
}

/// The outcome of a control as text.
fn outcome(function: RanFunctionId, result: &e2::ControlOutcome, arena: &Arena) -> String {
    let (verdict, outcome) = match result {
        e2::ControlOutcome::Acknowledged(outcome) => ("done", outcome),
        e2::ControlOutcome::Failed { outcome, .. } => ("refused", outcome),
        other => panic!("{other:?}"),
    };
    let octets = outcome.as_deref().unwrap_or_default();
    let words = match function.0 {
        SLICE => slice::ControlOutcome::decode(octets, Wire::Flat, arena).unwrap().diagnostic.to_string(),
        TC => {
            let outcome = tc::ControlOutcome::decode(octets, Wire::Flat, arena).unwrap();
            format!("{} {}", outcome.code, outcome.diagnostic)
        }
        _ => {
            let revision = RanConfig::default().rc_revision;
            let outcome = ControlOutcome::decode_in(octets, revision, Wire::Flat, arena).unwrap();
            let ControlOutcomeFormats::Format1(format) = outcome.formats else { panic!("{outcome:?}") };
            let text = |value: &RanParameterValue<'_>| match value {
                RanParameterValue::ValuePrintableString(text) => text.to_string(),
                other => panic!("{other:?}"),
            };
            format.ran_p_list.iter().map(|item| text(&item.value)).collect()
        }
    };
    format!("{verdict}: {words}")
}

#[test]
fn models_with_flatbuffers_pass_end_to_end() {
    let e2 = Endpoint::new(Address::Memory("ran-flat-e2".to_owned()), Codec::FLAT);
    let xapp = Address::Memory("ran-flat-xapp".to_owned());
    let (sender, stops) = mpsc::channel();
    // both are created on the threads that run them
    let (ric_stop, e2_address, xapp_address) = (sender.clone(), e2.clone(), xapp.clone());
    let ric = thread::spawn(move || {
        let config = ServerConfig { e2: vec![e2_address], xapp: Some(xapp_address), ..ServerConfig::default() };
        let mut server = Server::bind(config).unwrap();
        ric_stop.send(server.stop_handle()).unwrap();
        server.run().unwrap();
    });
    let ric_stop = stops.recv().unwrap();
    let ran = thread::spawn(move || {
        let periodic = PeriodicConfig { wire: Wire::Flat, ..PeriodicConfig::default() };
        let config = RanConfig {
            rics: vec![e2],
            scenario: Scenario::with_mixed_traffic(1, UES as u16, 1),
            wire: Wire::Flat,
            periodic,
            ..RanConfig::default()
        };
        let mut ran = Ran::new(config).unwrap();
        sender.send(ran.stop_handle()).unwrap();
        ran.run().unwrap();
    });
    let ran_stop = stops.recv().unwrap();

    let mut xapp = Xapp::connect(&xapp, "flat", XappConfig::default()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let (mut tickets, mut functions, mut controls_sent) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut reports: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    let mut outcomes: Vec<(String, &str)> = Vec::new();
    let mut arena = Arena::new();
    while reports.len() < 6 || outcomes.len() < 4 {
        assert!(Instant::now() < deadline, "{reports:?} {outcomes:?}");
        xapp.poll(Some(Duration::from_millis(100)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                assert_eq!(node.encoding, "flat");
                let rc = node.functions.iter().find(|function| function.id == RC).unwrap();
                let detected = Detection::from_ran_function(&rc.oid, rc.revision.0, &rc.definition).unwrap();
                assert_eq!((detected.wire, detected.revision), (Wire::Flat, RanConfig::default().rc_revision));
                let mut event_trigger = Vec::new();
                EventTriggerDefinition { period_ms: 20 }.encode(Wire::Flat, &mut event_trigger).unwrap();
                for function in &node.functions {
                    let Some((number, Wire::Flat)) = detect(&function.oid) else { continue };
                    // the ping has another trigger, and its own test
                    if number == e2sm::hw::FUNCTION_ID {
                        continue;
                    }
                    let (id, kind) = (RicActionId(1), RicActionType::Report);
                    let actions = vec![Action { id, kind, definition: None, subsequent: None }];
                    let spec = SubscriptionSpec { event_trigger: event_trigger.clone(), actions };
                    tickets.insert(ric.subscribe(node.id, function.id, spec), number);
                }
                for (function, header, message, expected) in controls() {
                    controls_sent.insert(ric.control(node.id, function, &header, &message), (function, expected));
                }
            }
            XappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                functions.insert(subscription, tickets[&ticket]);
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error: failure }) => {
                panic!("function {}: {failure:?}", tickets[&ticket])
            }
            XappEvent::Indication(indication) => {
                assert_eq!(indication.codec, Some(Codec::FLAT));
                arena.reset();
                let function = functions[&indication.subscription];
                let message = summary(function, indication.peek().unwrap().message, &arena);
                reports.entry(function).or_default().insert(message);
            }
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
                let (function, expected) = controls_sent.remove(&ticket).unwrap();
                arena.reset();
                outcomes.push((outcome(function, &result, &arena), expected));
            }
            _ => {}
        })
        .unwrap();
    }
    let ues = |what| BTreeSet::from([format!("{UES} {what}")]);
    for (function, expected) in
        [(MAC, ues("UEs")), (RLC, ues("bearers")), (PDCP, ues("bearers")), (GTP, ues("tunnels"))]
    {
        assert_eq!(reports[&function], expected, "function {function}");
    }
    assert_eq!(reports[&SLICE], BTreeSet::from(["0 UEs".to_owned()]), "no UE is in a slice");
    assert_eq!(reports[&TC], BTreeSet::from(["pacer Off".to_owned()]));
    for (outcome, expected) in outcomes {
        assert_eq!(outcome, expected);
    }
    for (stop, thread) in [(ran_stop, ran), (ric_stop, ric)] {
        stop.stop();
        thread.join().unwrap();
    }
}
