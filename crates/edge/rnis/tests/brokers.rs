//! The brokers, with real servers: `crates/edge/rnis/brokers/run cargo test -p ferric-rnis --test brokers`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rnis::{
    AssociateId, AssociateIdType, Audience, Broker, Cell, Change, Criteria, Event, HandoverStatus, Kafka, KafkaConfig,
    KafkaTopology, Key, RabbitMq, RabbitMqConfig, Received, Sink, Topic, Topology, UeIds,
};
use testkit::MessageBroker;

/// Longer than a broker needs to start again and its clients to connect.
const PATIENCE: Duration = Duration::from_secs(120);

/// Keeps what it receives: by the number of the event, how often, and how often marked as delivered before.
#[derive(Default)]
struct Record(Mutex<BTreeMap<u64, (Vec<String>, u32)>>);

impl Sink for Record {
    fn receive(&self, received: Received) {
        let mut events = self.0.lock().unwrap();
        let entry = events.entry(received.event.received_ns).or_default();
        entry.0.push(match &received.audience {
            Audience::All => "all".into(),
            Audience::WebSockets => "websockets".into(),
            Audience::Subscriber(subscriber) => subscriber.to_string(),
            Audience::Subscriptions(keys) => format!("{:?}", keys.iter().map(|key| key.0).collect::<Vec<_>>()),
        });
        entry.1 += u32::from(received.is_redelivered);
    }
}

impl Record {
    /// Who has received an event.
    fn receivers(&self, number: u64) -> Vec<String> {
        let mut receivers = self.0.lock().unwrap().get(&number).map(|entry| entry.0.clone()).unwrap_or_default();
        receivers.sort();
        receivers
    }

    #[track_caller]
    fn wait(&self, what: &str, mut is_met: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_met(self) {
            assert!(Instant::now() < end, "{what}: {} events", self.0.lock().unwrap().len());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn plmn() -> ids::PlmnIdentity {
    "00101".parse().unwrap()
}

fn ue(number: u8) -> AssociateId {
    AssociateId { kind: AssociateIdType::UeIpv4, value: format!("10.45.0.{number}") }
}

/// The change of a UE's cell; the number takes the place of the time.
fn event(number: u64, ue_number: u8, cell: u64) -> Arc<Event> {
    let change = Change::CellChange { targets: vec![Cell::nr(plmn(), cell + 1)], status: HandoverStatus::Completed };
    let ue = UeIds { associate_ids: vec![ue(ue_number)], temporary: None, slices: Vec::new() };
    Arc::new(Event { received_ns: number, cell: Cell::nr(plmn(), cell), ue, change })
}

fn rabbitmq(address: &str, topology: Topology, is_acknowledged: bool, sink: &Arc<Record>) -> RabbitMq {
    let config = RabbitMqConfig {
        url: format!("amqp://guest:guest@{address}/%2f"),
        topology,
        is_acknowledged,
        prefix: "test".into(),
    };
    RabbitMq::start(config, Arc::<Record>::clone(sink)).unwrap()
}

/// Waits until what is published is received.
#[track_caller]
fn wait_for_connection(broker: &dyn Broker, record: &Record) {
    let mut number = 1_000_000;
    record.wait("connection", |record| {
        number += 1;
        let _ = broker.publish(&event(number, 9, 99));
        !record.0.lock().unwrap().is_empty()
    });
    record.0.lock().unwrap().clear();
}

/// Subscriptions of two subscribers: cell 5, UE 1 there, and everything else by `third`.
fn subscriptions() -> [(Key, &'static str, Criteria); 3] {
    let all = Criteria::all(Topic::CellChange);
    let in_cell = Criteria { cells: vec![Cell::nr(plmn(), 5), Cell::nr(plmn(), 70)], ..all.clone() };
    let of_ue = Criteria { ues: vec![ue(1)], ..in_cell.clone() };
    [(Key(1), "first", in_cell), (Key(2), "second", of_ue), (Key(3), "third", all)]
}

/// Events reach those who have subscribed to them, and no one after the end of the subscription.
fn topology_of_subscribers(broker: &dyn Broker, record: &Record, names: [&str; 3]) {
    for (key, subscriber, criteria) in &subscriptions() {
        broker.subscribe(*key, subscriber, criteria).unwrap();
    }
    broker.publish(&event(1, 1, 5)).unwrap();
    broker.publish(&event(2, 2, 5)).unwrap();
    broker.publish(&event(3, 1, 20)).unwrap();
    // the target of a cell change counts as its source does
    broker.publish(&event(4, 2, 69)).unwrap();
    broker.publish(&event(5, 2, 30)).unwrap();
    record.wait("five events", |record| (1..=5).all(|number| record.receivers(number).contains(&names[2].to_owned())));
    // each subscriber has a consumer of its own: that one has received its last event says nothing of the others
    record.wait("the last of the first", |record| record.receivers(4).len() == 2);
    record.wait("the only one of the second", |record| record.receivers(1).len() == 3);
    let [first, second, third] = names.map(str::to_owned);
    let mut of_all = vec![first.clone(), second, third.clone()];
    of_all.sort();
    let mut of_cell = vec![first, third];
    of_cell.sort();
    assert_eq!(record.receivers(1), of_all);
    assert_eq!(record.receivers(2), of_cell);
    assert_eq!(record.receivers(3), [names[2]]);
    assert_eq!(record.receivers(4), of_cell);
    assert_eq!(record.receivers(5), [names[2]]);
    for (key, ..) in &subscriptions()[..2] {
        broker.unsubscribe(*key);
    }
    std::thread::sleep(Duration::from_millis(500));
    broker.publish(&event(6, 1, 5)).unwrap();
    record.wait("the last event", |record| !record.receivers(6).is_empty());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(record.receivers(6), [names[2]]);
}

/// Publishes events while the server is killed and started again: all of them arrive.
fn kill_loses_nothing(server: &mut MessageBroker, broker: &dyn Broker, record: &Record) {
    const EVENTS: u64 = 600;
    for number in 1..=EVENTS {
        broker.publish(&event(number, (number % 7) as u8, number % 11)).unwrap();
        if number == EVENTS / 3 {
            server.kill();
        }
        if number == EVENTS * 2 / 3 {
            server.restart();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    record.wait("all events", |record| (1..=EVENTS).all(|number| !record.receivers(number).is_empty()));
    // what came again is marked, all but the first delivery of each
    let events = record.0.lock().unwrap();
    for (number, (receivers, marked)) in events.iter() {
        let times = receivers.len() as u32;
        assert!(times <= 1 + marked, "event {number} came {times} times and was marked {marked} times");
    }
    assert_eq!(broker.counts().lost, 0);
}

#[test]
fn rabbitmq_routes_by_headers_and_loses_nothing_when_it_is_killed() {
    let Some(mut server) = MessageBroker::rabbitmq("rabbitmq") else { return };
    let address = server.address();

    let record = Arc::new(Record::default());
    let broker = rabbitmq(&address, Topology::Shared, false, &record);
    wait_for_connection(&broker, &record);
    broker.publish(&event(1, 1, 5)).unwrap();
    record.wait("an event", |record| record.receivers(1) == ["all"]);
    drop(broker);

    for is_acknowledged in [false, true] {
        let record = Arc::new(Record::default());
        let broker = rabbitmq(&address, Topology::PerSubscriber, is_acknowledged, &record);
        while broker.counts().connections == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        topology_of_subscribers(&broker, &record, ["first", "second", "third"]);
        // a subscription that changes its subscriber leaves the former queue
        broker.subscribe(Key(3), "other", &Criteria::all(Topic::CellChange)).unwrap();
        broker.publish(&event(7, 1, 5)).unwrap();
        record.wait("an event of the other", |record| !record.receivers(7).is_empty());
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(record.receivers(7), ["other"]);
    }

    let record = Arc::new(Record::default());
    let broker = rabbitmq(&address, Topology::Shared, true, &record);
    wait_for_connection(&broker, &record);
    kill_loses_nothing(&mut server, &broker, &record);
    assert!(broker.counts().connections >= 2, "{:?}", broker.counts());
}

#[test]
fn kafka_routes_by_topics_and_loses_nothing_when_it_is_killed() {
    let Some(mut server) = MessageBroker::kafka("kafka") else { return };
    let start = |topology, is_acknowledged, prefix: &str, record: &Arc<Record>| {
        let config = KafkaConfig { servers: server.address(), topology, is_acknowledged, prefix: prefix.into() };
        Kafka::start(config, Arc::<Record>::clone(record)).unwrap()
    };

    let record = Arc::new(Record::default());
    let broker = start(KafkaTopology::PerFilter, false, "paper", &record);
    // subscriptions are created by the threads of the REST interface, which have a runtime
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { topology_of_subscribers(&broker, &record, ["[1]", "[2]", "[3]"]) });
    drop(broker);

    let record = Arc::new(Record::default());
    let broker = start(KafkaTopology::Shared { partitions: 4 }, true, "shared", &record);
    wait_for_connection(&broker, &record);
    kill_loses_nothing(&mut server, &broker, &record);
}

#[test]
fn absent_brokers_refuse_subscriptions_and_count_lost_events() {
    // a port without a listener
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let record = Arc::new(Record::default());
    let broker = rabbitmq(&address, Topology::PerSubscriber, false, &record);
    let (key, subscriber, criteria) = &subscriptions()[0];
    let refusal = broker.subscribe(*key, subscriber, criteria).unwrap_err().to_string();
    assert!(refusal.contains(&address) && refusal.contains("try again later"), "{refusal}");
    broker.publish(&event(1, 1, 1)).unwrap();
    let end = Instant::now() + PATIENCE;
    while broker.counts().lost == 0 {
        assert!(Instant::now() < end, "{:?}", broker.counts());
        std::thread::sleep(Duration::from_millis(10));
    }
    let many = Criteria { cells: (0..300).map(|cell| Cell::nr(plmn(), cell)).collect(), ..criteria.clone() };
    let refusal = broker.subscribe(*key, subscriber, &many).unwrap_err().to_string();
    assert!(refusal.contains("300 bindings"), "{refusal}");
    let refusal = broker.subscribe(*key, &"a".repeat(256), criteria).unwrap_err().to_string();
    assert!(refusal.contains("application instance") && refusal.contains("255"), "{refusal}");
}
