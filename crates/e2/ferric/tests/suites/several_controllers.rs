//! A node with several controllers: each has its own subscriptions, and a failure of one does not affect the others.

use std::sync::Arc;
use std::time::Duration;

use crate::common::function::{Log, Reporter, impatient, poll_agents_until};
use crate::common::peer::{FUNCTION, node_id, report_spec};
use crate::common::session::{node_id_of, session};
use crate::common::test_server::{Ric, free_ports};
use ferric::agent::{AgentLoop, ControllerId, NodeConfig, NodeHandle, Ue};
use ferric::e2::{ControllerConfig, SubscriptionId};
use ferric::server::ServerConfig;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// A node with a reporter, and several RICs.
struct Fixture {
    agents: AgentLoop,
    node: NodeHandle,
    log: Arc<Log>,
    rics: Vec<(Ric, ControllerId)>,
}

impl Fixture {
    fn new(rics: u32) -> Fixture {
        let mut agents = AgentLoop::new(impatient()).unwrap();
        let reporter = Reporter::new(Duration::from_millis(1));
        let log = reporter.log.clone();
        let node = agents.add_node(NodeConfig::new(node_id(1)), vec![Box::new(reporter)]);
        let mut fixture = Fixture { agents, node, log, rics: Vec::new() };
        for number in 0..rics {
            fixture.add(number);
        }
        fixture
    }

    /// Adds a RIC, and waits until it has accepted the setup.
    fn add(&mut self, number: u32) -> usize {
        let plmn = e2ap::PlmnIdentity::from_codes(1, 1, 2);
        let controller =
            ControllerConfig { ric_id: e2ap::GlobalRicId::new(plmn, number), ..ControllerConfig::default() };
        let ric = Ric::start(ServerConfig { controller, ..free_ports() });
        let id = self.agents.add_controller(self.node, ric.e2[0].clone().into());
        self.rics.push((ric, id));
        let expected = self.rics.len();
        poll_agents_until(&mut self.agents, "the setup", |agents| agents.connected_controllers() == expected);
        expected - 1
    }

    /// Opens a session with a RIC, subscribed to the reporter.
    fn subscribe(&mut self, ric: usize) -> (Xapp, SubscriptionId) {
        let mut xapp = session(&self.rics[ric].0);
        let node = node_id_of(&mut xapp, 1);
        xapp.commands().subscribe(node, FUNCTION, report_spec(b""));
        let mut subscription = None;
        poll_agents_until(&mut self.agents, "the subscription", |_| {
            xapp.poll(Some(Duration::ZERO), |event, _| {
                if let XappEvent::Request(RequestEvent::Subscribed { subscription: id, .. }) = event {
                    subscription = Some(id);
                }
            })
            .unwrap();
            subscription.is_some()
        });
        (xapp, subscription.unwrap())
    }

    /// Checks that the session gets new indications.
    fn check_progress(&mut self, xapp: &mut Xapp) {
        let mut count = 0;
        poll_agents_until(&mut self.agents, "ten more reports", |_| {
            xapp.poll(Some(Duration::ZERO), |event, _| {
                if let XappEvent::Indication(_) = event {
                    count += 1;
                }
            })
            .unwrap();
            count >= 10
        });
    }
}

#[test]
fn controllers_have_separate_subscriptions() {
    let mut fixture = Fixture::new(3);
    let mut sessions: Vec<_> = (0..3).map(|ric| fixture.subscribe(ric).0).collect();
    // all RICs assign the same request ids
    assert_eq!((fixture.log.subscribed(), fixture.log.unsubscribed()), (3, 0));
    for xapp in &mut sessions {
        fixture.check_progress(xapp);
    }
    let connected: Vec<_> =
        fixture.agents.controllers(fixture.node).map(|c| (c.id, c.ric_id.unwrap().ric_id.value)).collect();
    let expected: Vec<_> = fixture.rics.iter().map(|(_, id)| *id).zip(0..).collect();
    assert_eq!(connected, expected);
}

#[test]
fn loss_or_removal_of_a_controller_does_not_affect_others() {
    let mut fixture = Fixture::new(2);
    let (mut stays, _) = fixture.subscribe(0);
    let (_leaves, _) = fixture.subscribe(1);

    // lost: its subscriptions end, its configuration stays, and the node reconnects
    let (ric, lost) = fixture.rics.remove(1);
    drop(ric);
    let log = fixture.log.clone();
    poll_agents_until(&mut fixture.agents, "the loss", |agents| {
        agents.connected_controllers() == 1 && log.unsubscribed() == 1
    });
    assert_eq!(log.removed(), 0);
    fixture.check_progress(&mut stays);

    // removed: its configuration is forgotten
    assert!(fixture.agents.remove_controller(lost));
    assert!(!fixture.agents.remove_controller(lost), "once");
    assert_eq!((log.removed(), log.unsubscribed()), (1, 1));
    fixture.check_progress(&mut stays);

    // a new controller does not get a previous id
    let at = fixture.add(7);
    assert!(fixture.rics[at].1 > lost);
    let (mut returning, _) = fixture.subscribe(at);
    fixture.check_progress(&mut returning);
    fixture.check_progress(&mut stays);

    // removed while connected: by E2 Removal, which its RIC sees
    let id = fixture.rics[at].1;
    assert!(fixture.agents.remove_controller(id));
    assert!(!fixture.agents.remove_controller(id), "it is going already");
    poll_agents_until(&mut fixture.agents, "the removal", |_| (log.removed(), log.unsubscribed()) == (2, 2));
    let mut gone = false;
    poll_agents_until(&mut fixture.agents, "the node's leaving", |_| {
        returning.poll(Some(Duration::ZERO), |event, _| gone |= matches!(event, XappEvent::NodeLost(_))).unwrap();
        gone
    });
    fixture.check_progress(&mut stays);
    assert_eq!(fixture.agents.controllers(fixture.node).count(), 1);
}

#[test]
fn first_controller_sees_all_until_it_is_removed() {
    let mut fixture = Fixture::new(2);
    let (first, guest) = (fixture.rics[0].1, fixture.rics[1].1);
    let views = fixture.agents.views_mut(fixture.node);
    views.expose(guest, Ue(3)).unwrap();
    assert!(views.sees(first, Ue(1)) && !views.sees(guest, Ue(1)) && views.sees(guest, Ue(3)));

    assert!(fixture.agents.remove_controller(first));
    let node = fixture.node;
    poll_agents_until(&mut fixture.agents, "the removal", |agents| agents.controllers(node).count() == 1);
    let views = fixture.agents.views(fixture.node);
    assert_eq!((views.first(), views.sees(guest, Ue(1))), (None, false), "nobody is promoted");
    assert!(!fixture.agents.set_first(fixture.node, first), "it is not there");
    assert!(fixture.agents.set_first(fixture.node, guest));
    assert!(fixture.agents.views(fixture.node).sees(guest, Ue(1)));
}
