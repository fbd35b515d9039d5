//! A UE has the same names in KPM, RC, MAC, RRC and REST, before and after its C-RNTI changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use e2sm::Arena;
use e2sm::common::{Cgi, NrCgi, PlmnIdentity};
use e2sm::kpm::EveryUe;
use e2sm::rc::{Control, ControlAction, Detection, Handover, Revision};
use ferric::e2::topology::{RanDatabase, UeIdentity, UeModel, UeReference, UeReportConfig, UeSource};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{Components, NodeId, SubscriptionId, Ticket, Time};
use ferric::e2ap::RanFunctionId;
use ferric::xapp::{Commands, Indication, RequestEvent, Xapp, XappConfig, XappEvent};
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{PATIENCE, TestRan, TestRic};

const PERIOD_MS: u32 = 50;
/// The cells of the first two gNBs.
const CELLS: [u64; 2] = [0x380_0001, 0x380_4001];

/// An xApp that reads the UEs of all nodes, from each service model by itself.
struct Reader {
    xapp: Xapp,
    began: Instant,
    nodes: BTreeMap<NodeId, NodeInfo>,
    requested: BTreeMap<Ticket, (NodeId, UeSource)>,
    subscribed: BTreeMap<SubscriptionId, (NodeId, UeSource)>,
    /// What each model of [`UeModel::ALL`] reports.
    of_models: Vec<RanDatabase>,
    acknowledged: usize,
}

impl Reader {
    fn new(ric: &TestRic) -> Reader {
        Reader {
            xapp: Xapp::connect(&ric.xapp, "reader", XappConfig::default()).unwrap(),
            began: Instant::now(),
            nodes: BTreeMap::new(),
            requested: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            of_models: UeModel::ALL.iter().map(|_| RanDatabase::new(100)).collect(),
            acknowledged: 0,
        }
    }

    /// Handles events until `is_done`.
    fn until(&mut self, what: &str, mut is_done: impl FnMut(&Reader) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_done(self) {
            assert!(Instant::now() < deadline, "{what}: {}", self.known());
            let Reader { xapp, began, nodes, requested, subscribed, of_models, acknowledged } = self;
            let handle = |event: XappEvent<'_>, ric: &mut Commands<'_>| match event {
                XappEvent::NodeUp(node) => {
                    for ran in of_models.iter_mut() {
                        ran.update_node(node.id, node.global_id, &Components::default());
                    }
                    nodes.insert(node.id, node.clone());
                    ask(node, UeModel::ALL, ric, requested);
                }
                XappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                    if let Some(source) = requested.remove(&ticket) {
                        subscribed.insert(subscription, source);
                    }
                }
                XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => panic!("{error}"),
                XappEvent::Request(RequestEvent::Controlled { outcome, .. }) => {
                    assert!(matches!(outcome, ferric::e2::ControlOutcome::Acknowledged(_)), "{outcome:?}");
                    *acknowledged += 1;
                }
                XappEvent::Indication(indication) => {
                    let now = Time::from_nanos(began.elapsed().as_nanos() as u64);
                    read(&indication, now, subscribed, of_models);
                }
                _ => {}
            };
            xapp.poll(Some(Duration::from_millis(20)), handle).unwrap();
        }
    }

    fn known(&self) -> String {
        let all = UeModel::ALL.iter().zip(&self.of_models);
        all.map(|(model, ran)| {
            let ues: Vec<_> = ran.current_ues().iter().map(|ue| ran.describe(ue)).collect();
            format!("{}: {ues:?}; ", model.name())
        })
        .collect()
    }

    fn of(&self, model: UeModel) -> &RanDatabase {
        &self.of_models[UeModel::ALL.iter().position(|other| *other == model).unwrap()]
    }

    /// What a model reports of a UE, and the name of its base station.
    fn identity(&self, model: UeModel, reference: &str) -> Option<(UeIdentity, String)> {
        let ran = self.of(model);
        let ue = ran.resolve(&reference.parse::<UeReference>().unwrap()).ok()?;
        Some((ran.identity(ue), ran.station(ue.station()).unwrap().key().to_string()))
    }

    /// Requests reports of RC once more: they are on demand.
    fn ask_rc(&mut self) {
        let nodes: Vec<_> = self.nodes.values().cloned().collect();
        let requested = &mut self.requested;
        let mut ric = self.xapp.commands();
        nodes.iter().for_each(|node| ask(node, &[UeModel::Rc], &mut ric, requested));
    }

    /// Checks that RRC, KPM, RC and MAC tell the same of a UE as REST does.
    fn check(&mut self, ric: &TestRic, amf: u64, rnti: u16, cell: usize) -> Value {
        let name = format!("amf:{amf}");
        let gnb = format!("gnb-00101-e0{cell}");
        let rnti_name = format!("rnti:{rnti:#06x}@{gnb}");
        let in_cell =
            |(identity, station): &(UeIdentity, String)| identity.cell == Some(CELLS[cell]) && *station == gnb;
        self.until(&rnti_name, |reader| {
            let rrc = reader.identity(UeModel::Rrc, &name);
            rrc.is_some_and(|rrc| in_cell(&rrc) && rrc.0.rnti == Some(rnti))
                && reader.identity(UeModel::Kpm, &name).is_some_and(|(_, station)| station == gnb)
                && reader.identity(UeModel::Mac, &rnti_name).is_some_and(|(identity, _)| identity.rnti == Some(rnti))
        });
        self.ask_rc();
        self.until(&name, |reader| reader.identity(UeModel::Rc, &name).as_ref().is_some_and(in_cell));
        // no other cell has it
        for model in [UeModel::Rrc, UeModel::Kpm] {
            assert_eq!(self.of(model).current_ues().len(), 2, "{}", self.known());
        }
        let rest = ric.rest.eventually(&format!("/v1/ues/{name}"), |ue| {
            ue["rnti"] == rnti && ue["base_station"] == json!(gnb) && ue["slices"].is_object()
        });
        let (rrc, _) = self.identity(UeModel::Rrc, &name).unwrap();
        assert_eq!(rest["cell"], json!(format!("{:09x}", CELLS[cell])));
        assert_eq!(rest["ip"], json!(rrc.context.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()));
        assert_eq!(rest["s_nssais"], json!([{ "sst": rrc.context.s_nssais[0].sst.0[0] }]));
        assert_eq!(rest["references"], json!(rrc.references().iter().map(ToString::to_string).collect::<Vec<_>>()));
        // all its names find it
        for reference in rest["references"].as_array().unwrap() {
            let found = ric.rest.get(&format!("/v1/ues/{}", reference.as_str().unwrap()));
            assert_eq!(found["id"], rest["id"], "{reference}");
        }
        let of_node = ric.rest.eventually(&format!("/v1/nodes/{gnb}/ues/{rnti}"), |_| true);
        assert_eq!((&of_node["slices"], &of_node["s_nssais"]), (&rest["slices"], &rest["s_nssais"]));
        rest
    }

    /// Hands a UE over by a control of E2SM-RC, which names it as KPM does.
    fn hand_over(&mut self, name: &str, target: usize) {
        let ran = self.of(UeModel::Kpm);
        let ue = ran.resolve(&name.parse().unwrap()).unwrap();
        let node = ran.station(ue.station()).unwrap().nodes().next().unwrap().0;
        let ue_id = ran.ue_id_for(node, ue).unwrap();
        let cell = Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), CELLS[target]));
        let control = Control::of_ue(ue_id, ControlAction::Handover(Handover::to(cell)));
        let (header, message) = control.encode_in(Revision::V1_03, e2sm::Wire::Per).unwrap();
        let functions = &self.nodes[&node].functions;
        let is_rc = |oid: &str| e2sm::Wire::of(oid).1 == e2sm::rc::OID;
        let function = functions.iter().find(|function| is_rc(&function.oid)).unwrap();
        let detected = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        assert_eq!(detected.unwrap().revision, Revision::V1_03);
        self.xapp.commands().control(node, RanFunctionId(function.id.0), &header, &message);
        let before = self.acknowledged;
        self.until("the handover is acknowledged", |reader| reader.acknowledged > before);
    }
}

fn ask(
    node: &NodeInfo,
    models: &'static [UeModel],
    ric: &mut Commands<'_>,
    requested: &mut BTreeMap<Ticket, (NodeId, UeSource)>,
) {
    let config = UeReportConfig { models, period_ms: Some(PERIOD_MS), kpm_ues: EveryUe::AnySignal };
    for source in UeSource::of_node(node.functions.iter().map(Into::into), &config) {
        let ticket = ric.subscribe(node.id, source.function, source.order());
        requested.insert(ticket, (node.id, source));
    }
}

fn read(
    indication: &Indication<'_>,
    now: Time,
    subscribed: &mut BTreeMap<SubscriptionId, (NodeId, UeSource)>,
    of_models: &mut [RanDatabase],
) {
    let Some((node, source)) = subscribed.get_mut(&indication.subscription) else { return };
    let at = UeModel::ALL.iter().position(|model| *model == source.model()).unwrap();
    let changes = source.read(indication.peek().unwrap().message, &Arena::new()).unwrap();
    changes.iter().for_each(|change| of_models[at].apply(now, *node, change));
}

/// Two gNBs with two UEs at the first one.
fn start(second_ue: &str, folder: &Path) -> (TestRic, TestRan, Reader) {
    let ric = TestRic::start();
    let text = format!(
        "[[cell]]
        count = 2
        [[ue]]
        sinr_db = 20
        sst = 2
        [[ue.flow]]
        kind = \"cbr\"
        rate_bps = 200_000
        [[ue]]
        {second_ue}
        [[ue.flow]]
        kind = \"cbr\"
        rate_bps = 200_000"
    );
    let scenario = Scenario::from_toml(&text, &ScenarioFolders::with_traces(folder)).unwrap();
    let config = RanConfig { scenario, rc_revision: Revision::V1_03, waits_for_ric: true, ..RanConfig::default() };
    let ran = TestRan::start(&ric.e2, config);
    let reader = Reader::new(&ric);
    (ric, ran, reader)
}

/// The AMF-UE-NGAP-ID of the first UE.
const FIRST: u64 = 0xe00 << 16;

#[test]
fn names_agree_before_and_after_a_handover() {
    let (ric, _ran, mut reader) = start("sinr_db = 20", Path::new(""));
    let before = reader.check(&ric, FIRST, 0x4601, 0);
    reader.check(&ric, FIRST + 1, 0x4602, 0);
    reader.hand_over(&format!("amf:{FIRST}"), 1);
    let after = reader.check(&ric, FIRST, 0x4601, 1);
    assert_eq!(before["ip"], after["ip"]);
    assert_ne!(before["references"], after["references"]);
    let gone = ric.rest.request("GET", "/v1/ues/rnti:0x4601@gnb-00101-e00", None);
    assert_eq!(gone.status, 404, "{gone:?}");
    assert_eq!(ric.rest.get("/v1/ues")["ues"].as_array().unwrap().len(), 2);
    // an RNTI names a UE within its cell
    let wrong = ric.rest.request("GET", "/v1/ues/rnti:0x4602", None);
    assert_eq!(wrong.status, 400, "{wrong:?}");
}

#[test]
fn names_agree_after_a_re_establishment() {
    let folder = std::env::temp_dir().join(format!("ferric-ue-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // a hole in the coverage of 1.5 s: T310 and then a new access to the cell
    std::fs::write(folder.join("hole.csv"), "time_ms,sinr_db\n0,10\n1000,-20\n2500,10\n").unwrap();
    let (ric, _ran, mut reader) = start("trace = \"hole.csv\"\ntrace_end = \"hold\"", &folder);
    let ue = reader.check(&ric, FIRST + 1, 0x4603, 0);
    assert_eq!(ue["references"][1], "rnti:0x4603@003800001");
    let gone = ric.rest.request("GET", "/v1/ues/rnti:0x4602@003800001", None);
    assert_eq!(gone.status, 404, "{gone:?}");
    reader.check(&ric, FIRST, 0x4601, 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Slices, rules and traffic control accept any name of a UE.
#[test]
fn controls_by_rest_accept_names() {
    let (ric, _ran, mut reader) = start("sinr_db = 20", Path::new(""));
    reader.check(&ric, FIRST, 0x4601, 0);
    let node = "/v1/nodes/gnb-00101-e00";
    let slices =
        json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 30 }, { "id": 2, "share_percent": 60 }] });
    ric.rest.request("PUT", &format!("{node}/slices/dl"), slices).expect(200);
    let moved = ric.rest.request("PUT", "/v1/ues/ip:10.45.0.3/slices", json!({ "dl": 2 })).expect(200);
    assert_eq!(moved["dl"], 2);
    assert_eq!(ric.rest.get(&format!("{node}/ues/17922/slices"))["dl"], 2, "it is the UE with this C-RNTI");
    // a rule for one UE leaves the other where it is
    let rule =
        ric.rest.request("POST", "/v1/associations", json!({ "ue": format!("amf:{FIRST}"), "dl": 2 })).expect(201);
    let rule = format!("/v1/associations/{}", rule["id"]);
    let done = ric.rest.eventually(&rule, |rule| rule["ues"][0]["state"] == "moved");
    assert_eq!((&done["ues"][0]["rnti"], done["ues"].as_array().unwrap().len()), (&json!(0x4601), 1), "{done}");
    let refused = ric.rest.request("POST", "/v1/associations", json!({ "ue": "imsi:1", "dl": 2 }));
    assert_eq!((refused.status, &refused.json()["at"]), (422, &json!("ue")), "{refused:?}");
    // the address of a UE becomes the destination of a filter
    ric.rest.eventually(&format!("{node}/tc"), |_| true);
    ric.rest.request("POST", &format!("{node}/tc/queues"), json!({ "kind": "fifo" })).expect(201);
    let filters = format!("{node}/tc/filters");
    let filter = json!({ "queue_id": 1, "ue": "rnti:0x4602@gnb-00101-e00", "protocol": "udp" });
    let added = ric.rest.request("POST", &filters, filter).expect(201);
    assert_eq!((&added["destination_address"], &added["protocol"]), (&json!("10.45.0.3"), &json!("udp")), "{added}");
    for (filter, status) in [
        (json!({ "queue_id": 1, "ue": "amf:1" }), 404),
        (json!({ "queue_id": 1, "ue": "17", "destination_address": "10.45.0.2" }), 422),
        (json!({ "queue_id": 1, "ue": "rnti:1" }), 422),
    ] {
        let refused = ric.rest.request("POST", &filters, filter);
        assert_eq!(refused.status, status, "{refused:?}");
    }
}
