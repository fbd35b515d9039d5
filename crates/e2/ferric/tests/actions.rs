//! Subscriptions with several actions, from an app through a real server to a node's function: executed in order,
//! changed by the app, and changed by the node as far as the app agrees.

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};

use common::PATIENCE;
use common::function::{impatient, poll_agents_until};
use common::peer::{FUNCTION, OID, node_id};
use common::session::{node_id_of, poll_until, session};
use common::test_server::{Ric, free_ports};
use e2ap::{
    Cause, CauseMisc, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicTimeToWait,
    Version,
};
use ferric::agent::{
    Admission, AgentLoop, ChangeAnswer, ControlFailure, ControllerId, FunctionContext, NodeConfig, RanFunction,
    RequestKey, Views,
};
use ferric::e2::{
    Action, ActionChange, AddedAction, ChangeResult, ControlRequest, Function, Indication, Misuse, SubscriptionChange,
    SubscriptionOrder, SubscriptionRequest, SubscriptionSpec, Time,
};
use ferric::server::{Iapp, IappContext as RicHandle, IappEvent, RequestEvent};
use ferric::xapp::{Xapp, XappEvent};

const NO_ROOM: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
const NEEDED: Cause = Cause::Misc(CauseMisc::OmIntervention);

/// Admits every action but 9 and executes them in order upon the control `go`; upon the control `less` it requires the
/// removal of the actions 1 and 2.
struct Steps {
    /// The actions with their execution order.
    steps: Vec<(RicActionId, u8)>,
    key: Option<RequestKey>,
    answers: Sender<ChangeAnswer>,
}

impl RanFunction for Steps {
    fn id(&self) -> RanFunctionId {
        FUNCTION
    }

    fn definition(&self) -> Function {
        Function { id: FUNCTION, revision: RanFunctionRevision(1), oid: OID.to_owned(), definition: vec![1] }
    }

    fn subscribe(
        &mut self,
        _now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        self.key = Some(RequestKey { controller, id: request.request_id });
        let (taken, refused): (Vec<_>, Vec<_>) =
            request.actions.iter().map(|action| action.id).partition(|id| id.0 != 9);
        // actions arrive in execution order
        self.steps = (10..).step_by(10).zip(&taken).map(|(place, id)| (*id, place)).collect();
        Ok(Admission { admitted: taken, not_admitted: refused.into_iter().map(|id| (id, NO_ROOM)).collect() })
    }

    fn modify(
        &mut self,
        _now: Time,
        _key: RequestKey,
        change: &SubscriptionChange,
        _views: &Views,
    ) -> Result<ChangeResult, Cause> {
        self.steps.retain(|(id, _)| !change.remove.contains(id));
        for change in &change.modify {
            let step = self.steps.iter_mut().find(|(id, _)| *id == change.id);
            if let (Some((_, place)), Some(order)) = (step, change.execution_order) {
                *place = order;
            }
        }
        self.steps.extend(change.add.iter().map(|added| (added.action.id, added.execution_order)));
        self.steps.sort_by_key(|(_, place)| *place);
        Ok(change.all_done())
    }

    fn change_answered(&mut self, _key: RequestKey, answer: &ChangeAnswer) {
        if let ChangeAnswer::Confirmed { removed, .. } = answer {
            self.steps.retain(|(id, _)| !removed.contains(id));
        }
        self.answers.send(answer.clone()).unwrap();
    }

    fn unsubscribe(&mut self, _key: RequestKey) {
        self.key = None;
    }

    fn control(
        &mut self,
        now: Time,
        _controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let key = self.key.ok_or(NO_ROOM)?;
        match request.message.as_slice() {
            b"go" => self.steps.iter().for_each(|(id, _)| reports.report(key, *id, b"", b"").unwrap()),
            b"less" => {
                let remove = [(RicActionId(1), NO_ROOM), (RicActionId(2), NO_ROOM)];
                reports.require_change(now, key, &[(RicActionId(3), RicTimeToWait::W2s)], &remove).unwrap();
            }
            other => panic!("{other:?}"),
        }
        Ok(None)
    }
}

/// A node in a thread, which ends with its stop handle.
struct Node {
    answers: Receiver<ChangeAnswer>,
    stop: ferric::StopHandle,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Node {
    fn start(ric: &Ric) -> Node {
        let (sender, answers) = channel();
        let (endpoint, (ready, is_ready)) = (ric.e2[0].clone().into(), channel());
        let thread = std::thread::spawn(move || {
            let mut agents = AgentLoop::new(impatient()).unwrap();
            let steps = Steps { steps: Vec::new(), key: None, answers: sender };
            let config = NodeConfig { version: Some(Version::V3_01), ..NodeConfig::new(node_id(1)) };
            let node = agents.add_node(config, vec![Box::new(steps)]);
            agents.add_controller(node, endpoint);
            poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
            ready.send(agents.stop_handle()).unwrap();
            agents.run().unwrap();
        });
        Node { answers, stop: is_ready.recv().unwrap(), thread: Some(thread) }
    }

    fn answer(&self) -> ChangeAnswer {
        self.answers.recv_timeout(PATIENCE).expect("an answer to the function")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

/// The RIC expects the node to use v03.01.
fn config() -> ferric::server::ServerConfig {
    let mut config = free_ports();
    config.controller.node_versions.insert(node_id(1).to_string(), Version::V3_01);
    config
}

fn action(id: u8) -> Action {
    Action { id: RicActionId(id), kind: RicActionType::Report, definition: None, subsequent: None }
}

fn ids(ids: &[u8]) -> Vec<RicActionId> {
    ids.iter().copied().map(RicActionId).collect()
}

/// The actions 1, 2, 3 and 9; 3 is to be executed first and 1 second.
fn order() -> SubscriptionOrder {
    SubscriptionOrder {
        execution_order: vec![(RicActionId(1), 20), (RicActionId(3), 10)],
        consent: true,
        ..SubscriptionSpec { event_trigger: b"at go".to_vec(), actions: [1, 2, 3, 9].map(action).to_vec() }.into()
    }
}

/// The answer that the function expects when the removal of action 2 is refused.
fn but_2() -> ChangeAnswer {
    ChangeAnswer::Confirmed { modified: ids(&[3]), removed: ids(&[1]), refused: vec![(RicActionId(2), NEEDED)] }
}

/// Has the node execute its actions. Returns them in order.
fn go(xapp: &mut Xapp, actions: usize) -> Vec<u8> {
    let node = node_id_of(xapp, 1);
    xapp.commands().control(node, FUNCTION, b"", b"go");
    let mut done = Vec::new();
    poll_until(xapp, |event| {
        if let XappEvent::Indication(indication) = event {
            done.push(indication.peek().unwrap().action_id.0);
        }
        (done.len() == actions).then_some(())
    });
    done
}

#[test]
fn actions_of_an_xapp_are_ordered_and_changed_with_its_consent() {
    let ric = Ric::start(config());
    let node = Node::start(&ric);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    xapp.commands().subscribe(id, FUNCTION, order());
    let (subscription, admitted, not_admitted) = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { subscription, admitted, not_admitted, .. }) => {
            Some((subscription, admitted, not_admitted))
        }
        _ => None,
    });
    assert_eq!((admitted, not_admitted), (ids(&[1, 2, 3]), vec![(RicActionId(9), NO_ROOM)]));
    assert_eq!(go(&mut xapp, 3), [3, 1, 2]);

    // the node requires the removal of two actions; the xApp agrees to one
    xapp.commands().control(id, FUNCTION, b"", b"less");
    let required = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::ChangeRequired { subscription: of, remove, modify }) if of == subscription => {
            Some((remove, modify))
        }
        _ => None,
    });
    let removals = vec![(RicActionId(1), NO_ROOM), (RicActionId(2), NO_ROOM)];
    assert_eq!(required, (removals, vec![(RicActionId(3), RicTimeToWait::W2s)]));
    xapp.commands().answer_change(subscription, &[(RicActionId(2), NEEDED)]);
    let changed = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionChanged { removed, modified, .. }) => Some((removed, modified)),
        _ => None,
    });
    assert_eq!(changed, (vec![(RicActionId(1), NO_ROOM)], vec![(RicActionId(3), RicTimeToWait::W2s)]));
    assert_eq!(node.answer(), but_2());

    // the xApp modifies the subscription
    let moved = ActionChange { id: RicActionId(3), definition: None, execution_order: Some(99), subsequent: None };
    let change = SubscriptionChange {
        modify: vec![moved],
        remove: ids(&[1]),
        add: vec![AddedAction { action: action(4), execution_order: 5 }],
        ..SubscriptionChange::default()
    };
    let modify = |xapp: &mut Xapp, change: SubscriptionChange| {
        xapp.commands().modify(subscription, change);
        poll_until(xapp, |event| match event {
            XappEvent::Request(RequestEvent::Modified { outcome: result, .. }) => Some(result),
            _ => None,
        })
    };
    use ferric::e2::{ModifyOutcome, RefusalCode};
    let result = modify(&mut xapp, change.clone());
    assert_eq!(result, ModifyOutcome::Misuse(RefusalCode::BadActions), "1 is gone");
    let change = SubscriptionChange { remove: Vec::new(), ..change };
    let done = change.all_done();
    assert_eq!(modify(&mut xapp, change), ModifyOutcome::Done(done));
    assert_eq!(go(&mut xapp, 3), [4, 2, 3]);
    xapp.commands().unsubscribe(subscription);
    poll_until(&mut xapp, |event| {
        matches!(event, XappEvent::Request(RequestEvent::SubscriptionEnded { .. })).then_some(())
    });
}

/// Subscribes at each node, and refuses the removal of action 2.
struct Chooser(Sender<String>);

impl Iapp for Chooser {
    fn name(&self) -> &str {
        "chooser"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut RicHandle<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                ric.subscribe(node.id, FUNCTION, order()).unwrap();
            }
            IappEvent::Request(RequestEvent::Subscribed { subscription, admitted, .. }) => {
                self.0.send(format!("subscribed {admitted:?}")).unwrap();
                assert_eq!(ric.answer_change(*subscription, &[]), Err(Misuse::UnknownSubscription));
                let node = ric.nodes().next().unwrap().id;
                ric.control(node, FUNCTION, b"", b"go").unwrap();
                ric.control(node, FUNCTION, b"", b"less").unwrap();
            }
            IappEvent::Request(RequestEvent::ChangeRequired { subscription, .. }) => {
                assert_eq!(ric.answer_change(*subscription, &[(RicActionId(7), NEEDED)]), Err(Misuse::BadActions));
                ric.answer_change(*subscription, &[(RicActionId(2), NEEDED)]).unwrap();
            }
            IappEvent::Request(RequestEvent::SubscriptionChanged { removed, .. }) => {
                self.0.send(format!("lost {removed:?}")).unwrap()
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _ric: &mut RicHandle<'_>) {
        self.0.send(format!("action {}", indication.action_id.0)).unwrap();
    }
}

#[test]
fn actions_of_an_iapp_are_ordered_and_changed_with_its_consent() {
    let (sender, events) = channel();
    let ric = Ric::with_iapps(config(), || vec![Box::new(Chooser(sender))]);
    let node = Node::start(&ric);
    assert_eq!(node.answer(), but_2());
    let events: Vec<_> = (0..5).map(|_| events.recv_timeout(PATIENCE).unwrap()).collect();
    assert_eq!(events[0], format!("subscribed {:?}", ids(&[1, 2, 3])));
    assert_eq!(events[1..4], ["action 3", "action 1", "action 2"]);
    assert_eq!(events[4], format!("lost {:?}", [(RicActionId(1), NO_ROOM)]));
}
