//! Subscriptions that a RAN function answers later: its reports follow its answer, and a deleted subscription is not answered.

mod common;

use std::collections::VecDeque;
use std::time::Duration;

use common::function::{impatient, poll_agents_until};
use common::peer::{FUNCTION, OID, node_id};
use common::session::{node_id_of, poll_until, session};
use common::test_server::{Ric, free_ports};
use e2ap::{Cause, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType};
use ferric::agent::{Admission, AgentLoop, ControllerId, FunctionContext, NodeConfig, RanFunction, RequestKey, Views};
use ferric::e2::{Action, AgentMisuse, Function, SubscribeError, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

const NO_ROOM: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
/// How long the function takes to answer.
const DELAY: Duration = Duration::from_millis(30);

/// Admits action 1 after a while, and reports at once then; refuses the event trigger `refuse`.
#[derive(Default)]
struct Slow {
    pending: VecDeque<(Time, RequestKey, Vec<u8>)>,
}

impl RanFunction for Slow {
    fn id(&self) -> RanFunctionId {
        FUNCTION
    }

    fn definition(&self) -> Function {
        Function { id: FUNCTION, revision: RanFunctionRevision(1), oid: OID.to_owned(), definition: vec![1] }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let key = RequestKey { controller, id: request.request_id };
        self.pending.push_back((now + DELAY, key, request.event_trigger.clone()));
        Ok(Admission::deferred())
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.pending.retain(|(_, pending, _)| *pending != key);
    }

    fn next_report(&self) -> Option<Time> {
        self.pending.front().map(|(due, ..)| *due)
    }

    fn report(&mut self, _: Time, context: &mut FunctionContext<'_>) {
        let Some((_, key, trigger)) = self.pending.pop_front() else { return };
        if trigger == b"refuse" {
            context.answer_subscription(key, Err(NO_ROOM)).unwrap();
            return;
        }
        // nothing is active before the answer
        assert!(context.report(key, RicActionId(1), b"", b"early").is_err());
        let empty = context.answer_subscription(key, Ok(Admission::deferred()));
        assert_eq!(empty, Err(AgentMisuse::BadActions), "no action is admitted");
        let admission = Admission { admitted: vec![RicActionId(1)], not_admitted: vec![(RicActionId(2), NO_ROOM)] };
        context.answer_subscription(key, Ok(admission.clone())).unwrap();
        assert_eq!(context.answer_subscription(key, Ok(admission)), Err(AgentMisuse::UnknownRequest), "answered");
        context.report(key, RicActionId(1), b"", b"at once").unwrap();
    }
}

fn subscribe(xapp: &mut Xapp, trigger: &[u8]) {
    let node = node_id_of(xapp, 1);
    let action = |id| Action { id: RicActionId(id), kind: RicActionType::Report, definition: None, subsequent: None };
    let spec = SubscriptionSpec { event_trigger: trigger.to_vec(), actions: vec![action(1), action(2)] };
    xapp.commands().subscribe(node, FUNCTION, spec);
}

#[test]
fn answer_precedes_the_reports() {
    let ric = Ric::start(free_ports());
    let endpoint = ric.e2[0].clone().into();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let node = std::thread::spawn(move || {
        let mut agents = AgentLoop::new(impatient()).unwrap();
        let node = agents.add_node(NodeConfig::new(node_id(1)), vec![Box::new(Slow::default())]);
        agents.add_controller(node, endpoint);
        poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
        ready.send(agents.stop_handle()).unwrap();
        agents.run().unwrap();
    });
    let stop = is_ready.recv().unwrap();
    let mut xapp = session(&ric);
    subscribe(&mut xapp, b"trigger");
    let mut answered = None;
    let message = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { admitted, not_admitted, .. }) => {
            answered = Some((admitted, not_admitted));
            None
        }
        XappEvent::Indication(indication) => Some(indication.peek().unwrap().message.to_vec()),
        _ => None,
    });
    assert_eq!(message, b"at once");
    assert_eq!(answered, Some((vec![RicActionId(1)], vec![(RicActionId(2), NO_ROOM)])));

    subscribe(&mut xapp, b"refuse");
    let error = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => Some(error),
        _ => None,
    });
    assert!(matches!(error, SubscribeError::Refused { cause: NO_ROOM, .. }), "{error:?}");
    stop.stop();
    node.join().unwrap();
}
