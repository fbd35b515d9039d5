//! `ferric ran --stepped` with a RIC and an xApp: the model stands between steps, and a run can be repeated.

mod program;

use std::time::Duration;

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::flexric::EventTriggerDefinition;
use e2sm::rc::{Control, ControlAction, Revision, SlicePrbQuota};
use e2sm::{Arena, Wire, mac};
use ferric::e2::{Action, ControlOutcome, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};
use program::Program;
use serde_json::Value;

const STEPS: usize = 40;
const RC: RanFunctionId = RanFunctionId(3);

/// The answer to a command: a line of JSON.
fn answer(ran: &mut Program, command: &str) -> Value {
    ran.enter(command);
    object(ran)
}

fn object(ran: &mut Program) -> Value {
    serde_json::from_str(&format!("{{{}", ran.line("{"))).unwrap()
}

/// What an xApp has seen.
#[derive(Default)]
struct Seen {
    reports: Vec<String>,
    is_subscribed: bool,
    is_controlled: bool,
}

fn poll_until(xapp: &mut Xapp, seen: &mut Seen, done: impl Fn(&Seen) -> bool) {
    let mut arena = Arena::new();
    while !done(seen) {
        xapp.poll(Some(Duration::from_secs(30)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let offered = node.functions.iter().find_map(|f| Some((f.id, mac::MODEL.wire_of(&f.oid)?)));
                let (function, wire) = offered.unwrap();
                assert_eq!(wire, Wire::Plain);
                let mut event_trigger = Vec::new();
                EventTriggerDefinition { period_ms: 10 }.encode(wire, &mut event_trigger).unwrap();
                let (id, kind) = (RicActionId(0), RicActionType::Report);
                let actions = vec![Action { id, kind, definition: None, subsequent: None }];
                ric.subscribe(node.id, function, SubscriptionSpec { event_trigger, actions });
            }
            XappEvent::Request(RequestEvent::Subscribed { .. }) => seen.is_subscribed = true,
            XappEvent::Request(RequestEvent::Controlled { outcome, .. }) => {
                assert!(matches!(outcome, ControlOutcome::Acknowledged(_)), "{outcome}");
                seen.is_controlled = true;
            }
            XappEvent::Indication(indication) => {
                arena.reset();
                let message = indication.peek().unwrap().message;
                let report = mac::IndicationMessage::decode(message, Wire::Plain, &arena).unwrap();
                // without the time stamp, which is that of the wall clock
                seen.reports.push(format!("{:?}", report.ues));
            }
            _ => {}
        })
        .unwrap();
    }
}

/// The reports of each step of 20 ms. After half of the steps, a control limits a slice to a tenth of the PRBs.
fn run() -> Vec<String> {
    let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let mut ran = program::start_with_input(&["ran", "--stepped", "--ric", &e2, "--ues", "4"]);
    assert_eq!(object(&mut ran)["time_ms"], 1000.0, "after the warm-up");
    let mut xapp = Xapp::connect(&xapp.parse().unwrap(), "steps", Default::default()).unwrap();
    let mut seen = Seen::default();
    poll_until(&mut xapp, &mut seen, |seen| seen.is_subscribed);
    for step in 1..=STEPS {
        let status = answer(&mut ran, "step 20");
        assert_eq!((&status["time_ms"], &status["associations"]), (&(1000.0 + 20.0 * step as f64).into(), &1.into()));
        poll_until(&mut xapp, &mut seen, |seen| seen.reports.len() >= 2 * step);
        assert_eq!(seen.reports.len(), 2 * step, "a report for each 10 ms of the model");
        if step == STEPS / 2 {
            let slice = SNssai { sst: Sst([1]), sd: None };
            let quota = SlicePrbQuota::of_slice(PlmnIdentity::from_codes(1, 1, 2), slice, 0, 10);
            let control = Control::of_cell(ControlAction::SlicePrbQuota(quota));
            let (header, message) = control.encode(Revision::V3_00).unwrap();
            let node = xapp.nodes().next().unwrap().id;
            xapp.commands().control(node, RC, &header, &message);
            poll_until(&mut xapp, &mut seen, |seen| seen.is_controlled);
        }
    }
    // the model stands
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(answer(&mut ran, "status")["time_ms"], 1000.0 + 20.0 * STEPS as f64);
    assert_eq!(answer(&mut ran, "jump")["error"].as_str().unwrap().split(':').next(), Some("`jump`"));
    assert_eq!(answer(&mut ran, "reset 5")["time_ms"], 1000.0);
    ran.enter("quit");
    assert_eq!(ran.end().code(), Some(0));
    seen.reports
}

#[test]
fn stepped_runs_with_the_same_controls_are_identical() {
    let first = run();
    assert_eq!(first.len(), 2 * STEPS);
    assert_eq!(run(), first);
}

#[test]
fn stepped_ran_ends_with_its_input() {
    let outcome = program::run_with(&["ran", "--stepped", "--ues", "1"], b"step 0\nstep 1\n");
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let times: Vec<_> = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    assert_eq!(times.len(), 3, "{}", outcome.stdout);
    assert!(times[1]["error"].is_string() && times[2]["time_ms"] == 1001.0);
    for more in [["--speed", "2"], ["--live", "1"]] {
        let outcome = program::run(&[&["ran", "--stepped"][..], &more].concat());
        outcome.complains(2, &["--stepped", more[0]]);
    }
}
