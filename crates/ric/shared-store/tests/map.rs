//! A map of several RICs in a real Redis that is paused, killed, and started with what it had before.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use shared_store::{MAX_CONTENT_OCTETS, SharedMap};
use testkit::{Redis, eventually};

fn start(redis: &Redis) -> SharedMap {
    SharedMap::start(redis.url().parse().unwrap(), "test-map").unwrap()
}

fn content(map: &SharedMap, key: &str) -> Option<String> {
    map.handle().get(key).map(|octets| String::from_utf8(octets.to_vec()).unwrap())
}

fn entries(redis: &Redis) -> String {
    redis.command(&["HLEN", "{test-map},entries"])
}

#[test]
fn change_is_in_all_copies() {
    let Some(redis) = Redis::start(&[]) else { return };
    let (one, other) = (start(&redis), start(&redis));
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let observer = Arc::clone(&seen);
    assert!(one.handle().put("a/1", b"x"));
    eventually("the other copy", || content(&other, "a/1").as_deref() == Some("x"));
    other.handle().observe(
        "a/",
        Box::new(move |key, octets| observer.lock().unwrap().push((key.to_owned(), octets.map(<[u8]>::to_vec)))),
    );
    let of_first = || ("a/1".to_owned(), Some(b"x".to_vec()));
    eventually("what is there is observed", || *seen.lock().unwrap() == [of_first()]);
    assert!(one.handle().put("b/1", b"y") && one.handle().put("a/2", b"z") && one.handle().remove("a/1"));
    eventually("the removal", || content(&other, "a/1").is_none() && content(&other, "a/2").is_some());
    assert!(other.handle().put("a/3", b"own"));
    eventually("the copy", || content(&one, "a/3").as_deref() == Some("own"));
    let mut changes = seen.lock().unwrap().clone();
    changes.sort();
    let expected = [("a/1".to_owned(), None), of_first(), ("a/2".to_owned(), Some(b"z".to_vec()))];
    assert_eq!(changes, expected, "neither other prefixes nor own changes");
    // conditions
    assert!(one.handle().replace("a/4", b"none") && one.handle().remove_equal("a/2", b"other"));
    assert!(one.handle().replace("a/3", b"new"));
    eventually("the copy", || content(&other, "a/3").as_deref() == Some("new"));
    assert_eq!((content(&other, "a/4"), content(&other, "a/2").as_deref()), (None, Some("z")));
    assert!(one.handle().remove_equal("a/2", b"z"));
    eventually("the removal", || content(&other, "a/2").is_none());
    assert!(!one.handle().put("long", &vec![0; MAX_CONTENT_OCTETS + 1]));
    let keys: Vec<_> = one.handle().with_prefix("a/").into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a/3"]);
}

#[test]
fn changes_wait_for_a_store_that_is_away() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let (one, other) = (start(&redis), start(&redis));
    assert!(one.handle().put("kept", b"x") && one.handle().put("removed", b"x"));
    eventually("the other copy", || content(&other, "removed").is_some() && content(&other, "kept").is_some());
    redis.kill();
    eventually("the loss", || !one.handle().is_available() && !other.handle().is_available());
    assert!(one.handle().remove("removed") && one.handle().put("new", b"y"));
    assert_eq!(content(&one, "new").as_deref(), Some("y"));
    // it has lost everything
    redis.restart();
    eventually("both copies", || content(&other, "new").is_some() && content(&other, "removed").is_none());
    eventually("the store", || entries(&redis) == ":2\r\n");
    assert_eq!((content(&one, "kept").as_deref(), content(&other, "kept").as_deref()), (Some("x"), Some("x")));
}

#[test]
fn store_that_returns_to_an_earlier_state_gets_the_copy() {
    let Some(redis) = Redis::start(&[]) else { return };
    let one = start(&redis);
    assert!(one.handle().put("changed", b"old") && one.handle().put("removed", b"x"));
    eventually("the store", || entries(&redis) == ":2\r\n");
    // what a snapshot has
    let version = redis.command(&["GET", "{test-map},version"]);
    let version = version.lines().last().unwrap().to_owned();
    for number in 0..5 {
        assert!(one.handle().put("changed", number.to_string().as_bytes()));
        let last = number.to_string();
        eventually("the store", || redis.command(&["HGET", "{test-map},entries", "changed"]).contains(&last));
    }
    assert!(one.handle().remove("removed"));
    eventually("the store", || entries(&redis) == ":1\r\n");
    // the copy is read after each change
    std::thread::sleep(Duration::from_millis(300));
    for words in [
        &["HSET", "{test-map},entries", "changed", "old", "removed", "x"][..],
        &["SET", "{test-map},version", &version],
        &["DEL", "{test-map},changed"],
    ] {
        let _ = redis.command(words);
    }
    eventually("the store is restored", || {
        redis.command(&["HGETALL", "{test-map},entries"]) == "*2\r\n$7\r\nchanged\r\n$1\r\n4\r\n"
    });
    assert_eq!(content(&one, "changed").as_deref(), Some("4"));
}
