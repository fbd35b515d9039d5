//! The built program as its users have it: arguments in, lines and an exit status out.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Nothing here takes a tenth of this, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// A file that no other test has; removed when it is dropped.
pub struct File(PathBuf);

impl File {
    /// A name for a file that is not there yet.
    pub fn named(name: &str) -> File {
        File(std::env::temp_dir().join(format!("ferric-cli-{}-{name}", std::process::id())))
    }

    pub fn new(name: &str, content: &[u8]) -> File {
        let file = File::named(name);
        std::fs::write(&file.0, content).unwrap();
        file
    }

    pub fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // one that was only named may not be there
    }
}

/// A run of the program; killed when it is dropped.
pub struct Program {
    child: Child,
    /// Lines of standard output.
    lines: Receiver<String>,
    /// Lines of standard error.
    errors: Receiver<String>,
    log: String,
    /// What was read of standard output.
    pub said: Vec<String>,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails unless the program ended with `code` and told each of `pieces` on standard error.
    pub fn complains(&self, code: i32, pieces: &[&str]) {
        assert_eq!(self.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for piece in pieces {
            assert!(self.stderr.contains(piece), "not told: {piece}\n{}", self.stderr);
        }
    }
}

/// Runs the program until it ends by itself.
pub fn run(arguments: &[&str]) -> Outcome {
    run_with(arguments, b"")
}

/// The same, with `input` for it to read.
pub fn run_with(arguments: &[&str], input: &[u8]) -> Outcome {
    let mut program = Program::start_with(arguments);
    let mut stdin = program.child.stdin.take().unwrap();
    let _ = stdin.write_all(input); // one that does not read its input may be gone
    drop(stdin);
    program.end()
}

impl Program {
    pub fn start(arguments: &[&str]) -> Program {
        let mut program = Program::start_with(arguments);
        drop(program.child.stdin.take());
        program
    }

    /// The same, with an input that lasts as long as it does.
    pub fn start_with(arguments: &[&str]) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ferric"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, errors) = (lines_of(child.stdout.take().unwrap()), lines_of(child.stderr.take().unwrap()));
        Program { child, lines, errors, log: String::new(), said: Vec::new() }
    }

    /// Waits until a line of the log holds `text`.
    pub fn logs(&mut self, text: &str) {
        while !self.log.contains(text) {
            let line = self.errors.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{error}: {}", self.log));
            self.log += &(line + "\n");
        }
    }

    /// All of the log, once the program has ended.
    fn whole_log(&mut self) -> String {
        while let Ok(line) = self.errors.recv_timeout(PATIENCE) {
            self.log += &(line + "\n");
        }
        std::mem::take(&mut self.log)
    }

    /// The next line of standard output that begins with `start`; gives back what follows.
    pub fn line(&mut self, start: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let patience = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(patience) {
                Ok(line) => {
                    let found = line.strip_prefix(start).map(str::to_owned);
                    self.said.push(line);
                    if let Some(found) = found {
                        return found;
                    }
                }
                Err(error) => {
                    let log = self.kill();
                    panic!("no line {start}…: {error}\n{:#?}\n{log}", self.said);
                }
            }
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn kill(&mut self) -> String {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
        self.whole_log()
    }

    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Interrupts it, and has it end in an orderly way, soon: not when some patience of its own ends, of which the shortest
    /// that nobody shortened is 5 s. A machine that is busy may take some of it.
    pub fn stop(self) -> Outcome {
        self.interrupt();
        let begun = Instant::now();
        let outcome = self.end();
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        outcome
    }

    /// Waits until it ends by itself.
    pub fn end(mut self) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let log = self.kill();
                    panic!("it does not end\n{:#?}\n{log}", self.said);
                }
            }
        }
        let status = self.child.wait().unwrap();
        let stderr = self.whole_log();
        Outcome { status, stdout: self.said.join("\n"), stderr }
    }
}

/// The lines that come out of a pipe.
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
