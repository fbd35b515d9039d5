//! Scenarios: files of inputs and their expected outputs.
//!
//! The first line of a file names the state machine under test and its configuration: `ric max-nodes=1`, `agent fns=2 v=1.01`.
//! A line that begins with `>` is an input; the lines up to the next input are its complete output: `a < …` is a PDU to the
//! peer `a`, `! …` an event or a log line, `a closed: …` a closed association, `= …` the answer to `> state`. A line that
//! begins with `#` is a comment. `tests/support/notation.rs` defines the notation of PDUs.
//!
//! With `each=1.01,2.03` in the first line, the scenario runs in each of these versions. The file is in the notation of the
//! last one; for v1, which has no transactions, the words `tx=…` are removed.
//!
//! `FERRIC_BLESS=1 cargo test -p ferric-e2 --test scenarios` writes the real output into the files: review the difference.

mod support;

use std::fmt::Write;
use std::path::Path;

use support::notation::Args;
use support::scenario_agent::ScenarioAgent;
use support::scenario_ric::ScenarioRic;

/// The state machine under test.
enum Machine {
    Ric(Box<ScenarioRic>),
    Agent(Box<ScenarioAgent>),
}

impl Machine {
    fn new(line: &str, version: Option<&str>) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let version = version.map(|version| ["v=", version].concat());
        let args = Args::new(&words[1..].iter().copied().chain(version.as_deref()).collect::<Vec<_>>());
        match words[0] {
            "ric" => Machine::Ric(Box::new(ScenarioRic::new(&args))),
            "agent" => Machine::Agent(Box::new(ScenarioAgent::new(&args))),
            other => panic!("unknown state machine {other}"),
        }
    }

    fn input(&mut self, line: &str) -> Vec<String> {
        match self {
            Machine::Ric(machine) => machine.input(line),
            Machine::Agent(machine) => machine.input(line),
        }
    }
}

/// Returns the versions that a scenario runs in; empty if it does not use `each=`.
fn versions(text: &str) -> Vec<&str> {
    let first = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    let each = first.split_whitespace().find_map(|word| word.strip_prefix("each="));
    each.map_or(Vec::new(), |each| each.split(',').collect())
}

/// Translates a scenario from the version `written` to `version`.
fn translated(text: &str, written: &str, version: &str) -> String {
    let (old, new) = (format!(" v{written}"), format!(" v{version}"));
    let line = |line: &str| {
        let transactions = !version.starts_with('1');
        let words: Vec<_> = line.split(' ').filter(|word| transactions || !word.starts_with("tx=")).collect();
        words.join(" ").replace(&old, &new) + "\n"
    };
    text.lines().map(line).collect()
}

/// Runs a scenario. Returns the file with its real output.
fn replay(text: &str, version: Option<&str>) -> String {
    let mut machine = None;
    let mut real = String::new();
    for line in text.lines() {
        match line.strip_prefix("> ") {
            Some(input) => {
                writeln!(real, "{line}").unwrap();
                for output in machine
                    .as_mut()
                    .map_or_else(|| panic!("input before the first line"), |machine: &mut Machine| machine.input(input))
                {
                    writeln!(real, "{output}").unwrap();
                }
            }
            None if line.is_empty() || line.starts_with('#') => writeln!(real, "{line}").unwrap(),
            None if machine.is_none() => {
                machine = Some(Machine::new(line, version));
                writeln!(real, "{line}").unwrap();
            }
            None => {} // expected output: the caller compares the whole file
        }
    }
    real
}

#[test]
fn scenarios_produce_expected_output() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 40, "{} scenarios in {}", files.len(), folder.display());
    let mut wrong = String::new();
    for path in files {
        let written = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let versions = versions(&written);
        let play = |text: &str, version| {
            std::panic::catch_unwind(|| replay(text, version)).unwrap_or_else(|_| panic!("{name}: see above"))
        };
        let real = play(&written, versions.last().copied());
        if real != written && std::env::var_os("FERRIC_BLESS").is_some() {
            std::fs::write(&path, &real).unwrap();
        }
        let others = versions.iter().rev().skip(1).map(|version| {
            let written = translated(&written, versions[versions.len() - 1], version);
            (format!("{name} in v{version}"), play(&written, Some(version)), written)
        });
        for (name, real, written) in others.chain([(name.clone(), real, written.clone())]) {
            let at = written.lines().zip(real.lines()).take_while(|(a, b)| a == b).count();
            let line = |text: &str| text.lines().nth(at).unwrap_or("(the end)").to_owned();
            if real != written {
                writeln!(wrong, "{name}:{}\n  written: {}\n  real:    {}", at + 1, line(&written), line(&real))
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
