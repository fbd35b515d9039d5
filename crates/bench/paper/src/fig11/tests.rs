//! Figure 11 in virtual time without E2: the xApp's actions are applied to the cell.

use std::time::Duration;

use radio::tc::{
    ClassifierChoice, Configuration, DisciplineChoice, FlowPattern, OsiFilter, PacerChoice, QueueConfiguration, QueueId,
};
use radio::{Cell, Time};

use super::call::{Call, Sojourn};
use super::figures::{round_trips, with_control, without_control};
use super::{CALL_PORT, EndMeasurements, GREEDY_S, LEAD_S, scenario};

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
    let mut network = scenario(SECONDS).network().unwrap();
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
        }
    }
    call.ends = EndMeasurements::of(&network);
    call
}

#[test]
fn three_actions_protect_a_call() {
    let (without, with) = (call(None), call(Some(GREEDY_S + 0.5)));
    for report in [without_control(&without), with_control(&with), round_trips(&without, &with)] {
        assert_eq!(report.holds, Some(true), "{report}");
    }
    // swapped, no figure holds
    for report in [without_control(&with), with_control(&without), round_trips(&with, &without)] {
        assert_eq!(report.holds, Some(false), "{report}");
    }
    let alone = without.round_trips_ns(false);
    // 10 ms outside of the RAN, and a scheduling request each 20 ms
    let (min_ms, max_ms) = (alone.min() as f64 / 1e6, alone.max() as f64 / 1e6);
    assert!(alone.len() > 240 && min_ms >= 17.0 && max_ms < 42.0, "{min_ms} to {max_ms} ms");
    assert!(max_ms - min_ms > 12.0, "packets meet the cell's frames at different phases: {min_ms} to {max_ms} ms");
    assert!(without.used_percent() > 99.0 && with.used_percent() > 95.0);
}
