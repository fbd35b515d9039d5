//! Several RICs that share nodes through a real Redis, and what xApps of the reference platform receive of them.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ferric::e2ap::{Pdu, decode};
use ferric::link::Address;
use per::Gather;
use ran::{RanConfig, Scenario};
use ric::SharedNodes;
use ric::oran_host::RmrRightsHandle;
use rmr::MessageType;
use serde_json::{Value, json};
use system_tests::platform::{Kpm, NODE, VERSION, Xapp, ran_config};
use system_tests::rmr_peer::{Connection, Received};
use system_tests::{PATIENCE, Platform, TestRan, TestRic, eventually, log};
use testkit::RedisStore;
use testkit::http::{Response, Service};

/// The entries that RICs share, by key.
pub const ENTRIES: &str = "{ferric-xapps},entries";
/// The number of changes of these.
pub const VERSION_KEY: &str = "{ferric-xapps},version";
/// The time to live of a RIC.
pub const TIME_TO_LIVE: Duration = Duration::from_millis(1500);

/// Writes an entry as another RIC does.
pub fn share(store: &dyn RedisStore, key: &str, content: &str) {
    let script = "local v = redis.call('INCR', KEYS[2]); redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        redis.call('ZADD', KEYS[3], v, ARGV[1]); return 1";
    let words = ["EVAL", script, "3", ENTRIES, VERSION_KEY, "{ferric-xapps},changed", key, content];
    assert_eq!(store.command(&words), ":1\r\n");
}

/// The requests to subscribe that are shared.
pub fn requests(store: &dyn RedisStore) -> usize {
    store.command(&["HKEYS", ENTRIES]).matches("subscription/").count()
}

/// A RIC of a group.
pub struct Member {
    pub name: String,
    pub ric: TestRic,
    pub rmr: SocketAddr,
    pub rest: Service,
    pub rights: RmrRightsHandle,
}

impl Member {
    pub fn start(store: &dyn RedisStore, number: usize) -> Member {
        Member::with_routes(store, number, Vec::new())
    }

    pub fn with_routes(store: &dyn RedisStore, number: usize, routes: Vec<String>) -> Member {
        Member::at(&store.url(), store, number, routes)
    }

    /// A RIC that reaches the store at a URL.
    fn at(url: &str, store: &dyn RedisStore, number: usize, routes: Vec<String>) -> Member {
        // the log is one for all tests
        let name = format!("ric-{}-{number}", store.number());
        let peers = SharedNodes {
            name: Some(name.clone()),
            time_to_live: TIME_TO_LIVE,
            ..SharedNodes::new(url.parse().unwrap())
        };
        let (ric, platform) = TestRic::with_platform(|config| {
            config.peers = Some(peers);
            config.oran.rmr_routes = routes;
        });
        let Platform { rmr: Address::Tcp { host, port }, rest, rights } = platform else { panic!("RMR is over TCP") };
        Member { name, ric, rmr: SocketAddr::new(host.parse().unwrap(), port), rest, rights }
    }

    /// Has an xApp subscribe to a node by REST.
    pub fn subscribe(&self, kpm: &Kpm, node: &str, xapp: &Xapp, instance: u16) -> Response {
        let mut request = kpm.request(xapp, instance);
        request["Meid"] = json!(node);
        self.rest.request("POST", "/ric/v1/subscriptions", request)
    }

    /// Has an xApp delete a subscription of an id.
    pub fn delete(&self, id: &Value) {
        let path = format!("/ric/v1/subscriptions/{}", id.as_str().unwrap());
        assert_eq!(self.rest.request("DELETE", &path, json!({})).status, 204);
    }

    /// Waits until it lists so many nodes.
    pub fn await_nodes(&self, count: usize) {
        self.rest.eventually("/v1/nodeb/states", |nodes| nodes.as_array().unwrap().len() == count);
    }
}

/// Three RICs, and nodes of which each is at one of them. The RICs stand in the order of the list until they are lost.
pub struct Group {
    pub members: Vec<Member>,
    /// `None` while the base stations are off.
    pub ran: Option<TestRan>,
    nodes: u16,
}

impl Group {
    /// Has one node.
    pub fn start(store: &dyn RedisStore) -> Group {
        Group::with_nodes(&[store.url(), store.url(), store.url()], store, 1)
    }

    /// Has so many nodes, up to 16. Each RIC reaches the store at a URL of its own.
    pub fn with_nodes(urls: &[String; 3], store: &dyn RedisStore, nodes: u16) -> Group {
        let members: Vec<_> =
            urls.iter().enumerate().map(|(number, url)| Member::at(url, store, number, Vec::new())).collect();
        let mut group = Group { members, ran: None, nodes };
        eventually("the RICs know each other", || group.lines(&[0, 1, 2]) == 3);
        group.start_ran(0);
        group.members.iter().for_each(|member| member.await_nodes(usize::from(nodes)));
        group
    }

    /// Starts the base stations, which try the RICs from one on.
    pub fn start_ran(&mut self, first: usize) {
        let rics = (0..3).map(|at| &self.members[(first + at) % 3].ric.e2);
        let next_rics = rics.skip(1).map(|e2| e2.clone().into()).collect();
        let scenario = Scenario::with_mixed_traffic(self.nodes, 2, 1);
        let config = RanConfig { next_rics, scenario, ..ran_config() };
        self.ran = Some(TestRan::start(&self.members[first].ric.e2, config));
    }

    /// How often the log says that these RICs share the nodes.
    pub fn lines(&self, members: &[usize]) -> usize {
        let names: Vec<_> = members.iter().map(|at| &*self.members[*at].name).collect();
        log().matches(&format!("{} RICs share the nodes: {}\n", names.len(), names.join(", "))).count()
    }

    /// The place of the RIC that has a node; `None` while the node moves.
    pub fn owner_of(&self, store: &dyn RedisStore, node: &str) -> Option<usize> {
        let entry = store.command(&["HGET", ENTRIES, &format!("node/{node}")]);
        self.members.iter().position(|member| entry.contains(&format!("\"ric\":\"{}\"", member.name)))
    }

    /// The place of the RIC that has [`NODE`].
    pub fn owner(&self, store: &dyn RedisStore) -> usize {
        self.owner_of(store, NODE).expect("the node is at a RIC")
    }

    /// Waits until all RICs list a number of subscriptions.
    pub fn list(&self, count: usize) -> Value {
        for member in &self.members {
            member.rest.eventually("/ric/v1/subscriptions", |all| all.as_array().unwrap().len() == count);
        }
        self.members[0].rest.get("/ric/v1/subscriptions")
    }
}

/// The indications of a subscription to [`NODE`] that an xApp has received.
pub struct Indications {
    pub connection: Connection,
    subscription_id: i32,
    seen: HashSet<Vec<u8>>,
}

impl Indications {
    /// Waits for the connection of a RIC.
    pub fn accept(xapp: &Xapp, subscription_id: i32) -> Indications {
        Indications::on(xapp.accept(), subscription_id)
    }

    /// Those that come on a connection.
    pub fn on(connection: Connection, subscription_id: i32) -> Indications {
        Indications { connection, subscription_id, seen: HashSet::new() }
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// Receives for some time indications of which none comes twice.
    pub fn receive_for(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.receive();
        }
    }

    /// Receives one that did not come before.
    pub fn receive(&mut self) {
        let Some(message) = self.connection.receive_within(PATIENCE) else { panic!("no indication for {PATIENCE:?}") };
        if message.kind != MessageType::HEALTH_CHECK_REQUEST {
            self.take(message);
        }
    }

    fn take(&mut self, message: Received) {
        check(&message, self.subscription_id);
        assert!(self.seen.insert(message.payload), "an indication came twice");
    }

    /// Waits for the connection of the next RIC, and for its first indication.
    pub fn follow(&mut self, xapp: &Xapp) {
        assert!(self.connection.is_closed_after_messages());
        self.connection = xapp.accept();
        let first = self.connection.receive();
        self.take(first);
    }
}

/// Checks that a message is an indication of the node with a subscription id.
fn check(message: &Received, subscription_id: i32) {
    let of = (message.kind, message.subscription_id, &*message.meid);
    assert_eq!(of, (MessageType::INDICATION, subscription_id, NODE));
    let gather = Gather::new();
    let pdu = decode(&message.payload, VERSION, &gather).unwrap().pdu;
    assert!(matches!(pdu, Pdu::RicIndication(_)), "{message:?}");
}
