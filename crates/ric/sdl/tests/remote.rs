//! The shared data layer on a real Redis server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use sdl::{Change, RemoteSdl};
use testkit::{Redis, RedisCluster, RedisSentinel, eventually};

fn set(key: &str, octets: &str) -> Change {
    Change::Set { key: key.into(), octets: octets.into() }
}

fn start(url: &str) -> RemoteSdl {
    RemoteSdl::start(url.parse().unwrap()).unwrap()
}

#[track_caller]
fn apply(sdl: &RemoteSdl, changes: Vec<Change>) {
    assert!(sdl.handle().apply(changes));
}

/// The keys of the namespace with their octets, after all changes until now.
fn entries(sdl: &RemoteSdl) -> Vec<(String, String)> {
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    sdl.handle().read(b"ns").into_iter().map(|(key, octets)| (text(key), text(octets))).collect()
}

fn entry(key: &str, octets: &str) -> (String, String) {
    (key.to_owned(), octets.to_owned())
}

/// Each kind of change, and messages in both directions.
fn change_everything(url: &str, command: impl Fn(&[&str]) -> String) {
    let sdl = start(url);
    let (sender, messages) = channel();
    sdl.handle().observe(b"{ns},channel".to_vec(), Box::new(move |octets| drop(sender.send(octets.to_vec()))));
    let member = |key: &str, member: &str| Change::AddMember { key: key.into(), member: member.into() };
    apply(&sdl, vec![set("{ns},1", "one"), set("{ns},2", "two"), set("{other},1", "x"), member("{ns},2", "a")]);
    apply(&sdl, vec![member("{ns},2", "b"), Change::RemoveMember { key: "{ns},2".into(), member: "a".into() }]);
    let guarded = |octets: &str, key: &str| Change::Guarded {
        key: "{ns},1".into(),
        octets: octets.into(),
        changes: vec![set(key, "guarded"), Change::Remove { key: "{ns},4".into() }],
    };
    apply(&sdl, vec![set("{ns},4", "four"), guarded("other", "{ns},3"), set("{ns},5", "five")]);
    let first = [entry("{ns},1", "one"), entry("{ns},4", "four"), entry("{ns},5", "five")];
    assert_eq!(entries(&sdl), first);
    apply(&sdl, vec![guarded("one", "{ns},3")]);
    let second = [entry("{ns},1", "one"), entry("{ns},3", "guarded"), entry("{ns},5", "five")];
    assert_eq!(entries(&sdl), second);
    assert_eq!(command(&["SMEMBERS", "{ns},2"]), "*1\r\n$1\r\nb\r\n");
    // a subscription takes a moment: messages before it go nowhere
    let message = || Change::Publish { channel: "{ns},channel".into(), message: b"text".to_vec() };
    eventually("a message", || {
        apply(&sdl, vec![message()]);
        messages.recv_timeout(Duration::from_millis(50)).is_ok_and(|octets| octets == b"text")
    });
    apply(&sdl, vec![Change::Clear { namespace: b"ns".to_vec() }]);
    assert_eq!((entries(&sdl), command(&["EXISTS", "{ns},2"])), (Vec::new(), ":0\r\n".to_owned()));
    assert_eq!(sdl.losses(), 0);
}

#[test]
fn changes_are_made_on_a_server() {
    let Some(redis) = Redis::start(&[]) else { return };
    change_everything(&redis.url(), |words| redis.command(words));
    assert_eq!(redis.command(&["GET", "{other},1"]), "$1\r\nx\r\n");
}

#[test]
fn changes_are_made_on_a_cluster() {
    let Some(cluster) = RedisCluster::start(3) else { return };
    change_everything(&cluster.url(), |words| cluster.command(words));
}

#[test]
fn values_and_notifications_of_one_ric_are_seen_at_another_also_after_a_failover_of_the_cluster() {
    let Some(mut cluster) = RedisCluster::start_with_replicas(3) else { return };
    let [one, other] = [(); 2].map(|()| start(&cluster.url()));
    let (sender, messages) = channel();
    other.handle().observe(b"{ns},channel".to_vec(), Box::new(move |octets| drop(sender.send(octets.to_vec()))));
    let exchange = |text: &str| {
        apply(&one, vec![set("{ns},key", text)]);
        eventually("the value", || entries(&other) == [entry("{ns},key", text)]);
        // a subscription takes a moment: messages before it go nowhere
        eventually("the message", || {
            apply(&one, vec![Change::Publish { channel: "{ns},channel".into(), message: text.into() }]);
            messages.recv_timeout(Duration::from_millis(50)).is_ok_and(|octets| octets == text.as_bytes())
        });
    };
    exchange("before");
    let master = cluster.server_of("{ns},key");
    cluster.servers[master].await_replicas();
    cluster.servers[master].kill();
    apply(&one, vec![set("{ns},during", "x")]);
    eventually("the change is on the replica", || cluster.command(&["GET", "{ns},during"]) == "$1\r\nx\r\n");
    assert_eq!(cluster.command(&["GET", "{ns},key"]), "$6\r\nbefore\r\n");
    assert_eq!(cluster.server_of("{ns},key"), master + 3);
    apply(&one, vec![Change::Remove { key: "{ns},during".into() }]);
    exchange("after");
    // messages come from the first server until it is lost
    cluster.servers[master].restart();
    cluster.servers[0].kill();
    exchange("later");
}

#[test]
fn changes_wait_while_redis_is_away_and_state_is_written_again() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let sdl = start(&redis.url());
    let returns = Arc::new(AtomicUsize::new(0));
    let (count, again) = (Arc::clone(&returns), sdl.handle().clone());
    sdl.handle().on_return(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
        assert!(again.apply(vec![set("{ns},state", "again")]));
    }));
    apply(&sdl, vec![set("{ns},before", "x")]);
    assert_eq!(entries(&sdl), [entry("{ns},before", "x")]);
    redis.kill();
    eventually("the loss", || sdl.losses() == 1);
    apply(&sdl, vec![set("{ns},during", "x")]);
    // 64 MiB may wait
    let large = || vec![set("{ns},large", &"x".repeat(16 << 20))];
    let accepted = (0..8).filter(|_| sdl.handle().apply(large())).count();
    assert_eq!(accepted, 3, "with the change before, a fourth exceeds it");
    redis.restart();
    eventually("the return", || returns.load(Ordering::Relaxed) == 1);
    apply(&sdl, vec![Change::Remove { key: "{ns},large".into() }]);
    assert_eq!(entries(&sdl), [entry("{ns},during", "x"), entry("{ns},state", "again")]);
    assert!(sdl.handle().apply(large()), "what was made does not count any more");
    apply(&sdl, vec![Change::Remove { key: "{ns},large".into() }]);
    // a server that is there and does not answer
    redis.pause();
    apply(&sdl, vec![set("{ns},paused", "x")]);
    eventually("the loss", || sdl.losses() == 2);
    redis.resume();
    eventually("the return", || returns.load(Ordering::Relaxed) == 2);
    assert_eq!(entries(&sdl).len(), 3);
}

#[test]
fn refused_changes_hold_up_nothing_and_are_repeated() {
    let Some(redis) = Redis::start(&["--maxmemory", "1"]) else { return };
    let sdl = start(&redis.url());
    let again = sdl.handle().clone();
    sdl.handle().on_return(Box::new(move || assert!(again.apply(vec![set("{ns},1", "again")]))));
    apply(&sdl, vec![set("{ns},1", "x")]);
    assert_eq!(entries(&sdl), []);
    assert!(redis.command(&["CONFIG", "SET", "maxmemory", "0"]).starts_with("+OK"));
    apply(&sdl, vec![set("{ns},2", "x")]);
    assert_eq!(entries(&sdl), [entry("{ns},2", "x")]);
    eventually("the state is written again", || redis.command(&["GET", "{ns},1"]) == "$5\r\nagain\r\n");
}

#[test]
fn failover_of_sentinel_is_followed() {
    let Some(mut sentinel) = RedisSentinel::start() else { return };
    let sdl = start(&sentinel.url());
    apply(&sdl, vec![set("{ns},1", "x")]);
    assert_eq!(entries(&sdl).len(), 1);
    sentinel.primary.kill();
    apply(&sdl, vec![set("{ns},2", "x")]);
    let stored = || sentinel.replica.command(&["GET", "{ns},2"]);
    eventually("the change is on the new primary", || stored() == "$1\r\nx\r\n");
    assert_eq!(sdl.losses(), 1);
}

#[test]
fn end_does_not_wait_for_redis() {
    // nobody listens there
    let sdl = start("redis://127.0.0.1:1");
    apply(&sdl, vec![set("{ns},1", "x")]);
    eventually("an attempt", || sdl.losses() == 1);
    drop(sdl);
}
