//! `ferric demo` and `ferric top` on a terminal and in a pipe.

mod program;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use program::{FERRIC, PATIENCE, run};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;

const ANY: &str = "tcp://127.0.0.1:0";
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// A program on a pseudo-terminal.
struct Terminal {
    child: Child,
    /// The end of the terminal's user.
    user: File,
    /// The program's end, to see its mode.
    device: OwnedFd,
    before: Termios,
    output: Receiver<Vec<u8>>,
    text: String,
}

impl Terminal {
    fn start(arguments: &[&str], columns: u16, rows: u16) -> Terminal {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap();
        let open = || rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let device = open();
        tcsetwinsize(&device, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let before = tcgetattr(&device).unwrap();
        let mut command = Command::new(FERRIC);
        command.args(arguments).env("TERM", "xterm").env_remove("NO_COLOR");
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        let user = File::from(user);
        let mut reader = user.try_clone().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut octets = [0; 4096];
            // until the program has ended, or the test has closed the terminal
            while let Ok(read @ 1..) = reader.read(&mut octets) {
                if sender.send(octets[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, user, device, before, output, text: String::new() }
    }

    /// Waits until the program has written this.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        while !self.text.contains(text) {
            let octets = self.output.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{error}: {}", self.text));
            self.text += &String::from_utf8_lossy(&octets);
        }
    }

    fn shows_within(&mut self, patience: Duration, text: &str) -> bool {
        while let Ok(octets) = self.output.recv_timeout(patience) {
            self.text += &String::from_utf8_lossy(&octets);
        }
        self.text.contains(text)
    }

    fn resize(&self, columns: u16) {
        tcsetwinsize(&self.device, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(self.device.as_fd()).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    fn kill(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the program.
    fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                while let Ok(octets) = self.output.recv_timeout(Duration::from_millis(200)) {
                    self.text += &String::from_utf8_lossy(&octets);
                }
                return status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Checks that the terminal is as it was.
    #[track_caller]
    fn is_restored(&self) {
        let now = tcgetattr(self.device.as_fd()).unwrap();
        assert_eq!((now.local_modes, now.input_modes), (self.before.local_modes, self.before.input_modes));
        assert_eq!((now.output_modes, now.control_modes), (self.before.output_modes, self.before.control_modes));
        let left = self.text.rfind(LEAVE).expect("the alternate screen is left");
        assert!(self.text[left..].contains(SHOW_CURSOR) || self.text[..left].ends_with(SHOW_CURSOR), "{:?}", self.text);
        assert_eq!(self.text.matches(ENTER).count(), self.text.matches(LEAVE).count());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

#[test]
fn terminal_is_restored_after_signals_and_keys() {
    for (signal, keys) in [(Some(Signal::TERM), ""), (Some(Signal::INT), ""), (None, "q"), (None, "\u{3}")] {
        let mut terminal = Terminal::start(&["demo"], 80, 24);
        terminal.shows("amf:");
        assert!(terminal.is_raw());
        match signal {
            Some(signal) => terminal.kill(signal),
            None => terminal.user.write_all(keys.as_bytes()).unwrap(),
        }
        assert!(terminal.end().success());
        terminal.is_restored();
        assert!(!terminal.text.contains("WARN"), "{}", terminal.text);
    }
}

#[test]
fn lost_ric_is_shown_or_ends_the_program_with_a_restored_terminal() {
    let mut ric = program::start(&["ric", "--e2", ANY, "--xapp", ANY]);
    let xapp = ric.line("xapp=");
    let mut patient = Terminal::start(&["top", "--ric", &xapp], 80, 24);
    let mut impatient = Terminal::start(&["top", "--ric", &xapp, "--no-reconnect"], 80, 24);
    for terminal in [&mut patient, &mut impatient] {
        // a single word: where a cell is blank, the cursor is moved
        terminal.shows("station");
    }
    ric.stop();
    assert!(!impatient.end().success());
    impatient.is_restored();
    let left = impatient.text.rfind(LEAVE).unwrap();
    assert!(impatient.text[left..].contains("connection to the RIC lost"), "the error is on the restored screen");
    // only what changes is written: another size has all of it written
    for columns in (80..100).cycle() {
        patient.resize(columns);
        if patient.shows_within(Duration::from_millis(300), "lost,") {
            break;
        }
    }
    patient.kill(Signal::TERM);
    assert!(patient.end().success());
    patient.is_restored();
}

#[test]
fn closed_terminal_ends_the_program() {
    let mut terminal = Terminal::start(&["demo"], 40, 10);
    terminal.shows("amf:");
    let Terminal { child, user, device, output, .. } = &mut terminal;
    // as a closed window: the last descriptor of the user's end is gone
    let null = || File::open("/dev/null").unwrap();
    drop(std::mem::replace(user, null()));
    *device = null().into();
    drop(std::mem::replace(output, channel().1));
    kill_process(Pid::from_child(child), Signal::HUP).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the program does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn pipe_gets_one_object_a_line_with_a_time_stamp() {
    let outcome = run(&["demo", "--seconds", "3", "--period-ms", "500"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let objects: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = objects.last().expect("an object");
    assert!(objects.iter().all(|object| object["time"].as_str().unwrap().ends_with('Z')), "{objects:?}");
    assert_eq!((&last["ric"], &last["cells"][0]["node"]), (&"ric-00101-1".into(), &"gnb-00101-e00".into()));
    assert_eq!(last["ues"].as_array().unwrap().len(), 32);
    assert!(last["cells"][0]["dl_mbps"].as_f64().unwrap() > 0.0, "{last}");
}

#[test]
fn top_shows_the_ues_of_a_running_ric_as_lines() {
    let mut ric = program::start(&["ric", "--e2", ANY, "--xapp", ANY]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let mut ran = program::start(&["ran", "--ric", &e2, "--ues", "3"]);
    ran.logs(" up: ");
    let outcome = run(&["top", "--ric", &xapp, "--plain", "--seconds", "3", "--period-ms", "500"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let last = outcome.stdout.lines().last().unwrap();
    assert!(last.contains("node=gnb-00101-e00 ues=3 dl_mbps="), "{last}");
}

#[test]
fn xapp_waits_for_a_ric_that_is_not_there_yet() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("tcp://127.0.0.1:{port}");
    for arguments in [["top", "--json"], ["xapp", "kpm"]] {
        let mut xapp = program::start(&[&arguments[..], &["--ric", &address]].concat());
        xapp.logs("no RIC at this address yet: waiting for it");
        let mut ric = program::start(&["ric", "--e2", ANY, "--xapp", &address]);
        ric.line("xapp=");
        if arguments[0] == "top" {
            xapp.line("{\"time\":");
        } else {
            xapp.logs("connected ric=ric-00101-1");
        }
    }
    let no_ric = run(&["xapp", "kpm", "--ric", &address, "--no-reconnect"]);
    no_ric.complains(1, &["cannot use the RIC at"]);
    run(&["xapp", "kpm", "--ric", &address, "--seconds", "1"]).complains(1, &["cannot use the RIC at"]);
}
