//! Outer-loop link adaptation meets the target error rate of first transmissions on all channels.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use radio::phy::{
    Area, Carrier, Channel, Deployment, Direction, Fading, Fixed, Geometry, MobileUe, Motion, Position, PowerControl,
    Site, UeRadio,
};
use radio::traffic::{self, Flow, FlowSpecification, Kind};
use radio::{CellConfig, FiveTuple, HandoverConfig, LinkCounts, Network, OuterLoop, Random, Subscription, Time, Ue};

const UES: u64 = 4;

/// A cell whose UEs are backlogged in both directions.
fn network(seed: u64, config: CellConfig, channel: impl Fn(&Network, u64, &mut Random) -> Channel) -> Network {
    let mut network = Network::new([config], HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    for number in 0..UES {
        let mut random = Random::new(seed, number);
        let channel = channel(&network, number, &mut random);
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let config = network.cell(0).config();
        let mut ue = Ue::new(number, Subscription::default(), address, channel, random, config);
        let source = Ipv4Addr::new(10, 0, 0, 1);
        let tuple = FiveTuple { source, destination: address, source_port: 1, destination_port: 1, protocol: 17 };
        let kind = Kind::ConstantBitRate { rate_bps: 60_000_000, packet_octets: 1400 };
        let specification = FlowSpecification { direction: traffic::Direction::Both, ..FlowSpecification::new(kind) };
        ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        network.add(0, ue, Time::START, None).unwrap();
    }
    network
}

/// UEs around a cell, moving at a speed.
fn moving(seed: u64, speed_m_per_s: f64, branches: u8) -> impl Fn(&Network, u64, &mut Random) -> Channel {
    move |network, number, random| {
        let site = Site { power_dbm: 20.0, ..Site::new(network.cell(0).grid(), Position::default()) };
        let at = |x_m, y_m| Position { x_m, y_m };
        let area = Area { min: at(100.0, -60.0), max: at(180.0, 60.0) };
        let begin = at(110.0 + 20.0 * number as f64, 0.0);
        let motion =
            Motion::RandomWaypoint { min_speed_m_per_s: speed_m_per_s, max_speed_m_per_s: speed_m_per_s, pause_s: 0.0 };
        let mobile_ue = MobileUe::new(area, begin, motion).unwrap();
        let fading = Fading { branches, ..Fading::default() };
        let ue_radio = UeRadio { fading, ..UeRadio::default() };
        let sites: Arc<[Site]> = Arc::from([site]);
        let geometry = Geometry::new(Deployment::new(sites, seed), 0, ue_radio, mobile_ue, random).unwrap();
        Channel::Geometry(Box::new(geometry))
    }
}

/// The sum over links whose mean SINR is well within the range of the MCSs.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    links: u32,
    blocks: u64,
    lost: u64,
}

impl Sum {
    /// The error rate of first transmissions.
    fn part(self) -> f64 {
        self.lost as f64 / self.blocks as f64
    }
}

/// Measures for ten seconds, after a warm-up of four seconds.
fn run(mut network: Network) -> Sum {
    let counts = |network: &Network| -> Vec<LinkCounts> {
        network.cell(0).ues().flat_map(|(_, ue)| [*ue.downlink().counts(), *ue.uplink().counts()]).collect()
    };
    let done = |link: &LinkCounts| link.rounds.iter().sum::<u64>() + link.lost_blocks;
    network.advance(Time::from_millis(4_000));
    let before = counts(&network);
    network.advance(Time::from_millis(14_000));
    let mut sum = Sum::default();
    for (after, before) in counts(&network).iter().zip(&before) {
        let sinr_db = (after.sinr_db - before.sinr_db) / (after.reports - before.reports) as f64;
        if !(7.0..=15.0).contains(&sinr_db) {
            continue;
        }
        let (blocks, understood) = (done(after) - done(before), after.rounds[0] - before.rounds[0]);
        sum = Sum { links: sum.links + 1, blocks: sum.blocks + blocks, lost: sum.lost + blocks - understood };
    }
    assert!(sum.links >= 4 && sum.blocks > 1_000, "{sum:?}");
    sum
}

#[test]
fn bler_target_is_met_on_fading_channels() {
    for (seed, speed_m_per_s, branches) in [(1, 0.8, 4), (2, 1.5, 2), (3, 8.0, 4), (4, 30.0, 8)] {
        let of = |outer_loop| {
            // about 11 dB in the uplink at the distance of the UEs
            let power_control = PowerControl { p0_dbm: -88.0, ..PowerControl::default() };
            let config = CellConfig { outer_loop, power_control, ..CellConfig::default() };
            run(network(seed, config, moving(seed, speed_m_per_s, branches))).part()
        };
        for (target, tolerance) in [(0.1, 0.01), (0.05, 0.01)] {
            let part = of(Some(OuterLoop { target, ..OuterLoop::default() }));
            assert!((part - target).abs() < tolerance, "{speed_m_per_s} m/s: {part} of blocks, not {target}");
        }
        // the least SINR of a CQI leaves 1 dB on average, which an outdated report of a fading channel exceeds or not
        let without = of(None);
        eprintln!("{speed_m_per_s} {without}");
        assert!((without - 0.1).abs() > 0.03, "{speed_m_per_s} m/s: {without} of blocks without an outer loop");
    }
}

/// Also for constant SINRs between those of two MCSs, and for LTE.
#[test]
fn bler_target_is_met_on_static_channels() {
    for carrier in [Carrier::default(), Carrier::lte()] {
        let config = CellConfig { carrier, ..CellConfig::default() };
        let at = |_: &Network, number: u64, _: &mut Random| {
            Channel::Fixed(Fixed::sinr(7.1 + 2.3 * number as f64, 7.6 + 1.7 * number as f64))
        };
        let part = run(network(7, config, at)).part();
        assert!((part - 0.1).abs() < 0.01, "{part}");
    }
}

/// A fixed MCS is used as it is, and the offset is bounded at the ends of the table.
#[test]
fn fixed_mcs_is_not_adapted() {
    let fixed = |network: &Network, number: u64, _: &mut Random| {
        let of = |direction| (network.cell(0).adaptation(direction), 3 + number as u8);
        Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)))
    };
    let mut network_of_mcs = network(1, CellConfig::default(), fixed);
    let extremes = |_: &Network, number: u64, _: &mut Random| {
        let sinr_db = if number.is_multiple_of(2) { 60.0 } else { -7.0 };
        Channel::Fixed(Fixed::sinr(sinr_db, sinr_db))
    };
    let mut network_of_extremes = network(1, CellConfig::default(), extremes);
    for ms in (100..3_000).step_by(100) {
        network_of_mcs.advance(Time::from_millis(ms));
        network_of_extremes.advance(Time::from_millis(ms));
        for (place, ue) in network_of_mcs.cell(0).ues() {
            for link in [ue.downlink(), ue.uplink()] {
                assert_eq!((usize::from(link.mcs()), link.offset_db()), (3 + place, 0.0));
            }
        }
        for (place, ue) in network_of_extremes.cell(0).ues() {
            assert_eq!(ue.downlink().mcs(), if place % 2 == 0 { 28 } else { 0 });
            assert!(ue.downlink().offset_db().abs() < 1.0, "{}", ue.downlink().offset_db());
        }
    }
}
