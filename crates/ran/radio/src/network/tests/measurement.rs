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
