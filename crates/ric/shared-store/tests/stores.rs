//! Connections to a real Redis server, to Redis Cluster, and to the primary that Redis Sentinel names.

use redis::cmd;
use shared_store::{RedisFiles, StoreConnection, StoreUrl, remedy};
use testkit::{Redis, RedisCluster, RedisSentinel, eventually};

fn url(text: &str) -> StoreUrl {
    text.parse().unwrap()
}

fn set(connection: &mut StoreConnection, key: &str) {
    connection.query::<()>(cmd("SET").arg(key).arg("x")).unwrap();
}

/// Keys of two namespaces are written and listed.
fn write_and_list(connection: &mut StoreConnection) {
    for number in 0..30 {
        set(connection, &format!("{{a*?[b]}},{number:02}"));
        set(connection, &format!("{{ns-{number}}},key"));
    }
    set(connection, "{aaab},0");
    let keys = connection.keys(b"a*?[b]").unwrap();
    let expected: Vec<_> = (0..30).map(|number| format!("{{a*?[b]}},{number:02}").into_bytes()).collect();
    assert_eq!(keys, expected);
    assert_eq!(connection.keys(b"ns-7").unwrap(), [b"{ns-7},key".to_vec()]);
    assert_eq!(connection.keys(b"none").unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn server_is_used_with_its_password() {
    let Some(redis) = Redis::start(&["--requirepass", "secret"]) else { return };
    let refused = url(&redis.url()).connect().and_then(|mut connection| connection.query::<()>(&cmd("PING")));
    let error = refused.unwrap_err();
    assert!(remedy(&error).contains("password"), "{error}: {}", remedy(&error));
    let file = std::env::temp_dir().join(format!("ferric-store-{}", std::process::id()));
    std::fs::write(&file, "secret\n").unwrap();
    let with_file = url(&redis.url()).with_files(&RedisFiles { password: Some(file.clone()), ..RedisFiles::default() });
    std::fs::remove_file(&file).unwrap();
    write_and_list(&mut with_file.unwrap().connect().unwrap());
}

#[test]
fn server_that_does_not_answer_is_given_up() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut connection = url(&redis.url()).connect().unwrap();
    redis.pause();
    let error = connection.query::<()>(&cmd("PING")).unwrap_err();
    redis.resume();
    assert!(remedy(&error).contains("does not answer in time"), "{error}");
}

#[test]
fn cluster_keeps_namespaces_on_its_servers() {
    let Some(cluster) = RedisCluster::start(3) else { return };
    let url = url(&cluster.url());
    write_and_list(&mut url.connect().unwrap());
    let sizes = cluster.servers.iter().map(|server| server.command(&["DBSIZE"]));
    assert!(sizes.clone().all(|size| size != ":0\r\n"), "{:?}", sizes.collect::<Vec<_>>());
    // a message that one server gets reaches the subscribers of another
    let mut subscriber = url.connect_to_server().unwrap();
    let mut subscription = subscriber.as_pubsub();
    subscription.subscribe("{ns},channel").unwrap();
    assert_eq!(cluster.servers[2].command(&["PUBLISH", "{ns},channel", "text"]), ":0\r\n");
    assert_eq!(subscription.get_message().unwrap().get_payload_bytes(), b"text");
}

#[test]
fn sentinel_names_the_primary_also_after_a_failover() {
    let Some(mut sentinel) = RedisSentinel::start() else { return };
    let url = url(&sentinel.url());
    write_and_list(&mut url.connect().unwrap());
    let unknown = sentinel.url().replace("/ran", "/other").parse::<StoreUrl>().unwrap().connect().unwrap_err();
    assert!(unknown.to_string().contains("no primary of this name"), "{unknown}");
    assert!(remedy(&unknown).contains("sentinel masters"), "{}", remedy(&unknown));
    sentinel.primary.await_replicas();
    sentinel.primary.kill();
    let mut connection = None;
    eventually("the replica is the primary", || {
        connection = url.connect().ok();
        connection.is_some()
    });
    let keys = connection.unwrap().keys(b"ns-7").unwrap();
    assert_eq!(keys, [b"{ns-7},key".to_vec()]);
}

#[test]
fn url_of_another_kind_of_store_has_a_remedy() {
    let (Some(redis), Some(cluster)) = (Redis::start(&[]), RedisCluster::start(3)) else { return };
    let ask = |kind: &str, path: &str| {
        let store = url(&format!("redis+{kind}://127.0.0.1:{}{path}", redis.port()));
        store.connect().and_then(|mut connection| connection.query::<()>(cmd("GET").arg("key"))).unwrap_err()
    };
    for (error, expected) in
        [(ask("cluster", ""), "for one server it is redis://"), (ask("sentinel", "/ran"), "those of Redis Sentinel")]
    {
        assert!(remedy(&error).contains(expected), "{error:?}: {}", remedy(&error));
    }
    // most namespaces are at another server of the cluster
    let mut one = url(&format!("redis://127.0.0.1:{}", cluster.servers[0].port())).connect().unwrap();
    let errors = (0..30).filter_map(|number| one.query::<()>(cmd("GET").arg(format!("{{{number}}},key"))).err());
    let errors: Vec<_> = errors.collect();
    assert!(!errors.is_empty());
    for error in errors {
        assert!(remedy(&error).contains("give redis+cluster://"), "{error:?}: {}", remedy(&error));
    }
}
