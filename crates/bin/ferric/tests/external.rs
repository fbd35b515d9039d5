//! `ferric NAME` runs the program `ferric-NAME`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FERRIC: &str = env!("CARGO_BIN_EXE_ferric");

/// A folder with programs; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("external-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn add(&self, name: &str, script: &str) {
        self.add_with_mode(name, script, 0o755);
    }

    fn add_with_mode(&self, name: &str, script: &str, mode: u32) {
        let path = self.0.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }

    /// A command that runs `ferric` with this folder on the PATH.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(FERRIC);
        let path = format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap());
        command.args(arguments).env("PATH", path).env_remove("FERRIC_LOG").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

#[track_caller]
fn assert_is_unknown(output: &Output, pieces: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stdout(output)), (Some(2), ""), "{stderr}");
    for piece in pieces {
        assert!(stderr.contains(piece), "missing: {piece}\n{stderr}");
    }
}

#[test]
fn program_on_the_path_gets_the_arguments() {
    let folder = Folder::new("arguments");
    folder.add("ferric-hello", r#"printf '[%s]' "$@""#);
    let output = folder.run(&["hello", "a b", "--seconds", "3", "--", "-h"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), "[a b][--seconds][3][--][-h]"));
    // options of the same names as ferric's own belong to the program too
    assert_eq!(stdout(&folder.run(&["hello", "--log", "error", "--version"])), "[--log][error][--version]");
}

#[test]
fn exit_status_and_signal_are_those_of_the_program() {
    let folder = Folder::new("status");
    folder.add("ferric-fail", "exit 37");
    folder.add("ferric-die", "kill -KILL $$");
    assert_eq!(folder.run(&["fail"]).status.code(), Some(37));
    assert_eq!(folder.run(&["die"]).status.signal(), Some(9));
}

#[test]
fn program_replaces_the_process() {
    let folder = Folder::new("process");
    folder.add("ferric-pid", "echo $$");
    let child = folder.command(&["pid"]).stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    assert_eq!(stdout(&child.wait_with_output().unwrap()).trim(), id.to_string());
}

#[test]
fn log_level_is_passed_on() {
    let folder = Folder::new("log");
    folder.add("ferric-level", r#"echo "${FERRIC_LOG-none}""#);
    assert_eq!(stdout(&folder.run(&["level"])), "none\n");
    assert_eq!(stdout(&folder.run(&["--log", "debug", "level"])), "debug\n");
}

#[test]
fn program_beside_ferric_has_priority_over_the_path() {
    let (beside, path) = (Folder::new("beside"), Folder::new("path"));
    fs::hard_link(FERRIC, beside.0.join("ferric")).unwrap();
    beside.add("ferric-where", "echo beside");
    path.add("ferric-where", "echo path");
    assert_eq!(stdout(&path.run(&["where"])), "path\n");
    let output = Command::new(beside.0.join("ferric")).arg("where").env("PATH", &path.0).output().unwrap();
    assert_eq!(stdout(&output), "beside\n");
}

#[test]
fn unknown_name_is_an_error_with_a_suggestion() {
    let folder = Folder::new("unknown");
    folder.add("ferric-hello", "echo hello");
    assert_is_unknown(
        &folder.run(&["hallo"]),
        &["'hallo'", "program 'ferric-hallo'", "did you mean 'hello'", "Usage:"],
    );
    assert_is_unknown(&folder.run(&["xap"]), &["did you mean 'xapp'", "--help"]);
    assert_is_unknown(&folder.run(&["help", "rik"]), &["did you mean 'ric'"]);
    let output = folder.run(&["zzzz"]);
    assert_is_unknown(&output, &["'zzzz'"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("did you mean"));
}

#[test]
fn program_of_this_project_that_is_not_built_is_an_error_with_the_command_that_builds_it() {
    let empty = Folder::new("unbuilt");
    fs::hard_link(FERRIC, empty.0.join("ferric")).unwrap();
    for name in ["bench", "export", "paper", "rnis"] {
        let output =
            Command::new(empty.0.join("ferric")).args([name, "--help"]).env("PATH", &empty.0).output().unwrap();
        assert_is_unknown(
            &output,
            &[&format!("program 'ferric-{name}'"), "`cargo build --release --workspace` builds it"],
        );
    }
    assert!(!String::from_utf8_lossy(&empty.run(&["zzzz"]).stderr).contains("cargo build"));
}

#[test]
fn other_names_and_files_are_never_executed() {
    let folder = Folder::new("names");
    for name in ["ferric-Hello", "ferric-hello.sh", "ferric-hello_2", "hello", "ferric-"] {
        folder.add(name, "echo executed");
    }
    folder.add_with_mode("ferric-plain", "echo executed", 0o644);
    fs::create_dir(folder.0.join("ferric-folder")).unwrap();
    for name in ["Hello", "hello.sh", "hello_2", "../hello", "x/../hello", "", " ", "hällo", "plain", "folder"] {
        assert_is_unknown(&folder.run(&[name]), &["error:"]);
    }
    let help = folder.run(&["--help"]);
    assert!(!stdout(&help).contains(folder.0.to_str().unwrap()), "{}", stdout(&help));
}

#[test]
fn help_lists_programs_and_calls_theirs() {
    let folder = Folder::new("help");
    folder.add("ferric-hello", r#"echo "help: $*""#);
    for arguments in [&["--help"][..], &["-h"], &["help"], &["help", "help"]] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        let lists = stdout(&output).contains("ferric-hello");
        assert_eq!(lists, arguments != ["help", "help"], "{arguments:?}: {}", stdout(&output));
    }
    assert_eq!(stdout(&folder.run(&["help", "hello"])), "help: --help\n");
    assert_eq!(stdout(&folder.run(&["help", "hello", "more"])), "help: more --help\n");
    assert_eq!(stdout(&folder.run(&["help", "xapp", "kpm"])), stdout(&folder.run(&["xapp", "kpm", "--help"])));
    // a sub-command's help is its own
    assert!(!stdout(&folder.run(&["ric", "--help"])).contains("ferric-hello"));
}

#[test]
fn command_has_priority_over_a_program() {
    let folder = Folder::new("own");
    folder.add("ferric-decode", "echo program");
    assert!(stdout(&folder.run(&["decode", "--help"])).contains("--list"));
}
