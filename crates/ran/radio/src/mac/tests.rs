//! Slice and UE schedulers.

use super::*;
use crate::Random;

pub(in crate::mac) const PRBS: u32 = 106;
/// The octets of a resource block in these tests.
const OCTETS_PER_PRB: u32 = 55;

pub(in crate::mac) fn candidate(ue: u32, slice: u32, prbs: u32) -> Candidate {
    Candidate {
        ue,
        slice,
        prbs,
        least_prbs: 1,
        is_retransmission: false,
        rate_octets: PRBS * OCTETS_PER_PRB,
        average_octets: 1000.0,
        preference: 1.0,
    }
}

pub(in crate::mac) fn slot(scheduler: &mut Scheduler, candidates: &[Candidate]) -> Vec<Grant> {
    let mut grants = Vec::new();
    let given = scheduler.schedule(PRBS, candidates, &mut grants);
    assert_eq!(given, grants.iter().map(|grant| grant.prbs).sum::<u32>());
    assert!(given <= PRBS);
    for grant in &grants {
        let candidate = candidates.iter().find(|candidate| candidate.ue == grant.ue).unwrap();
        assert!(grant.prbs <= candidate.prbs && grant.prbs > 0, "{grant:?} of {candidate:?}");
        assert!(
            !candidate.is_retransmission || grant.prbs == candidate.prbs,
            "a retransmission is complete or not sent"
        );
        assert_eq!(grants.iter().filter(|other| other.ue == grant.ue).count(), 1);
        scheduler.count(grant.slice, Allocation { prbs: grant.prbs, octets: grant.prbs * OCTETS_PER_PRB });
    }
    scheduler.account(PRBS, 1.0);
    grants
}

pub(in crate::mac) fn nvs(reservations: &[Reservation], is_shared: bool) -> Scheduler {
    let ue_schedulers = (0..=reservations.len()).map(|_| ue_scheduler("PF").unwrap()).collect();
    Scheduler::new(Box::new(Nvs::new(reservations, is_shared, 2000.0)), ue_schedulers)
}

/// The shares of the resource blocks that each slice received over many slots; UEs without a slice are last.
pub(in crate::mac) fn shares(
    scheduler: &mut Scheduler,
    slots: u32,
    mut wanted: impl FnMut(u32) -> Vec<u32>,
) -> Vec<f64> {
    let mut sums = vec![0; scheduler.slices() + 1];
    for at in 0..slots {
        let candidates: Vec<_> = (0..).zip(wanted(at)).map(|(slice, prbs)| candidate(slice, slice, prbs)).collect();
        let some: Vec<_> = candidates.into_iter().filter(|candidate| candidate.prbs > 0).collect();
        slot(scheduler, &some).iter().for_each(|grant| sums[grant.slice as usize] += grant.prbs);
    }
    sums.into_iter().map(|sum| f64::from(sum) / f64::from(PRBS * slots)).collect()
}

pub(in crate::mac) fn near(shares: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(shares.len(), expected.len());
    let is_near = shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() <= tolerance);
    assert!(is_near, "{shares:?}, not {expected:?}");
}

#[test]
fn backlogged_slices_receive_their_reservation() {
    let capacities = |shares: &[f64]| shares.iter().map(|share| Reservation::Capacity(*share)).collect::<Vec<_>>();
    let mut scheduler = nvs(&capacities(&[0.5, 0.3, 0.2]), true);
    near(&shares(&mut scheduler, 2000, |_| vec![1000; 3]), &[0.5, 0.3, 0.2, 0.0], 0.005);
    // the unreserved part is for UEs without a slice
    let mut scheduler = nvs(&capacities(&[0.5, 0.2]), true);
    near(&shares(&mut scheduler, 2000, |_| vec![1000; 3]), &[0.5, 0.2, 0.3], 0.005);
    // a rate of a quarter of the cell: 106 blocks of 55 octets in 2000 slots are 93.28 Mbit/s
    let cell_bps = 93.28e6;
    let rate = Reservation::Rate { reserved_bps: cell_bps / 4.0, reference_bps: cell_bps };
    let mut scheduler = nvs(&[rate, Reservation::Capacity(0.75)], true);
    near(&shares(&mut scheduler, 2000, |_| vec![1000; 2]), &[0.25, 0.75, 0.0], 0.005);
}

#[test]
fn idle_slices_share_or_waste_slots() {
    let reservations = [Reservation::Capacity(0.66), Reservation::Capacity(0.34)];
    near(&shares(&mut nvs(&reservations, true), 2000, |_| vec![1000, 0]), &[1.0, 0.0, 0.0], 1e-9);
    near(&shares(&mut nvs(&reservations, false), 2000, |_| vec![1000, 0]), &[0.66, 0.0, 0.0], 0.005);
    near(&shares(&mut nvs(&reservations, false), 2000, |_| vec![1000, 1000]), &[0.66, 0.34, 0.0], 0.005);
    let rate = [Reservation::Rate { reserved_bps: 20e6, reference_bps: 80e6 }, Reservation::Capacity(0.75)];
    near(&shares(&mut nvs(&rate, false), 2000, |_| vec![0, 1000]), &[0.0, 0.75, 0.0], 0.005);
}

/// For random arrivals, blocks are unused only if all backlogs are served, and a backlogged slice receives its share.
#[test]
fn nvs_is_work_conserving_and_keeps_reservations() {
    for seed in 0..200 {
        let mut random = Random::new(seed, 1);
        let count = 1 + (random.uniform() * 5.0) as usize;
        let raw: Vec<f64> = (0..count).map(|_| 0.05 + random.uniform()).collect();
        let scale = (0.2 + 0.8 * random.uniform()) / raw.iter().sum::<f64>();
        let reserved: Vec<f64> = raw.iter().map(|share| share * scale).collect();
        let reservations: Vec<_> = reserved.iter().map(|share| Reservation::Capacity(*share)).collect();
        let mut scheduler = nvs(&reservations, true);
        // the first slice is always backlogged
        let mut waiting: Vec<u32> = vec![0; count + 1];
        let load: Vec<f64> = (0..=count).map(|_| random.uniform() * 60.0).collect();
        let (mut first, slots) = (0, 1500);
        for _ in 0..slots {
            for (waiting, load) in waiting.iter_mut().zip(&load) {
                *waiting += random.exponential(*load) as u32;
            }
            waiting[0] = 5000;
            let candidates: Vec<_> = (0..)
                .zip(&waiting)
                .filter(|(_, prbs)| **prbs > 0)
                .map(|(slice, prbs)| candidate(slice, slice, *prbs))
                .collect();
            let grants = slot(&mut scheduler, &candidates);
            let given: u32 = grants.iter().map(|grant| grant.prbs).sum();
            assert_eq!(given, PRBS.min(waiting.iter().sum()), "seed {seed}");
            for grant in grants {
                waiting[grant.slice as usize] -= grant.prbs;
                first += if grant.slice == 0 { grant.prbs } else { 0 };
            }
        }
        let share = f64::from(first) / f64::from(PRBS * slots);
        assert!(share >= reserved[0] - 0.02, "seed {seed}: {share} of {}", reserved[0]);
    }
}

/// Reservations that add up to exactly 1 are accepted in any order of addition: a controller must not be able to panic the
/// cell.
#[test]
fn reservations_summing_to_one_are_accepted_in_any_order() {
    let mut random = Random::new(11, 0);
    for _ in 0..20_000 {
        let raw: Vec<f64> = (0..7).map(|_| random.uniform()).collect();
        let scale = (1.0 + 1e-6) / raw.iter().sum::<f64>();
        let mut shares: Vec<f64> = raw.iter().map(|share| share * scale).collect();
        shares.sort_by(f64::total_cmp);
        let of = |shares: &[f64]| shares.iter().map(|share| Reservation::Capacity(*share)).collect::<Vec<_>>();
        drop(Nvs::new(&of(&shares), true, 2000.0));
        shares.reverse();
        drop(Nvs::new(&of(&shares), true, 2000.0));
    }
}

#[test]
fn static_slices_are_not_shared() {
    let places = [Positions { low: 0, high: 5 }, Positions { low: 6, high: 8 }];
    let pf = || ue_scheduler("PF").unwrap();
    let mut scheduler = Scheduler::new(Box::new(StaticSlices::new(&places, PRBS, 8)), vec![pf(), pf(), pf()]);
    let blocks = |scheduler: &mut Scheduler, wanted: Vec<u32>| {
        shares(scheduler, 1, |_| wanted.clone())
            .iter()
            .map(|share| (share * f64::from(PRBS)).round() as u32)
            .collect::<Vec<_>>()
    };
    assert_eq!(blocks(&mut scheduler, vec![500, 500, 500]), [48, 24, 34]);
    assert_eq!(blocks(&mut scheduler, vec![500, 0, 0]), [48, 0, 0]);
    assert_eq!(blocks(&mut scheduler, vec![10, 500, 0]), [10, 24, 0]);
}

#[test]
fn quotas_guarantee_and_limit_prbs() {
    let quota = |dedicated_percent, min_percent, max_percent| Quota { dedicated_percent, min_percent, max_percent };
    let shared = |quotas: Vec<Quota>, wanted: &[u32]| {
        let pf = (0..=quotas.len()).map(|_| ue_scheduler("PF").unwrap()).collect();
        let mut scheduler = Scheduler::new(Box::new(Quotas::new(quotas)), pf);
        shares(&mut scheduler, 1000, |_| wanted.to_vec())
    };
    let two = || vec![quota(0, 60, 100), quota(0, 0, 30)];
    let share = |blocks: u32| f64::from(blocks) / 106.0;
    // 63 blocks are 60 %, and the group with the lowest average per UE receives the rest
    let all = shared(two(), &[500, 500, 500]);
    assert!(all[0] >= share(63) && all[1] <= share(31), "{all:?}");
    near(&all, &[0.6, 0.2, 0.2], 0.02);
    near(&shared(two(), &[20, 500, 500]), &[share(20), share(31), share(55)], 1e-9);
    near(&shared(two(), &[0, 500, 0]), &[0.0, share(31), 0.0], 1e-9);
    let dedicated = || vec![quota(40, 40, 50)];
    near(&shared(dedicated(), &[5, 500]), &[share(5), share(106 - 42)], 1e-9);
    near(&shared(dedicated(), &[500, 0]), &[share(53), 0.0], 1e-9);
    near(&shared(vec![quota(0, 0, 0)], &[500, 30]), &[0.0, share(30)], 1e-9);
}

#[test]
fn ue_schedulers_follow_their_metrics() {
    let with = |name: &str| Scheduler::new(Box::new(NoSlices), vec![ue_scheduler(name).unwrap()]);
    let two = [
        Candidate { rate_octets: 4000, average_octets: 100.0, ..candidate(0, 0, 500) },
        Candidate { rate_octets: 8000, average_octets: 4000.0, ..candidate(1, 0, 500) },
    ];
    let first = |name: &str| slot(&mut with(name), &two)[0];
    assert_eq!((first("PF").ue, first("MT").ue), (0, 1), "lowest average, highest rate");
    assert_eq!(first("PF").prbs, PRBS);
    // also in a cell so small that no UE receives an octet per slot
    let small = [
        Candidate { rate_octets: 20, average_octets: 0.01, ..candidate(0, 0, 500) },
        Candidate { rate_octets: 40, average_octets: 0.5, ..candidate(1, 0, 500) },
    ];
    assert_eq!(slot(&mut with("PF"), &small)[0].ue, 0);
    let preferred = [two[0], Candidate { preference: 100.0, ..two[1] }];
    assert_eq!(slot(&mut with("PF"), &preferred)[0].ue, 1);
    let mut in_turn = with("RR");
    let three: Vec<_> = (0..3).map(|ue| candidate(ue, 0, 500)).collect();
    let firsts: Vec<u32> = (0..4).map(|_| slot(&mut in_turn, &three)[0].ue).collect();
    assert_eq!(firsts, [0, 1, 2, 0]);
    let grants = slot(&mut in_turn, &[candidate(0, 0, 10), candidate(1, 0, 500), candidate(2, 0, 500)]);
    let mut prbs: Vec<_> = grants.iter().map(|grant| (grant.ue, grant.prbs)).collect();
    prbs.sort_unstable();
    assert_eq!(prbs, [(0, 10), (1, 48), (2, 48)], "the others receive the blocks that one UE does not need");
    assert!(ue_scheduler("best").is_none());
    // a UE with the same rate as others is not starved
    let mut best = with("MT");
    let mut blocks = [0; 3];
    for _ in 0..300 {
        slot(&mut best, &three).iter().for_each(|grant| blocks[grant.ue as usize] += grant.prbs);
    }
    assert_eq!(blocks, [100 * PRBS; 3]);
}

#[test]
fn retransmissions_go_first_and_complete() {
    let mut scheduler = Scheduler::new(Box::new(NoSlices), vec![ue_scheduler("PF").unwrap()]);
    let again = Candidate { is_retransmission: true, ..candidate(1, 0, 40) };
    let grants = slot(
        &mut scheduler,
        &[candidate(0, 0, 500), again, Candidate { is_retransmission: true, ..candidate(2, 0, 70) }],
    );
    let of = |ue: u32| grants.iter().find(|grant| grant.ue == ue).map(|grant| (grant.prbs, grant.is_retransmission));
    assert_eq!((of(1), of(2), of(0)), (Some((40, true)), None, Some((66, false))), "70 do not fit beside 40");
}

/// A block that was sent before its slice was reduced is retransmitted nevertheless, and charged to its slice.
#[test]
fn retransmission_may_exceed_reduced_slice() {
    let pf = || ue_scheduler("PF").unwrap();
    let places = [Positions { low: 0, high: 1 }];
    let mut scheduler = Scheduler::new(Box::new(StaticSlices::new(&places, PRBS, 8)), vec![pf(), pf()]);
    let again = Candidate { is_retransmission: true, ..candidate(0, 0, 80) };
    let grants = slot(&mut scheduler, &[again, candidate(1, 0, 500), candidate(2, 1, 500)]);
    let of = |ue: u32| grants.iter().find(|grant| grant.ue == ue).map(|grant| grant.prbs);
    assert_eq!((of(0), of(1), of(2)), (Some(80), None, Some(26)));
}

/// Without sharing, a slice with many retransmissions does not reduce the share of the others.
#[test]
fn retransmissions_are_accounted_without_sharing() {
    for is_shared in [true, false] {
        let mut scheduler = nvs(&[Reservation::Capacity(0.5), Reservation::Capacity(0.5)], is_shared);
        let mut sums = [0, 0];
        for at in 0..4000 {
            let again = Candidate { is_retransmission: true, ..candidate(2, 1, 40) };
            let candidates = [candidate(0, 0, 1000), candidate(1, 1, 1000), again];
            let count = if at % 2 == 0 { 3 } else { 2 };
            for grant in slot(&mut scheduler, &candidates[..count]) {
                sums[grant.slice as usize] += grant.prbs;
            }
        }
        let shares = sums.map(|sum| f64::from(sum) / f64::from(PRBS * 4000));
        near(&shares, &[0.5, 0.5], 0.01);
    }
}

/// Retransmissions count towards the quota of their group, once.
#[test]
fn quotas_count_retransmissions_once() {
    let pf = || ue_scheduler("PF").unwrap();
    let quota = Quota { dedicated_percent: 0, min_percent: 0, max_percent: 50 };
    let mut scheduler = Scheduler::new(Box::new(Quotas::new(vec![quota, quota])), vec![pf(), pf(), pf()]);
    let again = Candidate { is_retransmission: true, ..candidate(0, 0, 30) };
    let mut given = |candidates: &[Candidate]| {
        let grants = slot(&mut scheduler, candidates);
        let of = |ue: u32| grants.iter().find(|grant| grant.ue == ue).map_or(0, |grant| grant.prbs);
        [of(0), of(1), of(2)]
    };
    // 53 blocks are half
    assert_eq!(given(&[again, candidate(1, 0, 10)]), [30, 10, 0], "both fit");
    assert_eq!(given(&[again, candidate(1, 0, 500)]), [30, 23, 0], "the sum is bounded");
    assert_eq!(
        given(&[again, candidate(1, 0, 500), candidate(2, 1, 500)]),
        [30, 23, 53],
        "the other group keeps its share"
    );
}
