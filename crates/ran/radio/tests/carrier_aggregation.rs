//! Carrier aggregation: what a UE receives on several carriers of a base station, and when they are its secondary cells.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use radio::mac::Reservation;
use radio::phy::{
    Area, Carrier, Channel, Deployment, Direction, Fixed, Geometry, MobileUe, Motion, Position, Site, UeRadio,
};
use radio::traffic::{Flow, FlowSpecification, Kind};
use radio::{
    AdministrativeState, CarrierAggregationConfig, CellConfig, FiveTuple, HandoverConfig, MeasurementConfig, Network,
    Random, Slicing, Subscription, Time, Ue,
};

/// What every cell of these tests carries in a millisecond: LTE, 100 PRBs, MCS 28, one layer (TS 36.213 table 7.1.7.2.1-1).
const BLOCK_BITS: f64 = 75_376.0;
/// More than several cells carry.
const SATURATING_BPS: u64 = 400_000_000;

/// Base stations with so many LTE carriers of 20 MHz each, side by side, of one base station.
fn carriers(count: usize, threads: usize) -> Network {
    let config = |number: usize| CellConfig {
        carrier: Carrier { bandwidth_mhz: 20.0, frequency_mhz: 1815.0 + 20.0 * number as f64, ..Carrier::lte() },
        ..CellConfig::default()
    };
    let threads = NonZeroUsize::new(threads).unwrap();
    let mut network = Network::new((0..count).map(config), HandoverConfig::default(), threads).unwrap();
    network.join_cells(0..count);
    network
}

fn channel(network: &Network) -> Channel {
    let of = |direction| (network.cell(0).adaptation(direction), 28);
    Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)))
}

/// Adds a UE to a cell that receives at a rate.
fn add(network: &mut Network, cell: usize, channel: Channel, max_carriers: u8, rate_bps: u64) -> u64 {
    let number = network.next_number();
    let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
    let config = network.cell(cell).config().clone();
    let mut ue = Ue::new(number, Subscription::default(), address, channel, Random::new(1, number), &config);
    ue.set_max_carriers(max_carriers);
    let tuple = FiveTuple {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: address,
        source_port: 5000,
        destination_port: 5000,
        protocol: FiveTuple::UDP,
    };
    let kind = Kind::ConstantBitRate { rate_bps, packet_octets: 1400 };
    ue.add_flow(|id, random| Flow::new(id, FlowSpecification::new(kind), tuple, random));
    network.add(cell, ue, Time::START, None).unwrap();
    number
}

fn ue(network: &Network, number: u64) -> &Ue {
    network.ue_states().find(|(ue, _)| ue.number() == number).expect("the UE is in the network").0
}

fn received_octets(network: &Network, number: u64) -> u64 {
    ue(network, number).flows().iter().map(|flow| flow.counts().downlink.received_octets).sum()
}

/// The rates in Mbit/s that UEs receive in the two seconds after the first.
fn rates<const N: usize>(network: &mut Network, ues: [u64; N]) -> [f64; N] {
    network.advance(Time::from_millis(1000));
    let before = ues.map(|number| received_octets(network, number));
    network.advance(Time::from_millis(3000));
    let mut after = ues.map(|number| received_octets(network, number)).into_iter().zip(before);
    [(); N].map(|()| after.next().map_or(0.0, |(after, before)| (after - before) as f64 * 8e-6 / 2.0))
}

#[test]
fn rate_is_proportional_to_number_of_equal_carriers() {
    for count in 1..=5 {
        let mut network = carriers(5, 1);
        let channel = channel(&network);
        let number = add(&mut network, 0, channel, count, SATURATING_BPS);
        let [rate] = rates(&mut network, [number]);
        // 0.9 % are headers, and a few PDUs are segmented
        let expected = f64::from(count) * BLOCK_BITS / 1e3;
        assert!((0.98 * expected..expected).contains(&rate), "{count} carriers: {rate} of {expected} Mbit/s");
        // the secondary cells serve the UE with all of their blocks, by their own HARQ processes
        for cell in 1..usize::from(count) {
            let counts = network.cell(cell).secondary_counts(number).unwrap();
            let mean_bits = counts.block_octets as f64 * 8.0 / counts.blocks as f64;
            assert!(mean_bits > 0.99 * BLOCK_BITS, "{mean_bits}");
            assert!(network.cell(cell).usage(Direction::Downlink).used_share() > 0.9);
        }
        assert_eq!(ue(&network, number).secondary_cells().len(), usize::from(count) - 1);
    }
}

#[test]
fn secondary_cell_is_shared_with_its_own_ues() {
    let mut network = carriers(2, 1);
    let channel = channel(&network);
    let both = add(&mut network, 0, channel.clone(), 2, SATURATING_BPS);
    let one = add(&mut network, 1, channel, 1, SATURATING_BPS);
    let [both, one] = rates(&mut network, [both, one]);
    let cell = BLOCK_BITS / 1e3;
    assert!((one / (0.5 * cell) - 1.0).abs() < 0.03, "proportional fair: half of the cell, {one} Mbit/s");
    assert!((both / (1.5 * cell) - 1.0).abs() < 0.03, "one cell and a half, {both} Mbit/s");
}

#[test]
fn slices_of_secondary_cell_bind_its_guests() {
    let mut network = carriers(2, 1);
    let reservations = vec![Reservation::Capacity(0.2), Reservation::Capacity(0.8)];
    let slicing = Slicing::Nvs { reservations, is_shared: true };
    network.cell_mut(1).set_slicing(Direction::Downlink, slicing, &["PF", "PF"], "");
    let channel = channel(&network);
    let both = add(&mut network, 0, channel.clone(), 2, SATURATING_BPS);
    let one = add(&mut network, 1, channel, 1, SATURATING_BPS);
    network.advance(Time::from_millis(500));
    network.cell_mut(1).set_secondary_slice(both, Some(0));
    network.cell_mut(1).set_slice(0, Direction::Downlink, Some(1));
    let [both, one] = rates(&mut network, [both, one]);
    let cell = BLOCK_BITS / 1e3;
    assert!((one / (0.8 * cell) - 1.0).abs() < 0.03, "{one} Mbit/s");
    assert!((both / (1.2 * cell) - 1.0).abs() < 0.03, "{both} Mbit/s");
}

#[test]
fn secondary_cell_is_activated_by_backlog_and_deactivated_by_timer() {
    let mut network = carriers(2, 1);
    let channel = channel(&network);
    // the primary cell carries this: less than the threshold of 10,000 octets waits
    let light = add(&mut network, 0, channel.clone(), 2, 10_000_000);
    let heavy = add(&mut network, 0, channel, 2, SATURATING_BPS);
    let is_activated = |network: &Network, number| network.cell(1).is_activated(number);
    network.advance(Time::from_millis(150));
    assert!(ue(&network, heavy).secondary_cells().is_empty(), "before the time to trigger of 160 ms");
    network.advance(Time::from_millis(175));
    assert_eq!(ue(&network, heavy).secondary_cells().len(), 1);
    assert!(!is_activated(&network, heavy), "before the activation delay of 24 ms");
    network.advance(Time::from_millis(220));
    assert!(is_activated(&network, heavy));
    assert!(network.cell(1).secondary_counts(light).is_some() && !is_activated(&network, light));
    let now = network.cell(0).now();
    network.cell_mut(0).ue_mut(1).unwrap().stop_flow(now, radio::FlowId(0));
    // what waits in RLC is sent within 100 ms
    network.advance(Time::from_millis(360));
    assert!(is_activated(&network, heavy), "before the timer of 160 ms expires");
    network.advance(Time::from_millis(520));
    assert!(!is_activated(&network, heavy));
    assert_eq!(ue(&network, heavy).secondary_cells().len(), 1, "a deactivated cell stays a secondary cell");
    let blocks = network.cell(1).secondary_counts(heavy).unwrap().blocks;
    assert!(blocks > 10, "{blocks}");
    network.advance(Time::from_millis(3000));
    assert!(ue(&network, heavy).secondary_cells().is_empty(), "a UE in RRC_INACTIVE has none");
}

#[test]
fn locked_cell_is_released_without_loss() {
    let mut network = carriers(2, 1);
    // with transmission errors
    let sinr = Channel::Fixed(Fixed::sinr(14.0, 15.0));
    let number = add(&mut network, 0, sinr, 2, 60_000_000);
    network.advance(Time::from_millis(1000));
    assert!(network.cell(1).is_activated(number));
    let failed = network.cell(1).secondary_counts(number).unwrap().failed_blocks;
    assert!(failed > 0);
    network.cell_mut(1).set_administrative_state(AdministrativeState::Locked);
    network.advance(Time::from_millis(1020));
    assert!(ue(&network, number).secondary_cells().is_empty());
    let sums = network.cell(1).secondary_sums();
    assert!(sums.len() == 1 && sums[0].1.dl.failed_blocks >= failed, "counters stay");
    let now = network.cell(0).now();
    network.cell_mut(0).ue_mut(0).unwrap().stop_flow(now, radio::FlowId(0));
    network.advance(Time::from_millis(4000));
    let ue = ue(&network, number);
    let (sent, lost) = (&ue.flows()[0].counts().downlink, *ue.bearers()[0].downlink().counts());
    assert_eq!(sent.received_packets + lost.buffer_full_packets, sent.sent_packets, "{lost:?}");
    network.cell_mut(1).set_administrative_state(AdministrativeState::Unlocked);
}

#[test]
fn handover_releases_secondary_cells_and_their_return_follows() {
    let mut network = carriers(2, 1);
    let channel = channel(&network);
    let number = add(&mut network, 0, channel, 2, SATURATING_BPS);
    network.advance(Time::from_millis(500));
    network.hand_over(0, 0, 1).unwrap();
    network.advance(Time::from_millis(600));
    assert!(ue(&network, number).secondary_cells().is_empty());
    assert_eq!(network.cell(1).secondary_ues().count(), 0);
    network.advance(Time::from_millis(1000));
    let secondary = ue(&network, number).secondary_cells();
    assert_eq!((secondary.len(), secondary[0].cell, secondary[0].index), (1, 0, 1));
    assert!(network.cell(0).is_activated(number));
}

#[test]
fn only_carriers_that_do_not_overlap_are_aggregated() {
    let config = |frequency_mhz| CellConfig {
        carrier: Carrier { bandwidth_mhz: 20.0, frequency_mhz, ..Carrier::lte() },
        ..CellConfig::default()
    };
    let cells = [1815.0, 1825.0, 1835.0].map(config).into_iter().chain([CellConfig::default()]);
    let mut network = Network::new(cells, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    network.join_cells(0..4);
    let channel = channel(&network);
    let number = add(&mut network, 0, channel, 5, SATURATING_BPS);
    network.advance(Time::from_millis(500));
    let cells: Vec<usize> = ue(&network, number).secondary_cells().iter().map(|secondary| secondary.cell).collect();
    assert_eq!(cells, [2], "cell 1 overlaps with cell 0, cell 3 is one of NR");
}

/// Two carriers of a base station, and a UE that walks away from it and returns.
fn network_with_route(threads: usize) -> Network {
    let mut network = carriers(2, threads);
    network.set_carrier_aggregation(CarrierAggregationConfig {
        addition_dbm: -90.0,
        release_dbm: -94.0,
        ..CarrierAggregationConfig::default()
    });
    let sites: Arc<[Site]> = (0..2).map(|cell| Site::new(network.cell(cell).grid(), Position::default())).collect();
    let area = Area { min: Position { x_m: -500.0, y_m: -500.0 }, max: Position { x_m: 500.0, y_m: 500.0 } };
    for number in 0..4 {
        let motion = Motion::RandomWaypoint { min_speed_m_per_s: 30.0, max_speed_m_per_s: 40.0, pause_s: 0.0 };
        let at = Position { x_m: 60.0 * f64::from(number), y_m: 50.0 };
        let mobile_ue = MobileUe::new(area, at, motion).unwrap();
        let mut random = Random::new(3, 1000 + u64::from(number as u32));
        let deployment = Deployment::new(Arc::clone(&sites), 3);
        let geometry = Geometry::new(deployment, 0, UeRadio::default(), mobile_ue, &mut random).unwrap();
        add(&mut network, 0, Channel::Geometry(Box::new(geometry)), 2, 40_000_000);
    }
    network
}

#[test]
fn secondary_cells_follow_events_a4_and_a2() {
    let mut network = network_with_route(1);
    let report_interval = Some(Duration::from_millis(120));
    network.set_measurement(MeasurementConfig { report_interval, ..MeasurementConfig::default() });
    network.set_reporting(0, true);
    let (mut added, mut released, mut reported, mut before) = (0, 0, 0, [false; 4]);
    for ms in (10..60_000).step_by(10) {
        network.advance(Time::from_millis(ms));
        for (index, before) in before.iter_mut().enumerate() {
            let ue = network.cell(0).ue(index).unwrap();
            let is_aggregated = !ue.secondary_cells().is_empty();
            let rsrp_dbm = ue.channel().geometry().unwrap().rsrp_dbm(1);
            if is_aggregated && !*before {
                added += 1;
                assert!(rsrp_dbm > -93.0, "{rsrp_dbm} dBm, after filter and time to trigger");
            } else if !is_aggregated && *before {
                released += 1;
                assert!(rsrp_dbm < -91.0, "{rsrp_dbm} dBm");
            }
            *before = is_aggregated;
        }
        for report in network.take_reports(0).collect::<Vec<_>>() {
            assert!(report.secondary.iter().all(|(index, cell)| (*index, cell.cell) == (1, 1)));
            let is_measured = ms > 500;
            let cells = report.secondary.len() + report.neighbours.len();
            assert!(cells == 1 || cells == 0 && !is_measured, "the other cell is serving or a neighbour");
            reported += report.secondary.len();
        }
    }
    assert!(added >= 4 && released >= 3 && reported > 100, "{added}, {released} and {reported}");
}

#[test]
fn threads_and_lengths_of_advances_do_not_matter() {
    let run = |threads: usize, step_ms: usize| {
        let mut network = network_with_route(threads);
        (0..=4000).step_by(step_ms).for_each(|ms| network.advance(Time::from_millis(ms as u64)));
        network.advance(Time::from_millis(4000));
        let of_ue = |number| (received_octets(&network, number), network.cell(1).secondary_counts(number).copied());
        let all: Vec<_> = (0..4).map(of_ue).collect();
        assert!(all.iter().any(|(_, counts)| counts.is_some_and(|counts| counts.blocks > 0)), "{all:?}");
        format!("{all:?}")
    };
    let whole = run(1, 4000);
    assert_eq!(run(2, 4000), whole);
    assert_eq!(run(1, 7), whole);
}
