//! An xApp that divides each cell's downlink into two slices, assigns the UEs of one service to theirs, and prints the
//! slices' state.
//!
//! `cargo run -p ferric-examples --bin slices -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running
//!
//! It learns the service of a UE from RRC notifications: the S-NSSAI that the UE requested (FlexRIC paper, 6.1.2).

use std::collections::HashMap;
use std::error::Error;

use e2sm::slice::{
    ControlHeader, ControlMessage, ControlOutcome, DirectionSlices, IndicationMessage, NvsParameters, Parameters,
    Share, Slice, SliceConfiguration, UeSlices,
};
use e2sm::{Wire, flexric, rrc, slice};
use ferric::e2;
use ferric::e2::{Action, NodeId, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};
use per::PrintableString;

/// The slice service type of the urgent service (TS 23.501 5.15.2.2), its slice, and the slice of all other UEs.
const URLLC: u8 = 2;
const IN_TIME: u32 = 1;
const OTHERS: u32 = 0;

fn report(event_trigger: Vec<u8>) -> SubscriptionSpec {
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    SubscriptionSpec { event_trigger, actions: vec![Action { id, kind, definition: None, subsequent: None }] }
}

fn nvs(id: u32, label: &'static str, reserved: f32) -> Slice<'static> {
    let (label, ue_scheduler) = (PrintableString::literal(label), PrintableString::literal("PF"));
    Slice { id, label, ue_scheduler, parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved })) }
}

/// Two downlink slices with NVS, each with a share.
fn two_slices(in_time: f32) -> ControlMessage<'static> {
    let slices = vec![nvs(OTHERS, "others", 1.0 - in_time), nvs(IN_TIME, "in-time", in_time)];
    let dl = DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: slices.into() };
    ControlMessage::AddOrModify(SliceConfiguration { dl, ..SliceConfiguration::default() })
}

/// The UEs of notifications, each with its slice.
fn by_service(message: &rrc::IndicationMessage<'_>) -> ControlMessage<'static> {
    let slices_of = |notification: &rrc::Notification<'_>| {
        let is_urgent = notification.s_nssais.iter().any(|s_nssai| s_nssai.sst.0 == [URLLC]);
        UeSlices { dl_id: if is_urgent { IN_TIME } else { OTHERS }, ul_id: slice::NO_SLICE, rnti: notification.rnti.0 }
    };
    ControlMessage::Associate(message.notifications.iter().map(slices_of).collect())
}

fn octets(message: &ControlMessage<'_>, wire: Wire) -> Result<(Vec<u8>, Vec<u8>), e2sm::Error> {
    let (mut header, mut body) = (Vec::new(), Vec::new());
    ControlHeader::default().encode(wire, &mut header)?;
    message.encode(wire, &mut body)?;
    Ok((header, body))
}

/// The functions of a node for the two models.
#[derive(Clone, Copy)]
struct Functions {
    slice: (RanFunctionId, Wire),
    rrc: RanFunctionId,
}

/// Passes a line for each outcome and report to `print`, until it returns `false`.
pub fn run(ric: &Address, in_time: f32, mut print: impl FnMut(String) -> bool) -> Result<(), Box<dyn Error>> {
    let mut xapp = Xapp::connect(ric, "slices", Default::default())?;
    let mut nodes: HashMap<NodeId, Functions> = HashMap::new();
    let mut wanted = true;
    while wanted {
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let find = |model: e2sm::Model| {
                    node.functions.iter().find_map(|f| model.wire_of(&f.oid).map(|wire| (f.id, wire)))
                };
                let (Some(slice), Some((rrc, _))) = (find(slice::MODEL), find(rrc::MODEL)) else { return };
                nodes.insert(node.id, Functions { slice, rrc });
                let (mut every, mut events) = (Vec::new(), Vec::new());
                let sent = octets(&two_slices(in_time), slice.1).and_then(|control| {
                    flexric::EventTriggerDefinition { period_ms: 100 }.encode(slice.1, &mut every)?;
                    rrc::EventTriggerDefinition::ALL.encode(Wire::Per, &mut events)?;
                    Ok(control)
                });
                match sent {
                    Ok((header, message)) => {
                        ric.control(node.id, slice.0, &header, &message);
                        ric.subscribe(node.id, slice.0, report(every));
                        ric.subscribe(node.id, rrc, report(events));
                    }
                    Err(error) => eprintln!("{}: {error}", node.global_id),
                }
            }
            XappEvent::Request(RequestEvent::Controlled { outcome: result, .. }) => {
                let (what, outcome) = match result {
                    e2::ControlOutcome::Acknowledged(outcome) => ("done".to_owned(), outcome),
                    e2::ControlOutcome::Failed { cause, outcome } => (format!("refused ({cause})"), outcome),
                    other => (format!("{other:?}"), None),
                };
                // the encoding of an outcome follows from the node's functions; this app expects one kind of node
                let wire = nodes.values().next().map_or(Wire::Plain, |functions| functions.slice.1);
                let outcome = outcome.and_then(|octets| ControlOutcome::decode_owned(&octets, wire).ok());
                let diagnostic = outcome.map_or(String::new(), |outcome| outcome.diagnostic.to_string());
                wanted &= print(format!("{what}: {diagnostic}"));
            }
            XappEvent::Indication(indication) => {
                let (Some(functions), Some(peeked)) = (nodes.get(&indication.node), indication.peek()) else { return };
                let (slice, wire) = functions.slice;
                if peeked.ran_function_id == functions.rrc {
                    let message = rrc::IndicationMessage::decode_owned(peeked.message, Wire::Per);
                    match message.and_then(|message| octets(&by_service(&message), wire)) {
                        Ok((header, message)) => drop(ric.control(indication.node, slice, &header, &message)),
                        Err(error) => eprintln!("cannot decode notifications: {error}"),
                    }
                    return;
                }
                match IndicationMessage::decode_owned(peeked.message, wire) {
                    Ok(message) => {
                        for slice in &message.slices.dl.slices {
                            let ues = message.ues.iter().filter(|ue| ue.dl_id == slice.id).count();
                            wanted &=
                                print(format!("slice {} {}: {:?}, {ues} UEs", slice.id, slice.label, slice.parameters));
                        }
                    }
                    Err(error) => eprintln!("cannot decode slices: {error}"),
                }
            }
            XappEvent::NodeLost(node) => drop(nodes.remove(&node.id)),
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => {
                eprintln!("subscription failed: {failure}")
            }
            _ => {}
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    run(&ric, 0.3, |line| {
        println!("{line}");
        true
    })
}
