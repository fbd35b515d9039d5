//! `ferric demo --virtual`: two operators share a base station, each with a controller of its own.

mod program;

use program::run;

/// The words of a line with a second of the demo: the second, and two UEs and their sum for each operator, in Mbit/s.
fn second(line: &str) -> Option<(usize, [[f64; 3]; 2])> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [at, "s", values @ ..] = &words[..] else { return None };
    let values: Vec<f64> = values.iter().map(|word| word.parse().unwrap()).collect();
    let [a, b] = [&values[..3], &values[3..]].map(|of_one| of_one.try_into().unwrap());
    Some((at.parse().unwrap(), [a, b]))
}

/// Whether two numbers differ by 10 % at most.
fn is_near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.1
}

#[test]
fn division_of_one_network_leaves_the_other_alone_and_a_new_agreement_moves_both() {
    let outcome = run(&["demo", "--virtual", "--seconds", "6"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let text = &outcome.stdout;
    let place = |line: &str| text.lines().position(|other| other == line).unwrap_or_else(|| panic!("{line}: {text}"));
    let of_second = |number: usize| {
        let mut lines = text.lines().enumerate().filter_map(|(at, line)| Some((at, second(line)?)));
        lines
            .find(|(_, (at, _))| *at == number)
            .map(|(at, (_, values))| (at, values))
            .unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(place("one base station, two operators with a controller each; both agree on 50 % of the cell"), 0);
    let seconds: Vec<_> = text.lines().filter_map(second).collect();
    assert!(seconds.iter().map(|(at, _)| *at).eq(1..=6), "{text}");
    for (at, values) in &seconds {
        for [one, other, sum] in values {
            assert!((one + other - sum).abs() < 0.2, "second {at}: {text}");
        }
    }

    // alike: the operators, and the UEs of each
    let (before, [a, b]) = of_second(2);
    assert!(a[2] > 1.0 && is_near(a[2], b[2]) && is_near(a[0], a[1]) && is_near(b[0], b[1]), "{text}");
    // A has slices, B has what it had
    let divided = place("A divides its network: slices of 66 % and 34 %, a UE in each");
    let (after, [a_divided, b_beside]) = of_second(4);
    assert!(before < divided && divided < after, "{text}");
    assert!(is_near(a_divided[0].max(a_divided[1]) / a_divided[2], 0.66), "{text}");
    assert!(is_near(a_divided[2], a[2]), "{text}");
    assert!(b.iter().zip(b_beside).all(|(then, now)| is_near(now, *then)), "{text}");
    // the sum of both is as before, with three quarters for A
    let agreed = place("new agreement: A has 75 %, B 25 %");
    let (last, [a_last, b_last]) = of_second(6);
    assert!(after < agreed && agreed < last, "{text}");
    assert!(is_near(a_last[2], 1.5 * a[2]) && is_near(b_last[2], 0.5 * b[2]), "{text}");
    let summary = format!("tenants=2 a_mbps={:.1} b_mbps={:.1}", a_last[2], b_last[2]);
    assert_eq!(text.lines().last(), Some(&*summary));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    for option in ["--json", "--plain", "--rest=127.0.0.1:0"] {
        let name = option.split('=').next().unwrap();
        run(&["demo", "--virtual", option]).complains(2, &["--virtual", name, "cannot be used with"]);
    }
    run(&["demo", "--virtual", "--seconds", "0"]).complains(2, &["--seconds"]);
    run(&["demo", "--virtual=two"]).complains(2, &["--virtual"]);
}
