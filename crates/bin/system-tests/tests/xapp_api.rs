//! The high-level API for xApps with a RIC and an emulated RAN.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake};
use std::time::Duration;

use ap::nr_rrc;
use e2sm::ccc::{RanConfigurationStructure, ResourceType, RrmPolicyMember, RrmPolicyRatio};
use e2sm::common::{Cgi, NrCgi, PlmnIdentity, RrcClassNr, RrcMessageId, RrcType, SNssai, Sst};
use e2sm::rc::dictionary::HANDOVER_PREPARATION;
use e2sm::rc::{ControlAction, Decision, Handover, Plan, Rule};
use e2sm::tc::QueueParameters;
use ferric::e2ap::Version;
use ferric::xapp::tc::Flow;
use ferric::xapp::{
    Batch, Direction, Error, Event, KpmRequest, KpmStream, Qos, Quota, Reconnect, Record, Ric, SliceShare, UeReference,
    Value, XappConfig,
};
use ran::{Profile, RanConfig, Scenario};
use rustix::event::{PollFd, PollFlags};
use system_tests::{PATIENCE, RicAndRan, TestRan, TestRic, eventually};

const THROUGHPUT: &str = "DRB.UEThpDl";

/// Cells next to each other, with UEs that have traffic.
fn cells(cells: u16, ues_each: u16) -> RanConfig {
    RanConfig { scenario: Scenario::with_mixed_traffic(cells, ues_each, 1), ..RanConfig::default() }
}

fn connect(ric: &TestRic) -> Ric {
    Ric::options().address(ric.xapp.to_string()).name("test").connect().unwrap()
}

fn start(cells_and_ues: (u16, u16)) -> (RicAndRan, Ric) {
    let running = RicAndRan::start(Vec::new(), cells(cells_and_ues.0, cells_and_ues.1));
    let ric = connect(&running.ric);
    (running, ric)
}

/// The first UE in a cell.
fn a_ue(ric: &Ric) -> ferric::xapp::Ue {
    let mut stream = ric.kpm([THROUGHPUT]).every(50).unwrap();
    for _ in 0..1000 {
        let record = stream.next_within(PATIENCE).unwrap().unwrap();
        if let (Some(ue), Some(_)) = (record.ue, record.cell) {
            return ric.ue(ue).unwrap();
        }
    }
    panic!("no record of a UE with its cell");
}

#[test]
fn records_are_about_each_ue_and_typed() {
    let (_running, ric) = start((2, 3));
    let mut stream = ric.kpm([THROUGHPUT, "CQI"]).every(50).unwrap();
    let mut records: Vec<Record> = Vec::new();
    let is_complete = |records: &[Record]| {
        let mut ues: Vec<_> = records.iter().filter_map(|record| record.ue.clone()).collect();
        ues.sort();
        ues.dedup();
        ues.len() == 6 && records.iter().any(|record| record.cell.is_some() && record.slice.is_some())
    };
    while !is_complete(&records) {
        records.push(stream.next_within(PATIENCE).unwrap().unwrap());
    }
    let nodes: std::collections::BTreeSet<_> = records.iter().map(|record| record.node.to_string()).collect();
    assert_eq!(nodes.into_iter().collect::<Vec<_>>(), ["gnb-00101-e00", "gnb-00101-e01"]);
    let record = records.iter().find(|record| matches!(record["CQI"], Value::Integer(1..=15))).unwrap();
    assert!(matches!(record.ue, Some(UeReference::Amf(_))), "{record:?}");
    assert!(record.number(THROUGHPUT).is_some() && record.value("RSRP").is_none());
    let age = record.time.elapsed().unwrap();
    assert!(age < PATIENCE, "{age:?}");
    assert_eq!((stream.lost(), stream.refusals()), (0, 0));
}

/// Notifications of UEs begin with those that are present, once per subscription: an equal subscription of a second xApp that
/// shared the first one's would never show them.
#[test]
fn ues_that_are_present_are_known_to_a_second_equal_xapp() {
    let (running, first) = start((1, 3));
    let names = |ric: &Ric| {
        let mut names: Vec<String> = ric.ues().unwrap().iter().map(|ue| ue.reference().to_string()).collect();
        names.sort();
        names
    };
    eventually("the first xApp knows all UEs", || names(&first).len() == 3);
    let second = connect(&running.ric);
    eventually("the second xApp knows them", || names(&second) == names(&first));
    let third = connect(&running.ric);
    assert_eq!(
        third.ue(&*names(&first)[0]).unwrap().cell().unwrap(),
        first.ue(&*names(&first)[0]).unwrap().cell().unwrap()
    );
}

/// Reports of configuration begin with the present state, as those of UEs do.
#[test]
fn configuration_of_cells_is_set_and_reported_to_each_equal_xapp() {
    let (running, ric) = start((2, 1));
    let cells = |ric: &Ric| {
        let mut reports = ric.configuration(["O-NRCellDU"]).unwrap();
        let mut next = || reports.next_within(PATIENCE).unwrap().unwrap().cell.to_string();
        let mut cells = [next(), next()];
        cells.sort();
        (reports, cells)
    };
    let (_first, expected) = cells(&ric);
    assert_eq!(expected, ["003800001", "003804001"]);
    let second = connect(&running.ric);
    assert_eq!(cells(&second).1, expected, "a second equal xApp has the present state too");

    let mut policies = ric.configuration(["O-RRMPolicyRatio"]).unwrap();
    let member = RrmPolicyMember { plmn_id: None, snssai: Some(SNssai { sst: Sst([1]), sd: None }) };
    let policy = |max| {
        RanConfigurationStructure::RrmPolicyRatio(RrmPolicyRatio {
            resource_type: Some(ResourceType::PrbDl),
            rrm_policy_member_list: Some(vec![member.clone()]),
            rrm_policy_max_ratio: Some(max),
            ..RrmPolicyRatio::default()
        })
    };
    let node = ric.node("gnb-00101-e01").unwrap();
    node.configure([policy(30)]).unwrap();
    let report = policies.next_within(PATIENCE).unwrap().unwrap();
    assert_eq!((&*report.node, &*report.cell.to_string()), ("gnb-00101-e01", "003804001"));
    assert!(format!("{:?}", report.structures).contains("rrm_policy_max_ratio: Some(30)"), "{report:?}");

    let error = node.configure([policy(101)]).unwrap_err();
    assert!(matches!(error.code(), "invalid" | "refused" | "unverified"), "{error}");
    assert_eq!(node.configure([]).unwrap_err().code(), "invalid");
    assert_eq!(ric.configuration([""; 0]).unwrap_err().code(), "invalid");
    let error = ric.configuration(["O-RRMPolicyRation"]).unwrap_err();
    assert_eq!((error.code(), &*error.nearest()[0]), ("not-offered", "O-RRMPolicyRatio"), "{error}");
}

#[test]
fn ue_is_handed_over() {
    let (_running, ric) = start((2, 2));
    let ue = a_ue(&ric);
    let from = ue.cell().unwrap().unwrap();
    let cells = ric.cells().unwrap();
    let target = cells.iter().find(|cell| cell.id() != from).unwrap();
    assert_eq!(ue.handover(target).unwrap().text, None);
    eventually("the UE is in the target cell", || ue.cell().unwrap() == Some(target.id()));
    let error = ue.handover("fffffffff").unwrap_err();
    assert_eq!((error.code(), error.nearest().len()), ("unknown", 2), "{error}");
    let error = ue.handover("x").unwrap_err();
    assert_eq!((error.code(), error.parameter()), ("invalid", Some("cell")), "{error}");
}

#[test]
fn refused_control_has_the_cause_and_what_the_node_says() {
    let (_running, ric) = start((1, 2));
    let ue = a_ue(&ric);
    let own = ue.cell().unwrap().unwrap();
    let error = ue.handover(own).map(|answer| panic!("{answer:?}")).unwrap_err();
    let Error::Refused { node, text: Some(text), .. } = &error else { panic!("{error:?}") };
    assert_eq!(node, "gnb-00101-e00");
    assert!(error.cause().is_some() && text.contains("already in the target cell"), "{error}");
}

#[test]
fn slices_are_set_listed_and_removed_and_ues_move() {
    let (_running, ric) = start((1, 4));
    let (ue, slices) = (a_ue(&ric), ric.verified(PATIENCE).slices());
    assert_eq!(slices.list().unwrap(), []);
    let labelled = SliceShare { label: "large".into(), ..SliceShare::new(2, 70.0) };
    slices.set([SliceShare::new(1, 30.0), labelled]).unwrap();
    let listed = slices.list().unwrap();
    assert_eq!(listed.iter().map(|slice| (slice.id, &*slice.label)).collect::<Vec<_>>(), [(1, ""), (2, "large")]);
    assert_eq!(listed[1].direction, Direction::Downlink);

    ue.verified(PATIENCE).slice(2).unwrap();
    eventually("slice 2 has the UE", || slices.list().unwrap()[1].ues == 1);
    let error = ue.slice(7).unwrap_err();
    assert_eq!((error.code(), error.nearest()), ("unknown", &["1".to_owned(), "2".to_owned()][..]), "{error}");

    let error = ric.slices().set([SliceShare::new(1, 50.0)]).unwrap_err();
    let Error::Refused { text: Some(text), .. } = &error else { panic!("{error:?}") };
    assert!(error.cause().is_some() && !text.is_empty(), "{error}");
    for (share, parameter) in [(0.0, "share_percent"), (101.0, "share_percent"), (f32::NAN, "share_percent")] {
        let error = slices.set([SliceShare::new(1, share)]).unwrap_err();
        assert_eq!(error.parameter(), Some(parameter), "{error}");
    }
    assert_eq!(slices.set([1, 1].map(|id| SliceShare::new(id, 1.0))).unwrap_err().parameter(), Some("id"));
    assert_eq!(slices.set([]).unwrap_err().parameter(), Some("slices"));
    slices.remove([1, 2]).unwrap();
    assert_eq!(slices.list().unwrap(), []);
    let error = slices.remove([1]).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
}

#[test]
fn quota_limits_a_network_slice_and_is_verified() {
    let (_running, ric) = start((1, 4));
    let quota = Quota { max_percent: 20, ..Quota::default() };
    let answers = ric.verified(PATIENCE).quota("1", quota).unwrap();
    assert_eq!(answers[0].node, "gnb-00101-e00");
    let node = ric.node("gnb-00101-e00").unwrap();
    for (quota, parameter) in [
        (Quota { max_percent: 101, ..quota }, "max_percent"),
        (Quota { min_percent: 30, ..quota }, "min_percent"),
        (Quota { dedicated_percent: 1, ..quota }, "dedicated_percent"),
    ] {
        assert_eq!(node.quota("1", quota).unwrap_err().parameter(), Some(parameter));
    }
    assert_eq!(node.quota("one", quota).unwrap_err().parameter(), Some("slice"));
}

#[test]
fn drx_and_qos_of_a_ue_are_set() {
    let (_running, ric) = start((1, 2));
    let ue = a_ue(&ric);
    ue.drx(320).unwrap();
    ue.qos(Qos { priority: Some(3), ..Qos::default() }).unwrap();
    assert_eq!(ue.drx(9).unwrap_err().parameter(), Some("cycle_ms"));
    for (qos, parameter) in [
        (Qos { drb: 0, priority: Some(1), ..Qos::default() }, "drb"),
        (Qos { priority: Some(128), ..Qos::default() }, "priority"),
        (Qos::default(), "qos"),
    ] {
        assert_eq!(ue.qos(qos).unwrap_err().parameter(), Some(parameter));
    }
    // a bearer that the UE does not have
    let error = ue.qos(Qos { drb: 31, priority: Some(3), ..Qos::default() }).unwrap_err();
    assert!(matches!(&error, Error::Refused { text: Some(text), .. } if text.contains("DRB")), "{error:?}");
    let error = ue.verified(PATIENCE).drx(320).unwrap_err();
    assert_eq!(error.code(), "not-offered", "no report shows a DRX cycle");
}

#[test]
fn flow_gets_a_queue_of_its_own() {
    let (_running, ric) = start((1, 2));
    let tc = ric.tc();
    tc.add_queue(QueueParameters::Fifo).unwrap();
    let flow = Flow { destination_port: Some(5060), protocol: Some(17), ..Flow::default() };
    tc.add_filter(flow, 1).unwrap();
    tc.pace(true).unwrap();
    let error = tc.add_filter(flow, 9).unwrap_err();
    // FlexRIC's layout has no text
    assert!(matches!(&error, Error::Refused { .. }), "{error:?}");
    assert_eq!(tc.add_filter(Flow::default(), 1).unwrap_err().parameter(), Some("flow"));
    tc.pace(false).unwrap();
}

/// Copies of RRC messages name their UEs as other reports do.
#[test]
fn rrc_messages_of_each_ue_are_copied() {
    let report = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: nr_rrc::MEASUREMENT_REPORT };
    let mut config = cells(2, 2);
    config.scenario.measurement.report_interval = Some(Duration::from_millis(120));
    let running = RicAndRan::start(Vec::new(), config);
    let ric = connect(&running.ric);
    let mut messages = ric.rrc_messages(["MeasurementReport"]).unwrap();
    let mut nodes = std::collections::BTreeMap::new();
    while nodes.len() < 4 {
        let message = messages.next_within(PATIENCE).unwrap().unwrap();
        let read = nr_rrc::MeasurementReport::decode(&message.octets).unwrap();
        assert!(read.serving.rsrp.is_some(), "{read:?}");
        let known = nodes.insert(message.ue, message.node.clone());
        assert!(known.is_none_or(|node| node == message.node));
    }
    for (ue, node) in nodes {
        assert_eq!(ric.ue(&ue).unwrap().reference(), &ue);
        assert!(["gnb-00101-e00", "gnb-00101-e01"].contains(&&*node), "{node}");
    }
    let error = ric.rrc_messages([""; 0]).unwrap_err();
    assert_eq!(error.parameter(), Some("kinds"), "{error}");
    // O-RAN SC's simulator has E2SM-RC without reports of messages
    let config = RanConfig { profile: Profile::named("osc").unwrap(), ..cells(1, 1) };
    let running = RicAndRan::start(Vec::new(), config);
    let error = connect(&running.ric).rrc_messages([report]).unwrap_err();
    assert_eq!(error.code(), "not-offered", "{error}");
}

/// A RAN whose nodes begin handovers.
fn restless() -> RanConfig {
    RanConfig { handovers_per_minute: 600, ..cells(2, 4) }
}

#[test]
fn handover_waits_for_the_decision() {
    let running = RicAndRan::start(Vec::new(), restless());
    let ric = connect(&running.ric);
    let mut requests = ric.handover_requests().unwrap();
    let request = requests.next_within(PATIENCE).unwrap().unwrap();
    let (ue, target) = (ric.ue(request.ue.clone()).unwrap(), request.target);
    assert_ne!(ue.cell().unwrap(), Some(target));
    request.accept().unwrap();
    eventually("the UE is in the target cell", || ue.cell().unwrap() == Some(target));
    // nodes do not wait for ever: the first ones may have gone on without a decision
    eventually("a handover is denied", || requests.next_within(PATIENCE).unwrap().unwrap().deny().is_ok());
}

#[test]
fn policy_is_installed_until_it_is_dropped() {
    let running = RicAndRan::start(Vec::new(), restless());
    let ric = connect(&running.ric);
    eventually("a cell is known", || !ric.cells().unwrap().is_empty());
    let target = ric.cells().unwrap();
    let cell = Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), target[0].id().identity()));
    let rule =
        Rule { condition: None, action: ControlAction::Handover(Handover::to(cell)), decision: Some(Decision::Reject) };
    let policy = ric.policy(Plan::policy(HANDOVER_PREPARATION, 3, std::slice::from_ref(&rule))).unwrap();
    drop(policy);
    // the node has room for it again
    ric.policy(Plan::policy(HANDOVER_PREPARATION, 3, std::slice::from_ref(&rule))).unwrap();
    let error = ric.policy(Plan::policy(HANDOVER_PREPARATION, 99, &[rule])).unwrap_err();
    assert_eq!(error.code(), "not-offered", "{error}");
}

#[test]
fn configuration_of_cells_is_queried() {
    // E2AP has queries since v03
    let running = TestRic::with(|config| config.server.controller.version = Some(Version::V3_01));
    let config = RanConfig { e2ap_version: Version::V3_01, all_ccc_attributes: true, ..cells(1, 1) };
    let _ran = TestRan::start(&running.e2, config);
    let ric = connect(&running);
    let node = ric.node("gnb-00101-e00").unwrap();
    let queried = node.query(["O-NRCellDU"]).unwrap();
    assert_eq!(queried[0].structures[0].0.name(), "O-NRCellDU");
    let error = node.query(["O-NRCellDu"]).unwrap_err();
    assert_eq!(error.nearest().first().map(String::as_str), Some("O-NRCellDU"), "{error}");
}

#[test]
fn session_survives_a_restart_of_the_ric() {
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let listeners = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses = [0, 1].map(|at: usize| format!("tcp://127.0.0.1:{}", port(&listeners[at])));
    drop(listeners);
    let start = || {
        TestRic::with(|config| {
            config.server.e2 = vec![addresses[0].parse().unwrap()];
            config.server.xapp = Some(addresses[1].parse().unwrap());
        })
    };
    // the session waits for a RIC that does not listen yet
    let reconnect = Some(Reconnect { first: Duration::from_millis(50), last: Duration::from_millis(100) });
    let options = Ric::options().address(&addresses[1]).config(XappConfig { reconnect, ..XappConfig::default() });
    let waiting = std::thread::spawn(move || options.connect());
    let running = start();
    let ric = waiting.join().unwrap().unwrap();
    let _ran = TestRan::start(&running.e2, cells(1, 2));
    let mut events = ric.events().unwrap();
    let mut stream = ric.kpm([THROUGHPUT]).every(20).unwrap();
    stream.next_within(PATIENCE).unwrap().unwrap();
    drop(running);
    let mut seen = Vec::new();
    while seen.last() != Some(&Event::RicLost) {
        seen.push(events.next_within(PATIENCE).unwrap().unwrap());
    }
    let _running = start();
    while seen.last() != Some(&Event::RicBack) {
        seen.push(events.next_within(PATIENCE).unwrap().unwrap());
    }
    while stream.try_next().unwrap().is_some() {}
    stream.next_within(PATIENCE).unwrap().unwrap();
    let node: Arc<str> = "gnb-00101-e00".into();
    assert!(seen.contains(&Event::NodeUp(Arc::clone(&node))) && seen.contains(&Event::NodeLost(node)), "{seen:?}");
}

#[test]
fn slow_reader_loses_its_oldest_records_and_sees_a_counter() {
    let (_running, ric) = start((1, 4));
    let mut slow = ric.kpm([THROUGHPUT]).buffer(64).every(10).unwrap();
    let mut fast = ric.kpm([THROUGHPUT]).every(10).unwrap();
    let mut read = 0;
    while slow.lost() < 200 {
        fast.next_within(PATIENCE).unwrap().unwrap();
        read += 1;
    }
    assert!(read > 200 && fast.lost() == 0);
    // what is left is the newest
    let oldest = slow.try_next().unwrap().unwrap();
    let mut batch = Batch::default();
    assert!(slow.next_batch(&mut batch, Some(PATIENCE)).unwrap());
    assert!(batch.len() <= 64 && batch.record(0).unwrap().time >= oldest.time);
}

#[test]
fn batches_hold_the_same_records_in_columns() {
    let (_running, ric) = start((2, 3));
    let mut stream = ric.kpm([THROUGHPUT, "CQI"]).every(20).unwrap();
    let first = stream.next_within(PATIENCE).unwrap().unwrap();
    let mut batch = Batch::default();
    let mut records = 0;
    while records < 60 {
        assert!(stream.next_batch(&mut batch, Some(PATIENCE)).unwrap());
        records += batch.len();
        assert_eq!(batch.columns.len(), 2);
        assert!(batch.columns.iter().all(|column| column.values.len() == batch.len()));
        assert!(batch.ues.iter().all(|ue| batch.dictionary.ues.get(*ue as usize).is_some()));
        for record in batch.records() {
            assert!(record.node != first.node || record.time >= first.time);
            assert!(record.value("CQI").is_some());
        }
    }
}

#[test]
fn stream_is_readable_by_readiness() {
    let (_running, ric) = start((1, 2));
    let mut stream = ric.kpm([THROUGHPUT]).every(20).unwrap();
    let is_readable = |stream: &KpmStream, timeout_ms: i64| {
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: timeout_ms * 1_000_000 };
        let mut fds = [PollFd::new(stream, PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&timeout)).unwrap() == 1
    };
    eventually("records are buffered", || is_readable(&stream, 100));
    while stream.try_next().unwrap().is_some() {}

    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Arc::clone(&flag).into();
    let mut context = Context::from_waker(&waker);
    while stream.poll_next(&mut context).is_ready() {}
    eventually("the waker is called", || flag.0.load(Ordering::Acquire));
    assert!(stream.poll_next(&mut context).is_ready());
}

#[test]
fn close_ends_streams_and_refuses_verbs() {
    let (_running, ric) = start((1, 2));
    let mut stream = ric.kpm([THROUGHPUT]).every(20).unwrap();
    let mut events = ric.events().unwrap();
    stream.next_within(PATIENCE).unwrap().unwrap();
    let other = ric.clone();
    ric.close();
    ric.close();
    assert_eq!(other.nodes().unwrap_err().code(), "closed");
    while stream.next_record().unwrap().is_some() {}
    assert!(stream.next().is_none() && events.by_ref().all(|event| event.is_ok()));
    assert_eq!(other.kpm([THROUGHPUT]).every(20).unwrap_err().code(), "closed");
}

#[test]
fn wrong_requests_are_refused_with_the_parameter() {
    let (_running, ric) = start((1, 1));
    for (request, parameter) in [
        (ric.kpm([""; 0]).every(100), "measurements"),
        (ric.kpm([THROUGHPUT]).every(0), "period_ms"),
        (ric.kpm([THROUGHPUT]).buffer(0).every(100), "buffer"),
        (ric.kpm([THROUGHPUT]).cell("x").every(100), "cell"),
        (ric.kpm([THROUGHPUT]).slice("1-").every(100), "slice"),
        (ric.kpm([THROUGHPUT]).ue("imsi:1").every(100), "ue"),
        (ric.kpm([THROUGHPUT]).slice("1").whole_node().every(100), "request"),
    ] {
        let error = request.unwrap_err();
        assert_eq!((error.code(), error.parameter()), ("invalid", Some(parameter)), "{error}");
    }
    let error = Ric::options().address("ric").connect().unwrap_err();
    assert_eq!(error.code(), "address", "{error}");
    let error = Ric::options().address("tcp://127.0.0.1:1").timeout(Duration::ZERO).connect().unwrap_err();
    assert_eq!(error.code(), "connect", "{error}");
}

#[test]
fn measurements_of_a_slice_a_cell_a_node_and_one_ue() {
    let (_running, ric) = start((2, 2));
    let ue = a_ue(&ric);
    let cell = ue.cell().unwrap().unwrap();
    let next = |request: KpmRequest| request.every(20).unwrap().next_within(PATIENCE).unwrap().unwrap();
    let record = next(ric.kpm(["RRU.PrbTotDl"]).slice("1"));
    assert_eq!((record.slice, record.ue.clone()), (Some("1".parse().unwrap()), None));
    assert!(record.number("RRU.PrbTotDl").is_some(), "{record}");
    let record = next(ric.kpm(["RRC.ConnMean"]).whole_node().node("gnb-00101-e01"));
    assert_eq!((&*record.node, record.ue.clone()), ("gnb-00101-e01", None));
    let node = ric.ue(ue.reference().clone()).unwrap();
    let record = next(ric.kpm([THROUGHPUT]).ue(&node));
    assert_eq!(record.ue.as_ref(), Some(ue.reference()));
    let record = next(ric.kpm(["RRU.PrbTotDl"]).cell(cell));
    assert_eq!((record.cell, record.ue.clone()), (Some(cell), None));
    let error = ric.kpm(["RRU.PrbTotDl"]).cell("fffffffff").every(20).unwrap_err();
    assert_eq!((error.code(), error.nearest().len()), ("unknown", 2), "{error}");
}

#[test]
fn unknown_names_have_the_nearest_ones() {
    let (_running, ric) = start((1, 2));
    let _known = a_ue(&ric);
    let soon = ric.deadline(Duration::from_millis(100));
    let error = soon.ue("amf:17").unwrap_err();
    assert!(matches!(&error, Error::Unknown { nearest, .. } if !nearest.is_empty()), "{error:?}");
    let error = soon.node("gnb-00101-e10").unwrap_err();
    assert_eq!(error.nearest(), ["gnb-00101-e00"]);
    let error = ric.kpm(["DRB.UEThpDL"]).every(100).unwrap_err();
    assert!(matches!(&error, Error::NotOffered { nearest, .. } if nearest[0] == THROUGHPUT), "{error:?}");
}
