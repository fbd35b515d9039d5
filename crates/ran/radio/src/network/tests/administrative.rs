//! Cells that are locked or shutting down.

use super::*;
use crate::AdministrativeState;

fn states(network: &Network) -> Vec<UeState> {
    let mut states: Vec<_> = network.ue_states().map(|(ue, state)| (ue.number(), state)).collect();
    states.sort_unstable_by_key(|(number, _)| *number);
    states.into_iter().map(|(_, state)| state).collect()
}

#[test]
fn locked_cell_refuses_handovers() {
    for state in [AdministrativeState::Locked, AdministrativeState::ShuttingDown] {
        let mut network = network(2, 1);
        add(&mut network, 0, 15.0, Time::START, None);
        network.advance(ms(50));
        network.cell_mut(1).set_administrative_state(state);
        assert_eq!(network.hand_over(0, 0, 1), Err(HandoverError::CellLocked));
        network.advance(ms(500));
        assert_eq!((network.cell(0).ue_count(), network.cell(1).ue_count()), (1, 0));
        let [source, target] = [0, 1].map(|cell| *network.mobility_counts(cell));
        assert_eq!((source.preparations_requested, source.preparations_failed_locked), (1, 1));
        assert_eq!((target.allocations_requested, target.allocations_failed), (1, 1));
    }
}

#[test]
fn ues_of_a_locked_cell_are_handed_over() {
    let mut network = network(3, 1);
    (0..40).for_each(|_| add(&mut network, 0, 15.0, Time::START, None));
    network.advance(ms(500));
    network.cell_mut(0).set_locked(true);
    network.advance(ms(1500));
    // cells of equal strength share the UEs
    let counts: Vec<usize> = (0..3).map(|cell| network.cell(cell).ue_count()).collect();
    assert_eq!(counts, [0, 20, 20]);
    let counts = network.mobility_counts(0);
    assert_eq!((counts.executions_succeeded, counts.executions_failed, counts.released_locked), (40, 0, 0));
    // no packet is lost
    network.advance(ms(3000));
    for (_, ue) in network.cell(1).ues().chain(network.cell(2).ues()) {
        assert_eq!(ue.flows()[0].counts().downlink.lost_packets, 0);
    }
}

#[test]
fn ues_without_a_neighbour_are_released_and_return() {
    let mut network = network(1, 1);
    (0..5).for_each(|_| add(&mut network, 0, 15.0, Time::START, None));
    network.advance(ms(500));
    network.cell_mut(0).set_locked(true);
    network.advance(ms(520));
    assert_eq!(states(&network), [UeState::Released; 5]);
    assert_eq!(network.mobility_counts(0).released_locked, 5);
    let departed = events(&mut network, 0).into_iter().filter(|event| matches!(event, Event::Departed(..))).count();
    assert_eq!(departed, 5);
    network.advance(ms(3000));
    assert_eq!(states(&network), [UeState::Released; 5]);
    network.cell_mut(0).set_locked(false);
    network.advance(ms(4000));
    assert_eq!(states(&network), [UeState::Connected { cell: 0 }; 5]);
    let counts = network.mobility_counts(0);
    assert_eq!((counts.setups_attempted, counts.setups_succeeded), (10, 10));
    assert!(network.cell(0).ues().all(|(_, ue)| ue.flows()[0].counts().downlink.lost_packets > 0), "packets of 2.5 s");
}

#[test]
fn cell_that_shuts_down_serves_its_ues_for_the_grace() {
    let mut network = network(1, 1);
    add(&mut network, 0, 15.0, Time::START, None);
    network.advance(ms(500));
    network.cell_mut(0).set_administrative_state(AdministrativeState::ShuttingDown);
    let received = |network: &Network| network.cell(0).ue(0).unwrap().flows()[0].counts().downlink.received_packets;
    let before = received(&network);
    network.advance(ms(10_000));
    assert!(received(&network) > before && !network.cell(0).is_locked());
    network.advance(ms(10_600));
    assert!(network.cell(0).is_locked());
    assert_eq!(states(&network), [UeState::Released]);
    // an empty cell is locked at once
    network.cell_mut(0).set_administrative_state(AdministrativeState::ShuttingDown);
    network.advance(ms(10_620));
    assert!(network.cell(0).is_locked());
}

#[test]
fn new_ue_of_a_locked_cell_selects_another_cell() {
    let mut network = network(2, 1);
    network.cell_mut(0).set_locked(true);
    add(&mut network, 0, 15.0, ms(100), None);
    network.advance(ms(1000));
    assert_eq!(states(&network), [UeState::Connected { cell: 1 }]);
    let counts = network.mobility_counts(0);
    assert_eq!((counts.setups_attempted, counts.setups_failed_rejected, counts.setups_succeeded), (1, 1, 0));
}

#[test]
fn target_that_is_locked_during_a_handover_fails_it() {
    let mut network = network(3, 1);
    add(&mut network, 0, 15.0, Time::START, None);
    network.advance(ms(100));
    network.hand_over(0, 0, 1).unwrap();
    network.cell_mut(1).set_locked(true);
    network.advance(ms(1000));
    assert_eq!(states(&network), [UeState::InTransit { to: 1 }]);
    network.advance(ms(2000));
    let connected = states(&network);
    assert!(matches!(connected[..], [UeState::Connected { cell: 0 | 2 }]), "{connected:?}");
    assert_eq!(network.mobility_counts(0).executions_failed, 1);
}
