//! Sessions with several RICs, RICs that the test writes, and nodes.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use e2ap::GlobalE2NodeId;
use ferric::StopHandle;
use ferric::agent::{AgentLoop, NodeConfig, RanFunction};
use ferric::e2::xapp::{NodeInfo, PROTOCOL_VERSION, RicMessage, XappMessage};
use ferric::e2::{NodeId, RefusalCode, SubscriptionId};
use ferric::link::Address;
use ferric::xapp::{Commands, Reconnect, RequestEvent, XappConfig, XappEvent, XappGroup};
use per::Gather;

use crate::common::function::{Reporter, impatient};
use crate::common::peer::{FUNCTION, Peer, node_id, report_spec};
use crate::common::{PATIENCE, eventually_some};

pub fn config() -> XappConfig {
    let first = Duration::from_millis(20);
    // what a written RIC receives is what the test has requested
    let learns_rics = false;
    XappConfig { reconnect: Some(Reconnect { first, last: 4 * first }), learns_rics, ..XappConfig::default() }
}

/// An event, without what it borrows.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Up(NodeId, GlobalE2NodeId),
    Lost(NodeId),
    Moved(NodeId, String, String),
    Request(RequestEvent),
    Report(SubscriptionId, NodeId, Vec<u8>),
    Service(Vec<u8>),
    ServicesMoved,
    Dropped(u64),
    Disconnected,
    Other,
}

impl Seen {
    pub fn of(event: &XappEvent<'_>) -> Self {
        match event {
            XappEvent::NodeUp(node) => Seen::Up(node.id, node.global_id),
            XappEvent::NodeLost(node) => Seen::Lost(node.id),
            XappEvent::NodeMoved { node, from, to } => Seen::Moved(*node, (*from).to_owned(), (*to).to_owned()),
            XappEvent::Request(event) => Seen::Request(event.clone()),
            XappEvent::Indication(indication) => {
                let message = indication.decode(&Gather::new()).unwrap().message.to_cow().into_owned();
                Seen::Report(indication.subscription, indication.node, message)
            }
            XappEvent::Service { document, .. } => Seen::Service(document.to_vec()),
            XappEvent::ServicesMoved => Seen::ServicesMoved,
            XappEvent::ReportsDropped(reports) => Seen::Dropped(*reports),
            XappEvent::Disconnected { .. } => Seen::Disconnected,
            _ => Seen::Other,
        }
    }
}

/// A session with several RICs, whose events are taken one by one.
pub struct Group {
    pub group: XappGroup,
    pub events: VecDeque<Seen>,
}

pub fn connect(rics: &[&Address]) -> Group {
    let addresses: Vec<_> = rics.iter().map(|ric| (*ric).clone()).collect();
    let group = XappGroup::connect(&addresses, "group", config(), PATIENCE).unwrap();
    let mut group = Group { group, events: VecDeque::new() };
    // what comes now is no list after a welcome any more
    group.poll_for(Duration::from_millis(250));
    group
}

impl Group {
    pub fn commands(&mut self) -> Commands<'_> {
        self.group.commands()
    }

    /// The next event.
    #[track_caller]
    pub fn next(&mut self) -> Seen {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            assert!(Instant::now() < deadline, "the event does not arrive");
            self.poll(Duration::from_millis(50));
        }
    }

    pub fn poll(&mut self, timeout: Duration) {
        let Group { group, events } = self;
        group.poll(Some(timeout), |event, _| events.push_back(Seen::of(&event))).unwrap();
    }

    pub fn poll_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.poll(Duration::from_millis(10));
        }
    }

    /// The next event that is wanted; others before it are skipped.
    #[track_caller]
    pub fn until<T>(&mut self, mut wanted: impl FnMut(Seen) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.next()) {
                return found;
            }
        }
    }

    #[track_caller]
    pub fn node_up(&mut self) -> NodeId {
        self.until(|event| if let Seen::Up(node, _) = event { Some(node) } else { None })
    }

    #[track_caller]
    pub fn moved(&mut self) -> (NodeId, String, String) {
        self.until(|event| if let Seen::Moved(node, from, to) = event { Some((node, from, to)) } else { None })
    }

    #[track_caller]
    pub fn request(&mut self) -> RequestEvent {
        self.until(|event| if let Seen::Request(event) = event { Some(event) } else { None })
    }

    #[track_caller]
    pub fn report(&mut self) -> (SubscriptionId, NodeId, Vec<u8>) {
        self.until(|event| if let Seen::Report(of, node, content) = event { Some((of, node, content)) } else { None })
    }

    pub fn subscribe(&mut self, id: NodeId, node: &mut Peer) -> (SubscriptionId, Reports) {
        self.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
        self.poll(Duration::ZERO);
        let (request_id, action) = node.admit();
        match self.request() {
            RequestEvent::Subscribed { subscription, .. } => (subscription, Reports { request_id, action }),
            other => panic!("{other:?}"),
        }
    }
}

/// What a node needs to report.
#[derive(Clone, Copy)]
pub struct Reports {
    pub request_id: e2ap::RicRequestId,
    pub action: e2ap::RicActionId,
}

/// Nodes on a thread, each with the addresses of its RICs in order.
pub struct Nodes {
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Nodes {
    pub fn start(nodes: Vec<(u32, Vec<Address>)>) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut agents: AgentLoop<dyn RanFunction> = AgentLoop::new(impatient()).unwrap();
            for (number, rics) in nodes {
                let function = Reporter::new(Duration::from_millis(5));
                let node = agents.add_node(NodeConfig::new(node_id(number)), vec![Box::new(function)]);
                agents.add_redundant_controller(node, rics.into_iter().map(Into::into).collect());
            }
            sender.send(agents.stop_handle()).unwrap();
            agents.run().unwrap();
        });
        Nodes { stop: receiver.recv().unwrap(), thread: Some(thread) }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

/// Refuses each session.
pub fn refusing_ric() -> Address {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut peer = Peer::of(stream.unwrap());
            peer.receive();
            let mut refusal = Vec::new();
            RicMessage::Refused(RefusalCode::NotAllowed).encode(&mut refusal);
            peer.send(&refusal);
        }
    });
    address
}

/// A RIC that the test writes.
pub struct WrittenRic(pub TcpListener);

impl WrittenRic {
    pub fn new() -> Self {
        WrittenRic(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    pub fn address(&self) -> Address {
        format!("tcp://{}", self.0.local_addr().unwrap()).parse().unwrap()
    }

    /// Accepts a session.
    pub fn accept(&self) -> Peer {
        self.welcome(self.0.accept().unwrap().0)
    }

    /// Accepts the next session of a group, which is polled meanwhile.
    pub fn accept_of(&self, group: &mut Group) -> Peer {
        self.0.set_nonblocking(true).unwrap();
        let stream = eventually_some("the session", || {
            group.poll(Duration::from_millis(5));
            self.0.accept().ok()
        });
        group.poll(Duration::from_millis(5));
        stream.0.set_nonblocking(false).unwrap();
        self.welcome(stream.0)
    }

    pub fn welcome(&self, stream: TcpStream) -> Peer {
        let mut peer = Peer::of(stream);
        assert!(matches!(XappMessage::decode(&peer.receive()).unwrap(), XappMessage::Hello { .. }));
        send_welcome(&mut peer);
        peer
    }
}

pub fn send_welcome(peer: &mut Peer) {
    let ric_id = e2ap::GlobalRicId::new(e2ap::PlmnIdentity([0; 3]), 1);
    send_message(peer, &RicMessage::Welcome { version: PROTOCOL_VERSION, ric_id });
}

pub fn send_message(peer: &mut Peer, message: &RicMessage<'_>) {
    let mut octets = Vec::new();
    message.encode(&mut octets);
    peer.send(&octets);
}

/// Announces node 1, with that number.
pub fn announce(peer: &mut Peer, id: u32) {
    let (version, encoding, functions) = (e2ap::Version::V2_03, "per".into(), Vec::new());
    let info = NodeInfo { id: NodeId(id), global_id: node_id(1), version, encoding, functions };
    send_message(peer, &RicMessage::NodeUp(info));
}

/// A session with two RICs that the test writes.
pub fn with_written_rics() -> (Group, [WrittenRic; 2], [Peer; 2]) {
    let rics = [WrittenRic::new(), WrittenRic::new()];
    let addresses = [rics[0].address(), rics[1].address()];
    let connecting = std::thread::spawn(move || connect(&[&addresses[0], &addresses[1]]));
    let first = rics[0].accept();
    // services are those of the RIC that has answered first
    std::thread::sleep(Duration::from_millis(100));
    let peers = [first, rics[1].accept()];
    (connecting.join().unwrap(), rics, peers)
}
