//! Conflict mitigation and the audit log: a RIC, an emulated RAN, and xApps over the RIC's own link.

use std::path::PathBuf;

use audit::{AuditLog, LogConfig, Verdict, verify};
use conflicts::{ConflictConfig, ConflictRules};
use e2sm::common::{GnbCuUeF1apId, UeId, UeIdGnbDu};
use e2sm::rc::{Control, ControlAction, Detection, Drx};
use ferric::e2::xapp::{FunctionInfo, NodeInfo};
use ferric::e2::{ControlOutcome, RefusalCode};
use ferric::e2ap::{Cause, CauseRicRequest};
use ferric::xapp::{Error, Quota, RequestEvent, Ric, XappEvent};
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic, eventually, ue_id};

/// A RIC with rules, and an emulated RAN of two cells.
struct World {
    ric: TestRic,
    _ran: TestRan,
}

impl World {
    fn start(rules: &str, audit: Option<AuditLog>) -> World {
        let rules = ConflictRules::parse(rules).unwrap();
        let conflicts = ConflictConfig { rules, audit, clock: None };
        let ric = TestRic::with(|config| config.conflicts = Some(conflicts));
        let scenario = Scenario::with_mixed_traffic(2, 2, 1);
        let ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
        World { ric, _ran: ran }
    }

    fn xapp(&self, name: &str) -> Ric {
        let ric = Ric::options().address(self.ric.xapp.to_string()).name(name).connect().unwrap();
        eventually("both nodes are known", || ric.nodes().unwrap().len() == 2);
        ric
    }

    fn decisions(&self) -> Vec<Value> {
        let document = self.ric.rest.get("/v1/conflicts/decisions");
        document["decisions"].as_array().unwrap().clone()
    }
}

fn quota(max_percent: u8) -> Quota {
    Quota { max_percent, ..Quota::default() }
}

/// The cause with which the RIC or a node has refused.
fn cause<T: std::fmt::Debug>(result: Result<T, Error>) -> Cause {
    match result {
        Err(Error::Refused { cause, .. }) => cause,
        other => panic!("a refusal: {other:?}"),
    }
}

const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

#[test]
fn second_xapp_is_refused_a_ue_that_the_first_one_controls() {
    let world = World::start("[[rule]]\nparameter = \"rc/2/1\"\npolicy = \"first\"\nhold_ms = 600000", None);
    let (first, second) = (world.xapp("first"), world.xapp("second"));
    eventually("UEs are known", || first.ues().unwrap().len() == 4 && second.ues().unwrap().len() == 4);
    let ues: Vec<_> = first.ues().unwrap().iter().map(|ue| ue.reference().to_string()).collect();
    first.ue(&*ues[0]).unwrap().drx(160).unwrap();
    assert_eq!(cause(second.ue(&*ues[0]).unwrap().drx(320)), REFUSED);
    second.ue(&*ues[1]).unwrap().drx(320).unwrap();
    first.ue(&*ues[0]).unwrap().drx(80).unwrap();
    let decisions = world.decisions();
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    let conflict = &decisions[0]["conflict"];
    assert_eq!((&decisions[0]["xapp"], &decisions[0]["decision"]), (&json!("second"), &json!("refused")));
    assert_eq!((&conflict["kind"], &conflict["with"]), (&json!("direct"), &json!("first")), "{conflict}");
    let holders = world.ric.rest.get("/v1/conflicts/holders");
    let of_first = |holder: &&Value| holder["xapp"] == "first" && holder["node"].is_string();
    assert!(holders["holders"].as_array().unwrap().iter().any(|holder| of_first(&holder)), "{holders}");
    let counters = world.ric.rest.get("/v1/conflicts");
    assert_eq!((&counters["sent"], &counters["refused"]), (&json!(3), &json!(1)), "{counters}");
}

/// Sends a DRX control for a UE to a node, from an xApp that encodes itself. Returns its outcome.
fn raw_drx(ric: &TestRic, xapp: &str, node: &str, ue: UeId<'static>) -> ControlOutcome {
    let mut xapp = Ric::options().address(ric.xapp.to_string()).name(xapp).connect_raw().unwrap();
    let patience = Some(std::time::Duration::from_millis(100));
    let mut target = None;
    eventually("the node has E2SM-RC", || {
        xapp.poll(patience, |_, _| ()).unwrap();
        let is_it = |info: &&NodeInfo| info.global_id.to_string() == node;
        let info = xapp.nodes().find(is_it);
        let detect = |function: &FunctionInfo| {
            let found = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
            found.ok().map(|detection| (function.id, detection))
        };
        target = info.and_then(|info| Some((info.id, info.functions.iter().find_map(detect)?)));
        target.is_some()
    });
    let (node, (function, detection)) = target.unwrap();
    let control = Control::of_ue(ue, ControlAction::Drx(Drx::long(160)));
    let (header, message) = control.encode_in(detection.revision, detection.wire).unwrap();
    let sent = xapp.commands().control(node, function, &header, &message);
    let mut ended = None;
    eventually("the control has ended", || {
        xapp.poll(patience, |event, _| {
            if let XappEvent::Request(RequestEvent::Controlled { ticket, outcome }) = event
                && ticket == sent
            {
                ended = Some(outcome);
            }
        })
        .unwrap();
        ended.is_some()
    });
    ended.unwrap()
}

#[test]
fn two_identifiers_of_one_ue_are_one_ue_at_all_parts_of_its_gnb() {
    let rules = "[[rule]]\nparameter = \"rc/2/1\"\npolicy = \"first\"\nhold_ms = 600000";
    let conflicts = ConflictConfig { rules: ConflictRules::parse(rules).unwrap(), audit: None, clock: None };
    let ric = TestRic::with(|config| {
        config.conflicts = Some(conflicts);
        config.ue_ids_period = Some(std::time::Duration::from_millis(100));
    });
    let mut scenario = Scenario::without_traffic(3);
    scenario.cells[0].is_split = true;
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    let joined = |ue: &Value| ue["state"] == "joined" && ue["amf_ue_ngap_id"].is_number();
    let ues = ric.rest.eventually("/v1/ues", |listed| {
        let ues = listed["ues"].as_array().unwrap();
        ues.len() == 3 && ues.iter().all(joined)
    });
    let number = |ue: usize, name: &str| ues["ues"][ue][name].as_u64().unwrap();
    let by_f1 = |ue: usize| {
        let id = GnbCuUeF1apId(ues["ues"][ue]["gnb_cu_ue_f1ap_ids"][0].as_u64().unwrap() as u32);
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: id, ran_ueid: None, cell_rnti: None })
    };
    let by_amf = |ue: usize| ue_id::by_amf(number(ue, "amf_ue_ngap_id") as i64);
    let (cu_cp, du) = ("gnb-00101-e00", "gnb-00101-e00-du-1");
    // 0 on F1 is no UE in controls
    let one = (0..3).find(|ue| ues["ues"][*ue]["gnb_cu_ue_f1ap_ids"][0] == 1).unwrap();
    let other = (0..3).find(|ue| ues["ues"][*ue]["gnb_cu_ue_f1ap_ids"][0] == 2).unwrap();
    let first = raw_drx(&ric, "first", du, by_f1(one));
    assert!(matches!(first, ControlOutcome::Acknowledged(_)), "{first:?}");
    assert_eq!(raw_drx(&ric, "second", cu_cp, by_amf(one)), ControlOutcome::Failed { cause: REFUSED, outcome: None });
    let second = raw_drx(&ric, "second", du, by_f1(other));
    assert!(matches!(second, ControlOutcome::Acknowledged(_)), "another UE: {second:?}");
    let decisions = ric.rest.get("/v1/conflicts/decisions");
    let conflict = &decisions["decisions"][0]["conflict"];
    assert_eq!((&conflict["with"], &conflict["kind"]), (&json!("first"), &json!("direct")), "{decisions}");
}

#[test]
fn rest_is_an_app_like_the_others() {
    let world = World::start("[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"first\"\nhold_ms = 600000", None);
    let xapp = world.xapp("slicer");
    let ues = world.ric.rest.eventually("/v1/ues", |ues| ues["ues"].as_array().unwrap().len() == 4);
    let ue = ues["ues"][0]["ue"].as_str().unwrap();
    xapp.quota("1", quota(50)).unwrap();
    let body = json!({ "slice": "1", "max_percent": 90 });
    let answer = world.ric.rest.request("PUT", &format!("/v1/ues/{ue}/quota"), Some(body));
    assert_eq!(answer.status, 409, "{answer:?}");
}

#[test]
fn merged_quota_reaches_the_node_and_both_xapps_succeed() {
    let world =
        World::start("[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"merge\"\nmerge = \"min\"\nhold_ms = 600000", None);
    let (first, second) = (world.xapp("first"), world.xapp("second"));
    first.quota("1", quota(30)).unwrap();
    second.quota("1", quota(80)).unwrap();
    let decisions = world.decisions();
    assert_eq!(decisions.len(), 2, "one for each node: {decisions:?}");
    assert!(decisions.iter().all(|decision| decision["decision"] == "changed"), "{decisions:?}");
    // the share that a report shows is that of the smaller quota
    let mut shares = second.kpm(["RRU.PrbTotDl"]).slice("1").every(200).unwrap();
    let mut last = Vec::new();
    eventually("the slice uses no more than 30 % and a tolerance", || {
        let record = shares.next_record().unwrap().unwrap();
        last.extend(record.number("RRU.PrbTotDl"));
        last.iter().rev().take(4).filter(|share| **share <= 32.0).count() == 4
    });
}

#[test]
fn arbiter_is_asked_over_rest() {
    let rules = "[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"ask\"\nhold_ms = 600000\ntimeout_ms = 20000";
    let world = World::start(rules, None);
    let (first, second) = (world.xapp("first"), world.xapp("second"));
    let node = first.nodes().unwrap()[0].name();
    first.node(&node).unwrap().quota("1", quota(30)).unwrap();
    for accepts in [false, true] {
        let (second, node) = (second.clone(), node.clone());
        let asking = std::thread::spawn(move || second.node(&node).unwrap().quota("1", quota(80)));
        let one = |document: &Value| document["questions"].as_array().unwrap().len() == 1;
        let questions = world.ric.rest.eventually("/v1/conflicts/questions", one);
        let question = &questions["questions"][0];
        assert_eq!((&question["xapp"], &question["conflict"]["with"]), (&json!("second"), &json!("first")));
        let path = format!("/v1/conflicts/questions/{}", question["question"]);
        let answer = world.ric.rest.request("POST", &path, Some(json!({ "accept": accepts })));
        assert_eq!(answer.status, 204, "{answer:?}");
        let asked = asking.join().unwrap();
        if accepts {
            asked.unwrap();
        } else {
            assert_eq!(cause(asked), REFUSED);
        }
        assert_eq!(world.ric.rest.request("POST", &path, Some(json!({ "accept": true }))).status, 404);
    }
}

#[test]
fn arbiter_over_the_xapp_link_decides_and_answers_once() {
    let rules = "arbiters = [\"judge\"]\n[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"ask\"\nhold_ms = 600000\n\
                 timeout_ms = 20000";
    let world = World::start(rules, None);
    let (first, second, judge) = (world.xapp("first"), world.xapp("second"), world.xapp("judge"));
    let refused = first.conflict_questions().unwrap_err();
    assert!(matches!(refused, Error::RefusedByRic { code: RefusalCode::NotAllowed, .. }), "{refused}");
    let mut questions = judge.conflict_questions().unwrap();
    assert_eq!(world.ric.rest.get("/v1/conflicts")["arbiters"], json!(["judge"]));
    let node = first.nodes().unwrap()[0].name();
    first.node(&node).unwrap().quota("1", quota(30)).unwrap();
    for accepts in [false, true] {
        let (second, node) = (second.clone(), node.clone());
        let asking = std::thread::spawn(move || second.node(&node).unwrap().quota("1", quota(80)));
        let asked = questions.next().unwrap().unwrap();
        assert_eq!((&*asked.xapp, &*asked.with), ("second", "first"));
        assert!(asked.parameter.starts_with("rc/2/6/") && !asked.message.is_empty(), "{asked:?}");
        if accepts {
            asked.accept().unwrap()
        } else {
            asked.refuse().unwrap()
        }
        let late = asked.accept().unwrap_err();
        assert!(matches!(late, Error::RefusedByRic { code: RefusalCode::UnknownQuestion, .. }), "{late}");
        match accepts {
            true => drop(asking.join().unwrap().unwrap()),
            false => assert_eq!(cause(asking.join().unwrap()), REFUSED),
        }
    }
    let reasons: Vec<_> = world.decisions().iter().map(|one| one["conflict"]["reason"].clone()).collect();
    assert!(reasons.contains(&json!("the arbiter judge accepts it")), "{reasons:?}");
}

#[test]
fn arbiter_that_dies_leaves_its_questions_to_the_next_one() {
    let rules = "arbiters = [\"judge\", \"deputy\"]\n[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"ask\"\nhold_ms = 600000\n\
                 timeout_ms = 20000";
    let world = World::start(rules, None);
    let (first, second) = (world.xapp("first"), world.xapp("second"));
    let (judge, deputy) = (world.xapp("judge"), world.xapp("deputy"));
    let mut of_judge = judge.conflict_questions().unwrap();
    let mut of_deputy = deputy.conflict_questions().unwrap();
    let node = first.nodes().unwrap()[0].name();
    first.node(&node).unwrap().quota("1", quota(30)).unwrap();
    let asking = std::thread::spawn(move || second.node(&node).unwrap().quota("1", quota(80)));
    let asked = of_judge.next().unwrap().unwrap();
    judge.close();
    assert!(matches!(asked.accept(), Err(Error::Closed)));
    of_deputy.next().unwrap().unwrap().accept().unwrap();
    asking.join().unwrap().unwrap();
    // the last one takes its offer back, and is none any more
    drop(of_deputy);
    world.ric.rest.eventually("/v1/conflicts", |conflicts| conflicts["arbiters"] == json!([]));
}

#[test]
fn silent_arbiter_costs_the_timeout_and_not_more() {
    let rules = "[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"ask\"\nhold_ms = 600000\ntimeout_ms = 50";
    let world = World::start(rules, None);
    let (first, second) = (world.xapp("first"), world.xapp("second"));
    first.quota("1", quota(30)).unwrap();
    assert_eq!(cause(second.quota("1", quota(80))), Cause::RicRequest(CauseRicRequest::ControlTimerExpired));
}

#[test]
fn audit_log_has_who_what_where_decision_and_outcome() {
    let path: PathBuf = std::env::temp_dir().join(format!("ferric-audit-system-{}.log", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let log = AuditLog::start(LogConfig::new(&path)).unwrap();
    let rules = "[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"first\"\nhold_ms = 600000";
    let world = World::start(rules, Some(log.clone()));
    let (first, second) = (world.xapp("first"), world.xapp("second"));
    let node = first.nodes().unwrap()[0].name();
    first.node(&node).unwrap().quota("1", quota(30)).unwrap();
    assert_eq!(cause(second.node(&node).unwrap().quota("1", quota(80))), REFUSED);
    drop(world);
    log.finish();
    let report = verify(&path, None).unwrap();
    assert_eq!(report.verdict, Verdict::Intact);
    let text = std::fs::read_to_string(&path).unwrap();
    let _ = std::fs::remove_file(&path);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "decision", "outcome", "decision"], "{text}");
    assert_eq!((&lines[1]["xapp"], &lines[1]["node"]), (&json!("first"), &json!(node)));
    assert!(lines[1]["settings"].as_str().unwrap().contains("rc/2/6/"), "{text}");
    assert_eq!((&lines[1]["rights"], &lines[1]["authenticated"]), (&json!("all"), &json!(false)));
    assert_eq!(
        (&lines[2]["control"], &lines[2]["outcome"]),
        (&lines[1]["control"], &json!("the node acknowledged the control"))
    );
    assert_eq!((&lines[3]["decision"], &lines[3]["with"]), (&json!("refused"), &json!("first")), "{text}");
}
