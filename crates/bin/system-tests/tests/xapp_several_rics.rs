//! The high-level API for xApps with several RICs: nodes move from one to another, and the xApp goes on.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant};

use ferric::xapp::{Batch, Error, Event, Feed, MAX_RICS, Reconnect, Ric, XappConfig};
use ran::{RanConfig, Scenario};
use system_tests::{PATIENCE, TestRan, TestRic, eventually};

const THROUGHPUT: &str = "DRB.UEThpDl";
const NODES: [&str; 2] = ["gnb-00101-e00", "gnb-00101-e01"];

fn address(ric: &TestRic) -> String {
    ric.xapp.to_string()
}

/// Nodes with two UEs each that go from one RIC to the next.
fn start_ran(rics: &[Option<TestRic>]) -> TestRan {
    let e2: Vec<_> = rics.iter().flatten().map(|ric| ric.e2.clone()).collect();
    let next_rics = e2[1..].iter().cloned().map(Into::into).collect();
    let scenario = Scenario::with_mixed_traffic(2, 2, 1);
    TestRan::start(&e2[0], RanConfig { next_rics, scenario, ..RanConfig::default() })
}

fn connect(rics: &[Option<TestRic>]) -> Ric {
    let reconnect = Some(Reconnect { first: Duration::from_millis(50), last: Duration::from_millis(200) });
    let options = Ric::options().addresses(rics.iter().flatten().map(address)).name("group");
    options.config(XappConfig { reconnect, ..XappConfig::default() }).connect().unwrap()
}

/// The events up to the moves of both nodes.
fn events_until_moved(events: &mut Feed<Event>) -> Vec<Event> {
    let mut seen = Vec::new();
    let moves = |seen: &[Event]| seen.iter().filter(|event| matches!(event, Event::NodeMoved { .. })).count();
    while moves(&seen) < NODES.len() {
        seen.push(events.next_within(PATIENCE).unwrap().unwrap());
    }
    seen
}

#[test]
fn records_and_controls_of_nodes_go_on_at_the_next_ric_with_a_mark() {
    let mut rics: Vec<_> = (0..3).map(|_| Some(TestRic::start())).collect();
    let addresses: Vec<_> = rics.iter().flatten().map(address).collect();
    let ric = connect(&rics);
    let _ran = start_ran(&rics);
    let mut events = ric.events().unwrap();
    let mut stream = ric.kpm([THROUGHPUT]).every(20).unwrap();
    let mut of_one = ric.kpm([THROUGHPUT]).node(NODES[1]).whole_node().every(20).unwrap();
    let mut known = HashSet::new();
    let mut marks: BTreeMap<String, u32> = BTreeMap::new();
    let mut read_all = |marks: &mut BTreeMap<String, u32>, wanted: u32| {
        let end = Instant::now() + PATIENCE;
        let mut ues = BTreeSet::new();
        let mut marked = if wanted == 0 { NODES.len() } else { 0 };
        while ues.len() < 4 || marked < NODES.len() {
            assert!(Instant::now() < end, "{ues:?} {marks:?}");
            let record = stream.next_within(PATIENCE).unwrap().unwrap();
            if record.follows_move {
                *marks.entry(record.node.to_string()).or_default() += 1;
                marked += 1;
                ues.clear();
            }
            let is_new = known.insert((record.node.clone(), record.ue.clone(), record.time));
            assert!(is_new, "{record} of {:?} comes twice", record.time);
            if let Some(ue) = record.ue {
                ues.insert(ue);
            }
        }
        assert_eq!((stream.refusals(), stream.lost()), (0, 0));
        ues
    };
    let names = |ric: &Ric| ric.nodes().unwrap().iter().map(ferric::xapp::Node::name).collect::<BTreeSet<_>>();
    let ues = read_all(&mut marks, 0);
    assert!(marks.is_empty(), "{marks:?}");
    assert!(names(&ric).iter().eq(&NODES), "{:?}", names(&ric));
    assert!(!of_one.next_within(PATIENCE).unwrap().unwrap().follows_move);

    for (lost, wanted) in [(0, 1), (1, 2)] {
        let node = ric.node(NODES[0]).unwrap();
        rics[lost] = None;
        let seen = events_until_moved(&mut events);
        assert!(!seen.contains(&Event::RicLost), "{seen:?}");
        for name in NODES {
            let moved = Event::NodeMoved {
                node: name.into(),
                from: addresses[lost].as_str().into(),
                to: addresses[lost + 1].as_str().into(),
            };
            let order = [Event::NodeLost(name.into()), Event::NodeUp(name.into()), moved];
            let at = order.map(|event| seen.iter().rposition(|seen| *seen == event).unwrap());
            assert!(at.is_sorted(), "{seen:?}");
        }
        // the same UEs, each node marked once
        assert_eq!(read_all(&mut marks, wanted), ues);
        assert_eq!(marks, NODES.map(|node| (node.to_owned(), wanted)).into());
        assert!(names(&ric).iter().eq(&NODES));
        let record = node.kpm([THROUGHPUT]).every(20).unwrap().next_within(PATIENCE).unwrap().unwrap();
        assert!(&*record.node == NODES[0] && !record.follows_move, "a new stream has no gap");
        let ue = ues.first().unwrap();
        let mut answers = Err(Error::Closed);
        eventually("the UE is known again and its DRX cycle is set", || {
            answers = ric.ue(ue).and_then(|ue| ue.drx(160));
            answers.is_ok()
        });
        let mut batch = Batch::default();
        while batch.moves.is_empty() {
            of_one.next_batch(&mut batch, Some(PATIENCE)).unwrap();
        }
        let at = batch.moves[0] as usize;
        assert_eq!(batch.records().filter(|record| record.follows_move).count(), batch.moves.len());
        assert_eq!(&*batch.record(at).unwrap().node, NODES[1]);
    }

    // the last RIC is lost too: the stream waits
    rics[2] = None;
    while events.next_within(PATIENCE).unwrap().unwrap() != Event::RicLost {}
    assert!(names(&ric).is_empty());
    ric.close();
    while stream.next_record().unwrap().is_some() {}
}

#[test]
fn addresses_of_rics_are_checked_and_an_absent_group_is_an_error_in_time() {
    let error = Ric::connect_all([""; 0]).unwrap_err();
    assert_eq!((error.code(), error.parameter()), ("invalid", Some("addresses")), "{error}");
    let error = Ric::connect_all(vec!["tcp://127.0.0.1:1"; MAX_RICS + 1]).unwrap_err();
    assert_eq!((error.code(), error.parameter()), ("invalid", Some("addresses")), "{error}");
    let error = Ric::connect_all(["tcp://127.0.0.1:1", "ric"]).unwrap_err();
    assert_eq!(error.code(), "address", "{error}");
    let options = Ric::options().addresses(["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]).timeout(Duration::ZERO);
    let error = options.clone().connect().unwrap_err();
    assert_eq!(error.code(), "connect", "{error}");
    assert!(error.to_string().contains("tcp://127.0.0.1:1 tcp://127.0.0.1:2"), "{error}");
    let error = options.connect_raw().err().unwrap();
    assert_eq!((error.code(), error.parameter()), ("invalid", Some("addresses")), "{error}");
}
