//! A controller, two associations and an iApp with arbitrary steps: for any messages of nodes, the messages of the controller are
//! valid, and no state is left after all peers have disconnected.

#![no_main]

#[path = "../steps.rs"]
mod steps;

use core::time::Duration;

use e2::{
    Action, AssocId, CloseReason, ConnectionUpdate, Consumer, Controller, ControllerConfig, Event, NodeId, Routed,
    SubscriptionChange, SubscriptionId, SubscriptionSpec, Ticket, Time,
};
use e2ap::{Codec, RanFunctionId, RicActionId, RicActionType, Version};
use libfuzzer_sys::fuzz_target;
use steps::Steps;

const IAPP: Consumer = Consumer(1);

fn drain(controller: &mut Controller) {
    while let Some(event) = controller.poll_event() {
        if let Event::Notice { notice, .. } = event {
            assert!(!notice.to_string().is_empty());
        }
    }
    let mut out = Vec::new();
    while controller.poll_transmit(&mut out).is_some() {
        let gather = Default::default();
        let read = |codec: Codec| Version::ALL.into_iter().any(|version| codec.decode(&out, version, &gather).is_ok());
        assert!(read(Codec::Per) || read(Codec::FLAT), "unreadable: {out:02x?}");
        out.clear();
    }
    while controller.poll_close().is_some() {}
}

fn step(
    controller: &mut Controller,
    now: &mut Time,
    next: &mut u64,
    assocs: &mut [AssocId; 2],
    steps: &mut Steps<'_>,
) -> Option<()> {
    let what = steps.octet()?;
    let which = usize::from(what >> 7);
    match what & 0x7F {
        0 | 0x7F => {
            controller.handle_close(*now, assocs[which], CloseReason::Transport);
            *next += 1;
            assocs[which] = AssocId(*next);
            let codec = if what & 0x7F == 0 { Codec::Per } else { Codec::FLAT };
            controller.handle_open_in(*now, assocs[which], codec);
        }
        1 => controller.handle_close(*now, assocs[which], CloseReason::Transport),
        2 => {
            *now = *now + Duration::from_millis(steps.number()?.into());
            controller.handle_timeout(*now);
            assert!(controller.poll_timeout().is_none_or(|at| at > *now));
        }
        3..6 => {
            let (node, function) = (NodeId(steps.octet()?.into()), RanFunctionId(steps.number()? & 0xFFF));
            let kind = if what & 1 == 0 { RicActionType::Insert } else { RicActionType::Report };
            let action = Action { id: RicActionId(steps.octet()?), kind, definition: None, subsequent: None };
            let spec = SubscriptionSpec { event_trigger: steps.pdu()?.to_vec(), actions: vec![action] };
            let _ = controller.subscribe(*now, IAPP, Ticket(0), node, function, spec);
        }
        6 => {
            let _ = controller.unsubscribe(*now, IAPP, SubscriptionId(steps.octet()?.into()));
        }
        7 => {
            let (node, function) = (NodeId(steps.octet()?.into()), RanFunctionId(steps.number()? & 0xFFF));
            let payload = steps.pdu()?;
            let _ = controller.control(*now, IAPP, Ticket(0), node, function, payload, &[], None, which == 0);
        }
        8 => {
            let cause = e2ap::Cause::Misc(e2ap::CauseMisc::Unspecified);
            let _ = controller.reset(*now, NodeId(steps.octet()?.into()), cause);
        }
        9 => controller.drop_consumer(*now, IAPP),
        10 => {
            let _ = controller.service_query(*now, NodeId(steps.octet()?.into()));
        }
        11 => {
            let _ = controller.remove(*now, NodeId(steps.octet()?.into()));
        }
        12 => {
            let _ = controller.connection_update(*now, NodeId(steps.octet()?.into()), &ConnectionUpdate::default());
        }
        13 => {
            let (node, function) = (NodeId(steps.octet()?.into()), RanFunctionId(steps.number()? & 0xFFF));
            let _ = controller.query(*now, IAPP, Ticket(0), node, function, &[], steps.pdu()?);
        }
        14 => {
            let subscription = SubscriptionId(steps.octet()?.into());
            let remove = vec![RicActionId(steps.octet()?)];
            let event_trigger = Some(steps.pdu()?.to_vec());
            let change = SubscriptionChange { event_trigger, remove, ..Default::default() };
            let _ = controller.modify(*now, IAPP, Ticket(0), subscription, change);
        }
        _ => {
            if let Routed::Indication(indication) = controller.handle_pdu(*now, assocs[which], steps.pdu()?) {
                let gather = Default::default();
                let decoded = indication.decode(&gather).expect("what is routed can be read");
                assert_eq!(decoded.ran_function_id, indication.ran_function_id);
                assert!(!controller.consumers(indication.subscription).is_empty());
            }
        }
    }
    Some(())
}

fuzz_target!(|bytes: &[u8]| {
    let mut controller = Controller::new(ControllerConfig { max_requests: 16, max_nodes: 1, ..Default::default() });
    let (mut now, mut next, mut assocs) = (Time::default(), 2, [AssocId(1), AssocId(2)]);
    for assoc in assocs {
        controller.handle_open(now, assoc);
    }
    let mut steps = Steps(bytes);
    while step(&mut controller, &mut now, &mut next, &mut assocs, &mut steps).is_some() {
        drain(&mut controller);
        assert!(controller.requests() <= 16);
    }
    controller.drop_consumer(now, IAPP);
    assert_eq!(controller.requests_of(IAPP), 0);
    for assoc in assocs {
        controller.handle_close(now, assoc, CloseReason::Transport);
    }
    drain(&mut controller);
    assert_eq!((controller.requests(), controller.nodes().count()), (0, 0));
});
