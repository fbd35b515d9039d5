//! R-NIB of two RICs in one real Redis server, or a Redis Cluster.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

use common::{NAME, PATIENCE, agent, field};
use ferric::StopHandle;
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use oran::rnib::Rnib;
use sdl::RemoteSdl;
use testkit::{Redis, RedisCluster, RedisStore, eventually};

struct Ric {
    e2: Address,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
    sdl: RemoteSdl,
}

impl Ric {
    fn start(name: &str, store: &dyn RedisStore) -> Self {
        let sdl = RemoteSdl::start(store.url().parse().unwrap()).unwrap();
        let e2 = vec!["tcp://127.0.0.1:0".parse().unwrap()];
        let mut server = Server::bind(ServerConfig { e2, xapp: None, ..ServerConfig::default() }).unwrap();
        let waker = server.iapp_waker().unwrap();
        server.add_iapp(Box::new(Rnib::shared(sdl.handle().clone(), name, waker).unwrap()));
        let (e2, stop) = (server.e2_addresses().next().unwrap().clone(), server.stop_handle());
        let thread = std::thread::spawn(move || server.run().unwrap());
        Ric { e2, stop, thread: Some(thread), sdl }
    }
}

impl Drop for Ric {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

/// The octets of a key.
fn octets(store: &dyn RedisStore, key: &str) -> Option<Vec<u8>> {
    let mut client = TcpStream::connect(("127.0.0.1", store.port_of(key))).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()).as_bytes()).unwrap();
    let (mut reply, mut octet) = (Vec::new(), [0]);
    while !reply.ends_with(b"\r\n") {
        client.read_exact(&mut octet).unwrap();
        reply.push(octet[0]);
    }
    let length: usize = std::str::from_utf8(&reply).unwrap().trim_start_matches('$').trim_end().parse().ok()?;
    let mut octets = vec![0; length];
    client.read_exact(&mut octets).unwrap();
    Some(octets)
}

/// The status of the node: 1 is connected, 2 disconnected; nothing if it is unknown.
fn status(store: &dyn RedisStore) -> Option<u8> {
    let info = octets(store, &format!("{{e2Manager}},RAN:{NAME}"))?;
    field(&info, 5)?.first().map(|digit| digit - b'0')
}

/// The RIC that has the node, and its run.
fn owner(store: &dyn RedisStore) -> String {
    store.command(&["GET", &format!("{{e2Manager}},FERRIC.OWNER:{NAME}")])
}

/// The members of the group of gNBs.
fn listed(store: &dyn RedisStore) -> usize {
    let reply = store.command(&["SCARD", "{e2Manager},GNB"]);
    reply.trim_start_matches(':').trim_end().parse().unwrap()
}

#[test]
fn ric_that_has_lost_a_node_does_not_disconnect_it_at_another() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let (first, second) = (Ric::start("ric-1", &redis), Ric::start("ric-2", &redis));
    let (stop, thread) = agent(&first.e2);
    eventually("the node is connected", || status(&redis) == Some(1));
    // the first RIC does not know yet that the node has gone
    let (stop_at_second, thread_at_second) = agent(&second.e2);
    eventually("the second RIC has the node", || owner(&redis).contains("ric-2 "));
    stop.stop();
    thread.join().unwrap();
    // the first RIC notices the end of the connection at once, and all that it writes then is there after a read
    std::thread::sleep(std::time::Duration::from_millis(300));
    let _ = first.sdl.handle().read(b"none");
    assert_eq!((status(&redis), listed(&redis)), (Some(1), 1));
    // Redis loses everything, and both write again
    redis.kill();
    eventually("the loss of Redis", || first.sdl.losses() == 1 && second.sdl.losses() == 1);
    redis.restart();
    eventually("the node is connected again", || status(&redis) == Some(1));
    assert!(redis.command(&["GET", "{e2Manager},GENERAL"]).contains("enableRic"));
    // both write on a thread of their own
    std::thread::sleep(std::time::Duration::from_millis(300));
    let _ = (first.sdl.handle().read(b"none"), second.sdl.handle().read(b"none"));
    eventually("one entry", || (status(&redis), listed(&redis)) == (Some(1), 1));
    assert!(owner(&redis).contains("ric-2 "));
    stop_at_second.stop();
    thread_at_second.join().unwrap();
    eventually("the node is disconnected", || (status(&redis), listed(&redis)) == (Some(2), 1));
}

#[test]
fn nodes_of_an_earlier_run_are_disconnected() {
    let Some(redis) = Redis::start(&[]) else { return };
    start_again(&redis);
}

#[test]
fn nodes_of_a_ric_that_is_gone_are_disconnected() {
    let Some(redis) = Redis::start(&[]) else { return };
    disconnect(&redis);
}

#[test]
fn nodes_are_disconnected_in_a_cluster() {
    for of in [start_again, disconnect] {
        let Some(cluster) = RedisCluster::start(3) else { return };
        of(&cluster);
    }
}

/// A RIC starts again while its node is connected to the run before.
fn start_again(store: &dyn RedisStore) {
    let killed = Ric::start("ric-1", store);
    let (stop, thread) = agent(&killed.e2);
    eventually("the node is connected", || status(store) == Some(1));
    let other = Ric::start("ric-10", store);
    let _ = other.sdl.handle().read(b"none");
    assert_eq!(status(store), Some(1), "the RIC with a name that begins alike has no part in it");
    oran::rnib::disconnect_nodes_of_ric(other.sdl.handle(), "ric-10");
    let _ = other.sdl.handle().read(b"none");
    assert_eq!(status(store), Some(1));
    let _started_again = Ric::start("ric-1", store);
    eventually("the node is disconnected", || (status(store), listed(store)) == (Some(2), 1));
    stop.stop();
    thread.join().unwrap();
}

/// A RIC takes another one for lost.
fn disconnect(store: &dyn RedisStore) {
    let (gone, other) = (Ric::start("ric-1", store), Ric::start("ric-2", store));
    let (stop, thread) = agent(&gone.e2);
    eventually("the node is connected", || status(store) == Some(1));
    for _ in 0..2 {
        oran::rnib::disconnect_nodes_of_ric(other.sdl.handle(), "ric-1");
    }
    let _ = other.sdl.handle().read(b"none");
    assert_eq!((status(store), listed(store)), (Some(2), 1));
    assert_eq!(owner(store), "$1\r\n-\r\n");
    stop.stop();
    thread.join().unwrap();
}
