use super::*;

#[test]
fn runs_of_load_balancing_are_identical_and_xapp_has_an_effect() {
    let run = || load_balancing::experiment().run_seeds(6, 31..32).unwrap();
    let first = run();
    assert_eq!(first, run());
    let [Pair { seed: 31, without, with }] = &first[..] else { panic!("one seed: {first:?}") };
    assert_eq!((without.cells.len(), with.cells.len()), (6, 6));
    assert_eq!(without.cells[0], with.cells[0], "the first controls follow the first step");
    assert!(with.cells[5][0].ues < without.cells[5][0].ues, "{:?} {:?}", with.cells[5], without.cells[5]);
    assert!(without.cells[5][0].load_percent > 95.0, "{:?}", without.cells[5]);
}

#[test]
fn cells_sleep_without_loss_of_throughput() {
    // a seed of the design
    let pairs = energy_saving::experiment().run_seeds(10, 1..2).unwrap();
    let [Pair { without, with, .. }] = &pairs[..] else { panic!("one seed: {pairs:?}") };
    let on = |run: &Recording, step: usize| run.cells[step].iter().filter(|cell| cell.is_on_air).count();
    assert_eq!((on(without, 9), on(with, 0), on(with, 9)), (7, 7, 3), "the fewest that the xApp leaves on");
    let power_w = |run: &Recording| run.cells[9].iter().map(|cell| cell.power_w).sum::<f64>();
    assert!(power_w(with) < 0.55 * power_w(without), "{} and {} W", power_w(with), power_w(without));
    assert_eq!(with.mobility.released_asleep, 0);
    let mbps = |run: &Recording| run.mbps[9].iter().sum::<f64>();
    assert!(mbps(with) > 0.97 * mbps(without), "{} and {} Mbit/s", mbps(with), mbps(without));
}
