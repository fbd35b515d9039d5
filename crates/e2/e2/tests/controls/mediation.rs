//! A mediator decides on each control before it is sent, and learns of its outcome.

use std::sync::{Arc, Mutex};

use e2::{
    Action, AgentEvent, AssocId, Consumer, ConsumerIdentity, ControlOutcome, Controller, E42Host, Event, Lacking,
    Mediation, Mediator, Node, NodeId, ReleasedControl, RequestEvent, RequestedControl, SubscribeError,
    SubscriptionFact, SubscriptionSpec, SubscriptionStep, Ticket, Time, XappRights,
};
use e2ap::e42::{E42Pdu, E42SetupRequest, E42SubscriptionRequest, E42Version, XappId};
use e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RanFunctionItem, RanFunctionRevision, RicActionId, RicActionToBeSetup,
    RicActionType, RicRequestId, RicSubscriptionDetails,
};

use crate::{ASSOC, FUNCTION, connected, ms, received, relay};

const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
const CONSUMER: Consumer = Consumer(7);

/// What a mediator was called with.
#[derive(Debug, Default)]
struct Calls {
    requested: Vec<(Option<Box<str>>, Vec<u8>)>,
    ended: Vec<(Ticket, ControlOutcome)>,
    gone: Vec<Consumer>,
    lost: Vec<NodeId>,
    /// Who, and what.
    subscriptions: Vec<(Option<Box<str>>, String)>,
}

/// A mediator that always decides the same; what it holds is released at 10 ms.
#[derive(Debug)]
struct Always {
    decision: Mediation,
    refusal: Option<Cause>,
    held: Vec<ReleasedControl>,
    is_due: bool,
    calls: Arc<Mutex<Calls>>,
}

impl Mediator for Always {
    fn mediate(&mut self, control: &RequestedControl<'_>) -> Mediation {
        let name = control.identity.map(|identity| identity.name.clone());
        self.calls.lock().unwrap().requested.push((name, control.message.to_vec()));
        if self.decision == Mediation::Hold {
            self.held.push(ReleasedControl {
                consumer: control.consumer,
                ticket: control.ticket,
                node: control.node.id,
                function: control.function,
                content: (control.header.to_vec(), control.message.to_vec()),
                call_process_id: None,
                ack: control.ack,
                refusal: self.refusal,
            });
        }
        self.decision.clone()
    }

    fn not_allowed(&mut self, _: Time, _: Option<&ConsumerIdentity>, _: &Node, _: RanFunctionId, _: &Lacking) {}

    fn subscription(&mut self, step: &SubscriptionStep<'_>) {
        let what = match step.what {
            SubscriptionFact::Requested { request, .. } => {
                format!("requested {} of {}", request.function.0, request.node.unwrap().global_id)
            }
            SubscriptionFact::Refused { why, .. } => format!("refused: {why:?}"),
            SubscriptionFact::NotAllowed { lacking, .. } => format!("not allowed: {lacking}"),
            SubscriptionFact::Active { not_admitted, .. } => format!("active without {not_admitted}"),
            SubscriptionFact::Failed { error, .. } => format!("failed: {error:?}"),
            SubscriptionFact::Ended { end, .. } => format!("ended: {end:?}"),
        };
        let name = step.identity.map(|identity| identity.name.clone());
        self.calls.lock().unwrap().subscriptions.push((name, what));
    }

    fn control_ended(&mut self, _: Time, _: Consumer, ticket: Ticket, outcome: &ControlOutcome) {
        self.calls.lock().unwrap().ended.push((ticket, outcome.clone()));
    }

    fn consumer_gone(&mut self, _: Time, consumer: Consumer) {
        self.calls.lock().unwrap().gone.push(consumer);
    }

    fn node_lost(&mut self, _: Time, node: NodeId) {
        self.calls.lock().unwrap().lost.push(node);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.held.is_empty()).then_some(ms(10))
    }

    fn handle_timeout(&mut self, _: Time) {
        self.is_due = true;
    }

    fn poll_release(&mut self) -> Option<ReleasedControl> {
        if self.is_due { self.held.pop() } else { None }
    }
}

fn mediated(ric: &mut Controller, decision: Mediation, refusal: Option<Cause>) -> Arc<Mutex<Calls>> {
    let calls = Arc::<Mutex<Calls>>::default();
    let mediator = Always { decision, refusal, held: Vec::new(), is_due: false, calls: Arc::clone(&calls) };
    ric.set_mediator(Box::new(mediator));
    calls
}

fn order(ric: &mut Controller, node: NodeId) {
    ric.control(ms(5), CONSUMER, Ticket(1), node, FUNCTION, b"header", b"message", None, true).unwrap();
}

/// The outcome that the consumer gets.
fn outcome(ric: &mut Controller) -> Option<ControlOutcome> {
    std::iter::from_fn(|| ric.poll_event()).find_map(|event| match event {
        Event::Request { event: RequestEvent::Controlled { ticket: Ticket(1), outcome }, .. } => Some(outcome),
        _ => None,
    })
}

#[test]
fn admitted_control_is_sent_and_its_outcome_is_reported_to_the_mediator() {
    let (mut ric, mut agent, node) = connected(0);
    let calls = mediated(&mut ric, Mediation::Send, None);
    ric.introduce(CONSUMER, ConsumerIdentity::named("slicer"));
    order(&mut ric, node);
    relay(ms(6), &mut ric, &mut agent);
    let request = received(&mut agent).unwrap();
    assert_eq!((&*request.header, &*request.message), (&b"header"[..], &b"message"[..]));
    agent.acknowledge(request.request_id, None).unwrap();
    relay(ms(7), &mut ric, &mut agent);
    assert_eq!(outcome(&mut ric), Some(ControlOutcome::Acknowledged(None)));
    let calls = calls.lock().unwrap();
    assert_eq!(calls.requested, [(Some("slicer".into()), b"message".to_vec())]);
    assert_eq!(calls.ended, [(Ticket(1), ControlOutcome::Acknowledged(None))]);
}

#[test]
fn changed_control_is_sent_with_the_content_of_the_mediator() {
    let (mut ric, mut agent, node) = connected(0);
    let change = Mediation::Change { header: b"HEADER".to_vec(), message: b"MESSAGE".to_vec() };
    mediated(&mut ric, change, None);
    order(&mut ric, node);
    relay(ms(6), &mut ric, &mut agent);
    let request = received(&mut agent).unwrap();
    assert_eq!((&*request.header, &*request.message), (&b"HEADER"[..], &b"MESSAGE"[..]));
}

#[test]
fn refused_control_fails_with_the_cause_and_reaches_no_node() {
    let (mut ric, mut agent, node) = connected(0);
    let calls = mediated(&mut ric, Mediation::Refuse(REFUSED), None);
    order(&mut ric, node);
    relay(ms(6), &mut ric, &mut agent);
    assert!(received(&mut agent).is_none());
    let failed = ControlOutcome::Failed { cause: REFUSED, outcome: None };
    assert_eq!(outcome(&mut ric), Some(failed.clone()));
    assert_eq!(calls.lock().unwrap().ended, [(Ticket(1), failed)]);
}

#[test]
fn held_control_is_sent_or_fails_when_the_mediator_releases_it() {
    let failed = ControlOutcome::Failed { cause: REFUSED, outcome: None };
    for (refusal, expected) in [(None, None), (Some(REFUSED), Some(failed))] {
        let (mut ric, mut agent, node) = connected(0);
        mediated(&mut ric, Mediation::Hold, refusal);
        order(&mut ric, node);
        relay(ms(6), &mut ric, &mut agent);
        assert!(received(&mut agent).is_none(), "it waits");
        assert_eq!(ric.poll_timeout(), Some(ms(10)));
        ric.handle_timeout(ms(9));
        relay(ms(9), &mut ric, &mut agent);
        assert!(received(&mut agent).is_none(), "it waits until then");
        ric.handle_timeout(ms(10));
        relay(ms(10), &mut ric, &mut agent);
        assert_eq!(received(&mut agent).is_some(), refusal.is_none());
        assert_eq!(outcome(&mut ric), expected);
    }
}

#[test]
fn released_control_of_a_lost_node_fails_as_lost() {
    let (mut ric, _agent, node) = connected(0);
    let calls = mediated(&mut ric, Mediation::Hold, None);
    order(&mut ric, node);
    ric.handle_close(ms(7), ASSOC, e2::CloseReason::Transport);
    assert_eq!(calls.lock().unwrap().lost, [node]);
    ric.handle_timeout(ms(10));
    assert_eq!(outcome(&mut ric), Some(ControlOutcome::NodeLost));
}

#[test]
fn mediator_learns_that_a_consumer_is_gone() {
    let (mut ric, _agent, node) = connected(0);
    let calls = mediated(&mut ric, Mediation::Send, None);
    ric.introduce(CONSUMER, ConsumerIdentity::named("slicer"));
    order(&mut ric, node);
    ric.drop_consumer(ms(6), CONSUMER);
    assert_eq!(calls.lock().unwrap().gone, [CONSUMER]);
    assert_eq!(ric.identity(CONSUMER), None);
}

fn spec(actions: &[u8]) -> SubscriptionSpec {
    let action =
        |id: &u8| Action { id: RicActionId(*id), kind: RicActionType::Report, definition: None, subsequent: None };
    SubscriptionSpec { event_trigger: vec![1], actions: actions.iter().map(action).collect() }
}

#[test]
fn mediator_learns_what_becomes_of_subscriptions() {
    let (mut ric, mut agent, node) = connected(0);
    let calls = mediated(&mut ric, Mediation::Send, None);
    ric.introduce(CONSUMER, ConsumerIdentity::named("reader"));
    let mut answers = [true, false].into_iter();
    for ticket in 1..=2 {
        ric.subscribe(ms(5), CONSUMER, Ticket(ticket), node, FUNCTION, spec(&[ticket as u8])).unwrap();
        relay(ms(6), &mut ric, &mut agent);
        let asked = std::iter::from_fn(|| agent.poll_event()).find_map(|event| match event {
            AgentEvent::Subscribe(request) => Some(request),
            _ => None,
        });
        let request = asked.unwrap();
        match answers.next() {
            Some(true) => agent.admit(request.request_id, &[RicActionId(1)], &[]).unwrap(),
            _ => agent.refuse(request.request_id, REFUSED).unwrap(),
        }
        relay(ms(7), &mut ric, &mut agent);
    }
    ric.subscribe(ms(8), CONSUMER, Ticket(3), node, FUNCTION, spec(&[])).unwrap_err();
    let mut active = None;
    while let Some(event) = ric.poll_event() {
        if let Event::Request { event: RequestEvent::Subscribed { subscription, .. }, .. } = event {
            active = Some(subscription);
        }
    }
    ric.unsubscribe(ms(9), CONSUMER, active.unwrap()).unwrap();
    while ric.poll_event().is_some() {}
    let calls = calls.lock().unwrap();
    let steps: Vec<_> = calls.subscriptions.iter().map(|(name, what)| (name.as_deref(), &**what)).collect();
    let requested = "requested 3 of gnb-00101-e00";
    let failed = format!("failed: {:?}", SubscribeError::Refused { cause: REFUSED, actions: Vec::new() });
    let expected = [requested, requested, "refused: BadActions", "active without 0", &failed, "ended: Deleted"];
    assert_eq!(steps, expected.map(|what| (Some("reader"), what)));
}

#[test]
fn mediator_learns_of_subscriptions_that_an_e42_xapp_has_no_right_to() {
    const XAPP: AssocId = AssocId(9);
    let (mut ric, _agent, _) = connected(0);
    let calls = mediated(&mut ric, Mediation::Send, None);
    let mut host = E42Host::new(E42Version::V2, 1 << 20);
    host.handle_open(XAPP);
    host.set_rights(XAPP, Arc::new(XappRights::default()));
    let mut say = |pdu: E42Pdu<'_>| {
        let mut octets = Vec::new();
        pdu.encode(E42Version::V2, &mut octets).unwrap();
        host.handle_pdu(ms(5), XAPP, &octets, &mut ric);
    };
    let function = RanFunctionItem {
        id: RanFunctionId(2),
        definition: b"d".into(),
        revision: RanFunctionRevision(0),
        oid: Some(per::PrintableString::literal("1.2")),
    };
    say(E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function].into() }));
    let action = RicActionToBeSetup {
        id: RicActionId(1),
        kind: RicActionType::Report,
        definition: None,
        subsequent_action: None,
        execution_order: None,
    };
    say(E42Pdu::SubscriptionRequest(E42SubscriptionRequest {
        xapp_id: XappId(1),
        global_e2_node_id: e2ap::GlobalE2NodeId::gnb(
            e2ap::PlmnIdentity::from_codes(1, 1, 2),
            e2ap::GnbId::new(0xe00, 28),
        ),
        request_id: RicRequestId { requestor: 7, instance: 7 },
        ran_function_id: FUNCTION,
        details: RicSubscriptionDetails { event_trigger_definition: b"t".into(), actions: vec![action].into() },
    }));
    let refused = (Some("e42:1".into()), "not allowed: no right `read` to it".to_owned());
    assert_eq!(calls.lock().unwrap().subscriptions, [refused]);
}
