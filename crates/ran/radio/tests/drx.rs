//! Discontinuous reception in a cell: what it costs in delay and saves in time awake.

use std::net::Ipv4Addr;
use std::time::Duration;

use radio::phy::{Channel, Direction, Fixed, Link};
use radio::traffic::{self, Flow, FlowSpecification, Kind};
use radio::{Cell, CellConfig, DrxConfig, FiveTuple, FlowId, Random, Subscription, Time, Ue};

const SECONDS: u64 = 30;

fn ue(cell: &Cell, number: u64, kind: Kind, direction: traffic::Direction) -> Box<Ue> {
    let of = |direction| (cell.adaptation(direction), 20);
    let channel = Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)));
    let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
    let random = Random::new(1, number);
    let mut ue = Ue::new(number, Subscription::default(), address, channel, random, cell.config());
    let tuple = FiveTuple {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: address,
        source_port: 7,
        destination_port: 7,
        protocol: FiveTuple::UDP,
    };
    let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
    ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
    Box::new(ue)
}

/// A cell with one UE with DRX and a flow. Runs it, and returns the part of the time in which the UE was awake.
fn run(drx: DrxConfig, kind: Kind, direction: traffic::Direction) -> (Cell, f64) {
    let mut cell = Cell::new(CellConfig { drx: Some(drx), ..CellConfig::default() }).unwrap();
    let ue = ue(&cell, 0, kind, direction);
    cell.arrive(ue);
    cell.advance(Time::from_millis(1000 * SECONDS));
    let awake = cell.counts(0).unwrap().awake.as_secs_f64() / SECONDS as f64;
    (cell, awake)
}

/// The quantile of the round trips of the flow of UE 0 in the model, in milliseconds, without the core.
fn rtt_ms(cell: &Cell, quantile: f64) -> f64 {
    let flow = &cell.ue(0).unwrap().flows()[0];
    flow.counts().rtt.quantile_ms(quantile).unwrap() - 2.0 * flow.specification().one_way_delay_ms
}

const PING: Kind = Kind::Echo { interval_ms: 1000.3, packet_octets: 100 };

/// Requests reach a sleeping UE in the on-duration of its next cycle: uniformly within a cycle, in each cycle.
#[test]
fn sleeping_ue_receives_in_each_cycle() {
    for (long_cycle_ms, on_duration_ms) in [(64, 1), (320, 10), (20, 2)] {
        let drx = DrxConfig { long_cycle_ms, on_duration_ms, inactivity_ms: 1, ..DrxConfig::default() };
        let (cell, awake) = run(drx, PING, traffic::Direction::Down);
        let longest = rtt_ms(&cell, 1.0);
        // the on-duration may be in uplink slots only; then the UE receives in the next cycle
        let cycles = if on_duration_ms == 1 { 2.0 } else { 1.0 };
        assert!(
            longest > 0.6 * f64::from(long_cycle_ms) && longest < cycles * f64::from(long_cycle_ms) + 40.0,
            "{longest}"
        );
        let idle = f64::from(on_duration_ms) / f64::from(long_cycle_ms);
        assert!((idle..idle + 0.04).contains(&awake), "{awake}, at least {idle}");
    }
}

/// While the inactivity timer runs, packets wait for no cycle.
#[test]
fn inactivity_timer_keeps_the_ue_awake() {
    let kind = || Kind::Echo { interval_ms: 80.1, packet_octets: 100 };
    let with =
        |inactivity_ms| run(DrxConfig { inactivity_ms, ..DrxConfig::default() }, kind(), traffic::Direction::Down);
    let (cell, awake) = with(100);
    assert!(awake > 0.99 && rtt_ms(&cell, 0.99) < 30.0, "{awake}, {} ms", rtt_ms(&cell, 0.99));
    let (cell, awake) = with(10);
    assert!(awake < 0.2 && rtt_ms(&cell, 0.5) > 100.0, "{awake}, {} ms", rtt_ms(&cell, 0.5));
}

/// The uplink of a sleeping UE waits for no cycle, and its request keeps the UE awake for the answer.
#[test]
fn uplink_wakes_the_ue() {
    let drx = DrxConfig { long_cycle_ms: 2560, ..DrxConfig::default() };
    let request = Kind::keep_alive(1.0);
    let (cell, awake) = run(drx, request, traffic::Direction::Down);
    let ue = cell.ue(0).unwrap();
    let (up, down) = (ue.bearers()[0].uplink().counts(), ue.bearers()[0].downlink().counts());
    assert!(up.delivered_packets > 15 && up.sent_packets - up.delivered_packets <= 1, "{up:?}");
    let wait_ms = down.sojourn_ns as f64 / 1e6 / down.sent_packets as f64;
    assert!(wait_ms < 10.0, "answers wait {wait_ms} ms");
    assert!(awake < 0.3, "{awake}");
}

/// Without retransmission timers a lost block waits for the next cycle.
#[test]
fn retransmission_timers_keep_the_ue_awake_for_retransmissions() {
    let longest = |retransmission_slots| {
        let drx = DrxConfig { retransmission_slots, inactivity_ms: 0, ..DrxConfig::default() };
        let mut cell = Cell::new(CellConfig { drx: Some(drx), ..CellConfig::default() }).unwrap();
        let mut lossy = ue(&cell, 0, PING, traffic::Direction::Down);
        let link = Link { mcs: Some(10), block_error_rate: Some(0.5), ..Link::of_sinr(10.0) };
        lossy.set_channel(Channel::Fixed(Fixed { downlink: link, uplink: link, ..Fixed::sinr(0.0, 0.0) }));
        cell.arrive(lossy);
        cell.advance(Time::from_millis(1000 * SECONDS));
        let retransmitted = cell.counts(0).unwrap().dl.retransmission_elements;
        (rtt_ms(&cell, 0.9), retransmitted)
    };
    let ((with, some), (without, others)) = (longest(33), longest(0));
    assert!(some > 0 && others > 0, "blocks are lost");
    assert!(with < 320.0 + 40.0 && without > 320.0 + 40.0, "{with} and {without} ms");
}

/// A UE that was given DRX of its own keeps it; others have that of their cell.
#[test]
fn own_parameters_take_precedence_over_those_of_the_cell() {
    let of_cell = DrxConfig::default();
    let own = DrxConfig { long_cycle_ms: 640, ..of_cell };
    let mut cell = Cell::new(CellConfig { drx: Some(of_cell), ..CellConfig::default() }).unwrap();
    for number in 0..3 {
        let ue = ue(&cell, number, PING, traffic::Direction::Down);
        cell.arrive(ue);
    }
    let now = cell.now();
    cell.ue_mut(1).unwrap().set_drx(now, Some(own));
    cell.ue_mut(2).unwrap().set_drx(now, None);
    let drx = |cell: &Cell| [0, 1, 2].map(|index| cell.ue(index).map(|ue| ue.drx().copied()));
    assert_eq!(drx(&cell), [Some(Some(of_cell)), Some(Some(own)), Some(None)]);
    cell.advance(Time::from_millis(2000));
    assert_eq!(cell.counts(2).unwrap().awake, Duration::from_secs(2), "without DRX it is awake while connected");
    let mut moved = Vec::new();
    for index in [0, 1, 2] {
        let mut ue = cell.leave(index).unwrap();
        let now = cell.now();
        ue.stop_flow(now, FlowId(0));
        moved.push(ue);
    }
    let mut target = Cell::new(CellConfig::default()).unwrap();
    moved.into_iter().for_each(|ue| {
        target.arrive(ue);
    });
    assert_eq!(drx(&target), [Some(None), Some(Some(own)), Some(None)]);
    assert_eq!(target.counts(1).unwrap().awake, Duration::ZERO, "counted since the arrival");
}
