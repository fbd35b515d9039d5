//! The ends of controls, for the log: their content is kept up to a limit.

use std::time::Duration;

use e2::{
    Agent, AgentConfig, AgentEvent, AssocId, Consumer, ControlOutcome, Controller, ControllerConfig, EndedControl,
    Event, Function, NodeId, Ticket, Time,
};
use e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision};

const FUNCTION: RanFunctionId = RanFunctionId(3);
const ASSOC: AssocId = AssocId(1);

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A controller with a node that is up.
fn connected(kept_control_octets: usize) -> (Controller, Agent, NodeId) {
    let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 28));
    let rc = Function { id: FUNCTION, revision: RanFunctionRevision(1), oid: "1.2.3".into(), definition: vec![0] };
    let mut agent = Agent::new(AgentConfig::new(node, vec![rc]));
    let mut ric = Controller::new(ControllerConfig { kept_control_octets, ..ControllerConfig::default() });
    assert_eq!(agent.poll_event(), Some(AgentEvent::Connect));
    ric.handle_open(ms(0), ASSOC);
    agent.handle_open(ms(0));
    relay(ms(0), &mut ric, &mut agent);
    let Some(Event::NodeUp(id)) = ric.poll_event() else { panic!("no setup") };
    (ric, agent, id)
}

/// Carries messages between both until there are none.
fn relay(now: Time, ric: &mut Controller, agent: &mut Agent) {
    loop {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        if agent.poll_transmit(&mut up) {
            ric.handle_pdu(now, ASSOC, &up);
        } else if ric.poll_transmit(&mut down).is_some() {
            agent.handle_pdu(now, &down);
        } else {
            return;
        }
    }
}

fn ended(ric: &mut Controller) -> Option<EndedControl> {
    match ric.poll_event()? {
        Event::ControlEnded(ended) => {
            assert!(matches!(ric.poll_event(), Some(Event::Request { .. })), "the consumer gets its event after it");
            Some(*ended)
        }
        Event::Request { .. } | Event::NodeLost { .. } => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ended_control_has_its_content_and_duration() {
    let (mut ric, mut agent, node) = connected(100);
    ric.control(ms(5), Consumer(7), Ticket(1), node, FUNCTION, b"header", b"message", None, true).unwrap();
    relay(ms(6), &mut ric, &mut agent);
    let request = loop {
        if let AgentEvent::Control(request) = agent.poll_event().unwrap() {
            break request;
        }
    };
    agent.acknowledge(request.request_id, None).unwrap();
    relay(ms(7), &mut ric, &mut agent);
    let ended = ended(&mut ric).unwrap();
    assert_eq!((ended.consumer, ended.node, ended.function), (Consumer(7), node, FUNCTION));
    assert_eq!(ended.content.as_deref(), Some(&(b"header".to_vec(), b"message".to_vec())));
    assert_eq!(ended.duration, Duration::from_millis(2));
    assert_eq!(ended.outcome, ControlOutcome::Acknowledged(None));
}

#[test]
fn content_beyond_the_limit_is_not_kept_and_what_ends_makes_room() {
    let (mut ric, _agent, node) = connected(20);
    let control = |ric: &mut Controller, consumer, ticket| {
        ric.control(ms(5), Consumer(consumer), Ticket(ticket), node, FUNCTION, b"123", b"456", None, true).unwrap();
    };
    control(&mut ric, 1, 1);
    control(&mut ric, 1, 2);
    ric.drop_consumer(ms(6), Consumer(1));
    control(&mut ric, 2, 1);
    control(&mut ric, 2, 2);
    control(&mut ric, 3, 1);
    control(&mut ric, 4, 1);
    ric.handle_close(ms(7), ASSOC, e2::CloseReason::Transport);
    let kept: Vec<bool> = std::iter::from_fn(|| ended(&mut ric)).map(|ended| ended.content.is_some()).collect();
    assert_eq!(
        kept,
        [true, false, true, false],
        "the second exceeds its consumer's share; another one has its own while there is room; those of the dropped are gone"
    );
}

#[test]
fn nothing_is_reported_without_a_limit() {
    let (mut ric, _agent, node) = connected(0);
    ric.control(ms(5), Consumer(1), Ticket(1), node, FUNCTION, b"", b"", None, true).unwrap();
    ric.handle_close(ms(7), ASSOC, e2::CloseReason::Transport);
    assert_eq!(ended(&mut ric), None);
}
