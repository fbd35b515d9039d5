//! Implicit conflicts: which controls a KPI is compared for, and over which reports.

use super::*;

/// A window of four reports of 100 ms.
const KPI: &str = "[[kpi]]\nname = \"DRB.UEThpDl\"\nparameters = [\"slice\"]\npolicy = \"priority\"\nhold_ms = 1000\nprotects = \"a\"\n\
                   better = \"higher\"\ndegradation_percent = 20\nwindow_ms = 400\n";
const PRIORITY: &str = "[[xapp]]\nname = \"a\"\npriority = 1\n";

impl World {
    fn with_kpi(rules: &str) -> World {
        let mut world = World::new(rules);
        world.state.watches.begin(NodeId(1), 0);
        world
    }

    /// Reports these values, 100 ms after each other.
    fn report(&mut self, begin_ms: u64, values: &[Option<f64>]) {
        for (ms, value) in (begin_ms..).step_by(100).zip(values) {
            self.state.kpi_reported(NodeId(1), "gnb-00101-e00", 0, *value, at(ms));
        }
    }

    /// The reasons of all decisions.
    fn reasons(&self) -> Vec<String> {
        let conflicts = self.state.decisions.iter().filter_map(|decision| decision.conflict.as_ref());
        conflicts.map(|conflict| conflict.reason.clone()).collect()
    }
}

#[test]
fn degradation_after_a_control_refuses_its_parameter_for_a_time() {
    let mut world = World::with_kpi(&format!("{PRIORITY}{KPI}"));
    world.report(0, &[Some(100.0); 4]);
    assert_eq!(world.set("b", 350, 1, 0.5), Got::Sent);
    assert_eq!(world.set("a", 360, 1, 0.5), Got::Sent, "its own control is not suspected");
    world.report(400, &[Some(79.0); 4]);
    assert_eq!(world.set("b", 740, 1, 0.6), Got::Sent, "the window is not over");
    world.report(760, &[Some(79.0)]);
    assert!(world.reason().contains("was 100.000 before and 79.000 after it"), "{}", world.reason());
    assert_eq!(world.set("b", 770, 1, 0.6), Got::Refused(CONFLICT));
    assert_eq!(world.set("b", 1760, 1, 0.6), Got::Sent);
    // within the limit
    world.report(1800, &[Some(70.0); 5]);
    assert_eq!(world.set("b", 2210, 1, 0.6), Got::Sent);
}

#[test]
fn report_of_the_time_before_and_after_a_control_does_not_count_as_after_it() {
    let mut world = World::with_kpi(&format!("{PRIORITY}{KPI}"));
    world.report(0, &[Some(100.0); 4]);
    assert_eq!(world.set("b", 390, 1, 0.5), Got::Sent);
    // of 10 ms after the control; with it the mean would be within the limit
    world.report(400, &[Some(100.0), Some(78.0), Some(78.0), Some(78.0), Some(78.0)]);
    assert_eq!(world.reasons(), ["DRB.UEThpDl was 100.000 before and 78.000 after it; refused for 1000 ms"]);
}

#[test]
fn control_that_the_node_refuses_is_not_blamed() {
    let failed = ControlOutcome::Failed { cause: CONFLICT, outcome: None };
    for (outcome, is_blamed) in [(failed, false), (ControlOutcome::Acknowledged(None), true)] {
        let mut world = World::with_kpi(&format!("{PRIORITY}{KPI}"));
        world.report(0, &[Some(100.0); 4]);
        assert_eq!(world.set("b", 300, 1, 0.5), Got::Sent);
        world.state.control_ended(consumer("b"), Ticket(1), &outcome);
        world.report(400, &[Some(50.0); 4]);
        assert_eq!(!world.reasons().is_empty(), is_blamed, "{outcome:?}: {:?}", world.reasons());
    }
}

#[test]
fn control_that_an_arbiter_accepts_is_compared_from_then_on() {
    let mut world = World::with_kpi(&(rule("policy = \"ask\"") + KPI));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    world.report(0, &[Some(100.0); 4]);
    assert_eq!(world.set("b", 300, 1, 0.6), Got::Waits);
    world.report(400, &[Some(100.0); 3]);
    let number = world.state.questions.open()[0].number;
    world.state.answer(number, true, at(600)).unwrap();
    world.report(700, &[Some(50.0); 4]);
    let last = world.reasons().pop().unwrap();
    assert_eq!(last, "DRB.UEThpDl was 100.000 before and 50.000 after it; refused for 1000 ms");
}

#[test]
fn window_without_values_is_not_compared_and_leaves_nothing_behind() {
    let mut world = World::with_kpi(&format!("{PRIORITY}{KPI}"));
    world.report(0, &[Some(100.0); 4]);
    for _ in 0..100 {
        assert_eq!(world.set("b", 300, 1, 0.5), Got::Sent);
    }
    world.report(400, &[None; 4]);
    assert_eq!(world.reasons(), [""; 0]);
    // the next control has a place among those that are compared
    world.report(800, &[Some(100.0); 4]);
    assert_eq!(world.set("b", 1100, 1, 0.5), Got::Sent);
    world.report(1200, &[Some(50.0), None, Some(50.0), None]);
    assert_eq!(world.reasons(), ["DRB.UEThpDl was 100.000 before and 50.000 after it; refused for 1000 ms"]);
}
