//! A handshake may be completed by any read or write of the link. The agent must notice each time.

use std::time::{Duration, Instant};

use e2::{Function, SubscriptionRequest, Time};
use e2ap::{Cause, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision};
use link::{Config, Link, Listener, Scratch, State};
use testkit::certificates::Authority;

use super::{AgentLoop, AssocId};
use crate::agent::{Admission, AgentLoopConfig, ControllerId, RanFunction, RequestKey, Views};
use crate::endpoint;

const PATIENCE: Duration = Duration::from_secs(60);

/// A function without subscriptions, since each node has at least one function.
struct Idle;

impl RanFunction for Idle {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(1)
    }

    fn definition(&self) -> Function {
        let (id, revision) = (self.id(), RanFunctionRevision(1));
        Function { id, revision, oid: "1".to_owned(), definition: b"idle".to_vec() }
    }

    fn subscribe(&mut self, _: Time, _: ControllerId, _: &SubscriptionRequest, _: &Views) -> Result<Admission, Cause> {
        unreachable!("the test does not subscribe")
    }

    fn unsubscribe(&mut self, _: RequestKey) {
        unreachable!("the test does not subscribe")
    }
}

/// Does the first part of an iteration, up to the point where the RIC's messages matter.
fn look(agents: &mut AgentLoop) -> AssocId {
    agents.poll.wait(&mut agents.events, Some(PATIENCE)).unwrap();
    let now = agents.clock.now();
    let assoc = AssocId(agents.events.get(0).expect("an event").token);
    agents.writable(now, assoc);
    assoc
}

#[test]
fn handshake_that_completes_on_write_continues_with_setup() {
    check_setup_after(|agents, _| agents.process_pending(agents.clock.now()));
}

#[test]
fn handshake_that_completes_on_read_continues_with_setup() {
    check_setup_after(|agents, assoc| agents.receive(agents.clock.now(), assoc));
}

/// Runs the last part of an iteration, `last`, once the RIC's part of the handshake has arrived; the agent must set
/// up.
fn check_setup_after(last: impl FnOnce(&mut AgentLoop, AssocId)) {
    let authority = Authority::new();
    let tls = || Some(endpoint::issue_certificate(&authority, &["127.0.0.1"]));
    let ric = Config { tls: tls(), ..Config::default() };
    let mut listener = Listener::bind(&"tls://127.0.0.1:0".parse().unwrap(), &ric).unwrap();
    let mut config = AgentLoopConfig { setup_timeout: 10 * PATIENCE, ..AgentLoopConfig::default() };
    config.link.tls = tls();
    let mut agents = AgentLoop::new(config).unwrap();
    let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 32));
    agents.add(node, listener.local_address().clone().into(), vec![Box::new(Idle)]);
    agents.process_pending(agents.clock.now());
    // the agent sends its hello; the RIC answers before the agent writes
    let assoc = look(&mut agents);
    let deadline = Instant::now() + PATIENCE;
    let mut ric: Link = loop {
        if let Some(link) = listener.accept().unwrap() {
            break link;
        }
        assert!(Instant::now() < deadline, "the agent does not connect");
    };
    while agents.events.get(0).is_none_or(|event| !event.readable) {
        ric.finish_connect().unwrap();
        agents.poll.wait(&mut agents.events, Some(Duration::from_millis(1))).unwrap();
        assert!(Instant::now() < deadline, "the RIC does not answer");
    }
    last(&mut agents, assoc);

    let mut is_set_up = false;
    while !is_set_up {
        agents.poll(Some(Duration::from_millis(1))).unwrap();
        if ric.finish_connect().unwrap() == State::Established {
            ric.receive(&mut Scratch::new(), 1 << 16, &mut |_, _| is_set_up = true).unwrap();
        }
        assert!(Instant::now() < deadline, "the agent never sends its setup");
    }
}
