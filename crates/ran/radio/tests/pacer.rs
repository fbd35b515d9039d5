//! 5G-BDP in a cell keeps the RLC buffer short without a loss of throughput.

use std::net::Ipv4Addr;

use radio::phy::{Channel, Direction, Fixed};
use radio::tc::PacerChoice;
use radio::traffic::{Flow, FlowSpecification, Kind};
use radio::{Cell, CellConfig, FiveTuple, Random, Subscription, Time, Ue};

const UES: u64 = 4;

/// A channel with an MCS for both directions and a block error rate in the downlink.
fn channel(cell: &Cell, mcs: u8, block_error_rate: Option<f64>) -> Channel {
    let of = |direction| (cell.adaptation(direction), mcs);
    let mut channel = Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink));
    channel.downlink.block_error_rate = block_error_rate;
    Channel::Fixed(channel)
}

/// A cell with a backlog for each UE.
fn overloaded(pacer: PacerChoice, block_error_rate: Option<f64>) -> Cell {
    let mut config = CellConfig::default();
    config.tc.pacer = pacer;
    let mut cell = Cell::new(config).unwrap();
    for number in 0..UES {
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let channel = channel(&cell, 20, block_error_rate);
        let mut ue = Ue::new(number, Subscription::default(), address, channel, Random::new(1, number), cell.config());
        let tuple = FiveTuple {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: address,
            source_port: 5001,
            destination_port: 5001,
            protocol: FiveTuple::UDP,
        };
        let kind = Kind::ConstantBitRate { rate_bps: 100_000_000, packet_octets: 1400 };
        ue.add_flow(|id, random| Flow::new(id, FlowSpecification::new(kind), tuple, random));
        cell.arrive(Box::new(ue));
    }
    cell
}

/// Measures a cell for two seconds: delivered octets, the share of used PRBs, and the mean octets in RLC. With varying
/// channels, that of each UE alternates between good and bad every quarter of a second.
fn run(mut cell: Cell, varies: bool) -> (f64, f64, f64) {
    let delivered =
        |cell: &Cell| -> u64 { cell.ues().map(|(_, ue)| ue.bearers()[0].downlink().counts().delivered_octets).sum() };
    cell.advance(Time::from_millis(1000));
    let (octets, usage) = (delivered(&cell), *cell.usage(Direction::Downlink));
    let mut rlc_octets = 0;
    for ms in 1000..3000 {
        if varies && ms % 250 == 0 {
            for place in 0..UES as usize {
                let mcs = if (ms / 250 + place as u64).is_multiple_of(2) { 20 } else { 5 };
                let channel = channel(&cell, mcs, None);
                cell.ue_mut(place).unwrap().set_channel(channel);
            }
        }
        cell.advance(Time::from_millis(ms));
        rlc_octets += cell.ues().map(|(_, ue)| u64::from(ue.bearers()[0].downlink().waiting_octets())).sum::<u64>();
    }
    let usage = cell.usage(Direction::Downlink).since(&usage);
    let used = usage.used_share();
    ((delivered(&cell) - octets) as f64, used, rlc_octets as f64 / (2000 * UES) as f64)
}

#[test]
fn bdp_pacer_keeps_rlc_short_and_cell_full() {
    for (what, block_error_rate, varies) in
        [("steady", None, false), ("varying", None, true), ("lossy", Some(0.1), false)]
    {
        let (without, _, bloated_octets) = run(overloaded(PacerChoice::Off, block_error_rate), varies);
        let (paced, used, rlc_octets) = run(overloaded(PacerChoice::Bdp5g, block_error_rate), varies);
        assert!(paced > 0.99 * without, "{what}: {paced} instead of {without} octets");
        assert!(used > 0.99, "{what}: {used}");
        assert!(bloated_octets > 900_000.0 && rlc_octets < 10_000.0, "{what}: {bloated_octets}, {rlc_octets}");
    }
}
