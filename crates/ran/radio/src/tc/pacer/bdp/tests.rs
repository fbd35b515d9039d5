//! 5G-BDP against cases calculated by hand, and with varying drain rates.

use super::*;
use crate::Random;

const ROOM: u32 = u32::MAX;

/// Forwards all allowed octets. Returns the octets in RLC afterwards.
fn hand_over(bdp: &mut Bdp, slot: u64, rlc_octets: u32) -> u32 {
    let below = RlcState { rlc_octets, rlc_room_octets: ROOM };
    rlc_octets + bdp.allowance(Time::from_millis(slot), below).unwrap()
}

fn drain(bdp: &mut Bdp, slot: u64, octets: u32, rlc_was_emptied: bool) {
    let transmission = Transmission { octets, rlc_was_emptied, waiting_octets: 1 };
    bdp.transmitted(Time::from_millis(slot), transmission);
}

#[test]
fn target_equals_drain_per_round() {
    let mut bdp = Bdp::default();
    // the initial target is ten packets
    assert_eq!(hand_over(&mut bdp, 0, 0), 15_140);
    // the first round is the mean
    drain(&mut bdp, 0, 4000, false);
    assert_eq!(hand_over(&mut bdp, 1, 0), 4000);
    // then each round has a weight of one eighth: 4000 + (8000 - 4000) / 8
    drain(&mut bdp, 1, 8000, false);
    assert_eq!(hand_over(&mut bdp, 2, 0), 4500);
    // several opportunities between two forwardings are one round: 4500 + (2000 + 3300 - 4500) / 8
    drain(&mut bdp, 2, 2000, false);
    drain(&mut bdp, 2, 3300, false);
    assert_eq!(hand_over(&mut bdp, 3, 0), 4600);
    // forwardings without feedback are no rounds
    assert_eq!(hand_over(&mut bdp, 4, 1000), 4600);
    assert_eq!(hand_over(&mut bdp, 5, 5000), 5000);
}

#[test]
fn starved_rounds_increase_margin() {
    let mut bdp = Bdp::default();
    hand_over(&mut bdp, 0, 0);
    drain(&mut bdp, 0, 16_000, false);
    assert_eq!(hand_over(&mut bdp, 1, 0), 16_000);
    // the margin is an eighth of the drained octets, a quarter, a half, all
    for (slot, more) in [(1, 2000), (2, 4000), (3, 8000), (4, 16_000), (5, 16_000)] {
        let before = bdp.target_octets();
        drain(&mut bdp, slot, 16_000, true);
        assert_eq!(hand_over(&mut bdp, slot + 1, 0), before + more);
    }
    // after a round without starvation the margin restarts at an eighth
    drain(&mut bdp, 6, 16_000, false);
    assert_eq!(hand_over(&mut bdp, 7, 46_000), 62_000);
    drain(&mut bdp, 7, 16_000, true);
    assert_eq!(hand_over(&mut bdp, 8, 0), 64_000);
}

#[test]
fn remainder_of_32_rounds_reduces_margin() {
    let mut bdp = Bdp { spare_octets: 10_000, ..Bdp::default() };
    hand_over(&mut bdp, 0, 0);
    for round in 0..32 {
        assert_eq!(bdp.spare_octets, 10_000);
        drain(&mut bdp, round, 5000, false);
        hand_over(&mut bdp, round + 1, if round == 20 { 4514 } else { 9000 });
    }
    assert_eq!(bdp.spare_octets, 7000);
    assert_eq!(bdp.target_octets(), 12_000);
}

#[test]
fn idle_rounds_do_not_reduce_target() {
    let mut bdp = Bdp::default();
    hand_over(&mut bdp, 0, 0);
    drain(&mut bdp, 0, 8000, false);
    let idle = |bdp: &mut Bdp, slot, octets| {
        let transmission = Transmission { octets, rlc_was_emptied: true, waiting_octets: 0 };
        bdp.transmitted(Time::from_millis(slot), transmission);
    };
    assert_eq!(hand_over(&mut bdp, 1, 0), 8000);
    idle(&mut bdp, 1, 100);
    assert_eq!(hand_over(&mut bdp, 2, 0), 8000);
    // a drain above the mean counts even after an idle time
    idle(&mut bdp, 2, 16_000);
    assert_eq!(hand_over(&mut bdp, 3, 0), 9000);
}

#[test]
fn allowance_is_at_least_a_packet_and_fits_buffer() {
    let mut bdp = Bdp::default();
    hand_over(&mut bdp, 0, 0);
    drain(&mut bdp, 0, 10, false);
    assert_eq!(hand_over(&mut bdp, 1, 0), 1514);
    let little = |rlc_octets| RlcState { rlc_octets, rlc_room_octets: 1513 };
    assert_eq!(bdp.allowance(Time::from_millis(2), little(10)), Some(0));
    assert_eq!(bdp.allowance(Time::from_millis(2), little(0)), Some(1514));
}

/// The result of a simulation.
struct Outcome {
    /// The share of the capacity that was used.
    utilisation: f64,
    /// The mean RLC buffer before opportunities, relative to their mean capacity.
    occupancy: f64,
}

/// Simulates a backlog of packets of 1500 octets. The bearer transmits up to `capacity` octets every `every` slots; packets are
/// forwarded every `hand_over` slots.
fn simulate(slots: u64, every: u64, hand_over: u64, mut capacity: impl FnMut(u64) -> u32) -> Outcome {
    let mut bdp = Bdp::default();
    let mut rlc = 0;
    let (mut could, mut did, mut held, mut opportunities) = (0u64, 0u64, 0u64, 0u64);
    for slot in 0..slots {
        let now = Time::from_millis(slot);
        while slot % hand_over == 0
            && bdp.allowance(now, RlcState { rlc_octets: rlc, rlc_room_octets: ROOM }).unwrap() > 0
        {
            rlc += 1500;
        }
        if slot % every == 0 {
            let capacity = capacity(slot);
            let octets = rlc.min(capacity);
            (could, did, held) = (could + u64::from(capacity), did + u64::from(octets), held + u64::from(rlc));
            opportunities += 1;
            rlc -= octets;
            bdp.transmitted(now, Transmission { octets, rlc_was_emptied: rlc == 0, waiting_octets: 1_000_000 });
        }
    }
    assert!(opportunities > 0);
    Outcome { utilisation: did as f64 / could as f64, occupancy: held as f64 / could as f64 }
}

#[test]
fn varying_drain_rates_are_used_without_bufferbloat() {
    let mut random = Random::new(1, 0);
    let mut around = |octets: f64| (octets * (0.5 + random.uniform())) as u32;
    // 60 Mbit/s: 7500 octets per slot
    let steady = simulate(20_000, 1, 1, |_| 7500);
    assert!(steady.utilisation > 0.999, "{}", steady.utilisation);
    assert!(steady.occupancy < 1.4, "{}", steady.occupancy);
    // an opportunity every fourth slot; and forwarding less often than that: RLC must hold four slots of data
    let rare = simulate(20_000, 4, 1, |_| 30_000);
    assert!(rare.utilisation > 0.999 && rare.occupancy < 1.15, "{} {}", rare.utilisation, rare.occupancy);
    let slow_hands = simulate(20_000, 1, 4, |_| 7500);
    assert!(slow_hands.utilisation > 0.995, "{}", slow_hands.utilisation);
    // before opportunities RLC holds four, three, two and one slots of data, and the spare packet
    assert!(slow_hands.occupancy < 2.5 + 0.5, "{}", slow_hands.occupancy);
    // fading: the capacity of each opportunity is 0.5 to 1.5 times the mean
    let fading = simulate(20_000, 1, 1, |_| around(7500.0));
    assert!(fading.utilisation > 0.99, "{}", fading.utilisation);
    assert!(fading.occupancy < 2.0, "{}", fading.occupancy);
    // the rate rises and falls sixfold twice per second
    let steps = simulate(20_000, 1, 1, |slot| if slot / 250 % 2 == 0 { 7500 } else { 1250 });
    assert!(steps.utilisation > 0.99, "{}", steps.utilisation);
    assert!(steps.occupancy < 2.0, "{}", steps.occupancy);
}

#[test]
fn falling_rate_empties_rlc_soon() {
    let mut bdp = Bdp::default();
    let mut rlc = 0;
    for slot in 0..3000 {
        let now = Time::from_millis(slot);
        while bdp.allowance(now, RlcState { rlc_octets: rlc, rlc_room_octets: ROOM }).unwrap() > 0 {
            rlc += 1500;
        }
        let octets = rlc.min(if slot < 2000 { 7500 } else { 750 });
        rlc -= octets;
        bdp.transmitted(now, Transmission { octets, rlc_was_emptied: rlc == 0, waiting_octets: 1 });
        // at a tenth of the rate, RLC holds at most five milliseconds of data after 100 ms
        assert!(slot < 2100 || rlc <= 3750, "slot {slot}: {rlc}");
    }
}
