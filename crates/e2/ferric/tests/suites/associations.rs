//! E2 Connection Update over real sockets: a node sets up additional associations with its RIC, continues over them
//! when the first is lost, and reports those that fail.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::common::eventually;
use crate::common::function::{Reporter, impatient, poll_agents_until};
use crate::common::peer::{FUNCTION, node_id, report_spec};
use crate::common::session::session;
use crate::common::test_server::{Ric, free_ports};
use e2ap::{Cause, CauseTransport, E2ConnectionUpdateItem, TnlInformation, TnlUsage, Version};
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeHandle};
use ferric::e2::{ConnectionOutcome, ConnectionResult, ConnectionUpdate, Indication};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext as RicHandle, IappEvent, RequestEvent, ServerConfig};
use ferric::xapp::XappEvent;

const UNAVAILABLE: Cause = Cause::Transport(CauseTransport::TransportResourceUnavailable);

/// Requests to the iApp, and its events.
enum Notification {
    Up,
    Lost,
    Outcome(ConnectionOutcome),
    Report,
}

/// Sends the requested updates, subscribes, and forwards events.
struct Operator {
    orders: Receiver<ConnectionUpdate>,
    notifications: Sender<Notification>,
}

impl Iapp for Operator {
    fn name(&self) -> &str {
        "operator"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut RicHandle<'_>) {
        let _ = match event {
            IappEvent::NodeUp(node) => {
                ric.subscribe(node.id, FUNCTION, report_spec(b"t")).unwrap();
                self.notifications.send(Notification::Up)
            }
            IappEvent::NodeLost(_) => self.notifications.send(Notification::Lost),
            IappEvent::ConnectionUpdated { outcome, .. } => {
                self.notifications.send(Notification::Outcome((*outcome).clone()))
            }
            _ => Ok(()),
        };
    }

    fn on_indication(&mut self, _: &Indication<'_>, ric: &mut RicHandle<'_>) {
        let _ = self.notifications.send(Notification::Report);
        let node = ric.nodes().next().map(|node| node.id);
        if let (Some(node), Ok(update)) = (node, self.orders.try_recv()) {
            ric.connection_update(node, &update).unwrap();
        }
    }
}

/// A proxy in front of a port of the RIC, which can cut connections.
struct Proxy {
    port: u16,
    cut: Sender<()>,
}

impl Proxy {
    fn before(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, is_cut) = channel();
        std::thread::spawn(move || {
            let mut streams = Vec::new();
            listener.set_nonblocking(true).unwrap();
            // until the test ends or cuts it; then it stops listening
            while let Err(std::sync::mpsc::TryRecvError::Empty) = is_cut.try_recv() {
                if let Ok((from, _)) = listener.accept() {
                    from.set_nonblocking(false).unwrap();
                    let to = std::net::TcpStream::connect(("127.0.0.1", target)).unwrap();
                    for (mut from, mut to) in [
                        (from.try_clone().unwrap(), to.try_clone().unwrap()),
                        (to.try_clone().unwrap(), from.try_clone().unwrap()),
                    ] {
                        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                    }
                    streams.extend([from, to]);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            streams.iter().for_each(|stream| drop(stream.shutdown(std::net::Shutdown::Both)));
        });
        Proxy { port, cut }
    }
}

fn tnl(port: u16) -> TnlInformation<'static> {
    TnlInformation::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Some(port))
}

fn item(port: u16) -> E2ConnectionUpdateItem<'static> {
    E2ConnectionUpdateItem { tnl_information: tnl(port), tnl_usage: TnlUsage::Both }
}

fn port(address: &Address) -> u16 {
    match address {
        Address::Tcp { port, .. } => *port,
        other => panic!("{other}"),
    }
}

struct Fixture {
    ric: Ric,
    orders: Sender<ConnectionUpdate>,
    notifications: Receiver<Notification>,
    agents: AgentLoop,
    node: NodeHandle,
}

impl Fixture {
    /// A node that connects to `port`, with a RIC that listens on two ports.
    fn new(version: Version, through: impl FnOnce(&Ric) -> u16) -> Fixture {
        let (orders, ordered) = channel();
        let (notifier, notifications) = channel();
        let any: Address = "tcp://127.0.0.1:0".parse().unwrap();
        let config = ServerConfig { e2: vec![any.clone().into(), any.into()], ..free_ports() };
        let ric =
            Ric::with_iapps(config, move || vec![Box::new(Operator { orders: ordered, notifications: notifier })]);
        let first = Address::Tcp { host: "127.0.0.1".into(), port: through(&ric) };
        let mut agents =
            AgentLoop::new(AgentLoopConfig { version, setup_timeout: Duration::from_secs(1), ..impatient() }).unwrap();
        let (node, _) = agents.add(node_id(1), first.into(), vec![Box::new(Reporter::new(Duration::from_millis(2)))]);
        poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
        let mut fixture = Fixture { ric, orders, notifications, agents, node };
        fixture.wait_for("the node", |notifications| matches!(notifications, Notification::Up).then_some(()));
        fixture.reports();
        fixture
    }

    fn wait_for<T>(&mut self, what: &str, mut wanted: impl FnMut(Notification) -> Option<T>) -> T {
        let mut found = None;
        let Fixture { agents, notifications, .. } = self;
        poll_agents_until(agents, what, |_| {
            while let Ok(notifications) = notifications.try_recv() {
                found = found.take().or_else(|| wanted(notifications));
            }
            found.is_some()
        });
        found.unwrap()
    }

    /// Checks that new reports arrive.
    fn reports(&mut self) {
        let mut count = 0;
        self.wait_for("reports", |notifications| match notifications {
            Notification::Lost => panic!("the node is lost"),
            Notification::Report => {
                count += 1;
                (count > 20).then_some(())
            }
            _ => None,
        });
    }

    fn ask(&mut self, update: ConnectionUpdate) -> ConnectionOutcome {
        self.orders.send(update).unwrap();
        self.wait_for("the outcome", |notifications| match notifications {
            Notification::Outcome(outcome) => Some(outcome),
            Notification::Lost => panic!("the node is lost"),
            _ => None,
        })
    }

    /// Returns the ports of the additional associations.
    fn more(&self) -> Vec<u16> {
        let controller = self.agents.controllers(self.node).next().unwrap();
        assert!(controller.ric_id.is_some());
        controller.additional.iter().map(port).collect()
    }
}

fn done(set_up: &[u16], failed: &[u16]) -> ConnectionOutcome {
    ConnectionOutcome::Done(ConnectionResult {
        set_up: set_up.iter().map(|port| item(*port)).collect(),
        failed: failed.iter().map(|port| (tnl(*port), UNAVAILABLE)).collect(),
    })
}

#[test]
fn node_with_several_associations_survives_loss_of_the_first() {
    let mut proxy = None;
    let mut fixture = Fixture::new(Version::V2_03, |ric| proxy.insert(Proxy::before(port(&ric.e2[0]))).port);
    let ports = [port(&fixture.ric.e2[0]), port(&fixture.ric.e2[1])];
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let add = |ports: &[u16]| ConnectionUpdate {
        add: ports.iter().copied().map(item).collect(),
        ..ConnectionUpdate::default()
    };
    // two that can be set up, and one that cannot
    assert_eq!(fixture.ask(add(&[ports[1], unused])), done(&[ports[1]], &[unused]));
    assert_eq!(fixture.ask(add(&[ports[0]])), done(&[ports[0]], &[]));
    assert_eq!(fixture.more(), [ports[1], ports[0]]);
    assert!(fixture.ric.log.text().contains("it has 3 now"));
    fixture.reports();

    // one is removed; of two modifications one is of a known association
    let update = ConnectionUpdate {
        remove: vec![tnl(ports[0])],
        modify: vec![item(ports[1]), item(unused)],
        ..ConnectionUpdate::default()
    };
    assert_eq!(fixture.ask(update), done(&[ports[1]], &[unused]));
    assert_eq!(fixture.more(), [ports[1]]);

    // the first is cut: the node stays up, its subscription stays, reports continue
    proxy.unwrap().cut.send(()).unwrap();
    let Fixture { agents, node, .. } = &mut fixture;
    poll_agents_until(agents, "the other takes its place", |agents| {
        agents.controllers(*node).next().is_some_and(|controller| controller.additional.is_empty())
    });
    fixture.reports();
    assert_eq!(fixture.agents.connected_controllers(), 1);
    eventually("a log line", || fixture.ric.log.text().contains("another one takes its place; 1 left"));
    // further associations can be requested; the only one is not removed
    let update = ConnectionUpdate { remove: vec![tnl(ports[1])], ..ConnectionUpdate::default() };
    assert_eq!(fixture.ask(update), done(&[], &[]));
    fixture.reports();
    // with another one, it is removed
    let update = ConnectionUpdate { remove: vec![tnl(ports[1])], ..add(&[ports[0]]) };
    assert_eq!(fixture.ask(update), done(&[ports[0]], &[]));
    assert!(fixture.more().is_empty());
    fixture.reports();
    assert_eq!(fixture.ric.log.text().matches(" up: ").count(), 1, "setup is not repeated");
}

/// With several event loops the node moves to its xApp's loop, and its other associations do not.
#[test]
fn reports_to_an_xapp_continue_after_loss_of_the_first() {
    let mut proxy = None;
    let mut fixture = Fixture::new(Version::V2_03, |ric| proxy.insert(Proxy::before(port(&ric.e2[0]))).port);
    let mut xapp = session(&fixture.ric);
    let mut reports = |fixture: &mut Fixture| {
        let mut count = 0;
        poll_agents_until(&mut fixture.agents, "reports for the xApp", |_| {
            xapp.poll(Some(Duration::ZERO), |event, ric| match event {
                XappEvent::NodeUp(node) => drop(ric.subscribe(node.id, FUNCTION, report_spec(b"its own"))),
                XappEvent::Indication(_) => count += 1,
                XappEvent::NodeLost(_) | XappEvent::Request(RequestEvent::SubscriptionSuspended(_)) => {
                    panic!("the node is lost")
                }
                _ => {}
            })
            .unwrap();
            count > 20
        });
    };
    reports(&mut fixture);
    let other = port(&fixture.ric.e2[1]);
    let update = ConnectionUpdate { add: vec![item(other)], ..ConnectionUpdate::default() };
    assert_eq!(fixture.ask(update.clone()), done(&[other], &[]));
    reports(&mut fixture);
    proxy.unwrap().cut.send(()).unwrap();
    eventually("a log line", || {
        fixture.agents.poll(Some(Duration::ZERO)).unwrap();
        fixture.ric.log.text().contains("another one takes its place; 1 left")
    });
    reports(&mut fixture);
    assert_eq!(fixture.ask(update), done(&[other], &[]));
    reports(&mut fixture);
}

#[test]
fn v1_names_no_node_and_has_one_association() {
    let mut fixture = Fixture::new(Version::V1_01, |ric| port(&ric.e2[0]));
    let other = port(&fixture.ric.e2[1]);
    let update = ConnectionUpdate { add: vec![item(other)], ..ConnectionUpdate::default() };
    assert_eq!(fixture.ask(update), done(&[], &[other]));
    assert!(fixture.more().is_empty());
    // no link is opened for it
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let other = listener.local_addr().unwrap().port();
    let update = ConnectionUpdate { add: vec![item(other)], ..ConnectionUpdate::default() };
    assert_eq!(fixture.ask(update), done(&[], &[other]));
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    fixture.reports();
}

#[test]
fn unanswered_association_is_reported_as_failed() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = silent.local_addr().unwrap().port();
    let mut fixture = Fixture::new(Version::V2_03, |ric| port(&ric.e2[0]));
    let update = ConnectionUpdate { add: vec![item(other)], ..ConnectionUpdate::default() };
    assert_eq!(fixture.ask(update), done(&[], &[other]));
    fixture.reports();
}
