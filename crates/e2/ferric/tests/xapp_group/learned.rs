//! RICs that other RICs name to an xApp: it uses them as well, within bounds, and never leaves those that it was given.

use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ferric::e2::xapp::RicList;
use ferric::e2::{Consumer, Indication};
use ferric::e2ap::GlobalE2NodeId;
use ferric::link::{self, Address, Resolver};
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker};
use ferric::xapp::{Commands, MAX_RICS, XappConfig, XappEvent, XappGroup};

use crate::common::PATIENCE;
use crate::common::peer::node_id;
use crate::common::test_server::{Ric, free_ports};
use crate::support;

/// What a RIC says, which the test changes.
#[derive(Clone)]
struct Said {
    document: Arc<Mutex<Vec<u8>>>,
    waker: IappWaker,
}

impl Said {
    fn say(&self, own: Option<&Address>, others: &[&str]) {
        let others = others.iter().map(|other| (*other).to_owned()).collect();
        self.say_octets(&RicList { own: own.map(Address::to_string), others }.encode());
    }

    fn say_octets(&self, document: &[u8]) {
        *self.document.lock().unwrap() = document.to_vec();
        self.waker.wake();
    }
}

struct SayList {
    document: Arc<Mutex<Vec<u8>>>,
    asking: Vec<Consumer>,
}

impl Iapp for SayList {
    fn name(&self) -> &str {
        "list"
    }

    fn serves(&self, kind: u32) -> bool {
        kind == RicList::QUERY
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        if let IappEvent::XappMessage { xapp, .. } = event {
            self.asking.push(*xapp);
            ric.send_to_xapp(*xapp, RicList::ANSWER, &self.document.lock().unwrap());
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        for xapp in &self.asking {
            ric.send_to_xapp(*xapp, RicList::ANSWER, &self.document.lock().unwrap());
        }
    }
}

/// A RIC that names others.
fn ric() -> (Ric, Said) {
    let (sender, receiver) = channel();
    let ric = Ric::prepared(free_ports(), move |server| {
        let document = Arc::default();
        server.add_iapp(Box::new(SayList { document: Arc::clone(&document), asking: Vec::new() }));
        sender.send(Said { document, waker: server.iapp_waker().unwrap() }).unwrap();
    });
    (ric, receiver.recv().unwrap())
}

fn config() -> XappConfig {
    XappConfig { learns_rics: true, ..support::config() }
}

fn connect(rics: &[&Address], config: XappConfig) -> XappGroup {
    let rics: Vec<_> = rics.iter().map(|ric| (*ric).clone()).collect();
    XappGroup::connect(&rics, "learning", config, PATIENCE).unwrap()
}

/// Polls until the condition holds. Services are those of the application, which has none.
#[track_caller]
fn until(group: &mut XappGroup, what: &str, mut condition: impl FnMut(&XappGroup) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition(group) {
        assert!(Instant::now() < deadline, "{what} does not come: {}", group.addresses());
        poll(group, Duration::from_millis(5));
    }
}

fn poll(group: &mut XappGroup, timeout: Duration) {
    let handle = |event: XappEvent<'_>, _: &mut Commands<'_>| {
        assert!(!matches!(event, XappEvent::Service { .. } | XappEvent::NoService), "{event:?}");
    };
    group.poll(Some(timeout), handle).unwrap();
}

fn poll_for(group: &mut XappGroup, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        poll(group, Duration::from_millis(5));
    }
}

fn nodes(group: &XappGroup) -> Vec<GlobalE2NodeId> {
    let mut nodes: Vec<_> = group.nodes().map(|node| node.global_id).collect();
    nodes.sort_unstable();
    nodes
}

/// Addresses of which the sessions are.
fn addresses(rics: &[&Address]) -> String {
    rics.iter().map(|ric| ric.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn ric_that_is_named_is_used_until_it_is_gone_and_none_names_it() {
    let ((given, said), (named, _said)) = (ric(), ric());
    let (mut first, mut second) = (given.node(), named.node());
    first.set_up(1);
    second.set_up(2);
    let mut group = connect(&[&given.xapp], config());
    until(&mut group, "the node", |group| nodes(group) == [node_id(1)]);
    said.say(Some(&given.xapp), &[&named.xapp.to_string()]);
    until(&mut group, "the other node", |group| nodes(group) == [node_id(1), node_id(2)]);
    assert_eq!(group.addresses(), addresses(&[&given.xapp, &named.xapp]));
    // one that has a session stays
    said.say(Some(&given.xapp), &[]);
    poll_for(&mut group, Duration::from_millis(100));
    assert_eq!(nodes(&group), [node_id(1), node_id(2)]);
    named.stop();
    until(&mut group, "the end of the session", |group| group.addresses() == given.xapp.to_string());
    assert_eq!(nodes(&group), [node_id(1)]);
    // its place is used again
    let (other, _said) = ric();
    let mut third = other.node();
    third.set_up(3);
    said.say(Some(&given.xapp), &[&other.xapp.to_string()]);
    until(&mut group, "the third node", |group| nodes(group) == [node_id(1), node_id(3)]);
    assert_eq!(group.addresses(), addresses(&[&given.xapp, &other.xapp]));
}

#[test]
fn named_ric_serves_when_the_given_one_is_lost_which_is_tried_again() {
    let ((given, said), (named, _said)) = (ric(), ric());
    said.say(Some(&given.xapp), &[&named.xapp.to_string()]);
    let mut group = connect(&[&given.xapp], config());
    let both = addresses(&[&given.xapp, &named.xapp]);
    until(&mut group, "the second RIC", |group| group.addresses() == both);
    let mut node = named.node();
    node.set_up(1);
    until(&mut group, "the node", |group| nodes(group) == [node_id(1)]);
    let address = given.xapp.clone();
    given.stop();
    poll_for(&mut group, Duration::from_millis(100));
    assert_eq!((nodes(&group), group.addresses()), (vec![node_id(1)], both));
    let given = Ric::start(ferric::server::ServerConfig { xapp: Some(address), ..free_ports() });
    let mut other = given.node();
    other.set_up(2);
    until(&mut group, "the node of the given RIC", |group| nodes(group) == [node_id(1), node_id(2)]);
}

#[test]
fn what_cannot_be_used_is_ignored() {
    let ((given, said), (named, _said)) = (ric(), ric());
    let mut group = connect(&[&given.xapp], config());
    let Address::Tcp { port, .. } = named.xapp else { panic!("TCP") };
    // other kinds of links, of which some are not as safe, itself by its own address, and what is no address
    let (tls, unix, itself) = (format!("tls://127.0.0.1:{port}"), "unix:/run/xapps", given.xapp.to_string());
    said.say(Some(&given.xapp), &[&tls, unix, "memory:x", &itself, "nothing", "tcp://:1"]);
    poll_for(&mut group, Duration::from_millis(100));
    for document in [&b"\xff"[..], b"a\n\nb", &[b'\n'; 1000], &vec![b'x'; 100_000]] {
        said.say_octets(document);
        poll_for(&mut group, Duration::from_millis(20));
    }
    assert_eq!(group.addresses(), given.xapp.to_string());
    // it goes on
    said.say(None, &[&named.xapp.to_string()]);
    let both = addresses(&[&given.xapp, &named.xapp]);
    until(&mut group, "the second RIC", |group| group.addresses() == both);

    let mut group = connect(&[&given.xapp], XappConfig { learns_rics: false, ..config() });
    poll_for(&mut group, Duration::from_millis(100));
    assert_eq!(group.addresses(), given.xapp.to_string());
}

#[test]
fn named_rics_are_bounded_and_leave_their_places() {
    let (given, said) = ric();
    let second = Ric::start(free_ports());
    let mut group = connect(&[&given.xapp, &second.xapp], config());
    // none is there
    let many: Vec<_> = (1..MAX_RICS).map(|number| format!("tcp://127.0.0.{number}:9")).collect();
    said.say(None, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let count = |group: &XappGroup| group.addresses().split(' ').count();
    until(&mut group, "so many RICs", |group| count(group) == MAX_RICS);
    poll_for(&mut group, Duration::from_millis(50));
    said.say(None, &[]);
    let given_only = addresses(&[&given.xapp, &second.xapp]);
    until(&mut group, "the end of all others", |group| group.addresses() == given_only);
}

#[test]
fn given_ric_that_has_another_address_replaces_the_one_that_was_named() {
    let gate: Arc<(Mutex<bool>, Condvar)> = Arc::default();
    let open = Arc::clone(&gate);
    let resolver = Resolver::new(move |_, port| {
        let is_open = gate.0.lock().unwrap();
        drop(gate.1.wait_timeout_while(is_open, PATIENCE, |is_open| !*is_open).unwrap());
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
    });
    let ((given, said), (both, said_of_both)) = (ric(), ric());
    let mut node = both.node();
    node.set_up(1);
    let Address::Tcp { port, .. } = both.xapp else { panic!("TCP") };
    let by_name = Address::Tcp { host: "ric.test".into(), port };
    let link = link::Config { resolver, ..config().link };
    let mut group = connect(&[&given.xapp, &by_name], XappConfig { link, ..config() });
    said.say(Some(&given.xapp), &[&both.xapp.to_string()]);
    said_of_both.say(Some(&both.xapp), &[&given.xapp.to_string()]);
    until(&mut group, "the node", |group| nodes(group) == [node_id(1)]);
    assert_eq!(group.addresses(), addresses(&[&given.xapp, &by_name, &both.xapp]));
    *open.0.lock().unwrap() = true;
    open.1.notify_all();
    let once = addresses(&[&given.xapp, &by_name]);
    until(&mut group, "the given one alone", |group| group.addresses() == once && nodes(group) == [node_id(1)]);
    poll_for(&mut group, Duration::from_millis(50));
    assert_eq!((group.addresses(), nodes(&group)), (once, vec![node_id(1)]));
}

#[test]
fn ric_without_the_list_refuses_what_the_application_has_asked() {
    let ric = Ric::start(free_ports());
    let mut group = connect(&[&ric.xapp], config());
    poll_for(&mut group, Duration::from_millis(100));
    group.commands().service(20012, b"{}");
    let (mut refused, deadline) = (0, Instant::now() + PATIENCE);
    while refused == 0 {
        assert!(Instant::now() < deadline, "no refusal");
        group
            .poll(Some(Duration::from_millis(5)), |event, _| {
                refused += u32::from(matches!(event, XappEvent::NoService))
            })
            .unwrap();
    }
    poll_for(&mut group, Duration::from_millis(50));
    assert_eq!(refused, 1);
}
