//! Agents that speak the protocol by an independent encoder (protoc's Python output), and bad ones.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;
use crate::collector::testing::Recorder;
use crate::directory::Entry;
use crate::event::{BearerEvent, BearerQos, Change, Event, HandoverStatus};
use crate::identity::Cell;

const HELLO: &str = "0a0f0a0608001000200110801c18001807a00602";
const ENB: &str = "4a1f0a0608001008200110801c1a12080750195819900200c20206080110011802a00602";
const ENB_2: &str =
    "4a330a0608001008200110811c1a12080850325832900200c202060801100118021a12080950325832900201c20206080110011802a00602";
const NO_UES: &str = "5a080a060800100a2001a00602";
const UES: &str =
    "5a2f0a060800100a2001122508818c01d80100f00181e8c3c5b21d8a021308fdffffffffffffffff0132060a0022020802a00602";
const ACTIVATED: &str =
    "7a310a060800100e200110011a2508818c01d80100f00181e8c3c5b21d8a021308fdffffffffffffffff0132060a0022020802a00601";
const AGGREGATED: &str = "7a370a060800100e200110001a2b08b424d80100e2010408011001f00181e8c3c5b21d8a021308fdffffffffffffffff0132060a0022020802a00601";
const DEACTIVATED: &str = "7a0f0a060800100e200110021a0308b424a00601";
const CHANNELS: &str =
    "6a320a060800100c2001122808818c0112020801120608032000280812160804200128003080f4033880e80740d0860348a08d06a00602";
const FEWER_CHANNELS: &str = "6a1a0a060800100c2001121008818c01120208011206080320002806a00602";
const STATISTICS: &str = "2ab9010a0608001004200112ae0108818c015276080410a6ffffffffffffffff0118f6ffffffffffffffff01225c0a1a08081a1608a1ffffffffffffffff0110f4ffffffffffffffff010a2d086312110a0f0a0a0807080010091009100910a3021a16089cffffffffffffffff0110f1ffffffffffffffff010a0f08371a0b089bffffffffffffffff01620c58c00560c8d007786480010a6a22080510111a0c3139322e3136382e31322e3120222a0c3139322e3136382e31322e32a00602";
const STATISTICS_2: &str = "2aba010a0608001004200112af0108818c015276080410a6ffffffffffffffff0118f6ffffffffffffffff01225c0a1a08081a1608a1ffffffffffffffff0110f4ffffffffffffffff010a2d086312110a0f0a0a0807080010091009100910a3021a16089cffffffffffffffff0110f1ffffffffffffffff010a0f08371a0b089bffffffffffffffff01620d58a80d6090a10f78c8018001146a22080510111a0c3139322e3136382e31322e3120222a0c3139322e3136382e31322e32a00602";
const ECHO: &str = "12080a0608001001204da00601";
const DISCONNECT: &str = "a201080a06080010142001a00601";

const PATIENCE: Duration = Duration::from_secs(20);

fn start(adapt: impl FnOnce(&mut FlexRanConfig)) -> (FlexRanCollector, Arc<Recorder>) {
    let mut config = FlexRanConfig::new("127.0.0.1:0".parse().unwrap());
    adapt(&mut config);
    let recorder = Arc::new(Recorder::default());
    let directory = Directory::default();
    let names = vec!["imsi:001010000000001".to_owned()];
    directory.put(Entry { names, ipv4: vec![[10, 45, 0, 7].into()], ..Entry::default() }).unwrap();
    let output: Arc<dyn Output + Send + Sync> = Arc::<Recorder>::clone(&recorder);
    (FlexRanCollector::start(config, Arc::new(directory), output).unwrap(), recorder)
}

/// An agent.
struct Peer(TcpStream);

impl Peer {
    fn connect(collector: &FlexRanCollector) -> Self {
        let stream = TcpStream::connect(collector.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Peer(stream)
    }

    fn send(&mut self, digits: &str) {
        let octets: Vec<u8> =
            (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
        self.0.write_all(&(octets.len() as u32).to_be_bytes()).unwrap();
        self.0.write_all(&octets).unwrap();
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut prefix = [0; 4];
        self.0.read_exact(&mut prefix).unwrap();
        let mut octets = vec![0; u32::from_be_bytes(prefix) as usize];
        self.0.read_exact(&mut octets).unwrap();
        octets
    }

    /// Whether the collector closes the connection.
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

/// Waits until an event of a kind was published, and takes all up to then.
fn await_event(recorder: &Recorder, what: &str, is: impl Fn(&Change) -> bool) -> Vec<Event> {
    let mut all = Vec::new();
    eventually(what, || {
        all.extend(recorder.take());
        all.iter().any(|event| is(&event.change)).then_some(())
    });
    all
}

fn cell(identity: u32) -> Cell {
    Cell::eutra(ids::PlmnIdentity::from_codes(1, 1, 2), identity)
}

/// The number of the body in each request, in order.
fn bodies(peer: &mut Peer, count: usize) -> Vec<u32> {
    (0..count).map(|_| Message::decode(&peer.receive()).unwrap().kind().0).collect()
}

#[test]
fn agent_is_asked_and_its_ues_become_events_and_state() {
    let (collector, recorder) = start(|_| ());
    let mut enb = Peer::connect(&collector);
    assert_eq!(bodies(&mut enb, 1), [1], "hello");
    enb.send(HELLO);
    let mut requests = bodies(&mut enb, 7);
    requests.sort_unstable();
    assert_eq!(requests, [2, 4, 8, 10, 10, 12, 12], "eNB, UEs, channels, statistics; and the first refresh");
    enb.send(ENB);
    enb.send(NO_UES);
    enb.send(ACTIVATED);
    enb.send(CHANNELS);
    let events = await_event(
        &recorder,
        "bearers are established",
        |change| matches!(change, Change::BearerEstablished(bearer) if bearer.erab_id == 6),
    );
    let [first, second] = &events[..] else { panic!("two bearers: {events:?}") };
    let ids: Vec<_> = first.ue.associate_ids.iter().map(|id| id.value.as_str()).collect();
    assert_eq!((first.cell, ids), (cell(0xe0000), vec!["10.45.0.7"]), "by the directory");
    let Change::BearerEstablished(bearer) = &first.change else { panic!("{first:?}") };
    assert_eq!((bearer.erab_id, bearer.qos), (5, Some(BearerQos { qci: 9, rates_bps: None })));
    let Change::BearerEstablished(bearer) = &second.change else { panic!("{second:?}") };
    let rates = Some([128_000, 64_000, 100_000, 50_000]);
    assert_eq!((bearer.erab_id, bearer.qos), (6, Some(BearerQos { qci: 1, rates_bps: rates })));

    // a second eNB, by whose physical identity a neighbour is known
    let mut other = Peer::connect(&collector);
    other.send(HELLO);
    other.send(ENB_2);
    eventually("three cells", || (recorder.state.lock().unwrap().cells.len() == 3).then_some(()));
    enb.send(STATISTICS);
    let events = await_event(&recorder, "a report", |change| matches!(change, Change::Measured { .. }));
    let tunnel = events.iter().find_map(|event| match &event.change {
        Change::S1Bearer { event: BearerEvent::Established, bearers } => Some(bearers[0].clone()),
        _ => None,
    });
    let tunnel = tunnel.unwrap();
    assert_eq!((tunnel.erab_id, &*tunnel.base_station.address, &*tunnel.gateway.teid), (5, "192.168.12.1", "00000022"));
    let report = events.iter().find(|event| matches!(event.change, Change::Measured { .. })).unwrap();
    let Change::Measured { trigger, serving, neighbours, .. } = &report.change else { panic!("{report:?}") };
    // -90 dBm and -10 dB (TS 36.133 9.1.4 and 9.1.7); of two events that with the measurement identity 4, A3
    assert_eq!((*trigger, serving.rsrp, serving.rsrq), (12, Some(51), Some(20)));
    let expected = [(cell(0xe0100), 46), (Cell::eutra("99970".parse().unwrap(), 0x123), 41)];
    let found: Vec<_> = neighbours.iter().map(|of| (of.cell, of.quantities.rsrp.unwrap())).collect();
    assert_eq!(found, expected, "the third neighbour is in no known cell");
    assert!(report.received_ns > 1_600_000_000_000_000_000);
    enb.send(STATISTICS_2);
    let ue = eventually("a volume", || {
        let state = recorder.state.lock().unwrap();
        let ue = state.ues.get("imsi:001010000000001")?;
        ue.measurements.gbr_volume_kbit.dl.map(|_| ue.clone())
    });
    // 125,000 octets; the uplink counter has wrapped around
    assert_eq!((ue.measurements.gbr_volume_kbit.dl, ue.measurements.gbr_volume_kbit.ul), (Some(1000), Some(8)));
    assert_eq!(ue.bearers.len(), 2);
    enb.send(FEWER_CHANNELS);
    let events = await_event(
        &recorder,
        "a bearer is modified",
        |change| matches!(change, Change::BearerModified(bearer) if bearer.qos.is_some_and(|qos| qos.qci == 7)),
    );
    assert!(events.iter().any(|event| matches!(&event.change, Change::BearerReleased(bearer) if bearer.erab_id == 6)));
    enb.send(UES);

    // the UE appears at the other eNB, with a secondary cell
    other.send(AGGREGATED);
    let events =
        await_event(&recorder, "cells are aggregated", |change| matches!(change, Change::CarrierAggregation { .. }));
    let [changed, aggregated] = &events[..] else { panic!("{events:?}") };
    let expected = Change::CellChange { targets: vec![cell(0xe0100)], status: HandoverStatus::Completed };
    assert_eq!((changed.cell, &changed.change), (cell(0xe0000), &expected));
    let expected = Change::CarrierAggregation { added: vec![cell(0xe0101)], removed: Vec::new(), measured: Vec::new() };
    assert_eq!((aggregated.cell, &aggregated.change), (cell(0xe0100), &expected));
    other.send(DEACTIVATED);
    await_event(&recorder, "its bearers are released", |change| matches!(change, Change::BearerReleased(_)));
    eventually("the UE is gone", || recorder.state.lock().unwrap().ues.is_empty().then_some(()));
    enb.send(DISCONNECT);
    eventually("its cell is gone", || (recorder.state.lock().unwrap().cells.len() == 2).then_some(()));
    drop(collector);
    assert!(other.is_closed());
}

#[test]
fn echo_is_answered_with_its_transaction() {
    let (collector, _recorder) = start(|_| ());
    let mut peer = Peer::connect(&collector);
    peer.send(HELLO);
    peer.send(ECHO);
    // header with transaction 77 (0x4d), and the direction of an answer
    let reply = [0x1a, 0x08, 0x0a, 0x06, 0x08, 0x00, 0x10, 0x02, 0x20, 0x4d, 0xa0, 0x06, 0x02];
    eventually("the reply", || (peer.receive() == reply).then_some(()));
}

#[test]
fn bad_agents_are_disconnected_and_harm_no_other() {
    let (collector, recorder) = start(|config| config.silence = Duration::from_millis(300));
    let bad: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\n\r\n",
        // a huge length
        &[0xff, 0xff, 0xff, 0xff, 0x0a],
        // octets that are no message
        &[0, 0, 0, 2, 0x0b, 0x0b],
        // no hello first
        &[0, 0, 0, 5, 0xaa, 0x01, 0x02, 0x08, 0x01],
        // half a message, then silence
        &[0, 0, 0, 9, 0x0a],
        // nothing
        &[],
    ];
    for octets in bad {
        let mut peer = Peer::connect(&collector);
        peer.0.write_all(octets).unwrap();
        assert!(peer.is_closed(), "{octets:x?}");
    }
    let mut good = Peer::connect(&collector);
    good.send(HELLO);
    good.send(ENB);
    eventually("the good agent is served", || (recorder.state.lock().unwrap().cells.len() == 1).then_some(()));
    assert!(good.is_closed(), "it is silent too long");
    eventually("its cell is gone", || recorder.state.lock().unwrap().cells.is_empty().then_some(()));
}

#[test]
fn connections_of_a_host_are_limited() {
    let (collector, _recorder) = start(|config| config.max_agents_per_host = 3);
    let mut admitted: Vec<Peer> = (0..3).map(|_| Peer::connect(&collector)).collect();
    for peer in &mut admitted {
        assert_eq!(bodies(peer, 1), [1]);
    }
    for _ in 0..20 {
        assert!(Peer::connect(&collector).is_closed());
    }
    drop(admitted.pop());
    // one more is admitted as soon as the end of the other is seen
    eventually("a place is free", || {
        let mut peer = Peer::connect(&collector);
        let mut octets = [0; 4];
        peer.0.read_exact(&mut octets).is_ok().then_some(())
    });
    assert_eq!(FlexRanConfig::new(collector.address()).max_agents_per_host, 16);
}
