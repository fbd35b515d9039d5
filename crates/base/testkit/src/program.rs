//! Built programs as their users run them: arguments in, lines and an exit status out.
//!
//! Everything here panics when the program does not do what the test expects.
#![allow(clippy::missing_panics_doc, reason = "a test fails by a panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The longest time that a program may take for an answer. None needs a tenth of it, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// A temporary file of one test; removed when dropped.
#[derive(Debug)]
pub struct File(PathBuf);

impl File {
    /// The path of a file that does not exist yet.
    #[must_use]
    pub fn named(name: &str) -> File {
        File(std::env::temp_dir().join(format!("ferric-program-{}-{name}", std::process::id())))
    }

    /// A file with that content.
    #[must_use]
    pub fn new(name: &str, content: &[u8]) -> File {
        let file = File::named(name);
        std::fs::write(&file.0, content).unwrap();
        file
    }

    /// The file's path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // it may never have been created
    }
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Lines of standard output.
    lines: Receiver<String>,
    /// Lines of standard error.
    errors: Receiver<String>,
    log: String,
    /// The lines of standard output that were read.
    pub output: Vec<String>,
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Outcome {
    /// The exit code; `None` if a signal has ended the program.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails unless the program ended with `code`, and standard error contains each of `pieces`.
    #[track_caller]
    pub fn complains(&self, code: i32, pieces: &[&str]) {
        assert_eq!(self.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for piece in pieces {
            assert!(self.stderr.contains(piece), "missing in standard error: {piece}\n{}", self.stderr);
        }
    }
}

/// Runs the program at `path` until it ends by itself.
#[must_use]
pub fn run(path: &str, arguments: &[&str]) -> Outcome {
    run_with(path, arguments, b"")
}

/// Runs the program at `path` with `input` as its standard input, until it ends by itself.
#[must_use]
pub fn run_with(path: &str, arguments: &[&str], input: &[u8]) -> Outcome {
    let mut program = Program::start_with_input(path, arguments);
    let mut stdin = program.child.stdin.take().unwrap();
    let _ = stdin.write_all(input); // a program that does not read its input may have ended
    drop(stdin);
    program.end()
}

/// The program `name` of the workspace's package `package`, beside the program at `path`. Cargo builds only the programs of
/// the tested package: if the other one does not exist, this builds it.
#[must_use]
pub fn sibling(path: &str, name: &str, package: &str) -> String {
    let sibling = Path::new(path).with_file_name(name);
    if !sibling.exists() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", package]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "cannot build {package}");
        assert!(sibling.exists(), "{} is not built", sibling.display());
    }
    sibling.to_str().unwrap().to_owned()
}

impl Program {
    /// Starts the program at `path`, without input.
    #[must_use]
    pub fn start(path: &str, arguments: &[&str]) -> Program {
        let mut program = Program::start_with_input(path, arguments);
        drop(program.child.stdin.take());
        program
    }

    /// Starts the program at `path`, with an input that stays open as long as the program runs.
    #[must_use]
    pub fn start_with_input(path: &str, arguments: &[&str]) -> Program {
        let mut child = Command::new(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {path}: {error}"));
        let (lines, errors) = (lines_of(child.stdout.take().unwrap()), lines_of(child.stderr.take().unwrap()));
        Program { child, lines, errors, log: String::new(), output: Vec::new() }
    }

    /// Waits until the log contains `text`.
    #[track_caller]
    pub fn logs(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log.contains(text) {
            let patience = deadline.saturating_duration_since(Instant::now());
            let line = self.errors.recv_timeout(patience);
            let line = line.unwrap_or_else(|error| panic!("no log line has {text}: {error}: {}", self.log));
            self.log += &(line + "\n");
        }
    }

    /// The whole log of a program that has ended. Programs that it has started may log for longer.
    fn whole_log(&mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(line) = self.errors.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.log += &(line + "\n");
        }
        std::mem::take(&mut self.log)
    }

    /// Waits for the next line of standard output that starts with `start`; returns the rest of the line.
    #[track_caller]
    pub fn line(&mut self, start: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let patience = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(patience) {
                Ok(line) => {
                    let found = line.strip_prefix(start).map(str::to_owned);
                    self.output.push(line);
                    if let Some(found) = found {
                        return found;
                    }
                }
                Err(error) => {
                    let log = self.kill();
                    panic!("no line starts with {start}: {error}\n{:#?}\n{log}", self.output);
                }
            }
        }
    }

    /// Writes a line to the program's input, of a program started with [`Program::start_with_input`].
    #[track_caller]
    pub fn enter(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("a program with an input");
        writeln!(input, "{line}").expect("the program reads its input");
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn kill(&mut self) -> String {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
        self.whole_log()
    }

    /// Sends SIGINT.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends SIGINT and waits for an orderly end within 5 s: the shortest default timeout of the programs, so that none of
    /// them can be what ends it.
    #[track_caller]
    pub fn stop(self) -> Outcome {
        self.interrupt();
        let begun = Instant::now();
        let outcome = self.end();
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        outcome
    }

    /// Waits until the program ends by itself.
    #[track_caller]
    pub fn end(mut self) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.output.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let log = self.kill();
                    panic!("the program does not end\n{:#?}\n{log}", self.output);
                }
            }
        }
        let status = self.child.wait().unwrap();
        let stderr = self.whole_log();
        Outcome { status, stdout: self.output.join("\n"), stderr }
    }
}

/// The lines of a pipe, read on a thread.
fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    lines
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
