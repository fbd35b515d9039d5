//! DRX timers against hand calculation, and invalid parameters.

use super::*;

const SLOT: Duration = Duration::from_micros(500);

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// The milliseconds in which a UE is awake, up to `until`.
fn awake_ms(drx: &mut Drx, from: u64, until: u64) -> Vec<u64> {
    let is_awake = |ms: &u64| {
        drx.update(at(*ms));
        drx.is_awake()
    };
    (from..until).filter(is_awake).collect()
}

fn range(from: u64, until: u64) -> Vec<u64> {
    (from..until).collect()
}

#[test]
fn on_durations_follow_cycle_and_offset() {
    let config = DrxConfig { long_cycle_ms: 40, start_offset_ms: Some(12), inactivity_ms: 0, ..DrxConfig::default() };
    let mut drx = Drx::new(config, 7, at(0));
    let expected = [range(12, 22), range(52, 62), range(92, 100)].concat();
    assert_eq!(awake_ms(&mut drx, 1, 100), expected);
    // 10 of each 40 ms
    assert_eq!(drx.awake(at(4000)), Duration::from_millis(1000));
    // without an offset the number of the UE decides
    let mut drx = Drx::new(DrxConfig { start_offset_ms: None, ..config }, 47, at(0));
    assert_eq!(awake_ms(&mut drx, 1, 40), range(7, 17));
}

/// Each new transmission restarts the inactivity timer; then short cycles follow, and then long ones.
#[test]
fn short_cycles_follow_the_inactivity_timer() {
    let short = Some(ShortCycle { cycle_ms: 10, cycles: 3 });
    let config = DrxConfig {
        long_cycle_ms: 80,
        start_offset_ms: Some(0),
        short,
        on_duration_ms: 2,
        inactivity_ms: 20,
        ..DrxConfig::default()
    };
    let mut drx = Drx::new(DrxConfig { inactivity_ms: 0, short: None, ..config }, 0, at(0));
    assert_eq!(awake_ms(&mut drx, 1, 100), [range(1, 2), range(80, 82)].concat());

    let mut drx = Drx::new(config, 0, at(0));
    drx.transmitted(at(3), SLOT);
    drx.transmitted(at(11), SLOT);
    // inactivity until 31.5 ms; three short cycles of 10 ms until 61.5 ms, in phase with the system; the next long one
    let expected = [range(12, 32), range(40, 42), range(50, 52), range(60, 62), range(80, 82)].concat();
    assert_eq!(awake_ms(&mut drx, 12, 120), expected);
    assert_eq!(drx.awake(at(120)), Duration::from_micros(31_500) + Duration::from_millis(8));
}

#[test]
fn retransmissions_and_requests_keep_the_ue_awake() {
    let config =
        DrxConfig { start_offset_ms: Some(319), inactivity_ms: 0, retransmission_slots: 8, ..DrxConfig::default() };
    let mut drx = Drx::new(config, 0, at(0));
    let (down, up) = ((Direction::Downlink, 3), (Direction::Uplink, 3));
    awake_ms(&mut drx, 1, 20);
    drx.wait_for_retransmission(at(20), down, SLOT);
    drx.wait_for_retransmission(at(22), up, SLOT);
    assert_eq!(awake_ms(&mut drx, 20, 40), range(20, 26), "two timers of 4 ms");
    drx.wait_for_retransmission(at(40), down, SLOT);
    drx.retransmitted(at(42), down);
    assert_eq!(awake_ms(&mut drx, 42, 60), [0_u64; 0], "the assignment stops the timer");
    drx.set_request_sent(at(60), true);
    assert_eq!(awake_ms(&mut drx, 60, 80), range(60, 80));
    drx.set_request_sent(at(80), false);
    assert_eq!(awake_ms(&mut drx, 80, 100), [0_u64; 0]);
    let none = DrxConfig { retransmission_slots: 0, ..config };
    let mut drx = Drx::new(none, 0, at(0));
    drx.wait_for_retransmission(at(20), down, SLOT);
    assert_eq!(awake_ms(&mut drx, 20, 40), [0_u64; 0]);
}

/// The time awake does not depend on how often the state is updated.
#[test]
fn time_awake_does_not_depend_on_updates() {
    let short = Some(ShortCycle { cycle_ms: 5, cycles: 16 });
    let config = DrxConfig { short, on_duration_ms: 1, inactivity_ms: 3, ..DrxConfig::default() };
    let run = |step: usize| {
        let mut drx = Drx::new(config, 11, at(3));
        for ms in 3..2000 {
            if ms % step == 0 {
                drx.update(at(ms as u64));
            }
            if ms % 97 == 0 {
                drx.transmitted(at(ms as u64), SLOT);
            }
        }
        drx.awake(at(2000))
    };
    assert_eq!(run(1), run(50));
    assert_eq!(run(1), run(5000));
}

#[test]
fn invalid_parameters_are_rejected() {
    let ok = DrxConfig::default();
    assert_eq!(ok.check(), Ok(()));
    let short = |cycle_ms, cycles| Some(ShortCycle { cycle_ms, cycles });
    for (config, expected) in [
        (DrxConfig { long_cycle_ms: 0, ..ok }, "long_cycle_ms is 0: must be one of 10, 20, 32, "),
        (DrxConfig { on_duration_ms: 7, ..ok }, "on_duration_ms is 7: must be one of 1, 2, 3, "),
        (DrxConfig { inactivity_ms: 9, ..ok }, "inactivity_ms is 9: must be one of 0, 1, 2, "),
        (DrxConfig { retransmission_slots: 3, ..ok }, "retransmission_slots is 3: must be one of 0, 1, 2, 4"),
        (
            DrxConfig { start_offset_ms: Some(320), ..ok },
            "start_offset_ms is 320: must be less than the long cycle of 320",
        ),
        (DrxConfig { short: short(9, 1), ..ok }, "short_cycle_ms is 9: must be one of 2, 3, "),
        (DrxConfig { short: short(8, 0), ..ok }, "short_cycle_timer is 0: must be one of 1, 2, "),
        (DrxConfig { short: short(8, 17), ..ok }, "short_cycle_timer is 17: must be one of 1, 2, "),
        (DrxConfig { short: short(7, 1), ..ok }, "the long cycle of 320 ms is not a multiple of the short one of 7 ms"),
    ] {
        let error = config.check().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
