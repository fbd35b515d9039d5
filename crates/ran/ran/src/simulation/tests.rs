//! The times of reads do not affect the model.

use super::*;
use crate::scenario::Scenario;

const START: Time = Time::from_nanos(3_000_000_007);

/// Cells on different carriers, which do not interfere and have times of their own.
fn with_own_carriers(cells: u16, ues_each: u16, seed: u64) -> Scenario {
    let mut scenario = Scenario::with_mixed_traffic(cells, ues_each, seed);
    for (number, cell) in (0..).zip(&mut scenario.cells) {
        cell.radio.carrier.frequency_mhz += 50.0 * f64::from(number);
    }
    scenario
}

fn after(ms: u64) -> Time {
    START + Duration::from_millis(ms)
}

fn counts(simulation: &RanSimulation, cell: usize) -> Vec<radio::UeCounts> {
    let cell = simulation.model.network.cell(cell);
    (0..cell.ue_indices()).filter_map(|place| cell.counts(place)).collect()
}

/// The model after reads at the given times, and a last one.
fn counts_after_reads(scenario: &Scenario, reads_ms: impl Iterator<Item = u64>) -> Vec<Vec<radio::UeCounts>> {
    let simulation = RanSimulation::new(scenario).unwrap();
    let mut simulation = simulation.borrow_mut();
    for ms in [0].into_iter().chain(reads_ms).chain([3000]) {
        simulation.advance(after(ms));
    }
    [0, 1].map(|cell| counts(&simulation, cell)).to_vec()
}

#[test]
fn read_times_do_not_affect_the_model() {
    let always_on = Scenario { is_always_on: true, ..with_own_carriers(2, 8, 3) };
    for scenario in [always_on, with_own_carriers(2, 8, 3), Scenario::with_mixed_traffic(2, 8, 3)] {
        let rarely = counts_after_reads(&scenario, std::iter::empty());
        assert!(rarely.iter().flatten().any(|ue| ue.dl_rlc.delivered_packets > 0));
        assert_eq!(counts_after_reads(&scenario, 1..3000), rarely);
        assert_eq!(counts_after_reads(&scenario, (0..200).map(|at| at * at / 14)), rarely);
    }
}

#[test]
fn invalid_handovers_are_refused() {
    let simulation = RanSimulation::new(&Scenario::with_mixed_traffic(2, 1, 1)).unwrap();
    let mut simulation = simulation.borrow_mut();
    simulation.advance(after(0));
    assert_eq!(simulation.hand_over(0, 0, 2), Err(HandoverError::UnknownCell));
    assert_eq!(simulation.hand_over(0, 0, 0), Err(HandoverError::SameCell));
    assert_eq!(simulation.hand_over(0, 7, 1), Err(HandoverError::UnknownUe));
}

#[test]
fn steps_replace_the_clock() {
    let simulation = RanSimulation::new(&Scenario { speed: 7.0, ..Scenario::with_mixed_traffic(2, 8, 3) }).unwrap();
    let mut simulation = simulation.borrow_mut();
    let steps = Steps::default();
    simulation.set_steps(steps.clone());
    simulation.advance(after(0));
    assert_eq!(simulation.now(0), radio::Time::START, "the limit is 0");
    for ms in [1, 250, 40, 3000] {
        steps.allow_until(radio::Time::from_millis(ms));
        // the clock stops, or advances by hours
        simulation.advance(after(0));
        simulation.advance(after(3_600_000 * ms));
    }
    assert_eq!(steps.until(), radio::Time::from_millis(3000), "the limit does not fall");
    assert_eq!([0, 1].map(|cell| simulation.now(cell)), [radio::Time::from_millis(3000); 2]);
    let mut at_once = Model::new(&Scenario::with_mixed_traffic(2, 8, 3)).unwrap();
    at_once.advance(radio::Time::from_millis(3000));
    let came = |network: &radio::Network| {
        let counts = |cell: &radio::Cell| (0..cell.ue_indices()).filter_map(|at| cell.counts(at)).collect::<Vec<_>>();
        [0, 1].map(|cell| counts(network.cell(cell)))
    };
    assert_eq!(came(&simulation.model.network), came(&at_once.network));
}

/// No controller is connected before the first read: until then handovers need no decision.
#[test]
fn ues_change_cells_during_the_warm_up() {
    let mut scenario = Scenario { warm_up: Duration::from_secs(30), ..Scenario::with_mixed_traffic(3, 8, 2) };
    scenario.handover.a3_offset_db = Some(3.0);
    for ue in &mut scenario.ues {
        let motion =
            radio::phy::Motion::RandomWaypoint { min_speed_m_per_s: 30.0, max_speed_m_per_s: 30.0, pause_s: 0.0 };
        let position = Some(radio::phy::Position { x_m: 1000.0 * ue.cell as f64 + 50.0, y_m: 30.0 });
        ue.channel =
            crate::scenario::ChannelScenario::Geometry { position, motion, radio: radio::phy::UeRadio::default() };
    }
    let simulation = RanSimulation::new(&scenario).unwrap();
    let mut simulation = simulation.borrow_mut();
    simulation.advance(after(0));
    assert!(simulation.now(0) >= radio::Time::from_millis(30_000));
    let (mut there, mut away) = (0, 0);
    for cell in 0..3 {
        for (_, ue) in simulation.model.network.cell(cell).ues() {
            let geometry = ue.channel().geometry().unwrap();
            let best_dbm = (0..3).map(|site| geometry.rsrp_dbm(site)).fold(f64::MIN, f64::max);
            assert!(
                best_dbm < geometry.rsrp_dbm(cell) + 6.0,
                "UE {} is in a cell that it receive_from_neighbour badly",
                ue.number()
            );
            (there, away) = (there + 1, away + u32::from(ue.number() as usize / 8 != cell));
        }
    }
    assert!(there > 20 && away > 5, "{away} of {there}");
    // afterwards handovers need a decision, and are reported
    simulation.advance(after(20_000));
    let wants = |happening: radio::NetworkEvent| matches!(happening, radio::NetworkEvent::HandoverTriggered { .. });
    assert!((0..3).any(|cell| simulation.model.network.take_events(cell).any(wants)));
}

/// Every UE receives every cell: their number has no effect but that of their own power (6 km away and more: below 1 dB).
#[test]
fn further_cell_does_not_remove_interference() {
    let sinr_db = |cells: u16| {
        let mut scenario = Scenario::with_mixed_traffic(cells, 1, 2);
        for (number, ue) in scenario.ues.iter_mut().enumerate() {
            let x_m = 1000.0 * ue.cell as f64 + if number == 0 { 480.0 } else { 20.0 };
            let position = Some(radio::phy::Position { x_m, y_m: 0.0 });
            ue.channel = crate::scenario::ChannelScenario::Geometry {
                position,
                motion: radio::phy::Motion::Still,
                radio: radio::phy::UeRadio::default(),
            };
            let specification = &mut ue.flows[0].specification;
            specification.kind = radio::traffic::Kind::ConstantBitRate { rate_bps: 400_000_000, packet_octets: 1400 };
        }
        let mut network = scenario.network().unwrap();
        network.advance(radio::Time::from_millis(2000));
        let counts = *network.cell(0).ue(0).unwrap().downlink().counts();
        counts.sinr_db / counts.reports as f64
    };
    let [seven, eight, twelve] = [7, 8, 12].map(sinr_db);
    assert!((seven - eight).abs() < 1.0 && (seven - twelve).abs() < 1.0, "{seven} {eight} {twelve}");
    assert!(seven < sinr_db(1) - 5.0);
}

#[test]
fn pace_counts_follow_the_clock() {
    let simulation = RanSimulation::new(&Scenario::with_mixed_traffic(2, 2, 1)).unwrap();
    let mut simulation = simulation.borrow_mut();
    simulation.advance(after(0));
    assert_eq!(simulation.pace_counts(), PaceCounts::default(), "the warm-up does not count");
    (1..=100).for_each(|tick| simulation.advance(after(5 * tick)));
    let counts = simulation.pace_counts();
    assert_eq!((counts.model, counts.skipped), (Duration::from_millis(500), Duration::ZERO));
    assert!(counts.longest <= counts.processing && counts.longest * 100 >= counts.processing, "{counts:?}");
    // the host stands still for two minutes, which the model leaves out but for its warm-up
    simulation.advance(after(500 + 120_000));
    let counts = simulation.pace_counts();
    let warm_up = Scenario::with_mixed_traffic(2, 2, 1).warm_up;
    assert_eq!(counts.skipped, Duration::from_secs(120) - warm_up);
    assert_eq!(counts.model, Duration::from_millis(500) + warm_up);
}
