//! xApps in C with a RIC and an emulated RAN, by several compilers, also under valgrind and with the sanitizers of the compiler.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ferric::e2ap::Version;
use ferric::link::{Tls, TlsFiles};
use ran::{RanConfig, Scenario};
use system_tests::{PATIENCE, RicAndRan, TestRan, TestRic};
use testkit::c_program::{CProgram, is_installed, library_folder};
use testkit::certificates::Authority;

/// The crate with the library, its examples and its header.
const CAPI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../e2/capi");

/// How a program is built and run.
#[derive(Clone, Copy)]
struct Setup {
    name: &'static str,
    compiler: &'static str,
    options: &'static [&'static str],
    library: &'static str,
    /// What runs the program.
    runner: &'static [&'static str],
}

const GCC: Setup = Setup { name: "gcc", compiler: "gcc", options: &[], library: "libferric_capi.a", runner: &[] };
const CPP: Setup = Setup {
    name: "cpp",
    compiler: "g++",
    // what is not named is zero in both languages
    options: &["-x", "c++", "-Wno-missing-field-initializers"],
    library: "libferric_capi.so",
    runner: &[],
};
const VALGRIND: Setup = Setup {
    name: "valgrind",
    runner: &[
        "valgrind",
        "--quiet",
        "--fair-sched=yes",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
    ],
    ..GCC
};
const ADDRESS: Setup = Setup { name: "asan", options: &["-fsanitize=address,undefined"], ..GCC };
// it does not see the atomic operations of the library, which it recognizes as a shared object and leaves out
const THREAD: Setup = Setup { name: "tsan", options: &["-fsanitize=thread"], library: "libferric_capi.so", ..GCC };

fn compile(source: &Path, setup: Setup) -> PathBuf {
    let include = Path::new(CAPI).join("include");
    let Setup { name, compiler, options, library, .. } = setup;
    let library = library_folder().join(library);
    let program = format!("{}-{name}", source.file_stem().unwrap().to_str().unwrap());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program);
    CProgram { source, include: &include, library: &library, compiler, options }.compile(program)
}

/// A running program and the lines that it prints.
struct Running {
    child: Child,
    patience: Duration,
    lines: Receiver<String>,
}

impl Running {
    fn start(source: &str, setup: Setup, arguments: &[&str]) -> Running {
        Running::start_with(&Path::new(CAPI).join(source), setup, arguments, &[])
    }

    fn start_with(source: &Path, setup: Setup, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        let program = compile(source, setup);
        let mut command = match setup.runner {
            [] => Command::new(&program),
            [runner, options @ ..] => {
                let mut command = Command::new(runner);
                command.args(options).arg(&program);
                command
            }
        };
        command.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1").env("LD_LIBRARY_PATH", library_folder());
        command.envs(variables.iter().copied());
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        // valgrind runs one thread at a time, tens of times slower, and a loaded host adds to that
        let patience = if setup.runner.is_empty() { PATIENCE } else { 20 * PATIENCE };
        Running { child, patience, lines }
    }

    /// The lines up to the first that is wanted.
    fn until(&self, mut wanted: impl FnMut(&str) -> bool) -> Vec<String> {
        let deadline = Instant::now() + self.patience;
        let mut lines = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|error| panic!("{error} after {lines:#?}"));
            lines.push(line);
            if wanted(lines.last().unwrap()) {
                return lines;
            }
        }
    }

    /// Ends it by a signal, which interrupts its wait.
    fn end(mut self) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.ends();
    }

    /// Waits for its end, which is a success without complaints.
    fn ends(&mut self) {
        let mut complaints = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        let status = self.child.wait().unwrap();
        let printed: Vec<String> = self.lines.try_iter().collect();
        assert!(status.success() && !complaints.contains("Sanitizer"), "{status}: {printed:#?} {complaints}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cells(cells: u16, ues_each: u16) -> RanConfig {
    RanConfig { scenario: Scenario::with_mixed_traffic(cells, ues_each, 1), ..RanConfig::default() }
}

/// Reads KPIs until each of the four UEs has a record with its cell and a CQI, then ends the program by a signal.
fn prints_kpis(setup: Setup) {
    let running = RicAndRan::start(Vec::new(), cells(2, 2));
    let program = Running::start("examples/xapp_kpi.c", setup, &[&running.ric.xapp.to_string()]);
    let mut complete = BTreeSet::new();
    program.until(|line| {
        if line.starts_with("amf:") && line.contains("cell 00") && !line.contains("CQI -") {
            complete.insert(line.split(' ').next().unwrap().to_owned());
        }
        complete.len() == 4
    });
    program.end();
}

/// Lets every UE be too slow: all are moved to the large slice, and one is handed over.
fn moves_ues(setup: Setup) {
    let running = RicAndRan::start(Vec::new(), cells(2, 2));
    let arguments = [&running.ric.xapp.to_string(), "1e9", "003804001"];
    let program = Running::start("examples/xapp_move.c", setup, &arguments);
    program.until(|line| line == "slices at 2 nodes");
    let (mut moved, mut handed_over) = (BTreeSet::new(), false);
    let lines = program.until(|line| {
        let (ue, what) = line.split_once(": ").unwrap_or_default();
        if what == "in slice 2" {
            moved.insert(ue.to_owned());
        }
        handed_over |= what == "handed over";
        moved.len() == 4 && handed_over
    });
    // under valgrind on a loaded host a deadline may pass: the program tries again
    assert!(!setup.runner.is_empty() || lines.iter().all(|line| !line.contains(": not ")), "{lines:#?}");
    program.end();
}

/// Has a program use every verb.
fn uses_every_verb(setup: Setup) {
    // E2AP has queries since v03
    let e2ap_version = Version::V3_01;
    let ric = TestRic::with(|config| config.server.controller.version = Some(e2ap_version));
    let mut config = RanConfig { handovers_per_minute: 600, e2ap_version, all_ccc_attributes: true, ..cells(2, 4) };
    config.scenario.measurement.report_interval = Some(Duration::from_millis(120));
    let _ran = TestRan::start(&ric.e2, config);
    let mut program = Running::start("tests/xapp_verbs.c", setup, &[&ric.xapp.to_string()]);
    program.ends();
}

/// Has a program open a session by TLS.
fn connects_by_tls(setup: Setup) {
    let authority = Authority::new();
    let files = ["ric", "xapp", "other"].map(|name| authority.issue_as(name, &["127.0.0.1"], |_| ()));
    let [of_ric, of_xapp, other] = &files;
    let ric = TestRic::with(|config| {
        let (ca, certificate, key) = (authority.ca(), of_ric.certificate.clone(), of_ric.key.clone());
        config.server.link.tls = Some(Tls::load(&TlsFiles { ca, certificate, key }).unwrap());
        config.server.xapp = Some("tls://127.0.0.1:0".parse().unwrap());
    });
    let _ran = TestRan::start(&ric.e2, cells(1, 1));
    let texts =
        [&authority.ca(), &of_xapp.certificate, &of_xapp.key, &other.key].map(|path| path.display().to_string());
    let address = ric.xapp.to_string();
    let arguments: Vec<&str> = [&address].into_iter().chain(&texts).map(String::as_str).collect();
    Running::start("tests/xapp_tls.c", setup, &arguments).ends();
}

/// The first program of the manual prints KPIs as it is written there.
#[test]
fn first_xapp_of_the_manual_prints_kpis() {
    let manual = std::fs::read_to_string(Path::new(CAPI).join("../../../docs/xapp-c.md")).unwrap();
    let (_, rest) = manual.split_once("```c\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual.c");
    std::fs::write(&source, program).unwrap();
    let running = RicAndRan::start(Vec::new(), cells(1, 2));
    let ric = running.ric.xapp.to_string();
    let setup = Setup { options: &["-std=c11"], ..GCC };
    let program = Running::start_with(&source, setup, &[], &[("FERRIC_RIC", &ric)]);
    program.until(|line| line.starts_with("amf:") && line.ends_with(" kbit/s"));
}

#[test]
fn xapp_prints_kpis_until_a_signal() {
    [GCC, CPP].into_iter().for_each(prints_kpis);
}

#[test]
fn xapp_moves_ues_to_a_larger_slice_and_to_another_cell() {
    [GCC, CPP].into_iter().for_each(moves_ues);
}

#[test]
fn xapp_uses_every_verb() {
    [GCC, CPP].into_iter().for_each(uses_every_verb);
}

#[test]
fn xapp_connects_by_tls() {
    [GCC, CPP].into_iter().for_each(connects_by_tls);
}

#[test]
fn xapps_are_clean_under_valgrind() {
    // not by TLS: valgrind takes the octets that the assembly of `ring` writes for uninitialised
    if is_installed("valgrind") {
        prints_kpis(VALGRIND);
        moves_ues(VALGRIND);
        uses_every_verb(VALGRIND);
    }
}

#[test]
fn xapps_are_clean_with_sanitizers() {
    for setup in [ADDRESS, THREAD] {
        prints_kpis(setup);
        moves_ues(setup);
        uses_every_verb(setup);
    }
}

#[test]
fn stream_goes_on_at_another_ric() {
    for setup in [GCC, CPP] {
        let rics = [TestRic::start(), TestRic::start()];
        let next_rics = vec![rics[1].e2.clone().into()];
        let scenario = Scenario::with_mixed_traffic(1, 2, 1);
        let _ran = TestRan::start(&rics[0].e2, RanConfig { next_rics, scenario, ..RanConfig::default() });
        let addresses = format!("{} {}", rics[0].xapp, rics[1].xapp);
        let mut running = Running::start("tests/xapp_moves.c", setup, &[&addresses]);
        running.until(|line| line == "ready");
        let [first, _second] = rics;
        drop(first);
        assert_eq!(running.until(|line| line == "moved"), ["moved"]);
        running.ends();
    }
}
