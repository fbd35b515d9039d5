//! Recorded messages of FlexRIC's RIC to its emulated gNB, sent to ours.
//!
//! The recording cannot be distributed with ferric: without a checkout beside the project, these tests print a note and pass.

use std::path::Path;

use e2sm::rc::{ControlHeader, ControlHeaderFormats};

use super::*;

/// What FlexRIC's programs sent to each other.
struct Recorded(String);

impl Recorded {
    fn read() -> Option<Recorded> {
        let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let file = |dir: &Path| Some(dir.parent()?.join("shared/vectors/flexric-e2ap-v2.json"));
        let Some(path) = above.find_map(|dir| file(dir).filter(|path| path.is_file())) else {
            println!("not tested here: FlexRIC's recorded messages (no shared/vectors beside the project)");
            return None;
        };
        Some(Recorded(std::fs::read_to_string(path).unwrap()))
    }

    /// The initiating messages of a procedure that the RIC sent to a function.
    fn requests(&self, procedure: &str, function: u16) -> Vec<Pdu<'static>> {
        let kind = |kind: &&str| {
            kind.contains(&format!("\"procedure\": \"{procedure}\""))
                && kind.contains(&format!("\"ran_function_id\": {function},"))
                && kind.starts_with("initiatingMessage")
        };
        let kinds = self.0.split("\"pdu\": \"").filter(kind);
        let samples =
            kinds.flat_map(|kind| kind.split("\"sender\": \"").filter(|sample| sample.starts_with("nearRT-RIC\"")));
        let octets =
            samples.map(|sample| unhex(sample.split("\"hex\": \"").nth(1).unwrap().split('"').next().unwrap()));
        octets.map(|octets| decoded(&octets)).collect()
    }
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn decoded(octets: &[u8]) -> Pdu<'static> {
    let gather = Gather::new();
    e2ap::decode(octets, Version::V2_03, &gather).unwrap().pdu.into_owned()
}

fn node() -> Driven {
    Driven::new(&config("flexric"), NodeType::Gnb)
}

/// Sends the recorded subscription to a function.
fn subscribe(node: &mut Driven, request: &Pdu<'_>) {
    let Pdu::RicSubscriptionRequest(request) = request else { panic!("{request:?}") };
    let trigger = request.details.event_trigger_definition.to_cow().into_owned();
    let actions = request.details.actions.iter().map(|action| {
        report_action(action.id.0, action.definition.as_ref().map(|definition| definition.to_cow().into_owned()))
    });
    let actions = actions.collect();
    node.subscribe(request.ran_function_id.0, trigger, actions).unwrap();
}

#[test]
fn statistics_and_slices_are_reported_to_flexric_ric() {
    let Some(recorded) = Recorded::read() else { return };
    for function in [142, 143, 144, 148, 145] {
        let mut node = node();
        let requests = recorded.requests("RICsubscription", function);
        assert!(!requests.is_empty(), "{function}");
        subscribe(&mut node, &requests[0]);
        assert!(node.report(function).is_some(), "{function}");
    }
}

#[test]
fn control_of_kpm_rc_xapp_is_acknowledged() {
    let Some(recorded) = Recorded::read() else { return };
    let controls = recorded.requests("RICcontrol", 3);
    assert!(!controls.is_empty());
    for control in controls {
        let Pdu::RicControlRequest(control) = control else { panic!("{control:?}") };
        let mut node = node();
        // the xApp has the UE ID from a report of the node
        let arena = Arena::new();
        let header = control.header.to_cow();
        let mut header = ControlHeader::decode(&header, rc::Revision::V1_03, &arena).unwrap();
        let ControlHeaderFormats::Format1(format) = &mut header.formats else { panic!("format 1") };
        format.ue_id = node.ue_ids().remove(0);
        let mut octets = Vec::new();
        header.encode(rc::Revision::V1_03, &mut octets).unwrap();
        node.control(3, octets, control.message.to_cow().into_owned()).unwrap();
    }
}

#[test]
fn slices_of_flexric_slice_xapp_are_added_and_deleted() {
    let Some(recorded) = Recorded::read() else { return };
    let mut node = node();
    node.ue_ids();
    let controls = recorded.requests("RICcontrol", 145);
    assert_eq!(controls.len(), 3);
    for (at, control) in controls.into_iter().enumerate() {
        let Pdu::RicControlRequest(control) = control else { panic!("{control:?}") };
        let (header, message) = (control.header.to_cow().into_owned(), control.message.to_cow().into_owned());
        let answer = node.control(145, header, message);
        println!("{at}: {answer:?}");
        // the third assigns the recorded emulator's UE to a slice
        assert!(answer.is_ok() || at == 2, "{at}: {answer:?}");
    }
}

#[test]
fn control_of_mac_is_acknowledged_without_effect() {
    let Some(recorded) = Recorded::read() else { return };
    let controls = recorded.requests("RICcontrol", 142);
    let Some(Pdu::RicControlRequest(control)) = controls.first() else { panic!("{controls:?}") };
    let (header, message) = (control.header.to_cow().into_owned(), control.message.to_cow().into_owned());
    assert_eq!(node().control(142, header.clone(), message.clone()), Ok(None));
    let mut full = Driven::new(&config("full"), NodeType::Gnb);
    assert!(full.control(142, header, message).is_err());
}

#[test]
fn subscriptions_of_kpm_monitors_are_admitted() {
    let Some(recorded) = Recorded::read() else { return };
    for kpm_revision in [kpm::Revision::V2_03, kpm::Revision::V3_00] {
        for request in recorded.requests("RICsubscription", 2) {
            // the long ones request the random names of the recorded emulator
            let Pdu::RicSubscriptionRequest(subscription) = &request else { panic!("{request:?}") };
            let definition = subscription.details.actions.iter().next().unwrap().definition.as_ref().unwrap().to_cow();
            if definition.len() > 1000 {
                continue;
            }
            let mut config = RanConfig { kpm_revision, ..config("flexric") };
            config.scenario.ues.iter_mut().for_each(|ue| ue.subscription.sst = 1);
            let mut node = Driven::new(&config, NodeType::Gnb);
            subscribe(&mut node, &request);
            assert!(node.report(2).is_some());
        }
    }
}
