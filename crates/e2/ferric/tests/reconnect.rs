//! xApps that outlive their RIC: subscriptions are resumed under their ids, and no command is left without a result.

mod common;

use std::time::{Duration, Instant};

use common::function::{Reporter, impatient};
use common::peer::{FUNCTION, node_id, report_spec};
use common::test_server::Ric;
use common::{PATIENCE, socket_path};
use ferric::agent::AgentLoop;
use ferric::e2::{ControlOutcome, SubscribeError};
use ferric::e2::{NodeId, SubscriptionEnd, SubscriptionId};
use ferric::link::Address;
use ferric::server::ServerConfig;
use ferric::xapp::{Commands, Reconnect, RequestEvent, Xapp, XappConfig, XappEvent};

/// A node that reports each millisecond, a RIC that can be restarted, and an xApp.
struct Fixture {
    e2: Address,
    xapp_at: Address,
    agents: AgentLoop,
    ric: Option<Ric>,
    xapp: Xapp,
}

impl Fixture {
    fn new() -> Fixture {
        let (e2, xapp_at) = (Address::Unix(socket_path("again-e2")), Address::Unix(socket_path("again-xapp")));
        let ric = start(&e2, &xapp_at);
        let mut agents = AgentLoop::new(impatient()).unwrap();
        agents.add(node_id(1), e2.clone().into(), vec![Box::new(Reporter::new(Duration::from_millis(1)))]);
        let pause = Duration::from_millis(20);
        let reconnect = Some(Reconnect { first: pause, last: 4 * pause });
        let xapp = Xapp::connect(&xapp_at, "kept", XappConfig { reconnect, ..XappConfig::default() }).unwrap();
        Fixture { e2, xapp_at, agents, ric: Some(ric), xapp }
    }

    fn come_back(&mut self) {
        self.ric = Some(start(&self.e2, &self.xapp_at));
    }

    /// Polls until `wanted` finds its event.
    fn until<T>(&mut self, what: &str, mut wanted: impl FnMut(XappEvent<'_>, &mut Commands<'_>) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut found = None;
        while found.is_none() {
            assert!(Instant::now() < deadline, "{what} does not arrive");
            self.agents.poll(Some(Duration::from_millis(1))).unwrap();
            self.xapp
                .poll(Some(Duration::ZERO), |event, commands| {
                    let new = wanted(event, commands);
                    found = found.take().or(new);
                })
                .unwrap();
        }
        found.unwrap()
    }

    fn node(&mut self) -> NodeId {
        let known = self.xapp.nodes().next().map(|node| node.id);
        known.unwrap_or_else(|| {
            self.until("the node", |event, _| match event {
                XappEvent::NodeUp(node) => Some(node.id),
                _ => None,
            })
        })
    }

    fn subscribe(&mut self, trigger: &[u8]) -> SubscriptionId {
        let node = self.node();
        self.xapp.commands().subscribe(node, FUNCTION, report_spec(trigger));
        self.until("the subscription", |event, _| match event {
            XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => Some(subscription),
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => panic!("{failure:?}"),
            _ => None,
        })
    }

    fn reports_of(&mut self, subscription: SubscriptionId) {
        for _ in 0..5 {
            self.until("its reports", |event, _| match event {
                XappEvent::Indication(indication) if indication.subscription == subscription => Some(()),
                _ => None,
            });
        }
    }
}

fn start(e2: &Address, xapp: &Address) -> Ric {
    Ric::start(ServerConfig { e2: vec![e2.clone().into()], xapp: Some(xapp.clone()), ..ServerConfig::default() })
}

#[test]
fn subscriptions_are_resumed_under_their_ids() {
    let mut fixture = Fixture::new();
    let (first, second) = (fixture.subscribe(b"first"), fixture.subscribe(b"second"));
    fixture.reports_of(first);
    for _ in 0..3 {
        fixture.ric = None;
        let (mut suspended, mut lost) = (Vec::new(), 0);
        fixture.until("the loss", |event, _| match event {
            XappEvent::Request(RequestEvent::SubscriptionSuspended(subscription)) => {
                suspended.push(subscription);
                None
            }
            XappEvent::NodeLost(_) => {
                lost += 1;
                None
            }
            XappEvent::Disconnected { retry_in } => {
                assert_eq!(retry_in, Duration::from_millis(20));
                Some(())
            }
            _ => None,
        });
        // the RIC may have reported the node's loss before its own end
        assert!(lost <= 1 && fixture.xapp.nodes().count() == 0);
        suspended.sort_unstable();
        suspended.dedup();
        assert_eq!(suspended, [first, second]);
        fixture.come_back();
        let mut resumed = Vec::new();
        fixture.until("both", |event, _| {
            if let XappEvent::Request(RequestEvent::SubscriptionResumed { subscription, .. }) = event {
                resumed.push(subscription);
            }
            (resumed.len() == 2).then_some(())
        });
        resumed.sort_unstable();
        assert_eq!(resumed, [first, second]);
        fixture.reports_of(first);
        fixture.reports_of(second);
    }
    // a new subscription besides, and one that the xApp leaves
    let third = fixture.subscribe(b"third");
    assert!(third != first && third != second);
    fixture.reports_of(third);
    fixture.xapp.commands().unsubscribe(first);
    let ended = fixture.until("the end", |event, _| match event {
        XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => Some((subscription, end)),
        _ => None,
    });
    assert_eq!(ended, (first, SubscriptionEnd::Deleted));
    fixture.reports_of(second);
}

#[test]
fn every_command_gets_a_result() {
    let mut fixture = Fixture::new();
    let (stays, left) = (fixture.subscribe(b"stays"), fixture.subscribe(b"left"));
    let node = fixture.node();
    fixture.ric = None;
    fixture.until("the loss", |event, _| matches!(event, XappEvent::Disconnected { .. }).then_some(()));
    // commands without a RIC
    let mut commands = fixture.xapp.commands();
    let (control, subscribe) =
        (commands.control(node, FUNCTION, b"", b""), commands.subscribe(node, FUNCTION, report_spec(b"never")));
    commands.unsubscribe(left);
    let mut failed = 0;
    fixture.until("their failures", |event, _| {
        match event {
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
                assert_eq!((ticket, result), (control, ControlOutcome::NodeLost));
                failed += 1;
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error: failure }) => {
                assert_eq!((ticket, failure), (subscribe, SubscribeError::NodeLost));
                failed += 1;
            }
            XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, .. }) => {
                assert_eq!(subscription, left);
                failed += 1;
            }
            _ => {}
        }
        (failed == 3).then_some(())
    });
    fixture.come_back();
    let resumed = fixture.until("what stays", |event, _| match event {
        XappEvent::Request(RequestEvent::SubscriptionResumed { subscription, .. }) => Some(subscription),
        _ => None,
    });
    assert_eq!(resumed, stays);
    fixture.reports_of(stays);
}

#[test]
fn subscribing_on_each_node_up_does_not_duplicate() {
    let mut fixture = Fixture::new();
    let stays = fixture.subscribe(b"every node");
    fixture.ric = None;
    fixture.until("the loss", |event, _| matches!(event, XappEvent::Disconnected { .. }).then_some(()));
    fixture.come_back();
    let again = fixture.until("the subscription", |event, commands| match event {
        XappEvent::NodeUp(node) => {
            commands.subscribe(node.id, FUNCTION, report_spec(b"every node"));
            None
        }
        XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => Some(subscription),
        XappEvent::Request(RequestEvent::SubscriptionResumed { .. }) => panic!("the xApp itself has subscribed"),
        _ => None,
    });
    assert_eq!(again, stays);
    fixture.reports_of(stays);
}

#[test]
fn lost_ric_ends_the_session_without_reconnect() {
    let mut fixture = Fixture::new();
    let mut xapp =
        Xapp::connect(&fixture.xapp_at, "plain", XappConfig { reconnect: None, ..XappConfig::default() }).unwrap();
    fixture.ric = None;
    let deadline = Instant::now() + PATIENCE;
    while xapp.poll(Some(Duration::from_millis(10)), |_, _| ()).is_ok() {
        assert!(Instant::now() < deadline, "the session does not end");
    }
}
