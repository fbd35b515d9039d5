//! Services that share their subscriptions and their latest state by a real Kafka.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rest::MessageService;
use rnis::{
    AssociateId, AssociateIdType, Cell, CellMeasurements, Change, Collecting, Criteria, Delivery, DeliveryConfig,
    Event, HandoverStatus, Kafka, KafkaConfig, KafkaLog, KafkaTopology, NewSubscription, Service, Subscription,
    SubscriptionError, Target, Topic, UeIds, UeState, WebSocketSession,
};
use support::{Server, accept};
use testkit::MessageBroker;
use testkit::eventually;

fn start(kafka: &MessageBroker, prefix: &str) -> Arc<Service> {
    let topology = KafkaTopology::Shared { partitions: 4 };
    let config = KafkaConfig { servers: kafka.address(), topology, is_acknowledged: true, prefix: prefix.into() };
    let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
    let connect = |sink| Kafka::start(config.clone(), sink).map(|broker| Box::new(broker) as Box<dyn rnis::Broker>);
    let service = Arc::new(Service::new(delivery, connect).unwrap());
    service.replicate(Box::new(KafkaLog::start(&config).unwrap())).unwrap();
    service
}

fn new(document: &str, target: Target) -> NewSubscription {
    let mut new = NewSubscription::new("app", Criteria::all(Topic::CellChange), target);
    new.subscription.document = document.into();
    new
}

fn event(number: u64) -> Event {
    let plmn = "00101".parse().unwrap();
    let change = Change::CellChange { targets: vec![Cell::nr(plmn, 2)], status: HandoverStatus::Completed };
    let ue = AssociateId { kind: AssociateIdType::UeIpv4, value: format!("10.45.0.{}", number % 8) };
    let ue = UeIds { associate_ids: vec![ue], temporary: None, slices: Vec::new() };
    Event { received_ns: number * 1_000_000_000, cell: Cell::nr(plmn, 1), ue, change }
}

fn documents(service: &Service) -> Vec<String> {
    service.find(|_| true).iter().map(|(_, subscription)| subscription.document.to_string()).collect()
}

/// Changes subscriptions at two services, concurrently too.
fn changes(kafka: &MessageBroker) {
    let (first, second) = (start(kafka, "changes"), start(kafka, "changes"));
    let target = || Target::callback("http://127.0.0.1:1/", "}").unwrap();
    let (key, _) = first.subscribe(|_| new("0", target())).unwrap();
    let (other, _) = second.subscribe(|_| new("other", target())).unwrap();
    assert_ne!(key, other);
    second.catch_up().unwrap();
    // of two changes of the same state one is made, and both services agree which
    for round in 1..=20 {
        let seen: Arc<Subscription> = first.subscription(key).unwrap();
        second.catch_up().unwrap();
        let change = |service: &Arc<Service>, who: &str| {
            let (service, seen) = (Arc::clone(service), Arc::clone(&seen));
            let new = new(&format!("{round} by {who}"), target());
            std::thread::spawn(move || service.change(key, new, Some(&seen)))
        };
        let (a, b) = (change(&first, "first"), change(&second, "second"));
        let results = [a.join().unwrap(), b.join().unwrap()];
        let made = results.iter().filter(|result| matches!(result, Ok(true))).count();
        let refused = results.iter().filter(|result| matches!(result, Err(SubscriptionError::Changed))).count();
        assert_eq!((made, refused), (1, 1), "{results:?}");
        first.catch_up().unwrap();
        second.catch_up().unwrap();
        let now = first.subscription(key).unwrap();
        assert_eq!(now.document, second.subscription(key).unwrap().document);
        assert_eq!(now.document.ends_with("first"), matches!(results[0], Ok(true)));
    }
    // changes without a condition are all made
    assert!(second.change(key, new("last", target()), None).unwrap());
    assert!(first.unsubscribe(other).unwrap() && !second.unsubscribe(other).unwrap());
    // a change that a process makes of what another one has ended has no effect
    assert!(!second.change(other, new("late", target()), None).unwrap());
    let documents_of_first = documents(&first);
    drop(first);
    // the last process ends, and another one has what it had; a number is not used again
    drop(second);
    let third = start(kafka, "changes");
    assert_eq!((documents(&third), documents_of_first), (vec!["last".to_owned()], vec!["last".to_owned()]));
    let (newest, _) = third.subscribe(|_| new("newest", target())).unwrap();
    assert!(newest > key && newest > other);
}

/// A deadline has one notice and one end, whichever service leads.
fn deadlines(kafka: &MessageBroker) {
    let server = Server::start(accept);
    let (first, second) = (start(kafka, "deadlines"), start(kafka, "deadlines"));
    let with_deadline = || {
        let mut new = new("short", server.target("/"));
        new.subscription.deadline = Some(rnis::model::TimeStamp::after(Duration::from_secs(4)));
        new
    };
    let (key, _) = first.subscribe(|_| with_deadline()).unwrap();
    let (second_key, _) = second.subscribe(|_| with_deadline()).unwrap();
    eventually("both are over at both", || {
        [&first, &second]
            .iter()
            .all(|service| [key, second_key].iter().all(|key| service.delivery_state(*key).is_none()))
    });
    assert!(first.subscription(key).is_none() && second.subscription(second_key).is_none());
    let posts = server.posts();
    let notices = posts.iter().filter(|post| post.body.contains("ExpiryNotification")).count();
    assert_eq!((notices, posts.len()), (2, 2), "{posts:?}");
}

/// Reads a WebSocket until an event arrives; answers everything.
fn read_until(session: &mut WebSocketSession, number: u64, seen: &mut Vec<u64>) {
    let end = Instant::now() + Duration::from_secs(60);
    while seen.last() != Some(&number) && !seen.contains(&number) {
        assert!(Instant::now() < end, "event {number} does not arrive: {seen:?}");
        let Poll::Ready(message) = session.poll_next(&mut Context::from_waker(Waker::noop())) else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        let message = message.expect("the session goes on");
        let text = String::from_utf8_lossy(&message);
        let body: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        seen.push(body["timeStamp"]["seconds"].as_u64().unwrap());
        let answer = [&message[..b"3GPP-WS-Notif-Seq: ".len() + 4], b"\r\nHTTP/1.1 204 No Content\r\n\r\n"].concat();
        session.receive(&answer).unwrap();
    }
}

/// A WebSocket has the events of all partitions, at the service where it is open.
fn websockets(kafka: &MessageBroker) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let (first, second) = (start(kafka, "websockets"), start(kafka, "websockets"));
    let server = Server::start(accept);
    let (key, _) = first.subscribe(|_| new("ws", Target::websocket("}"))).unwrap();
    second.subscribe(|_| new("callback", server.target("/"))).unwrap();
    first.catch_up().unwrap();
    let mut session = first.open_websocket(key).unwrap();
    (1..=40).for_each(|number| second.publish(event(number)));
    let mut seen = Vec::new();
    (1..=40).for_each(|number| read_until(&mut session, number, &mut seen));
    assert_eq!(seen.len(), 40, "each once: {seen:?}");
    // the client goes to another process
    second.catch_up().unwrap();
    drop(session);
    let mut session = second.open_websocket(key).unwrap();
    eventually("the first one lets it go", || first.delivery_state(key).is_none());
    // the other process may need a moment to follow all partitions
    let mut seen = Vec::new();
    std::thread::sleep(Duration::from_secs(2));
    (101..=140).for_each(|number| first.publish(event(number)));
    (101..=140).for_each(|number| read_until(&mut session, number, &mut seen));
    assert_eq!(seen.len(), 40, "each once: {seen:?}");
    let bodies = || server.posts().iter().map(|post| post.body.clone()).collect::<BTreeSet<_>>();
    eventually("callbacks have each event", || bodies().len() == 80);
    std::thread::sleep(Duration::from_millis(300));
    // what lay in a partition when it was assigned is marked
    let marked = server.posts().iter().filter(|post| post.is_redelivered).count();
    assert!(server.posts().len() <= 80 + marked && bodies().len() == 80, "{} posts", server.posts().len());
}

/// The latest state is that of the process that collects.
fn states(kafka: &MessageBroker) {
    let (first, second) = (start(kafka, "states"), start(kafka, "states"));
    eventually("one leads", || first.is_leader() || second.is_leader());
    assert!(!(first.is_leader() && second.is_leader()));
    let (leader, other) = if first.is_leader() { (first, second) } else { (second, first) };
    leader.set_collecting(Some(Collecting::Alone));
    let cell = Cell::nr("00101".parse().unwrap(), 7);
    leader.update(|state| {
        state.cells.insert(cell, CellMeasurements::default());
        state.ues.insert("amf:1".into(), UeState { cell: Some(cell), ..UeState::default() });
        state.ues.insert("amf:2".into(), UeState::default());
    });
    eventually("the other one has the state", || {
        other.read(|state| state.cells.contains_key(&cell) && state.ues["amf:1"].cell == Some(cell))
    });
    leader.update(|state| drop(state.ues.remove("amf:2")));
    eventually("what is gone is gone", || other.read(|state| !state.ues.contains_key("amf:2")));
    // the leader ends: the other one leads, and a process that starts has the state
    drop(leader);
    eventually("the other one leads", || other.is_leader());
    let third = start(kafka, "states");
    eventually("a new one has the state", || third.read(|state| state.ues.len() == 1));
    assert!(!third.is_leader(), "it stays with the one that has it");
    // what the new leader does not find is gone for all
    other.set_collecting(Some(Collecting::Alone));
    eventually("nothing is left", || third.read(|state| state.ues.is_empty() && state.cells.is_empty()));
}

#[test]
fn services_share_subscriptions_deadlines_websockets_and_state() {
    let Some(kafka) = MessageBroker::kafka("replicas") else { return };
    changes(&kafka);
    deadlines(&kafka);
    websockets(&kafka);
    states(&kafka);
}
