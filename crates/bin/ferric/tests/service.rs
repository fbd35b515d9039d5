//! The RIC as a service: its configuration file, and its reports to the service manager.

mod program;

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use program::{FERRIC, File, run};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn ric_reports_to_the_service_manager_when_it_is_ready_and_when_it_stops() {
    let file = File::named("notify.socket");
    let manager = UnixDatagram::bind(file.name()).unwrap();
    manager.set_read_timeout(Some(program::PATIENCE)).unwrap();
    let mut command = Command::new(FERRIC);
    command.args(["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let mut ric = command.env("NOTIFY_SOCKET", file.name()).stdout(Stdio::piped()).spawn().unwrap();
    let mut octets = [0; 64];
    let mut received = || {
        let length = manager.recv(&mut octets).unwrap();
        String::from_utf8(octets[..length].to_vec()).unwrap()
    };
    assert_eq!(received(), "READY=1");
    // whoever waits for it reaches the addresses
    let output = std::io::BufReader::new(ric.stdout.take().unwrap());
    let e2 = std::io::BufRead::lines(output).next().unwrap().unwrap();
    drop(std::net::TcpStream::connect(e2.strip_prefix("e2=tcp://").unwrap()).unwrap());
    kill_process(Pid::from_child(&ric), Signal::TERM).unwrap();
    assert_eq!(received(), "STOPPING=1");
    assert!(ric.wait().unwrap().success());
}

#[test]
fn missing_service_manager_is_a_warning() {
    let mut command = Command::new(FERRIC);
    command.args(["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let mut ric = command.env("NOTIFY_SOCKET", "/no/such/socket").stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(ric.stderr.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("cannot report READY=1 to the service manager")));
    kill_process(Pid::from_child(&ric), Signal::TERM).unwrap();
    drop(lines);
    ric.wait().unwrap();
}

#[test]
fn default_configuration_is_printed_checked_and_used() {
    let set = [
        "--set",
        "e2 = [\"tcp://127.0.0.1:0\"]",
        "--set",
        "xapp = \"tcp://127.0.0.1:0\"",
        "--set",
        "rest=\"127.0.0.1:0\"",
    ];
    let printed = run(&[&["config", "default"], &set[..]].concat());
    assert_eq!(printed.code(), Some(0), "{}", printed.stderr);
    assert!(
        printed.stdout.contains("# Integer, 1 to 1048576. Default: 4096.\n#max_nodes = 4096\n"),
        "{}",
        printed.stdout
    );
    let file = File::new("default.toml", printed.stdout.as_bytes());
    let checked = run(&["config", "check", file.name()]);
    assert_eq!((checked.code(), checked.stdout), (Some(0), format!("{}: valid", file.name())));
    let mut ric = program::start(&["ric", "--config", file.name()]);
    assert!(ric.line("rest=").starts_with("http://127.0.0.1:"));
    ric.stop();
}

#[test]
fn mistakes_in_configurations_are_reported() {
    run(&["config", "default", "--set", "rset=1"]).complains(1, &["`rset` is not a key of the file"]);
    run(&["config", "default", "--set", "loops=0"]).complains(1, &["loops: 0 is out of range 1 to 64"]);
    run(&["config", "default", "--set", "rest"]).complains(2, &["not KEY=VALUE"]);
    run(&["config", "check", "/no/such/file"]).complains(1, &["cannot read /no/such/file"]);
    let check = |text: &str| {
        let file = File::new("checked.toml", text.as_bytes());
        run(&["config", "check", file.name()])
    };
    check("max_nodes = 0").complains(1, &["checked.toml: line 1: max_nodes: 0 is out of range"]);
    check("[rest_access]\ntokens = \"/no/such/tokens\"").complains(1, &["cannot read the token file /no/such/tokens"]);
    check("[tls]\nca = \"/no/ca\"\ncertificate = \"/no/c\"\nkey = \"/no/k\"").complains(1, &["/no/"]);
}
