//! Figure 11 in virtual time without E2: the xApp's actions are applied to the cell.

use std::time::Duration;

use radio::tc::{
    ClassifierChoice, Configuration, DisciplineChoice, FlowPattern, OsiFilter, PacerChoice, QueueConfiguration, QueueId,
};
use radio::{Cell, Time};

use super::call::{Call, Sojourn};
use super::figures::{Pair, round_trips, with_control, without_control};
use super::{CALL_PORT, CallSetting, EndMeasurements, GREEDY_S, LEAD_S, RLC_BUFFER_OCTETS, scenario};

const SECONDS: f64 = 20.0;
/// The time between two reports.
const STEP: Duration = Duration::from_millis(100);

fn sojourn(cell: &Cell) -> (f64, [Option<f64>; 2]) {
    let bearer = &cell.ue(0).unwrap().bearers()[0];
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let rlc = bearer.downlink().recent_sojourn(cell.now()).max(bearer.downlink().head_wait(cell.now()));
    (ms(rlc), [0, 1].map(|queue| bearer.tc().counts(QueueId(queue)).map(|counts| ms(counts.sojourn.last))))
}

/// Applies the xApp's three actions.
fn act(cell: &mut Cell) {
    let flow = FlowPattern { protocol: Some(17), destination_port: Some(CALL_PORT), ..FlowPattern::default() };
    let mut tc = Configuration::default();
    tc.queues.push(QueueConfiguration::new(QueueId(1), DisciplineChoice::Fifo));
    tc.classifier = ClassifierChoice::Osi(vec![OsiFilter { id: 0, flow, queue: QueueId(1) }]);
    tc.pacer = PacerChoice::Bdp5g;
    cell.set_traffic_control(&tc).unwrap();
}

fn call(acts_at_s: Option<f64>) -> Call {
    call_with(&CallSetting::new(SECONDS, acts_at_s.is_some()), acts_at_s)
}

fn call_with(setting: &CallSetting, acts_at_s: Option<f64>) -> Call {
    let mut network = scenario(setting).network().unwrap();
    let mut call = Call { seconds: SECONDS, ..Call::default() };
    let mut acts_at = acts_at_s.map(|at_s| Time::from_secs_f64(LEAD_S + at_s));
    while network.cell(0).now() < Time::from_secs_f64(LEAD_S + SECONDS) {
        let now = network.cell(0).now() + STEP;
        network.advance(now);
        let at_s = now.as_secs_f64() - LEAD_S;
        let (rlc_ms, tc_ms) = sojourn(network.cell(0));
        call.sojourns.push(Sojourn { at_s, rlc_ms, tc_ms });
        let cell = network.cell(0);
        let prbs = cell.full_prbs(radio::phy::Direction::Downlink, cell.counts(0).unwrap().dl.elements);
        call.prbs.push((at_s, prbs as f64));
        if acts_at.take_if(|at| now >= *at).is_some() {
            act(network.cell_mut(0));
            call.actions = ["queue", "filter", "pacer"].map(|action| (at_s, format!("done: {action}"))).to_vec();
        }
    }
    call.ends = EndMeasurements::of(&network);
    call
}

/// Calls with the default buffer.
fn pair(without: Call, with: Call) -> [Pair; 1] {
    [Pair { buffer_octets: RLC_BUFFER_OCTETS, without, with }]
}

#[test]
fn three_actions_protect_a_call() {
    let act_s = Some(GREEDY_S + 0.5);
    let varying = call_with(&CallSetting { is_varying: true, ..CallSetting::new(SECONDS, true) }, act_s);
    for report in [without_control(&call(None)), with_control(&call(act_s), Some(&varying))] {
        assert_eq!(report.holds, Some(true), "{report}");
    }
    // swapped, no figure holds
    for report in [without_control(&call(act_s)), with_control(&call(None), Some(&varying))] {
        assert_eq!(report.holds, Some(false), "{report}");
    }
    let [pair] = pair(call(None), call(act_s));
    let alone: Vec<f64> = pair.without.round_trips(false).into_iter().map(|(_, ms)| ms).collect();
    // 10 ms outside of the RAN, and a scheduling request each 20 ms
    let (min_ms, max_ms) = alone.iter().fold((f64::INFINITY, 0.0_f64), |(min, max), ms| (min.min(*ms), max.max(*ms)));
    assert!(alone.len() > 240 && min_ms >= 17.0 && max_ms < 42.0, "{min_ms} to {max_ms} ms");
    assert!(max_ms - min_ms > 12.0, "packets meet the cell's frames at different phases: {min_ms} to {max_ms} ms");
    assert!(pair.without.used_percent() > 99.0 && pair.with.used_percent() > 95.0);
}

/// Each statement is judged: the ratio, the use of the cell, the downlink's part and the range of the undisturbed call.
#[test]
fn statements_about_round_trips_are_judged_one_by_one() {
    let holds = |without: Call, with: Call| -> Vec<_> {
        let report = round_trips(&pair(without, with));
        report.statements.iter().map(|statement| statement.holds == Some(true)).collect()
    };
    let act_s = Some(GREEDY_S + 0.5);
    let found = holds(call(None), call(act_s));
    assert_eq!(found[..3], [true, true, true]);
    let swapped = holds(call(act_s), call(None));
    assert!(!swapped[0] && !swapped[2], "{swapped:?}");
    let short = |is_controlled| CallSetting { rlc_buffer_octets: 250_000, ..CallSetting::new(SECONDS, is_controlled) };
    let small = holds(call_with(&short(false), None), call_with(&short(true), act_s));
    assert!(!small[0], "the ratio depends on the buffer: {small:?}");
    // the call alone takes 17 ms at least
    let mut slow = call(None);
    slow.ends.round_trips.iter_mut().for_each(|(_, ms)| *ms = ms.clamp(20.5, 39.5));
    assert!(holds(slow, call(act_s))[3]);
    let mut late = call(None);
    late.ends.round_trips.iter_mut().for_each(|(_, ms)| *ms += 30.0);
    assert!(!holds(late, call(act_s))[3]);
}
