//! RICs that find each other through a real Redis, whatever stands there.

use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ferric::StopHandle;
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{XappConfig, XappEvent, XappGroup};
use shared_store::{AnnounceRics, LossObserver, Peers, PeersConfig};
use testkit::{Redis, eventually};

const TIME_TO_LIVE: Duration = Duration::from_millis(400);

/// A RIC at 10.0.0.1, and the names of those that it has lost.
fn start(redis: &Redis, name: &str, time_to_live: Duration) -> (Peers, Receiver<String>) {
    let e2 = vec![format!("memory:peers-{name}-{}", redis.port()).parse().unwrap()];
    let mut server = Server::bind(ServerConfig { e2, xapp: None, ..ServerConfig::default() }).unwrap();
    let address = "10.0.0.1:36421".parse().unwrap();
    let config = PeersConfig::new(redis.url().parse().unwrap(), name.to_owned(), address);
    let (sender, lost) = channel();
    let on_loss: LossObserver = Box::new(move |name: &str| drop(sender.send(name.to_owned())));
    let config = PeersConfig { time_to_live, ..config };
    (Peers::start(config, server.iapp_waker().unwrap(), vec![on_loss]).unwrap(), lost)
}

/// Announces a RIC as it would itself.
fn announce(redis: &Redis, name: &str, value: &str, ttl_ms: u64) {
    let _ = redis.command(&["SADD", "{ferric-peers},names", name]);
    let ttl_ms = ttl_ms.to_string();
    assert_eq!(redis.command(&["SET", &format!("{{ferric-peers}},ric:{name}"), value, "PX", &ttl_ms]), "+OK\r\n");
}

fn is_listed(redis: &Redis, name: &str) -> bool {
    redis.command(&["SISMEMBER", "{ferric-peers},names", name]) == ":1\r\n"
}

#[test]
fn rics_come_and_go_and_malformed_entries_are_ignored() {
    let Some(redis) = Redis::start(&[]) else { return };
    announce(&redis, "b", "10.0.0.2:36421 run", 3_600_000);
    for (name, value) in [("c", "10.0.0.3"), ("d", ""), (&*"x".repeat(65), "10.0.0.4:1 run")] {
        announce(&redis, name, value, 3_600_000);
    }
    let (peers, lost) = start(&redis, "a", TIME_TO_LIVE);
    eventually("the other RIC", || peers.names() == ["a", "b"]);
    // what has no valid entry is removed from the names
    eventually("the names", || !is_listed(&redis, "c") && !is_listed(&redis, "d"));
    assert_eq!(peers.names(), ["a", "b"]);
    let _ = redis.command(&["DEL", "{ferric-peers},ric:b"]);
    assert_eq!(lost.recv_timeout(testkit::PATIENCE).as_deref(), Ok("b"));
    assert_eq!(peers.names(), ["a"]);
    eventually("the names", || !is_listed(&redis, "b"));
    // at most 64 of them share nodes
    for number in 0..100 {
        announce(&redis, &format!("ric-{number:03}"), "10.0.0.5:36421 run", 3_600_000);
    }
    eventually("the bound", || peers.names().len() == 64);
    // a key of another type
    let _ = redis.command(&["DEL", "{ferric-peers},names"]);
    let _ = redis.command(&["SET", "{ferric-peers},names", "x"]);
    std::thread::sleep(2 * TIME_TO_LIVE);
    assert_eq!(peers.names().len(), 64, "those that are known stay");
    let _ = redis.command(&["DEL", "{ferric-peers},names"]);
    eventually("the loss of all others", || peers.names() == ["a"]);
    drop(peers);
    assert_eq!(redis.command(&["EXISTS", "{ferric-peers},ric:a"]), ":0\r\n");
}

#[test]
fn rics_stay_while_redis_is_away_and_one_time_to_live_longer() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    announce(&redis, "b", "10.0.0.2:36421 run", 3_600_000);
    let (peers, lost) = start(&redis, "a", TIME_TO_LIVE);
    eventually("the other RIC", || peers.names() == ["a", "b"]);
    redis.kill();
    std::thread::sleep(3 * TIME_TO_LIVE);
    assert_eq!(peers.names(), ["a", "b"]);
    // the content is lost; the other RIC announces itself within its time to live
    redis.restart();
    announce(&redis, "b", "10.0.0.2:36421 run", 3_600_000);
    eventually("the own key", || redis.command(&["EXISTS", "{ferric-peers},ric:a"]) == ":1\r\n");
    std::thread::sleep(3 * TIME_TO_LIVE);
    assert_eq!((peers.names(), lost.try_recv().ok()), (vec!["a".to_owned(), "b".to_owned()], None));
    // or does not
    redis.kill();
    redis.restart();
    assert_eq!(lost.recv_timeout(testkit::PATIENCE).as_deref(), Ok("b"));
}

#[test]
fn rics_stay_when_redis_is_slow_until_their_keys_have_expired() {
    let Some(redis) = Redis::start(&[]) else { return };
    announce(&redis, "b", "10.0.0.2:36421 run", 3_600_000);
    // longer than a reply may take
    let time_to_live = Duration::from_secs(3);
    let (peers, lost) = start(&redis, "a", time_to_live);
    eventually("the other RIC", || peers.names() == ["a", "b"]);
    std::thread::sleep(time_to_live);
    announce(&redis, "b", "10.0.0.2:36421 run", 900);
    redis.pause();
    // it is not lost for the RIC, which waits for its reply
    std::thread::sleep(Duration::from_millis(1700));
    redis.resume();
    // the other RIC is as slow
    std::thread::sleep(Duration::from_millis(500));
    announce(&redis, "b", "10.0.0.2:36421 run", 3_600_000);
    std::thread::sleep(time_to_live);
    assert_eq!((peers.names(), lost.try_recv().ok()), (vec!["a".to_owned(), "b".to_owned()], None));
}

/// A RIC on a thread that tells xApps the others.
struct Announcing {
    xapps: Address,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Announcing {
    /// `config` has a RIC without an address for xApps; `None`: it shares nodes with no other.
    fn start(config: Option<PeersConfig>) -> Self {
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || {
            let any: Address = "tcp://127.0.0.1:0".parse().unwrap();
            let config_of_server =
                ServerConfig { e2: vec![any.clone().into()], xapp: Some(any), ..ServerConfig::default() };
            let mut server = Server::bind(config_of_server).unwrap();
            let xapps = server.xapp_address().cloned().unwrap();
            let peers = config.map(|config| {
                let config = PeersConfig { xapps: Some(xapps.clone()), ..config };
                Peers::start(config, server.iapp_waker().unwrap(), Vec::new()).unwrap()
            });
            server.add_iapp(Box::new(AnnounceRics::new(peers.as_ref())));
            sender.send((xapps, server.stop_handle())).unwrap();
            server.run().unwrap();
        });
        let (xapps, stop) = receiver.recv().unwrap();
        Announcing { xapps, stop, thread: Some(thread) }
    }
}

impl Drop for Announcing {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

#[test]
fn xapp_that_knows_one_ric_learns_of_those_that_come_and_go() {
    let Some(redis) = Redis::start(&[]) else { return };
    let config = |name: &str| {
        let config = PeersConfig::new(redis.url().parse().unwrap(), name.to_owned(), "10.0.0.1:36421".parse().unwrap());
        Some(PeersConfig { time_to_live: TIME_TO_LIVE, ..config })
    };
    let (first, second, alone) =
        (Announcing::start(config("a")), Announcing::start(config("b")), Announcing::start(None));
    let given = [first.xapps.clone(), alone.xapps.clone()];
    let mut group = XappGroup::connect(&given, "test", XappConfig::default(), testkit::PATIENCE).unwrap();
    let mut until = |what: &str, rics: &[&Announcing]| {
        let rics = rics.iter().map(|ric| ric.xapps.to_string()).collect::<Vec<_>>().join(" ");
        eventually(what, || {
            let handle = |event: XappEvent<'_>| assert!(!matches!(event, XappEvent::NoService));
            group.poll(Some(Duration::from_millis(5)), |event, _| handle(event)).unwrap();
            group.addresses() == rics
        });
    };
    until("the other RIC", &[&first, &alone, &second]);
    let third = Announcing::start(config("c"));
    until("the third RIC", &[&first, &alone, &second, &third]);
    drop(second);
    until("the loss of the second", &[&first, &alone, &third]);
    // a RIC of a release before has no address for xApps
    announce(&redis, "d", "10.0.0.2:36421 run", 3_600_000);
    let fourth = Announcing::start(config("e"));
    until("the fourth RIC", &[&first, &alone, &fourth, &third]);
}
