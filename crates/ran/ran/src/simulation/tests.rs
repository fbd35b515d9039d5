//! The times of reads do not affect the model.

use super::*;
use crate::scenario::Scenario;

const START: Time = Time::from_nanos(3_000_000_007);

fn after(ms: u64) -> Time {
    START + Duration::from_millis(ms)
}

fn counts(simulation: &RanSimulation, cell: usize) -> Vec<radio::UeCounts> {
    let cell = simulation.model.network.cell(cell);
    (0..cell.ue_indices()).filter_map(|place| cell.counts(place)).collect()
}

/// The model after reads at the given times, and a last one.
fn counts_after_reads(is_always_on: bool, reads_ms: impl Iterator<Item = u64>) -> Vec<Vec<radio::UeCounts>> {
    let scenario = Scenario { is_always_on, ..Scenario::with_mixed_traffic(2, 8, 3) };
    let simulation = RanSimulation::new(&scenario).unwrap();
    let mut simulation = simulation.borrow_mut();
    for ms in [0].into_iter().chain(reads_ms).chain([3000]) {
        simulation.advance(after(ms));
    }
    [0, 1].map(|cell| counts(&simulation, cell)).to_vec()
}

#[test]
fn read_times_do_not_affect_the_model() {
    for is_always_on in [true, false] {
        let rarely = counts_after_reads(is_always_on, std::iter::empty());
        assert!(rarely.iter().flatten().any(|ue| ue.dl_rlc.delivered_packets > 0));
        assert_eq!(counts_after_reads(is_always_on, 1..3000), rarely);
        assert_eq!(counts_after_reads(is_always_on, (0..200).map(|at| at * at / 14)), rarely);
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
        let position = Some(radio::phy::Position { x_m: 500.0 * ue.cell as f64 + 50.0, y_m: 30.0 });
        ue.channel = crate::scenario::ChannelScenario::Geometry { position, motion };
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
