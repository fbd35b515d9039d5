//! NVS in a TDD cell: what slices receive, as the counters of UEs and of the cell report it.

use std::net::Ipv4Addr;

use radio::mac::Reservation;
use radio::phy::{Channel, Direction, Fixed};
use radio::traffic::{self, Flow, FlowSpecification, Kind};
use radio::{Cell, CellConfig, FiveTuple, Random, Slicing, Subscription, Time, Ue};

/// A cell with DDDDDDDSUU and one UE per slice at a fixed MCS, each with more traffic in both directions than the cell carries.
fn cell(reservations: &[Reservation], mcs: &[u8]) -> Cell {
    let mut cell = Cell::new(CellConfig::default()).unwrap();
    for direction in [Direction::Downlink, Direction::Uplink] {
        let slicing = Slicing::Nvs { reservations: reservations.to_vec(), is_shared: true };
        cell.set_slicing(direction, slicing, &vec!["PF"; reservations.len()], "");
    }
    for (number, mcs) in mcs.iter().enumerate() {
        let of = |direction| (cell.adaptation(direction), *mcs);
        let channel = Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)));
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let random = Random::new(1, number as u64);
        let mut ue = Ue::new(number as u64, Subscription::default(), address, channel, random, cell.config());
        for (port, direction) in [(5001, traffic::Direction::Down), (5002, traffic::Direction::Up)] {
            let tuple = FiveTuple {
                source: Ipv4Addr::new(10, 0, 0, 1),
                destination: address,
                source_port: port,
                destination_port: port,
                protocol: FiveTuple::UDP,
            };
            let kind = Kind::ConstantBitRate { rate_bps: 100_000_000, packet_octets: 1400 };
            let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
            ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        }
        let index = cell.arrive(Box::new(ue));
        for direction in [Direction::Downlink, Direction::Uplink] {
            cell.set_slice(index, direction, Some(number as u32));
        }
    }
    cell.advance(Time::from_millis(500));
    cell
}

/// The share of each UE in the resource blocks of a direction over some seconds, and its rate in Mbit/s.
fn shares(cell: &mut Cell, direction: Direction, seconds: u64) -> Vec<(f64, f64)> {
    let counts = |cell: &Cell| -> Vec<_> {
        let of = |(_, ue): (usize, &Ue)| match direction {
            Direction::Downlink => *ue.downlink().counts(),
            Direction::Uplink => *ue.uplink().counts(),
        };
        cell.ues().map(of).collect()
    };
    let (before, usage) = (counts(cell), *cell.usage(direction));
    cell.advance(Time::from_nanos(cell.now().as_nanos() + seconds * 1_000_000_000));
    let usage = cell.usage(direction).since(&usage);
    let now = counts(cell);
    now.iter()
        .zip(before)
        .map(|(now, before)| {
            let prbs = (now.elements - before.elements) as f64 / usage.elements as f64;
            (prbs, (now.block_octets - before.block_octets) as f64 * 8e-6 / seconds as f64)
        })
        .collect()
}

/// PRBs of special slots count by what they carry in the scheduler and in the counters: both mean the same by a share.
#[test]
fn counters_read_the_configured_share_in_tdd() {
    for percent in [1.0, 5.0, 10.0, 30.0, 50.0, 66.0, 70.0, 95.0] {
        let share = percent / 100.0;
        let mut cell = cell(&[Reservation::Capacity(share), Reservation::Capacity(1.0 - share)], &[20, 20]);
        for direction in [Direction::Downlink, Direction::Uplink] {
            let given = shares(&mut cell, direction, 4);
            assert!((given[0].0 - share).abs() < 0.001, "{percent} %, {direction:?}: {given:?}");
            assert!((given[0].0 + given[1].0 - 1.0).abs() < 0.002, "the cell is fully used: {given:?}");
        }
    }
}

/// A slice with 20 of 61 Mbit/s whose UE reaches 13 Mbit/s in the whole cell takes 32.8 % of it, not what its rate would need.
#[test]
fn rate_slice_on_a_poor_channel_leaves_others_their_share() {
    let rate = Reservation::Rate { reserved_bps: 20e6, reference_bps: 61e6 };
    let given = shares(&mut cell(&[rate, Reservation::Capacity(0.67)], &[5, 20]), Direction::Downlink, 4);
    assert!((given[0].0 - 20.0 / 61.0).abs() < 0.004, "{given:?}");
    assert!(given[1].0 >= 0.67 - 0.001, "{given:?}");
}

/// At the reference rate it receives the reserved rate.
#[test]
fn rate_slice_on_a_good_channel_receives_its_rate() {
    let reference_mbps = shares(&mut cell(&[Reservation::Capacity(1.0)], &[20]), Direction::Downlink, 2)[0].1;
    let rate = Reservation::Rate { reserved_bps: 20e6, reference_bps: reference_mbps * 1e6 };
    let rest = Reservation::Capacity(1.0 - rate.share());
    let given = shares(&mut cell(&[rate, rest], &[20, 20]), Direction::Downlink, 4);
    assert!((given[0].1 - 20.0).abs() < 0.2, "{given:?} of {reference_mbps} Mbit/s");
    // on a better channel the rate needs fewer resource blocks
    let given = shares(&mut cell(&[rate, rest], &[28, 20]), Direction::Downlink, 4);
    assert!(given[0].1 >= 20.0 && given[1].0 > rest.share() + 0.05, "{given:?}");
}
