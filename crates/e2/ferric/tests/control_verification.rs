//! Verification of controls: an acknowledgement is not yet an effect.

mod common;

use std::time::Duration;

use common::peer::{FUNCTION, Peer};
use common::scene::{Ric, free_ports};
use common::session::{node_id_of, poll_until, session, subscribe};
use e2ap::{Cause, CauseRicRequest, Pdu, RicControlAcknowledge, RicControlFailure, RicRequestId};
use ferric::e2::{SubscriptionId, Ticket};
use ferric::xapp::{MAX_VERIFICATIONS, RequestEvent, TooManyVerifications, Verdict, Verification, Xapp, XappEvent};

struct Scene {
    xapp: Xapp,
    peer: Peer,
    subscription: SubscriptionId,
    request: (RicRequestId, e2ap::RicActionId),
    _ric: Ric,
}

impl Scene {
    fn new() -> Scene {
        let ric = Ric::start(free_ports());
        let mut xapp = session(&ric);
        let mut peer = ric.node();
        peer.set_up(1);
        let (subscription, request_id, action) = subscribe(&mut xapp, &mut peer, 1);
        Scene { xapp, peer, subscription, request: (request_id, action), _ric: ric }
    }

    /// Sends a control that sets the node's value, to be verified by reports.
    fn set(&mut self, value: u8, within: Duration) -> Result<Ticket, TooManyVerifications> {
        let node = node_id_of(&mut self.xapp, 1);
        let verify = Verification::by_reports(self.subscription, within, move |indication| {
            indication.peek().is_some_and(|peeked| peeked.message == [value])
        });
        let ticket = self.xapp.commands().control_verified(node, FUNCTION, b"set", &[value], verify);
        self.xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
        ticket
    }

    /// Answers the control with an acknowledgement or a failure.
    fn answer(&mut self, takes: bool) {
        let Pdu::RicControlRequest(request) = self.peer.receive_pdu() else { panic!("expected a control") };
        let (request_id, ran_function_id) = (request.request_id, FUNCTION);
        if takes {
            let (call_process_id, status, outcome) = (None, None, None);
            self.peer.send_pdu(RicControlAcknowledge { request_id, ran_function_id, call_process_id, status, outcome });
        } else {
            self.peer.send_pdu(RicControlFailure {
                request_id,
                ran_function_id,
                call_process_id: None,
                cause: Some(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute)),
                outcome: None,
                criticality_diagnostics: None,
            });
        }
    }

    fn report(&mut self, value: u8) {
        self.peer.report(self.request.0, self.request.1, &[value]);
    }

    fn controlled(&mut self) {
        poll_until(&mut self.xapp, |event| {
            matches!(event, XappEvent::Request(RequestEvent::Controlled { .. })).then_some(())
        });
    }

    fn verdict(&mut self) -> (Ticket, Verdict) {
        poll_until(&mut self.xapp, |event| match event {
            XappEvent::Verified { ticket, verdict } => Some((ticket, verdict)),
            _ => None,
        })
    }
}

const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(60);

#[test]
fn visible_effect_is_confirmed() {
    let mut scene = Scene::new();
    let ticket = scene.set(7, LATE).unwrap();
    // a report before the acknowledgement confirms nothing
    scene.report(7);
    scene.answer(true);
    scene.controlled();
    scene.report(3);
    scene.report(7);
    let (verified, verdict) = scene.verdict();
    assert_eq!(verified, ticket);
    assert!(matches!(verdict, Verdict::Confirmed { after } if after < LATE), "{verdict:?}");
    // the first is over: the next has its own verdict
    let next = scene.set(8, LATE).unwrap();
    scene.answer(true);
    scene.controlled();
    scene.report(7);
    scene.report(8);
    assert_eq!(scene.verdict().0, next);
}

#[test]
fn acknowledged_control_without_effect_is_reported() {
    let mut scene = Scene::new();
    let ticket = scene.set(7, SOON).unwrap();
    scene.answer(true);
    scene.controlled();
    scene.report(3);
    scene.report(3);
    assert_eq!(scene.verdict(), (ticket, Verdict::Unchanged { reports: 2 }));
    let ticket = scene.set(7, SOON).unwrap();
    scene.answer(true);
    scene.controlled();
    assert_eq!(scene.verdict(), (ticket, Verdict::NoReports));
}

#[test]
fn failed_control_is_not_verified() {
    let mut scene = Scene::new();
    scene.set(7, SOON).unwrap();
    scene.answer(false);
    scene.controlled();
    let second = scene.set(8, SOON).unwrap();
    scene.answer(true);
    scene.report(7);
    scene.report(8);
    assert_eq!(scene.verdict().0, second, "no verdict for the first");
}

#[test]
fn number_of_verifications_is_limited() {
    let mut scene = Scene::new();
    for _ in 0..MAX_VERIFICATIONS {
        scene.set(1, LATE).unwrap();
    }
    assert_eq!(scene.set(1, LATE), Err(TooManyVerifications));
    scene.answer(false);
    scene.controlled();
    scene.set(1, LATE).unwrap();
}
