//! Messages of xApps for services of the RIC that are not E2.

use e2::xapp::{ServiceEvent, XappClient, XappHost, XappMessage};
use e2::{AssocId, Controller, ControllerConfig, Time};

#[test]
fn last_message_of_a_session_that_has_ended_is_that_of_its_xapp() {
    let (mut controller, mut host) = (Controller::new(ControllerConfig::default()), XappHost::new());
    let (now, assoc) = (Time::from_nanos(1), AssocId(1));
    host.handle_open(assoc);
    let mut pdu = Vec::new();
    XappClient::new().hello("kpm", &mut pdu);
    host.handle_pdu(now, assoc, &pdu, &mut controller);
    pdu.clear();
    XappMessage::Service { kind: 20015, document: b"{}".to_vec() }.encode(&mut pdu);
    host.handle_pdu(now, assoc, &pdu, &mut controller);
    // before the events are taken
    host.handle_close(now, assoc, &mut controller);
    let Some(ServiceEvent::Message { xapp, assoc: of, identity, kind, .. }) = host.poll_service() else {
        panic!("no message")
    };
    assert_eq!((of, &*identity.name, kind), (assoc, "kpm", 20015));
    assert_eq!(host.poll_service(), Some(ServiceEvent::Ended { xapp, name: "kpm".into() }));
    assert_eq!(host.poll_service(), None);
}
