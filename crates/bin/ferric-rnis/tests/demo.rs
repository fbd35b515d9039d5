//! `ferric rnis demo` as its users run it.

use std::process::{Command, Stdio};

#[test]
fn demo_delivers_every_notification_and_adapts_videos() {
    let program = env!("CARGO_BIN_EXE_ferric-rnis");
    let arguments = ["demo", "--seconds", "6", "--rest", "127.0.0.1:0"];
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.starts_with("rnis=http://127.0.0.1:"), "{stdout}");
    assert!(stdout.contains(" dB: video in "), "no video was adapted: {stdout}{stderr}");
    let last = stdout.lines().last().unwrap();
    let values: Vec<f64> = last.split(' ').map(|word| word.split_once('=').unwrap().1.parse().unwrap()).collect();
    let names: Vec<_> = last.split(' ').map(|word| word.split_once('=').unwrap().0).collect();
    assert_eq!(names, ["notifications", "lost", "p50_ms", "p99_ms"]);
    assert!(values[0] > 10.0 && values[1] == 0.0, "{last}");
}

#[test]
fn wrong_arguments_are_refused_with_what_to_do() {
    let refused = |arguments: &[&str], pieces: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_ferric-rnis")).args(arguments).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && pieces.iter().all(|piece| stderr.contains(piece)),
            "{arguments:?}: {stderr}"
        );
    };
    refused(&["demo", "--seconds", "0"], &["--seconds", "0"]);
    refused(&["--broker", "redis://127.0.0.1"], &["redis://127.0.0.1", "amqp://", "kafka://"]);
    refused(&["--ric", "tcp:/127.0.0.1", "--rest", "127.0.0.1:0"], &["--ric", "tcp:/127.0.0.1"]);
}

#[test]
fn service_waits_for_a_ric_that_does_not_listen_yet() {
    let arguments = ["--ric", "tcp://127.0.0.1:1", "--rest", "127.0.0.1:0"];
    let mut rnis = testkit::program::Program::start(env!("CARGO_BIN_EXE_ferric-rnis"), &arguments);
    rnis.line("rnis=");
    rnis.logs("no RIC at this address yet: waiting for it");
    assert_eq!(rnis.stop().code(), Some(0));
}
