//! Who looks when does not show, and UEs find their way between cells with times of their own.

use super::*;
use crate::scenario::Scenario;

const START: Time = Time::from_nanos(3_000_000_007);

fn after(ms: u64) -> Time {
    START + Duration::from_millis(ms)
}

fn counts(world: &World, cell: usize) -> Vec<radio::UeCounts> {
    let cell = world.model.network.cell(cell);
    (0..cell.places()).filter_map(|place| cell.counts(place)).collect()
}

/// The model after the cells were looked at at those times, and once more.
fn looked_at(is_always_on: bool, looks_ms: impl Iterator<Item = u64>) -> Vec<Vec<radio::UeCounts>> {
    let scenario = Scenario { is_always_on, ..Scenario::crowd(2, 8, 3) };
    let world = World::new(&scenario).unwrap();
    let mut world = world.borrow_mut();
    for ms in [0].into_iter().chain(looks_ms).chain([3000]) {
        // not always in the same order
        for cell in if ms % 2 == 0 { [0, 1] } else { [1, 0] } {
            world.advance(cell, after(ms));
        }
    }
    [0, 1].map(|cell| counts(&world, cell)).to_vec()
}

#[test]
fn who_looks_when_does_not_show() {
    for is_always_on in [true, false] {
        let rarely = looked_at(is_always_on, std::iter::empty());
        assert!(rarely.iter().flatten().any(|ue| ue.down_rlc.delivered_packets > 0));
        assert_eq!(looked_at(is_always_on, 1..3000), rarely);
        assert_eq!(looked_at(is_always_on, (0..200).map(|at| at * at / 14)), rarely);
    }
}

/// Nobody has looked at the other cell yet, or at this one for a while.
#[test]
fn a_ue_is_handed_over_between_cells_with_times_of_their_own() {
    for (ahead, to) in [(0, 1), (1, 0)] {
        let world = World::new(&Scenario::crowd(2, 4, 1)).unwrap();
        let mut world = world.borrow_mut();
        world.advance(1 - to, after(0));
        for second in 1..=20 {
            world.advance(ahead, after(1000 * second));
        }
        let before = counts(&world, 1 - to)[2].down_rlc;
        world.hand_over(1 - to, 2, to).unwrap();
        for cell in [0, 1] {
            world.advance(cell, after(20_000));
            world.advance(cell, after(20_200));
        }
        let there = world.model.network.cell(to);
        let ue = there.ue(4).expect("it has come");
        assert_eq!(ue.number(), 2 + 4 * (1 - to) as u64);
        // time has not run backwards, nor twice: what came is what comes in so long
        let came = ue.bearers()[0].downlink().counts().in_octets;
        assert!(came <= 2_000_000, "{came} octets, and {} before", before.in_octets);
        assert!((0..2).all(|cell| world.now(cell) >= radio::Time::from_millis(20_200)));
        let now = world.now(to);
        world.advance(to, after(20_300));
        assert!(world.now(to).since(now) >= Duration::from_millis(99), "and it goes on");
    }
}

/// A cell that nobody has looked at for very long does not make up for all of it at once: until it has, nobody goes between it
/// and others, since a UE's traffic would live through a time twice, or through a long one at once.
#[test]
fn cells_whose_times_are_far_apart_are_brought_together_first() {
    for (ahead, from) in [(0, 0), (1, 0)] {
        let world = World::new(&Scenario::crowd(2, 4, 1)).unwrap();
        let mut world = world.borrow_mut();
        [0, 1].into_iter().for_each(|cell| world.advance(cell, after(0)));
        (1..=20).for_each(|at| world.advance(ahead, after(10_000 * at)));
        let number = world.model.network.cell(from).ue(2).unwrap().number();
        let mut refused = 0;
        while let Err(stays) = world.hand_over(from, 2, 1 - from) {
            refused += 1;
            assert_eq!(stays, Stays::FarApart);
        }
        assert_eq!(refused, 3, "a minute each");
        let left = world.now(from);
        let until = after(201_000);
        [0, 1].into_iter().for_each(|cell| world.advance(cell, until));
        let there = world.model.network.cell(1 - from);
        let (_, ue) = there.ues().find(|(_, ue)| ue.number() == number).expect("it has come");
        assert!(there.now() >= left && ue.bearers()[0].downlink().counts().in_octets <= 10_000_000);
    }
}

#[test]
fn a_cell_that_is_not_there_is_no_place_to_go() {
    let world = World::new(&Scenario::crowd(2, 1, 1)).unwrap();
    let mut world = world.borrow_mut();
    world.advance(0, after(0));
    assert_eq!(world.hand_over(0, 0, 2), Err(Stays::NoSuchCell));
    assert_eq!(world.hand_over(0, 0, 0), Err(Stays::IsThere));
    assert_eq!(world.hand_over(0, 7, 1), Err(Stays::NoSuchUe));
}

#[test]
fn steps_are_taken_whatever_the_clock_says() {
    let world = World::new(&Scenario { speed: 7.0, ..Scenario::crowd(2, 8, 3) }).unwrap();
    let mut world = world.borrow_mut();
    let steps = Steps::default();
    world.step_by(steps.clone());
    world.advance(0, after(0));
    assert_eq!(world.now(0), radio::Time::START, "nobody has said that it may go on");
    for ms in [1, 250, 40, 3000] {
        steps.go_until(radio::Time::from_millis(ms));
        // the clock stands still, or an hour passes
        world.advance(0, after(0));
        world.advance(1, after(3_600_000 * ms));
    }
    assert_eq!(steps.until(), radio::Time::from_millis(3000), "time does not go back");
    assert_eq!([0, 1].map(|cell| world.now(cell)), [radio::Time::from_millis(3000); 2]);
    let mut at_once = Model::new(&Scenario::crowd(2, 8, 3)).unwrap();
    at_once.advance(radio::Time::from_millis(3000));
    let came = |network: &radio::Network| {
        let counts = |cell: &radio::Cell| (0..cell.places()).filter_map(|at| cell.counts(at)).collect::<Vec<_>>();
        [0, 1].map(|cell| counts(network.cell(cell)))
    };
    assert_eq!(came(&world.model.network), came(&at_once.network));
}

/// Nobody can have a say before the model is looked at first: until then UEs go where they want to.
#[test]
fn ues_go_between_cells_in_the_warm_up() {
    let mut scenario = Scenario { warm_up: Duration::from_secs(30), ..Scenario::crowd(3, 8, 2) };
    scenario.handover.a3_offset_db = Some(3.0);
    for ue in &mut scenario.ues {
        let motion = radio::phy::Motion::RandomWaypoint { least_m_per_s: 30.0, most_m_per_s: 30.0, pause_s: 0.0 };
        let position = Some(radio::phy::Position { x_m: 500.0 * ue.cell as f64 + 50.0, y_m: 30.0 });
        ue.channel = crate::scenario::ChannelScenario::Geometry { position, motion };
    }
    let world = World::new(&scenario).unwrap();
    let mut world = world.borrow_mut();
    world.advance(0, after(0));
    assert!(world.now(0) >= radio::Time::from_millis(30_000));
    let (mut there, mut away) = (0, 0);
    for cell in 0..3 {
        for (_, ue) in world.model.network.cell(cell).ues() {
            let geometry = ue.channel().geometry().unwrap();
            let best_dbm = (0..3).map(|site| geometry.rsrp_dbm(site)).fold(f64::MIN, f64::max);
            assert!(best_dbm < geometry.rsrp_dbm(cell) + 6.0, "UE {} is in a cell that it hears badly", ue.number());
            (there, away) = (there + 1, away + u32::from(ue.number() as usize / 8 != cell));
        }
    }
    assert!(there > 20 && away > 5, "{away} of {there}");
    // then somebody may have one: who wants to go is told of
    world.advance(0, after(20_000));
    let wants = |happening: radio::Happening| matches!(happening, radio::Happening::Wants { .. });
    assert!((0..3).any(|cell| world.model.network.happenings(cell).any(wants)));
}
