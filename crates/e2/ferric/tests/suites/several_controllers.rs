//! A node with several controllers: each has its own subscriptions, and a failure of one does not affect the others.

use std::sync::Arc;
use std::time::Duration;

use crate::common::function::{Log, Reporter, impatient, poll_agents_until};
use crate::common::peer::{FUNCTION, node_id, report_spec};
use crate::common::scene::{Ric, free_ports};
use crate::common::session::{node_id_of, session};
use ferric::agent::{AgentLoop, ControllerId, NodeConfig, NodeHandle, Ue};
use ferric::e2::{ControllerConfig, SubscriptionId};
use ferric::server::ServerConfig;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// A node with a reporter, and several RICs.
struct Scene {
    agents: AgentLoop,
    node: NodeHandle,
    log: Arc<Log>,
    rics: Vec<(Ric, ControllerId)>,
}

impl Scene {
    fn new(rics: u32) -> Scene {
        let mut agents = AgentLoop::new(impatient()).unwrap();
        let reporter = Reporter::new(Duration::from_millis(1));
        let log = reporter.log.clone();
        let node = agents.add_node(NodeConfig::new(node_id(1)), vec![Box::new(reporter)]);
        let mut scene = Scene { agents, node, log, rics: Vec::new() };
        for number in 0..rics {
            scene.add(number);
        }
        scene
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
    let mut scene = Scene::new(3);
    let mut sessions: Vec<_> = (0..3).map(|ric| scene.subscribe(ric).0).collect();
    // all RICs assign the same request ids
    assert_eq!((scene.log.subscribed(), scene.log.unsubscribed()), (3, 0));
    for xapp in &mut sessions {
        scene.check_progress(xapp);
    }
    let connected: Vec<_> =
        scene.agents.controllers(scene.node).map(|c| (c.id, c.ric_id.unwrap().ric_id.value)).collect();
    let expected: Vec<_> = scene.rics.iter().map(|(_, id)| *id).zip(0..).collect();
    assert_eq!(connected, expected);
}

#[test]
fn loss_or_removal_of_a_controller_harms_no_other() {
    let mut scene = Scene::new(2);
    let (mut stays, _) = scene.subscribe(0);
    let (_leaves, _) = scene.subscribe(1);

    // lost: its subscriptions end, its configuration stays, and the node reconnects
    let (ric, lost) = scene.rics.remove(1);
    drop(ric);
    let log = scene.log.clone();
    poll_agents_until(&mut scene.agents, "the loss", |agents| {
        agents.connected_controllers() == 1 && log.unsubscribed() == 1
    });
    assert_eq!(log.removed(), 0);
    scene.check_progress(&mut stays);

    // removed: its configuration is forgotten
    assert!(scene.agents.remove_controller(lost));
    assert!(!scene.agents.remove_controller(lost), "once");
    assert_eq!((log.removed(), log.unsubscribed()), (1, 1));
    scene.check_progress(&mut stays);

    // a new controller does not get a previous id
    let at = scene.add(7);
    assert!(scene.rics[at].1 > lost);
    let (mut returning, _) = scene.subscribe(at);
    scene.check_progress(&mut returning);
    scene.check_progress(&mut stays);

    // removed while connected: by E2 Removal, which its RIC sees
    let id = scene.rics[at].1;
    assert!(scene.agents.remove_controller(id));
    assert!(!scene.agents.remove_controller(id), "it is going already");
    poll_agents_until(&mut scene.agents, "the removal", |_| (log.removed(), log.unsubscribed()) == (2, 2));
    let mut gone = false;
    poll_agents_until(&mut scene.agents, "the node's leaving", |_| {
        returning.poll(Some(Duration::ZERO), |event, _| gone |= matches!(event, XappEvent::NodeLost(_))).unwrap();
        gone
    });
    scene.check_progress(&mut stays);
    assert_eq!(scene.agents.controllers(scene.node).count(), 1);
}

#[test]
fn first_controller_sees_all_until_it_is_removed() {
    let mut scene = Scene::new(2);
    let (first, guest) = (scene.rics[0].1, scene.rics[1].1);
    let views = scene.agents.views_mut(scene.node);
    views.expose(guest, Ue(3)).unwrap();
    assert!(views.sees(first, Ue(1)) && !views.sees(guest, Ue(1)) && views.sees(guest, Ue(3)));

    assert!(scene.agents.remove_controller(first));
    let node = scene.node;
    poll_agents_until(&mut scene.agents, "the removal", |agents| agents.controllers(node).count() == 1);
    let views = scene.agents.views(scene.node);
    assert_eq!((views.first(), views.sees(guest, Ue(1))), (None, false), "nobody is promoted");
    assert!(!scene.agents.set_first(scene.node, first), "it is not there");
    assert!(scene.agents.set_first(scene.node, guest));
    assert!(scene.agents.views(scene.node).sees(guest, Ue(1)));
}
