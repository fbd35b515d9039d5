//! The program `ferric`: arguments, output and exit status.

mod program;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use program::{File, Outcome, Program, run, run_with};
use testkit::ObjectFolder;

fn vector(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../vectors").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    text.split_whitespace().collect()
}

/// The numbers of a line like `pings=3 lost=0`, by name.
fn number(line: &str, name: &str) -> u64 {
    let field = line.split_whitespace().find_map(|field| field.strip_prefix(&format!("{name}=")));
    field.unwrap_or_else(|| panic!("no {name} in: {line}")).parse().unwrap()
}

fn last_line(outcome: &Outcome) -> &str {
    outcome.stdout.lines().last().unwrap_or_default()
}

/// The last line of a KPM xApp that prints JSON: it is in the log, and standard output has objects only.
fn logged_summary(outcome: &Outcome) -> &str {
    for line in outcome.stdout.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    let line = outcome.stderr.lines().rfind(|line| line.contains(" indications="));
    line.and_then(|line| line.split_once(" indications=")).map_or("", |(start, _)| &line.unwrap()[start.len() + 1..])
}

// Help, arguments and configuration.

#[test]
fn address_of_the_ric_is_the_option_else_the_variable() {
    let commands: [&[&str]; 5] = [
        &["top", "--json"],
        &["xapp", "kpm"],
        &["xapp", "ping"],
        &["xapp", "rc", "handover", "--ue", "1", "--cell", "1"],
        &["xapp", "tc"],
    ];
    let refused = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_ferric")).args(arguments).env("FERRIC_RIC", "variable").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for command in commands {
        let text = refused(command);
        assert!(text.contains("invalid value 'variable' for '--ric <URL>'"), "{command:?}: {text}");
        let text = refused(&[command, &["--ric", "option"]].concat());
        assert!(text.contains("invalid value 'option' for '--ric <URL>'"), "{command:?}: {text}");
    }
}

#[test]
fn every_command_helps() {
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[],
            &[
                "demo",
                "ric",
                "ran",
                "xapp",
                "decode",
                "play",
                "doctor",
                "Networks:",
                "Lists:",
                "subscriptions",
                "Messages:",
                "--log",
                "Try `ferric demo` first",
            ],
        ),
        (&["demo"], &["--seconds", "--rest", "--json", "--plain"]),
        (&["top"], &["--ric", "--json", "--plain", "--no-reconnect", "Output:", "TLS, for tls:// addresses:"]),
        (
            &["ric"],
            &[
                "--config",
                "--e2",
                "--xapp",
                "tcp://127.0.0.1:36421",
                "tcp://127.0.0.1:36423",
                "--redis",
                "--rest",
                "--record",
            ],
        ),
        (
            &["ran"],
            &["--ric", "--profile", "--nodes", "--ues", "--seed", "--e2ap", "--kpm", "--rc", "--handovers-per-minute"],
        ),
        (&["nodes"], &["--json", "--watch", "--rest", "--rest-token", "/v1/nodes", "REST:"]),
        (&["slices"], &["--json", "/v1/nodes/{node}/slices"]),
        (&["new", "xapp"], &["--lang", "--sdk", "<NAME>"]),
        (&["completion"], &["bash", "zsh", "fish"]),
        (&["man"], &["<DIR>"]),
        (&["xapp"], &["kpm", "ping", "rc", "tc", "--no-reconnect"]),
        (&["xapp", "tc"], &["--destination", "--limit-ms", "--redis", "--from", "--rest", "--undo", "--restore"]),
        (&["xapp", "rc"], &["slice-quota", "handover", "drx", "qos", "--node", "--rc"]),
        (&["xapp", "rc", "handover"], &["--ue", "--amf", "--cell", "--f1ap-id", "--e1ap-id", "--sst"]),
        (&["xapp", "rc", "slice-quota"], &["--sst", "--sd", "--min", "--max", "--dedicated"]),
        (&["xapp", "kpm"], &["--ric", "--period-ms", "--measurement", "--cell", "--kpm", "--seconds", "--json"]),
        (&["xapp", "ping"], &["--ric", "--period-ms", "--octets", "--seconds", "--json", "--record"]),
        (&["decode"], &["--type", "--list", "HEX|FILE|-"]),
        (&["play"], &["--e2", "--as", "--timing", "--patience-ms", "--association", "FILE"]),
        (&["doctor"], &["--e2", "--ric", "--listen", "--rest", "--rest-ca", "--e2ap", "--patience"]),
    ];
    for (command, mentioned) in cases {
        let outcome = run(&[command, &["--help"][..]].concat());
        assert_eq!(outcome.code(), Some(0), "{command:?}");
        for option in *mentioned {
            assert!(outcome.stdout.contains(option), "{command:?} does not mention {option}:\n{}", outcome.stdout);
        }
    }
}

#[test]
fn wrong_arguments_are_refused_with_a_hint() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: ferric"),
        (&["rik"], "ric"),
        (&["ran", "--node", "2"], "--nodes"),
        (&["ric", "--e2", "127.0.0.1:36421"], "tcp://host:port"),
        (&["ran", "--nodes", "0"], "1..=4096"),
        (&["ran", "--record-limit", "1M"], "--record <FILE>"),
        (&["ran", "--e2ap", "2"], "2.03"),
        (&["xapp"], "kpm"),
        (&["xapp", "kpm", "--kpm", "9"], "3.00"),
        (&["xapp", "ping", "--octets", "1000001"], "0..=1000000"),
        (&["decode"], "HEX|FILE|-"),
        (&["demo", "--log", "loud"], "debug"),
    ];
    for (arguments, hint) in cases {
        run(arguments).complains(2, &[hint]);
    }
}

#[test]
fn address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", taken.local_addr().unwrap());
    for arguments in
        [["--e2", &address, "--xapp", "tcp://127.0.0.1:0"], ["--e2", "tcp://127.0.0.1:0", "--xapp", &address]]
    {
        let outcome = run(&[&["ric"], &arguments[..]].concat());
        outcome.complains(1, &[&address, "in use", "give another address"]);
        assert_eq!(outcome.stderr.matches("in use").count(), 1, "repeated: {}", outcome.stderr);
    }
}

#[test]
fn e42_addresses_are_listened_on() {
    let any = "tcp://127.0.0.1:0";
    let ric = ["ric", "--e2", any, "--xapp", any];
    let mut program = program::start(&[&ric[..], &["--e42", "e42+tcp://127.0.0.1:0", "--e42", any]].concat());
    for _ in 0..2 {
        assert!(program.line("e42=").starts_with("e42+tcp://127.0.0.1:"));
    }
    program.stop();
    run(&[&ric[..], &["--e42", "e43+tcp://x"]].concat()).complains(2, &["sctp://host"]);
    run(&[&ric[..], &["--e42", "e42+tls://127.0.0.1:0"]].concat()).complains(1, &["a tls:// address takes a CA"]);
    run(&[&ric[..], &["--e42-version", "4"]].concat()).complains(2, &["1, 2 and 3"]);
    let file = File::new("e42.toml", b"e42 = [\"e42+tcp://127.0.0.1:0\"]\ne42_version = \"9\"\n");
    run(&[&ric[..], &["--config", file.name()]].concat()).complains(1, &["e42_version: ", "1, 2 and 3"]);
}

#[test]
fn invalid_configuration_file_is_refused() {
    run(&["ric", "--config", "/nowhere/ric.toml"]).complains(1, &["/nowhere/ric.toml", "No such file"]);
    let file = File::new("typo.toml", b"max_node = 3\n");
    run(&["ric", "--config", file.name()]).complains(1, &[file.name(), "unknown key `max_node`", "`max_nodes`"]);
    let file = File::new("type.toml", b"xapp = 7\n");
    run(&["ric", "--config", file.name()]).complains(1, &[file.name(), "line 1"]);
    let file = File::new("value.toml", b"e2 = [\"http://127.0.0.1\"]\n");
    run(&["ric", "--config", file.name()]).complains(1, &[file.name(), "e2[0]: ", "tcp://host:port"]);
}

#[test]
fn topology_that_is_not_possible_is_refused() {
    let ric = ["ric", "--e2", "tcp://127.0.0.1:36499", "--xapp", "tcp://127.0.0.1:0"];
    let refused = |file: &File, code: i32, more: &[&str], pieces: &[&str]| {
        run(&[&ric[..], &["--topology", file.name()], more].concat()).complains(code, pieces);
    };
    let station = "[[base_station]]\ngnb = \"gnb-00101-e00\"\n";
    let file = File::new("topology.toml", format!("ric = \"tcp://127.0.0.1:1\"\n{station}du = [1]\n").as_bytes());
    refused(&file, 1, &[], &[file.name(), "line 4", "unknown key `du`", "`dus`"]);
    refused(&file, 2, &["--virtual", file.name()], &["--virtual", "cannot be used with"]);
    let file = File::new("loop.toml", format!("ric = \"{}\"\n{station}", ric[2]).as_bytes());
    refused(&file, 1, &[], &[ric[2], "this RIC's own address"]);
}

#[test]
fn nearest_name_is_suggested() {
    for (arguments, suggestion) in [
        (&["topp"][..], "did you mean 'top'?"),
        (&["xapp", "kmp"], "'kpm'"),
        (&["--log", "error", "xapp", "--no-reconnect", "pnig"], "'ping'"),
        (&["ran", "--scenaro", "x"], "'--scenario'"),
        (&["ran", "--profile", "srsrann"], "did you mean `srsran`?"),
        (&["--log", "wran", "ran"], "'warn'"),
    ] {
        run(arguments).complains(2, &[suggestion]);
    }
    // nothing similar
    assert!(!run(&["xapp", "something"]).stderr.contains("tip"));
}

/// The options of a heading in a command's help.
fn options_under(help: &str, heading: &str) -> Vec<String> {
    let (_, rest) = help.split_once(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("no {heading} in {help}"));
    let block = rest.split("\n\n").take_while(|part| part.starts_with(' ')).collect::<Vec<_>>().join("\n");
    let names = block.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    names.map(|name| name.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn help_lists_options_under_their_headings() {
    let help = |arguments: &[&str]| run(&[arguments, &["--help"]].concat()).stdout;
    let ric = help(&["ric"]);
    assert_eq!(options_under(&ric, "REST")[..3], ["rest", "rest-rules", "rest-cert"]);
    assert_eq!(options_under(&ric, "Redis")[..2], ["redis", "redis-ca"]);
    assert_eq!(options_under(&ric, "Service models"), ["model", "models-from"]);
    assert!(options_under(&ric, "Options").contains(&"loops".to_owned()), "{ric}");
    let tc = help(&["xapp", "tc"]);
    assert!(options_under(&tc, "Options").contains(&"seconds".to_owned()), "{tc}");
    assert_eq!(options_under(&tc, "REST")[..2], ["rest", "rest-ca"]);
    let demo = help(&["demo"]);
    assert!(options_under(&demo, "Options").contains(&"rest".to_owned()), "{demo}");
    assert_eq!(options_under(&demo, "Output"), ["period-ms", "json", "plain", "seconds"]);
}

#[test]
fn options_override_the_configuration_file() {
    let name = std::env::temp_dir().join(format!("ferric-cli-{}.socket", std::process::id()));
    let file = File::new("good.toml", format!("e2 = [\"unix:{0}\"]\nxapp = \"unix:{0}\"\n", name.display()).as_bytes());
    let mut ric = program::start(&["ric", "--config", file.name(), "--xapp", "tcp://127.0.0.1:0"]);
    assert_eq!(ric.line("e2="), format!("unix:{}", name.display()));
    assert!(ric.line("xapp=").starts_with("tcp://127.0.0.1:"));
    ric.stop();
    assert!(!name.exists(), "the socket's file is removed");
}

// Programs that communicate.

fn start_ric() -> (Program, String, String) {
    let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    (ric, e2, xapp)
}

#[test]
fn xapp_without_a_ric_fails() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (address, why) in [(nobody, "refused"), (silent.local_addr().unwrap(), "no answer from the RIC in time")] {
        let address = format!("tcp://{address}");
        for app in ["kpm", "ping"] {
            let begun = Instant::now();
            let outcome = run(&["xapp", app, "--no-reconnect", "--ric", &address, "--seconds", "60"]);
            outcome.complains(1, &[&address, why, "`ferric ric`"]);
            // long before its 60 s are over
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        }
    }
}

#[test]
fn ric_ran_and_xapps_work_together() {
    let (ric, e2, xapp) = start_ric();
    let ran = program::start(&["ran", "--ric", &e2, "--nodes", "2", "--ues", "3"]);
    let mut kpm = program::start(&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--json"]);
    // a ping without an answer before the next one counts as lost: the period exceeds the pauses of a busy machine
    let mut ping = program::start(&["xapp", "ping", "--ric", &xapp, "--period-ms", "1000", "--seconds", "4"]);
    for _ in 0..6 {
        let report: serde_json::Value = serde_json::from_str(&format!("{{{}", kpm.line("{"))).unwrap();
        assert!(report["node"].as_str().unwrap().starts_with("gnb-"), "{report}");
        assert!(!report["values"].as_object().unwrap().is_empty(), "{report}");
    }
    ping.line("node=");
    let ping = ping.end();
    assert_eq!(ping.code(), Some(0), "{}", ping.stderr);
    assert!(number(last_line(&ping), "pings") >= 2 && number(last_line(&ping), "lost") == 0, "{}", last_line(&ping));
    let kpm = kpm.stop();
    let summary = logged_summary(&kpm);
    assert!(number(summary, "indications") >= 6 && number(summary, "lost") == 0, "{summary}");
    assert!(number(summary, "p50_us") <= number(summary, "p99_us"));
    ran.stop();
    ric.stop();
}

/// A node of E2AP v01.00 sends no OID: its KPM is recognized by the definition.
#[test]
fn node_of_kpm_v1_is_read() {
    let (ric, e2, xapp) = start_ric();
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "8", "--e2ap", "1.00", "--kpm", "1.00"]);
    let mut kpm = program::start(&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--json"]);
    let mut seen = String::new();
    while !["RRU.PrbAvailDl", "RRU.PrbTotDl", "numberOfActive-UEs", "pDCPBytesDL"]
        .iter()
        .all(|name| seen.contains(name))
    {
        seen += &kpm.line("{");
    }
    assert!(seen.contains("cell sst-1 5qi-") && seen.contains("\"node\":{\"numberOfActive-UEs\":8.0}"), "{seen}");
    let kpm = kpm.stop();
    assert_eq!(number(logged_summary(&kpm), "lost"), 0);
    ran.stop();
    ric.stop();
}

#[test]
fn rc_controls_are_executed_or_refused() {
    let (ric, e2, xapp) = start_ric();
    for (revision, form) in [("1.03", &[][..]), ("3.00", &["--flat"]), ("5.00", &[])] {
        let nodes = ["ran", "--ric", &e2, "--nodes", "2", "--ues", "2", "--rc", revision];
        let ran = program::start(&[&nodes[..], form].concat());
        let ask = |args: &[&str]| {
            let mut all = vec!["xapp", "rc"];
            all.extend_from_slice(args);
            all.extend(["--ric", &xapp, "--seconds", "20"]);
            run(&all)
        };
        let outcome = ask(&["slice-quota", "--sst", "1", "--min", "30", "--max", "50"]);
        let lines: Vec<_> = outcome.stdout.lines().collect();
        assert!(
            outcome.status.success() && lines.len() == 2 && lines.iter().all(|line| line.ends_with(" done")),
            "{outcome:?}"
        );
        // the second UE of the first node, to the second node's cell and back
        let (ue, there, back) = (["--ue", "amf:234881025"], ["--cell", "003804001"], ["--cell", "003800001"]);
        let to = |cell: [&str; 2]| ask(&[&["handover"][..], &ue, &cell].concat());
        for cell in [there, back] {
            let outcome = to(cell);
            assert!(outcome.status.success(), "one node has the UE: {outcome:?}");
            assert_eq!(outcome.stdout.lines().filter(|line| line.ends_with(" done")).count(), 1, "{outcome:?}");
        }
        let outcome = to(["--cell", "fffffffff"]);
        assert!(!outcome.status.success() && outcome.stdout.contains("refused: "), "{outcome:?}");
        let why = outcome.stdout.contains("the target cell does not exist in this RAN");
        assert!(why, "{outcome:?}");
        let outcome = ask(&["drx", "--ue", "f1ap:1", "--cycle-ms", "320"]);
        let why = "left out: the AMF-UE-NGAP-ID of the UE is unknown: give --ue amf:N";
        assert!(!outcome.status.success() && outcome.stdout.contains(why), "{outcome:?}");
        let outcome = ask(&["drx", "--ue", "amf:1", "--cycle-ms", "320"]);
        assert!(!outcome.status.success() && outcome.stdout.contains("there is no such UE"), "{outcome:?}");
        let outcome = ask(&[&["qos", "--priority", "5", "--five-qi", "7"][..], &ue].concat());
        assert!(outcome.status.success(), "{outcome:?}");
        let outcome = ask(&[&["qos", "--drb", "2", "--priority", "5"][..], &ue].concat());
        assert!(outcome.stdout.contains("unknown DRB: the UE has DRB 1 only"), "{outcome:?}");
        let nobody = ["slice-quota", "--sst", "1", "--node", "gnb-99999-1", "--ric", &xapp, "--seconds", "1"];
        let outcome = run(&[&["xapp", "rc"], &nobody[..]].concat());
        assert!(!outcome.status.success() && outcome.stderr.contains("no such node offers E2SM-RC"), "{outcome:?}");
        ran.stop();
    }
    ric.stop();
    for (bad, why) in [
        (&["slice-quota", "--sst", "1", "--min", "60", "--max", "50"][..], "--min 60 is above --max 50"),
        (&["slice-quota", "--sst", "1", "--sd", "12"], "a slice differentiator has six hex digits"),
        (&["qos", "--ue", "amf:1"], "required arguments were not provided"),
        (&["handover", "--ue", "imsi-1", "--cell", "1"], "not a UE: use amf:N (or N)"),
        (&["handover", "--ue", "ip:10.45.0", "--cell", "1"], "not an IPv4 address"),
        (&["handover", "--ue", "amf:1", "--cell", "1000000000"], "36 bits"),
        (&["handover", "--ue", "amf:1", "--amf", "1:2", "--cell", "1"], "such as 1:1:1"),
    ] {
        let outcome = run(&[&["xapp", "rc"], bad].concat());
        assert!(!outcome.status.success() && outcome.stderr.contains(why), "{outcome:?}");
    }
}

#[test]
fn lost_ric_ends_the_xapp_but_not_the_ran() {
    let (ric, e2, xapp) = start_ric();
    let ran = program::start(&["ran", "--ric", &e2]);
    let mut kpm = program::start(&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--no-reconnect"]);
    kpm.line("t=");
    ric.stop();
    let kpm = kpm.end();
    kpm.complains(1, &["connection to the RIC lost"]);
    assert!(number(last_line(&kpm), "indications") > 0, "the summary is printed");
    ran.stop();
}

#[test]
fn xapps_reconnect_to_a_restarted_ric() {
    let sockets = ["e2", "xapp"].map(|name| {
        let path = std::env::temp_dir().join(format!("ferric-cli-{}-back-{name}", std::process::id()));
        format!("unix:{}", path.display())
    });
    let [e2, xapp] = &sockets;
    let start = || {
        let mut ric = program::start(&["ric", "--e2", e2, "--xapp", xapp]);
        ric.line("xapp=");
        ric
    };
    let ric = start();
    let ran = program::start(&["ran", "--ric", e2]);
    let mut kpm = program::start(&["xapp", "--no-reconnect", "kpm", "--ric", xapp, "--period-ms", "100", "--json"]);
    kpm.line("{");
    let mut kpm_too = program::start(&["xapp", "kpm", "--ric", xapp, "--period-ms", "100", "--json"]);
    kpm_too.line("{");
    let mut ping = program::start(&["xapp", "ping", "--ric", xapp, "--period-ms", "50"]);
    ping.line("node=");
    ric.stop();
    kpm.end().complains(1, &["connection to the RIC lost"]);
    for app in [&mut kpm_too, &mut ping] {
        app.logs("connection to the RIC lost; reconnecting");
    }
    let ric = start();
    for app in [&mut kpm_too, &mut ping] {
        app.logs("reconnected to the RIC");
    }
    // lines from before the restart are read at once; later ones are new
    for (app, line) in [(&mut kpm_too, "{"), (&mut ping, "node=")] {
        let back = Instant::now();
        while back.elapsed() < Duration::from_millis(300) {
            app.line(line);
        }
    }
    let kpm = kpm_too.stop();
    assert!(number(logged_summary(&kpm), "indications") > 1);
    let ping = ping.stop();
    assert!(number(last_line(&ping), "pings") > 3, "{}", last_line(&ping));
    ran.stop();
    ric.stop();
}

#[test]
fn interrupt_ends_programs_without_peers() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut ran = program::start(&["ran", "--ric", &format!("tcp://{nobody}")]);
    ran.logs("cannot connect");
    let (ric, _, xapp) = start_ric();
    let nothing = run(&["xapp", "kpm", "--ric", &xapp, "--seconds", "1"]);
    nothing.complains(1, &["the RIC has no node", "ferric ran"]);
    let mut kpm = program::start(&["xapp", "kpm", "--ric", &xapp]);
    kpm.logs("connected");
    ran.stop();
    kpm.stop();
    ric.stop();
}

#[test]
fn demo_ends_after_its_seconds() {
    let outcome = run(&["demo", "--plain", "--seconds", "3"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let summary = last_line(&outcome);
    assert!(summary.starts_with("indications="), "{summary}");
    assert!(number(summary, "indications") > 0 && number(summary, "lost") == 0, "{summary}");
    assert!(number(summary, "p50_us") <= number(summary, "p99_us"));
}

// Tools.

#[test]
fn digits_files_and_standard_input_are_decoded() {
    let digits = vector("e2ap/v02.03/e2_setup_request.hex");
    let octets: Vec<u8> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
    let spread = digits.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n").collect::<String>();
    let (text, binary) = (File::new("setup.hex", spread.as_bytes()), File::new("setup.bin", &octets));
    let expected = run(&["decode", &digits]);
    assert_eq!(expected.code(), Some(0), "{}", expected.stderr);
    let value: serde_json::Value = serde_json::from_str(&expected.stdout).unwrap();
    assert_eq!(value["e2ap"], "2.03");
    for outcome in [
        run(&["decode", text.name()]),
        run(&["decode", binary.name()]),
        run(&["decode", &format!("0x{}", digits.to_uppercase())]),
        run(&["decode", "--type", "e2ap-v02.03", &digits]),
        run_with(&["decode", "-"], spread.as_bytes()),
        run_with(&["decode", "-"], &octets),
    ] {
        assert_eq!((outcome.code(), outcome.stdout), (Some(0), expected.stdout.clone()), "{}", outcome.stderr);
    }
    let outcome = run(&["decode", "--type", "e42-v2", &vector("e42/v2/control_request.hex")]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("E42ControlRequest"), "{}", outcome.stdout);
    // the bytes in another version
    run(&["decode", "--type", "e42-v1", &vector("e42/v2/control_request.hex")]).complains(1, &["not E42 v1"]);
    run(&["decode", "--type", "e42-v9", "00"]).complains(1, &["1, 2 and 3"]);
    // the same message in FlatBuffers
    let flat = vector("flat/e2ap/v02.03-e2_setup_request.hex");
    for ty in ["e2ap-flat", "e2ap-v02.03-flat"] {
        let outcome = run(&["decode", "--type", ty, &flat]);
        assert_eq!((outcome.code(), &outcome.stdout), (Some(0), &expected.stdout), "{}", outcome.stderr);
    }
    run(&["decode", &flat]).complains(1, &["may be in `flat`", "--type e2ap-flat"]);
    run(&["decode", "--type", "e2ap-flat", &digits]).complains(1, &["may be in `per`", "--type e2ap`"]);
    run(&["decode", "--type", "e2ap-flat", "00"]).complains(1, &["not E2AP v2.03 in the encoding `flat`"]);
    run(&["decode", "--type", "e2ap-v9.99-flat", "00"]).complains(1, &["3.01"]);

    let action = vector("kpm/v02.01-action-format1-1.hex");
    let outcome = run(&["decode", "--type", "kpm-v02.01:E2SM-KPM-ActionDefinition", &action]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    serde_json::from_str::<serde_json::Value>(&outcome.stdout).unwrap();
}

#[test]
fn every_listed_type_can_be_decoded() {
    let outcome = run(&["decode", "--list"]);
    assert_eq!(outcome.code(), Some(0));
    let types: Vec<&str> = outcome.stdout.lines().collect();
    assert!(types.contains(&"e2ap-v03.01") && types.contains(&"kpm-v03.00:E2SM-KPM-IndicationMessage"), "{types:?}");
    for ty in types {
        let outcome = run(&["decode", "--type", ty, "ff"]);
        assert!(!outcome.stderr.contains("unknown type"), "{ty}: {}", outcome.stderr);
    }
}

#[test]
fn decoding_error_names_place_and_reason() {
    // a truncated setup request, one with an invalid IE 3, and one with octets after its end
    let digits = vector("e2ap/v02.03/e2_setup_request-minimal.hex");
    run(&["decode", &digits[..40]]).complains(1, &["not E2AP v2.03", "bit 32"]);
    let bad_ie = "0001000f00000200310002000500030002ffff";
    run(&["decode", bad_ie]).complains(1, &["not E2AP v2.03", "IE 3 (global_e2_node_id)", "bit 1"]);
    run(&["decode", &(digits.clone() + "00")]).complains(1, &[&format!("bit {}", digits.len() * 4)]);
    run(&["decode", ""]).complains(1, &["hexadecimal"]);
    run_with(&["decode", "-"], b"").complains(1, &["empty"]);
    run(&["decode", "abc"]).complains(1, &["`abc`", "even number of hexadecimal digits"]);
    run(&["decode", "nothing.bin"]).complains(1, &["`nothing.bin`", "neither a file"]);
    run(&["decode", "--type", "kpm:Foo", "00"]).complains(1, &["`kpm:Foo`", "--list"]);
    run(&["decode", "--type", "e2ap-v9.99", "00"]).complains(1, &["3.01"]);
    let short = run(&["decode", "--type", "kpm-v03.00:E2SM-KPM-IndicationMessage", "0f"]);
    short.complains(1, &["E2SM-KPM-IndicationMessage", "bit "]);
}

#[test]
fn closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ferric"))
        .args(["decode", &vector("e2ap/v02.03/e2_setup_request.hex")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn model_in_a_shared_object_is_loaded() {
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../e2/model-plugin");
    let folder = ObjectFolder::new();
    let object = folder.compile(plugin, "tests/temperature.c", "temperature", |source| source);
    let object = object.to_str().unwrap();
    let model = ["--models-from", folder.path().to_str().unwrap(), "--model", object];
    let decode = |ty: &str, hex: &str| run(&[&["decode"][..], &model, &["--type", ty, hex]].concat());
    let outcome = decode("temperature-v1:indication-message", "f6");
    assert_eq!((outcome.code(), outcome.stdout.trim()), (Some(0), "{\n  \"celsius\": -10\n}"));
    decode("temperature-v1:indication-message", "f6f6").complains(1, &["a temperature is one octet, not 2"]);
    decode("temperature-v1:control", "f6").complains(1, &["does not have this type"]);
    assert!(run(&[&["decode", "--list"][..], &model].concat()).stdout.contains("temperature-v1:definition"));
    run(&["ric", "--model", object]).complains(1, &["cannot load the model", "/usr/lib/ferric/models"]);

    let mut ric =
        program::start(&[&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"][..], &model].concat());
    ric.line("e2=");
    drop(ric);
}
