//! Virtualization controllers whose tenants lead back to themselves.

use ferric::e2ap::Version;
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use serde_json::Value;
use system_tests::{TestRan, TestRic, eventually, log};
use virtualization::Sla;

fn sla(tenant: &str, plmn: &str, ric: &TestRic) -> Sla {
    let text =
        format!("[[tenant]]\nname = \"{tenant}\"\nshare_percent = 50\nplmn = \"{plmn}\"\nric = \"{}\"\n", ric.e2);
    Sla::parse(&text).unwrap()
}

fn ran(ric: &TestRic, e2ap_version: Version) -> TestRan {
    let text = "[[cell]]\n[[ue]]\ncount = 2\n[[ue.flow]]\nkind = \"greedy\"\n";
    let scenario = Scenario::from_toml(text, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    TestRan::start(&ric.e2, RanConfig { scenario, e2ap_version, ..RanConfig::default() })
}

fn ids(nodes: &Value) -> Vec<String> {
    nodes["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}

fn await_nodes(ric: &TestRic, expected: &[&str]) {
    ric.rest.eventually("/v1/nodes", |nodes| ids(nodes) == expected);
}

/// Waits for so many refusals of a virtual node.
fn await_refusals(line: &str, count: usize) {
    eventually(line, || log().lines().filter(|known| known.contains(line)).count() >= count);
}

fn is_taken_over() -> bool {
    let log = log();
    ["set up on another association", "the node restarts", "sets up again"].iter().any(|text| log.contains(text))
}

/// The address of the tenant's controller is the owner's own: also with the PLMN of the RAN, so that the virtual node has the identity
/// of the base station.
#[test]
fn tenant_whose_controller_is_the_owners_own_does_not_take_the_base_station_over() {
    for (at, version) in Version::ALL.into_iter().enumerate() {
        for plmn in ["00101", "00102"] {
            let tenant = TestRic::start();
            let (host, handle) = TestRic::with_virtual_networks(sla("a", plmn, &tenant));
            let _ran = ran(&host, version);
            let virtual_node = format!("gnb-{plmn}-e00");
            await_nodes(&tenant, &[&virtual_node]);
            handle.replace(sla("a", plmn, &host));
            await_refusals(
                &format!(
                    "setup as {virtual_node} refused: it is a virtual node of gnb-00101-e00, which this controller itself shares \
                     (a loop over 1 controllers)"
                ),
                at + 1,
            );
            assert!(!is_taken_over());
            await_nodes(&host, &["gnb-00101-e00"]);
            // the agreements can be corrected
            handle.replace(sla("a", plmn, &tenant));
            await_nodes(&tenant, &[&virtual_node]);
            assert!(!is_taken_over());
        }
    }
}

/// The second controller is a tenant of the first one, and the first one is a tenant of the second one.
#[test]
fn loop_over_two_controllers_is_refused_at_the_controller_of_the_base_station() {
    let placeholder = TestRic::start();
    let (first, handle) = TestRic::with_virtual_networks(sla("x", "00102", &placeholder));
    let (second, _) = TestRic::with_virtual_networks(sla("y", "00103", &first));
    let _ran = ran(&first, Version::V2_03);
    await_nodes(&placeholder, &["gnb-00102-e00"]);
    handle.replace(sla("x", "00102", &second));
    await_refusals(
        "setup as gnb-00103-e00 refused: it is a virtual node of gnb-00101-e00, which this controller itself shares (a loop over 2 \
         controllers)",
        1,
    );
    assert!(!is_taken_over());
    await_nodes(&first, &["gnb-00101-e00"]);
    await_nodes(&second, &["gnb-00102-e00"]);
}
