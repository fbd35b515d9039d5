//! An xApp that has each node hold its reports of inactive UEs (NGAP's RRC INACTIVE TRANSITION REPORT), prints them,
//! and lets them continue. It uses the raw level of xApps, since the high-level API has no inserts of E2SM-NI.
//!
//! `cargo run -p ferric-examples --bin interface_messages -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran`
//! running

use std::collections::HashMap;
use std::error::Error;

use e2sm::common::GlobalNgRanNodeId;
use e2sm::ni::{
    ControlHeader, ControlHeaderFormat1, ControlMessage, EventTriggerDefinition, EventTriggerDefinitionFormat1,
    IndicationHeader, IndicationMessage, NiDirection, NiIdentifier, NiMessageType, NiMessageTypeApproach1, NiType, OID,
    TypeOfMessage,
};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{Action, NodeId, SubscriptionSpec};
use ferric::e2ap::{
    GlobalE2NodeId, RanFunctionId, RicActionId, RicActionType, RicSubsequentAction, RicSubsequentActionType,
    RicTimeToWait,
};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// TS 38.413 9.4.7.
const RRC_INACTIVE_TRANSITION_REPORT: u8 = 37;

/// The node's NG interface, identified by the gNB's name.
fn ng(node: &NodeInfo) -> Option<NiIdentifier> {
    let GlobalE2NodeId::Gnb(gnb) = &node.global_id else { return None };
    Some(NiIdentifier::GlobalNgRanId(GlobalNgRanNodeId::Gnb(gnb.global_gnb_id)))
}

/// Each such report of the node is held for at most 200 ms.
fn held_reports(interface_id: NiIdentifier) -> Result<SubscriptionSpec, Box<dyn Error>> {
    let trigger = EventTriggerDefinition::Format1(EventTriggerDefinitionFormat1 {
        interface_type: NiType::Ng,
        interface_id,
        interface_direction: NiDirection::Outgoing,
        interface_message_type: NiMessageType::Ng(NiMessageTypeApproach1 {
            procedure_code: RRC_INACTIVE_TRANSITION_REPORT,
            type_of_message: TypeOfMessage::InitiatingMessage,
        }),
        interface_protocol_ie_list: None,
    });
    let mut event_trigger = Vec::new();
    trigger.encode(&mut event_trigger)?;
    let kind = RicSubsequentActionType::Continue;
    let subsequent = Some(RicSubsequentAction { kind, time_to_wait: RicTimeToWait::W200ms });
    let (id, kind) = (RicActionId(0), RicActionType::Insert);
    Ok(SubscriptionSpec { event_trigger, actions: vec![Action { id, kind, definition: None, subsequent }] })
}

/// A control that lets a message continue unchanged.
fn go_on(header: &[u8], message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let IndicationHeader::Format1(held) = IndicationHeader::decode(header)?;
    let IndicationMessage::Format1(message) = IndicationMessage::decode(message)?;
    let header = ControlHeader::Format1(ControlHeaderFormat1 {
        interface_type: held.interface_type,
        interface_id: held.interface_id,
        interface_direction: held.interface_direction,
        ric_control_message_priority: None,
    });
    let (mut header_bytes, mut message_bytes) = (Vec::new(), Vec::new());
    header.encode(&mut header_bytes)?;
    ControlMessage::Format1(message).encode(&mut message_bytes)?;
    Ok((header_bytes, message_bytes))
}

/// Passes a line for each message and answer to `print`, until it returns `false`.
pub fn run(ric: &Address, mut print: impl FnMut(String) -> bool) -> Result<(), Box<dyn Error>> {
    let mut xapp = Xapp::connect(ric, "interfaces", Default::default())?;
    let mut functions: HashMap<NodeId, RanFunctionId> = HashMap::new();
    let mut wanted = true;
    while wanted {
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let Some(ni) = node.functions.iter().find(|function| function.oid == OID) else { return };
                match ng(node).ok_or("no gNB".into()).and_then(held_reports) {
                    Ok(spec) => {
                        functions.insert(node.id, ni.id);
                        ric.subscribe(node.id, ni.id, spec);
                    }
                    Err(error) => eprintln!("{}: {error}", node.global_id),
                }
            }
            XappEvent::Indication(indication) => {
                let (node, Some(held)) = (indication.node, indication.peek()) else { return };
                let (Some(process), Some(function)) = (held.call_process_id, functions.get(&node)) else { return };
                wanted &= print(format!("held: {:02x?}", held.message));
                match go_on(held.header, held.message) {
                    Ok((header, message)) => drop(ric.answer_insert(node, *function, process, &header, &message)),
                    Err(error) => eprintln!("cannot decode a message: {error}"),
                }
            }
            XappEvent::Request(RequestEvent::Controlled { outcome: result, .. }) => {
                wanted &= print(format!("answered: {result:?}"))
            }
            other => eprintln!("{other:?}"),
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    run(&ric, |line| {
        println!("{line}");
        true
    })
}
