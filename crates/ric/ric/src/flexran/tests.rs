//! Agents that follow the protocol, and agents that do not, over TCP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use flexran::{
    Body, CellConfig, CsiReport, Direction, DlCqiReport, Echo, EnbConfig, Hello, Kind, MacStatistics, Message, PlmnId,
    Statistics, UeConfig, UeConfigs, UeStateChange, UeStateChangeKind, UeStatistics, WidebandCqi,
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn start(adapt: impl FnOnce(&mut Limits)) -> FlexRan {
    let config = FlexRanConfig { address: Some("tcp://127.0.0.1:0".parse().unwrap()), period_ms: 50 };
    let mut setup = FlexRanSetup::new(config, &ServerConfig::default()).unwrap();
    adapt(&mut setup.limits);
    setup.start(LogBudget::new(1000)).unwrap()
}

/// An agent.
struct Peer(TcpStream);

impl Peer {
    fn connect(ric: &FlexRan) -> Self {
        let Address::Tcp { host, port } = ric.address() else { panic!("TCP") };
        let stream = TcpStream::connect(SocketAddr::new(host.parse().unwrap(), *port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Peer(stream)
    }

    /// An agent that has said hello.
    fn greeted(ric: &FlexRan, id: u64) -> Self {
        let mut peer = Peer::connect(ric);
        peer.send(&Message::request(1, Body::Hello(Hello { bs_id: Some(id), ..Hello::default() })));
        peer.await_kind(Kind::STATISTICS_REQUEST);
        peer
    }

    fn send(&mut self, message: &Message) {
        let octets = message.encode();
        self.0.write_all(&(octets.len() as u32).to_be_bytes()).unwrap();
        self.0.write_all(&octets).unwrap();
    }

    fn receive(&mut self) -> Message {
        let mut prefix = [0; 4];
        self.0.read_exact(&mut prefix).unwrap();
        let mut octets = vec![0; u32::from_be_bytes(prefix) as usize];
        self.0.read_exact(&mut octets).unwrap();
        Message::decode(&octets).unwrap()
    }

    fn await_kind(&mut self, kind: Kind) -> Message {
        loop {
            let message = self.receive();
            if message.kind() == kind {
                return message;
            }
        }
    }

    /// Whether the RIC closes the connection.
    fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // a reset is a close, too
        self.0.read_to_end(&mut rest).map_or_else(|error| error.kind() == io::ErrorKind::ConnectionReset, |_| true)
    }
}

fn eventually<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ue(rnti: u32, imsi: u64) -> UeConfig {
    UeConfig { rnti, imsi: Some(imsi), ..UeConfig::default() }
}

#[test]
fn agent_is_greeted_asked_and_listed() {
    let ric = start(|_| ());
    let mut peer = Peer::connect(&ric);
    let first = peer.receive();
    assert_eq!((first.kind(), first.direction), (Kind::HELLO, Direction::Initiating));
    assert_eq!(ric.agents().count(), 0, "before its hello");
    peer.send(&Message::request(9, Body::Hello(Hello { bs_id: Some(0xE00), ..Hello::default() })));
    let requests: Vec<Message> = (0..5).map(|_| peer.receive()).collect();
    assert_eq!((requests[0].kind(), requests[0].xid, requests[0].direction), (Kind::HELLO, 9, Direction::Successful));
    let kinds =
        [Kind::ENB_CONFIG_REQUEST, Kind::UE_CONFIG_REQUEST, Kind::LOGICAL_CHANNEL_REQUEST, Kind::STATISTICS_REQUEST];
    assert_eq!(requests[1..].iter().map(Message::kind).collect::<Vec<_>>(), kinds);
    let Body::StatisticsRequest(request) = &requests[4].body else { panic!("{requests:?}") };
    assert_eq!(request.complete.as_ref().unwrap().subframes, 50);
    let plmns = vec![PlmnId { mcc: 1, mnc: 1, mnc_digits: 2 }];
    let cells = vec![CellConfig { pci: 7, dl_prbs: 25, ul_prbs: 25, plmns, ..CellConfig::default() }];
    peer.send(&Message::reply(requests[1].xid, Body::EnbConfig(EnbConfig { enb_id: None, cells })));
    let ues = vec![ue(0x4601, 1_010_000_000_001), ue(0x4602, 0)];
    peer.send(&Message::reply(requests[2].xid, Body::UeConfigs(UeConfigs { ues })));
    let change = UeStateChange { kind: UeStateChangeKind::DEACTIVATED, config: ue(0x4602, 0) };
    peer.send(&Message::request(10, Body::UeStateChange(change)));
    let change = UeStateChange { kind: UeStateChangeKind::ACTIVATED, config: ue(0x4603, 5) };
    peer.send(&Message::request(11, Body::UeStateChange(change)));
    let csi = CsiReport { p10: Some(WidebandCqi { cqi: 12 }), ..CsiReport::default() };
    let reported = UeStatistics {
        rnti: 0x4601,
        dl_cqi: Some(DlCqiReport { sfn_sf: None, cells: vec![csi] }),
        mac: Some(MacStatistics { sdu_octets_dl: 1000, sdu_octets_ul: 10, ..MacStatistics::default() }),
        ..UeStatistics::default()
    };
    let unknown = UeStatistics { rnti: 1, ..UeStatistics::default() };
    let statistics = Statistics { ues: vec![reported, unknown], cells: Vec::new() };
    peer.send(&Message::reply(requests[4].xid, Body::Statistics(statistics)));
    peer.send(&Message::request(77, Body::EchoRequest(Echo::default())));
    assert_eq!(peer.await_kind(Kind::ECHO_REPLY).xid, 77, "all before it was read");
    let agents = ric.agents().list(10);
    let [agent] = &agents[..] else { panic!("{agents:?}") };
    assert_eq!((&*agent.name(), agent.reports), ("enb-00101-e00", 1));
    assert_eq!((agent.cells[0].identity.0, agent.cells[0].dl_prbs), (0xE00 << 8, 25));
    assert_eq!(agent.ues.keys().copied().collect::<Vec<_>>(), [0x4601, 0x4603]);
    let ue = &agent.ues[&0x4601];
    assert_eq!((ue.imsi, ue.cqi, ue.sdu_octets_dl), (Some(1_010_000_000_001), Some(12), Some(1000)));
    let counters = Counters { reports: 1, hellos: 1, echoes: 1, ..Counters::default() };
    assert_eq!(ric.agents().counters(), counters);
    peer.send(&Message::request(12, Body::Disconnect));
    assert!(peer.is_closed());
    eventually("it is gone", || (ric.agents().count() == 0).then_some(()));
    assert_eq!(ric.agents().counters(), counters, "that was no fault");
}

#[test]
fn bad_agents_are_disconnected_and_harm_no_other() {
    let ric = start(|limits| {
        limits.hello_timeout = Duration::from_millis(300);
        limits.message_timeout = Duration::from_millis(300);
    });
    let mut good = Peer::greeted(&ric, 1);
    let mut without_hello = Message::request(1, Body::UeConfigs(UeConfigs::default())).encode();
    let length = without_hello.len() as u8;
    without_hello.splice(0..0, [0, 0, 0, length]);
    let bad: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\n\r\n",
        // a huge length
        &[0xff, 0xff, 0xff, 0xff, 0x0a],
        // the length 0
        &[0, 0, 0, 0, 0x0a],
        // octets that are no message
        &[0, 0, 0, 2, 0x0b, 0x0b],
        &without_hello,
        // half a message, then silence
        &[0, 0, 0, 9, 0x0a],
        // a half-open connection
        &[],
    ];
    for octets in bad {
        let mut peer = Peer::connect(&ric);
        peer.0.write_all(octets).unwrap();
        assert!(peer.is_closed(), "{octets:x?}");
    }
    // half a message of an agent that is known
    let mut known = Peer::greeted(&ric, 2);
    known.0.write_all(&[0, 0, 1, 0, 0x0a]).unwrap();
    assert!(known.is_closed());
    eventually("all are counted", || (ric.agents().counters().faults >= 8).then_some(()));
    good.send(&Message::request(5, Body::EchoRequest(Echo::default())));
    assert_eq!(good.await_kind(Kind::ECHO_REPLY).xid, 5);
    assert_eq!(ric.agents().count(), 1);
}

#[test]
fn silent_agent_is_asked_for_an_echo_and_then_disconnected() {
    let ric = start(|limits| {
        limits.echo_after = Duration::from_millis(300);
        limits.silence = Duration::from_secs(2);
    });
    let mut peer = Peer::greeted(&ric, 1);
    let echo = peer.await_kind(Kind::ECHO_REQUEST);
    peer.send(&Message::reply(echo.xid, Body::EchoReply(Echo::default())));
    let again = peer.await_kind(Kind::ECHO_REQUEST);
    assert_ne!(echo.xid, again.xid);
    assert!(peer.is_closed(), "without an answer");
    // counted behind the end of the connection
    eventually("the fault is counted", || (ric.agents().counters().faults == 1).then_some(()));
}

#[test]
fn connections_of_a_host_are_limited() {
    let ric = start(|limits| limits.max_agents_per_host = 3);
    let mut admitted: Vec<Peer> = (1..=3).map(|id| Peer::greeted(&ric, id)).collect();
    for _ in 0..20 {
        assert!(Peer::connect(&ric).is_closed());
    }
    assert_eq!((ric.agents().count(), ric.agents().counters().refused), (3, 20));
    drop(admitted.pop());
    eventually("a place is free", || (ric.agents().count() == 2).then_some(()));
    drop(Peer::greeted(&ric, 4));
}

#[test]
fn second_agent_with_an_id_of_the_same_host_takes_over() {
    let ric = start(|_| ());
    let mut first = Peer::greeted(&ric, 5);
    let mut second = Peer::greeted(&ric, 5);
    assert!(first.is_closed());
    second.send(&Message::request(3, Body::EchoRequest(Echo::default())));
    assert_eq!(second.await_kind(Kind::ECHO_REPLY).xid, 3);
    assert_eq!((ric.agents().count(), ric.agents().counters().faults), (1, 0));
}

#[test]
fn ues_of_an_agent_are_bounded() {
    let ric = start(|_| ());
    let mut peer = Peer::greeted(&ric, 1);
    for block in 0..3_u64 {
        let changes = (0..2000).map(|ue| self::ue(1 + 2000 * block as u32 + ue, 1 + u64::from(ue)));
        for config in changes {
            let change = UeStateChange { kind: UeStateChangeKind::ACTIVATED, config };
            peer.send(&Message::request(1, Body::UeStateChange(change)));
        }
    }
    peer.send(&Message::request(2, Body::EchoRequest(Echo::default())));
    peer.await_kind(Kind::ECHO_REPLY);
    assert_eq!(ric.agents().list(1)[0].ues.len(), 4096);
}

#[test]
fn listener_ends_when_it_is_dropped() {
    let ric = start(|_| ());
    let mut peer = Peer::greeted(&ric, 1);
    drop(ric);
    assert!(peer.is_closed());
}

#[test]
fn only_tcp_and_unix_addresses_are_taken() {
    let port = |url: &str| match FlexRanConfig::address(url) {
        Ok(Address::Tcp { port, .. }) => Ok(port),
        Ok(other) => Err(other.to_string()),
        Err(error) => Err(error),
    };
    assert_eq!((port("tcp://127.0.0.1"), port("tcp://[::]:5")), (Ok(2210), Ok(5)));
    assert!(port("sctp://127.0.0.1").unwrap_err().contains("over TCP"));
    assert!(port("2210").unwrap_err().contains("tcp://host:port"));
}
