//! NVS: exact shares, rate slices with channels below and above their reference, slices that return from idle.

use crate::mac::tests::{PRBS, candidate, near, nvs, shares, slot};
use crate::mac::{Allocation, CLAIM_SLOTS, Candidate, Grant, RATE_WINDOW_SLOTS, Reservation, Scheduler};

/// A backlog of a slot or more: what a UE needs is bounded by the slot.
const ALL: u32 = PRBS;

fn capacities(shares: &[f64]) -> Vec<Reservation> {
    shares.iter().map(|share| Reservation::Capacity(*share)).collect()
}

fn backlogged(slice: u32) -> Candidate {
    candidate(slice, slice, ALL)
}

#[test]
fn first_nvs_slots_match_hand_calculation() {
    // a slot adds 1 / share; the smallest sum is next, the first slice at a tie
    let turns = |reserved: &[f64], slots: usize| {
        let mut scheduler = nvs(&capacities(reserved), true);
        let both = [backlogged(0), backlogged(1)];
        (0..slots).map(|_| slot(&mut scheduler, &both)[0].slice).collect::<Vec<_>>()
    };
    assert_eq!(turns(&[0.5, 0.5], 6), [0, 1, 0, 1, 0, 1]);
    // a: 0, 1.43, 2.86, 4.29, 5.71, 7.14, 8.57, 10; b: 0, 3.33, 6.67, 10
    assert_eq!(turns(&[0.7, 0.3], 10), [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]);
}

/// Each share from 1 to 99 %, beside one slice and beside several, within a tenth of a point.
#[test]
fn every_share_is_exact() {
    for percent in 1..=99 {
        let first = f64::from(percent) / 100.0;
        let rest = 1.0 - first;
        for others in [&[1.0][..], &[0.5, 0.5], &[0.7, 0.2, 0.1], &[0.25, 0.25, 0.25, 0.125]] {
            let reserved: Vec<f64> = [first].into_iter().chain(others.iter().map(|part| part * rest)).collect();
            let unreserved = 1.0 - reserved.iter().sum::<f64>();
            let expected: Vec<f64> = reserved.iter().copied().chain([unreserved]).collect();
            let wanted = vec![if unreserved > 1e-9 { ALL } else { 0 }; 1];
            let wanted = [vec![ALL; reserved.len()], wanted].concat();
            let given = shares(&mut nvs(&capacities(&reserved), true), 20_000, |_| wanted.clone());
            near(&given, &expected, 0.001);
        }
    }
}

/// Runs slots in which each slice has a UE with a backlog. `octets_per_prb` is that of a slice in a slot. Returns the shares of
/// the resource blocks, and the rates in Mbit/s at 2000 slots per second.
fn run(scheduler: &mut Scheduler, slots: u32, octets_per_prb: impl Fn(u32, u32) -> u32) -> Vec<(f64, f64)> {
    let mut sums = vec![(0, 0_u64); scheduler.slices()];
    let candidates: Vec<_> = (0..scheduler.slices() as u32).map(backlogged).collect();
    for at in 0..slots {
        let mut grants = Vec::new();
        scheduler.schedule(PRBS, &candidates, &mut grants);
        for Grant { slice, prbs, .. } in grants {
            let octets = prbs * octets_per_prb(slice, at);
            scheduler.count(slice, Allocation { prbs, octets });
            let sum = &mut sums[slice as usize];
            *sum = (sum.0 + prbs, sum.1 + u64::from(octets));
        }
        scheduler.account(PRBS, 1.0);
    }
    let seconds = f64::from(slots) / 2000.0;
    let of = |(prbs, octets)| (f64::from(prbs) / f64::from(PRBS * slots), octets as f64 * 8e-6 / seconds);
    sums.into_iter().map(of).collect()
}

/// 20 of 61 Mbit/s are 32.8 %. A cell of 106 blocks with 36 octets carries 61.06 Mbit/s.
const RATE: Reservation = Reservation::Rate { reserved_bps: 20e6, reference_bps: 61.056e6 };

#[test]
fn rate_slice_below_its_reference_takes_its_share_only() {
    // a third of the reference rate for the first slice
    let given = run(&mut nvs(&[RATE, Reservation::Capacity(0.67)], true), 20_000, |slice, _| [12, 36][slice as usize]);
    let share = 20.0 / 61.056;
    assert!((given[0].0 - share).abs() < 0.005 && given[1].0 >= 0.67 - 0.001, "{given:?}");
}

#[test]
fn rate_slice_above_its_reference_receives_its_rate() {
    let given = run(&mut nvs(&[RATE, Reservation::Capacity(0.67)], true), 20_000, |slice, _| [72, 36][slice as usize]);
    // half the blocks are enough for the rate; what remains is divided by the reservations: 0.164 and 0.67 times 1.2
    let of_share = [given[0].1 / 20.0, given[1].0 / 0.67];
    assert!((of_share[0] - of_share[1]).abs() < 0.01 && of_share[0] > 1.19, "{given:?}");
}

/// The channels of a slice alternate between half and one and a half times the reference: on average they reach it.
#[test]
fn rate_slice_at_its_reference_on_average_receives_its_rate() {
    let octets = |slice, at| if slice == 1 || at % 40 < 20 { 54 } else { 18 };
    let given = run(&mut nvs(&[RATE, Reservation::Capacity(0.67)], true), 20_000, octets);
    assert!((given[0].1 - 20.0).abs() < 0.4 && given[1].0 >= 0.67 - 0.001, "{given:?}");
}

/// After a long time above the reference, a slice below it takes at most its share of the window in advance.
#[test]
fn rate_slice_catches_up_within_its_window() {
    let mut scheduler = nvs(&[RATE, Reservation::Capacity(0.67)], true);
    run(&mut scheduler, 20_000, |_, _| 144);
    let (slots, share) = (1000, RATE.share());
    let given = run(&mut scheduler, slots, |slice, _| [12, 36][slice as usize])[0].0;
    let most = share + share * RATE_WINDOW_SLOTS / f64::from(slots);
    assert!(given > share && given <= most + 0.002, "{given}, at most {most}");
}

#[test]
fn rate_slice_may_use_idle_capacity() {
    let mut scheduler = nvs(&[RATE, Reservation::Capacity(0.67)], true);
    let alone = shares(&mut scheduler, 2000, |_| vec![ALL, 0]);
    near(&alone, &[1.0, 0.0, 0.0], 1e-9);
    // and is not served later for it
    let given = run(&mut scheduler, 2000, |_, _| 36);
    assert!((given[0].0 - RATE.share()).abs() < 0.005, "{given:?}");
}

/// The longest time without a slot of slice `of`, in slots. `wanted` is the backlog of each slice in a slot.
fn longest_gap(scheduler: &mut Scheduler, of: u32, slots: u32, wanted: impl Fn(u32) -> Vec<u32>) -> u32 {
    let (mut gap, mut longest) = (0, 0);
    for at in 0..slots {
        let candidates = (0..).zip(wanted(at)).map(|(slice, prbs)| candidate(slice, slice, prbs));
        let some: Vec<_> = candidates.filter(|candidate| candidate.prbs > 0).collect();
        let is_served = slot(scheduler, &some).iter().any(|grant| grant.slice == of);
        gap = if is_served { 0 } else { gap + 1 };
        longest = longest.max(gap);
    }
    longest
}

/// Between two slots of a slice with share `s`, another one with share `t` has at most t / s + 1, and t [`CLAIM_SLOTS`] when it
/// returns from idle.
#[test]
fn slices_that_return_from_idle_delay_others_by_a_bound() {
    for reserved in [&[0.5, 0.5][..], &[0.1, 0.9], &[0.2, 0.7, 0.1], &[0.2, 0.2, 0.2, 0.2, 0.2]] {
        let mut scheduler = nvs(&capacities(reserved), true);
        let own = reserved[0];
        let bound: f64 = reserved[1..].iter().map(|other| other / own + 1.0 + CLAIM_SLOTS * other).sum();
        // the others pause for a second, then return together
        let wanted = |at: u32| {
            let other = if at % 4000 < 2000 { 0 } else { ALL };
            (0..reserved.len()).map(|slice| if slice == 0 { ALL } else { other }).collect()
        };
        let longest = longest_gap(&mut scheduler, 0, 20_000, wanted);
        assert!(f64::from(longest) <= bound, "{reserved:?}: {longest} slots, at most {bound}");
        assert!(longest > 1, "{reserved:?}: they do return");
    }
}

/// A slice that needs less than its share in each slot accumulates no more than an idle one.
#[test]
fn slice_with_little_traffic_accumulates_no_claim() {
    let mut scheduler = nvs(&capacities(&[0.5, 0.5]), true);
    let wanted = |at: u32| vec![ALL, if at % 4000 < 2000 { 10 } else { ALL }];
    assert!(f64::from(longest_gap(&mut scheduler, 0, 20_000, wanted)) <= 2.0 + CLAIM_SLOTS / 2.0);
}

/// What a slice takes while another pauses neither raises nor forgives what it had before.
#[test]
fn pauses_do_not_change_the_shares_of_contended_slots() {
    let mut scheduler = nvs(&capacities(&[0.01, 0.99]), true);
    let (mut first, slots) = (0, 20_000);
    for at in 0..slots {
        let is_pause = at % 20 == 0;
        let both = [backlogged(0), backlogged(1)];
        let grants = slot(&mut scheduler, if is_pause { &both[..1] } else { &both });
        first += u32::from(!is_pause && grants[0].slice == 0);
    }
    let share = f64::from(first) / f64::from(slots - slots / 20);
    assert!(share <= 0.0101, "{share} of the slots that both want");
}

/// A short pause costs a slice nothing of its share.
#[test]
fn short_pauses_keep_the_share() {
    let mut scheduler = nvs(&capacities(&[0.3, 0.7]), true);
    let given = shares(&mut scheduler, 20_000, |at| vec![if at % 32 < 5 { 0 } else { ALL }, ALL]);
    near(&given, &[0.3, 0.7, 0.0], 0.005);
}

#[test]
fn slices_without_reservation_use_the_rest_only() {
    let mut scheduler = nvs(&capacities(&[1.0, 0.0]), true);
    near(&shares(&mut scheduler, 2000, |_| vec![ALL, ALL, ALL]), &[1.0, 0.0, 0.0], 1e-9);
    near(&shares(&mut scheduler, 2000, |_| vec![53, ALL, ALL]), &[0.5, 0.25, 0.25], 0.005);
    let mut partition = nvs(&capacities(&[0.6, 0.4]), false);
    near(&shares(&mut partition, 20_000, |_| vec![ALL, ALL, ALL]), &[0.6, 0.4, 0.0], 1e-3);
}
