//! Measurement reports, offsets of neighbours, and conditional handover.

use super::recovery::{add_moving, row};
use super::*;

fn report_of(network: &mut Network, condition: EventCondition, until_ms: u64) -> Vec<MeasurementReport> {
    let event = MeasurementEvent { condition, hysteresis_db: 1.0, time_to_trigger: Duration::from_millis(100) };
    network.set_measurement(MeasurementConfig { events: vec![event], ..MeasurementConfig::default() });
    network.set_reporting(0, true);
    network.advance(ms(until_ms));
    network.take_reports(0).collect()
}

#[test]
fn events_are_reported_with_their_cells() {
    let rsrp_dbm = {
        let mut network = row(3, HandoverConfig::default());
        add_moving(&mut network, 0, 200.0, 0.0);
        network.advance(ms(50));
        let measured = network.measured(0, 0);
        assert_eq!(measured.len(), 3);
        assert_eq!(measured[0].cell, 0, "the serving cell is the first");
        assert!(measured[1].rsrp_dbm >= measured[2].rsrp_dbm);
        measured.iter().fold([0.0; 3], |mut by_cell, cell| {
            by_cell[cell.cell] = cell.rsrp_dbm;
            by_cell
        })
    };
    let [own, next, _] = rsrp_dbm;
    for (condition, is_reported, cells) in [
        (EventCondition::A1 { threshold_dbm: own - 2.0 }, true, vec![]),
        (EventCondition::A1 { threshold_dbm: own + 2.0 }, false, vec![]),
        (EventCondition::A2 { threshold_dbm: own + 2.0 }, true, vec![]),
        (EventCondition::A2 { threshold_dbm: own - 2.0 }, false, vec![]),
        (EventCondition::A3 { offset_db: next - own - 2.0 }, true, vec![1]),
        (EventCondition::A3 { offset_db: next - own }, false, vec![]),
        (EventCondition::A4 { threshold_dbm: next - 2.0 }, true, vec![1]),
        (EventCondition::A5 { serving_dbm: own + 2.0, neighbour_dbm: next - 2.0 }, true, vec![1]),
        (EventCondition::A5 { serving_dbm: own, neighbour_dbm: next - 2.0 }, false, vec![]),
        (EventCondition::B1 { threshold_dbm: -150.0 }, false, vec![]),
    ] {
        let mut network = row(3, HandoverConfig::default());
        add_moving(&mut network, 0, 200.0, 0.0);
        let reports = report_of(&mut network, condition, 500);
        assert_eq!(reports.len(), usize::from(is_reported), "{condition:?}");
        if let Some(report) = reports.first() {
            assert_eq!((report.id, report.serving.cell, report.ue.number), (1, 0, 0));
            let mut reported: Vec<usize> = report.neighbours.iter().map(|cell| cell.cell).collect();
            reported.truncate(cells.len().max(1));
            assert_eq!(reported, cells, "{condition:?}");
        }
    }
}

#[test]
fn reports_are_periodic_and_only_while_wanted() {
    let mut network = row(3, HandoverConfig::default());
    add_moving(&mut network, 0, 200.0, 0.0);
    let report_interval = Some(Duration::from_millis(240));
    network.set_measurement(MeasurementConfig { report_interval, ..MeasurementConfig::default() });
    network.advance(ms(1000));
    assert_eq!(network.take_reports(0).count(), 0, "reports are off");
    network.set_reporting(0, true);
    network.advance(ms(3410));
    let reports: Vec<_> = network.take_reports(0).collect();
    assert_eq!(reports.len(), 10);
    assert!(reports.iter().all(|report| report.neighbours.len() == 2 && report.id == 1));
    network.set_reporting(0, false);
    network.advance(ms(4000));
    assert_eq!(network.take_reports(0).count(), 0);
}

/// A neighbour on another carrier is measured in gaps: a result takes eight of them, 40 ms apart.
#[test]
fn neighbour_on_another_carrier_is_measured_later() {
    let other = crate::phy::Carrier { frequency_mhz: 2600.0, ..Default::default() };
    let configs = [CellConfig::default(), CellConfig { carrier: other, ..CellConfig::default() }];
    let first_report = |configs: [CellConfig; 2]| {
        let mut network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
        add_moving(&mut network, 0, 300.0, 0.0);
        let condition = EventCondition::A4 { threshold_dbm: -150.0 };
        let event = MeasurementEvent { condition, hysteresis_db: 0.0, time_to_trigger: Duration::ZERO };
        network.set_measurement(MeasurementConfig { events: vec![event], ..MeasurementConfig::default() });
        network.set_reporting(0, true);
        (1..100).map(|epoch| 10 * epoch).find(|at| {
            network.advance(ms(*at));
            network.take_reports(0).count() > 0
        })
    };
    let (same, other) = (first_report(Default::default()).unwrap(), first_report(configs).unwrap());
    assert_eq!(other - same, 280, "the eighth gap after the first sample");
}

#[test]
fn cell_individual_offset_moves_the_border() {
    let crossing_ms = |offset_db: f64, is_allowed| {
        let mut network = row(2, HandoverConfig { a3_offset_db: Some(2.0), ..HandoverConfig::default() });
        network.set_cell_relation(0, 1, offset_db, is_allowed);
        assert_eq!(network.cell_relation(0, 1), (offset_db, is_allowed));
        add_moving(&mut network, 0, 100.0, 30.0);
        (1..1500).map(|epoch| 10 * epoch).find(|at| {
            network.advance(ms(*at));
            network.mobility_counts(0).executions_succeeded > 0
        })
    };
    let early = crossing_ms(6.0, true).unwrap();
    let normal = crossing_ms(0.0, true).unwrap();
    assert!(early + 300 < normal, "{early} and {normal} ms");
    assert_eq!(crossing_ms(6.0, false), None, "handovers are prohibited");
    let mut network = row(2, HandoverConfig::default());
    network.set_cell_relation(0, 1, 0.0, false);
    add(&mut network, 0, 15.0, Time::START, None);
    network.advance(ms(50));
    assert_eq!(network.hand_over(0, 0, 1), Err(HandoverError::Prohibited));
}

#[test]
fn offset_changes_while_the_model_runs() {
    let mut network = row(2, HandoverConfig { a3_offset_db: Some(2.0), ..HandoverConfig::default() });
    add_moving(&mut network, 0, 450.0, 0.0);
    network.set_a3(Some(60.0), 0.0, Duration::from_millis(40));
    network.advance(ms(1000));
    assert_eq!(network.mobility_counts(0).executions_requested, 0);
    network.set_a3(Some(-60.0), 0.0, Duration::from_millis(40));
    network.advance(ms(1200));
    assert!(network.mobility_counts(0).executions_requested > 0);
}

/// The UE leaves by itself when the execution condition holds, without a command.
#[test]
fn prepared_ue_executes_the_handover_by_itself() {
    for a5 in [None, Some(A5Thresholds { serving_dbm: -60.0, neighbour_dbm: -110.0 })] {
        let conditional = Some(ConditionalConfig { a5, ..ConditionalConfig::default() });
        let handover =
            HandoverConfig { a3_offset_db: Some(2.0), conditional, is_automatic: false, ..HandoverConfig::default() };
        let mut network = row(2, handover);
        add_moving(&mut network, 0, 100.0, 30.0);
        network.advance(ms(15_000));
        let arrived = network.take_events(1).filter(|event| {
            matches!(event, NetworkEvent::Arrived { cause: ArrivalCause::ConditionalHandover, from: Some((0, _)), .. })
        });
        assert!(arrived.count() > 0, "{a5:?}");
        let counts = network.mobility_counts(0);
        assert!(counts.conditional_preparations_succeeded > 0 && counts.conditional_ues > 0, "{counts:?}");
        assert!(counts.conditional_executions_succeeded > 0 && counts.preparations_requested == 0, "{counts:?}");
    }
}

/// A UE passes the mast of its cell: before and after, a neighbour that never fulfils the condition is near, and is prepared.
#[test]
fn candidate_is_cancelled_when_it_is_no_longer_near() {
    let conditional = Some(ConditionalConfig { preparation_margin_db: 55.0, ..ConditionalConfig::default() });
    let handover =
        HandoverConfig { a3_offset_db: Some(30.0), conditional, is_automatic: false, ..HandoverConfig::default() };
    let mut network = row(2, handover);
    add_moving(&mut network, 0, -290.0, 30.0);
    network.advance(ms(18_000));
    let steps: Vec<bool> = network
        .take_events(0)
        .filter_map(|event| match event {
            NetworkEvent::HandoverPrepared { to: 1, is_conditional: true, refusal: None, .. } => Some(true),
            NetworkEvent::HandoverCancelled { to: 1, is_conditional: true, cause: CancelCause::Unwanted, .. } => {
                Some(false)
            }
            _ => None,
        })
        .collect();
    // shadowing may move it over the border more than once
    assert!(steps.len() >= 3, "{steps:?}");
    assert!(steps.iter().enumerate().all(|(at, is_prepared)| *is_prepared == (at % 2 == 0)), "in turn: {steps:?}");
}

fn a3(offset_db: f64) -> MeasurementEvent {
    MeasurementEvent {
        condition: EventCondition::A3 { offset_db },
        hysteresis_db: 0.0,
        time_to_trigger: Duration::from_millis(160),
    }
}

/// The time of the first handover of a UE that walks from cell 0 to cell 1, after `change`.
fn handover_ms(handover: HandoverConfig, change: impl Fn(&mut Network)) -> Option<u64> {
    let mut network = row(2, handover);
    add_moving(&mut network, 0, 100.0, 30.0);
    network.advance(ms(20));
    change(&mut network);
    (3..1500).map(|epoch| 10 * epoch).find(|at| {
        network.advance(ms(*at));
        let counts = network.mobility_counts(0);
        counts.executions_requested + counts.conditional_executions > 0
    })
}

#[test]
fn ue_has_its_own_event_of_handovers() {
    let handover = HandoverConfig { a3_offset_db: Some(2.0), ..HandoverConfig::default() };
    let normal = handover_ms(handover, |_| {}).unwrap();
    let with = |handover, event| {
        handover_ms(handover, |network| {
            network.change_measurement(0, 0, HANDOVER_MEASUREMENT, ReportTrigger::Event(event)).unwrap();
        })
    };
    assert_eq!(with(handover, a3(2.0)), Some(normal), "the same event");
    assert!(with(handover, a3(8.0)).unwrap() > normal + 300);
    let slow = MeasurementEvent { time_to_trigger: Duration::from_millis(1280), ..a3(2.0) };
    let delay_ms = with(handover, slow).unwrap() - normal;
    assert_eq!(delay_ms, 1280 - 160);
    // in a cell without handovers by measurements too, whose UEs take the first sample of an interval of 40 ms later
    assert!(with(HandoverConfig::default(), a3(2.0)).unwrap().abs_diff(normal) <= 40);
    assert_eq!(handover_ms(HandoverConfig::default(), |_| {}), None);
    let none = handover_ms(handover, |network| network.remove_measurement(0, 0, HANDOVER_MEASUREMENT).unwrap());
    assert_eq!(none, None);
}

#[test]
fn measurements_of_a_ue_are_added_changed_and_removed() {
    let mut network = row(2, HandoverConfig::default());
    add_moving(&mut network, 0, 100.0, 0.0);
    add_moving(&mut network, 0, 100.0, 0.0);
    network.set_measurement(MeasurementConfig { events: vec![a3(60.0)], ..MeasurementConfig::default() });
    network.set_reporting(0, true);
    network.advance(ms(20));
    let every = |interval_ms| ReportTrigger::Periodic(Duration::from_millis(interval_ms));
    assert_eq!(network.add_measurement(0, 0, every(120)), Ok(2), "the first free identity");
    assert_eq!(network.measurements_of(0, 0), [(1, ReportTrigger::Event(a3(60.0))), (2, every(120))]);
    assert_eq!(network.measurements_of(0, 1), [(1, ReportTrigger::Event(a3(60.0)))]);
    network.advance(ms(1300));
    let reports: Vec<_> = network.take_reports(0).collect();
    assert_eq!(reports.len(), 10);
    assert!(reports.iter().all(|report| (report.id, report.ue.index, report.neighbours.len()) == (2, 0, 1)));
    network.change_measurement(0, 0, 2, every(480)).unwrap();
    network.advance(ms(2300));
    assert_eq!(network.take_reports(0).count(), 2);
    network.remove_measurement(0, 0, 2).unwrap();
    network.advance(ms(3300));
    assert_eq!(network.take_reports(0).count(), 0);

    let unknown = MeasurementError::UnknownMeasurement;
    assert_eq!(network.remove_measurement(0, 0, 2), Err(unknown(2)));
    assert_eq!(network.change_measurement(0, 1, 9, every(120)), Err(unknown(9)));
    assert_eq!(network.remove_measurement(0, 1, HANDOVER_MEASUREMENT), Err(unknown(HANDOVER_MEASUREMENT)));
    assert_eq!(network.add_measurement(0, 7, every(120)), Err(MeasurementError::UnknownUe));
    for trigger in [
        every(120),
        ReportTrigger::Event(MeasurementEvent { condition: EventCondition::A1 { threshold_dbm: -90.0 }, ..a3(0.0) }),
    ] {
        let refused = network.change_measurement(0, 0, HANDOVER_MEASUREMENT, trigger);
        assert_eq!(refused, Err(MeasurementError::NotForHandovers));
    }
    for _ in 2..=MAX_MEASUREMENT {
        network.add_measurement(0, 0, every(120)).unwrap();
    }
    assert_eq!(network.add_measurement(0, 0, every(120)), Err(MeasurementError::TooMany));
}

#[test]
fn ordered_conditional_handover_is_executed_by_the_ue() {
    let a3_handover = HandoverConfig { a3_offset_db: Some(2.0), ..HandoverConfig::default() };
    let normal = handover_ms(a3_handover, |_| {}).unwrap();
    let order = |event| {
        handover_ms(HandoverConfig::default(), move |network| {
            network.order_conditional_handover(0, 0, 1, Some(event)).unwrap();
        })
    };
    // within the sampling interval
    assert!(order(a3(2.0)).unwrap().abs_diff(normal) <= 40);
    assert!(order(a3(8.0)).unwrap() > normal + 300);

    let mut network = row(2, HandoverConfig::default());
    add_moving(&mut network, 0, 100.0, 30.0);
    network.advance(ms(20));
    assert_eq!(network.order_conditional_handover(0, 0, 1, None), Err(HandoverError::NoCondition));
    assert_eq!(network.order_conditional_handover(0, 0, 0, Some(a3(2.0))), Err(HandoverError::SameCell));
    let a4 = MeasurementEvent { condition: EventCondition::A4 { threshold_dbm: -150.0 }, ..a3(0.0) };
    assert_eq!(network.order_conditional_handover(0, 0, 1, Some(a4)), Err(HandoverError::WrongCondition));
    network.order_conditional_handover(0, 0, 1, Some(a3(2.0))).unwrap();
    let counts = network.mobility_counts(0);
    let prepared = (counts.conditional_preparations_requested, counts.conditional_preparations_succeeded);
    assert_eq!((prepared, counts.conditional_ues), ((1, 1), 1));
    network.advance(ms(15_000));
    let counts = *network.mobility_counts(0);
    assert_eq!((counts.conditional_executions_succeeded, counts.executions_requested), (1, 0));
    let is_conditional = |event: &NetworkEvent| {
        matches!(event, NetworkEvent::Arrived { cause: ArrivalCause::ConditionalHandover, from: Some((0, _)), .. })
    };
    assert_eq!(network.take_events(1).filter(is_conditional).count(), 1);
}

#[test]
fn cancelled_conditional_handover_is_not_executed() {
    let cancelled = handover_ms(HandoverConfig::default(), |network| {
        network.order_conditional_handover(0, 0, 1, Some(a3(2.0))).unwrap();
        assert!(network.cancel_conditional_handover(0, 0));
        assert!(!network.cancel_conditional_handover(0, 0));
    });
    assert_eq!(cancelled, None);
}
