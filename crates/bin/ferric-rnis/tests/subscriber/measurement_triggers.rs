//! Measurement reports: the trigger is the one that the base station has configured for the UE, and that has fired.

use std::collections::HashMap;
use std::time::Duration;

use radio::phy::Carrier;
use radio::{EventCondition, MeasurementEvent};
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};

use crate::support::Chain;

/// Two NR cells and two of LTE next to each other. All events hold always. Some UEs arrive when the collector is there.
fn scenario() -> RanConfig {
    let mut scenario = Scenario::with_mixed_traffic(4, 3, 1);
    for cell in &mut scenario.cells[2..] {
        cell.radio.carrier = Carrier::lte();
    }
    let event =
        |condition| MeasurementEvent { condition, hysteresis_db: 0.0, time_to_trigger: Duration::from_millis(160) };
    scenario.measurement.events = [
        EventCondition::A1 { threshold_dbm: -156.0 },
        EventCondition::A2 { threshold_dbm: -31.0 },
        EventCondition::A3 { offset_db: -30.0 },
        EventCondition::A4 { threshold_dbm: -150.0 },
        EventCondition::A5 { serving_dbm: -31.0, neighbour_dbm: -150.0 },
        EventCondition::B1 { threshold_dbm: -150.0 },
        EventCondition::B2 { serving_dbm: -31.0, neighbour_dbm: -150.0 },
    ]
    .map(event)
    .into();
    scenario.measurement.report_interval = Some(Duration::from_millis(480));
    scenario.handover.link.is_enabled = false;
    for ue in scenario.ues.iter_mut().step_by(2) {
        ue.arrives = radio::Time::from_millis(3000);
        for flow in &mut ue.flows {
            flow.specification.start = flow.specification.start.max(ue.arrives);
        }
    }
    // which has the neighbour relations, and with them the identities of neighbours of LTE
    RanConfig { scenario, rc_revision: "v01.03".parse().unwrap(), ..RanConfig::default() }
}

/// Subscribes to each trigger by itself, and waits for its reports.
fn expect_triggers(chain: &mut Chain, kind: &str, member: &str, trigger: &str, triggers: &[u64]) {
    let name = |of: u64| format!("{trigger}-{of}");
    for of in triggers {
        chain.subscribe(&name(*of), kind, member, json!({ trigger: [of] }));
    }
    for of in triggers {
        chain.collect_until(&name(*of), &name(*of), |received| received.len() >= 2);
        let received = chain.received(&name(*of));
        assert!(received.iter().all(|notification| notification[trigger] == *of), "{of}: {received:?}");
    }
}

/// Whether a notification has cells in a member.
fn has(notification: &Value, member: &str) -> bool {
    notification[member].as_array().is_some_and(|cells| !cells.is_empty())
}

#[test]
fn triggers_of_reports_are_those_that_base_stations_configure() {
    let mut chain = Chain::start(scenario(), HashMap::new());
    // periodic, A1 to A5, B1, B2; the configuration of UEs that were there before is unknown
    let nr = [0, 1, 10, 11, 12, 13, 14, 30, 31];
    expect_triggers(&mut chain, "NrMeasRepUeSubscription", "filterCriteriaNrMrs", "triggerNr", &nr);
    let eutra = [0, 1, 10, 11, 12, 13, 14, 20, 21];
    expect_triggers(&mut chain, "MeasRepUeSubscription", "filterCriteriaAssocTri", "trigger", &eutra);
    for (name, member, expected) in [
        ("triggerNr-30", "eutraNeighCellMeasInfo", true),
        ("triggerNr-31", "eutraNeighCellMeasInfo", true),
        ("triggerNr-13", "eutraNeighCellMeasInfo", false),
        ("triggerNr-10", "nrNeighCellMeasInfo", false),
        ("trigger-20", "newRadioMeasNeiInfo", true),
        ("trigger-12", "newRadioMeasNeiInfo", false),
        ("trigger-11", "eutranNeighbourCellMeasInfo", false),
    ] {
        if expected {
            chain.collect_until(member, name, |received| received.iter().any(|of| has(of, member)));
        } else {
            let received = chain.received(name);
            assert!(received.iter().all(|of| !has(of, member)), "{name}: {member}: {received:?}");
        }
    }
}

#[test]
fn triggers_of_the_operator_are_of_ues_without_a_seen_configuration() {
    // the measurement identities of A1 and of the periodic reports
    let mut chain = Chain::start(scenario(), HashMap::from([(1, 15), (8, 2)]));
    expect_triggers(&mut chain, "NrMeasRepUeSubscription", "filterCriteriaNrMrs", "triggerNr", &[15, 2, 0, 10, 1]);
}
