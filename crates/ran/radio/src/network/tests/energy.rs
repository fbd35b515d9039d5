//! Cells that save energy.

use super::*;
use crate::{PowerCategory, PowerModel, PowerState, ReferenceSet, SleepDepth};

/// Cells with a power model.
fn with_power(cells: usize, power: PowerModel, handover: HandoverConfig) -> Network {
    let configs = (0..cells).map(|_| CellConfig { power, ..CellConfig::default() });
    Network::new(configs, handover, NonZeroUsize::MIN).unwrap()
}

/// The power states that a cell has entered since the last call.
fn entered(network: &mut Network, cell: usize) -> Vec<PowerState> {
    let state = |event| if let NetworkEvent::PowerState(state) = event { Some(state) } else { None };
    network.take_events(cell).filter_map(state).collect()
}

/// The mean power in W from now until `until`.
fn mean_w(network: &mut Network, cell: usize, until: Time) -> f64 {
    let (before_j, from) = (network.cell(cell).energy_j(), network.cell(cell).now());
    network.advance(until);
    let seconds = network.cell(cell).now().since(from).as_secs_f64();
    (network.cell(cell).energy_j() - before_j) / seconds
}

#[test]
fn cell_moves_its_ues_sleeps_and_wakes() {
    let mut network = network(2, 1);
    (0..6).for_each(|_| add(&mut network, 0, 15.0, Time::START, None));
    network.advance(ms(500));
    assert_eq!(entered(&mut network, 0), []);
    network.cell_mut(0).set_energy_saving(true);
    assert!(!network.cell(0).admits_ues() && network.cell(0).is_on_air());
    network.advance(ms(1500));
    assert_eq!((network.cell(0).ue_count(), network.cell(1).ue_count()), (0, 6));
    assert_eq!(entered(&mut network, 0), [PowerState::FallingAsleep, PowerState::Asleep]);
    assert_eq!(network.hand_over(1, 0, 0), Err(HandoverError::CellLocked));
    let counts = network.mobility_counts(0);
    assert_eq!((counts.executions_succeeded, counts.released_asleep, counts.sleeps), (6, 0, 1));
    for (_, ue) in network.cell(1).ues() {
        assert_eq!(ue.flows()[0].counts().downlink.lost_packets, 0);
    }
    // 25 ms until it is on
    network.cell_mut(0).set_energy_saving(false);
    network.advance(ms(1520));
    assert_eq!(network.cell(0).power_state(), PowerState::WakingUp);
    assert!(!network.cell(0).admits_ues());
    network.advance(ms(1540));
    assert_eq!(entered(&mut network, 0), [PowerState::WakingUp, PowerState::On]);
    assert_eq!(network.hand_over(1, 0, 0), Ok(()));
    network.advance(ms(2000));
    assert_eq!(network.cell(0).ue_count(), 1);
}

#[test]
fn ues_without_a_neighbour_are_lost_after_the_grace() {
    let handover = HandoverConfig { shutdown_grace: Duration::from_secs(2), ..HandoverConfig::default() };
    let mut network = with_power(1, PowerModel::default(), handover);
    (0..3).for_each(|_| add(&mut network, 0, 15.0, Time::START, None));
    network.advance(ms(500));
    network.cell_mut(0).set_energy_saving(true);
    network.advance(ms(2400));
    assert_eq!((network.cell(0).ue_count(), network.cell(0).power_state()), (3, PowerState::On), "they are served");
    network.advance(ms(2600));
    assert_eq!((network.cell(0).ue_count(), network.cell(0).power_state()), (0, PowerState::Asleep));
    let causes = network
        .take_events(0)
        .filter(|event| matches!(event, NetworkEvent::Departed { cause, .. } if *cause == DepartureCause::CellAsleep));
    assert_eq!(causes.count(), 3);
    assert_eq!(network.mobility_counts(0).released_asleep, 3);
    assert!(network.ue_states().all(|(_, state)| state == UeState::Released));
    // an order that is revoked before the end of the grace has no further effect
    network.cell_mut(0).set_energy_saving(false);
    network.advance(ms(4000));
    assert_eq!(network.cell(0).ue_count(), 3);
    network.cell_mut(0).set_energy_saving(true);
    network.advance(ms(5000));
    network.cell_mut(0).set_energy_saving(false);
    network.advance(ms(9000));
    assert_eq!((network.cell(0).ue_count(), network.mobility_counts(0).released_asleep), (3, 3));
}

/// The power of each state and the energy of the transitions, by the tables of TR 38.864.
#[test]
fn sleep_and_transitions_have_their_power() {
    let watts = |power: &PowerModel, relative: f64| relative * power.full_load_w / power.downlink;
    for category in [PowerCategory::One, PowerCategory::Two] {
        let deep = PowerModel::new(category, ReferenceSet::One);
        for (power, state) in [(deep, deep.deep), (PowerModel { sleep: SleepDepth::Light, ..deep }, deep.light)] {
            let mut network = with_power(1, power, HandoverConfig::default());
            network.advance(ms(20));
            network.cell_mut(0).set_energy_saving(true);
            let start_j = network.cell(0).energy_j();
            network.advance(ms(20_020));
            assert_eq!(network.cell(0).power_state(), PowerState::Asleep);
            let asleep_w = mean_w(&mut network, 0, ms(21_020));
            assert!((asleep_w - watts(&power, state.power)).abs() < 1e-9, "{asleep_w} W");
            network.cell_mut(0).set_energy_saving(false);
            let end = ms(21_020) + state.transition / 2;
            network.advance(end);
            let spent_j = network.cell(0).energy_j() - start_j;
            let expected_j = watts(&power, state.power) * end.since(ms(20)).as_secs_f64()
                + watts(&power, state.transition_energy) / 1e3;
            assert!((spent_j / expected_j - 1.0).abs() < 0.001, "{spent_j} and not {expected_j} J");
            network.advance(end + Duration::from_millis(20));
            assert_eq!(network.cell(0).power_state(), PowerState::On);
        }
    }
}

#[test]
fn locked_cell_sleeps() {
    let mut network = network(1, 1);
    add(&mut network, 0, 15.0, Time::START, None);
    let idle_w = mean_w(&mut network, 0, ms(500));
    network.cell_mut(0).set_locked(true);
    network.advance(ms(1000));
    assert_eq!(network.cell(0).power_state(), PowerState::Asleep);
    let locked_w = mean_w(&mut network, 0, ms(2000));
    assert!(locked_w < 0.02 * idle_w, "{locked_w} and {idle_w} W");
    network.cell_mut(0).set_locked(false);
    network.advance(ms(4000));
    assert_eq!(network.cell(0).ue_count(), 1);
}

/// UEs between two cells, of which the stronger one sleeps: it is not measured, and they come back when it is on.
#[test]
fn sleeping_cell_is_not_measured() {
    let config = CellConfig::default();
    let grid = config.carrier.check().unwrap();
    let sites: Arc<[Site]> = [0.0, 600.0].map(|x_m| Site::new(&grid, Position { x_m, y_m: 0.0 })).into_iter().collect();
    let handover = HandoverConfig { a3_offset_db: Some(3.0), ..HandoverConfig::default() };
    let mut network = Network::new([config.clone(), config], handover, NonZeroUsize::MIN).unwrap();
    network.set_reporting(1, true);
    let area = Area { min: Position { x_m: -100.0, y_m: -100.0 }, max: Position { x_m: 700.0, y_m: 100.0 } };
    for number in 0..8 {
        let mut random = Random::new(5, number);
        let place = Position { x_m: 100.0 + 20.0 * number as f64, y_m: 0.0 };
        let ue = MobileUe::new(area, place, Motion::Still).unwrap();
        let geometry = Geometry::new(sites.clone(), 0, UeRadio::default(), ue, &mut random).unwrap();
        let config = network.cell(0).config();
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let channel = Channel::Geometry(Box::new(geometry));
        let ue = Ue::new(number, Subscription::default(), address, channel, random, config);
        network.add(0, ue, Time::START, None).unwrap();
    }
    network.advance(ms(3000));
    let near = network.cell(0).ue_count();
    assert!(near > 4, "{near} UEs");
    network.cell_mut(0).set_energy_saving(true);
    network.advance(ms(6000));
    assert_eq!((network.cell(0).ue_count(), network.cell(1).ue_count()), (0, 8));
    let index = network.cell(1).ues().next().unwrap().0;
    assert_eq!(network.measured(1, index).iter().map(|cell| cell.cell).collect::<Vec<_>>(), [1]);
    let counts = network.mobility_counts(1);
    assert_eq!((counts.preparations_requested, counts.link_failures), (0, 0));
    network.cell_mut(0).set_energy_saving(false);
    network.advance(ms(12_000));
    assert_eq!(network.cell(0).ue_count(), near);
}

/// 20 lg of the share of the transceivers is lost, and no UE has more layers than transceivers.
#[test]
fn muted_transceivers_cost_sinr_and_layers() {
    use crate::phy::Carrier;

    let carrier = Carrier { downlink_layers: 4, ..Carrier::default() };
    let config = CellConfig { carrier, ..CellConfig::default() };
    let mut network = Network::new([config], HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    add(&mut network, 0, 70.0, Time::START, None);
    network.advance(ms(200));
    let link = |network: &Network| {
        let link = network.cell(0).ue(0).unwrap().downlink();
        (link.layers(), link.sinr_db())
    };
    assert_eq!(link(&network), (4, 70.0));
    for (active, layers) in [(32, 4), (2, 2), (1, 1), (64, 4)] {
        network.cell_mut(0).set_active_transceivers(active);
        network.advance(network.cell(0).now() + Duration::from_millis(100));
        let loss_db = 20.0 * (64.0 / f64::from(active)).log10();
        let (found, sinr_db) = link(&network);
        assert_eq!(found, layers, "{active}");
        assert!((sinr_db - (70.0 - loss_db)).abs() < 1e-9, "{active}: {sinr_db} dB");
        assert_eq!(network.cell(0).ue(0).unwrap().uplink().sinr_db(), 70.0);
    }
}

#[test]
fn energy_is_independent_of_threads_and_step_size() {
    let run = |threads, step_ms| {
        let mut network = network(3, threads);
        (0..12).for_each(|n| add(&mut network, n % 3, 12.0, ms(n as u64 * 7), None));
        for at in (0..2000).step_by(step_ms) {
            network.advance(ms(at as u64));
            if at == 500 || at == 1500 {
                network.cell_mut(1).set_energy_saving(at == 500);
            }
        }
        network.advance(ms(2000));
        (0..3)
            .map(|cell| (network.cell(cell).energy_j().to_bits(), network.cell(cell).power_range_w(ms(300))))
            .collect::<Vec<_>>()
    };
    let expected = run(1, 500);
    assert_eq!(run(1, 10), expected);
    assert_eq!(run(3, 50), expected);
}
