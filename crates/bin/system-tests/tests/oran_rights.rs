//! Rights, quotas and audit of xApps over RMR: with a RIC and an emulated RAN.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use audit::{AuditLog, LogConfig, Verdict, verify};
use conflicts::ConflictConfig;
use e2sm::kpm::Scope;
use e2sm::rc::{Control, ControlAction, Drx};
use ferric::e2::{FunctionName, Grant, GrantLimits, Selection, XappRights};
use ferric::e2ap::{Cause, CauseMisc, Pdu, RanFunctionId, RicControlAckRequest, RicRequestId, decode};
use per::Gather;
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use ric::oran_host::RmrEntry;
use rmr::MessageType;
use serde_json::{Value, json};
use system_tests::platform::{
    Kpm, NODE, Network, VERSION, Xapp, check_indication, control_request, header, ran_config,
};
use system_tests::rmr_peer::{Connection, Received};
use system_tests::ue_id::{FIRST_UE, by_amf};
use system_tests::{TestRan, TestRic, eventually, log};

/// An audit log in a file of its own.
struct Audit {
    path: PathBuf,
    log: AuditLog,
}

impl Audit {
    fn start(name: &str) -> Audit {
        let path = std::env::temp_dir().join(format!("ferric-{name}-{}.log", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let log = AuditLog::start(LogConfig::new(&path)).unwrap();
        Audit { path, log }
    }

    fn network(&self) -> Network {
        let conflicts = ConflictConfig { audit: Some(self.log.clone()), ..ConflictConfig::default() };
        Network::start(|config| config.conflicts = Some(conflicts))
    }

    /// Ends the log, and returns its verified lines.
    fn lines(self) -> Vec<Value> {
        self.log.finish();
        assert_eq!(verify(&self.path, None).unwrap().verdict, Verdict::Intact);
        let text = std::fs::read_to_string(&self.path).unwrap();
        let _ = std::fs::remove_file(&self.path);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Waits until a file has a text.
fn await_text(path: &Path, text: &str) {
    eventually(text, || std::fs::read_to_string(path).is_ok_and(|content| content.contains(text)));
}

/// What permits reading a RAN function of all nodes.
fn may_read(peer: &str, function: u16) -> RmrEntry {
    let functions = [FunctionName::Id(RanFunctionId(function))].into_iter().collect();
    let read = vec![Grant::new(Selection::All, functions)];
    RmrEntry { peer: peer.parse().unwrap(), rights: Arc::new(XappRights { read, control: Vec::new() }) }
}

fn may_control(peer: &str, function: u16) -> RmrEntry {
    let read = may_read(peer, function);
    let control = read.rights.read.clone();
    RmrEntry { rights: Arc::new(XappRights { read: control.clone(), control }), ..read }
}

fn endpoint(xapp: &Xapp) -> String {
    format!("127.0.0.1:{}", xapp.rmr_port())
}

/// The cause in a refusal of a control or a subscription.
fn cause(message: &Received) -> Cause {
    let gather = Gather::new();
    match decode(&message.payload, VERSION, &gather).unwrap().pdu {
        Pdu::RicControlFailure(failure) => failure.cause.unwrap(),
        Pdu::RicSubscriptionFailure(failure) => failure.cause.unwrap(),
        other => panic!("no refusal: {}", other.name()),
    }
}

const NOT_ALLOWED: Cause = Cause::Misc(CauseMisc::OmIntervention);

#[test]
fn xapp_over_rmr_is_held_to_its_rights() {
    let audit = Audit::start("rights");
    let network = audit.network();
    let (kpm, reader, driver, stranger) = (network.kpm(), Xapp::new(), Xapp::new(), Xapp::new());
    let (rc, control_header, control_message) = network.quota(30);
    let control = control_request(rc, &control_header, &control_message, RicControlAckRequest::Ack);
    let rules = vec![may_read(&endpoint(&reader), kpm.function), may_control(&endpoint(&driver), rc)];
    network.rights.replace(Some(rules));
    let mut connection = Connection::open(network.rmr);
    let mut ask = |kind, xapp: &Xapp, octets: &[u8]| {
        connection.send(&header(kind, &endpoint(xapp)), octets);
        connection.receive()
    };
    // over RMR: what it may read, it reads
    let answer = ask(MessageType::SUBSCRIPTION_REQUEST, &reader, &kpm.subscription_request());
    assert_eq!(answer.kind, MessageType::SUBSCRIPTION_RESPONSE);
    let instance = u16::try_from(answer.subscription_id).unwrap();
    check_indication(&reader.accept().receive(), answer.subscription_id);
    let answer = ask(MessageType::CONTROL_REQUEST, &reader, &control);
    assert_eq!((answer.kind, cause(&answer)), (MessageType::CONTROL_FAILURE, NOT_ALLOWED));
    assert_eq!(ask(MessageType::CONTROL_REQUEST, &driver, &control).kind, MessageType::CONTROL_ACKNOWLEDGE);
    let answer = ask(MessageType::SUBSCRIPTION_REQUEST, &stranger, &kpm.subscription_request());
    assert_eq!((answer.kind, cause(&answer)), (MessageType::SUBSCRIPTION_FAILURE, NOT_ALLOWED));
    let answer = ask(MessageType::CONTROL_REQUEST, &stranger, &control);
    assert_eq!((answer.kind, cause(&answer)), (MessageType::CONTROL_FAILURE, NOT_ALLOWED));
    // the subscription of another xApp is none that it could delete
    let delete = kpm.delete_request(RicRequestId { requestor: 123, instance });
    let answer = ask(MessageType::SUBSCRIPTION_DELETE_REQUEST, &stranger, &delete);
    assert_eq!(answer.kind, MessageType::SUBSCRIPTION_DELETE_FAILURE);
    // by REST the same
    let missing = format!(
        "has no right `read` to it; to permit it, add the grant to `[[xapp_rights]]` with rmr = \"{}\"",
        endpoint(&stranger)
    );
    let refused = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&stranger, 7));
    refused.expect_problem(403, &["subscription 7: the xApp at ", &missing]);
    let mut policy = kpm.request(&reader, 8);
    policy["SubscriptionDetails"][0]["ActionToBeSetupList"][0]["ActionType"] = json!("policy");
    let refused = network.rest.request("POST", "/ric/v1/subscriptions", policy);
    refused.expect_problem(403, &["has no right `control` to it"]);
    let created = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&reader, 9)).expect(201);
    reader.subscribed(&created["SubscriptionId"], 9);
    let rest_id = created["SubscriptionId"].as_str().unwrap().to_owned();
    let path = format!("/ric/v1/subscriptions/{rest_id}");
    assert_eq!(network.rest.request("DELETE", &path, None).status, 204);
    assert_eq!(
        ask(MessageType::SUBSCRIPTION_DELETE_REQUEST, &reader, &delete).kind,
        MessageType::SUBSCRIPTION_DELETE_RESPONSE
    );
    // a right that it lacks is named, with what to do
    let stranger = endpoint(&stranger);
    for (what, right) in [("subscription to function", "read"), ("control for function", "control")] {
        let line = |line: &str| {
            line.contains(&format!("a {what}"))
                && line.contains(&format!("the xApp at {stranger} has no right `{right}` to it"))
        };
        eventually(what, || log().lines().any(line));
    }
    await_text(&audit.path, "share_deletion");
    drop(network);
    let lines = audit.lines();
    let of = |event: &str, xapp: &str| {
        let xapp = format!("rmr:{xapp}");
        lines.iter().filter(|line| line["event"] == event && line["xapp"] == *xapp).collect::<Vec<_>>()
    };
    let reader = endpoint(&reader);
    let shares: Vec<_> =
        of("share", &reader).iter().map(|line| (line["by"].clone(), line["decision"].clone())).collect();
    let expected = [("rmr", "accepted"), ("rest", "refused"), ("rest", "accepted")];
    assert_eq!(shares, expected.map(|(by, decision)| (json!(by), json!(decision))), "{lines:?}");
    assert_eq!(of("share", &reader)[0]["rights"], "1 grants to read, 0 to control");
    assert_eq!(of("share", &reader)[0]["node"], NODE);
    let outcomes: Vec<_> = of("share_outcome", &reader).iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["active", "active", "deleted", "deleted"], "{lines:?}");
    let deletions: Vec<_> =
        of("share_deletion", &stranger).iter().map(|line| line["reason"].as_str().unwrap().to_owned()).collect();
    assert_eq!(deletions, [format!("it has no subscription {instance}")]);
    let refused = of("decision", &stranger);
    assert_eq!((refused.len(), &refused[0]["decision"]), (1, &json!("refused")), "{lines:?}");
    assert_eq!(refused[0]["reason"], "no right `control` to it");
    // requests that change something are recorded, with who, what, outcome and reason
    let rest: Vec<_> = lines.iter().filter(|line| line["event"] == "rest").collect();
    let statuses: Vec<_> = rest.iter().map(|line| line["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [403, 403, 201, 204], "{rest:?}");
    assert_eq!((&rest[0]["operation"], &rest[0]["outcome"]), (&json!("subscribe"), &json!("refused")));
    assert!(rest[0]["reason"].as_str().unwrap().contains("no right `read`"), "{}", rest[0]);
    assert_eq!((&rest[0]["peer"], &rest[0]["client"]), (&json!("127.0.0.1"), &json!("admin without a token")));
    assert_eq!((&rest[3]["method"], &rest[3]["path"]), (&json!("DELETE"), &json!(path)));
}

#[test]
fn xapp_over_rmr_is_held_to_its_actions_and_ues() {
    let audit = Audit::start("limits");
    let network = audit.network();
    let (kpm, slicer, energy) = (network.kpm(), Xapp::new(), Xapp::new());
    let limited = |xapp: &Xapp, limits: GrantLimits| {
        let mut grant = Grant::new(Selection::All, Selection::All);
        grant.limits = GrantLimits { parameters: None, ..limits.clone() };
        let read = vec![grant.clone()];
        grant.limits = limits;
        let rights = Arc::new(XappRights { read, control: vec![grant] });
        RmrEntry { peer: endpoint(xapp).parse().unwrap(), rights }
    };
    let parameters = |pattern: &str| Some(vec![pattern.parse().unwrap()]);
    let of_slicer = GrantLimits { parameters: parameters("rc/2/6"), ..GrantLimits::default() };
    let first_ue = Some(vec![format!("amf:{FIRST_UE}").parse().unwrap()]);
    let of_energy = GrantLimits { parameters: parameters("rc/2/1"), ues: first_ue, ..GrantLimits::default() };
    network.rights.replace(Some(vec![limited(&slicer, of_slicer), limited(&energy, of_energy)]));
    let (rc, header_of_quota, quota) = network.quota(30);
    let quota = control_request(rc, &header_of_quota, &quota, RicControlAckRequest::Ack);
    let drx = |amf_ue_ngap_id| {
        let (header, message) = drx_of(amf_ue_ngap_id);
        control_request(rc, &header, &message, RicControlAckRequest::Ack)
    };
    let mut connection = Connection::open(network.rmr);
    let mut ask = |kind, xapp: &Xapp, octets: &[u8]| {
        connection.send(&header(kind, &endpoint(xapp)), octets);
        connection.receive()
    };
    for (xapp, control, is_allowed) in [
        (&slicer, &quota, true),
        (&slicer, &drx(FIRST_UE), false),
        (&energy, &drx(FIRST_UE), true),
        (&energy, &drx(FIRST_UE + 1), false),
        (&energy, &quota, false),
    ] {
        let answer = ask(MessageType::CONTROL_REQUEST, xapp, control);
        match is_allowed {
            true if answer.kind == MessageType::CONTROL_ACKNOWLEDGE => {}
            true => panic!("refused: {:?}", cause(&answer)),
            false => assert_eq!((answer.kind, cause(&answer)), (MessageType::CONTROL_FAILURE, NOT_ALLOWED)),
        }
    }
    // the action is a report of each UE
    let answer = ask(MessageType::SUBSCRIPTION_REQUEST, &slicer, &kpm.subscription_request());
    assert_eq!(answer.kind, MessageType::SUBSCRIPTION_RESPONSE);
    let answer = ask(MessageType::SUBSCRIPTION_REQUEST, &energy, &kpm.subscription_request());
    assert_eq!((answer.kind, cause(&answer)), (MessageType::SUBSCRIPTION_FAILURE, NOT_ALLOWED));
    let refused = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&energy, 7));
    refused.expect_problem(403, &["has no right `read` to reports of all UEs; to permit it"]);
    eventually("the log", || log().contains("has no right `control` to rc/2/1/"));
    await_text(&audit.path, "reports of all UEs");
    drop(network);
    let lines = audit.lines();
    let (slicer, energy) = (format!("rmr:{}", endpoint(&slicer)), format!("rmr:{}", endpoint(&energy)));
    let reasons = |xapp: &str| -> Vec<_> {
        let refused = lines.iter().filter(|line| line["xapp"] == *xapp && line["decision"] == "refused");
        refused.map(|line| line["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert!(matches!(&reasons(&slicer)[..], [drx] if drx.starts_with("no right `control` to rc/2/1/")), "{lines:?}");
    let of_energy = reasons(&energy);
    assert!(
        of_energy[0].contains(&format!(" of ue amf:{}", FIRST_UE + 1)) && of_energy[1].contains("rc/2/6/"),
        "{of_energy:?}"
    );
}

/// A long DRX cycle for a UE of the network.
fn drx_of(amf_ue_ngap_id: i64) -> (Vec<u8>, Vec<u8>) {
    let control = Control::of_ue(by_amf(amf_ue_ngap_id), ControlAction::Drx(Drx::long(320)));
    control.encode(RanConfig::default().rc_revision).unwrap()
}

#[test]
fn subscriptions_end_with_the_right_to_them() {
    let network = Network::start(|_| ());
    let (kpm, xapp) = (network.kpm(), Xapp::new());
    let created = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, 7)).expect(201);
    let subscription_id = xapp.subscribed(&created["SubscriptionId"], 7);
    let mut connection = xapp.accept();
    check_indication(&connection.receive(), subscription_id);
    // a rule that still permits it changes nothing
    network.rights.replace(Some(vec![may_read("127.0.0.1", kpm.function)]));
    let mut other = Connection::open(network.rmr);
    other.send(&header(MessageType::HEALTH_CHECK_REQUEST, &endpoint(&xapp)), b"");
    assert_eq!(other.receive().kind, MessageType::HEALTH_CHECK_RESPONSE);
    assert_eq!(network.rest.get("/ric/v1/subscriptions").as_array().unwrap().len(), 1);
    network.rights.replace(Some(vec![may_read("127.0.0.1", kpm.function + 1)]));
    let (_, document) = xapp.notification();
    let outcome = &document["SubscriptionInstances"][0];
    assert_eq!((&outcome["E2EventInstanceId"], &outcome["ErrorSource"]), (&json!(0), &json!("SUBMGR")), "{document}");
    assert!(outcome["ErrorCause"].as_str().unwrap().contains("do not allow it any more"), "{document}");
    assert!(connection.is_closed_after_messages(), "nothing is sent any more");
    network.rest.eventually("/ric/v1/subscriptions", |all| *all == json!([]));
    // without rules everybody may do everything again
    network.rights.replace(None);
    eventually("it subscribes again", || {
        network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, 7)).status == 201
    });
}

/// The UE of the limited subscription leaves the slice of the limit, so that a check of the subscription would end it.
#[test]
fn limited_subscription_is_not_checked_again_for_rights_of_others() {
    let network = Network::start(|_| ());
    let ues = [by_amf(FIRST_UE)];
    let (every, one) = (network.kpm(), network.kpm_of(Scope::Ues(&ues)));
    let (limited, free, stranger) = (Xapp::new(), Xapp::new(), Xapp::new());
    let in_slice = |grants: usize| {
        let mut grant = Grant::new(Selection::All, Selection::All);
        grant.limits.slices = Some(vec!["2".parse().unwrap()]);
        let rights = Arc::new(XappRights { read: vec![grant; grants], control: Vec::new() });
        RmrEntry { peer: endpoint(&limited).parse().unwrap(), rights }
    };
    let named = |name: &str| may_read(name, one.function);
    network.rights.replace(Some(vec![in_slice(1), named("free")]));
    let first_ue_has = |ric: &TestRic, sst: u8| {
        ric.rest.eventually("/v1/ues", |listed| {
            let ues = listed["ues"].as_array().unwrap();
            ues.iter().any(|ue| ue["amf_ue_ngap_id"] == FIRST_UE && ue["s_nssais"] == json!([{ "sst": sst }]))
        });
    };
    first_ue_has(&network.ric, 2);
    let subscribe =
        |xapp: &Xapp, kpm: &Kpm| network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(xapp, 7));
    subscribe(&limited, &every).expect_problem(403, &["has no right `read` to reports of all UEs"]);
    let created = subscribe(&limited, &one).expect(201);
    let id = limited.subscribed(&created["SubscriptionId"], 7);
    let mut indications = limited.accept();
    check_indication(&indications.receive(), id);
    // the same UE, in slice 1
    let Network { ric, rest, rights, ran, .. } = network;
    drop(ran);
    let scenario = "[[cell]]\n[[ue]]\ncount = 2\nsst = 1\n[[ue.flow]]\nkind = \"greedy\"\n";
    let scenario = Scenario::from_toml(scenario, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..ran_config() });
    first_ue_has(&ric, 1);
    // the xApps of the one subscription, by the port of RMR
    let subscribers = || {
        let all = rest.get("/ric/v1/subscriptions");
        assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
        let endpoints = all[0]["ClientEndpoint"].as_array().unwrap().clone();
        endpoints.into_iter().map(|endpoint| endpoint.as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let subscribe = |xapp: &Xapp| rest.request("POST", "/ric/v1/subscriptions", one.request(xapp, 8));
    // others do not get it: one without a rule, and one in the same slice as before
    subscribe(&stranger).expect_problem(403, &["has no right `read`"]);
    subscribe(&limited).expect_problem(403, &["has no right `read`"]);
    // another one gets a name, and with that the rights to the same reports
    let registration = json!({
        "appName": "free", "appInstanceName": "free-1",
        "httpEndpoint": format!("127.0.0.1:{}", free.http_port()), "rmrEndpoint": endpoint(&free),
    });
    rest.request("POST", "/ric/v1/register", registration).expect(201);
    let created = subscribe(&free).expect(201);
    free.subscribed(&created["SubscriptionId"], 8);
    assert_eq!(subscribers(), BTreeSet::from([endpoint(&limited), endpoint(&free)]));
    // another one loses its rights, and the name
    rights.replace(Some(vec![in_slice(1)]));
    assert!(free.notification().1.to_string().contains("do not allow it any more"));
    let deregistration = json!({ "appName": "free", "appInstanceName": "free-1" });
    assert_eq!(rest.request("POST", "/ric/v1/deregister", deregistration).status, 204);
    assert_eq!(subscribers(), BTreeSet::from([endpoint(&limited)]));
    // what has been sent before
    while indications.receive_within(Duration::from_millis(10)).is_some() {}
    check_indication(&indications.receive(), id);
    // other rights of its own, which permit the same
    rights.replace(Some(vec![in_slice(2)]));
    assert!(limited.notification().1.to_string().contains("do not allow it any more"));
    rest.eventually("/ric/v1/subscriptions", |all| *all == json!([]));
}

#[test]
fn name_in_a_rule_is_that_of_the_registered_xapp() {
    let network = Network::start(|_| ());
    let (kpm, xapp, other) = (network.kpm(), Xapp::new(), Xapp::new());
    network.rights.replace(Some(vec![may_read("kpm", kpm.function)]));
    let subscribe = |xapp: &Xapp| network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(xapp, 7));
    subscribe(&xapp).expect_problem(403, &["no right `read`"]);
    let registration = json!({
        "appName": "kpm", "appInstanceName": "kpm-1",
        "httpEndpoint": format!("127.0.0.1:{}", xapp.http_port()), "rmrEndpoint": endpoint(&xapp),
    });
    network.rest.request("POST", "/ric/v1/register", registration).expect(201);
    let created = subscribe(&xapp).expect(201);
    xapp.subscribed(&created["SubscriptionId"], 7);
    subscribe(&other).expect_problem(403, &["no right `read`"]);
    // without the registration the name is nobody's
    let deregistration = json!({ "appName": "kpm", "appInstanceName": "kpm-1" });
    assert_eq!(network.rest.request("POST", "/ric/v1/deregister", deregistration).status, 204);
    let (_, document) = xapp.notification();
    assert!(document.to_string().contains("do not allow it any more"), "{document}");
}

/// Ends a thread, also when the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn flooding_endpoint_harms_no_other() {
    /// The controls of the other one, during the flood.
    const CONTROLS: u32 = 30;
    let network = Network::start(|_| ());
    let (kpm, well) = (network.kpm(), Xapp::new());
    let (rc, control_header, control_message) = network.quota(30);
    let control = |ack| control_request(rc, &control_header, &control_message, ack);
    let created = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&well, 7)).expect(201);
    let subscription_id = well.subscribed(&created["SubscriptionId"], 7);
    let mut indications = well.accept();
    check_indication(&indications.receive(), subscription_id);
    let is_over = AtomicBool::new(false);
    let mut flood = Connection::open(network.rmr);
    let mut answers = Connection(flood.0.try_clone().unwrap());
    let octets = control(RicControlAckRequest::Ack);
    let (sent, refusals) = std::thread::scope(|scope| {
        let end = End(&is_over);
        // controls, requests for route tables and for subscriptions, as fast as the link takes them, of an xApp of the same host
        let flooding = scope.spawn(|| {
            let mut sent = 0_u32;
            // more than a burst in any case
            while sent < 5000 || !is_over.load(Ordering::Relaxed) {
                for _ in 0..50 {
                    flood.send(&header(MessageType::CONTROL_REQUEST, "127.0.0.1:9"), &octets);
                }
                flood.send(&header(MessageType::TABLE_REQUEST, "127.0.0.1:9"), b"flood");
                flood.send(&header(MessageType::SUBSCRIPTION_REQUEST, "127.0.0.1:9"), &kpm.subscription_request());
                sent += 50;
            }
            sent
        });
        let reading = scope.spawn(move || {
            let mut refusals = 0_u32;
            while let Some(answer) = answers.receive_within(Duration::from_secs(2)) {
                let is_refusal = answer.kind == MessageType::CONTROL_FAILURE;
                if is_refusal && cause(&answer) == Cause::Misc(CauseMisc::ControlProcessingOverload) {
                    refusals += 1;
                }
            }
            refusals
        });
        // meanwhile another one does its work
        let mut connection = Connection::open(network.rmr);
        for number in 0..CONTROLS {
            let octets = control(RicControlAckRequest::Ack);
            connection.send(&header(MessageType::CONTROL_REQUEST, &endpoint(&well)), &octets);
            let answer = connection.receive();
            assert_eq!(answer.kind, MessageType::CONTROL_ACKNOWLEDGE, "control {number}");
            check_indication(&indications.receive(), subscription_id);
        }
        let created = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&well, 8)).expect(201);
        well.subscribed(&created["SubscriptionId"], 8);
        drop(end);
        (flooding.join().unwrap(), reading.join().unwrap())
    });
    assert!(refusals > 0, "{sent} controls were sent, and none was refused");
    assert!(log().contains("more than 2000 controls per second of an xApp"), "{sent} controls");
}
