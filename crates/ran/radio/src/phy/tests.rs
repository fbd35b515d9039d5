//! The parts of the physical layer together.

use super::*;
use crate::Random;

fn bits_per_s(grid: &Grid, direction: Direction, mcs: u8) -> f64 {
    let blocks = TransportBlocks::new(grid, direction);
    let slots = 20 * grid.slots_per_frame();
    let octets: u64 = (0..u64::from(slots))
        .map(|slot| {
            let (down, up) = grid.slot_kind(slot);
            let symbols = if direction == Direction::Downlink { down } else { up };
            u64::from(blocks.octets(mcs, blocks.prbs(), symbols))
        })
        .sum();
    octets as f64 * 8.0 / 0.2
}

#[test]
fn paper_cell_has_about_60_mbit_per_s() {
    let grid = Carrier::default().check().unwrap();
    assert_eq!((grid.prbs(), grid.slots_per_frame(), grid.slot().as_micros()), (106, 20, 500));
    let down = bits_per_s(&grid, Direction::Downlink, 20) / 1e6;
    assert!((60.0..63.0).contains(&down), "{down}");
    let up = bits_per_s(&grid, Direction::Uplink, 20) / 1e6;
    assert!((17.0..23.0).contains(&up), "{up}");
}

#[test]
fn lte_rates_match_transport_block_sizes() {
    let grid = Carrier { bandwidth_mhz: 20.0, downlink_layers: 2, ..Carrier::lte() }.check().unwrap();
    // category 4's peak rate, with blocks of 75376 bits (TS 36.306 table 4.1-1)
    assert_eq!(bits_per_s(&grid, Direction::Downlink, 28), 150.752e6);
    let grid = Carrier::lte().check().unwrap();
    assert_eq!(bits_per_s(&grid, Direction::Downlink, 28), 36.696e6);
}

#[test]
fn two_transmissions_gain_3_db() {
    let grid = Carrier::default().check().unwrap();
    let adaptation = Adaptation::new(&grid, Direction::Downlink);
    let mut random = Random::new(5, 0);
    let sinr_db = adaptation.needed_sinr_db(20) - 3.0;
    let (mut first, mut second) = (0, 0);
    for _ in 0..20_000 {
        let mut reception = Reception::new(&mut random);
        let understood = reception.receive(&adaptation, 20, (sinr_db, None), &mut random);
        first += u32::from(understood);
        second += u32::from(understood || reception.receive(&adaptation, 20, (sinr_db, None), &mut random));
    }
    assert!(first < 10, "{first}");
    let lost = 1.0 - f64::from(second) / 20_000.0;
    assert!((lost - 0.1).abs() < 0.01, "{lost}");
}

#[test]
fn fixed_channel_reports_configured_values() {
    fn assert_send<T: Send>(_: &T) {}
    let grid = Carrier::default().check().unwrap();
    let (down, up) = (Adaptation::new(&grid, Direction::Downlink), Adaptation::new(&grid, Direction::Uplink));
    let mut random = Random::new(1, 0);
    let surroundings = Surroundings { interference: &Interference::default(), power_control: &PowerControl::default() };
    let mut channel = Channel::Fixed(Fixed::mcs((&down, 20), (&up, 10)));
    assert_send(&channel);
    channel.update(crate::Time::from_millis(5), &surroundings, &mut random);
    let (downlink, uplink) = (channel.link(Direction::Downlink), channel.link(Direction::Uplink));
    assert_eq!((downlink.mcs, uplink.mcs), (Some(20), Some(10)));
    // a UE with this channel reports the CQI with the modulation and code rate of the MCS
    assert_eq!(down.cqi(channel.sinr_db()), Cqi(11));
    assert!(channel.uplink_sinr_db() < channel.sinr_db() && channel.geometry().is_none());
    let mut reception = Reception::new(&mut random);
    assert!((0..1000).all(|_| reception.receive(
        &down,
        28,
        (downlink.sinr_db, downlink.block_error_rate),
        &mut random
    )));
    let channel = Channel::Fixed(Fixed::sinr(15.0, 3.0));
    assert_eq!((channel.sinr_db(), channel.uplink_sinr_db()), (15.0, 3.0));
    assert_eq!((channel.rsrp_dbm(), channel.uplink_rsrp_dbm()), (-90.0, -95.0));
}

#[test]
fn channel_delegates_to_its_parts() {
    let mut random = Random::new(1, 0);
    let surroundings = Surroundings { interference: &Interference::default(), power_control: &PowerControl::default() };
    let mut channel = Channel::Trace(Trace::parse("0,12,-85\n10,13,-84\n", TraceEnd::Hold).unwrap());
    channel.update(crate::Time::from_millis(11), &surroundings, &mut random);
    assert_eq!((channel.sinr_db(), channel.uplink_sinr_db()), (13.0, 13.0));
    assert_eq!((channel.rsrp_dbm(), channel.uplink_rsrp_dbm()), (-84.0, -84.0));
    assert!(channel.geometry_mut().is_none());

    let grid = Carrier::default().check().unwrap();
    let area = Area { min: Position::default(), max: Position { x_m: 500.0, y_m: 500.0 } };
    let mobile_ue = MobileUe::new(area, Position { x_m: 100.0, y_m: 0.0 }, Motion::Still).unwrap();
    let sites: std::sync::Arc<[Site]> = [Position::default(), area.max].map(|at| Site::new(&grid, at)).into();
    let geometry = Geometry::new(sites, 0, UeRadio::default(), mobile_ue, &mut random).unwrap();
    let mut channel = Channel::Geometry(Box::new(geometry));
    let before = channel.sinr_db();
    for slot in 0..12 {
        channel.update(crate::Time::from_nanos(slot * 500_000), &surroundings, &mut random);
    }
    assert_ne!(channel.sinr_db(), before, "the channel of a standing UE fades too");
    let geometry = channel.geometry().unwrap();
    assert_eq!((channel.rsrp_dbm(), channel.sinr_db()), (geometry.rsrp_dbm(0), geometry.sinr_db()));
    assert_eq!(
        (channel.uplink_rsrp_dbm(), channel.uplink_sinr_db()),
        (geometry.uplink_rsrp_dbm(), geometry.uplink_sinr_db())
    );
    channel.geometry_mut().unwrap().set_serving(1);
    assert_eq!(channel.rsrp_dbm(), channel.geometry().unwrap().rsrp_dbm(1));
}
