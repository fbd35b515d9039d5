//! Cell changes: how far a handover is, by the messages between base stations on Xn and X2.

use std::collections::HashMap;

use radio::phy::{Carrier, Rat};
use ran::scenario::{TimelineChange, TimelineEntry};
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};

use crate::support::{Chain, cell_id};

/// hoStatus of MEC 012 6.5.
const IN_PREPARATION: u64 = 1;
const IN_EXECUTION: u64 = 2;
const COMPLETED: u64 = 3;
const REJECTED: u64 = 4;
const CANCELLED: u64 = 5;
/// The cell that has as many UEs as it admits.
const FULL: usize = 3;

/// Four cells next to each other, of which the last one is full. One UE is handed over from cell to cell, and one is to go to the full
/// cell, again and again. Each cell is prepared for a conditional handover whose condition is never met.
fn scenario(carrier: &Carrier) -> RanConfig {
    let mut scenario = Scenario::with_mixed_traffic(4, 3, 1);
    for cell in &mut scenario.cells {
        cell.radio.carrier = carrier.clone();
    }
    scenario.cells[FULL].radio.max_ues = Some(3);
    scenario.handover.a3_offset_db = Some(30.0);
    scenario.handover.conditional = Some(radio::ConditionalConfig { preparation_margin_db: 100.0, a5: None });
    scenario.handover.link.is_enabled = false;
    let handovers = (0..200).flat_map(|turn: u64| {
        let at = radio::Time::from_millis(1000 + 500 * turn);
        let entry = |ue, to| TimelineEntry { at, change: TimelineChange::HandOver { ue, to } };
        [entry(0, (turn as usize + 1) % FULL), entry(1, FULL)]
    });
    scenario.timeline = handovers.collect();
    RanConfig { scenario, ..RanConfig::default() }
}

fn status(notification: &Value) -> u64 {
    notification["hoStatus"].as_u64().unwrap()
}

/// The target cell of a notification, if it has one.
fn target(notification: &Value) -> &str {
    let targets = notification["trgEcgi"].as_array().unwrap();
    assert_eq!(targets.len(), 1, "{notification}");
    targets[0]["cellId"].as_str().unwrap()
}

#[test]
fn subscriber_sees_preparation_execution_rejection_and_cancellation() {
    let mut chain = Chain::start(scenario(&Carrier::default()), HashMap::new());
    let all = [IN_PREPARATION, IN_EXECUTION, COMPLETED, REJECTED, CANCELLED];
    let subscribe = |name: &str, statuses: &[u64]| {
        let criteria = json!({ "hoStatus": statuses });
        chain.subscribe(name, "CellChangeSubscription", "filterCriteriaAssocHo", criteria);
    };
    subscribe("all", &all);
    all.iter().for_each(|status| subscribe(&status.to_string(), &[*status]));
    for status in all {
        chain.collect_until(&format!("hoStatus {status}"), &status.to_string(), |received| received.len() >= 2);
    }
    for wanted in all {
        let received = chain.received(&wanted.to_string());
        assert!(received.iter().all(|notification| status(notification) == wanted), "{wanted}: {received:?}");
    }
    let full = cell_id(FULL as u64, Rat::Nr);
    // the full cell refuses each UE: nothing else becomes of its preparations
    let rejected =
        |received: &[Value]| received.iter().filter(|of| target(of) == full && status(of) == REJECTED).count();
    chain.collect_until("rejections by the full cell", "all", |received| rejected(received) >= 2);
    for notification in chain.received("all").iter().filter(|of| target(of) == full) {
        assert!([IN_PREPARATION, REJECTED].contains(&status(notification)), "{notification}");
    }
    assert!(chain.received(&REJECTED.to_string()).iter().all(|of| target(of) == full), "the others have room");
    // the statuses of one UE from one cell to another are in the order of the messages
    let is_whole = |received: &[Value]| {
        received.iter().enumerate().any(|(at, executed)| {
            let of_same = |of: &&Value, wanted| {
                let is_same = ["tempUeId", "srcEcgi", "trgEcgi"].iter().all(|member| of[member] == executed[member]);
                is_same && status(of) == wanted
            };
            status(executed) == IN_EXECUTION
                && received[..at].iter().any(|of| of_same(&of, IN_PREPARATION))
                && received[at..].iter().any(|of| of_same(&of, COMPLETED))
        })
    };
    chain.collect_until("a handover from its preparation to its completion", "all", is_whole);
    // a candidate that was prepared is given up when the UE goes elsewhere
    let is_given_up = |received: &[Value]| {
        received.iter().enumerate().any(|(at, cancelled)| {
            let is_prepared = |of: &Value| {
                let is_same = ["tempUeId", "srcEcgi", "trgEcgi"].iter().all(|member| of[member] == cancelled[member]);
                is_same && status(of) == IN_PREPARATION
            };
            status(cancelled) == CANCELLED && received[..at].iter().any(is_prepared)
        })
    };
    chain.collect_until("a cancelled candidate", "all", is_given_up);
}

#[test]
fn subscriber_sees_handovers_between_enbs() {
    let mut chain = Chain::start(scenario(&Carrier::lte()), HashMap::new());
    let full = cell_id(FULL as u64, Rat::Lte);
    for statuses in [vec![IN_PREPARATION, REJECTED], vec![IN_EXECUTION], vec![COMPLETED]] {
        let criteria = json!({ "hoStatus": statuses });
        chain.subscribe(&statuses[0].to_string(), "CellChangeSubscription", "filterCriteriaAssocHo", criteria);
    }
    for status in [IN_EXECUTION, COMPLETED] {
        chain.collect_until(&format!("hoStatus {status}"), &status.to_string(), |received| received.len() >= 2);
        let received = chain.received(&status.to_string());
        assert!(received.iter().all(|of| self::status(of) == status && target(of) != full), "{received:?}");
    }
    let prepared = IN_PREPARATION.to_string();
    let rejected = |received: &[Value]| received.iter().filter(|of| status(of) == REJECTED).count() >= 2;
    chain.collect_until("rejections by the full cell", &prepared, rejected);
    let received = chain.received(&prepared);
    // each request of the UE to the full cell is refused, and no other one
    let to_full: Vec<_> = received.iter().filter(|of| target(of) == full).map(status).collect();
    assert!(to_full.chunks_exact(2).all(|pair| pair == [IN_PREPARATION, REJECTED]), "{to_full:?}");
    assert!(received.iter().all(|of| status(of) == IN_PREPARATION || target(of) == full), "{received:?}");
    assert!(received.iter().any(|of| target(of) != full), "{received:?}");
}
