//! An xApp host and a controller with one node, with arbitrary steps of two xApps; a decoded message round-trips.

#![no_main]

#[path = "../node.rs"]
mod node;
#[path = "../steps.rs"]
mod steps;

use core::time::Duration;

use e2::xapp::{RicMessage, XappMessage};
use e2::{AssocId, Consumer, Controller, ControllerConfig, Time, XappHost};
use libfuzzer_sys::fuzz_target;
use node::SETUP;
use steps::Steps;

const NODE: AssocId = AssocId(1);

fn drain(controller: &mut Controller, host: &mut XappHost) {
    while let Some(event) = controller.poll_event() {
        let _ = host.handle_event(event, controller);
    }
    while let Some((_, notice)) = host.poll_notice() {
        assert!(!notice.to_string().is_empty());
    }
    let mut out = Vec::new();
    while let Some(assoc) = controller.poll_transmit(&mut out) {
        assert_eq!(assoc, NODE);
        let gather = Default::default();
        let read = |version| e2ap::decode(&out, version, &gather).is_ok();
        assert!(e2ap::Version::ALL.into_iter().any(read), "unreadable: {out:02x?}");
        out.clear();
    }
    while host.poll_transmit(&mut out).or_else(|| host.poll_announcement(controller, &mut out, |_| true)).is_some() {
        RicMessage::decode(&out).expect("what is sent can be read");
        out.clear();
    }
    while controller.poll_close().is_some() || host.poll_close().is_some() {}
}

fn step(
    controller: &mut Controller,
    host: &mut XappHost,
    now: &mut Time,
    assocs: &mut [AssocId; 2],
    steps: &mut Steps<'_>,
) -> Option<()> {
    let what = steps.octet()?;
    let which = usize::from(what >> 7);
    match what & 0x7F {
        0 => {
            host.handle_close(*now, assocs[which], controller);
            assocs[which].0 += 2;
            host.handle_open(assocs[which]);
        }
        1 => {
            *now = *now + Duration::from_millis(steps.number()?.into());
            controller.handle_timeout(*now);
        }
        2 => drop(controller.handle_pdu(*now, NODE, steps.pdu()?)),
        _ => {
            let pdu = steps.pdu()?;
            let mut again = Vec::new();
            if let Ok(message) = XappMessage::decode(pdu) {
                message.encode(&mut again);
                assert_eq!(XappMessage::decode(&again).as_ref(), Ok(&message));
            } else if let Ok(message) = RicMessage::decode(pdu) {
                message.encode(&mut again);
                assert_eq!(RicMessage::decode(&again).as_ref(), Ok(&message));
            }
            host.handle_pdu(*now, assocs[which], pdu, controller);
        }
    }
    Some(())
}

fuzz_target!(|bytes: &[u8]| {
    let (mut controller, mut host) = (Controller::new(ControllerConfig::default()), XappHost::new());
    let (mut now, mut assocs) = (Time::default(), [AssocId(2), AssocId(3)]);
    controller.handle_open(now, NODE);
    let _ = controller.handle_pdu(now, NODE, SETUP);
    assert_eq!(controller.nodes().count(), 1);
    for assoc in assocs {
        host.handle_open(assoc);
    }
    drain(&mut controller, &mut host);
    let mut steps = Steps(bytes);
    while step(&mut controller, &mut host, &mut now, &mut assocs, &mut steps).is_some() {
        drain(&mut controller, &mut host);
    }
    for assoc in assocs {
        host.handle_close(now, assoc, &mut controller);
    }
    drain(&mut controller, &mut host);
    assert_eq!(host.sessions(), 0);
    for consumer in (1 << 16..).take(64).map(Consumer) {
        assert_eq!(controller.requests_of(consumer), 0);
    }
    // all requests have ended, answered or not
    for _ in 0..3 {
        now = now + Duration::from_secs(6);
        controller.handle_timeout(now);
        drain(&mut controller, &mut host);
    }
    assert_eq!(controller.requests(), 0);
});
