//! 5G-BDP against cases computed by hand, and against drains that vary.

use super::*;
use crate::Random;

const ROOM: u32 = u32::MAX;

/// Hands over all that is allowed, in octets; RLC then holds the sum.
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
    // ten packets at first
    assert_eq!(hand_over(&mut bdp, 0, 0), 15_140);
    // the first round is the mean
    drain(&mut bdp, 0, 4000, false);
    assert_eq!(hand_over(&mut bdp, 1, 0), 4000);
    // then each counts an eighth: 4000 + (8000 - 4000) / 8
    drain(&mut bdp, 1, 8000, false);
    assert_eq!(hand_over(&mut bdp, 2, 0), 4500);
    // several opportunities between two hand-overs are one round: 4500 + (2000 + 3300 - 4500) / 8
    drain(&mut bdp, 2, 2000, false);
    drain(&mut bdp, 2, 3300, false);
    assert_eq!(hand_over(&mut bdp, 3, 0), 4600);
    // hand-overs without feedback are no rounds
    assert_eq!(hand_over(&mut bdp, 4, 1000), 4600);
    assert_eq!(hand_over(&mut bdp, 5, 5000), 5000);
}

#[test]
fn starved_rounds_increase_margin() {
    let mut bdp = Bdp::default();
    hand_over(&mut bdp, 0, 0);
    drain(&mut bdp, 0, 16_000, false);
    assert_eq!(hand_over(&mut bdp, 1, 0), 16_000);
    // an eighth of what drained, a quarter, a half, all
    for (slot, more) in [(1, 2000), (2, 4000), (3, 8000), (4, 16_000), (5, 16_000)] {
        let before = bdp.target_octets();
        drain(&mut bdp, slot, 16_000, true);
        assert_eq!(hand_over(&mut bdp, slot + 1, 0), before + more);
    }
    // one that did not: the next begins with an eighth again
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
    // more than the mean is told by no idleness
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

/// What became of a drain.
struct Outcome {
    /// What was drained of what could have been.
    utilisation: f64,
    /// What RLC held before opportunities in the mean, of what these took in the mean.
    occupancy: f64,
}

/// Packets of 1500 octets always wait. Every `every` slots the bearer may transmit what `capacity` says; packets are handed
/// on every `hand_over` slots.
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
    // 60 Mbit/s: 7500 octets a slot
    let steady = simulate(20_000, 1, 1, |_| 7500);
    assert!(steady.utilisation > 0.999, "{}", steady.utilisation);
    assert!(steady.occupancy < 1.4, "{}", steady.occupancy);
    // every fourth slot; and hand-overs that are rarer than opportunities: what RLC must hold is four slots' worth
    let rare = simulate(20_000, 4, 1, |_| 30_000);
    assert!(rare.utilisation > 0.999 && rare.occupancy < 1.15, "{} {}", rare.utilisation, rare.occupancy);
    let slow_hands = simulate(20_000, 1, 4, |_| 7500);
    assert!(slow_hands.utilisation > 0.995, "{}", slow_hands.utilisation);
    // before opportunities it holds four, three, two and one slots' worth and the packet that is spared
    assert!(slow_hands.occupancy < 2.5 + 0.5, "{}", slow_hands.occupancy);
    // fading: each opportunity takes half to one and a half of the mean
    let fading = simulate(20_000, 1, 1, |_| around(7500.0));
    assert!(fading.utilisation > 0.99, "{}", fading.utilisation);
    assert!(fading.occupancy < 2.0, "{}", fading.occupancy);
    // the rate goes up and down sixfold twice a second
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
        // a tenth of the rate, at most five milliseconds of it after a tenth of a second
        assert!(slot < 2100 || rlc <= 3750, "slot {slot}: {rlc}");
    }
}
