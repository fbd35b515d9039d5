//! `ferric doctor`: each reason why a node does not connect is reported with its remedy.

mod program;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use program::{Outcome, Program, run};

/// Fails unless the findings contain each of `pieces`.
fn finds(outcome: &Outcome, pieces: &[&str]) {
    for piece in pieces {
        assert!(outcome.stdout.contains(piece), "missing: {piece}\n{}", outcome.stdout);
    }
}

fn fault(outcome: &Outcome, pieces: &[&str]) {
    finds(outcome, pieces);
    finds(outcome, &["FAULT", "why:", "do:"]);
    outcome.complains(1, &["found"]);
}

fn free() -> String {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("tcp://{address}")
}

/// Accepts a connection, reads a message and answers it.
fn answering(answer: &'static [u8]) -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut pdu).unwrap();
        let _ = stream.write_all(answer);
        pdu
    });
    (url, thread)
}

fn framed(pdu: &[u8]) -> &'static [u8] {
    let mut frame = (pdu.len() as u32).to_be_bytes().to_vec();
    frame.extend(pdu);
    frame.leak()
}

fn vector(name: &str) -> Vec<u8> {
    let path = format!("{}/../../../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn ports_of_the_host_are_checked() {
    let address = free();
    // the first step of a page on base stations: the RIC does not run yet
    let outcome = run(&["doctor", "--e2", &address]);
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    finds(&outcome, &["note   nothing listens at", &address, " yet", "`ferric ric --e2 "]);
    assert!(!outcome.stdout.contains("FAULT"), "{}", outcome.stdout);
    fault(&run(&["doctor", "--e2", "tcp://192.0.2.1:36421"]), &["no program can listen at", "`ip address`"]);
    // a listener that does not answer
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", silent.local_addr().unwrap());
    let outcome = run(&["doctor", "--e2", &address, "--patience", "1", "--e2ap", "2.03"]);
    fault(
        &outcome,
        &["a program listens at", "does not answer an E2 Setup of E2AP v2.03", "nothing received within 1 s"],
    );
}

#[test]
fn live_mode_is_checked() {
    let outcome = run(&["doctor", "--patience", "1"]);
    match netns::check_host() {
        Ok(()) => finds(&outcome, &["ok     live mode can run here"]),
        Err(error) => finds(&outcome, &["note   live mode", &error.to_string(), error.remedy().unwrap()]),
    }
}

#[test]
fn missing_sctp_is_reported() {
    let outcome = run(&["doctor", "--e2", "sctp://127.0.0.1:0"]);
    if outcome.stdout.contains("no SCTP") {
        fault(&outcome, &["modprobe sctp"]);
        fault(&run(&["doctor", "--ric", "sctp://127.0.0.1:1"]), &["no SCTP", "modprobe sctp"]);
        fault(&run(&["doctor", "--listen", "sctp://127.0.0.1:0"]), &["no SCTP", "modprobe sctp"]);
    } else {
        // this host has it
        finds(&outcome, &["note   nothing listens at sctp://", "SCTP messages are acknowledged at once"]);
    }
}

#[test]
fn healthy_ric_is_confirmed() {
    let any = "tcp://127.0.0.1:0";
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any]);
    let e2 = ric.line("e2=");
    for version in ["1.00", "1.01", "2.03", "3.01"] {
        let outcome = run(&["doctor", "--ric", &e2, "--e2ap", version, "--patience", "120"]);
        assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
        finds(&outcome, &["ok ", &format!("accepts an E2 Setup of E2AP v{version}")]);
    }
    let outcome = run(&["doctor", "--e2", &e2, "--patience", "120"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stdout);
    finds(&outcome, &["a program listens at", "accepts an E2 Setup"]);
    ric.stop();
}

#[test]
fn rics_are_probed_over_each_link_and_encoding() {
    let path = |name: &str| std::env::temp_dir().join(format!("ferric-doctor-{}-{name}", std::process::id()));
    let urls = [
        "tcp+flat://127.0.0.1:0".to_owned(),
        format!("unix+flat:{}", path("unix").display()),
        format!("shm:{}", path("shm").display()),
        format!("shm+flat:{}", path("shm-flat").display()),
    ];
    for url in &urls {
        let mut ric = program::start(&["ric", "--e2", url, "--xapp", "tcp://127.0.0.1:0"]);
        let e2 = ric.line("e2=");
        for option in ["--ric", "--e2"] {
            let outcome = run(&["doctor", option, &e2, "--patience", "120"]);
            assert_eq!(outcome.code(), Some(0), "{option} {e2}\n{}\n{}", outcome.stdout, outcome.stderr);
            finds(&outcome, &["ok ", &format!("at {e2} accepts an E2 Setup of E2AP v2.03")]);
        }
        // different encodings at both ends
        let other = if e2.contains("+flat") { e2.replacen("+flat", "", 1) } else { e2.replacen(':', "+flat:", 1) };
        let outcome = run(&["doctor", "--ric", &other, "--e2ap", "2.03", "--patience", "120"]);
        fault(&outcome, &["rejects an E2 Setup", "encoding", "tcp+flat://"]);
        ric.stop();
    }
    let gone = &urls[2];
    fault(&run(&["doctor", "--ric", gone]), &["no socket at", gone]);
    finds(&run(&["doctor", "--e2", gone]), &["note   nothing listens at", gone, "`ferric ric --e2 shm:"]);
    for arguments in [["doctor", "--e2"], ["doctor", "--ric"], ["ran", "--ric"], ["ric", "--xapp"], ["ric", "--e42"]] {
        run(&[&arguments[..], &["memory:x"]].concat()).complains(2, &["within one program", "unix:PATH"]);
    }

    // a node in the expected encoding, and in the other one
    let node = |listen: &str, ric: fn(String) -> String| {
        let mut doctor = program::start(&["doctor", "--listen", listen]);
        let ran = program::start(&["ran", "--ric", &ric(doctor.line("e2="))]);
        let outcome = doctor.end();
        ran.stop();
        outcome
    };
    let outcome = node("tcp+flat://127.0.0.1:0", |url| url);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stdout);
    finds(&outcome, &["sends an E2 Setup of E2AP v2.03"]);
    let outcome = node("tcp://127.0.0.1:0", |url| url.replacen("tcp:", "tcp+flat:", 1));
    fault(&outcome, &["can be decoded in the encoding `flat`"]);
}

#[test]
fn missing_or_rejecting_ric_is_reported() {
    fault(&run(&["doctor", "--ric", &free()]), &["nothing listens at", "`ferric ric`"]);
    fault(&run(&["doctor", "--ric", "unix:/nowhere/e2"]), &["no socket", "/nowhere/e2"]);
    fault(&run(&["doctor", "--ric", "tcp://no.such.host.invalid:1"]), &["no connection to", "correct the address"]);

    let (url, thread) = answering(framed(&vector("e2ap/v02.03/e2_setup_failure.hex")));
    let outcome = run(&["doctor", "--ric", &url, "--e2ap", "2.03", "--patience", "120"]);
    fault(&outcome, &["rejects an E2 Setup of E2AP v2.03", "it answers with a setup failure: ", "check its log"]);
    let setups = thread.join().unwrap();
    assert_eq!(e2ap::Version::of_setup(&setups), Some(e2ap::Version::V2_03));

    let (url, _) = answering(framed(&vector("e2ap/v02.03/error_indication.hex")));
    fault(
        &run(&["doctor", "--ric", &url, "--e2ap", "2.03", "--patience", "120"]),
        &["it answers with an error indication: "],
    );
    let (url, _) = answering(framed(b"HTTP/1.1 400 Bad Request"));
    fault(&run(&["doctor", "--ric", &url, "--e2ap", "2.03", "--patience", "120"]), &["is not E2AP", "48 54 54 50"]);
    let (url, _) = answering(b"");
    fault(
        &run(&["doctor", "--ric", &url, "--e2ap", "2.03", "--patience", "120"]),
        &["it closes the connection", "4 octets"],
    );
}

/// The answer may be late, so that the next one does not indicate the version.
#[test]
fn late_answer_is_no_rejection() {
    let taken = Some("e2ap/v01.01/e2_setup_response.hex");
    let (outcome, setups) = probe(&[None, taken], "1");
    fault(
        &outcome,
        &["does not answer an E2 Setup of E2AP v2.03", "nothing received within 1 s", "--patience", "--e2ap 1.01"],
    );
    assert!(!outcome.stdout.contains("supports"), "{}", outcome.stdout);
    assert_eq!(setups, 1);

    let (outcome, setups) = probe(&[Some("e2ap/v02.03/e2_setup_failure.hex"), taken], "60");
    fault(&outcome, &["supports E2AP v1.01, not v2.03", "`ferric ran --e2ap 1.01`"]);
    assert_eq!(setups, 2);
}

/// The outcome of a doctor whose E2 Setups are answered with these vectors in turn, and the number of its E2 Setups.
fn probe(answers: &[Option<&str>], patience: &str) -> (Outcome, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers: Vec<_> = answers.iter().map(|name| name.map(|name| framed(&vector(name)))).collect();
    let server = std::thread::spawn(move || {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let mut length = [0; 4];
            if stream.read_exact(&mut length).is_err() {
                return open.len(); // the doctor has gone
            }
            stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize]).unwrap();
            if let Some(answer) = answers[open.len()] {
                stream.write_all(answer).unwrap();
            }
            open.push(stream);
        }
    });
    let outcome = run(&["doctor", "--ric", &format!("tcp://{address}"), "--patience", patience]);
    drop(TcpStream::connect(address));
    (outcome, server.join().unwrap())
}

/// Starts a doctor that listens for a node, and connects to it.
fn connect(patience: &str) -> (Program, TcpStream) {
    let mut doctor = program::start(&["doctor", "--listen", "tcp://127.0.0.1:0", "--patience", patience]);
    let url = doctor.line("e2=");
    let stream = TcpStream::connect(url.strip_prefix("tcp://").unwrap()).unwrap();
    (doctor, stream)
}

#[test]
fn healthy_node_is_confirmed() {
    let mut doctor = program::start(&["doctor", "--listen", "tcp://127.0.0.1:0"]);
    let e2 = doctor.line("e2=");
    let ran = program::start(&["ran", "--ric", &e2]);
    let outcome = doctor.end();
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    finds(&outcome, &["sends an E2 Setup of E2AP v2.03", "E2SM-KPM v03.00", "hello world"]);
    drop(ran);

    let mut doctor = program::start(&["doctor", "--listen", "tcp://127.0.0.1:0"]);
    let e2 = doctor.line("e2=");
    let ran = program::start(&["ran", "--ric", &e2, "--flat"]);
    let outcome = doctor.end();
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    finds(&outcome, &["E2SM-KPM v03.00", "E2SM-RC v03.00", "MAC_STATS_V0, encoded as flat", "E2SM-CCC", "E2SM-NI"]);
    drop(ran);
}

#[test]
fn missing_or_silent_node_is_reported() {
    let outcome = run(&["doctor", "--listen", "tcp://127.0.0.1:0", "--patience", "1"]);
    fault(&outcome, &["no node connected", "no connection within 1 s", "sctp:// address"]);

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let outcome = run(&["doctor", "--listen", &format!("tcp://{}", taken.local_addr().unwrap())]);
    fault(&outcome, &["cannot listen for a node at", "in use", "ss -lntp"]);

    let (doctor, stream) = connect("120");
    drop(stream);
    fault(&doctor.end(), &["connects, but sends no E2 Setup", "check the node's log"]);

    // E2AP without a length, and another protocol
    let (doctor, mut stream) = connect("3");
    stream.write_all(&vector("e2ap/v02.03/e2_setup_request.hex")).unwrap();
    fault(&doctor.end(), &["sends no E2 Setup", "a length of 4 octets"]);
    let (doctor, mut stream) = connect("120");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    fault(&doctor.end(), &["does not start with a message's length", "SCTP or TLS"]);

    let (doctor, mut stream) = connect("120");
    stream.write_all(framed(b"\x00\x01\x00\x05garbage")).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    fault(&doctor.end(), &["cannot decode a message of the node", "`ferric decode 00010005"]);
}

#[test]
fn unusable_functions_are_reported() {
    let (doctor, mut stream) = connect("120");
    stream.write_all(framed(&vector("e2ap/v01.00/e2_setup_request.hex"))).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    fault(&doctor.end(), &["has no OID", "configure E2AP v02.03 at the node"]);
}

#[test]
fn tls_requires_files() {
    for option in ["--ric", "--listen", "--e2"] {
        fault(&run(&["doctor", option, "tls://127.0.0.1:1"]), &["a tls:// address takes", "--tls-ca", "docs/tls.md"]);
    }
}

#[test]
fn health_of_a_ric_is_asked_by_rest_without_a_token() {
    let tokens = program::File::new("doctor.tokens", b"read 0123456789abcdef-one\n");
    let any = "tcp://127.0.0.1:0";
    let rest = ["--rest", "127.0.0.1:0", "--rest-tokens", tokens.name()];
    let mut ric = program::start(&[&["ric", "--e2", any, "--xapp", any], &rest[..]].concat());
    let url = ric.line("rest=");
    let outcome = run(&["doctor", "--rest", &url, "--patience", "120"]);
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    finds(&outcome, &["ok ", &format!("the event loop of the RIC at {url} answers")]);
    fault(&run(&["doctor", "--rest", &url, "--rest-ca", "ca.pem"]), &["no answer from", "--rest-ca with https://"]);
    ric.stop();
    fault(&run(&["doctor", "--rest", &url]), &["no answer from", "check that the RIC runs"]);
    fault(&run(&["doctor", "--rest", "127.0.0.1:1"]), &["give the address that `ferric ric` prints after rest="]);
    run(&["doctor", "--rest", &url, "--ric", any]).complains(2, &["cannot be used with"]);
}

#[test]
fn service_that_is_no_ric_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    });
    fault(&run(&["doctor", "--rest", &url]), &["answers with status 404", "it gives no reason"]);
    service.join().unwrap();
}
