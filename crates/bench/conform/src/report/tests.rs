use super::*;
use crate::{Config, Target};

fn report() -> Report {
    let check = |id: &str, version: &str, outcome, reason: Option<&str>| CheckReport {
        id: id.to_owned(),
        version: version.to_owned(),
        clause: "8.3.1.2".to_owned(),
        title: "a & b".to_owned(),
        outcome,
        reason: reason.map(str::to_owned),
        duration_ms: 1500,
        recording: Some(format!("{version}-{id}.pcapng")),
        unrecorded: 0,
    };
    let checks = vec![
        check("setup", "2.03", Outcome::Pass, None),
        check("reset", "2.03", Outcome::Fail, Some("no <ResetResponse> \u{1b}[2J within \"5 s\"")),
        check("reset", "3.01", Outcome::Inconclusive, Some("no association")),
    ];
    let config = Config::new(Target::Ric("tcp://127.0.0.1:36421".parse().unwrap()));
    Report::new(&config, Role::Ric, 0, false, checks)
}

#[test]
fn numbers_and_lines_are_those_of_the_checks() {
    let report = report();
    assert_eq!((report.passed, report.failed, report.inconclusive), (1, 1, 1));
    let text = report.to_string();
    assert!(text.ends_with("near-RT RIC at tcp://127.0.0.1:36421: passed=1 failed=1 inconclusive=1"), "{text}");
    assert_eq!(text.lines().count(), 1 + 3 + 2 + 1, "a header, three checks, two reasons, the numbers: {text}");
}

#[test]
fn junit_has_a_suite_for_each_version_and_escapes_reasons() {
    let xml = report().junit();
    assert_eq!(xml.matches("<testsuite ").count(), 2);
    assert!(
        xml.contains("<testsuites name=\"E2AP conformance\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""),
        "{xml}"
    );
    assert!(xml.contains("<failure message=\"no &lt;ResetResponse&gt; \u{fffd}[2J within &quot;5 s&quot;\">"), "{xml}");
    assert!(xml.contains("<skipped message=\"no association\">clause 8.3.1.2: a &amp; b</skipped>"), "{xml}");
}

#[test]
fn html_loads_nothing_and_escapes_reasons() {
    let html = report().html();
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"), "{html}");
    assert!(html.contains("no &lt;ResetResponse&gt;"), "{html}");
    assert!(html.contains("<a href=\"2.03-setup.pcapng\">"), "{html}");
}

#[test]
fn json_is_read_back() {
    let report = report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}
