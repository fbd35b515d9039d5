//! A CU with several DUs, as one base station and as several, towards another controller.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, NrCgi, PlmnIdentity};
use e2sm::rc::{self, Control, ControlAction, Drx, Handover};
use ferric::e2::topology::Part;
use ferric::e2::{ControlOutcome, Indication, Node, RequestEvent};
use ferric::server::{Iapp, IappContext, IappEvent};
use ferric::xapp::{Error, KpmStream, Record, Ric, UeReference, Xapp, XappConfig, XappEvent};
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use serde_json::Value;
use system_tests::{PATIENCE, TestRan, TestRic, eventually, ue_id};
use virtualization::topology::Topology;

/// The cells of the DUs.
const CELLS: [&str; 2] = ["003800001", "003800002"];
/// A measurement of the DUs and one of the CU-UP, of each UE.
const MEASUREMENTS: [&str; 2] = ["DRB.UEThpDl", "DRB.PdcpSduVolumeDL"];

/// A CU with two DUs, each with two UEs that have traffic.
const SCENARIO: &str = r#"
[[cell]]
split = true
cu = "a"
count = 2

[[ue]]
per_cell = 2
cell = "all"
mcs = 15
[[ue.flow]]
kind = "cbr"
rate_bps = 8_000_000
packet_octets = 1400
"#;

fn ran_config() -> RanConfig {
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    RanConfig { scenario, ..RanConfig::default() }
}

/// Has the second DU set up again whenever it is woken with this flag.
struct LoseDu(Arc<AtomicBool>);

impl Iapp for LoseDu {
    fn name(&self) -> &'static str {
        "loses a DU"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        if self.0.swap(false, Ordering::Relaxed) {
            let is_second = |node: &&Node| Part::of(&node.global_id) == Part::Du(2);
            let node = ric.nodes().find(is_second).map(|node| node.id);
            assert!(ric.release(node.expect("the second DU")));
        }
    }
}

/// The controller of base stations, the RIC that has their parts, and the RAN.
struct Network {
    controller: TestRic,
    owner: TestRic,
    ran: TestRan,
    loses: Arc<AtomicBool>,
}

impl Network {
    /// With these base stations of the gNB.
    fn start(stations: &[&str]) -> Network {
        let controller = TestRic::start();
        let station = |keys: &&str| format!("[[base_station]]\ngnb = \"gnb-00101-e00\"\n{keys}\n");
        let text = format!("ric = \"{}\"\n{}", controller.e2, stations.iter().map(station).collect::<String>());
        let topology = Topology::parse(&text).unwrap();
        let loses = Arc::new(AtomicBool::new(false));
        let iapps: Vec<Box<dyn Iapp>> = vec![Box::new(LoseDu(Arc::clone(&loses)))];
        let owner = TestRic::with_iapps(iapps, |config| config.topology = Some(topology));
        let ran = TestRan::start(&owner.e2, ran_config());
        owner.rest.eventually("/v1/nodes", |nodes| nodes["nodes"].as_array().is_some_and(|nodes| nodes.len() == 4));
        Network { controller, owner, ran, loses }
    }

    fn one_base_station() -> Network {
        let network = Network::start(&[""]);
        network.controller.await_slices("gnb-00101-e00");
        network
    }

    fn two_base_stations() -> Network {
        let network = Network::start(&["id = \"gnb-00101-f01\"\ndus = [1]", "id = \"gnb-00101-f02\"\ndus = [2]"]);
        for id in STATIONS {
            network.controller.await_slices(id);
        }
        network
    }

    fn connect(&self) -> Ric {
        Ric::options().address(self.controller.xapp.to_string()).name("test").connect().unwrap()
    }

    fn lose_du(&self) {
        self.loses.store(true, Ordering::Relaxed);
        self.owner.waker.wake();
    }

    /// Waits until the owner knows so many UEs at a DU.
    fn await_ues_at_du(&self, du: usize, count: usize) {
        let ues = format!("/v1/nodes/gnb-00101-e00-du-{du}/ues");
        self.owner.rest.eventually(&ues, |ues| ues["ues"].as_array().is_some_and(|ues| ues.len() == count));
    }

    /// The functions of a node of the controller: their ids and models.
    fn functions(&self, node: &str) -> BTreeSet<(u64, String)> {
        let node = self.controller.rest.eventually(&format!("/v1/nodes/{node}"), |node| node["functions"].is_array());
        let of = |function: &Value| (function["id"].as_u64().unwrap(), function["oid"].to_string());
        node["functions"].as_array().unwrap().iter().map(of).collect()
    }
}

const STATIONS: [&str; 2] = ["gnb-00101-f01", "gnb-00101-f02"];

/// A stream of the measurements of the UEs of a node.
fn measurements(ric: &Ric, node: &str) -> KpmStream {
    let mut opened = None;
    eventually("a stream of measurements of DUs and CU-UP", || {
        opened = ric.kpm(MEASUREMENTS).node(node).every(20).ok();
        opened.is_some()
    });
    opened.unwrap()
}

/// The next record, if one comes in time.
fn next(stream: &mut KpmStream) -> Option<Record> {
    match stream.next_within(Duration::from_secs(1)) {
        Ok(record) => record,
        Err(Error::Timeout { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The UEs of the records of the next second that have all measurements.
fn ues_with_values(stream: &mut KpmStream) -> BTreeSet<String> {
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut ues = BTreeSet::new();
    while Instant::now() < deadline {
        let Some(record) = next(stream) else { continue };
        if MEASUREMENTS.iter().all(|name| record.number(name).is_some()) {
            ues.extend(record.ue.as_ref().map(ToString::to_string));
        }
    }
    ues
}

/// Waits until a node reports so many UEs, and returns them.
fn await_ues(ric: &Ric, node: &str, count: usize) -> BTreeSet<String> {
    let mut stream = measurements(ric, node);
    let mut ues = BTreeSet::new();
    eventually(&format!("{count} UEs of {node} with the measurements of DUs and CU-UP"), || {
        ues = ues_with_values(&mut stream);
        ues.len() == count
    });
    assert!(ues.iter().all(|ue| ue.starts_with("amf:")), "{ues:?}");
    ues
}

/// A UE in a cell.
fn ue_in(ric: &Ric, cell: &str) -> ferric::xapp::Ue {
    let mut found = None;
    eventually("a UE with its AMF UE NGAP ID and its cell", || {
        let is_there = |ue: &ferric::xapp::Ue| {
            matches!(ue.reference(), UeReference::Amf(_))
                && ue.cell().is_ok_and(|of| of.is_some_and(|of| of.to_string() == cell))
        };
        found = ric.ues().unwrap().into_iter().find(is_there);
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn measurements_of_several_dus_are_those_of_one_base_station() {
    let network = Network::one_base_station();
    let ric = network.connect();
    let before = await_ues(&ric, "gnb-00101-e00", 4);
    // a UE moves to the other DU, and is the same
    let ue = ue_in(&ric, CELLS[0]);
    assert_eq!(ue.handover(CELLS[1]).unwrap().node, "gnb-00101-e00");
    network.await_ues_at_du(2, 3);
    network.await_ues_at_du(1, 1);
    assert_eq!(await_ues(&ric, "gnb-00101-e00", 4), before);
    assert!(before.contains(&ue.reference().to_string()));
    eventually("the UE is known in the cell of the other DU", || {
        ue.cell().is_ok_and(|cell| cell.is_some_and(|cell| cell.to_string() == CELLS[1]))
    });
    // one of the UEs, which is at the second DU
    let mut stream = ric.kpm(MEASUREMENTS).node("gnb-00101-e00").ue(ue.reference().to_string()).every(20).unwrap();
    eventually("a record of the UE with the measurements of the DU and the CU-UP", || {
        let record = next(&mut stream);
        record.is_some_and(|record| MEASUREMENTS.iter().all(|name| record.number(name).is_some()))
    });
}

/// The action is one of both DUs, each of which knows its own UEs only.
#[test]
fn control_goes_to_the_du_of_the_ue() {
    let network = Network::one_base_station();
    let ric = network.connect();
    for du in [1, 2] {
        network.await_ues_at_du(du, 2);
    }
    let ues = CELLS.map(|cell| ue_in(&ric, cell));
    for ue in &ues {
        eventually("the DU of the UE sets its DRX cycle", || ue.drx(40).is_ok());
    }
    ues[0].handover(CELLS[1]).unwrap();
    network.await_ues_at_du(2, 3);
    eventually("the other DU sets the DRX cycle of the UE that has come", || ues[0].drx(80).is_ok());
    // and back, where it has the name that it had there
    eventually("the UE is handed over again", || ues[0].handover(CELLS[0]).is_ok());
    network.await_ues_at_du(1, 2);
    eventually("the first DU sets the DRX cycle of its UE", || ues[0].drx(160).is_ok());
}

#[test]
fn ues_of_a_lost_du_have_the_measurements_of_the_cu_until_it_is_back() {
    let network = Network::one_base_station();
    let ric = network.connect();
    let all = await_ues(&ric, "gnb-00101-e00", 4);
    let functions = network.functions("gnb-00101-e00");
    let mut stream = measurements(&ric, "gnb-00101-e00");
    assert_eq!(all.len(), 4);
    network.lose_du();
    eventually("a record of a UE of the lost DU without its measurement", || {
        let record = next(&mut stream);
        record
            .is_some_and(|record| record.number(MEASUREMENTS[0]).is_none() && record.number(MEASUREMENTS[1]).is_some())
    });
    eventually("records of all UEs of the same stream", || ues_with_values(&mut stream) == all);
    eventually("the functions have the ids that they had", || network.functions("gnb-00101-e00") == functions);
}

#[test]
fn each_base_station_has_the_ues_of_its_du() {
    let network = Network::two_base_stations();
    let ric = network.connect();
    let ues = STATIONS.map(|id| await_ues(&ric, id, 2));
    assert!(ues[0].is_disjoint(&ues[1]), "{ues:?}");
    // a UE moves between the DUs, and so between the base stations
    let ue = ue_in(&ric, CELLS[0]);
    let name = ue.reference().to_string();
    assert!(ues[0].contains(&name));
    assert_eq!(ue.handover(CELLS[1]).unwrap().node, STATIONS[0]);
    let after = [(STATIONS[0], 1), (STATIONS[1], 3)].map(|(id, count)| await_ues(&ric, id, count));
    assert!(!after[0].contains(&name) && after[1].contains(&name), "{after:?}");
    let of = |id: &str| network.controller.rest.get(&format!("/v1/nodes/{id}/ues"))["ues"].as_array().unwrap().len();
    eventually("the controller has the UE at the second base station only", || STATIONS.map(of) == [1, 3]);
    // which controls it now
    eventually("the second base station hands it over", || {
        ue.handover(CELLS[0]).is_ok_and(|answer| answer.node == STATIONS[1])
    });
    eventually("the UE is back", || STATIONS.map(of) == [2, 2]);
}

/// Sends a control to the first function of E2SM-RC of a node.
fn control(xapp: &mut Xapp, node: &str, control: &Control) -> ControlOutcome {
    let (header, message) = control.encode(RanConfig::default().rc_revision).unwrap();
    let known = xapp.nodes().find(|known| known.global_id.to_string() == node).expect("the node");
    let rc = known.functions.iter().filter(|function| function.oid == rc::OID).min_by_key(|function| function.id.0);
    let (node, function) = (known.id, rc.expect("RC").id);
    let asked = xapp.commands().control(node, function, &header, &message);
    let (deadline, mut answer) = (Instant::now() + PATIENCE, None);
    while answer.is_none() {
        assert!(Instant::now() < deadline, "no answer to the control");
        let poll = xapp.poll(Some(PATIENCE), |event, _| match event {
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome }) if ticket == asked => {
                answer = Some(outcome);
            }
            _ => {}
        });
        poll.unwrap();
    }
    answer.unwrap()
}

#[test]
fn controls_of_ues_of_another_base_station_are_refused() {
    let network = Network::two_base_stations();
    let ric = network.connect();
    let ues = STATIONS.map(|id| await_ues(&ric, id, 2));
    let ids = ues.map(|ues| ues.first().unwrap().trim_start_matches("amf:").parse::<i64>().unwrap());
    let mut xapp = Xapp::connect(&network.controller.xapp, "raw", XappConfig::default()).unwrap();
    let cells = [1, 2].map(|local| Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), 0xe00 << 14 | local)));
    for (own, other) in [(0, 1), (1, 0)] {
        let handover =
            |ue: usize| Control::of_ue(ue_id::by_amf(ids[ue]), ControlAction::Handover(Handover::to(cells[other])));
        let drx = Control::of_ue(ue_id::by_amf(ids[other]), ControlAction::Drx(Drx::long(40)));
        for refused in [handover(other), drx] {
            let outcome = control(&mut xapp, STATIONS[own], &refused);
            assert!(matches!(outcome, ControlOutcome::Failed { .. }), "{own}: {outcome:?}");
        }
        let ues = format!("/v1/nodes/{}/ues", STATIONS[own]);
        network.controller.rest.eventually(&ues, |ues| ues["ues"].as_array().is_some_and(|ues| ues.len() == 2));
    }
    let outcome = control(
        &mut xapp,
        STATIONS[0],
        &Control::of_ue(ue_id::by_amf(ids[0]), ControlAction::Handover(Handover::to(cells[1]))),
    );
    assert!(matches!(outcome, ControlOutcome::Acknowledged(_)), "{outcome:?}");
}

/// The other base station goes on without it, and has none of its UEs.
#[test]
fn base_station_of_a_lost_du_is_gone_until_it_is_back() {
    let mut network = Network::two_base_stations();
    let ric = network.connect();
    let ues = STATIONS.map(|id| await_ues(&ric, id, 2));
    let functions = STATIONS.map(|id| network.functions(id));
    let mut of_first = measurements(&ric, STATIONS[0]);
    network.lose_du();
    eventually("the log says that the base station is not exposed", || {
        system_tests::log().contains("base station is not exposed any more")
    });
    assert!(ues_with_values(&mut of_first).is_subset(&ues[0]), "the first base station has its own UEs only");
    network.controller.await_slices(STATIONS[1]);
    eventually("the same base stations", || STATIONS.map(|id| network.functions(id)) == functions);
    assert_eq!(STATIONS.map(|id| await_ues(&ric, id, 2)), ues);
    // and after all parts have come back
    network.ran.restart();
    eventually("the same base stations after all parts were lost", || {
        let is_there = |id: &&str| network.controller.rest.get("/v1/nodes").to_string().contains(*id);
        STATIONS.iter().all(is_there) && STATIONS.map(|id| network.functions(id)) == functions
    });
    for id in STATIONS {
        await_ues(&ric, id, 2);
    }
}
