//! Host names of RICs: while a name server does not answer, agents and xApps go on with their other links.

mod common;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::function::{Reporter, impatient};
use common::peer::node_id;
use common::test_server::{Ric, free_ports};
use common::{PATIENCE, eventually};
use ferric::agent::{AgentLoop, AgentLoopConfig};
use ferric::e2ap::GlobalE2NodeId;
use ferric::link::{self, Address, Resolver};
use ferric::xapp::{Reconnect, Xapp, XappConfig, XappEvent, XappGroup};

/// A name server that answers while it is open: each name is this host, `unknown.test` is none.
#[derive(Clone, Default)]
struct NameServer(Arc<Gate>);

#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
    asked: AtomicUsize,
}

impl NameServer {
    fn set_open(&self, is_open: bool) {
        *self.0.is_open.lock().unwrap() = is_open;
        self.0.changed.notify_all();
    }

    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::Acquire)
    }

    fn link(&self) -> link::Config {
        let gate = Arc::clone(&self.0);
        let resolver = Resolver::new(move |host, port| {
            gate.asked.fetch_add(1, Ordering::AcqRel);
            let is_open = gate.is_open.lock().unwrap();
            // ends also if the test has failed
            drop(gate.changed.wait_timeout_while(is_open, PATIENCE, |is_open| !*is_open).unwrap());
            match host {
                "unknown.test" => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
                _ => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
            }
        });
        link::Config { resolver, ..XappConfig::default().link }
    }
}

/// The address with a name for its host.
fn named(address: &Address, host: &str) -> Address {
    let Address::Tcp { port, .. } = address else { panic!("{address} is TCP") };
    Address::Tcp { host: host.to_owned(), port: *port }
}

fn agents(names: &NameServer) -> AgentLoop {
    AgentLoop::new(AgentLoopConfig { link: names.link(), ..impatient() }).unwrap()
}

fn add(agents: &mut AgentLoop, number: u32, ric: Address) -> ferric::agent::NodeHandle {
    agents.add(node_id(number), ric.into(), vec![Box::new(Reporter::new(Duration::from_millis(1)))]).0
}

/// Runs until so many nodes are set up. Each wait ends by an event, so that this fails if a look-up wakes nobody.
fn until_connected(agents: &mut AgentLoop, nodes: usize) {
    let deadline = Instant::now() + PATIENCE;
    while agents.connected_controllers() != nodes {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "{} of {nodes} nodes are set up", agents.connected_controllers());
        agents.poll(Some(left)).unwrap();
    }
}

#[test]
fn agent_serves_other_nodes_while_a_name_is_looked_up() {
    let (ric, names) = (Ric::start(free_ports()), NameServer::default());
    let mut agents = agents(&names);
    add(&mut agents, 1, named(&ric.e2[0], "ric.test"));
    let removed = add(&mut agents, 2, named(&ric.e2[0], "ric.test"));
    add(&mut agents, 3, ric.e2[0].clone());
    until_connected(&mut agents, 1);
    eventually("the question", || names.asked() == 1);
    // its answer comes when the node is gone
    agents.remove_node(removed);
    add(&mut agents, 4, ric.e2[0].clone());
    until_connected(&mut agents, 2);
    names.set_open(true);
    until_connected(&mut agents, 3);
    assert_eq!(names.asked(), 1, "a name is looked up once for all nodes");
}

#[test]
fn name_that_is_unknown_delays_no_other_node_and_is_tried_again() {
    let (ric, names) = (Ric::start(free_ports()), NameServer::default());
    names.set_open(true);
    let mut agents = agents(&names);
    add(&mut agents, 1, named(&ric.e2[0], "unknown.test"));
    add(&mut agents, 2, named(&ric.e2[0], "ric.test"));
    until_connected(&mut agents, 1);
    let before = names.asked();
    let deadline = Instant::now() + PATIENCE;
    while names.asked() < before + 2 {
        assert!(Instant::now() < deadline, "the name is not tried again");
        agents.poll(Some(Duration::from_millis(5))).unwrap();
    }
    assert_eq!(agents.connected_controllers(), 1);
}

fn reconnecting(names: &NameServer) -> XappConfig {
    let first = Duration::from_millis(20);
    XappConfig { reconnect: Some(Reconnect { first, last: first }), link: names.link(), ..XappConfig::default() }
}

#[test]
fn xapp_goes_on_while_the_name_of_its_ric_is_looked_up() {
    let (ric, names) = (Ric::start(free_ports()), NameServer::default());
    names.set_open(true);
    let mut xapp = Xapp::connect(&named(&ric.xapp, "ric.test"), "named", reconnecting(&names)).unwrap();
    names.set_open(false);
    let address = ric.xapp.clone();
    ric.stop();
    let deadline = Instant::now() + PATIENCE;
    while names.asked() < 2 {
        assert!(Instant::now() < deadline, "the xApp does not reconnect");
        xapp.poll(Some(Duration::from_millis(5)), |_, _| ()).unwrap();
    }
    // its thread is free: the name is not resolved yet
    for _ in 0..10 {
        xapp.poll(Some(Duration::from_millis(1)), |event, _| panic!("{event:?}")).unwrap();
    }
    assert!(!*names.0.is_open.lock().unwrap());
    let _ric = Ric::start(ferric::server::ServerConfig { xapp: Some(address), ..free_ports() });
    names.set_open(true);
    let mut is_back = false;
    while !is_back {
        assert!(Instant::now() < deadline, "the xApp does not reconnect");
        let left = deadline.saturating_duration_since(Instant::now());
        xapp.poll(Some(left), |event, _| is_back |= matches!(event, XappEvent::Reconnected(_))).unwrap();
    }
}

#[test]
fn xapp_of_several_rics_uses_those_whose_names_are_known() {
    let (rics, names) = ([Ric::start(free_ports()), Ric::start(free_ports())], NameServer::default());
    let (mut first, mut second) = (rics[0].node(), rics[1].node());
    first.set_up(1);
    second.set_up(2);
    let addresses = [named(&rics[0].xapp, "ric.test"), rics[1].xapp.clone()];
    let mut group = XappGroup::connect(&addresses, "named", reconnecting(&names), PATIENCE).unwrap();
    let up = |group: &XappGroup| group.nodes().map(|node| node.global_id).collect::<Vec<GlobalE2NodeId>>();
    let deadline = Instant::now() + PATIENCE;
    while up(&group) != [node_id(2)] {
        assert!(Instant::now() < deadline, "the node of the other RIC is not up");
        group.poll(Some(Duration::from_millis(5)), |_, _| ()).unwrap();
    }
    assert!(!*names.0.is_open.lock().unwrap());
    names.set_open(true);
    while up(&group).len() < 2 {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the node of the RIC with a name is not up");
        group.poll(Some(left), |_, _| ()).unwrap();
    }
}
