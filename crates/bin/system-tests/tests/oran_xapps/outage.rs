//! The store of several RICs is away, or a server of it, and comes back.

use std::time::{Duration, Instant};

use system_tests::platform::{NODE, Xapp, kpm};
use system_tests::{eventually, log};
use testkit::{Redis, RedisCluster};

use crate::group::{ENTRIES, Group, Indications, TIME_TO_LIVE};

/// Redis is gone for some time: nothing is lost or doubled, and what needs it is refused.
fn redis_is_away_for(time: Duration) {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let group = Group::start(&redis);
    let owner = group.owner(&redis);
    let (guest, xapp) = (&group.members[(owner + 1) % 3], Xapp::new());
    let kpm = kpm(&guest.rest);
    let created = guest.subscribe(&kpm, NODE, &xapp, 1).expect(201);
    let subscription_id = xapp.subscribed(&created["SubscriptionId"], 1);
    let mut indications = Indications::accept(&xapp, subscription_id);
    group.list(1);
    let line = format!("store={} map=\"ferric-xapps\"", redis.url());
    let lines = || {
        log()
            .lines()
            .filter(|text| text.contains("cannot reach the store of what RICs share") && text.contains(&line))
            .count()
    };
    let (before, begun) = (lines(), Instant::now());
    redis.kill();
    eventually("the RICs notice it", || lines() == before + 3);
    indications.receive_for(time.saturating_sub(begun.elapsed()));
    // the RIC of the node does what it is asked for, the others say that they cannot
    let refused = guest.subscribe(&kpm, NODE, &xapp, 2);
    refused.expect_problem(503, &["the store that the RICs share is away"]);
    let other = Xapp::new();
    let created = group.members[owner].subscribe(&kpm, NODE, &other, 3).expect(201);
    other.subscribed(&created["SubscriptionId"], 3);
    let away = begun.elapsed();
    // it has lost everything
    redis.restart();
    let listed = group.list(2);
    println!("Redis was away for {away:?}; {} indications", indications.count());
    assert!(listed.to_string().contains(&subscription_id.to_string()));
    indications.receive_for(Duration::from_secs(1));
    assert_eq!(group.owner(&redis), owner, "no node has moved");
    let created = guest.subscribe(&kpm, NODE, &xapp, 2).expect(201);
    xapp.subscribed(&created["SubscriptionId"], 2);
    group.list(3);
    assert_eq!(lines(), before + 3, "it is logged once");
}

#[test]
fn redis_that_is_away_for_longer_than_the_time_to_live_changes_nothing() {
    redis_is_away_for(3 * TIME_TO_LIVE);
}

#[test]
#[ignore = "it takes more than a minute: make test-realtime"]
fn redis_that_is_away_for_a_minute_changes_nothing() {
    redis_is_away_for(Duration::from_secs(60));
}

#[test]
fn master_of_a_cluster_that_is_killed_changes_nothing() {
    let Some(mut cluster) = RedisCluster::start_with_replicas(3) else { return };
    let mut group = Group::start(&cluster);
    let owner = group.owner(&cluster);
    let (guest, xapp) = (&group.members[(owner + 1) % 3], Xapp::new());
    let kpm = kpm(&guest.rest);
    let first = guest.subscribe(&kpm, NODE, &xapp, 1).expect(201)["SubscriptionId"].clone();
    let mut indications = Indications::accept(&xapp, xapp.subscribed(&first, 1));
    group.list(1);
    let master = cluster.server_of(ENTRIES);
    cluster.servers[master].await_replicas();
    let killed = Instant::now();
    cluster.servers[master].kill();
    assert_eq!(cluster.server_of(ENTRIES), master + 3, "its replica takes over");
    println!("the replica serves after {:?}", killed.elapsed());
    let (other, mut second) = (Xapp::new(), None);
    eventually("the RICs use the replica", || {
        indications.receive();
        let response = guest.subscribe(&kpm, NODE, &other, 2);
        second = (response.status == 201).then(|| response.json()["SubscriptionId"].clone());
        second.is_some()
    });
    println!("the RICs use it after {:?}", killed.elapsed());
    let second = second.unwrap();
    other.subscribed(&second, 2);
    group.list(2);
    group.members[(owner + 2) % 3].delete(&second);
    group.list(1);
    indications.receive_for(3 * TIME_TO_LIVE);
    assert_eq!(group.lines(&[0, 1, 2]), 3, "no RIC was taken for lost");
    assert_eq!(group.owner(&cluster), owner, "no node has moved");
    // it returns as a replica
    cluster.servers[master].restart();
    drop(group.members.remove(owner));
    indications.follow(&xapp);
    indications.receive_for(Duration::from_millis(500));
    group.members[0].delete(&first);
    group.list(0);
    assert!(indications.connection.is_closed_after_messages());
}
