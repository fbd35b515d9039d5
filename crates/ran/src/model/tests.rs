//! What a radio engineer would check.

use super::cell::{Cell, Counters, PRBS};
use super::link_table::bits_per_block;

const STEP_MS: u32 = 10;
const STEPS_PER_S: u32 = 1000 / STEP_MS;

/// Counters of each UE over `seconds`.
fn run(cell: &mut Cell, seconds: u32) -> Vec<Counters> {
    let before = cell.counters().to_vec();
    (0..seconds * STEPS_PER_S).for_each(|_| cell.step());
    cell.counters().iter().zip(before).map(|(now, before)| *now - before).collect()
}

fn sum(ues: &[Counters]) -> Counters {
    let mut sum = Counters::default();
    ues.iter().for_each(|ue| sum += *ue);
    sum
}

fn load(all: &Counters, seconds: u32) -> f64 {
    all.downlink_prbs as f64 / f64::from(PRBS * seconds * STEPS_PER_S)
}

#[test]
fn the_same_seed_gives_the_same_values() {
    let values = |seed, cell| run(&mut Cell::new(seed, cell, 32, STEP_MS), 5);
    assert_eq!(values(1, 0), values(1, 0));
    assert_ne!(values(1, 0), values(2, 0));
    assert_ne!(values(1, 0), values(1, 1), "cells of a RAN differ");
    // what a UE sees of the channel does not depend on who else is there
    let cqi = |ues| run(&mut Cell::new(1, 0, ues, STEP_MS), 5)[3].cqi;
    assert_eq!(cqi(4), cqi(32));
}

#[test]
fn no_step_gives_more_blocks_than_there_are() {
    let mut cell = Cell::new(3, 0, 64, STEP_MS);
    for _ in 0..3000 {
        let before = sum(cell.counters());
        cell.step();
        let step = sum(cell.counters()) - before;
        assert!(step.downlink_prbs <= u64::from(PRBS) && step.uplink_prbs <= u64::from(PRBS));
        assert!(step.downlink_bits <= f64::from(PRBS) * bits_per_block(15) * 2.0 * 14.0, "capacity at the best CQI");
    }
}

#[test]
fn kpis_of_a_busy_cell_are_plausible() {
    let mut cell = Cell::new(1, 0, 32, STEP_MS);
    let ues = run(&mut cell, 120);
    let all = sum(&ues);
    let load = load(&all, 120);
    assert!((0.4..0.9).contains(&load), "{load}");
    let mbps = all.downlink_bits / 120.0 / 1e6;
    assert!((50.0..150.0).contains(&mbps), "{mbps} of about 170 Mbit/s");
    assert!(all.uplink_bits < 0.3 * all.downlink_bits);
    let delay_ms = 1e3 * all.downlink_bit_seconds / all.downlink_bits;
    assert!((3.0..60.0).contains(&delay_ms), "{delay_ms}");
    let cqi = all.cqi as f64 / all.ue_steps as f64;
    assert!((7.0..12.0).contains(&cqi), "{cqi}");
    let lost = all.uplink_lost_bits / all.uplink_bits;
    assert!((1e-6..2e-2).contains(&lost), "{lost}");
    let active = all.downlink_active as f64 / f64::from(120 * STEPS_PER_S);
    assert!((2.0..20.0).contains(&active), "{active} UEs with data");
    // idle, web, video and steady UEs are not alike
    let mut volumes: Vec<f64> = ues.iter().map(|ue| ue.downlink_bits).collect();
    volumes.sort_by(f64::total_cmp);
    assert!(volumes[31] > 100.0 * volumes[0]);
}

#[test]
fn a_better_channel_carries_more_with_a_block() {
    let mut cell = Cell::new(2, 0, 64, STEP_MS);
    let ues = run(&mut cell, 60);
    let mut points: Vec<(f64, f64)> = ues
        .iter()
        .filter(|ue| ue.downlink_prbs > 2000)
        .map(|ue| (ue.cqi as f64 / ue.ue_steps as f64, ue.downlink_bits / ue.downlink_prbs as f64))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(points.len() > 20, "{}", points.len());
    let third = points.len() / 3;
    let mean = |part: &[(f64, f64)]| part.iter().map(|p| p.1).sum::<f64>() / part.len() as f64;
    let (poor, good) = (mean(&points[..third]), mean(&points[points.len() - third..]));
    assert!(good > 2.0 * poor, "{poor} and {good} bits a block");
    for (cqi, bits) in points {
        let most = bits_per_block((cqi.ceil() as u8 + 3).min(15)) * 2.0 * 14.0;
        assert!(bits < most, "CQI {cqi}: {bits} of {most} bits a block");
    }
}

#[test]
fn load_and_delay_move_together() {
    let measure = |ues| {
        let mut cell = Cell::new(4, 0, ues, STEP_MS);
        let all = sum(&run(&mut cell, 60));
        let throughput = all.downlink_bits / all.downlink_active as f64;
        (load(&all, 60), all.downlink_bit_seconds / all.downlink_bits, throughput)
    };
    let (few, some, many) = (measure(8), measure(32), measure(128));
    assert!(few.0 < some.0 && some.0 < many.0 && many.0 > 0.97, "loads {few:?} {some:?} {many:?}");
    assert!(few.1 < some.1 && some.1 < many.1, "delays {few:?} {some:?} {many:?}");
    assert!(many.2 < 0.5 * some.2, "throughput of each {some:?} {many:?}");
}

/// What is in the queues is what comes in a second times the seconds that it stays (Little's law).
#[test]
fn delays_are_those_of_the_queues() {
    let mut cell = Cell::new(5, 0, 48, STEP_MS);
    run(&mut cell, 5);
    let before = sum(cell.counters());
    let mut queued_bit_seconds = 0.0;
    for _ in 0..60 * STEPS_PER_S {
        cell.step();
        let queued: f64 = cell.ues().iter().map(|ue| ue.downlink.queue.bits()).sum();
        queued_bit_seconds += queued * cell.step_s();
    }
    let all = sum(cell.counters()) - before;
    let on_the_air = 0.003 * all.downlink_bits; // and retransmissions: at most
    let (least, most) = (all.downlink_bit_seconds - on_the_air, all.downlink_bit_seconds);
    assert!(
        (0.95 * least..1.05 * most).contains(&queued_bit_seconds),
        "{queued_bit_seconds} queued, {most} counted, of that {on_the_air} on the air"
    );
}

#[test]
fn everybody_gets_a_share() {
    let mut cell = Cell::new(6, 0, 128, STEP_MS);
    run(&mut cell, 20);
    let ues = run(&mut cell, 60);
    // whoever has data, is within reach and waits gets something
    let starved = ues.iter().filter(|ue| ue.downlink_active > 1000 && ue.cqi > ue.ue_steps && ue.downlink_prbs == 0);
    assert_eq!(starved.count(), 0);
}

#[test]
fn the_step_may_be_coarse_or_fine() {
    let mbps = |step_ms: u32| {
        let mut cell = Cell::new(7, 0, 32, step_ms);
        (0..20_000 / step_ms).for_each(|_| cell.step());
        sum(cell.counters()).downlink_bits / 20e6
    };
    let (fine, usual, coarse) = (mbps(1), mbps(10), mbps(1000));
    for other in [fine, coarse] {
        assert!((0.5..2.0).contains(&(other / usual)), "{fine} {usual} {coarse} Mbit/s");
    }
}

#[test]
fn an_empty_cell_is_quiet() {
    let mut cell = Cell::new(1, 0, 0, STEP_MS);
    assert_eq!(run(&mut cell, 1), []);
    assert_eq!(cell.steps(), u64::from(STEPS_PER_S));
}
