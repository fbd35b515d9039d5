//! One RIC of a group does not reach the store, and the other RICs do.

use std::collections::BTreeMap;

use ferric::e2ap::RicControlAckRequest;
use rmr::MessageType;
use serde_json::{Value, json};
use system_tests::platform::{NODE, Xapp, control_request, header, kpm, quota_of};
use system_tests::rmr_peer::Connection;
use system_tests::{eventually, log};
use testkit::{Redis, Relay};

use crate::group::{ENTRIES, Group, Indications, Member, TIME_TO_LIVE, requests};
use crate::policies::{POLICY, TYPE};

/// Enough that [`NODE`] and another one are at different RICs.
const NODES: usize = 16;

/// Three RICs, each of which reaches the store through a relay of its own.
struct Partition {
    redis: Redis,
    relays: [Relay; 3],
    group: Group,
    /// The RIC of each node.
    owners: BTreeMap<String, Option<usize>>,
    /// The RIC that is cut off: that of [`NODE`].
    cut: usize,
}

impl Partition {
    /// `None` where there is no Redis.
    fn start() -> Option<Partition> {
        let redis = Redis::start(&[])?;
        let relays = [0; 3].map(|_| Relay::start(redis.port()));
        let urls = relays.each_ref().map(|relay| format!("redis://127.0.0.1:{}", relay.port()));
        let group = Group::with_nodes(&urls, &redis, NODES as u16);
        let cut = group.owner(&redis);
        let mut partition = Partition { redis, relays, group, owners: BTreeMap::new(), cut };
        // nodes may have set up at another RIC before theirs was known
        partition.owners = partition.owners_now();
        Some(partition)
    }

    /// The RIC of each node, as the store has it.
    fn owners_now(&self) -> BTreeMap<String, Option<usize>> {
        let names = (0..NODES).map(|number| format!("gnb_001_001_{:06x}", 0xE00 + number));
        names.map(|name| (name.clone(), self.group.owner_of(&self.redis, &name))).collect()
    }

    fn nodes_of(&self, member: usize) -> usize {
        self.owners.values().filter(|owner| **owner == Some(member)).count()
    }

    /// The RICs that reach the store.
    fn others(&self) -> [usize; 2] {
        let mut others = [(self.cut + 1) % 3, (self.cut + 2) % 3];
        others.sort_unstable();
        others
    }

    fn member(&self, at: usize) -> &Member {
        &self.group.members[at]
    }

    /// How often the RIC that is cut off has logged a text with its URL of the store.
    fn lines(&self, text: &str) -> usize {
        let url = format!("store=redis://127.0.0.1:{}", self.relays[self.cut].port());
        let is_of_store =
            |line: &str| line.split_once(&url).is_some_and(|(_, rest)| !rest.starts_with(char::is_numeric));
        log().lines().filter(|line| line.contains(text) && is_of_store(line)).count()
    }

    /// Cuts the RIC off, and waits until all have noticed it.
    fn cut(&self) {
        let others = self.others();
        let before = self.group.lines(&others);
        self.relays[self.cut].cut();
        eventually("the others take it for lost", || self.group.lines(&others) == before + 2);
        for what in
            ["the store of the RICs that share nodes: those that are known stay", "the store of what RICs share"]
        {
            eventually(what, || self.lines(&format!("cannot reach {what}")) == 1);
        }
        assert_eq!(self.lines("remedy: check the host, its load and the network: Redis does not answer in time"), 2);
    }

    /// Ends the partition, and waits until all RICs list all nodes.
    fn restore(&self) {
        let before = self.group.lines(&[0, 1, 2]);
        self.relays[self.cut].restore();
        eventually("the others know it again", || self.group.lines(&[0, 1, 2]) == before + 2);
        self.group.members.iter().for_each(|member| member.await_nodes(NODES));
        for what in ["the store of the RICs that share nodes is available again", "what RICs share is available again"]
        {
            eventually(what, || self.lines(what) == 1);
        }
    }

    /// The nodes that are connected to each RIC.
    fn connected(&self) -> Vec<usize> {
        let of = |member: &Member| member.ric.rest.get("/v1/nodes")["nodes"].as_array().unwrap().len();
        self.group.members.iter().map(of).collect()
    }
}

/// The alarms that a RIC has raised.
fn alarms(member: &Member) -> Value {
    member.rest.get("/ric/v1/alarms/history")
}

#[test]
fn ric_that_is_cut_off_keeps_its_nodes_and_all_is_shared_again() {
    let Some(partition) = Partition::start() else { return };
    let (cut, others) = (partition.member(partition.cut), partition.others());
    let other = partition.member(others[0]);
    let foreign = partition.owners.iter().find(|(_, owner)| **owner != Some(partition.cut)).unwrap().0;
    let kpm = kpm(&cut.rest);
    let [first, second, third] = [(); 3].map(|()| Xapp::new());
    let id = other.subscribe(&kpm, NODE, &first, 1).expect(201)["SubscriptionId"].clone();
    let mut indications = Indications::accept(&first, first.subscribed(&id, 1));
    let to_delete = other.subscribe(&kpm, NODE, &second, 2).expect(201)["SubscriptionId"].clone();
    let mut until_deleted = Indications::accept(&second, second.subscribed(&to_delete, 2));
    partition.group.list(2);
    let (function, control_header, message) = quota_of(&cut.rest, 30);
    let octets = control_request(function, &control_header, &message, RicControlAckRequest::Ack);
    let control = |member: &Member, node: &str| {
        let mut connection = Connection::open(member.rmr);
        let header = rmr::Header { meid: node, ..header(MessageType::CONTROL_REQUEST, "127.0.0.1:4560") };
        connection.send(&header, &octets);
        connection.receive().kind
    };
    let acknowledged = MessageType::CONTROL_ACKNOWLEDGE;
    eventually("the RICs are connected", || {
        control(cut, foreign) == acknowledged && control(other, NODE) == acknowledged
    });
    let connected = partition.connected();
    assert_eq!(connected, [0, 1, 2].map(|at| partition.nodes_of(at)));

    partition.cut();
    // longer than the time after which nodes are handed over
    indications.receive_for(4 * TIME_TO_LIVE);
    assert_eq!(partition.connected(), connected);
    assert_eq!(cut.rest.get("/v1/nodeb/states").as_array().unwrap().len(), NODES);
    for at in others {
        partition.member(at).await_nodes(NODES - partition.nodes_of(partition.cut));
    }
    // at the RIC that is cut off: its own nodes are as before, and what needs the others is refused
    let new = cut.subscribe(&kpm, NODE, &third, 3).expect(201)["SubscriptionId"].clone();
    let mut of_third = Indications::accept(&third, third.subscribed(&new, 3));
    of_third.receive_for(TIME_TO_LIVE);
    let refused = cut.subscribe(&kpm, foreign, &third, 4);
    refused.expect_problem(503, &[foreign, "the store that the RICs share is away: try again"]);
    assert!(refused.header("retry-after").is_some());
    // the RICs still reach each other
    assert_eq!((control(cut, NODE), control(cut, foreign)), (acknowledged, acknowledged));
    let of_type = |id: u16| json!({ "name": "n", "description": "d", "policy_type_id": id, "create_schema": {} });
    cut.ric.rest.request("PUT", TYPE, of_type(20008)).expect(201);
    cut.ric.rest.request("PUT", POLICY, json!({ "threshold": 5 })).expect(202);
    // at another one: the nodes of the RIC that is cut off are not known
    let refused = other.subscribe(&kpm, NODE, &third, 5);
    refused.expect_problem(503, &["there is no node `gnb_001_001_000e00`: it has not set up at any RIC, or is lost"]);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(control(other, NODE), MessageType::CONTROL_FAILURE);
    assert_eq!(other.ric.rest.get("/A1-P/v2/policytypes"), json!([]));
    let type_of_other = "/A1-P/v2/policytypes/20009";
    other.ric.rest.request("PUT", type_of_other, of_type(20009)).expect(201);
    let policy_of_other = "/A1-P/v2/policytypes/20009/policies/two";
    other.ric.rest.request("PUT", policy_of_other, json!({ "threshold": 6 })).expect(202);
    // a subscription that is deleted there ends when the partition does
    other.delete(&to_delete);
    until_deleted.receive_for(TIME_TO_LIVE);
    assert_eq!(requests(&partition.redis), 1);

    partition.restore();
    assert!(until_deleted.connection.is_closed_after_messages());
    let listed: Vec<Value> = partition.group.list(2).as_array().unwrap().clone();
    assert!(listed.iter().all(|one| one["Meid"] == NODE), "{listed:?}");
    for member in &partition.group.members {
        member.ric.rest.eventually(POLICY, |policy| policy["threshold"] == 5);
        member.ric.rest.eventually(policy_of_other, |policy| policy["threshold"] == 6);
    }
    eventually("the RICs are connected again", || control(other, NODE) == acknowledged);
    indications.receive_for(4 * TIME_TO_LIVE);
    of_third.receive_for(TIME_TO_LIVE);
    assert_eq!((partition.connected(), partition.owners_now()), (connected, partition.owners.clone()));
    for at in others {
        partition.member(at).delete(if at == others[0] { &id } else { &new });
    }
    partition.group.list(0);
    assert!(indications.connection.is_closed_after_messages() && of_third.connection.is_closed_after_messages());
    for member in &partition.group.members {
        assert_eq!(alarms(member), json!([]), "no node was lost");
    }
    assert_eq!(partition.lines("cannot reach the store"), 2, "it is logged once");
}

#[test]
fn node_that_leaves_a_ric_that_is_cut_off_is_served_by_another_and_returns() {
    let Some(mut partition) = Partition::start() else { return };
    let others = partition.others();
    let [first, second] = [(); 2].map(|()| Xapp::new());
    let kpm = kpm(&partition.member(0).rest);
    let id = partition.member(others[0]).subscribe(&kpm, NODE, &first, 1).expect(201)["SubscriptionId"].clone();
    let mut indications = Indications::accept(&first, first.subscribed(&id, 1));
    partition.group.list(1);
    partition.cut();
    let cut = partition.member(partition.cut);
    let new = cut.subscribe(&kpm, NODE, &second, 2).expect(201)["SubscriptionId"].clone();
    let mut of_cut = Indications::accept(&second, second.subscribed(&new, 2));
    of_cut.receive_for(TIME_TO_LIVE);

    // all nodes come back, to one of the others
    partition.group.ran = None;
    assert!(of_cut.connection.is_closed_after_messages());
    partition.group.start_ran(others[0]);
    for at in others {
        partition.member(at).await_nodes(NODES);
    }
    indications.follow(&first);
    indications.receive_for(TIME_TO_LIVE);
    assert_eq!(partition.connected()[partition.cut], 0);
    let entry = partition.redis.command(&["HGET", ENTRIES, &format!("node/{NODE}")]);
    assert!(!entry.contains(&partition.member(partition.cut).name), "{entry}");

    // what was subscribed at the RIC that was cut off is set up where the node is
    partition.restore();
    partition.group.list(2);
    of_cut.connection = second.accept();
    // the nodes return to their RIC, with both subscriptions
    eventually("the nodes return", || partition.owners_now() == partition.owners);
    indications.follow(&first);
    of_cut.follow(&second);
    indications.receive_for(TIME_TO_LIVE);
    of_cut.receive_for(TIME_TO_LIVE);
    assert_eq!(partition.connected(), [0, 1, 2].map(|at| partition.nodes_of(at)));
    for member in &partition.group.members {
        member.rest.eventually("/ric/v1/alarms/active", |active| *active == json!([]));
    }
}
