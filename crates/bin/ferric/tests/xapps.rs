//! `ferric xapps run`, `list`, `logs` and `stop`, with a RIC that starts xApps.

mod program;

use program::{File, Program, run};
use rustix::process::Signal;
use testkit::eventually;

struct Ric {
    program: Program,
    rest: String,
    descriptor: File,
}

/// A RIC that may start a shell with a script.
fn start(name: &str, script: &str) -> (Ric, File) {
    let text = format!("[[xapp]]\nname = \"hw\"\ncommand = [\"/bin/sh\", \"-c\", \"{script}\"]\n");
    let commands = File::new(&format!("{name}-commands.toml"), text.as_bytes());
    let descriptor = File::new(&format!("{name}.json"), b"{ \"xapp_name\": \"hw\", \"version\": \"1.0.0\" }");
    let any = "tcp://127.0.0.1:0";
    let mut program = program::start(&[
        "ric",
        "--e2",
        any,
        "--xapp",
        any,
        "--rmr",
        any,
        "--rest",
        "127.0.0.1:0",
        "--xapp-commands",
        commands.name(),
    ]);
    let rest = program.line("rest=");
    (Ric { program, rest, descriptor }, commands)
}

impl Ric {
    fn xapps(&self, arguments: &[&str]) -> program::Outcome {
        let (words, last) =
            arguments.split_at(arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len()));
        run(&[&["xapps"], words, &["--rest", &self.rest], last].concat())
    }

    /// Starts the xApp. Returns its process.
    #[track_caller]
    fn run(&self) -> u32 {
        let outcome = self.xapps(&["run", self.descriptor.name()]);
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        outcome.stdout.trim().strip_prefix("process=").expect("a process").parse().unwrap()
    }
}

fn exists(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn xapp_is_run_listed_and_stopped() {
    let (ric, _commands) = start("life", "echo hello; printf '\\\\033[31mred'; exec sleep 1000");
    let empty = ric.xapps(&["list"]);
    assert_eq!(empty.stdout.lines().count(), 1, "{}", empty.stdout);
    ric.xapps(&["run", ric.descriptor.name(), "--", "/bin/rm", "-r"]).complains(1, &["permits another command"]);
    let process = ric.run();
    assert!(exists(process));
    let list = ric.xapps(&["list"]).stdout;
    let row: Vec<_> = list.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(row[..4], ["hw", "1.0.0", "hw", "running"], "{list}");
    eventually("output", || ric.xapps(&["logs", "hw"]).stdout.trim_end() == "hello\n\\u{1b}[31mred");
    ric.xapps(&["run", ric.descriptor.name()]).complains(1, &["runs already"]);
    assert_eq!(ric.xapps(&["stop", "hw"]).code(), Some(0));
    assert!(!exists(process));
    ric.xapps(&["stop", "hw"]).complains(1, &["has not started an xApp `hw`"]);
    ric.xapps(&["logs", "../x"]).complains(1, &["is not the name of an xApp"]);
    ric.xapps(&["run", "/no/such.json"]).complains(1, &["cannot read /no/such.json"]);
    let any = "tcp://127.0.0.1:0";
    let mut without = program::start(&["ric", "--e2", any, "--xapp", any, "--rest", "127.0.0.1:0"]);
    let rest = without.line("rest=");
    run(&["xapps", "list", "--rest", &rest]).complains(1, &["does not manage xApps", "--xapp-commands FILE"]);
    // a list of the xApps of ferric is what it was
    assert!(run(&["xapps", "--rest", &ric.rest]).stdout.starts_with("XAPP"));
}

#[test]
fn xapps_end_with_the_ric_also_if_it_is_killed() {
    let (ric, _commands) = start("end", "exec sleep 1000");
    let process = ric.run();
    ric.program.stop();
    assert!(!exists(process), "it ends before the RIC");
    let (ric, _commands) = start("kill", "exec sleep 1000");
    let process = ric.run();
    ric.program.signal(Signal::KILL);
    eventually("the xApp is killed", || !exists(process));
}

#[test]
fn file_of_commands_is_checked_before_the_ric_starts() {
    let commands = File::new("wrong-commands.toml", b"[[xapp]]\nname = \"hw\"\ncommand = [\"python3\"]\n");
    run(&["ric", "--xapp-commands", commands.name()]).complains(1, &["must not depend on PATH"]);
    let config = File::new("wrong.toml", format!("xapp_commands = \"{}\"\n", commands.name()).as_bytes());
    run(&["config", "check", config.name()]).complains(1, &["must not depend on PATH"]);
}
