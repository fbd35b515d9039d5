//! xApps of several RICs that share nodes: a node is used at one RIC at a time and is followed to another one, no report comes twice.

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::function::{Reporter, impatient};
use common::peer::{FUNCTION, Peer, node_id, report_spec};
use common::test_server::{Ric, free_ports};
use common::{PATIENCE, socket_path};
use e2ap::{GlobalE2NodeId, Pdu, RicActionAdmitted, RicSubscriptionResponse};
use ferric::agent::{AgentLoop, NodeConfig, RanFunction};
use ferric::e2::xapp::{NodeInfo, PROTOCOL_VERSION, ProtocolError, RicMessage, XappMessage};
use ferric::e2::{
    ControlOutcome, ControlQuestion, NodeId, QueryOutcome, RefusalCode, SubscribeError, SubscriptionEnd, SubscriptionId,
};
use ferric::link::Address;
use ferric::server::ServerConfig;
use ferric::xapp::{Commands, MAX_RICS, Reconnect, RequestEvent, Xapp, XappConfig, XappEvent, XappGroup};
use ferric::{Error, StopHandle};
use per::Gather;

fn config() -> XappConfig {
    let first = Duration::from_millis(20);
    XappConfig { reconnect: Some(Reconnect { first, last: 4 * first }), ..XappConfig::default() }
}

/// An event, without what it borrows.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
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
    fn of(event: &XappEvent<'_>) -> Self {
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
struct Group {
    group: XappGroup,
    events: VecDeque<Seen>,
}

fn connect(rics: &[&Address]) -> Group {
    let addresses: Vec<_> = rics.iter().map(|ric| (*ric).clone()).collect();
    let group = XappGroup::connect(&addresses, "group", config(), PATIENCE).unwrap();
    let mut group = Group { group, events: VecDeque::new() };
    // what comes now is no list after a welcome any more
    group.poll_for(Duration::from_millis(250));
    group
}

impl Group {
    fn commands(&mut self) -> Commands<'_> {
        self.group.commands()
    }

    /// The next event.
    #[track_caller]
    fn next(&mut self) -> Seen {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            assert!(Instant::now() < deadline, "the event does not arrive");
            self.poll(Duration::from_millis(50));
        }
    }

    fn poll(&mut self, timeout: Duration) {
        let Group { group, events } = self;
        group.poll(Some(timeout), |event, _| events.push_back(Seen::of(&event))).unwrap();
    }

    fn poll_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.poll(Duration::from_millis(10));
        }
    }

    /// The next event that is wanted; others before it are skipped.
    #[track_caller]
    fn until<T>(&mut self, mut wanted: impl FnMut(Seen) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.next()) {
                return found;
            }
        }
    }

    #[track_caller]
    fn node_up(&mut self) -> NodeId {
        self.until(|event| if let Seen::Up(node, _) = event { Some(node) } else { None })
    }

    #[track_caller]
    fn moved(&mut self) -> (NodeId, String, String) {
        self.until(|event| if let Seen::Moved(node, from, to) = event { Some((node, from, to)) } else { None })
    }

    #[track_caller]
    fn request(&mut self) -> RequestEvent {
        self.until(|event| if let Seen::Request(event) = event { Some(event) } else { None })
    }

    #[track_caller]
    fn report(&mut self) -> (SubscriptionId, NodeId, Vec<u8>) {
        self.until(|event| if let Seen::Report(of, node, content) = event { Some((of, node, content)) } else { None })
    }

    fn subscribe(&mut self, id: NodeId, node: &mut Peer) -> (SubscriptionId, Reports) {
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
struct Reports {
    request_id: e2ap::RicRequestId,
    action: e2ap::RicActionId,
}

#[test]
fn node_that_appears_at_another_ric_is_followed_there_and_used_once() {
    let rics = [Ric::start(free_ports()), Ric::start(free_ports())];
    let names = [rics[0].xapp.to_string(), rics[1].xapp.to_string()];
    let mut group = connect(&[&rics[0].xapp, &rics[1].xapp]);
    let mut at_first = rics[0].node();
    at_first.set_up(1);
    let first_id = group.node_up();
    let (first, of_first) = group.subscribe(first_id, &mut at_first);
    at_first.report(of_first.request_id, of_first.action, b"one");
    assert_eq!(group.report(), (first, first_id, b"one".to_vec()));

    // it is at the second RIC before the first one has noticed that it left
    let mut at_second = rics[1].node();
    at_second.set_up(1);
    assert_eq!(group.next(), Seen::Lost(first_id));
    let end = SubscriptionEnd::NodeLost;
    assert_eq!(group.next(), Seen::Request(RequestEvent::SubscriptionEnded { subscription: first, end }));
    let second_id = group.node_up();
    assert_eq!(group.next(), Seen::Moved(second_id, names[0].clone(), names[1].clone()));
    let nodes: Vec<_> = group.group.nodes().map(|node| (node.id, node.global_id)).collect();
    assert_eq!((nodes, group.group.ric_of(second_id)), (vec![(second_id, node_id(1))], Some(&*names[1])));
    let (second, of_second) = group.subscribe(second_id, &mut at_second);
    assert_ne!(second, first);

    // a late report of the first RIC is none any more, and the subscription there is deleted
    at_first.report(of_first.request_id, of_first.action, b"late");
    assert!(matches!(at_first.receive_pdu(), Pdu::RicSubscriptionDeleteRequest(_)));
    at_second.report(of_second.request_id, of_second.action, b"two");
    assert_eq!(group.report(), (second, second_id, b"two".to_vec()));

    // controls and queries go to the RIC that has it now; what is for a node that is lost fails
    let ticket = group.commands().control(first_id, FUNCTION, b"header", b"message");
    assert_eq!(group.request(), RequestEvent::Controlled { ticket, outcome: ControlOutcome::NodeLost });
    let ticket = group.commands().query(first_id, FUNCTION, b"", b"");
    assert_eq!(group.request(), RequestEvent::Queried { ticket, outcome: QueryOutcome::NodeLost });
    group.commands().control(second_id, FUNCTION, b"header", b"message");
    group.poll(Duration::ZERO);
    assert!(matches!(at_second.receive_pdu(), Pdu::RicControlRequest(_)));

    // the second RIC loses it while the first one still has it
    drop(at_second);
    let (third_id, from, to) = group.moved();
    assert_eq!([to, from], names);
    let (third, of_third) = group.subscribe(third_id, &mut at_first);
    at_first.report(of_third.request_id, of_third.action, b"three");
    assert_eq!(group.report(), (third, third_id, b"three".to_vec()));
    drop(at_first);
    group.until(|event| (event == Seen::Lost(third_id)).then_some(()));
    assert_eq!(group.group.nodes().count(), 0);
}

#[test]
fn subscription_that_is_admitted_after_its_node_has_moved_is_deleted() {
    let rics = [Ric::start(free_ports()), Ric::start(free_ports())];
    let mut group = connect(&[&rics[0].xapp, &rics[1].xapp]);
    let mut at_first = rics[0].node();
    at_first.set_up(1);
    let id = group.node_up();
    let ticket = group.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
    group.poll(Duration::ZERO);
    let requested = at_first.receive_subscription();
    let action = requested.details.actions.iter().next().unwrap().id;
    let mut at_second = rics[1].node();
    at_second.set_up(1);
    let error = SubscribeError::NodeLost;
    assert_eq!(group.next(), Seen::Request(RequestEvent::SubscriptionFailed { ticket, error }));
    assert_eq!(group.next(), Seen::Lost(id));
    group.moved();
    let admission = RicSubscriptionResponse {
        request_id: requested.request_id,
        ran_function_id: FUNCTION,
        actions_admitted: vec![RicActionAdmitted { id: action }].into(),
        actions_not_admitted: None,
    };
    at_first.send_pdu(admission);
    at_first.report(requested.request_id, action, b"of nobody");
    group.poll_for(Duration::from_millis(200));
    assert!(group.events.is_empty(), "{:?}", group.events);
    assert!(matches!(at_first.receive_pdu(), Pdu::RicSubscriptionDeleteRequest(_)));
}

/// Nodes on a thread, each with the addresses of its RICs in order.
struct Nodes {
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Nodes {
    fn start(nodes: Vec<(u32, Vec<Address>)>) -> Self {
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

#[test]
fn reports_of_nodes_go_on_at_the_next_ric_when_theirs_is_lost_and_none_comes_twice() {
    const NODES: u32 = 30;
    let addresses: Vec<_> = (0..3).map(|_| ["e2", "xapp"].map(|what| Address::Unix(socket_path(what)))).collect();
    let start = |at: usize| {
        let [e2, xapp] = addresses[at].clone();
        Ric::start(ServerConfig { e2: vec![e2.into()], xapp: Some(xapp), ..ServerConfig::default() })
    };
    let mut rics: Vec<_> = (0..3).map(|at| Some(start(at))).collect();
    let mut group = connect(&addresses.iter().map(|[_, xapp]| xapp).collect::<Vec<_>>());
    let e2 = |at: usize| addresses[at % 3][0].clone();
    let _nodes = Nodes::start((0..NODES).map(|n| (n, (0..3).map(|more| e2(n as usize + more)).collect())).collect());

    let mut names: HashMap<NodeId, GlobalE2NodeId> = HashMap::new();
    let mut numbers: BTreeSet<(GlobalE2NodeId, u64)> = BTreeSet::new();
    let mut moves: BTreeMap<GlobalE2NodeId, Vec<String>> = BTreeMap::new();
    let mut doubled = 0;
    let mut all_report = |group: &mut Group, moves: &mut BTreeMap<GlobalE2NodeId, Vec<String>>, without: &str| {
        let mut reported = BTreeSet::new();
        let is_at = |group: &Group, ric| group.group.nodes().any(|node| group.group.ric_of(node.id) == Some(ric));
        while reported.len() < NODES as usize || is_at(group, without) {
            match group.next() {
                Seen::Up(node, id) => {
                    names.insert(node, id);
                    group.commands().subscribe(node, FUNCTION, report_spec(b"trigger"));
                }
                Seen::Lost(node) => drop(reported.remove(&node)),
                Seen::Moved(node, _, to) => moves.entry(names[&node]).or_default().push(to),
                Seen::Report(_, node, message) => {
                    let number = u64::from_be_bytes(message.try_into().unwrap());
                    doubled += u64::from(!numbers.insert((names[&node], number)));
                    reported.insert(node);
                }
                _ => {}
            }
        }
        assert_eq!(group.group.nodes().map(|node| node.global_id).collect::<BTreeSet<_>>().len(), NODES as usize);
        doubled
    };
    assert_eq!(all_report(&mut group, &mut moves, ""), 0);
    assert!(moves.is_empty(), "{moves:?}");
    // two RICs are lost one after the other, the first one comes back, the last one is lost too
    let texts: Vec<_> = addresses.iter().map(|[_, xapp]| xapp.to_string()).collect();
    for (lost, back) in [(0, None), (1, Some(0)), (2, None)] {
        moves.clear();
        let of_lost = {
            let group = &group.group;
            group.nodes().filter(|node| group.ric_of(node.id) == Some(&texts[lost])).count()
        };
        assert!(of_lost >= 10);
        if let Some(back) = back {
            rics[back] = Some(start(back));
        }
        rics[lost] = None;
        assert_eq!(all_report(&mut group, &mut moves, &texts[lost]), 0);
        println!("{} of {of_lost} nodes have moved", moves.len());
    }
}

#[test]
fn one_ric_by_two_names_has_each_node_once() {
    let ric = Ric::start(free_ports());
    let Address::Tcp { port, .. } = &ric.xapp else { panic!("TCP") };
    let other = Address::Tcp { host: "localhost".into(), port: *port };
    let mut group = connect(&[&ric.xapp, &ric.xapp, &other]);
    assert_eq!(group.group.addresses(), format!("{} {other}", ric.xapp), "the address that comes twice is used once");
    let mut node = ric.node();
    node.set_up(1);
    group.node_up();
    let (id, ..) = group.moved();
    assert_eq!(group.group.nodes().map(|node| node.id).collect::<Vec<_>>(), [id]);
    let (subscription, of) = group.subscribe(id, &mut node);
    for content in [b"1", b"2"] {
        node.report(of.request_id, of.action, content);
        assert_eq!(group.report(), (subscription, id, content.to_vec()));
    }
}

#[test]
fn absent_ric_is_waited_for_and_joins_later() {
    let [e2, xapp] = ["e2", "xapp"].map(|what| Address::Unix(socket_path(what)));
    let ric = Ric::start(free_ports());
    let mut first = ric.node();
    first.set_up(1);
    let mut group = connect(&[&xapp, &ric.xapp]);
    let first_id = group.node_up();
    let later = Ric::start(ServerConfig { e2: vec![e2.into()], xapp: Some(xapp), ..ServerConfig::default() });
    let stop = Nodes::start(vec![(2, vec![later.e2[0].clone()])]);
    let nodes = BTreeSet::from([first_id, group.node_up()]);
    assert_eq!(group.group.nodes().map(|node| node.id).collect::<BTreeSet<_>>(), nodes);
    drop(stop);
    // a RIC that is lost takes its nodes with it, and the session goes on
    drop(ric);
    group.until(|event| {
        assert_ne!(event, Seen::Disconnected, "a RIC is left");
        (event == Seen::Lost(first_id)).then_some(())
    });
    drop(later);
    group.until(|event| (event == Seen::Disconnected).then_some(()));
}

#[test]
fn group_without_a_ric_fails_in_time_with_the_reason() {
    let absent = ["a", "b"].map(|what| Address::Unix(socket_path(what)));
    let begin = Instant::now();
    let error = XappGroup::connect(&absent, "group", config(), Duration::from_millis(500)).unwrap_err();
    assert!(matches!(error, Error::Link(_)), "{error}");
    assert!(begin.elapsed() < PATIENCE / 2);
    // an xApp that does not connect again waits for a RIC as well
    let plain = XappConfig { reconnect: None, ..config() };
    let error = XappGroup::connect(&absent, "group", plain.clone(), Duration::from_millis(500)).unwrap_err();
    assert!(matches!(error, Error::Link(_)), "{error}");
    // and ends when all are lost
    let rics = [Ric::start(free_ports()), Ric::start(free_ports())];
    let addresses = [rics[0].xapp.clone(), rics[1].xapp.clone()];
    let mut group = XappGroup::connect(&addresses, "group", plain, PATIENCE).unwrap();
    let [first, second] = rics;
    drop(first);
    for _ in 0..10 {
        group.poll(Some(Duration::from_millis(10)), |_, _| ()).unwrap();
    }
    drop(second);
    let end = Instant::now() + PATIENCE;
    while group.poll(Some(Duration::from_millis(10)), |_, _| ()).is_ok() {
        assert!(Instant::now() < end);
    }
}

/// Refuses each session.
fn refusing_ric() -> Address {
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

#[test]
fn ric_that_refuses_the_session_leaves_the_others_and_all_that_refuse_end_it() {
    let (refusing, others) = (refusing_ric(), [refusing_ric(), refusing_ric()]);
    let ric = Ric::start(free_ports());
    let mut group = connect(&[&refusing, &ric.xapp]);
    let mut node = ric.node();
    node.set_up(1);
    group.node_up();
    let error = XappGroup::connect(&others, "group", config(), PATIENCE).unwrap_err();
    assert!(matches!(error, Error::Refused(RefusalCode::NotAllowed)), "{error}");
}

#[test]
fn message_before_the_welcome_and_a_second_welcome_end_the_session() {
    let unwelcome = WrittenRic::new();
    let address = unwelcome.address();
    std::thread::spawn(move || {
        for stream in unwelcome.0.incoming() {
            let mut peer = Peer::of(stream.unwrap());
            peer.receive();
            announce(&mut peer, 40);
            while peer.try_receive().is_some() {}
        }
    });
    let out_of_order = |error: &Error| matches!(error, Error::Protocol(ProtocolError::OutOfOrder));
    let error = XappGroup::connect(std::slice::from_ref(&address), "group", config(), PATIENCE).unwrap_err();
    assert!(out_of_order(&error), "{error}");
    let error = Xapp::connect(&address, "alone", config()).map(drop).unwrap_err();
    assert!(out_of_order(&error), "{error}");

    let (mut group, _rics, [mut first, mut second]) = with_written_rics();
    announce(&mut second, 50);
    let node = group.node_up();
    announce(&mut first, 40);
    group.moved();
    send_welcome(&mut first);
    group.poll_for(Duration::from_millis(50));
    assert!(first.try_receive().is_none());
    let (again, ..) = group.moved();
    assert_ne!(again, node);
}

#[test]
fn number_of_rics_is_bounded() {
    let too_many: Vec<Address> = (0..=MAX_RICS).map(|_| Address::Unix(socket_path("many"))).collect();
    for addresses in [&too_many[..], &[]] {
        let connect = || XappGroup::connect(addresses, "group", config(), Duration::ZERO);
        assert!(std::panic::catch_unwind(connect).is_err());
    }
}

/// A RIC that the test writes.
struct WrittenRic(TcpListener);

impl WrittenRic {
    fn new() -> Self {
        WrittenRic(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn address(&self) -> Address {
        format!("tcp://{}", self.0.local_addr().unwrap()).parse().unwrap()
    }

    /// Accepts a session.
    fn accept(&self) -> Peer {
        self.welcome(self.0.accept().unwrap().0)
    }

    /// Accepts the next session of a group, which is polled meanwhile.
    fn accept_of(&self, group: &mut Group) -> Peer {
        self.0.set_nonblocking(true).unwrap();
        let stream = common::eventually_some("the session", || {
            group.poll(Duration::from_millis(5));
            self.0.accept().ok()
        });
        group.poll(Duration::from_millis(5));
        stream.0.set_nonblocking(false).unwrap();
        self.welcome(stream.0)
    }

    fn welcome(&self, stream: TcpStream) -> Peer {
        let mut peer = Peer::of(stream);
        assert!(matches!(XappMessage::decode(&peer.receive()).unwrap(), XappMessage::Hello { .. }));
        send_welcome(&mut peer);
        peer
    }
}

fn send_welcome(peer: &mut Peer) {
    let ric_id = e2ap::GlobalRicId::new(e2ap::PlmnIdentity([0; 3]), 1);
    send_message(peer, &RicMessage::Welcome { version: PROTOCOL_VERSION, ric_id });
}

fn send_message(peer: &mut Peer, message: &RicMessage<'_>) {
    let mut octets = Vec::new();
    message.encode(&mut octets);
    peer.send(&octets);
}

/// Announces node 1, with that number.
fn announce(peer: &mut Peer, id: u32) {
    let (version, encoding, functions) = (e2ap::Version::V2_03, "per".into(), Vec::new());
    let info = NodeInfo { id: NodeId(id), global_id: node_id(1), version, encoding, functions };
    send_message(peer, &RicMessage::NodeUp(info));
}

/// A session with two RICs that the test writes.
fn with_written_rics() -> (Group, [WrittenRic; 2], [Peer; 2]) {
    let rics = [WrittenRic::new(), WrittenRic::new()];
    let addresses = [rics[0].address(), rics[1].address()];
    let connecting = std::thread::spawn(move || connect(&[&addresses[0], &addresses[1]]));
    let first = rics[0].accept();
    // services are those of the RIC that has answered first
    std::thread::sleep(Duration::from_millis(100));
    let peers = [first, rics[1].accept()];
    (connecting.join().unwrap(), rics, peers)
}

#[test]
fn list_after_a_welcome_takes_no_node_from_another_ric() {
    let (mut group, rics, [mut first, mut second]) = with_written_rics();
    announce(&mut first, 40);
    let at_first = group.node_up();
    // it has moved, and the first RIC still lists it in its next session
    announce(&mut second, 50);
    let (at_second, from, to) = group.moved();
    assert_ne!(at_second, at_first);
    drop(first);
    let mut first = rics[0].accept_of(&mut group);
    announce(&mut first, 3);
    group.poll_for(Duration::from_millis(300));
    assert!(group.events.iter().all(|event| *event == Seen::ServicesMoved), "{:?}", group.events);
    assert_eq!(group.group.ric_of(at_second), Some(&*to));
    // it is used there when the second one has lost it
    send_message(&mut second, &RicMessage::NodeLost(NodeId(50)));
    let (again, back_from, back_to) = group.moved();
    assert_eq!((back_from, back_to), (to.clone(), from.clone()));
    // and one that sets up later moves
    announce(&mut second, 51);
    assert_eq!(group.moved().1, from);
    assert_eq!(group.group.ric_of(again), None);
}

#[test]
fn ric_that_announces_a_node_again_and_again_takes_it_three_times() {
    let log = testkit::log::global();
    let (mut group, _rics, [mut first, mut second]) = with_written_rics();
    let names: Vec<_> = group.group.addresses().split(' ').map(str::to_owned).collect();
    announce(&mut first, 40);
    group.node_up();
    // one that repeats what it has said changes nothing
    announce(&mut first, 40);
    group.poll_for(Duration::from_millis(50));
    assert!(group.events.iter().all(|event| *event == Seen::Other), "{:?}", group.events);
    for number in 50..60 {
        announce(&mut second, number);
        send_message(&mut second, &RicMessage::NodeLost(NodeId(number)));
    }
    group.poll_for(Duration::from_millis(100));
    let moves = |group: &mut Group, to: &str| {
        group.events.drain(..).filter(|event| matches!(event, Seen::Moved(_, _, at) if at == to)).count()
    };
    assert_eq!(moves(&mut group, &names[1]), 3);
    for number in 60..70 {
        announce(&mut second, number);
        announce(&mut first, number);
    }
    group.poll_for(Duration::from_millis(100));
    assert!(group.events.is_empty(), "{:?}", group.events);
    let node = group.group.nodes().next().unwrap().id;
    assert_eq!((group.group.nodes().count(), group.group.ric_of(node)), (1, Some(&*names[0])));
    let line = format!("ric={} used={}", names[1], names[0]);
    assert_eq!(log.text().lines().filter(|text| text.contains(&line)).count(), 1, "{}", log.text());
    // it follows the last that each has said when one of them loses it
    send_message(&mut first, &RicMessage::NodeLost(NodeId(40)));
    send_message(&mut first, &RicMessage::NodeLost(NodeId(69)));
    assert_eq!(group.until(|event| if let Seen::Moved(_, _, to) = event { Some(to) } else { None }), names[1]);
}

#[test]
fn services_are_those_of_one_ric_and_then_of_another() {
    let (mut group, rics, [mut first, mut second]) = with_written_rics();
    assert!(group.commands().service(7, b"one"));
    group.poll(Duration::ZERO);
    let one = XappMessage::Service { kind: 7, document: b"one".to_vec() };
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), one);
    // what another one sends is of no request
    send_message(&mut second, &RicMessage::Service { kind: 8, document: b"unasked" });
    send_message(&mut second, &RicMessage::Dropped { reports: 3 });
    send_message(&mut first, &RicMessage::Service { kind: 8, document: b"answer" });
    send_message(&mut first, &RicMessage::Dropped { reports: 2 });
    let mut seen = Vec::new();
    while !seen.contains(&Seen::Dropped(5)) || !seen.contains(&Seen::Service(b"answer".to_vec())) {
        seen.push(group.next());
    }
    assert!(!seen.contains(&Seen::Service(b"unasked".to_vec())));

    drop(first);
    group.until(|event| (event == Seen::ServicesMoved).then_some(()));
    assert!(group.commands().service(7, b"two"));
    group.poll(Duration::ZERO);
    let two = XappMessage::Service { kind: 7, document: b"two".to_vec() };
    assert_eq!(XappMessage::decode(&second.receive()).unwrap(), two);
    drop(second);
    group.until(|event| (event == Seen::Disconnected).then_some(()));
    assert!(group.commands().service(7, b"nobody"), "it is requested again when there is a RIC");
    drop(rics);
}

fn question_about(node: u32, question: u64) -> ControlQuestion {
    ControlQuestion {
        question,
        node: NodeId(node),
        function: FUNCTION,
        xapp: "a".into(),
        with: "b".into(),
        parameter: "p".into(),
        settings: "s".into(),
        left_ms: 500,
        header: Vec::new(),
        message: Vec::new(),
    }
}

#[test]
fn arbiter_is_offered_to_each_ric_and_answers_the_one_that_asks() {
    let (mut group, rics, [mut first, mut second]) = with_written_rics();
    assert!(group.commands().set_arbiter(true));
    group.poll(Duration::ZERO);
    for peer in [&mut first, &mut second] {
        assert_eq!(XappMessage::decode(&peer.receive()).unwrap(), XappMessage::SetArbiter { is_offered: true });
    }
    // one admits it, the other does not: it is one
    send_message(&mut first, &RicMessage::Request(RequestEvent::ArbiterSet { refusal: None }));
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal: None });
    let refusal = Some(RefusalCode::NotAllowed);
    send_message(&mut second, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    announce(&mut second, 40);
    let node = group.node_up();
    let asked = question_about(40, 17);
    send_message(&mut second, &RicMessage::Request(RequestEvent::ControlAsked(Box::new(asked.clone()))));
    let RequestEvent::ControlAsked(question) = group.request() else { panic!("a question") };
    assert_eq!(*question, ControlQuestion { node, question: question.question, ..asked });
    group.commands().decide(question.question, true);
    group.poll(Duration::ZERO);
    let decision = XappMessage::Decide { question: 17, accepts: true };
    assert_eq!(XappMessage::decode(&second.receive()).unwrap(), decision);
    send_message(&mut second, &RicMessage::Request(RequestEvent::Decided { question: 17, refusal: None }));
    assert_eq!(group.request(), RequestEvent::Decided { question: question.question, refusal: None });

    // a RIC that is back is asked again; all refuse when the last one does
    drop(first);
    let mut first = rics[0].accept_of(&mut group);
    group.poll(Duration::from_millis(100));
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), XappMessage::SetArbiter { is_offered: true });
    assert!(group.commands().set_arbiter(true));
    group.poll(Duration::ZERO);
    for peer in [&mut first, &mut second] {
        assert_eq!(XappMessage::decode(&peer.receive()).unwrap(), XappMessage::SetArbiter { is_offered: true });
        send_message(peer, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    }
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal });
    assert!(group.events.is_empty());

    // one that has admitted it is waited for when it is lost, and may refuse then
    assert!(group.commands().set_arbiter(true));
    group.poll(Duration::ZERO);
    send_message(&mut first, &RicMessage::Request(RequestEvent::ArbiterSet { refusal: None }));
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal: None });
    send_message(&mut second, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    drop(first);
    let mut first = rics[0].accept_of(&mut group);
    group.poll_for(Duration::from_millis(50));
    assert!(group.events.iter().all(|event| *event == Seen::ServicesMoved), "{:?}", group.events);
    send_message(&mut first, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal });
}

#[test]
fn decision_on_a_question_of_a_lost_session_is_answered_and_not_sent() {
    let (mut group, rics, [mut first, second]) = with_written_rics();
    announce(&mut first, 40);
    group.node_up();
    let ask = |group: &mut Group, peer: &mut Peer, question| {
        send_message(peer, &RicMessage::Request(RequestEvent::ControlAsked(Box::new(question_about(40, question)))));
        match group.request() {
            RequestEvent::ControlAsked(asked) => asked.question,
            other => panic!("{other:?}"),
        }
    };
    let [decided, late] = [0, 1].map(|question| ask(&mut group, &mut first, question));
    group.commands().decide(decided, true);
    group.poll(Duration::ZERO);
    drop(first);
    let unknown = |question| RequestEvent::Decided { question, refusal: Some(RefusalCode::UnknownQuestion) };
    assert_eq!(group.request(), unknown(decided));
    let mut first = rics[0].accept_of(&mut group);
    announce(&mut first, 40);
    group.node_up();
    // the RIC numbers its questions from 0 on again
    let again = ask(&mut group, &mut first, 1);
    assert_ne!(again, late);
    group.commands().decide(late, true);
    assert_eq!(group.request(), unknown(late));
    group.commands().decide(u64::MAX, true);
    assert_eq!(group.request(), unknown(u64::MAX));
    group.commands().decide(again, false);
    group.poll(Duration::ZERO);
    let decision = XappMessage::Decide { question: 1, accepts: false };
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), decision);
    drop(second);
}

#[test]
fn longest_delay_of_a_duration_before_a_reconnection_is_accepted() {
    let (refusing, ric) = (refusing_ric(), Ric::start(free_ports()));
    let reconnect = Some(Reconnect { first: Duration::MAX, last: Duration::MAX });
    let endless = XappConfig { reconnect, ..config() };
    let absent = Address::Unix(socket_path("absent"));
    let addresses = [refusing, absent, ric.xapp.clone()];
    let mut group = XappGroup::connect(&addresses, "group", endless, PATIENCE).unwrap();
    ric.node().set_up(1);
    group.poll(Some(Duration::from_millis(50)), |_, _| ()).unwrap();
    drop(ric);
    group.poll(Some(Duration::from_millis(50)), |_, _| ()).unwrap();
}

#[test]
fn policies_are_requested_of_the_next_ric_when_theirs_is_lost() {
    const POLICY_QUERY: u32 = 20012;
    let rics = [WrittenRic::new(), WrittenRic::new()];
    let addresses = [rics[0].address().to_string(), rics[1].address().to_string()];
    let connecting = std::thread::spawn(move || {
        let options = ferric::xapp::Ric::options().addresses(addresses).name("group").config(config());
        options.connect().unwrap()
    });
    let mut first = rics[0].accept();
    std::thread::sleep(Duration::from_millis(100));
    let mut second = rics[1].accept();
    let ric = connecting.join().unwrap();
    let mut policies = ric.a1_policies(7).unwrap();
    let query = XappMessage::Service { kind: POLICY_QUERY, document: br#"{"policy_type_id":7}"#.to_vec() };
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), query);
    drop((first, rics));
    assert_eq!(XappMessage::decode(&second.receive()).unwrap(), query);
    let document = br#"{"operation":"CREATE","policy_type_id":7,"policy_instance_id":"one","payload":{}}"#;
    send_message(&mut second, &RicMessage::Service { kind: 20010, document });
    let policy = policies.next_within(PATIENCE).unwrap().unwrap();
    assert_eq!(policy.id(), "one");
}
