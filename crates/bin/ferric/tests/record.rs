//! Recordings: written, decoded and replayed.

mod program;

use std::time::{Duration, Instant};

use program::{File, PATIENCE, run};

/// The messages of a recording as `ferric decode` prints them.
fn decoded(file: &File) -> Vec<serde_json::Value> {
    let outcome = run(&["decode", file.name()]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    serde_json::Deserializer::from_str(&outcome.stdout).into_iter().map(Result::unwrap).collect()
}

fn names(messages: &[serde_json::Value]) -> Vec<&str> {
    let is_name = |key: &&String| key.starts_with(|c: char| c.is_ascii_uppercase());
    messages.iter().filter_map(|message| message.as_object()?.keys().find(is_name).map(String::as_str)).collect()
}

fn last_line(stdout: &str) -> &str {
    stdout.lines().last().unwrap_or_default()
}

/// Waits until the last message of a growing file is `name`.
fn ends_with(file: &File, name: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // the file may end within a block
        let outcome = run(&["decode", file.name()]);
        let messages = serde_json::Deserializer::from_str(&outcome.stdout).into_iter().map_while(Result::ok);
        if names(&messages.collect::<Vec<_>>()).last() == Some(&name) {
            return;
        }
        assert!(Instant::now() < deadline, "{name} is not there\n{}\n{}", outcome.stdout, outcome.stderr);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A RIC, a node and pings between them, each recorded.
fn pings(ric_file: &File, ran_file: &File, xapp_file: &File) {
    let any = "tcp://127.0.0.1:0";
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any, "--record", ric_file.name()]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2", "--record", ran_file.name()]);
    ric.logs(" up: ");
    let ping = ["xapp", "ping", "--ric", &xapp, "--period-ms", "100", "--seconds", "1", "--record", xapp_file.name()];
    let outcome = run(&ping);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    // the xApp has left; the RIC ends its subscription at the node
    ends_with(ric_file, "RicSubscriptionDeleteResponse");
    ran.stop();
    ric.stop();
}

#[test]
fn recording_is_decoded_and_replayed() {
    let (ric_file, ran_file, xapp_file) =
        (File::named("ric.pcapng"), File::named("ran.pcapng"), File::named("xapp.pcapng"));
    pings(&ric_file, &ran_file, &xapp_file);
    let by_ric = decoded(&ric_file);
    assert!(names(&by_ric).starts_with(&["E2SetupRequest", "E2SetupResponse", "RicSubscriptionRequest"]));
    assert!(names(&by_ric).contains(&"RicControlRequest") && names(&by_ric).contains(&"RicIndication"));
    assert!(by_ric.iter().all(|message| message["interface"] == "e2-tcp-per" && message.get("error").is_none()));
    assert_eq!(names(&decoded(&ran_file)).len(), names(&by_ric).len(), "both ends saw the same");
    assert!(decoded(&xapp_file).iter().all(|message| message["interface"] == "xapp-tcp"));

    // the RIC's side, to an equal node
    let any = "tcp://127.0.0.1:0";
    let play = ["play", ric_file.name(), "--as", "ric", "--e2", any, "--timing", "none"];
    let mut player = program::start(&play);
    let e2 = player.line("e2=");
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    let outcome = player.end();
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    assert!(last_line(&outcome.stdout).contains("different=0 missing=0 unexpected=0"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("<- RicControlAcknowledge: as recorded"), "{}", outcome.stdout);
    drop(ran);

    // to a node with another cell
    let mut player = program::start(&play);
    let e2 = player.line("e2=");
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2", "--kpm", "2.03"]);
    let outcome = player.end();
    assert!(outcome.stdout.contains("<- E2SetupRequest: different\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("ran_functions_added[0]"), "{}", outcome.stdout);
    outcome.complains(1, &["the peer did not answer as recorded"]);
    drop(ran);

    // the node's side, to a RIC without an xApp: no subscription
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any]);
    let e2 = ric.line("e2=");
    let outcome = run(&["play", ran_file.name(), "--e2", &e2, "--timing", "none", "--patience-ms", "50"]);
    assert!(outcome.stdout.contains("<- E2SetupResponse: as recorded"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("<- RicSubscriptionRequest: missing"), "{}", outcome.stdout);
    outcome.complains(1, &["the peer did not answer as recorded"]);
    ric.stop();
}

#[test]
fn flatbuffers_recording_is_decoded() {
    let file = File::named("flat.pcapng");
    let urls = ["ric", "--e2", "tcp+flat://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"];
    let mut ric = program::start(&[&urls[..], &["--record", file.name()]].concat());
    let ran = program::start(&["ran", "--ric", &ric.line("e2="), "--ues", "2"]);
    ends_with(&file, "E2SetupResponse");
    ran.stop();
    ric.stop();
    let messages = decoded(&file);
    assert!(names(&messages).starts_with(&["E2SetupRequest", "E2SetupResponse"]), "{:?}", names(&messages));
    assert!(messages[..2].iter().all(|message| message["interface"] == "e2-tcp-flat" && message["e2ap"] == "2.03"));
}

#[test]
fn unusable_recording_is_refused() {
    run(&["ric", "--e2", "tcp://127.0.0.1:0", "--record", "/nowhere/x"]).complains(1, &["/nowhere/x", "No such file"]);
    run(&["ran", "--record", "x", "--record-limit", "7"]).complains(2, &["below 4K"]);
    run(&["ric", "--record-xapps"]).complains(2, &["--record <FILE>"]);
    run(&["play", "/nowhere/x"]).complains(1, &["/nowhere/x", "No such file"]);
    let whole = b"\x0A\x0D\x0D\x0A\x1C\0\0\0\x4D\x3C\x2B\x1A\x01\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x1C\0\0\0";
    let file = File::new("bad.pcapng", &whole[..20]);
    for command in ["play", "decode"] {
        run(&[command, file.name()]).complains(1, &["at octet 20: the file ends within the block", "octet 0"]);
    }
    let file = File::new("bad.pcapng", b"xyz");
    run(&["play", file.name()]).complains(1, &["at octet 0: this is not a pcapng file"]);
    let file = File::new("bad.pcapng", b"");
    run(&["play", file.name()]).complains(1, &["at octet 0: the file is empty"]);
    let file = File::new("bad.pcapng", &[0xD4, 0xC3, 0xB2, 0xA1]);
    run(&["play", file.name()]).complains(1, &["editcap -F pcapng"]);
    let file = File::new("bad.pcapng", whole);
    run(&["play", file.name()]).complains(1, &["no association with an E2 Setup"]);
    run(&["play", file.name(), "--association", "3"]).complains(1, &["no association 3"]);
}

/// A RIC that records to `file`, with a node and a stream of pings; the programs, in the order in which they end.
fn busy_ric(ric: program::Program) -> [program::Program; 3] {
    let mut ric = ric;
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    ric.logs(" up: ");
    let ping = program::start(&["xapp", "ping", "--ric", &xapp, "--period-ms", "10", "--seconds", "600"]);
    [ping, ran, ric]
}

#[test]
fn recording_of_a_killed_program_ends_at_most_a_second_before_its_end() {
    let any = "tcp://127.0.0.1:0";
    let file = File::named("killed.pcapng");
    let ric = program::start(&["ric", "--e2", any, "--xapp", any, "--record", file.name()]);
    let [ping, ran, ric] = busy_ric(ric);
    // pings are under way
    let messages = |file: &File| {
        let outcome = run(&["decode", file.name()]);
        let messages = serde_json::Deserializer::from_str(&outcome.stdout).into_iter().map_while(Result::ok);
        messages.collect::<Vec<serde_json::Value>>()
    };
    let deadline = Instant::now() + PATIENCE;
    while names(&messages(&file)).iter().filter(|name| **name == "RicIndication").count() < 20 {
        assert!(Instant::now() < deadline, "no indications in the file");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    ric.signal(rustix::process::Signal::KILL);
    ric.end();
    drop((ping, ran));
    let recorded = messages(&file);
    let last: f64 = recorded.last().unwrap()["time"].as_str().unwrap().parse().unwrap();
    assert!(last > killed.as_secs_f64() - 1.0, "the last message is {} s old", killed.as_secs_f64() - last);
}

#[test]
fn full_disk_is_reported_and_the_ric_goes_on() {
    // a mount that only this program sees
    let script = "mount -t tmpfs -o size=64k none /mnt && exec \"$0\" ric --e2 tcp://127.0.0.1:0 --xapp tcp://127.0.0.1:0 \
                  --record /mnt/full.pcapng";
    let can_mount = std::process::Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !can_mount.is_ok_and(|output| output.status.success()) {
        eprintln!("\nNOT TESTED: a full disk, which needs root");
        return;
    }
    let ric = program::Program::start("unshare", &["-m", "sh", "-c", script, program::FERRIC]);
    let [ping, ran, mut ric] = busy_ric(ric);
    ric.logs("recording stopped: cannot write the file");
    drop((ping, ran));
    let outcome = ric.stop();
    assert!(outcome.stderr.contains("full.pcapng"), "{}", outcome.stderr);
}

#[test]
fn reports_of_a_live_base_station_are_compared_by_meaning() {
    let any = "tcp://127.0.0.1:0";
    let file = File::named("kpm.pcapng");
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any, "--record", file.name()]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    ric.logs(" up: ");
    let kpm = run(&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--seconds", "1"]);
    assert_eq!(kpm.code(), Some(0), "{}", kpm.stderr);
    ends_with(&file, "RicSubscriptionDeleteResponse");
    ran.stop();
    ric.stop();
    assert!(names(&decoded(&file)).contains(&"RicIndication"));

    let mut player = program::start(&["play", file.name(), "--as", "ric", "--e2", any]);
    let ran = program::start(&["ran", "--ric", &player.line("e2="), "--ues", "2"]);
    // whether each report arrives in time depends on the machine; what it means does not
    let outcome = player.end();
    assert!(outcome.stdout.contains("<- RicIndication: as recorded, with the values of now"), "{}", outcome.stdout);
    assert!(last_line(&outcome.stdout).contains(" different=0 "), "{}", outcome.stdout);
    drop(ran);
}

#[test]
fn waiting_for_a_missing_message_is_announced() {
    let any = "tcp://127.0.0.1:0";
    let file = File::named("waiting.pcapng");
    let ric = program::start(&["ric", "--e2", any, "--xapp", any, "--record", file.name()]);
    let programs = busy_ric(ric);
    // a whole dialogue is in the file
    let deadline = Instant::now() + PATIENCE;
    while !run(&["decode", file.name()]).stdout.contains("\"RicIndication\"") {
        assert!(Instant::now() < deadline, "no indication in the file");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(programs);
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any]);
    let e2 = ric.line("e2=");
    let mut player = program::start(&["play", file.name(), "--e2", &e2, "--timing", "none", "--patience-ms", "1500"]);
    // no xApp subscribes here
    player.line("    2 <- RicSubscriptionRequest: not here yet; waiting up to 1.5 s (--patience-ms)");
    drop(player);
    ric.stop();
}
