//! Verification of controls: an acknowledgement is not yet an effect.

mod common;

use std::time::Duration;

use common::peer::{FUNCTION, Peer};
use common::session::{node_id_of, poll_until, session, subscribe};
use common::test_server::{Ric, free_ports};
use e2ap::{Cause, CauseRicRequest, Pdu, RicControlAcknowledge, RicControlFailure, RicRequestId};
use ferric::e2::{SubscriptionId, Ticket};
use ferric::xapp::{MAX_VERIFICATIONS, RequestEvent, TooManyVerifications, Verdict, Verification, Xapp, XappEvent};

struct Fixture {
    xapp: Xapp,
    peer: Peer,
    subscription: SubscriptionId,
    request: (RicRequestId, e2ap::RicActionId),
    _ric: Ric,
}

impl Fixture {
    fn new() -> Fixture {
        let ric = Ric::start(free_ports());
        let mut xapp = session(&ric);
        let mut peer = ric.node();
        peer.set_up(1);
        let (subscription, request_id, action) = subscribe(&mut xapp, &mut peer, 1);
        Fixture { xapp, peer, subscription, request: (request_id, action), _ric: ric }
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
    let mut fixture = Fixture::new();
    let ticket = fixture.set(7, LATE).unwrap();
    // a report before the acknowledgement confirms nothing
    fixture.report(7);
    fixture.answer(true);
    fixture.controlled();
    fixture.report(3);
    fixture.report(7);
    let (verified, verdict) = fixture.verdict();
    assert_eq!(verified, ticket);
    assert!(matches!(verdict, Verdict::Confirmed { after } if after < LATE), "{verdict:?}");
    // the first is over: the next has its own verdict
    let next = fixture.set(8, LATE).unwrap();
    fixture.answer(true);
    fixture.controlled();
    fixture.report(7);
    fixture.report(8);
    assert_eq!(fixture.verdict().0, next);
}

#[test]
fn acknowledged_control_without_effect_is_reported() {
    let mut fixture = Fixture::new();
    let ticket = fixture.set(7, SOON).unwrap();
    fixture.answer(true);
    fixture.controlled();
    fixture.report(3);
    fixture.report(3);
    assert_eq!(fixture.verdict(), (ticket, Verdict::Unchanged { reports: 2 }));
    let ticket = fixture.set(7, SOON).unwrap();
    fixture.answer(true);
    fixture.controlled();
    assert_eq!(fixture.verdict(), (ticket, Verdict::NoReports));
}

#[test]
fn failed_control_is_not_verified() {
    let mut fixture = Fixture::new();
    fixture.set(7, SOON).unwrap();
    fixture.answer(false);
    fixture.controlled();
    let second = fixture.set(8, SOON).unwrap();
    fixture.answer(true);
    fixture.report(7);
    fixture.report(8);
    assert_eq!(fixture.verdict().0, second, "no verdict for the first");
}

#[test]
fn number_of_verifications_is_limited() {
    let mut fixture = Fixture::new();
    for _ in 0..MAX_VERIFICATIONS {
        fixture.set(1, LATE).unwrap();
    }
    assert_eq!(fixture.set(1, LATE), Err(TooManyVerifications));
    fixture.answer(false);
    fixture.controlled();
    fixture.set(1, LATE).unwrap();
}
