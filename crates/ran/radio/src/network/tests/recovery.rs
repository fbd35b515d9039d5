//! Radio link failures, random access, re-establishment, handover failures and their classification.

use super::*;
use crate::phy::{Trace, TraceEnd};

/// A network of cells in a row, 600 m apart, without UEs.
pub(super) fn row(cells: usize, handover: HandoverConfig) -> Network {
    Network::new((0..cells).map(|_| CellConfig::default()), handover, NonZeroUsize::MIN).unwrap()
}

/// Adds a UE at a position of a [`row`], which moves to the east.
pub(super) fn add_moving(network: &mut Network, cell: usize, x_m: f64, speed_m_per_s: f64) {
    let grid = network.cell(0).grid().clone();
    let at = |x_m: f64| Position { x_m, y_m: 0.0 };
    let count = network.cells();
    let sites: Arc<[Site]> = (0..count).map(|number| Site::new(&grid, at(600.0 * number as f64))).collect();
    let area = Area {
        min: Position { x_m: -300.0, y_m: -50.0 },
        max: Position { x_m: 600.0 * count as f64 - 300.0, y_m: 50.0 },
    };
    let motion = match speed_m_per_s {
        0.0 => Motion::Still,
        speed_m_per_s => Motion::Straight { speed_m_per_s, heading_deg: 90.0 },
    };
    let number = network.next_number();
    let mobile_ue = MobileUe::new(area, at(x_m), motion).unwrap();
    let mut random = Random::new(1, number);
    let geometry = Geometry::new(sites, cell, UeRadio::default(), mobile_ue, &mut random).unwrap();
    let channel = Channel::Geometry(Box::new(geometry));
    let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 0, 2)) + number as u32);
    let ue = Ue::new(number, Subscription::default(), address, channel, random, network.cell(cell).config());
    network.add(cell, ue, Time::START, None).unwrap();
}

/// Adds a UE whose SINR changes over time, given as (ms, dB).
fn add_trace(network: &mut Network, sinr_db: &[(u64, f64)]) {
    add(network, 0, 15.0, Time::START, None);
    network.advance(network.cell(0).now() + EPOCH * 2);
    let lines: String = sinr_db.iter().map(|(ms, db)| format!("{ms},{db}\n")).collect();
    let trace = Trace::parse(&lines, TraceEnd::Hold).unwrap();
    let index = network.cell(0).ues().last().unwrap().0;
    network.cell_mut(0).ue_mut(index).unwrap().set_channel(Channel::Trace(trace));
}

/// Whether an event is of the preparation of a handover.
fn is_preparation(event: &NetworkEvent) -> bool {
    matches!(event, NetworkEvent::HandoverPrepared { .. } | NetworkEvent::HandoverCancelled { .. })
}

fn state(network: &Network) -> UeState {
    network.ue_states().next().unwrap().1
}

#[test]
fn ue_re_establishes_its_connection_after_a_link_failure() {
    let mut network = row(1, HandoverConfig::default());
    add_trace(&mut network, &[(0, 10.0), (1000, -20.0), (2500, 10.0)]);
    network.advance(ms(2100));
    assert_eq!(state(&network), UeState::Connected { cell: 0 }, "T310 runs");
    network.advance(ms(2300));
    assert_eq!(state(&network), UeState::Reestablishing);
    network.advance(ms(3500));
    assert_eq!(state(&network), UeState::Connected { cell: 0 });
    let counts = network.mobility_counts(0);
    assert_eq!((counts.link_failures, counts.reestablishments_attempted, counts.reestablishments_succeeded), (1, 1, 1));
    assert_eq!((counts.too_late, counts.released_lost), (0, 0), "a hole in the coverage says nothing about handovers");
    // the packets have waited
    network.advance(ms(5000));
    let (_, ue) = network.cell(0).ues().next().unwrap();
    assert_eq!(ue.flows()[0].counts().downlink.lost_packets, 0);
}

#[test]
fn ue_is_released_when_the_re_establishment_fails() {
    let mut network = row(1, HandoverConfig::default());
    add_trace(&mut network, &[(0, 10.0), (1000, -20.0), (8000, 10.0)]);
    network.advance(ms(5000));
    assert_eq!(state(&network), UeState::Released);
    assert_eq!(network.mobility_counts(0).released_lost, 1);
    network.advance(ms(10_000));
    assert_eq!(state(&network), UeState::Connected { cell: 0 });
    let counts = network.mobility_counts(0);
    assert!(counts.setups_failed_no_reply > 0 && counts.setups_succeeded == 2, "{counts:?}");
}

#[test]
fn links_do_not_fail_when_monitoring_is_off() {
    let link = LinkFailureConfig { is_enabled: false, ..LinkFailureConfig::default() };
    let mut network = row(1, HandoverConfig { link, ..HandoverConfig::default() });
    add_trace(&mut network, &[(0, -20.0)]);
    network.advance(ms(5000));
    assert_eq!(state(&network), UeState::Connected { cell: 0 });
}

/// All UEs of a cell are handed over at the same time.
#[test]
fn many_handovers_at_once_lose_no_ue() {
    let mut network = row(2, HandoverConfig::default());
    (0..200).for_each(|_| add(&mut network, 0, 15.0, Time::START, None));
    network.advance(ms(100));
    (0..200).for_each(|index| network.hand_over(0, index, 1).unwrap());
    network.advance(ms(2000));
    assert_eq!((network.cell(0).ue_count(), network.cell(1).ue_count()), (0, 200));
    let counts = network.mobility_counts(0);
    assert_eq!((counts.executions_succeeded, counts.executions_failed), (200, 0));
    assert_eq!((network.mobility_counts(1).collisions, network.mobility_counts(1).dedicated_preambles), (0, 200));
}

/// Without dedicated preambles UEs contend: with n UEs and m preambles, n (1 - 1/m)^(n-1) of an occasion succeed.
#[test]
fn colliding_preambles_fail() {
    const UES: usize = 52;
    let access = RandomAccessConfig { dedicated_preambles: 0, ..RandomAccessConfig::default() };
    let (mut succeeded, rounds) = (0, 40);
    for round in 0..rounds {
        let mut network = row(2, HandoverConfig { access, ..HandoverConfig::default() });
        (0..UES * (round + 1)).skip(UES * round).for_each(|number| {
            let address = Ipv4Addr::new(10, 45, 0, 2);
            let channel = Channel::Fixed(Fixed::sinr(20.0, 20.0));
            let random = Random::new(5, number as u64);
            let ue =
                Ue::new(number as u64, Subscription::default(), address, channel, random, network.cell(0).config());
            network.add(0, ue, Time::START, None).unwrap();
        });
        network.advance(ms(100));
        (0..UES).for_each(|index| network.hand_over(0, index, 1).unwrap());
        network.advance(ms(135));
        succeeded += network.cell(1).ue_count();
        network.advance(ms(1500));
        assert_eq!(network.cell(1).ue_count(), UES, "all succeed in the end");
    }
    let expected = UES as f64 * (1.0 - 1.0 / 52.0_f64).powi(UES as i32 - 1);
    let mean = succeeded as f64 / rounds as f64;
    assert!((mean - expected).abs() < 0.1 * expected, "{mean}, {expected} expected");
}

/// A UE passes the border of two cells without handovers: its link fails in the first one, too late for a handover.
#[test]
fn missing_handover_is_counted_as_too_late() {
    let mut network = row(2, HandoverConfig::default());
    add_moving(&mut network, 0, 100.0, 30.0);
    network.advance(ms(20_000));
    assert_eq!(state(&network), UeState::Connected { cell: 1 });
    let [first, second] = [0, 1].map(|cell| *network.mobility_counts(cell));
    assert_eq!((first.link_failures, first.too_late, first.too_early, first.to_wrong_cell), (1, 1, 0, 0));
    assert_eq!((second.reestablishments_succeeded, second.too_late), (1, 0));
}

#[test]
fn handover_in_time_avoids_the_failure() {
    let mut network = row(2, HandoverConfig { a3_offset_db: Some(2.0), ..HandoverConfig::default() });
    add_moving(&mut network, 0, 100.0, 30.0);
    network.advance(ms(20_000));
    assert_eq!(state(&network), UeState::Connected { cell: 1 });
    let counts = network.mobility_counts(0);
    assert_eq!((counts.link_failures, counts.executions_succeeded, counts.too_late), (0, 1, 0));
}

/// A UE far from the target cell cannot access it: the handover fails, and the UE returns to the source.
#[test]
fn failed_handover_to_a_distant_cell_is_too_early() {
    let mut network = row(16, HandoverConfig::default());
    add_moving(&mut network, 0, 30.0, 0.0);
    network.advance(ms(100));
    network.hand_over(0, 0, 15).unwrap();
    network.advance(ms(500));
    assert_eq!(state(&network), UeState::InTransit { to: 15 });
    network.advance(ms(3000));
    assert_eq!(state(&network), UeState::Connected { cell: 0 });
    let counts = network.mobility_counts(0);
    assert_eq!((counts.executions_requested, counts.executions_failed, counts.too_early), (1, 1, 1));
    let events: Vec<_> = network.take_events(0).collect();
    assert!(events.iter().any(|event| matches!(event, NetworkEvent::HandoverFailed { to: 15, .. })));
    let steps: Vec<_> = events.into_iter().filter(is_preparation).collect();
    assert!(matches!(
        steps[..],
        [
            NetworkEvent::HandoverPrepared { to: 15, refusal: None, is_conditional: false, .. },
            NetworkEvent::HandoverCancelled { to: 15, cause: CancelCause::Expired, is_conditional: false, .. },
        ]
    ));
}

#[test]
fn handover_back_is_counted_as_ping_pong() {
    let mut network = row(2, HandoverConfig::default());
    add(&mut network, 0, 20.0, Time::START, None);
    network.advance(ms(100));
    network.hand_over(0, 0, 1).unwrap();
    network.advance(ms(300));
    let index = network.cell(1).ues().next().unwrap().0;
    network.hand_over(1, index, 0).unwrap();
    network.advance(ms(500));
    assert_eq!([0, 1].map(|cell| network.mobility_counts(cell).ping_pongs), [1, 0]);
}

/// The command of a handover does not reach a UE without coverage: it stays, and its link fails.
#[test]
fn lost_handover_command_leaves_the_ue_in_its_cell() {
    let mut network = row(2, HandoverConfig::default());
    add_trace(&mut network, &[(0, -25.0)]);
    network.advance(ms(100));
    network.hand_over(0, 0, 1).unwrap();
    network.advance(ms(500));
    assert_eq!(state(&network), UeState::Connected { cell: 0 });
    let counts = network.mobility_counts(0);
    assert_eq!((counts.preparations_succeeded, counts.executions_requested), (1, 0));
    network.advance(ms(1500));
    assert_eq!(network.mobility_counts(0).link_failures, 1);
    let cancelled = network.take_events(0).filter(|event| {
        matches!(
            event,
            NetworkEvent::HandoverCancelled { to: 1, cause: CancelCause::UeLost, is_conditional: false, .. }
        )
    });
    assert_eq!(cancelled.count(), 1);
}
