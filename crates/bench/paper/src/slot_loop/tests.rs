use super::stepped::run;

/// The xApp schedules as the cell does, and each run is the same.
#[test]
fn remote_scheduler_without_delay_is_the_local_one_within_a_percent() {
    // a seed of the design
    let (local, remote) = (run(1, 2000, None).unwrap(), run(1, 2000, Some(0)).unwrap());
    let share = remote.cell_mbps() / local.cell_mbps();
    assert!((share - 1.0).abs() <= 0.01, "{share}: {remote:?} and {local:?}");
    assert!((remote.fairness() - local.fairness()).abs() < 0.01, "{remote:?} and {local:?}");
    let counts = remote.counts;
    assert!(counts.decided >= 2400 && counts.missed <= 10, "{counts:?}");
    assert_eq!((counts.late, counts.refused, local.counts.decided), (0, 0, 0), "{counts:?}");
    assert_eq!(run(1, 200, Some(0)).unwrap(), run(1, 200, Some(0)).unwrap());
}

#[test]
fn decisions_ahead_of_time_are_obeyed_in_their_slots() {
    let remote = run(2, 300, Some(8)).unwrap();
    // the first decisions are about the ninth slot
    assert!(remote.counts.decided >= 780 && remote.counts.missed <= 20, "{remote:?}");
    assert!(remote.cell_mbps() > 20.0, "{remote:?}");
}
