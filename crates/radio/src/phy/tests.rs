//! What the parts make up together.

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
fn the_paper_s_cell_has_about_60_mbit_per_s() {
    let grid = Carrier::default().check().unwrap();
    assert_eq!((grid.prbs(), grid.slots_per_frame(), grid.slot().as_micros()), (106, 20, 500));
    let down = bits_per_s(&grid, Direction::Downlink, 20) / 1e6;
    assert!((60.0..63.0).contains(&down), "{down}");
    let up = bits_per_s(&grid, Direction::Uplink, 20) / 1e6;
    assert!((17.0..23.0).contains(&up), "{up}");
}

#[test]
fn lte_has_the_rates_that_its_sizes_say() {
    let grid = Carrier { bandwidth_mhz: 20.0, downlink_layers: 2, ..Carrier::lte() }.check().unwrap();
    // category 4's peak rate, with blocks of 75376 bits (TS 36.306 table 4.1-1)
    assert_eq!(bits_per_s(&grid, Direction::Downlink, 28), 150.752e6);
    let grid = Carrier::lte().check().unwrap();
    assert_eq!(bits_per_s(&grid, Direction::Downlink, 28), 36.696e6);
}

#[test]
fn two_transmissions_have_3_db_more() {
    let grid = Carrier::default().check().unwrap();
    let adaptation = Adaptation::new(&grid, Direction::Downlink);
    let mut random = Random::new(5, 0);
    let sinr_db = adaptation.needed_sinr_db(20) - 3.0;
    let (mut first, mut second) = (0, 0);
    let link = Link::of_sinr(sinr_db);
    for _ in 0..20_000 {
        let mut reception = Reception::new(&mut random);
        let understood = reception.receive(&adaptation, 20, &link, &mut random);
        first += u32::from(understood);
        second += u32::from(understood || reception.receive(&adaptation, 20, &link, &mut random));
    }
    assert!(first < 10, "{first}");
    let lost = 1.0 - f64::from(second) / 20_000.0;
    assert!((lost - 0.1).abs() < 0.01, "{lost}");
}
