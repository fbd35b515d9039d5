//! Recorded messages of FlexRIC: of its node to our controller, and of its RIC to our functions.
//!
//! The recording cannot be distributed with ferric: without a checkout beside the project, these tests print a note and pass.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use e2sm::slice::{Algorithm, SliceConfiguration};
use e2sm::{Arena, Wire, detect, flexric, gtp, mac, pdcp, rlc, slice};
use ferric::agent::{ControllerId, FunctionContext, FunctionTransport, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{
    Action, AgentMisuse, AssocId, Consumer, ControlOutcome, ControlRequest, Controller, ControllerConfig, Event,
    NodeId, RequestEvent, Routed, SubscriptionRequest, SubscriptionSpec, SubscriptionTimes, Ticket, Time,
};
use ferric::e2ap::{self, GlobalRicId, Pdu, RanFunctionId, RicActionId, RicActionType, RicRequestId, Version};
use per::Gather;
use ran_functions::PeriodicConfig;
use ran_functions::slice::{Capacity, Direction, SliceAssociation, SliceConfig, SliceFunction, SliceSource};
use ran_functions::statistics::{MacFunction, StatisticsSource};

const NODE: AssocId = AssocId(1);
const NOW: Time = Time::from_nanos(0);

/// What FlexRIC's programs sent to each other.
struct Recorded(serde_json::Value);

impl Recorded {
    fn read() -> Option<Recorded> {
        let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let file = |dir: &Path| Some(dir.parent()?.join("shared/vectors/flexric-e2ap-v2.json"));
        let Some(path) = above.find_map(|dir| file(dir).filter(|path| path.is_file())) else {
            println!("not tested here: FlexRIC's recorded messages (no shared/vectors beside the project)");
            return None;
        };
        Some(Recorded(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
    }

    /// The messages of one kind, of one function or of none.
    fn samples(&self, pdu: &str, procedure: &str, function: Option<u16>, sender: &str) -> Vec<Pdu<'static>> {
        let function = function.map(u64::from);
        let kinds = self.0["vectors"].as_array().unwrap().iter().filter(|kind| {
            kind["pdu"] == pdu && kind["procedure"] == procedure && kind["ran_function_id"].as_u64() == function
        });
        let samples = kinds.flat_map(|kind| kind["samples"].as_array().unwrap());
        samples.filter(|s| s["sender"] == sender).map(|s| decoded(&unhex(s["hex"].as_str().unwrap()))).collect()
    }
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn decoded(bytes: &[u8]) -> Pdu<'static> {
    let gather = Gather::new();
    let decoded = e2ap::decode(bytes, Version::V2_03, &gather).unwrap();
    decoded.pdu.into_owned()
}

fn report() -> Action {
    Action { id: RicActionId(0), kind: RicActionType::Report, definition: None, subsequent: None }
}

/// Our controller, and FlexRIC's emulated base station as its recorded messages.
struct Bench {
    recorded: Recorded,
    controller: Controller,
    node: NodeId,
}

impl Bench {
    fn new() -> Option<Bench> {
        let recorded = Recorded::read()?;
        let controller = Controller::new(ControllerConfig::default());
        let mut bench = Bench { recorded, controller, node: NodeId(0) };
        bench.controller.handle_open(NOW, NODE);
        let setup = bench.recorded.samples("initiatingMessage", "E2setup", None, "emu_agent_gnb").remove(0);
        bench.hears(&setup);
        let Some(Event::NodeUp(node)) = bench.controller.poll_event() else { panic!("the node is up") };
        bench.node = node;
        assert!(matches!(bench.next_pdu(), Pdu::E2SetupResponse(_)));
        Some(bench)
    }

    /// The node sends what is no indication.
    fn hears(&mut self, pdu: &Pdu<'_>) {
        let mut octets = Vec::new();
        pdu.encode(Version::V2_03, &mut octets).unwrap();
        assert!(matches!(self.controller.handle_pdu(NOW, NODE, &octets), Routed::Done));
    }

    /// What the controller sends.
    fn next_pdu(&mut self) -> Pdu<'static> {
        let mut out = Vec::new();
        assert_eq!(self.controller.poll_transmit(&mut out), Some(NODE));
        decoded(&out)
    }

    /// Subscribes with our trigger, lets the recorded base station answer and report, and hands over each report.
    fn subscribe(&mut self, function: u16, mut report_of: impl FnMut(&[u8], &[u8])) {
        let id = RanFunctionId(function);
        let oid = self.controller.node(self.node).unwrap().function(id).unwrap().oid.clone();
        assert_eq!(detect(&oid), Some((function, Wire::Plain)));
        let asked =
            self.recorded.samples("initiatingMessage", "RICsubscription", Some(function), "nearRT-RIC").remove(0);
        let Pdu::RicSubscriptionRequest(theirs) = asked else { panic!("{asked:?}") };
        let trigger = theirs.details.event_trigger_definition.to_cow();
        let period_ms = flexric::EventTriggerDefinition::decode(&trigger, Wire::Plain).unwrap().period_ms;
        let mut event_trigger = Vec::new();
        flexric::EventTriggerDefinition { period_ms }.encode(Wire::Plain, &mut event_trigger).unwrap();
        assert_eq!(event_trigger, *trigger);
        let spec = SubscriptionSpec { event_trigger, actions: vec![report()] };
        self.controller.subscribe(NOW, Consumer(0), Ticket(1), self.node, id, spec).unwrap();
        let Pdu::RicSubscriptionRequest(ours) = self.next_pdu() else { panic!("a subscription request") };

        let mut answers =
            self.recorded.samples("successfulOutcome", "RICsubscription", Some(function), "emu_agent_gnb");
        let Pdu::RicSubscriptionResponse(mut answer) = answers.remove(0) else { panic!("a response") };
        answer.request_id = ours.request_id;
        self.hears(&Pdu::RicSubscriptionResponse(answer));
        let event = self.controller.poll_event();
        assert!(
            matches!(&event, Some(Event::Request { event: RequestEvent::Subscribed { admitted, .. }, .. }) if *admitted == [RicActionId(0)]),
            "{event:?}"
        );

        let indications = self.recorded.samples("initiatingMessage", "RICindication", Some(function), "emu_agent_gnb");
        assert_eq!(indications.len(), 2);
        for indication in indications {
            let Pdu::RicIndication(mut indication) = indication else { panic!("{indication:?}") };
            indication.request_id = ours.request_id;
            let mut octets = Vec::new();
            e2ap::encode(&indication, Version::V2_03, &mut octets).unwrap();
            let Routed::Indication(routed) = self.controller.handle_pdu(NOW, NODE, &octets) else {
                panic!("an indication of a subscription that stands")
            };
            let (header, message) = routed.payload.unwrap();
            report_of(header, message);
        }
    }
}

#[test]
fn statistics_of_flexric_node_are_decoded() {
    let Some(mut bench) = Bench::new() else { return };
    let header = |header: &[u8]| {
        assert_eq!(
            flexric::IndicationHeader::decode(header, Wire::Plain).unwrap(),
            flexric::IndicationHeader::default()
        );
    };
    let arena = Arena::new();
    let mut times = Vec::new();
    bench.subscribe(142, |head, message| {
        header(head);
        let message = mac::IndicationMessage::decode_owned(message, Wire::Plain).unwrap();
        times.push(message.timestamp_us);
        assert_eq!((message.ues.len(), message.ues[0].rnti), (1, 559));
    });
    assert!(times[0] < times[1] && times[1] - times[0] < 10_000, "1 ms apart: {times:?}");
    bench.subscribe(143, |head, message| {
        header(head);
        let message = message.to_vec();
        assert_eq!(rlc::IndicationMessage::decode(&message, Wire::Plain, &arena).unwrap().bearers.len(), 2);
    });
    bench.subscribe(144, |head, message| {
        header(head);
        assert_eq!(pdcp::IndicationMessage::decode_owned(message, Wire::Plain).unwrap().bearers.len(), 6);
    });
    bench.subscribe(148, |head, message| {
        header(head);
        assert_eq!(gtp::IndicationMessage::decode_owned(message, Wire::Plain).unwrap().tunnels.len(), 2);
    });
    bench.subscribe(145, |head, message| {
        header(head);
        let message = slice::IndicationMessage::decode_owned(message, Wire::Plain).unwrap();
        assert_eq!((message.slices.ul.slices.len(), message.ues.len()), (1, 4));
    });
}

/// The messages of FlexRIC's slice xApp, sent with the same octets, and the answers of its base station.
#[test]
fn slice_controls_of_flexric_xapp_are_executed() {
    let Some(mut bench) = Bench::new() else { return };
    let controls = bench.recorded.samples("initiatingMessage", "RICcontrol", Some(145), "nearRT-RIC");
    let answers = bench.recorded.samples("successfulOutcome", "RICcontrol", Some(145), "emu_agent_gnb");
    assert!(controls.len() == 3 && !answers.is_empty());
    for (at, control) in controls.into_iter().enumerate() {
        let Pdu::RicControlRequest(theirs) = control else { panic!("{control:?}") };
        let message = slice::ControlMessage::decode_owned(&theirs.message.to_cow(), Wire::Plain).unwrap();
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        slice::ControlHeader::default().encode(Wire::Plain, &mut header).unwrap();
        message.encode(Wire::Plain, &mut octets).unwrap();
        let (node, id) = (bench.node, RanFunctionId(145));
        let (consumer, ticket) = (Consumer(0), Ticket(at as u32));
        bench.controller.control(NOW, consumer, ticket, node, id, &header, &octets, None, true).unwrap();
        let Pdu::RicControlRequest(ours) = bench.next_pdu() else { panic!("a control request") };
        assert_eq!((&ours.header, &ours.message), (&theirs.header, &theirs.message));
        let Pdu::RicControlAcknowledge(mut answer) = answers[at % answers.len()].clone() else { panic!("an answer") };
        answer.request_id = ours.request_id;
        bench.hears(&Pdu::RicControlAcknowledge(answer));
        let Some(Event::Request {
            event: RequestEvent::Controlled { outcome: ControlOutcome::Acknowledged(outcome), .. },
            ..
        }) = bench.controller.poll_event()
        else {
            panic!("it is acknowledged")
        };
        let outcome = slice::ControlOutcome::decode_owned(&outcome.unwrap(), Wire::Plain).unwrap();
        assert_eq!(&*outcome.diagnostic, "");
    }
}

/// A base station with one UE, which has the RNTI of FlexRIC's example.
#[derive(Default)]
struct BaseStation {
    slices: SliceConfiguration<'static>,
    slice_association: SliceAssociation,
}

impl SliceSource for BaseStation {
    fn capacity(&self, _direction: Direction) -> Capacity {
        Capacity { prbs: 106, positions: 13 }
    }
    fn algorithms(&self) -> &[Algorithm] {
        &[Algorithm::Static]
    }
    fn has_ue_scheduler(&self, name: &str) -> bool {
        name == "PF"
    }
    fn slices(&self) -> &SliceConfiguration<'static> {
        &self.slices
    }
    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>> {
        self.slices = slices;
        Ok(())
    }
    fn ues(&self, out: &mut Vec<Ue>) {
        out.push(Ue(7));
    }
    fn rnti(&self, _ue: Ue) -> u16 {
        0xd6
    }
    fn slice_association(&self, _ue: Ue) -> SliceAssociation {
        self.slice_association
    }
    fn set_slice_association(&mut self, _ue: Ue, slice_association: SliceAssociation) {
        self.slice_association = slice_association;
    }
}

impl StatisticsSource<mac::UeStats> for BaseStation {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.push(Ue(7));
    }
    fn records(&self, _ue: Ue, out: &mut Vec<mac::UeStats>) {
        out.push(mac::UeStats { rnti: 0xd6, ..mac::UeStats::default() });
    }
}

#[derive(Default)]
struct Sent(Vec<(Vec<u8>, Vec<u8>)>);

impl FunctionTransport for Sent {
    fn send(
        &mut self,
        _key: RequestKey,
        _action: RicActionId,
        _call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.0.push((header.to_vec(), message.to_vec()));
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

/// What FlexRIC's RIC asks, our functions do; what they answer is what its base station answers.
#[test]
fn flexric_ric_subscribes_to_our_functions() {
    let Some(recorded) = Recorded::read() else { return };
    let ric = ControllerId(1);
    let source = Rc::new(RefCell::new(BaseStation::default()));
    let (mut views, mut sent) = (Views::with_first(ric), Sent::default());

    let mut function = MacFunction::new(Rc::clone(&source), PeriodicConfig::default());
    let asked = recorded.samples("initiatingMessage", "RICsubscription", Some(142), "nearRT-RIC").remove(0);
    let Pdu::RicSubscriptionRequest(asked) = asked else { panic!("{asked:?}") };
    let request = SubscriptionRequest {
        request_id: asked.request_id,
        ran_function_id: asked.ran_function_id,
        event_trigger: asked.details.event_trigger_definition.to_cow().into_owned(),
        actions: vec![report()],
        times: SubscriptionTimes::default(),
    };
    assert_eq!(function.subscribe(NOW, ric, &request, &views).unwrap().admitted, [RicActionId(0)]);
    let due = function.next_report().unwrap();
    assert_eq!(due.as_nanos(), 1_000_000);
    function.report(due, &mut FunctionContext::new(&mut views, &mut sent));
    let theirs = recorded.samples("initiatingMessage", "RICindication", Some(142), "emu_agent_gnb").remove(0);
    let Pdu::RicIndication(theirs) = theirs else { panic!("{theirs:?}") };
    let (header, message) = &sent.0[0];
    assert_eq!(*header, *theirs.header.to_cow());
    assert_eq!(message.len(), theirs.message.to_cow().len(), "one UE in each");

    let mut function = SliceFunction::new(Rc::clone(&source), SliceConfig::default());
    let answer = recorded.samples("successfulOutcome", "RICcontrol", Some(145), "emu_agent_gnb").remove(0);
    let Pdu::RicControlAcknowledge(answer) = answer else { panic!("{answer:?}") };
    let expected = answer.outcome.unwrap().to_cow().into_owned();
    for control in recorded.samples("initiatingMessage", "RICcontrol", Some(145), "nearRT-RIC") {
        let Pdu::RicControlRequest(control) = control else { panic!("{control:?}") };
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: control.ran_function_id,
            call_process_id: None,
            header: control.header.to_cow().into_owned(),
            message: control.message.to_cow().into_owned(),
        };
        let outcome = function.control(NOW, ric, &request, &mut FunctionContext::new(&mut views, &mut sent));
        assert_eq!(outcome.unwrap(), Some(expected.clone()));
    }
    let source = source.borrow();
    let ids: Vec<_> = source.slices.dl.slices.iter().map(|slice| slice.id).collect();
    assert_eq!((ids, source.slice_association), (vec![0, 5], SliceAssociation { dl: Some(5), ul: None }));
}
