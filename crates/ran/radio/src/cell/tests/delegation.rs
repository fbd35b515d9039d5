//! Slots that somebody else schedules.

use super::*;

/// Delegates the bearer of UEs from now on.
fn delegate(cell: &mut Cell, ues: &[u32]) {
    let from = cell.slot();
    cell.set_delegated(ues.iter().map(|ue| DelegatedBearer { ue: *ue, bearer: 1, from, until: u64::MAX }).collect());
}

fn grant(ue: u32, prbs: u32, octets: u32) -> DecidedGrant {
    DecidedGrant { ue, prbs, mcs: 20, shares: vec![(1, octets)] }
}

fn is_downlink(cell: &Cell, slot: u64) -> bool {
    cell.grid().slot_kind(slot).0 > 0
}

/// Runs slots, each with a decision if it has a downlink.
fn run(cell: &mut Cell, slots: u64, grants: &[DecidedGrant]) {
    for _ in 0..slots {
        if is_downlink(cell, cell.slot()) {
            assert!(cell.delegation_counts().decided == 0 || cell.awaits_decision());
            cell.decide(cell.slot(), grants.to_vec());
            assert!(!cell.awaits_decision());
        }
        cell.step();
    }
}

fn octets(cell: &Cell) -> Vec<u64> {
    cell.ues().map(|(_, ue)| ue.downlink().counts().block_octets).collect()
}

#[test]
fn decisions_replace_the_choice_of_the_cell() {
    let mut cell = busy(CellConfig::default(), 2, 60_000_000);
    mbps(&mut cell, 1);
    delegate(&mut cell, &[0, 1]);
    let before = octets(&cell);
    run(&mut cell, 1000, &[grant(0, 106, u32::MAX)]);
    let after = octets(&cell);
    assert_eq!(after[1], before[1], "the decisions leave nothing for the other UE");
    let all = cell.blocks(Direction::Downlink).octets(20, 106, 14);
    let downlink = (0..1000).filter(|slot| cell.grid().slot_kind(*slot).0 == 14).count() as u64;
    assert!(after[0] - before[0] >= downlink * u64::from(all), "{after:?} after {before:?}");
    let counts = cell.delegation_counts();
    let DelegationCounts { decided, missed, grants, reduced, dropped, .. } = counts;
    assert_eq!((missed, grants, reduced, dropped), (0, decided, 0, 0), "{counts:?}");
}

#[test]
fn slot_without_decision_is_scheduled_by_the_cell() {
    let mut cell = busy(CellConfig::default(), 2, 60_000_000);
    mbps(&mut cell, 1);
    delegate(&mut cell, &[0, 1]);
    run(&mut cell, 100, &[grant(0, 106, u32::MAX)]);
    let (before, slot) = (octets(&cell), cell.slot());
    // whoever has decided is gone: the next slot with a downlink is scheduled already
    while !is_downlink(&cell, cell.slot()) {
        cell.step();
    }
    cell.step();
    assert_ne!(octets(&cell), before);
    let all: f64 = mbps(&mut cell, 2).iter().sum();
    assert!(all > 55.0, "{all} Mbit/s");
    let missed = (slot..cell.slot()).filter(|slot| cell.grid().slot_kind(*slot).0 > 0).count() as u64;
    assert_eq!(cell.delegation_counts().missed, missed);
    cell.set_delegated(Vec::new());
    mbps(&mut cell, 1);
    assert_eq!(cell.delegation_counts().missed, missed, "nothing is delegated");
}

#[test]
fn what_is_not_delegated_is_scheduled_beside_a_decision() {
    let mut cell = busy(CellConfig::default(), 3, 60_000_000);
    mbps(&mut cell, 1);
    delegate(&mut cell, &[0, 1]);
    let before = octets(&cell);
    run(&mut cell, 1000, &[grant(0, 50, u32::MAX)]);
    let sent: Vec<u64> = octets(&cell).iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(sent[1], 0, "delegated, and without a grant");
    let share = sent[0] as f64 / (sent[0] + sent[2]) as f64;
    assert!((share - 50.0 / 106.0).abs() < 0.01, "{sent:?}");
}

#[test]
fn plan_states_what_falls_short() {
    let mut cell = busy(CellConfig::default(), 2, 60_000_000);
    mbps(&mut cell, 1);
    delegate(&mut cell, &[0, 1]);
    while cell.grid().slot_kind(cell.slot()).0 < 14 {
        cell.step();
    }
    let slot = cell.slot();
    let room = cell.blocks(Direction::Downlink).octets(20, 50, 14);
    let plan = cell.decide(slot, vec![grant(0, 50, u32::MAX), grant(1, 50, 100), grant(7, 6, 100)]);
    assert_eq!(plan, [vec![(room, Some(Shortfall::Room))], vec![(100, None)], vec![(0, Some(Shortfall::NoUe))]]);
    // the octets that are promised are not promised again
    let queued = cell.ue(1).unwrap().bearers()[0].downlink().demand_octets(cell.now());
    let later = (slot + 1..).find(|slot| cell.grid().slot_kind(*slot).0 == 14).unwrap();
    let wanted = queued.min(cell.blocks(Direction::Downlink).octets(20, 106, 14));
    let plan = cell.decide(later, vec![grant(1, 106, wanted)]);
    assert!(plan[0][0].0 <= queued - 100, "{plan:?}");
    let other = Shortfall::Buffer;
    let nothing = cell.decide(later + 10, vec![DecidedGrant { shares: vec![(9, 1)], ..grant(1, 106, 1) }]);
    assert_eq!(nothing, [vec![(0, Some(other))]], "a bearer that does not exist");
}

#[test]
fn grants_of_absent_ues_are_dropped_and_the_others_executed() {
    let mut cell = busy(CellConfig::default(), 2, 60_000_000);
    mbps(&mut cell, 1);
    delegate(&mut cell, &[0, 1]);
    let before = octets(&cell)[0];
    let first = (cell.slot()..).find(|slot| is_downlink(&cell, *slot)).unwrap();
    cell.decide(first, vec![grant(1, 50, u32::MAX), grant(0, 50, u32::MAX)]);
    cell.leave(1);
    while cell.slot() <= first {
        cell.step();
    }
    let counts = cell.delegation_counts();
    assert_eq!((counts.decided, counts.grants, counts.dropped), (1, 1, 1), "{counts:?}");
    assert!(octets(&cell)[0] > before);
}

#[test]
fn decisions_that_are_too_late_or_too_many_are_bounded() {
    let mut cell = busy(CellConfig::default(), 1, 1_000_000);
    mbps(&mut cell, 1);
    delegate(&mut cell, &[0]);
    cell.decide(cell.slot() - 1, vec![grant(0, 106, 1)]);
    for slot in 0..2 * MAX_DECISIONS as u64 {
        cell.decide(cell.slot() + slot, vec![grant(0, 1, 1)]);
    }
    cell.advance(cell.now() + Duration::from_secs(2));
    let downlink = |slots: u64| (0..slots).filter(|slot| cell.grid().slot_kind(*slot).0 > 0).count() as u64;
    let decided = cell.delegation_counts().decided;
    // about 1000 slots, of which one in ten has no downlink
    assert!(decided <= MAX_DECISIONS as u64 && decided + 20 > downlink(MAX_DECISIONS as u64), "{decided}");
}
