//! The KPM function that a tenant has of a base station.

use std::time::{Duration, Instant};

use e2sm::Arena;
use e2sm::kpm::{Detection, EveryUe, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Scope};
use ferric::e2::{Action, RequestEvent, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::xapp::{Xapp, XappConfig, XappEvent};
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use system_tests::{PATIENCE, TestRan, TestRic, log, two_operators};

/// A cell with a UE of each operator, which always has data.
const SCENARIO: &str = r#"
[[cell]]
[[ue]]
plmn = "00101"
[[ue.flow]]
kind = "greedy"
[[ue]]
plmn = "00102"
[[ue.flow]]
kind = "greedy"
"#;

struct Network {
    a: TestRic,
    _b: TestRic,
    host: TestRic,
    _ran: TestRan,
}

/// Two operators on a base station with this revision of KPM.
fn network(kpm_revision: Revision) -> Network {
    let (a, b) = (TestRic::start(), TestRic::start());
    let (host, _) = TestRic::with_virtual_networks(two_operators(&a, 50, &b, 50));
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    let ran = TestRan::start(&host.e2, RanConfig { scenario, kpm_revision, ..RanConfig::default() });
    a.await_slices("gnb-00101-e00");
    Network { a, _b: b, host, _ran: ran }
}

/// Subscribes to the KPM function of the node of a controller, for UEs or for the node as a whole, until a report comes. Asks for
/// `measurements`, or for all that are offered for the node. Returns the detected revision and the asked measurements.
fn watch(ric: &TestRic, revision: Revision, scope: Scope<'_>, measurements: Option<&str>) -> (Detection, Vec<String>) {
    let mut xapp = Xapp::connect(&ric.xapp, "test", XappConfig::default()).unwrap();
    let kpm = RanFunctionId(2);
    let (mut seen, mut reports) = (None, 0);
    let deadline = Instant::now() + PATIENCE;
    while reports == 0 {
        assert!(Instant::now() < deadline, "no report");
        let polled = xapp.poll(Some(Duration::from_millis(100)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let function = node.functions.iter().find(|function| function.id == kpm).expect("a KPM function");
                let (oid, definition) = (&function.oid, &function.definition);
                let detected = Detection::from_ran_function(oid, function.revision.0, definition).unwrap();
                let arena = Arena::new();
                let offered = RanFunctionDefinition::decode(definition, revision, &arena).unwrap();
                let of_node = offered.ric_report_style_list.iter().flatten();
                let of_node = of_node.filter(|style| style.ric_report_style_type.0 == 1);
                let of_node = of_node.flat_map(|style| &style.meas_info_action_list);
                let names: Vec<&str> = match measurements {
                    Some(name) => vec![name],
                    None => of_node.map(|item| item.meas_name.as_str()).collect(),
                };
                let asked: Vec<_> = names.iter().copied().map(MeasurementRequest::named).collect();
                let request =
                    ReportRequest { measurements: &asked, granularity_period_ms: 100, reporting_period_ms: 100, scope };
                let plan = request.plan(&offered, revision).unwrap();
                let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
                plan.trigger.encode(revision, &mut event_trigger).unwrap();
                plan.action.encode(revision, &mut definition).unwrap();
                let kind = RicActionType::Report;
                let action = Action { id: RicActionId(1), kind, definition: Some(definition), subsequent: None };
                ric.subscribe(node.id, kpm, SubscriptionSpec { event_trigger, actions: vec![action] });
                seen = Some((detected, names.into_iter().map(str::to_owned).collect()));
            }
            XappEvent::Indication(_) => reports += 1,
            XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => panic!("{revision}: {error:?}"),
            _ => {}
        });
        polled.unwrap();
    }
    seen.expect("a node was subscribed to")
}

#[test]
fn tenant_measures_its_ues_in_the_revision_of_the_base_station() {
    for revision in Revision::FROM_V2 {
        let network = network(revision);
        let of_ues = |ric| watch(ric, revision, Scope::EveryUe(EveryUe::AnySignal), Some("DRB.UEThpDl")).0;
        assert_eq!(of_ues(&network.a), of_ues(&network.host), "{revision}");
    }
}

#[test]
fn base_station_counts_all_that_is_offered_of_the_node_for_a_tenant() {
    let network = network(Revision::V3_00);
    let (_, asked) = watch(&network.a, Revision::V3_00, Scope::Node, None);
    assert!(asked.iter().any(|name| name == "RRU.PrbTotDl") && asked.iter().any(|name| name == "DRB.MeanActiveUeDl"));
    assert!(!asked.iter().any(|name| name == "RRC.ConnMean"), "{asked:?}");
}

#[test]
fn log_names_a_kpm_function_that_tenants_do_not_have() {
    let _network = network(Revision::V2_00);
    let deadline = Instant::now() + PATIENCE;
    while !log().contains("tenants do not have the KPM function of the base station: it is v02.00") {
        assert!(Instant::now() < deadline, "{}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
}
