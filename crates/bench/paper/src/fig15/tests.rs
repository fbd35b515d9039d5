use super::*;

/// A course of ten steps a phase with these throughputs.
fn course(phases: [Means; PHASES.len()]) -> Course {
    phases.into_iter().flat_map(|means| [means; 10]).collect()
}

#[test]
fn isolated_operators_satisfy_the_statements_of_both_cases() {
    let means = means(&course([
        [[5.0, 5.0], [5.0, 5.0]],
        [[6.6, 3.4], [5.0, 5.0]],
        [[6.6, 3.4], [10.0, 0.0]],
        [[13.2, 6.8], [0.0, 0.0]],
    ]));
    assert_eq!(Statement::all(&common(&means)), Some(true));
}

#[test]
fn each_statement_fails_where_it_is_not_so() {
    let good: [Means; 4] =
        [[[5.0, 5.0], [5.0, 5.0]], [[6.6, 3.4], [5.0, 5.0]], [[6.6, 3.4], [10.0, 0.0]], [[6.6, 3.4], [0.0, 0.0]]];
    let broken: [(usize, usize, Means); 6] = [
        (0, 0, [[6.0, 4.0], [5.0, 5.0]]),
        (1, 1, [[5.0, 5.0], [5.0, 5.0]]),
        (2, 1, [[7.26, 3.74], [4.5, 4.5]]),
        (3, 2, [[6.6, 3.4], [5.0, 0.0]]),
        (4, 2, [[5.6, 2.9], [10.0, 0.0]]),
        (5, 3, [[6.6, 3.4], [1.0, 0.0]]),
    ];
    for (statement, phase, means_of_phase) in broken {
        let mut phases = good;
        phases[phase] = means_of_phase;
        let statements = common(&means(&course(phases)));
        assert_eq!(statements[statement].holds, Some(false), "{}", statements[statement].says);
    }
}
