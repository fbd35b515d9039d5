//! The process of an instance, and the lines that it is spoken to with.
//!
//! | line | effect |
//! |---|---|
//! | `measure` | the answer has the member `recent` |
//! | `share N` | the process limits itself to N processors |
//! | `start`, `rate N` | the load generator begins; N events per second |
//!
//! Each line is answered with a line: an [`Answer`] in JSON. The end of the input ends the process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// What a process says after each line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Notifications that wait.
    pub waiting: u64,
    /// Notifications that were answered with 2xx.
    pub delivered: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// After `measure`.
    #[serde(default)]
    pub recent: Option<RecentAnswer>,
}

/// What has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentAnswer {
    /// Events that met a subscription, since the start.
    pub events: u64,
    /// Their notifications, since the start.
    pub notifications: u64,
    /// Notifications that were answered since the last `measure`.
    pub delivered: u64,
    /// The 99th percentile of their latencies, in microseconds; zero if there is none.
    pub p99_us: u64,
    /// The time that the quota has stopped its threads, since the start, in microseconds.
    pub paused_us: u64,
}

/// What happens to processes.
#[derive(Debug)]
pub enum Event {
    /// Requests wait.
    Wake,
    /// The process of this number has written a line.
    Line(u64, String),
    /// Its output has ended.
    Closed(u64),
}

/// Octets of a line that is read; the rest of a longer one is another line.
const MAX_LINE: u64 = 4096;
/// Lines without an answer: while there are so many, no further `measure` is sent, so that the pipe never fills.
const MAX_UNANSWERED: usize = 8;
/// A process that has not answered for so long is ended.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Log lines of a process per minute that are passed on.
const LOG_LINES: u32 = 600;

/// A process.
#[derive(Debug)]
pub struct Process {
    /// Its number among all processes of the supervisor.
    pub number: u64,
    /// When it was started.
    pub started: Instant,
    /// Where it serves, once it does.
    pub url: Option<String>,
    child: Child,
    input: Option<ChildStdin>,
    /// When each line was written that is not answered yet.
    unanswered: std::collections::VecDeque<Instant>,
    last_log: Arc<Mutex<String>>,
    /// When it is killed if it has not ended.
    deadline: Option<Instant>,
}

impl Process {
    /// Starts the process of an instance. Its lines become events; its log lines go to standard error, after its name.
    ///
    /// # Errors
    /// If the system refuses a process or a thread.
    pub fn start(
        number: u64,
        name: &str,
        program: &Path,
        arguments: &[String],
        events: &SyncSender<Event>,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (input, output, log) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let last_log = Arc::new(Mutex::new(String::new()));
        let (started, unanswered) = (Instant::now(), std::collections::VecDeque::new());
        let log_of = Arc::clone(&last_log);
        // from here on it is killed when this fails
        let process = Process { number, started, url: None, child, input, unanswered, last_log, deadline: None };
        if let Some(output) = output {
            let events = events.clone();
            thread::Builder::new().name("instance output".into()).spawn(move || {
                for_each_line(output, |line| events.send(Event::Line(number, line)).is_ok());
                // the supervisor may have ended
                let _ = events.send(Event::Closed(number));
            })?;
        }
        if let Some(log) = log {
            let name = name.to_owned();
            thread::Builder::new().name("instance log".into()).spawn(move || relay(log, &name, &log_of))?;
        }
        Ok(process)
    }

    /// Its id in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The last line of its log.
    pub fn last_log(&self) -> String {
        self.last_log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes a line.
    pub fn write(&mut self, line: &str) {
        if let Some(input) = &mut self.input
            // a process that has ended is noticed by the end of its output
            && writeln!(input, "{line}").is_ok()
        {
            self.unanswered.push_back(Instant::now());
        }
    }

    /// Asks what has happened, unless it owes too many answers.
    pub fn measure(&mut self) {
        if self.unanswered.len() < MAX_UNANSWERED {
            self.write("measure");
        }
    }

    /// Notes an answer.
    pub fn note_answer(&mut self) {
        self.unanswered.pop_front();
    }

    /// Since when it owes an answer, or has not begun to serve.
    pub fn silent_since(&self) -> Option<Instant> {
        match &self.url {
            None => Some(self.started),
            Some(_) => self.unanswered.front().copied(),
        }
    }

    /// Asks it to end; it is killed if it does not within some seconds.
    pub fn end(&mut self) {
        self.input = None;
        self.deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
    }

    /// Whether it was asked to end.
    pub fn is_ending(&self) -> bool {
        self.deadline.is_some()
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        // it may have ended
        let _ = self.child.kill();
    }

    /// Returns how it has ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.kill();
        }
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines until the end, or until `take` does not want more.
fn for_each_line(pipe: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        match pipe.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if !take(String::from_utf8_lossy(&line).trim_end().to_owned()) => return,
            Ok(_) => {}
        }
    }
}

/// Passes the log of a process on.
fn relay(log: impl Read, name: &str, last: &Mutex<String>) {
    let (mut since, mut count) = (Instant::now(), 0);
    for_each_line(log, |line| {
        if since.elapsed() >= Duration::from_secs(60) {
            (since, count) = (Instant::now(), 0);
        }
        count += 1;
        let mut error = io::stderr().lock();
        // standard error may be closed: the log is lost then, and nothing else
        if count <= LOG_LINES {
            let _ = writeln!(error, "{name}: {line}");
        } else if count == LOG_LINES + 1 {
            let _ = writeln!(error, "{name}: more than {LOG_LINES} log lines in a minute: the others are left out");
        }
        *last.lock().unwrap_or_else(PoisonError::into_inner) = line;
        true
    });
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn lines_are_answered_and_the_end_of_the_input_ends_the_process() {
        let (sender, events) = sync_channel(8);
        let script =
            ["-c".to_owned(), "echo ready; while read line; do echo \"<$line>\"; done; echo bye >&2".to_owned()];
        let mut process = Process::start(7, "a", Path::new("/bin/sh"), &script, &sender).unwrap();
        let next = || match events.recv_timeout(PATIENCE).unwrap() {
            Event::Line(7, line) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(next(), "ready");
        process.url = Some("u".into());
        assert_eq!(process.silent_since(), None);
        process.measure();
        assert!(process.silent_since().is_some());
        assert_eq!(next(), "<measure>");
        process.note_answer();
        assert_eq!((process.silent_since(), process.ended()), (None, None));
        process.end();
        assert!(matches!(events.recv_timeout(PATIENCE).unwrap(), Event::Closed(7)));
        let begun = Instant::now();
        while process.ended().is_none() {
            assert!(begun.elapsed() < PATIENCE);
        }
        while process.last_log() != "bye" {
            assert!(begun.elapsed() < PATIENCE);
        }
    }

    #[test]
    fn process_that_reads_nothing_is_not_waited_for() {
        let (sender, _events) = sync_channel(8);
        let script = ["-c".to_owned(), "trap '' TERM; sleep 60".to_owned()];
        let mut process = Process::start(1, "a", Path::new("/bin/sh"), &script, &sender).unwrap();
        (0..10_000).for_each(|_| process.measure());
        assert_eq!(process.unanswered.len(), MAX_UNANSWERED);
        process.deadline = Some(Instant::now());
        while process.ended().is_none() {
            thread::yield_now();
        }
    }

    #[test]
    fn endless_line_is_read_in_pieces() {
        let mut lines = Vec::new();
        for_each_line(io::repeat(b'x').take(3 * MAX_LINE), |line| {
            lines.push(line.len() as u64);
            true
        });
        assert_eq!(lines, [MAX_LINE; 3]);
    }
}
