//! Clock jumps: forward by years, as after a suspended host, and backward, which a monotonic clock must not do. Time limits
//! expire once, and both sides continue.

use core::time::Duration;

use e2::{
    Agent, AgentConfig, AgentEvent, AssocId, CloseReason, Consumer, ControlOutcome, Controller, ControllerConfig,
    Event, Function, NodeId, RequestEvent, SubscribeError, SubscriptionSpec, Ticket, Time,
};
use e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType};

const ASSOC: AssocId = AssocId(1);
const FUNCTION: RanFunctionId = RanFunctionId(2);
const YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

struct Pair {
    ric: Controller,
    agent: Agent,
    now: Time,
}

impl Pair {
    fn new() -> Pair {
        let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(7, 22));
        let function = Function {
            id: FUNCTION,
            revision: RanFunctionRevision(1),
            oid: "1.3.6.1.4.1.32473.1.7".into(),
            definition: vec![1],
        };
        let mut pair = Pair {
            ric: Controller::new(ControllerConfig::default()),
            agent: Agent::new(AgentConfig::new(node, vec![function])),
            now: Time::from_nanos(1_000_000_000_000),
        };
        pair.connect();
        pair
    }

    fn connect(&mut self) {
        self.ric.handle_open(self.now, ASSOC);
        self.agent.handle_open(self.now);
        self.exchange();
        assert!(self.agent.is_up());
    }

    /// Delivers PDUs until neither side sends.
    fn exchange(&mut self) {
        let mut pdu = Vec::new();
        loop {
            pdu.clear();
            if self.agent.poll_transmit(&mut pdu) {
                self.ric.handle_pdu(self.now, ASSOC, &pdu);
            } else if self.ric.poll_transmit(&mut pdu).is_some() {
                self.agent.handle_pdu(self.now, &pdu);
            } else {
                return;
            }
        }
    }

    fn node(&self) -> NodeId {
        self.ric.nodes().next().expect("a node is connected").id
    }

    fn subscribe(&mut self, ticket: u32) {
        let action = e2::Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
        let spec = SubscriptionSpec { event_trigger: ticket.to_be_bytes().to_vec(), actions: vec![action] };
        self.ric.subscribe(self.now, Consumer(1), Ticket(ticket), self.node(), FUNCTION, spec).unwrap();
    }

    fn control(&mut self, ticket: u32) {
        let node = self.node();
        self.ric.control(self.now, Consumer(1), Ticket(ticket), node, FUNCTION, b"h", b"m", None, true).unwrap();
    }

    /// Has the agent admit the subscription that it received last.
    fn admit_last(&mut self) {
        let asked = std::iter::from_fn(|| self.agent.poll_event())
            .filter_map(
                |event| if let AgentEvent::Subscribe(request) = event { Some(request.request_id) } else { None },
            )
            .last();
        self.agent.admit(asked.expect("the agent received the subscription"), &[RicActionId(1)], &[]).unwrap();
        self.exchange();
    }

    /// Calls the timeout handlers of both sides.
    fn tick(&mut self) {
        self.ric.handle_timeout(self.now);
        self.agent.handle_timeout(self.now);
    }

    fn ric_events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.ric.poll_event()).collect()
    }
}

#[test]
fn forward_clock_jump_times_out_requests_once() {
    let mut pair = Pair::new();
    pair.ric_events();
    pair.subscribe(1);
    pair.control(2);
    // no PDU arrives; then the host resumes
    let mut lost = Vec::new();
    while pair.ric.poll_transmit(&mut lost).is_some() {}
    pair.now = pair.now + YEARS;
    pair.tick();
    let events = pair.ric_events();
    let failed = |event: &&Event| {
        matches!(
            event,
            Event::Request { event: RequestEvent::SubscriptionFailed { error: SubscribeError::TimedOut, .. }, .. }
        )
    };
    let timed_out = |event: &&Event| {
        matches!(
            event,
            Event::Request { event: RequestEvent::Controlled { outcome: ControlOutcome::TimedOut, .. }, .. }
        )
    };
    assert_eq!((events.iter().filter(failed).count(), events.iter().filter(timed_out).count()), (1, 1), "{events:?}");
    // only once
    pair.tick();
    assert!(!pair.ric_events().iter().any(|event| failed(&event) || timed_out(&event)));

    // the association has not ended and still works
    pair.exchange();
    pair.ric_events();
    pair.subscribe(3);
    pair.exchange();
    pair.admit_last();
    assert!(pair.ric_events().iter().any(|event| matches!(
        event,
        Event::Request { event: RequestEvent::Subscribed { ticket: Ticket(3), .. }, .. }
    )));
}

#[test]
fn answered_requests_leave_no_deadline() {
    let mut pair = Pair::new();
    assert_eq!(pair.ric.poll_timeout(), None, "the setup is complete");
    pair.subscribe(1);
    assert!(pair.ric.poll_timeout().is_some(), "the subscription has a time limit");
    pair.exchange();
    pair.admit_last();
    assert_eq!(pair.ric.poll_timeout(), None, "the subscription is answered");
}

#[test]
fn backward_clock_jump_times_out_requests() {
    let mut pair = Pair::new();
    let before = pair.now;
    pair.subscribe(1);
    pair.now = Time::from_nanos(0);
    pair.tick();
    pair.exchange();
    pair.control(2);
    pair.exchange();
    // all time limits set before and after the jump expire once the clock has passed both
    pair.now = before + Duration::from_secs(60);
    for _ in 0..3 {
        pair.tick();
        pair.exchange();
    }
    let events = pair.ric_events();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Request { event: RequestEvent::SubscriptionFailed { .. }, .. })),
        "{events:?}"
    );
    assert!(
        events.iter().any(|event| matches!(event, Event::Request { event: RequestEvent::Controlled { .. }, .. })),
        "{events:?}"
    );
    assert!(pair.ric.poll_timeout().is_none_or(|due| due > pair.now), "no expired timer is left");
}

#[test]
fn both_sides_work_after_random_clock_jumps() {
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut pair = Pair::new();
    for round in 0..2000 {
        pair.now = Time::from_nanos(match next(4) {
            0 => next(1 << 40),
            1 => u64::MAX - next(1 << 40),
            _ => pair.now.as_nanos().saturating_add(next(1 << 33)),
        });
        pair.tick();
        if pair.ric.nodes().next().is_none() || !pair.agent.is_up() {
            // a timeout has closed the association at one end: reconnect
            pair.ric.handle_close(pair.now, ASSOC, CloseReason::Transport);
            pair.agent.handle_close(pair.now, CloseReason::Transport);
            pair.connect();
        }
        match next(3) {
            0 => pair.subscribe(round),
            1 => pair.control(round),
            _ => {}
        }
        if next(2) == 0 {
            pair.exchange();
        }
        while pair.agent.poll_event().is_some() {}
        pair.ric_events();
        if pair.ric.requests_of(Consumer(1)) > 100 {
            pair.ric.drop_consumer(pair.now, Consumer(1));
        }
    }
}
