//! Where log lines go: to standard error, or to a screen that shows them.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

/// The lines that wait to be shown; further ones are dropped.
const MAX_WAITING: usize = 1000;

static CAPTURED: Mutex<Option<SyncSender<String>>> = Mutex::new(None);

/// Log lines that are shown on a screen.
#[derive(Debug)]
pub struct LogLines(Receiver<String>);

impl LogLines {
    /// Returns the lines since the last call, without time stamps, and without the level where it is INFO.
    pub fn take(&self) -> impl Iterator<Item = String> {
        self.0.try_iter()
    }
}

/// Has log lines shown by the caller instead of being written to standard error.
#[must_use]
pub fn capture_log() -> LogLines {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    LogLines(receiver)
}

/// Has log lines written to standard error again.
pub fn show_log_again() {
    *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Gets each line that is logged, as it is captured.
type Observer = Box<dyn Fn(&str) + Send + Sync>;

static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// Has each line also passed on, without time stamp and colours. It must not block, and log nothing. Only the first observer of a
/// program gets lines.
pub fn observe_log(observer: Observer) {
    let _ = OBSERVER.set(observer);
}

/// The writer of the log.
pub(super) struct Destination;

impl MakeWriter<'_> for Destination {
    type Writer = Destination;

    fn make_writer(&self) -> Destination {
        Destination
    }
}

impl Write for Destination {
    /// Writes a whole line: the subscriber formats it before.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(observe) = OBSERVER.get() {
            observe(&shown(&String::from_utf8_lossy(line)));
        }
        let captured = CAPTURED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*captured {
            Some(sender) => {
                // a screen that shows nothing any more needs none
                let _ = sender.try_send(shown(&String::from_utf8_lossy(line)));
            }
            None => io::stderr().write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line without colours, time stamp and the usual level.
fn shown(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.trim_end();
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        // the subscriber writes colours only: ESC [ … m
        rest = escape.split_once('m').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let text = text.split_once(' ').map_or(text.as_str(), |(_, after)| after).trim_start();
    text.strip_prefix("INFO ").unwrap_or(text).trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_line_has_neither_time_nor_colour() {
        let coloured = "\u{1b}[2m2026-01-01T00:00:00.000000Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m gNB a up\u{1b}[0m\n";
        assert_eq!(shown(coloured), "gNB a up");
        assert_eq!(shown("2026-01-01T00:00:00.000000Z  WARN gNB a lost\n"), "WARN gNB a lost");
    }

    #[test]
    fn captured_lines_are_taken_once_and_a_flood_is_bounded() {
        let lines = capture_log();
        for _ in 0..MAX_WAITING + 10 {
            Destination.write_all(b"2026-01-01T00:00:00Z  INFO one\n").unwrap();
        }
        assert_eq!(lines.take().count(), MAX_WAITING);
        assert_eq!(lines.take().count(), 0);
        show_log_again();
    }
}
