//! Invariants of random networks whose UEs move, lose their links, are handed over and released: each UE is in exactly one state,
//! every packet is accounted for, counters agree with each other, and neither the number of threads nor the length of advances
//! matters.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use radio::phy::{Area, Channel, Deployment, Direction, Geometry, MobileUe, Motion, Position, Site, UeRadio};
use radio::traffic::{Flow, FlowSpecification, Kind};
use radio::{
    AdministrativeState, CellConfig, ConditionalConfig, EPOCH, EventCondition, FiveTuple, HANDOVER_MEASUREMENT,
    HandoverConfig, LinkFailureConfig, MeasurementConfig, MeasurementEvent, MobilityCounts, Network, Random,
    RandomAccessConfig, ReportTrigger, Subscription, Time, Ue, UeState,
};

const CELLS: usize = 4;
const UES: u64 = 16;

fn whole(random: &mut Random, below: u32) -> u32 {
    (random.uniform() * f64::from(below)) as u32
}

fn config(random: &mut Random) -> HandoverConfig {
    let conditional = (random.uniform() < 0.3).then(ConditionalConfig::default);
    HandoverConfig {
        a3_offset_db: Some(-2.0 + 6.0 * random.uniform()),
        hysteresis_db: random.uniform(),
        time_to_trigger: Duration::from_millis(u64::from(whole(random, 300))),
        t304: Duration::from_millis(100 + u64::from(whole(random, 900))),
        conditional,
        link: LinkFailureConfig {
            t310: Duration::from_millis(u64::from(whole(random, 1000))),
            t311: Duration::from_millis(300 + u64::from(whole(random, 2000))),
            ..LinkFailureConfig::default()
        },
        access: RandomAccessConfig {
            contention_preambles: 1 + whole(random, 8) as u8,
            dedicated_preambles: whole(random, 3) as u8,
            ..RandomAccessConfig::default()
        },
        ..HandoverConfig::default()
    }
}

fn network(seed: u64, random: &mut Random, threads: usize) -> Network {
    let mut network =
        Network::new((0..CELLS).map(|_| CellConfig::default()), config(random), NonZeroUsize::new(threads).unwrap())
            .unwrap();
    network.set_measurement(MeasurementConfig {
        report_interval: Some(Duration::from_millis(500)),
        ..MeasurementConfig::default()
    });
    network.set_reporting(0, true);
    let grid = network.cell(0).grid().clone();
    let at = |cell: usize| Position { x_m: 900.0 * (cell % 2) as f64, y_m: 900.0 * (cell / 2) as f64 };
    let sites: Arc<[Site]> = (0..CELLS).map(|cell| Site::new(&grid, at(cell))).collect();
    let deployment = Deployment::new(sites, seed);
    let area = Area { min: Position { x_m: -600.0, y_m: -600.0 }, max: Position { x_m: 1500.0, y_m: 1500.0 } };
    for number in 0..UES {
        let cell = number as usize % CELLS;
        let position = Position { x_m: -600.0 + 2100.0 * random.uniform(), y_m: -600.0 + 2100.0 * random.uniform() };
        let motion = Motion::RandomWaypoint { min_speed_m_per_s: 10.0, max_speed_m_per_s: 60.0, pause_s: 0.0 };
        let mobile_ue = MobileUe::new(area, position, motion).unwrap();
        let mut own = Random::new(seed, number);
        let geometry = Geometry::new(deployment.clone(), cell, UeRadio::default(), mobile_ue, &mut own).unwrap();
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let channel = Channel::Geometry(Box::new(geometry));
        let mut ue = Ue::new(number, Subscription::default(), address, channel, own, network.cell(cell).config());
        let kind = Kind::ConstantBitRate { rate_bps: 1_000_000, packet_octets: 1000 };
        let direction = [radio::traffic::Direction::Down, radio::traffic::Direction::Up][number as usize % 2];
        let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
        let source = Ipv4Addr::new(10, 0, 0, 1);
        let tuple = FiveTuple { source, destination: address, source_port: 1, destination_port: 1, protocol: 17 };
        ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        network.add(cell, ue, Time::START, None).unwrap();
    }
    network
}

fn meddle(network: &mut Network, random: &mut Random) {
    let cell = whole(random, CELLS as u32) as usize;
    let other = whole(random, CELLS as u32) as usize;
    let indices: Vec<usize> = network.cell(cell).ues().map(|(index, _)| index).collect();
    match whole(random, 6) {
        0 => {
            let states =
                [AdministrativeState::Locked, AdministrativeState::ShuttingDown, AdministrativeState::Unlocked];
            network.cell_mut(cell).set_administrative_state(states[whole(random, 3) as usize]);
        }
        1 => (0..CELLS).for_each(|cell| network.cell_mut(cell).set_locked(false)),
        2 => network.set_cell_relation(cell, other, -6.0 + 12.0 * random.uniform(), random.uniform() < 0.8),
        3 => {
            // refused where the cell has no event of handovers, or the target admits no UE
            indices.into_iter().for_each(|index| {
                let _ = network.order_conditional_handover(cell, index, other, None);
            });
        }
        4 => {
            let condition = EventCondition::A3 { offset_db: -6.0 + 12.0 * random.uniform() };
            let event = MeasurementEvent { condition, hysteresis_db: 0.0, time_to_trigger: EPOCH };
            indices.into_iter().for_each(|index| {
                network.change_measurement(cell, index, HANDOVER_MEASUREMENT, ReportTrigger::Event(event)).unwrap();
            });
        }
        _ => {
            indices.into_iter().for_each(|index| {
                // refused handovers leave the UE where it is
                let _ = network.hand_over(cell, index, other);
            });
        }
    }
}

/// Each UE is in one state; counters have the relations that their definitions imply.
fn check(network: &Network, seed: u64) {
    let mut numbers: Vec<u64> = network.ue_states().map(|(ue, _)| ue.number()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..UES).collect::<Vec<_>>(), "seed {seed}");
    let mut sum = MobilityCounts::default();
    (0..CELLS).for_each(|cell| sum += *network.mobility_counts(cell));
    let in_state = |wanted: fn(UeState) -> bool| network.ue_states().filter(|(_, state)| wanted(*state)).count() as u64;
    let in_transit = in_state(|state| matches!(state, UeState::InTransit { .. }));
    assert_eq!(
        sum.executions_requested + sum.conditional_executions,
        sum.executions_succeeded
            + sum.executions_failed
            + sum.conditional_executions_succeeded
            + sum.conditional_executions_failed
            + in_transit,
        "seed {seed}: {sum:?}"
    );
    let conditional = sum.conditional_executions_succeeded + sum.conditional_executions_failed;
    assert!(sum.conditional_executions >= conditional, "seed {seed}: {sum:?}");
    let refused = sum.preparations_failed_locked + sum.preparations_failed_full;
    assert_eq!(sum.preparations_requested, sum.preparations_succeeded + refused, "seed {seed}");
    assert_eq!(sum.allocations_requested, sum.allocations_succeeded + sum.allocations_failed, "seed {seed}");
    assert_eq!(sum.preparations_requested, sum.allocations_requested, "seed {seed}");
    assert!(sum.reestablishments_succeeded <= sum.reestablishments_attempted, "seed {seed}");
    // who fails re-connects, is released, or is on the way
    let failures = sum.link_failures + sum.executions_failed + sum.conditional_executions_failed;
    let reestablishing = in_state(|state| state == UeState::Reestablishing);
    assert_eq!(failures, sum.reestablishments_succeeded + sum.released_lost + reestablishing, "seed {seed}: {sum:?}");
    for cell in 0..CELLS {
        let cell = network.cell(cell);
        let connected = cell.ues().filter(|(_, ue)| !ue.is_inactive(cell.now())).count();
        assert!(cell.max_connections(Time::START) as usize >= connected, "seed {seed}");
    }
}

/// Advances in steps of `step_ms`.
fn run(seed: u64, threads: usize, step_ms: u64) -> (Vec<String>, MobilityCounts) {
    let mut random = Random::new(seed, 7);
    let mut network = network(seed, &mut random, threads);
    let mut reports = 0;
    for turn in 1..=36 {
        for ms in (250 * (turn - 1)..250 * turn).step_by(step_ms as usize).skip(1) {
            network.advance(Time::from_millis(ms));
        }
        network.advance(Time::from_millis(250 * turn));
        check(&network, seed);
        reports += network.take_reports(0).count();
        meddle(&mut network, &mut random);
    }
    // all UEs are released: their packets are delivered or lost
    (0..CELLS).for_each(|cell| network.cell_mut(cell).set_locked(true));
    network.advance(Time::from_millis(16_000));
    check(&network, seed);
    let mut log = vec![format!("{reports} reports")];
    for (ue, state) in network.ue_states() {
        assert_eq!(state, UeState::Released, "seed {seed}: UE {}", ue.number());
        let lost = |direction: Direction| {
            let stays = (0..CELLS).flat_map(|cell| {
                let cell = network.cell(cell);
                let of_ue = (0..cell.ue_indices()).filter(|index| cell.ue_entry(*index).number == ue.number());
                of_ue.filter_map(|index| cell.counts(index))
            });
            let rlc = stays.map(|counts| if direction == Direction::Downlink { counts.dl_rlc } else { counts.ul_rlc });
            rlc.map(|rlc| rlc.lost_packets + rlc.buffer_full_packets + rlc.discarded_packets).sum::<u64>()
                + ue.lost_between_cells(direction)
        };
        // no UE arrives after 9 s, so that no index is reused and each stay has its counters
        let dropped: u64 = ue.bearers().iter().map(|bearer| bearer.tc().totals().dropped.packets).sum();
        let flow = &ue.flows()[0];
        let (counts, [outside_down, outside_up]) = (flow.counts(), flow.packets_outside_ran());
        let (down, up) = (&counts.downlink, &counts.uplink);
        assert_eq!(
            down.sent_packets,
            down.received_packets + dropped + lost(Direction::Downlink) + outside_down as u64,
            "seed {seed}: downlink of UE {}",
            ue.number()
        );
        assert_eq!(
            up.sent_packets,
            up.received_packets + lost(Direction::Uplink) + outside_up as u64,
            "seed {seed}: uplink of UE {}",
            ue.number()
        );
        log.push(format!("{} {} {}", ue.number(), down.received_packets, up.received_packets));
    }
    let mut sum = MobilityCounts::default();
    (0..CELLS).for_each(|cell| sum += *network.mobility_counts(cell));
    log.push(format!("{sum:?}"));
    (log, sum)
}

#[test]
fn each_ue_has_one_state_and_each_packet_is_accounted_for() {
    let mut sum = MobilityCounts::default();
    for seed in 0..30 {
        sum += run(seed, 1, 250).1;
    }
    // all of it happens
    for (name, count) in [
        ("link failures", sum.link_failures),
        ("handovers", sum.executions_succeeded),
        ("failed handovers", sum.executions_failed),
        ("conditional handovers", sum.conditional_executions_succeeded),
        ("re-establishments", sum.reestablishments_succeeded),
        ("releases after a failure", sum.released_lost),
        ("releases of locked cells", sum.released_locked),
        ("collisions", sum.collisions),
        ("too early", sum.too_early),
        ("too late", sum.too_late),
        ("to a wrong cell", sum.to_wrong_cell),
        ("ping-pongs", sum.ping_pongs),
    ] {
        assert!(count > 0, "{name}: {sum:?}");
    }
}

#[test]
fn number_of_threads_does_not_matter() {
    for seed in 100..103 {
        assert_eq!(run(seed, 1, 250).0, run(seed, 3, 250).0, "seed {seed}");
    }
}

/// With steps of an epoch, cells meet in each; with longer ones they run ahead, as far as nothing concerns another one.
#[test]
fn length_of_advances_does_not_matter() {
    for seed in 200..206 {
        let at_once = run(seed, 1, 250).0;
        for step_ms in [10, 7] {
            assert_eq!(run(seed, 1, step_ms).0, at_once, "seed {seed}: steps of {step_ms} ms");
        }
    }
}
